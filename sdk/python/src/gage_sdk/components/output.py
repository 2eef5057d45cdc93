"""What the author's code prints and raises, with the sample that it is about."""

import io
import linecache
import os
import sys
import traceback
from typing import Any

from .. import log

_MAX_FRAMES = 5


class _Subject:
    """The item that is processed. `is_only` if the call has no other one, which the host then names.
    """

    item: Any = None
    is_only: bool = True


_subject = _Subject()


def begin_item(item: Any, is_only: bool) -> None:
    """Sets the item that the author's code processes now; None for none."""
    _subject.item, _subject.is_only = item, is_only


class _NamedLines(io.TextIOBase):
    """A standard stream that writes whole lines, and begins them with the sample if a call has
    several."""

    def __init__(self, stream: Any) -> None:
        self.plain_stream, self._unfinished = stream, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            self._write_line(line)
        return len(text)

    def flush(self) -> None:
        """Keeps an unfinished line until its end."""

    def end_line(self) -> None:
        """Writes a line that has no end."""
        if self._unfinished:
            self._write_line(self._unfinished)
            self._unfinished = ""

    def _write_line(self, line: str) -> None:
        try:
            self.plain_stream.write(f"{_prefix()}{line}\n")
            self.plain_stream.flush()
        except OSError:
            # A score must not depend on what happens to a line.
            pass


def _prefix() -> str:
    if _subject.is_only or _subject.item is None:
        return ""
    item = _subject.item
    name = getattr(item, "sample_id", None) or getattr(item, "id", None)
    return f"sample {name}: " if name else ""


def capture_output() -> None:
    """Replaces the standard streams."""
    sys.stdout, sys.stderr = _NamedLines(_plain(sys.stdout)), _NamedLines(_plain(sys.stderr))
    log._prefix = _prefix


def _plain(stream: Any) -> Any:
    return getattr(stream, "plain_stream", stream)


def end_item() -> None:
    """Ends the item, with its lines."""
    _end_lines()
    begin_item(None, True)


def _end_lines() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _NamedLines):
            stream.end_line()


def keep_sources() -> None:
    """Keeps the source lines of the author's modules for tracebacks: a component has no files when it
    runs."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and _own_name(file) is not None:
            lines = linecache.getlines(file)
            # Without a time of change, an entry is never checked again.
            linecache.cache[file] = (sum(map(len, lines)), None, lines, file)


def places_of(error: BaseException) -> str:
    """Returns the places in the author's files at which an exception was raised, the innermost
    first."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        file = _own_name(code.co_filename)
        if file is not None:
            places.append(f"{file}, line {frame.tb_lineno}, in {code.co_name}")
        frame = frame.tb_next
    places.reverse()
    shown = places[:_MAX_FRAMES]
    if len(places) > len(shown):
        shown.append(f"{len(places) - len(shown)} more")
    return f" ({', called from '.join(shown)})" if shown else ""


def log_traceback(error: BaseException) -> None:
    """Logs the whole traceback of an exception, from the author's first file on, if the call is about
    one item."""
    if not _subject.is_only:
        return
    frame = error.__traceback__
    while frame is not None and _own_name(frame.tb_frame.f_code.co_filename) is None:
        frame = frame.tb_next
    if frame is None:
        return
    _end_lines()
    for part in traceback.format_exception(type(error), error, frame):
        for line in part.rstrip("\n").split("\n"):
            log.debug(line)


def _own_name(file: str) -> str | None:
    """Returns the path of an author's file in the project, or None for files of others."""
    plugin = sys.modules.get("plugin")
    root = os.path.dirname(getattr(plugin, "__file__", None) or "") + os.sep
    if not file.startswith(root):
        return None
    name = file[len(root) :]
    foreign = ("gage", "packages", "gage_sdk", "wit_world")
    return None if name.split(os.sep)[0] in foreign else name
