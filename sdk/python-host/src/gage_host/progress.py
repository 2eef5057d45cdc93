"""The progress of a run, in a terminal, in a notebook, or in a log."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from typing import Any, Protocol

# Clears the line of the cursor, and moves the cursor to its begin.
_CLEAR_LINE = "\r\x1b[K"


class _Surface(Protocol):
    """A place for lines that change."""

    def show(self, running: list[str]) -> None:
        """Replaces the lines of the tasks that run."""

    def finish(self, line: str) -> None:
        """Adds the last line of a task."""

    def clear(self) -> None:
        """Makes room for another text."""


class Progress:
    """Shows the lines of `gage-host run --progress json`."""

    def __init__(self) -> None:
        self._surface = _surface()
        self._running: dict[str, str] = {}

    def on_line(self, line: str) -> bool:
        """Shows a line of progress; returns false for every other line."""
        event = _event(line)
        if event is None:
            self._surface.clear()
            return False
        name = str(event.get("task_id") or event.get("host"))
        self._running.pop(name, None)
        if event["event"] == "task_finished":
            self._surface.finish(_task_line(event))
        elif event["event"] == "server" and event["state"] != "healthy":
            self._running[name] = f"{name} is {event['state']}: {event['cause']}"
        elif "task_id" in event:
            self._running[name] = _task_line(event)
        self._surface.show(list(self._running.values()))
        return True

    def close(self) -> None:
        """Leaves only the lines of tasks that have finished."""
        self._surface.show([])


def _event(line: str) -> dict[str, Any] | None:
    try:
        event: dict[str, Any] | None = json.loads(line) if line.startswith('{"event":') else None
    except ValueError:
        return None
    return event


def _task_line(event: dict[str, Any]) -> str:
    parts = [f"{event['task_id']} {event['done']}/{event['total'] if event['total'] is not None else '?'}"]
    if event.get("samples_per_s"):
        parts.append(f"{event['samples_per_s']:.1f}/s")
    if event.get("eta_s") and event["event"] != "task_finished":
        minutes, seconds = divmod(round(event["eta_s"]), 60)
        parts.append(f"{minutes}:{seconds:02} left")
    if event.get("failures"):
        parts.append(f"{sum(event['failures'].values())} failed")
    if event.get("held"):
        parts.append(str(event["held"]))
    return " · ".join(parts)


class _Terminal:
    """A line of the terminal, which stays in its place."""

    def show(self, running: list[str]) -> None:
        width = shutil.get_terminal_size().columns
        _write(_CLEAR_LINE + " | ".join(running)[: width - 1])

    def finish(self, line: str) -> None:
        _write(f"{_CLEAR_LINE}{line}\n")

    def clear(self) -> None:
        _write(_CLEAR_LINE)


class _Notebook:
    """An output of the cell, which is replaced."""

    def __init__(self) -> None:
        self._finished: list[str] = []
        self._handle: Any = None

    def show(self, running: list[str]) -> None:
        text = {"text/plain": "\n".join(self._finished + running)}
        if self._handle is None and not text["text/plain"]:
            return
        if self._handle is None:
            display: Any = importlib.import_module("IPython.display").display
            self._handle = display(text, raw=True, display_id=True)
        else:
            self._handle.update(text, raw=True)

    def finish(self, line: str) -> None:
        self._finished.append(line)

    def clear(self) -> None:
        """Texts are elsewhere in the cell."""


class _Log:
    """A file, which gets a line when a task ends."""

    def show(self, running: list[str]) -> None:
        """Lines that change are left out."""

    def finish(self, line: str) -> None:
        _write(line + "\n")

    def clear(self) -> None:
        """Every line is whole."""


def _surface() -> _Surface:
    if _is_notebook():
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else _Log()


def _is_notebook() -> bool:
    """Returns whether this process is the kernel of a notebook. IPython is not imported for this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _write(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()
