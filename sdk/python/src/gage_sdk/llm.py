"""Models of the run, by the id of their role adapter. Only backends may use it; needs
`imports = ["llm"]` in gage-plugin.toml, and the grant `llm` of the user.

Calls go through the role's own pool and sampling parameters, and count against the grant.
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

    `params` are sampling parameters that win over those of the role.
    """

    role: str
    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


def generate(request: Request) -> Generation:
    """Asks a model."""
    from .components.bindings import generation_from_wit

    host = _bindings()
    return generation_from_wit(call(host.generate, _request(host, request)))


def generate_all(requests: Sequence[Request]) -> list[Generation | PluginError]:
    """Asks at the same time, as far as the role's pool allows; one result each, in order."""
    from .components.bindings import generation_from_wit

    host = _bindings()
    outcomes = host.generate_all([_request(host, request) for request in requests])
    return [result(outcome, generation_from_wit) for outcome in outcomes]


def loglikelihood(
    role: str, messages: list[Message], continuations: Sequence[str]
) -> list[ContinuationScore]:
    """Scores continuations of a conversation, for backends that have log-likelihoods."""
    from .components.bindings import messages_to_wit

    host = _bindings()
    request = host.LoglikelihoodRequest(role, messages_to_wit(messages), list(continuations))
    scores = call(host.loglikelihood, request)
    return [ContinuationScore(one.logprob, one.token_count, one.is_greedy) for one in scores]


def _bindings() -> Any:
    if _host is None:
        raise missing("llm")
    return _host


def _request(host: Any, request: Request) -> Any:
    from .components.bindings import messages_to_wit

    return host.GenerateRequest(
        request.role, messages_to_wit(request.messages), encode_object(request.params)
    )
