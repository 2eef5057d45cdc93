"""Comparison of a prediction with several references; the best one counts."""

from dataclasses import dataclass
from typing import Annotated

from ..inputs import Input
from ..json_text import as_text
from ..score_card import ScoreCard
from ..text import normalize_text


@dataclass(kw_only=True)
class MultiReference:
    """Scores a prediction against each reference and keeps the best; override `similarity` or
    `prepare_text`.

    The references are a list of texts, or one text, which is split if the param `separator` is set.
    """

    separator: Annotated[str | None, "Splits one text into references"] = None
    case_sensitive: Annotated[bool, "Distinguish upper and lower case"] = False

    inputs = {
        "references": Input(
            ["references_field", "answers_field"],
            "sample.references",
            "sample.metadata.answers",
            "sample.label",
        )
    }

    def prepare_text(self, text: str) -> str:
        """Normalizes a text: single blanks, trimmed, and lower case unless the param
        `case_sensitive` is set."""
        return normalize_text(text, self.case_sensitive, collapse_whitespace=True)

    def similarity(self, prediction: str, reference: str) -> float:
        """Returns the similarity of two prepared texts, from 0 to 1: 1 if they are equal."""
        return 1.0 if prediction == reference else 0.0

    def score(self, prediction: str | None, references: object) -> ScoreCard:
        """Scores one sample."""
        prediction = self.prepare_text(prediction or "")
        texts = [self.prepare_text(text) for text in self._texts(references)]
        if not prediction:
            return ScoreCard(0.0, error_tags=["missing_prediction"])
        if not texts:
            return ScoreCard(0.0, error_tags=["missing_reference"])
        scores = [self.similarity(prediction, text) for text in texts]
        best = max(scores)
        best_reference = texts[scores.index(best)]
        return ScoreCard(best, detail={"best_score": best, "best_reference": best_reference})

    def _texts(self, references: object) -> list[str]:
        if references is None:
            return []
        if isinstance(references, list):
            return [as_text(reference) for reference in references if reference is not None]
        text = as_text(references)
        return text.split(self.separator) if self.separator else [text]
