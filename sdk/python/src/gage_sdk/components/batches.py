"""Features shared by all kinds: finding a member, reading its params, running a batch."""

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
from .embedded import keep_project
from .output import begin_item, capture_output, end_item, keep_sources

capture_output()
# Before the members are found: whatever is alive then stays.
keep_project(plugin)


class Members:
    """The members of the component, of one kind."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.by_name = members_of(kind)
        keep_sources()
        # Everything alive now lives as long as the instance, so the collector need not scan it
        # again.
        gc.collect()
        gc.freeze()

    def __iter__(self) -> Iterator[Member]:
        return iter(self.by_name.values())

    def named(self, name: str) -> Member:
        """Returns the member with this name."""
        member = self.by_name.get(name)
        if member is None:
            held = ", ".join(self.by_name)
            message = f"the component holds no {self.kind} '{name}'; it holds {held}"
            raise PluginError("unsupported", message)
        return member

    def create(self, name: str, params: str) -> Any:
        """Creates the member from the JSON text of its params."""
        return self.named(name).create(read_params(params))

    def check(self, name: str, params: str) -> None:
        """Creates the member, to detect unusable params."""
        with_errors(lambda: self.create(name, params))


def read_params(params: str) -> dict[str, Any]:
    """Parses params; an empty text or null means no params."""
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
    """Returns one result per item: the result of the prepared function, or its exception. If the
    preparation fails, every item gets its exception."""
    try:
        step = prepare()
    except Exception as error:
        failure = error_to_wit(error)
        return [Err(failure) for _ in batch]
    results: list[Any] = []
    is_only = len(batch) == 1
    for item in batch:
        begin_item(item, is_only)
        try:
            results.append(Ok(step(item)))
        except Exception as error:
            results.append(Err(error_to_wit(error)))
        finally:
            end_item()
    return results


def with_errors(call: Callable[[], Any]) -> Any:
    """Calls a function whose exception fails the whole call."""
    try:
        return call()
    except Exception as error:
        raise Err(error_to_wit(error)) from None
    finally:
        end_item()


def plugin_info() -> Any:
    """Returns the description of the plugin."""
    told = about()
    description = told.description or first_paragraph(plugin.__doc__)
    return types.PluginInfo(told.name, told.version, description, encode_object(told.extra))


def member_spec(member: Member) -> Any:
    """Returns the declaration of a member."""
    return types.MemberSpec(
        member.name, member.description, member.version, member.params_schema
    )
