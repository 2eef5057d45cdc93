"""Aggregators: classes that compute figures from score cards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .members import Member, Target, register, require_methods
from .score_card import ScoreCard


@dataclass(slots=True)
class ScoredRow:
    """One sample with its card and its weight."""

    sample_id: str
    weight: float
    card: ScoreCard


@dataclass(slots=True)
class Figure:
    """A figure of a report: name, value, number of rows, and standard error."""

    name: str
    value: float
    count: int
    stderr: float | None = None


def aggregator(
    *, version: str, name: str | None = None, params: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Turns a class with three methods into an aggregator.

    `start()` returns the state before the first row. `add(state, row)` takes the state and a
    ScoredRow and returns the new state. `finish(state)` returns a list of Figure. The state is
    JSON (None, bool, int, float, str, list, dict), since the host keeps it between calls. An
    optional `merge(state, other)` returns the state with the rows of both, without changing
    `other`. Names and params work as in the class form of `metric`; the constructor runs once per call.
    """

    def decorate(target: Target) -> Target:
        require_methods(target, "aggregator", "start", "add", "finish")
        register(Member("aggregator", target, version=version, name=name, params=params))
        return target

    return decorate
