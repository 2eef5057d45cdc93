"""Likelihood of a text under the model."""

import math
from dataclasses import dataclass
from typing import Annotated

from ..inputs import Input
from ..json_text import plain_number
from ..metrics import Value
from ..score_card import ScoreCard
from ..text import as_number, flatten_numbers
from .choice import one_of

_FIGURES = ("nll", "ppl", "bits_per_byte")


@dataclass(kw_only=True)
class Likelihood:
    """Negative log-likelihood, its perplexity, or its bits per byte; lower is better.

    nll is the loss, or else minus the mean of the tokens' log-probabilities; natural logarithms.
    ppl is its exponential. bits_per_byte is nll · tokens / (bytes · ln 2), which does not depend
    on the tokenizer.

    For a whole text that the host scored, the input `logprobs` finds `model_output.rolling`. Then
    nll is per token, and the host supplies the number of bytes. Otherwise bits_per_byte needs the
    number of bytes, and for a loss the number of tokens, both above 0. The param `metric_type`
    selects the primary score. Each figure that is known and finite is a sub-score under its name.
    If the primary one is unknown or not finite, there is no score. A loss that is not a finite
    number counts as missing; True is 1 and False is 0.
    """

    metric_type: Annotated[str, "Primary score: `nll`, `ppl` or `bits_per_byte`"] = "nll"

    inputs = {
        "loss": Input("loss_field", "model_output.loss"),
        "logprobs": Input(
            "logprobs_field", "model_output.token_logprobs", "model_output.rolling"
        ),
        "byte_count": Input("byte_count_field", "model_output.byte_count"),
        "token_count": Input("token_count_field", "model_output.token_count"),
    }
    values = [
        Value(name, higher_is_better=False, minimum=None, maximum=None)
        for name in ("score", *_FIGURES)
    ]

    def __post_init__(self) -> None:
        self.metric_type = one_of("metric_type", self.metric_type, *_FIGURES)

    def score(
        self,
        loss: object,
        logprobs: object,
        byte_count: object = None,
        token_count: object = None,
    ) -> ScoreCard:
        """Scores one sample."""
        nll = float(loss) if isinstance(loss, bool) else _finite(loss)
        size = _above_zero(byte_count)
        if nll is not None:
            source, tokens = "loss", _above_zero(token_count)
        elif isinstance(logprobs, dict) and "loglikelihood" in logprobs:
            total = _finite(logprobs["loglikelihood"])
            tokens = _above_zero(logprobs.get("token_count"))
            if total is None or tokens is None:
                return ScoreCard(explain="there is neither a loss nor a log-probability")
            nll, source = -total / tokens, "rolling"
            size = size if size is not None else _above_zero(logprobs.get("byte_count"))
        else:
            numbers = flatten_numbers(logprobs)
            if not numbers:
                return ScoreCard(explain="there is neither a loss nor a log-probability")
            nll = -sum(numbers) / len(numbers)
            source, tokens = "token_logprobs", float(len(numbers))
        figures = _figures(nll, tokens, size)
        primary = figures.get(self.metric_type)
        explain = f"{self.metric_type} is not known, or not a finite number"
        return ScoreCard(
            primary,
            sub_scores=figures,
            explain=explain if primary is None else None,
            detail={
                "source": source,
                "token_count": None if tokens is None else plain_number(tokens),
                "metric_type": self.metric_type,
            },
        )


def _finite(value: object) -> float | None:
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None


def _above_zero(value: object) -> float | None:
    number = _finite(value)
    return number if number is not None and number > 0 else None


def _figures(nll: float, tokens: float | None, size: float | None) -> dict[str, float]:
    """Returns the figures that are known and finite, by name."""
    figures = {"nll": nll}
    try:
        figures["ppl"] = math.exp(nll)
    except OverflowError:
        figures["ppl"] = math.inf
    if tokens is not None and size is not None:
        figures["bits_per_byte"] = nll * tokens / (size * math.log(2))
    return {name: value for name, value in figures.items() if math.isfinite(value)}
