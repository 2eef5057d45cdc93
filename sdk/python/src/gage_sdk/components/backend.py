"""The component of a backend plugin."""

from collections.abc import Callable
from typing import Any

from componentize_py_types import Err, Ok
from wit_world.exports import backend as wit

from ..backends import GenerateRequest, LoglikelihoodRequest
from ..errors import PluginError
from ..json_text import decode_object
from .batches import Members, each, plugin_info
from .bindings import (
    continuation_scores_to_wit,
    error_to_wit,
    generation_to_wit,
    messages_from_wit,
)

_NAME = "backend"
_MEMBERS = Members("backend")
_MEMBER = _MEMBERS.named(_NAME)


class Backend:
    """The interface `backend`."""

    def describe(self) -> Any:
        return plugin_info()

    def spec(self) -> Any:
        details = _MEMBER.details
        return wit.BackendSpec(
            _MEMBER.version,
            details.max_batch,
            details.supports_generate,
            details.supports_loglikelihood,
            _MEMBER.params_schema,
        )

    def check(self, config: str) -> None:
        _MEMBERS.check(_NAME, config)

    def generate(self, config: str, requests: list[Any]) -> list[Any]:
        if hasattr(_MEMBER.target, "generate_all"):
            return _generate_all(config, requests)

        def prepare() -> Callable[[Any], Any]:
            if not _MEMBER.details.supports_generate:
                raise PluginError("unsupported", "this backend does not generate")
            generate = _MEMBERS.create(_NAME, config).generate
            return lambda request: generation_to_wit(generate(_request(request)))

        return each(requests, prepare)

    def loglikelihood(self, config: str, requests: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            if not _MEMBER.details.supports_loglikelihood:
                raise PluginError("unsupported", "this backend has no log-likelihoods")
            loglikelihood = _MEMBERS.create(_NAME, config).loglikelihood
            return lambda request: continuation_scores_to_wit(
                loglikelihood(
                    LoglikelihoodRequest(
                        request.id, messages_from_wit(request.messages), request.continuations
                    )
                )
            )

        return each(requests, prepare)


def _generate_all(config: str, requests: list[Any]) -> list[Any]:
    try:
        made = _MEMBERS.create(_NAME, config)
        answers = list(made.generate_all([_request(request) for request in requests]))
        if len(answers) != len(requests):
            raise ValueError(
                f"generate_all returned {len(answers)} answers to {len(requests)} requests"
            )
    except Exception as error:
        failure = error_to_wit(error)
        return [Err(failure) for _ in requests]
    return [_answer(answer) for answer in answers]


def _answer(answer: Any) -> Any:
    if isinstance(answer, Exception):
        return Err(error_to_wit(answer))
    try:
        return Ok(generation_to_wit(answer))
    except Exception as error:
        return Err(error_to_wit(error))


def _request(request: Any) -> GenerateRequest:
    return GenerateRequest(
        request.id, messages_from_wit(request.messages), decode_object(request.params)
    )
