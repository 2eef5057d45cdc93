"""The errors of the program, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Run


class Error(Exception):
    """The program ended with an error.

    Attributes:
        exit_code: The program's exit code, which the reference of exit codes explains. It is the negative
            number of a signal that killed the program.
        message: What the program printed about the error.
        run: The run, if there is one: it has the samples that ended, and can be continued with `resume=True`.
    """

    def __init__(self, exit_code: int, message: str, run: Run | None = None) -> None:
        super().__init__(exit_code, message, run)
        self.exit_code = exit_code
        self.message = message
        self.run = run

    def __str__(self) -> str:
        return _text(self.message, self.run)


class Refused(Error):
    """The suite, an option or a run is wrong, or something differs from its lock (exit codes 2 and 3)."""


class Incomplete(Error):
    """Samples lack a score, so the figures cover only a part; or a server was lost (exit codes 4 and 5)."""


class Interrupted(KeyboardInterrupt):
    """The run was interrupted (exit code 130). `except Exception` does not catch it.

    Attributes:
        exit_code: The program's exit code. It differs from 130 if the program ended before the signal came.
        message: What the program printed.
        run: The run, if there is one: it has the samples that ended, and can be continued with `resume=True`.
    """

    def __init__(self, exit_code: int, message: str, run: Run | None = None) -> None:
        super().__init__(exit_code, message, run)
        self.exit_code = exit_code
        self.message = message
        self.run = run

    def __str__(self) -> str:
        return _text(self.message, self.run)


INTERRUPTED = 130
_TYPES: dict[int, type[Error]] = {2: Refused, 3: Refused, 4: Incomplete, 5: Incomplete}


def error_of(exit_code: int, message: str, run: Run | None = None) -> Error | Interrupted:
    """Returns the exception for an exit code of the program other than 0."""
    if exit_code == INTERRUPTED:
        return Interrupted(exit_code, message, run)
    if not message:
        ended = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
        message = f"gage-host {ended} and printed nothing"
    return _TYPES.get(exit_code, Error)(exit_code, message, run)


def _text(message: str, run: Run | None) -> str:
    return message if run is None else f"{message}\n  run: {run.folder}"
