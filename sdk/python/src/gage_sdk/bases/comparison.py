"""Comparison of a prediction with a reference."""

from ..score_card import Score, ScoreCard, score_card


class Comparison:
    """Compares a prediction with a reference: define `compare`.

    The card's detail shows both.
    """

    def compare(self, prediction: object, reference: object) -> Score:
        """Scores one pair; a missing value is None."""
        raise NotImplementedError(f"{type(self).__name__} does not define compare")

    def score(self, prediction: object, reference: object) -> ScoreCard:
        """Scores one sample."""
        card = score_card(self.compare(prediction, reference))
        card.detail.setdefault("prediction", prediction)
        card.detail.setdefault("reference", reference)
        return card
