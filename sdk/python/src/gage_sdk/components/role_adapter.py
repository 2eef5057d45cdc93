"""The component of a role-adapter plugin."""

import json
from collections.abc import Callable
from typing import Any

from wit_world.exports import role_adapter as wit

from ..json_text import encode, encode_object
from ..messages import Prompt
from .batches import Members, each, member_spec, plugin_info
from .bindings import generation_from_wit, messages_to_wit

_MEMBERS = Members("role-adapter")


class RoleAdapter:
    """The interface `role-adapter`."""

    def describe(self) -> Any:
        return plugin_info()

    def adapters(self) -> list[Any]:
        return [member_spec(member) for member in _MEMBERS]

    def check(self, adapter: str, params: str) -> None:
        _MEMBERS.check(adapter, params)

    def prepare(self, adapter: str, params: str, payloads: list[str]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            made = _MEMBERS.create(adapter, params)
            return lambda payload: _prepared(made.prepare(json.loads(payload)))

        return each(payloads, prepare)

    def parse(self, adapter: str, params: str, replies: list[Any]) -> list[Any]:
        def prepare() -> Callable[[Any], Any]:
            made = _MEMBERS.create(adapter, params)
            return lambda answered: _output(
                made.parse(json.loads(answered.payload), generation_from_wit(answered.reply))
            )

        return each(replies, prepare)


def _prepared(prepared: Any) -> Any:
    if isinstance(prepared, Prompt):
        request = wit.Request(messages_to_wit(prepared.messages), encode_object(prepared.params))
        return wit.Prepared_Ask(request)
    if isinstance(prepared, dict):
        return wit.Prepared_Output(encode(prepared))
    raise TypeError(f"prepare returns a Prompt or a dict, found {type(prepared).__name__}")


def _output(output: Any) -> str:
    if isinstance(output, dict):
        return encode(output)
    raise TypeError(f"parse returns a dict, found {type(output).__name__}")
