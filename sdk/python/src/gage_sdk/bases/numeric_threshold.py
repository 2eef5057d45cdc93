"""Comparison of a number with a number, with a tolerance."""

from dataclasses import dataclass
from typing import Annotated

from ..score_card import ScoreCard
from ..text import as_number


@dataclass(kw_only=True)
class NumericThreshold:
    """Decides whether a number is correct; override `decide`.

    Anything but a number scores 0 with the tag `invalid_format`.
    """

    tolerance: Annotated[float, "Largest difference that passes", {"minimum": 0}] = 0.0
    min_value: Annotated[float | None, "Smallest prediction that passes"] = None
    max_value: Annotated[float | None, "Largest prediction that passes"] = None

    def decide(self, prediction: float, reference: float) -> bool:
        """Returns whether the prediction is within the bounds and differs by at most the
        tolerance."""
        if self.min_value is not None and prediction < self.min_value:
            return False
        if self.max_value is not None and prediction > self.max_value:
            return False
        return abs(prediction - reference) <= self.tolerance

    def score(self, prediction: object, reference: object) -> ScoreCard:
        """Scores one sample."""
        detail = {"prediction": prediction, "reference": reference}
        predicted, wanted = as_number(prediction), as_number(reference)
        if predicted is None or wanted is None:
            return ScoreCard(0.0, passed=False, error_tags=["invalid_format"], detail=detail)
        passed = self.decide(predicted, wanted)
        return ScoreCard(1.0 if passed else 0.0, passed=passed, detail=detail)
