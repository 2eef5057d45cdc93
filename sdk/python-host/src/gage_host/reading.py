"""Reads the files of run folders, and reports those that are gone or damaged."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .errors import Error
from .files import Metric, Summary, Task

_ADVICE = "`gage-host verify` checks the run, and resume=True writes the file again from the journal"


def read_summary(folder: Path) -> Summary:
    """Returns the contents of `summary.json`.

    Raises:
        Error: If the file is gone or damaged.
    """
    path = folder / "summary.json"
    summary: Summary = _object(path, Summary.__required_keys__)
    _check_entries(path, summary["tasks"], Task.__required_keys__)
    _check_entries(path, summary["metrics"], Metric.__required_keys__)
    return summary


def read_timings(folder: Path) -> list[Metric]:
    """Returns the figures in `timings.json`, which only runs with metrics that read a clock have.

    Raises:
        Error: If the file is damaged.
    """
    path = folder / "timings.json"
    if not path.exists():
        return []
    metrics: list[Metric] = _object(path, ()).get("timing_metrics", [])
    _check_entries(path, metrics, Metric.__required_keys__)
    return metrics


def read_samples(folder: Path) -> Iterator[dict[str, Any]]:
    """Yields the samples in `samples.jsonl`, one at a time.

    Raises:
        Error: If the file is gone, or a line is damaged.
    """
    path = folder / "samples.jsonl"
    try:
        lines = open(path, "rb")
    except OSError as error:
        raise _unreadable(path, error.strerror) from error
    with lines:
        for number, line in enumerate(lines, 1):
            try:
                sample = json.loads(line.decode())
            except ValueError as error:
                raise _unreadable(path, f"line {number} is cut or damaged") from error
            if not isinstance(sample, dict):
                raise _unreadable(path, f"line {number} is not an object")
            yield sample


def _object(path: Path, keys: Collection[str]) -> Any:
    """Returns the object in a file, which has these keys."""
    try:
        value = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise _unreadable(path, error.strerror) from error
    except ValueError as error:
        raise _unreadable(path, f"it is cut or damaged: {error}") from error
    _check_entries(path, [value], keys)
    return value


def _check_entries(path: Path, entries: list[Any], keys: Collection[str]) -> None:
    """Fails if something is not a list of objects that have these keys."""
    if type(entries) is not list:
        raise _unreadable(path, "a list is missing")
    for entry in entries:
        if not isinstance(entry, dict):
            raise _unreadable(path, "an object is missing")
        missing = sorted(set(keys) - entry.keys())
        if missing:
            raise _unreadable(path, f"the key {missing[0]!r} is missing")


def _unreadable(path: Path, reason: str | None) -> Error:
    return Error(1, f"cannot read {path}: {reason or 'it is not a file'}; {_ADVICE}")
