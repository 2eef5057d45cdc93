"""Conversion between the SDK's values and those of the generated bindings."""

import re
from typing import Any

from wit_world.imports import types

from ..errors import PluginError
from ..json_text import decode_object, encode_object
from ..messages import ContinuationScore, Generation, Message
from ..score_card import ScoreCard, score_card
from .output import log_traceback, places_of


def _by_name(enumeration: Any) -> dict[str, Any]:
    return {case.name.lower(): case for case in enumeration}


def _names(enumeration: Any) -> dict[Any, str]:
    return {case: case.name.lower() for case in enumeration}


_ERROR_KINDS = _by_name(types.ErrorKind)
_ERROR_KIND_NAMES = _names(types.ErrorKind)
_ROLES = _by_name(types.Role)
_ROLE_NAMES = _names(types.Role)
_FINISH_REASONS = _by_name(types.FinishReason)
_FINISH_REASON_NAMES = _names(types.FinishReason)
VALUE_KINDS = _by_name(types.ValueKind)
MEDIA_KINDS = _by_name(types.MediaKind)
MEDIA_KIND_NAMES = _names(types.MediaKind)


def case_named(cases: dict[str, Any], name: str, what: str) -> Any:
    """Returns the case of an enumeration with this name."""
    try:
        return cases[name]
    except (KeyError, TypeError):
        allowed = ", ".join(cases)
        raise ValueError(f"no {what} is called {name!r}; allowed are {allowed}") from None


def error_to_wit(error: BaseException) -> Any:
    """Converts an exception to an error of the contract; anything but a PluginError is `internal`.
    """
    if isinstance(error, PluginError):
        kind = _ERROR_KINDS.get(error.kind, types.ErrorKind.INTERNAL)
        return types.PluginError(kind, str(error.message), error.pointer, bool(error.retryable))
    log_traceback(error)
    message = f"{type(error).__name__}: {error}{places_of(error)}{_advice(error)}"
    return types.PluginError(types.ErrorKind.INTERNAL, message, None, False)


def _advice(error: BaseException) -> str:
    """Returns advice on faults that only a running component has."""
    if isinstance(error, ImportError):
        return (
            f"; a component imports nothing while it runs: import {error.name or 'it'} at the top of "
            "plugin.py. A package with native code cannot be used at all"
        )
    unknown = re.fullmatch(r"unknown encoding: ([\w-]+)", str(error))
    if isinstance(error, LookupError) and unknown:
        module = unknown[1].lower().replace("-", "_")
        return (
            "; a component loads no codec while it runs: write "
            f"`import encodings.{module}` at the top of plugin.py"
        )
    return ""


def error_from_wit(error: Any) -> PluginError:
    """Converts an error of a host import."""
    return PluginError(
        _ERROR_KIND_NAMES[error.kind],  # type: ignore[arg-type]
        error.message,
        pointer=error.pointer,
        retryable=error.retryable,
    )


def messages_to_wit(messages: list[Message]) -> list[Any]:
    """Converts a conversation."""
    return [
        types.Message(
            case_named(_ROLES, message.role, "role"),
            text(message.content, "the content of a message"),
            encode_object(message.extra),
        )
        for message in messages
    ]


def messages_from_wit(messages: list[Any]) -> list[Message]:
    """Converts a conversation."""
    return [
        Message(_ROLE_NAMES[one.role], one.content, decode_object(one.extra))  # type: ignore[arg-type]
        for one in messages
    ]


def generation_to_wit(generation: Generation | str) -> Any:
    """Converts a backend's answer; a string is an answer that finished normally."""
    if isinstance(generation, str):
        return types.Generation(generation, types.FinishReason.STOP, None, "{}")
    if not isinstance(generation, Generation):
        found = type(generation).__name__
        raise TypeError(f"an answer is a str or a Generation, found {found}")
    usage = None
    if generation.prompt_tokens is not None or generation.completion_tokens is not None:
        usage = types.Usage(generation.prompt_tokens or 0, generation.completion_tokens or 0)
    return types.Generation(
        text(generation.answer, "an answer"),
        case_named(_FINISH_REASONS, generation.finish, "finish reason"),
        usage,
        encode_object(generation.extra),
    )


def generation_from_wit(generation: Any) -> Generation:
    """Converts a model's answer."""
    usage = generation.usage
    return Generation(
        generation.answer,
        _FINISH_REASON_NAMES[generation.finish],  # type: ignore[arg-type]
        None if usage is None else usage.prompt_tokens,
        None if usage is None else usage.completion_tokens,
        decode_object(generation.extra),
    )


def continuation_scores_to_wit(scores: list[ContinuationScore]) -> list[Any]:
    """Converts one score per continuation."""
    return [
        types.ContinuationScore(float(one.logprob), int(one.token_count), bool(one.is_greedy))
        for one in scores
    ]


def card_to_wit(score: Any) -> Any:
    """Converts a score card, or a value that stands for one."""
    # The simple cases first: most metrics return a number or a boolean.
    kind = type(score)
    if kind is bool:
        return types.ScoreCard(1.0 if score else 0.0, score, [], [], None, "{}")
    if kind is float:
        return types.ScoreCard(score, None, [], [], None, "{}")
    card = score if kind is ScoreCard else score_card(score)
    primary = card.primary_score
    for tag in card.error_tags:
        text(tag, "an error tag")
    return types.ScoreCard(
        None if primary is None else float(primary),
        None if card.passed is None else bool(card.passed),
        [
            types.SubScore(text(name, "the name of a sub-score"), float(value))
            for name, value in card.sub_scores.items()
        ],
        list(card.error_tags),
        None if card.explain is None else text(card.explain, "an explanation"),
        encode_object(card.detail),
    )


def card_from_wit(card: Any) -> ScoreCard:
    """Converts a score card from the host."""
    return ScoreCard(
        card.primary_score,
        card.pass_,
        {one.name: one.value for one in card.sub_scores},
        card.error_tags,
        card.explain,
        decode_object(card.detail),
    )


def text(value: object, what: str) -> str:
    """Returns the value, which must be a string: the boundary traps on anything else."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{what} must be a str, found {type(value).__name__}")
