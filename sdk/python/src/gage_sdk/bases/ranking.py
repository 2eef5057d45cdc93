"""Positions of the correct candidates in a ranked list."""

from dataclasses import dataclass
from typing import Annotated

from ..inputs import Input
from ..metrics import Value
from ..score_card import ScoreCard
from .choice import one_of
from .gain import average_precision, ndcg
from .targets import Targets, spellings_of


@dataclass(kw_only=True)
class Ranking:
    """Reciprocal rank of the first candidate that is a target (0 without one), or whether it is
    among the first `k`; override `prepare_text`.

    If the targets have grades, there are two more sub-scores. `ndcg_at_k` is the discounted gain
    of the first `k` candidates divided by that of the ideal order (the grade as gain, log2(rank +
    1) as discount). `average_precision` is the mean over the targets of the precision at their
    rank. A grade of 0 means that a candidate is not a target. Only the first occurrence of a
    repeated candidate counts.

    Candidates are texts, or objects with one key that counts. Numbers count by value, and match a
    text that spells them. Booleans match a text that spells them in any case; otherwise case
    counts. Targets are a text or a list. With grades, they are an object of grades by text, or a
    list of objects with the text as in candidates and the grade under `grade`, `relevance` or
    `gain`. A grade that is not a number, or below 0, is an `invalid_input`.
    """

    metric_type: Annotated[str, "Primary score: `mrr` or `hit_at_k`"] = "mrr"
    k: Annotated[int, "Number of candidates that `hit_at_k` and `ndcg_at_k` consider", {"minimum": 0}] = 3
    candidate_field: Annotated[
        str | None, "Field of a candidate that is compared; by default `text`, `id` or `label`"
    ] = None
    candidate_key: Annotated[str | None, "Alias of `candidate_field`"] = None

    inputs = {
        "candidates": Input(["candidates_field", "prediction_field"], "model_output.candidates"),
        "targets": Input(["targets_field", "label_field"], "sample.targets", "sample.label"),
    }
    values = [
        Value(name) for name in ("score", "mrr", "hit_at_k", "ndcg_at_k", "average_precision")
    ]

    def __post_init__(self) -> None:
        name = self.metric_type.replace("@", "_at_")
        self.metric_type = one_of("metric_type", name, "mrr", "hit_at_k")
        if self.candidate_field is None:
            self.candidate_field = self.candidate_key

    def prepare_text(self, text: str) -> str:
        """Normalizes the text of a candidate or target; by default unchanged."""
        return text

    def score(self, candidates: object, targets: object) -> ScoreCard:
        """Scores one sample."""
        offered = [] if candidates is None else candidates
        offered = offered if isinstance(offered, list) else [offered]
        wanted = Targets(targets, self.prepare_text)
        grades = wanted.grades_of(spellings_of(one, self.candidate_field) for one in offered)
        rank = next((rank for rank, grade in enumerate(grades, start=1) if grade > 0), None)
        scores = {
            "mrr": 1.0 / rank if rank else 0.0,
            "hit_at_k": 1.0 if rank and rank <= self.k else 0.0,
        }
        primary = scores[self.metric_type]
        ideal = wanted.ideal()
        if wanted.is_graded:
            scores["ndcg_at_k"] = ndcg(grades, ideal, self.k)
            scores["average_precision"] = average_precision(grades, len(ideal))
        tags = []
        if not offered:
            tags.append("missing_prediction")
        if not ideal:
            tags.append("missing_reference")
        detail = {"k": self.k, "rank": rank}
        return ScoreCard(primary, sub_scores=scores, error_tags=tags, detail=detail)
