"""Conversations: what is sent to a model, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]


@dataclass(slots=True)
class Message:
    """One message, as text.

    `extra` holds what else belongs to it: `name`, `tool_calls`, `tool_call_id`, and `parts`, the
    Sample's `content` list, when there are parts that are not text.
    """

    role: Role
    content: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Prompt:
    """A conversation that a model is to continue.

    `params` are sampling parameters that win over those of the role (`{"temperature": 0}`).
    """

    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Generation:
    """What a model answered. `extra` holds whatever has no field of its own.

    The counts of tokens are None where they are not known; give both or neither.
    """

    answer: str
    finish: FinishReason = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ContinuationScore:
    """How likely a continuation is.

    `logprob` is the sum over its tokens of the natural logarithm of their probability; `is_greedy`
    says whether greedy decoding would have produced it.
    """

    logprob: float
    token_count: int
    is_greedy: bool


def message_text(message: Mapping[str, Any]) -> str:
    """The text of one message of a Sample: its text parts, one after the other."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part.get("type") == "text")
