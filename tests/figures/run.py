#!/usr/bin/env python3
"""Compares the figures of gage-host with those of other programs, and prints the tables in Markdown.

    python3 tests/figures/run.py --program target/debug/gage-host

The other programs are Python packages. They are installed in a virtual environment, by default target/references-venv.

Exit codes: 0 if every figure is as expected, 1 if one is not, 2 if the program or a package is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REQUIREMENTS = FOLDER / "requirements.txt"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", FOLDER.parents[1] / "target"))
MIN_PYTHON = (3, 11)


def python_of(folder):
    """Returns the interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_installed(folder):
    """Returns whether the environment has the packages as they are pinned now."""
    installed = folder / "installed.txt"
    is_current = installed.is_file() and installed.read_bytes() == REQUIREMENTS.read_bytes()
    return is_current and python_of(folder).exists()


def install(folder):
    """Installs the packages of the list, without further ones."""
    print(f"installing the references in {folder}", file=sys.stderr)
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    command = [python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "-r", REQUIREMENTS], check=True)
    shutil.copyfile(REQUIREMENTS, folder / "installed.txt")


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "gage-host", help="a built gage-host")
    parser.add_argument("--venv", type=Path, default=TARGET / "references-venv", help="folder of the references")
    text = "skip the comparison if the references are not installed, instead of installing them"
    parser.add_argument("--installed-only", action="store_true", help=text)
    options = parser.parse_args()
    program, folder = options.program.resolve(), options.venv.resolve()
    if options.installed_only and not is_installed(folder):
        print(f"skipped: the references are not installed in {options.venv}; `make test-references` installs them")
        return 0
    if not program.is_file():
        print(f"error: there is no program {options.program}; `make build` builds it", file=sys.stderr)
        return 2
    if not is_installed(folder):
        if sys.version_info < MIN_PYTHON:
            print("error: the references need Python 3.11", file=sys.stderr)
            return 2
        try:
            install(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"error: the references could not be installed: {error}", file=sys.stderr)
            return 2
    command = [python_of(folder), "-B", "-m", "comparison", "--program", program]
    return subprocess.run(command, cwd=FOLDER, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
