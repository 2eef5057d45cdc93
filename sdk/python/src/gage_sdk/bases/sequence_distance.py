"""Distance between two texts as a score."""

from dataclasses import dataclass
from typing import Annotated

from ..metrics import Value
from ..score_card import ScoreCard
from ..text import levenshtein_distance, normalize_text
from .choice import one_of


@dataclass(kw_only=True)
class SequenceDistance:
    """Scores the similarity of a prediction to a reference; override `distance` or `prepare_text`.

    With the distance d and lengths in characters: `anls` is max(1 - d / max(both lengths), 0),
    `wer` is max(1 - d / length of the reference, 0), `raw` is d itself. Two empty texts are equal;
    a missing text counts as empty.
    """

    normalize: Annotated[str, "How the distance becomes the score: `anls`, `wer` or `raw`"] = "anls"

    # No upper bound: `raw` has none.
    values = [Value("score", maximum=None)]

    def __post_init__(self) -> None:
        self.normalize = one_of("normalize", self.normalize, "anls", "wer", "raw")

    def prepare_text(self, text: str) -> str:
        """Normalizes a text: lower case, single blanks, trimmed."""
        return normalize_text(text, collapse_whitespace=True)

    def distance(self, prediction: str, reference: str) -> float:
        """Returns the Levenshtein distance of two prepared texts, in characters."""
        return levenshtein_distance(prediction, reference)

    def score(self, prediction: str | None, reference: str | None) -> ScoreCard:
        """Scores one sample."""
        prediction = self.prepare_text(prediction or "")
        reference = self.prepare_text(reference or "")
        distance = self.distance(prediction, reference) if prediction or reference else 0
        score = self._score(distance, len(prediction), len(reference))
        return ScoreCard(
            score,
            detail={"distance": distance, "normalized": score, "strategy": self.normalize},
        )

    def _score(self, distance: float, predicted: int, wanted: int) -> float:
        if self.normalize == "raw":
            return float(distance)
        length = max(predicted, wanted) if self.normalize == "anls" else wanted
        if length == 0:
            return 0.0 if predicted else 1.0
        return max(1.0 - distance / length, 0.0)
