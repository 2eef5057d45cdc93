"""Backends: a class that answers requests in place of a model."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .members import Member, Target, register
from .messages import Message


@dataclass(slots=True)
class GenerateRequest:
    """A conversation to continue, with the merged sampling parameters."""

    id: str
    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LoglikelihoodRequest:
    """Continuations of a conversation to score."""

    id: str
    messages: list[Message]
    continuations: list[str]


@dataclass(frozen=True, slots=True)
class BackendDetails:
    """Declarations specific to backends."""

    max_batch: int
    supports_generate: bool
    supports_loglikelihood: bool


def backend(
    *, version: str, max_batch: int = 32, config: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Turns a class into a backend; a component holds only one.

    `generate(request)` gets a GenerateRequest and returns the answer as a str or a Generation.
    `loglikelihood(request)` gets a LoglikelihoodRequest and returns a list with one
    ContinuationScore per continuation. The class defines one of them or both. In place of
    `generate` it may define `generate_all(requests)`, which returns a list with a str, a
    Generation or a PluginError for each request; use it to send requests concurrently.

    The arguments of the constructor are the backend's `config`. Their JSON Schema follows from
    annotations and defaults, unless `config` gives the full schema. `max_batch` is the maximum
    number of requests per call.
    """

    def decorate(target: Target) -> Target:
        details = BackendDetails(
            max_batch,
            supports_generate=hasattr(target, "generate") or hasattr(target, "generate_all"),
            supports_loglikelihood=hasattr(target, "loglikelihood"),
        )
        if not inspect.isclass(target) or not (
            details.supports_generate or details.supports_loglikelihood
        ):
            raise TypeError(
                "a backend is a class with a method generate, generate_all or loglikelihood"
            )
        register(
            Member(
                "backend", target, version=version, name="backend", params=config, details=details
            )
        )
        return target

    return decorate
