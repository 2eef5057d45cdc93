"""How high the right candidates of a ranked list stand."""

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

    Where the targets carry grades, two more sub-scores are given: `ndcg_at_k`, the discounted gain
    of the first `k` candidates over that of the best order there could be (the grade as gain,
    log2(rank + 1) as discount), and `average_precision`, the mean over the targets of the precision
    at their rank. A grade of 0 says that a candidate is no target. A candidate that comes twice
    counts where it comes first.

    Candidates are texts, or objects of which one key counts. Numbers count by value, and match a
    text that spells them; booleans match a text that spells them in any case; otherwise case
    counts. Targets are a text or a list; with grades an object of grades by text, or a list of
    objects with the text as in candidates and the grade under `grade`, `relevance` or `gain`. A
    grade that is no number, or below 0, is an `invalid_input`.
    """

    metric_type: Annotated[str, "mrr or hit_at_k"] = "mrr"
    k: Annotated[int, "How many candidates `hit_at_k` and `ndcg_at_k` look at", {"minimum": 0}] = 3
    candidate_field: Annotated[
        str | None, "The key of a candidate that counts; text, id or label by default"
    ] = None
    candidate_key: Annotated[str | None, "Another name of `candidate_field`"] = None

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
        """Makes the text of a candidate or of a target comparable: as it is."""
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
