"""The rank at which a list of candidates first hits a target."""

from dataclasses import dataclass
from typing import Annotated

from ..inputs import Input
from ..json_text import as_text
from ..metrics import Value
from ..score_card import ScoreCard
from .choice import one_of

_DEFAULT_KEYS = ("text", "id", "label")


@dataclass(kw_only=True)
class Ranking:
    """Reciprocal rank of the first candidate that is a target (0 without one), or whether it is
    among the first `k`; override `is_hit`.

    Candidates are texts, or objects of which one key counts.
    """

    metric_type: Annotated[str, "mrr or hit_at_k"] = "mrr"
    k: Annotated[int, "How many candidates `hit_at_k` looks at", {"minimum": 1}] = 5
    candidate_key: Annotated[
        str | None, "The key of a candidate that counts; text, id or label by default"
    ] = None

    inputs = {
        "candidates": Input("candidates_field", "model_output.candidates"),
        "targets": Input("targets_field", "sample.targets", "sample.label"),
    }
    values = [Value("score"), Value("mrr"), Value("hit_at_k")]

    def __post_init__(self) -> None:
        name = self.metric_type.replace("@", "_at_")
        self.metric_type = one_of("metric_type", name, "mrr", "hit_at_k")

    def is_hit(self, candidate: str, targets: list[str]) -> bool:
        """Whether a candidate is one of the targets: equal, character by character."""
        return candidate in targets

    def score(self, candidates: object, targets: object) -> ScoreCard:
        """Scores one sample."""
        offered = [self._text(candidate) for candidate in _as_list(candidates)]
        wanted = [text for text in map(self._text, _as_list(targets)) if text is not None]
        rank = next(
            (
                rank
                for rank, text in enumerate(offered, start=1)
                if text is not None and self.is_hit(text, wanted)
            ),
            None,
        )
        scores = {
            "mrr": 1.0 / rank if rank else 0.0,
            "hit_at_k": 1.0 if rank and rank <= self.k else 0.0,
        }
        tags = []
        if not offered:
            tags.append("missing_prediction")
        if not wanted:
            tags.append("missing_reference")
        return ScoreCard(
            scores[self.metric_type],
            sub_scores=scores,
            error_tags=tags,
            detail={"k": self.k, "rank": rank},
        )

    def _text(self, candidate: object) -> str | None:
        if isinstance(candidate, dict):
            keys = (self.candidate_key,) if self.candidate_key else _DEFAULT_KEYS
            candidate = next((candidate[key] for key in keys if key in candidate), None)
        return None if candidate is None else as_text(candidate)


def _as_list(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]
