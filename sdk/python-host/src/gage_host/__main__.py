"""Runs the program: `python -m gage_host ARGUMENTS` is `gage-host ARGUMENTS`."""

import os
import sys

from .program import find_gage_host_bin


def main() -> None:
    """Replaces this process by the program."""
    try:
        program = find_gage_host_bin()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
