"""Metrics: functions, or classes with a method `score`, that score one sample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .inputs import Input, ResolvedInput, resolve_inputs
from .members import Member, Target, positional_parameters, register, worker
from .schema import hints_of


@dataclass(frozen=True, slots=True)
class Value:
    """A value reported by a metric, and its range; None means no bound."""

    name: str
    higher_is_better: bool = True
    minimum: float | None = 0.0
    maximum: float | None = 1.0


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """Declarations specific to metrics."""

    inputs: list[ResolvedInput]
    values: list[Value]
    default_aggregation: str


def metric(
    *,
    version: str,
    name: str | None = None,
    inputs: Mapping[str, Input] | None = None,
    values: Sequence[Value] | None = None,
    default_aggregation: str = "mean",
    params: Mapping[str, Any] | None = None,
) -> Callable[[Target], Target]:
    """Turns a function, or a class with a method `score`, into a metric.

    Positional arguments are inputs. The host finds them as declared in `inputs`, and converts them
    to their annotated types (`str`, `float`, `list[str]`, `dict`, `object`). `prediction`,
    `reference` and `text` need not be declared. A missing value is None.

    Keyword-only arguments are params; those of a class are the arguments of its constructor, which
    runs once per batch. Their JSON Schema follows from annotations and defaults, unless `params`
    gives the full schema.

    The function returns a number, a boolean, None or a ScoreCard. The first of `values` is the
    primary score, the rest are sub-scores; the default is `score` from 0 to 1. The name is that of
    the function, the description the first paragraph of its doc string. Change `version` whenever
    any score could change.
    """

    def decorate(target: Target) -> Target:
        # A base class may define inputs and values.
        sources = {**getattr(target, "inputs", {}), **(inputs or {})}
        declared = values or getattr(target, "values", None) or [Value("score")]
        found = resolve_inputs(
            positional_parameters(target, "score"), hints_of(worker(target, "score")), sources
        )
        details = MetricDetails(found, list(declared), default_aggregation)
        register(
            Member(
                "metric",
                target,
                version=version,
                name=name,
                params=params,
                method="score",
                details=details,
            )
        )
        return target

    return decorate
