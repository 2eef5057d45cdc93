"""The likelihood that a model gives to a text."""

import math
from dataclasses import dataclass
from typing import Annotated

from ..inputs import Input
from ..metrics import Value
from ..score_card import ScoreCard
from ..text import as_number, flatten_numbers
from .choice import one_of


@dataclass(kw_only=True)
class Likelihood:
    """Negative log-likelihood, or perplexity, which is its exponential; lower is better.

    It comes from a loss, or else from the log-probabilities of the tokens, as minus their mean.
    Without either the sample has no score. The sub-score `nll` or `ppl` names what the primary
    score is.
    """

    metric_type: Annotated[str, "nll or ppl"] = "nll"

    inputs = {
        "loss": Input("loss_field", "model_output.loss"),
        "logprobs": Input("logprobs_field", "model_output.token_logprobs"),
    }
    values = [
        Value(name, higher_is_better=False, minimum=None, maximum=None)
        for name in ("score", "nll", "ppl")
    ]

    def __post_init__(self) -> None:
        self.metric_type = one_of("metric_type", self.metric_type, "nll", "ppl")

    def score(self, loss: object, logprobs: object) -> ScoreCard:
        """Scores one sample."""
        metric_type = self.metric_type
        detail: dict[str, object] = {"metric_type": metric_type}
        likelihood = as_number(loss)
        if likelihood is not None and math.isfinite(likelihood):
            detail["source"] = "loss"
        else:
            numbers = flatten_numbers(logprobs)
            if not numbers:
                return ScoreCard(explain="there is neither a loss nor a log-probability", detail=detail)
            likelihood = -math.fsum(numbers) / len(numbers)
            detail["source"] = "token_logprobs"
            detail["token_count"] = len(numbers)
        try:
            value = math.exp(likelihood) if metric_type == "ppl" else likelihood
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            return ScoreCard(explain=f"the {metric_type} is not a finite number", detail=detail)
        return ScoreCard(value, sub_scores={metric_type: value}, detail=detail)
