"""What a metric says about one sample."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ScoreCard:
    """What a metric says about one sample.

    `primary_score` is None when there is nothing to score: the sample then stays out of the mean.
    `passed` is None where the metric draws no line. `error_tags` are short stable names of why a
    score is low (`wrong_unit`), `explain` says it in words, and `detail` shows people what the
    metric saw.
    """

    primary_score: float | None = None
    passed: bool | None = None
    sub_scores: dict[str, float] = field(default_factory=dict)
    error_tags: list[str] = field(default_factory=list)
    explain: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


Score = ScoreCard | float | bool | None
"""What a metric may return: a card, or a number for its primary score, or a boolean for 1 and
passed or 0 and not passed, or None when there is nothing to score."""


def score_card(score: Score) -> ScoreCard:
    """Makes a card of whatever a metric may return."""
    if isinstance(score, ScoreCard):
        return score
    if score is None:
        return ScoreCard()
    if isinstance(score, bool):
        return ScoreCard(1.0 if score else 0.0, passed=score)
    if isinstance(score, (int, float)):
        return ScoreCard(float(score))
    raise TypeError(
        f"a score is a ScoreCard, a number, a boolean or None, found {type(score).__name__}"
    )
