"""The error reported by a plugin."""

from typing import Literal

ErrorKind = Literal[
    "invalid_config",
    "invalid_input",
    "missing_field",
    "unsupported",
    "denied",
    "limit_exceeded",
    "upstream",
    "internal",
]
"""What went wrong: `invalid_config` for params that cannot be used, `invalid_input` for one input
that cannot be processed, `missing_field` for a value that is needed and absent, `unsupported` for
what the plugin does not offer, `denied` and `limit_exceeded` for what the host refuses, `upstream`
for something outside the plugin, `internal` for a fault of the plugin."""


class PluginError(Exception):
    """Raise it to report an error for the current input; the rest of the batch continues.

    Any other exception is reported as `internal`. `pointer` is a JSON pointer into the input if
    one field is at fault (`/question`). `retryable` means that the same call may succeed later.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        pointer: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.pointer = pointer
        self.retryable = retryable
