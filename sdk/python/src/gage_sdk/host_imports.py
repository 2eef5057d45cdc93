"""Access to host imports for the modules `log`, `media`, `http` and `llm`.

They import `components.bindings` when a function is called: it exists only inside a component, and
is loaded there by then.
"""

import importlib
from collections.abc import Callable
from typing import Any

from .errors import PluginError


def find(name: str) -> Any:
    """Returns the generated bindings of a host import, or None if there are none.

    Called when a module is imported, that is, while the component is built: a running component
    has no files to import from.
    """
    try:
        return importlib.import_module(f"wit_world.imports.{name}")
    except ImportError:
        return None


IS_COMPONENT = find("types") is not None
"""Whether this runs inside a component."""


def missing(name: str) -> PluginError:
    """Returns the error of a call to a missing host import."""
    if IS_COMPONENT:
        message = (
            f"this component does not import {name}; add \"{name}\" to imports in "
            "gage-plugin.toml and build it again"
        )
    else:
        message = f"{name} works inside a component only; in tests, replace what gage_sdk.{name} does"
    return PluginError("unsupported", message)


def call(function: Callable[..., Any], *arguments: object) -> Any:
    """Calls a host import; an error of the host is raised as a PluginError."""
    from componentize_py_types import Err

    from .components.bindings import error_from_wit

    try:
        return function(*arguments)
    except Err as error:
        raise error_from_wit(error.value) from None


def result(outcome: Any, convert: Callable[[Any], Any]) -> Any:
    """Converts one of several results to the value, or to the host's PluginError."""
    from componentize_py_types import Err

    from .components.bindings import error_from_wit

    return error_from_wit(outcome.value) if isinstance(outcome, Err) else convert(outcome.value)
