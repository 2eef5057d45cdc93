"""Log lines to the host, which limits their number and size. Outside a component, they go to
standard error."""

import sys
from collections.abc import Callable

from .host_imports import find

_host = find("log")

_prefix: Callable[[], str] = str


def debug(message: str) -> None:
    """Writes a debug line."""
    _emit("DEBUG", message)


def info(message: str) -> None:
    """Writes an info line."""
    _emit("INFO", message)


def warn(message: str) -> None:
    """Writes a warning."""
    _emit("WARN", message)


def error(message: str) -> None:
    """Writes an error line."""
    _emit("ERROR", message)


def enabled(level: str) -> bool:
    """Returns whether the host would keep a line of a level: "debug", "info", "warn" or "error". Saves
    building a message that is dropped; a result must not depend on it. Needs a host with version 0.1.1
    of the contract."""
    return _host is None or _host.enabled(_host.Level[level.upper()])


def _emit(level: str, message: str) -> None:
    if _host is None:
        print(f"{level.lower()}: {message}", file=sys.stderr)
    else:
        _host.emit(_host.Level[level], f"{_prefix()}{message}")
