"""Weighted geometric mean of the primary scores."""

import math
from typing import Any

from gage_sdk import Figure, PluginError, ScoredRow, aggregator, describe

describe(name="{{name}}", version="0.1.0")


# A fold: the host keeps the state between calls, so it must be small, and JSON. Arguments of a
# constructor (def __init__(self, *, floor: float = 0.0)) are the params in a suite. Increase the
# version when a figure could change.
@aggregator(version="1", name="{{snake}}")
class GeometricMean:
    """Weighted geometric mean of the primary scores; cards without one do not count."""

    def start(self) -> dict[str, Any]:
        return {"log_sum": 0.0, "weight": 0.0, "count": 0, "has_zero": False}

    def add(self, state: dict[str, Any], row: ScoredRow) -> dict[str, Any]:
        score = row.card.primary_score
        if score is None:
            return state
        if score < 0:
            raise PluginError("invalid_input", f"sample '{row.sample_id}' scores below zero")
        if score == 0:
            state["has_zero"] = True
        else:
            state["log_sum"] += row.weight * math.log(score)
        state["weight"] += row.weight
        state["count"] += 1
        return state

    # Optional: with it, the figure gets an interval, and gates compare it.
    def merge(self, state: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        merged = {key: state[key] + other[key] for key in ("log_sum", "weight", "count")}
        return {**merged, "has_zero": state["has_zero"] or other["has_zero"]}

    def finish(self, state: dict[str, Any]) -> list[Figure]:
        if state["weight"] == 0:
            return []
        mean = 0.0 if state["has_zero"] else math.exp(state["log_sum"] / state["weight"])
        return [Figure("geometric_mean", mean, state["count"])]
