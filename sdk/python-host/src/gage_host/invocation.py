"""Starts the program, passes interrupts on, and takes its output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .errors import Interrupted, error_of
from .program import find_gage_host_bin

StrPath: TypeAlias = str | os.PathLike[str]
# A value of an option of the command line. Several values repeat the option.
Value: TypeAlias = (
    str | int | float | os.PathLike[str] | Iterable[str | int | float | os.PathLike[str]] | None
)

# Commands for a shell follow these words.
_NEXT = "next: "
# Lines that begin with one of these begin the program's last words.
_LAST_WORDS = ("error", "incomplete: ", "interrupted", "ended at once")


@dataclass(frozen=True)
class Ended:
    """A program that has ended."""

    exit_code: int
    output: str
    message: str
    was_interrupted: bool

    def check(self, accepted: frozenset[int] = frozenset()) -> None:
        """Raises the exception for an interrupt, or for an exit code that is neither 0 nor accepted."""
        if self.was_interrupted:
            raise Interrupted(self.exit_code, self.message or "interrupted")
        if self.exit_code != 0 and self.exit_code not in accepted:
            raise error_of(self.exit_code, self.message)


def option_words(options: Mapping[str, Value]) -> list[str]:
    """Returns keyword arguments as words of the command line: `max_samples=5` is `--max-samples=5`.

    `True` is an option without a value. `None` and `False` leave the option out.
    """
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, (str, int, float, os.PathLike)):
            words.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        else:
            words.extend(word for item in value for word in option_words({name: item}))
    return words


def call(words: list[str], on_line: Callable[[str], bool] | None = None) -> Ended:
    """Runs the program to its end.

    `on_line` is called with each line of the standard error stream, and returns whether it has shown it.
    Other lines are printed. The program's last words about an error are not printed: they are the message of
    the exception.

    The program is in a session of its own, so that an interrupt reaches it once, in terminals as in
    notebooks: this function passes it on and waits.
    """
    messages = _Messages(on_line)
    was_interrupted = False
    with tempfile.TemporaryFile() as output:
        command = [find_gage_host_bin(), *words]
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            env=_environment(is_quiet=on_line is None),
            start_new_session=True,
        ) as process:
            try:
                while not _has_ended(process, messages, was_interrupted):
                    was_interrupted = True
            except BaseException:
                process.terminate()
                raise
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return Ended(process.returncode, text, messages.end(process.returncode), was_interrupted)


def _environment(is_quiet: bool) -> dict[str, str]:
    """Returns the environment of the program.

    Kernels of notebooks ask for colours, which messages must not have. A command without progress is quiet,
    and its JSON cannot be quiet, too.
    """
    dropped = {"FORCE_COLOR", "CLICOLOR_FORCE"}
    if is_quiet:
        dropped.add("GAGE_HOST_QUIET")
    return {name: value for name, value in os.environ.items() if name not in dropped} | {"NO_COLOR": "1"}


def _has_ended(process: subprocess.Popen[bytes], messages: _Messages, pass_on: bool) -> bool:
    """Reads lines until the program ends, and returns true; or until an interrupt, and returns false.

    If `pass_on` is true, the program is interrupted first.
    """
    try:
        if pass_on:
            process.send_signal(signal.SIGINT)
        for line in process.stderr or ():
            messages.take(line.decode("utf-8", "replace").rstrip("\r\n"))
        process.wait()
    except KeyboardInterrupt:
        return False
    return True


class _Messages:
    """What the program prints besides its output."""

    def __init__(self, on_line: Callable[[str], bool] | None) -> None:
        self._on_line = on_line
        self._printed: list[str] = []
        self._last_words: list[str] = []

    def take(self, line: str) -> None:
        if line.startswith(_NEXT) or (self._on_line is not None and self._on_line(line)):
            return
        if self._last_words or line.startswith(_LAST_WORDS):
            self._last_words.append(line)
        elif line:
            self._printed.append(line)
            _print(line)

    def end(self, exit_code: int) -> str:
        """Returns the message of the end."""
        if exit_code == 0:
            for line in self._last_words:
                _print(line)
        return "\n".join(self._last_words or self._printed).strip()


def _print(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)
