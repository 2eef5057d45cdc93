"""Models of the run, by the id of their role adapter. Only backends may use this module; it needs
`imports = ["llm"]` in gage-plugin.toml, and the grant `llm` from the user.

Calls use the role's own pool and sampling parameters, and count against the grant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import PluginError
from .host_imports import call, find, missing, result
from .json_text import encode_object
from .messages import ContinuationScore, Generation, Message

_host = find("llm")


@dataclass(slots=True)
class Request:
    """A conversation for the model of a role (an `adapter_id` of the suite).

    `params` are sampling parameters that override those of the role.
    """

    role: str
    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Continuations:
    """A conversation and its possible continuations, for the model of a role."""

    role: str
    messages: list[Message]
    continuations: Sequence[str]


@dataclass(frozen=True, slots=True)
class RollingScore:
    """Likelihood of a whole text; its perplexity per token is `exp(-logprob / token_count)`."""

    logprob: float
    token_count: int
    byte_count: int


def generate(request: Request) -> Generation:
    """Calls a model."""
    from .components.bindings import generation_from_wit

    host = _bindings()
    return generation_from_wit(call(host.generate, _request(host, request)))


def generate_all(requests: Sequence[Request]) -> list[Generation | PluginError]:
    """Calls a model concurrently, as far as the role's pool allows; one result each, in order."""
    from .components.bindings import generation_from_wit

    host = _bindings()
    outcomes = host.generate_all([_request(host, request) for request in requests])
    return [result(outcome, generation_from_wit) for outcome in outcomes]


def loglikelihood(
    role: str, messages: list[Message], continuations: Sequence[str]
) -> list[ContinuationScore]:
    """Scores continuations of a conversation, for backends that have log-likelihoods."""
    host = _bindings()
    request = _scored(host, Continuations(role, messages, continuations))
    return _scores(call(host.loglikelihood, request))


def loglikelihood_all(
    requests: Sequence[Continuations],
) -> list[list[ContinuationScore] | PluginError]:
    """Scores concurrently, as far as the role's pool allows; one result each, in order."""
    host = _bindings()
    outcomes = host.loglikelihood_all([_scored(host, request) for request in requests])
    return [result(outcome, _scores) for outcome in outcomes]


def rolling_loglikelihood(role: str, text: str) -> RollingScore:
    """Returns the likelihood of a text, for backends with log-likelihoods of whole texts."""
    host = _bindings()
    request = host.RollingLoglikelihoodRequest(role, text)
    return _rolling(call(host.rolling_loglikelihood, request))


def rolling_loglikelihood_all(
    role: str, texts: Sequence[str]
) -> list[RollingScore | PluginError]:
    """Scores concurrently, as far as the role's pool allows; one result each, in order."""
    host = _bindings()
    requests = [host.RollingLoglikelihoodRequest(role, text) for text in texts]
    return [result(outcome, _rolling) for outcome in host.rolling_loglikelihood_all(requests)]


def embed(role: str, texts: Sequence[str]) -> list[list[float]]:
    """Returns one embedding per text, in order, not normalized by the host.

    It counts as one call of the grant, and fails as a whole.
    """
    host = _bindings()
    return _vectors(call(host.embed, host.EmbedRequest(role, list(texts))))


def embed_all(role: str, lists: Sequence[Sequence[str]]) -> list[list[list[float]] | PluginError]:
    """Embeds several lists of texts concurrently, as far as the role's pool allows; one result per
    list, in order."""
    host = _bindings()
    outcomes = host.embed_all([host.EmbedRequest(role, list(texts)) for texts in lists])
    return [result(outcome, _vectors) for outcome in outcomes]


def _bindings() -> Any:
    if _host is None:
        raise missing("llm")
    return _host


def _request(host: Any, request: Request) -> Any:
    from .components.bindings import messages_to_wit

    return host.GenerateRequest(
        request.role, messages_to_wit(request.messages), encode_object(request.params)
    )


def _scored(host: Any, request: Continuations) -> Any:
    from .components.bindings import messages_to_wit

    messages = messages_to_wit(request.messages)
    return host.LoglikelihoodRequest(request.role, messages, list(request.continuations))


def _scores(scores: Any) -> list[ContinuationScore]:
    return [ContinuationScore(one.logprob, one.token_count, one.is_greedy) for one in scores]


def _rolling(score: Any) -> RollingScore:
    return RollingScore(score.logprob, score.token_count, score.byte_count)


def _vectors(vectors: Any) -> list[list[float]]:
    return [list(vector) for vector in vectors]
