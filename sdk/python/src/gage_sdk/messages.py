"""Conversations with models: messages, prompts and answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]


@dataclass(slots=True)
class Message:
    """A text message.

    `extra` holds further keys: `name`, `tool_calls`, `tool_call_id`, and `parts`, the Sample's
    `content` list, if there are parts that are not text.
    """

    role: Role
    content: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Prompt:
    """A conversation for a model to continue.

    `params` are sampling parameters that override those of the role (`{"temperature": 0}`).
    """

    messages: list[Message]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Generation:
    """A model's answer. `extra` holds keys without a field of their own.

    The token counts are None if unknown; give both or neither.
    """

    answer: str
    finish: FinishReason = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ContinuationScore:
    """Likelihood of a continuation.

    `logprob` is the sum of the natural logarithms of the token probabilities. `is_greedy` is True
    if greedy decoding would have produced the continuation.
    """

    logprob: float
    token_count: int
    is_greedy: bool


def message_text(message: Mapping[str, Any]) -> str:
    """Returns the text of one message of a Sample: its concatenated text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part.get("type") == "text")
