"""The component of a doc-hook plugin."""

import json
from collections.abc import Callable
from typing import Any

from wit_world.exports import doc_hooks as wit

from ..doc_hooks import MediaSource
from ..errors import PluginError
from ..json_text import encode_object
from .batches import Members, each, member_spec, plugin_info, read_params
from .bindings import MEDIA_KINDS, case_named, messages_to_wit, text

_MEMBERS = Members("doc-hook")
_KINDS = {case.name.lower(): case for case in wit.HookKind}


class DocHooks:
    """The interface `doc-hooks`."""

    def describe(self) -> Any:
        return plugin_info()

    def hooks(self) -> list[Any]:
        return [wit.HookSpec(_KINDS[member.details], member_spec(member)) for member in _MEMBERS]

    def check(self, hook: str, params: str) -> None:
        _MEMBERS.check(hook, params)

    def to_text(self, hook: str, params: str, samples: list[str]) -> list[Any]:
        return _apply(hook, params, samples, ("text",), messages_to_wit)

    def to_media(self, hook: str, params: str, samples: list[str]) -> list[Any]:
        return _apply(hook, params, samples, ("visual", "audio"), _media_to_wit)


def _apply(
    hook: str,
    params: str,
    samples: list[str],
    kinds: tuple[str, ...],
    to_wit: Callable[[Any], Any],
) -> list[Any]:
    def prepare() -> Callable[[Any], Any]:
        member = _MEMBERS.named(hook)
        if member.details not in kinds:
            message = f"the doc hook '{hook}' is of the kind {member.details}"
            raise PluginError("unsupported", message)
        apply = member.function(read_params(params))
        return lambda sample: to_wit(apply(json.loads(sample)))

    return each(samples, prepare)


def _media_to_wit(sources: list[MediaSource]) -> list[Any]:
    return [
        wit.MediaSource(
            case_named(MEDIA_KINDS, one.kind, "kind of media"),
            text(one.source, "the source of media"),
            encode_object(one.extra),
        )
        for one in sources
    ]
