"""A metric's result for one sample."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ScoreCard:
    """A metric's result for one sample.

    `primary_score` is None if there is nothing to score: the sample is then excluded from the
    mean. `passed` is None if the metric has no threshold. `error_tags` are short stable names of
    reasons for a low score (`wrong_unit`), `explain` describes them, and `detail` holds the
    metric's evidence for people.
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
    """Creates a card from any result that a metric may return."""
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
