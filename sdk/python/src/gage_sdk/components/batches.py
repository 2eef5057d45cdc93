"""What every kind does alike: finding a member, reading its params, going through a batch."""

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import plugin
from componentize_py_types import Err, Ok
from wit_world.imports import types

from ..about import about
from ..errors import PluginError
from ..json_text import encode_object
from ..members import Kind, Member, first_paragraph, members_of
from .bindings import error_to_wit


class Members:
    """The members of the component, of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.by_name = members_of(kind)
        # All that lives now lives as long as the instance; the collector need not look at it again.
        gc.collect()
        gc.freeze()

    def __iter__(self) -> Iterator[Member]:
        return iter(self.by_name.values())

    def named(self, name: str) -> Member:
        """The member with this name."""
        member = self.by_name.get(name)
        if member is None:
            held = ", ".join(self.by_name)
            message = f"the component holds no {self.kind} '{name}'; it holds {held}"
            raise PluginError("unsupported", message)
        return member

    def create(self, name: str, params: str) -> Any:
        """The member made from the JSON text of its params."""
        return self.named(name).create(read_params(params))

    def check(self, name: str, params: str) -> None:
        """Makes the member, so that what its params cannot be used for is found."""
        with_errors(lambda: self.create(name, params))


def read_params(params: str) -> dict[str, Any]:
    """Reads params; nothing and null stand for no params."""
    if params in ("{}", ""):
        return {}
    try:
        found = json.loads(params)
    except ValueError as error:
        raise PluginError("invalid_config", f"the params are not JSON: {error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise PluginError("invalid_config", "the params are not an object")
    return found


def each(
    batch: list[Any], prepare: Callable[[], Callable[[Any], Any]]
) -> list[Any]:
    """One result for each item: what the prepared function makes of it, or its exception. A failed
    preparation is the result of every item."""
    try:
        step = prepare()
    except Exception as error:
        failure = error_to_wit(error)
        return [Err(failure) for _ in batch]
    results: list[Any] = []
    for item in batch:
        try:
            results.append(Ok(step(item)))
        except Exception as error:
            results.append(Err(error_to_wit(error)))
    return results


def with_errors(call: Callable[[], Any]) -> Any:
    """Calls a function whose exceptions are the result of the whole call."""
    try:
        return call()
    except Exception as error:
        raise Err(error_to_wit(error)) from None


def plugin_info() -> Any:
    """Who the plugin is."""
    told = about()
    description = told.description or first_paragraph(plugin.__doc__)
    return types.PluginInfo(told.name, told.version, description, encode_object(told.extra))


def member_spec(member: Member) -> Any:
    """How a member is declared."""
    return types.MemberSpec(
        member.name, member.description, member.version, member.params_schema
    )
