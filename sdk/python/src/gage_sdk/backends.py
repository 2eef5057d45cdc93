"""Backends: a class that answers requests in place of a model."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .members import Member, Target, register
from .messages import Message


@dataclass(slots=True)
class GenerateRequest:
    """A conversation to continue, with the sampling parameters, merged and ready."""

    id: str
    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class LoglikelihoodRequest:
    """Continuations of a conversation that are to be scored."""

    id: str
    messages: list[Message]
    continuations: list[str]


@dataclass(frozen=True, slots=True)
class BackendDetails:
    """What only backends declare."""

    max_batch: int
    supports_generate: bool
    supports_loglikelihood: bool


def backend(
    *, version: str, max_batch: int = 32, config: Mapping[str, Any] | None = None
) -> Callable[[Target], Target]:
    """Makes a backend of a class; a component holds one.

    `generate(request)` gets a GenerateRequest and returns the answer as a str or a Generation.
    `loglikelihood(request)` gets a LoglikelihoodRequest and returns a list with one
    ContinuationScore for each continuation. The class has one of them or both. In place of
    `generate` it may have `generate_all(requests)`, which returns a list with a str, a Generation
    or a PluginError for each request; use it to send requests at the same time.

    The arguments of the constructor are the backend's `config`; their JSON Schema follows from
    annotations and defaults, unless `config` gives it in full. `max_batch` is the largest number
    of requests in one call.
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
