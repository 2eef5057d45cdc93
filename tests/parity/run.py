#!/usr/bin/env python3
"""Compares prompts and scores of the suites in config/suites with lm-evaluation-harness, and prints a table.

    python3 tests/parity/run.py --program target/debug/gage-host [SUITE…]

lm-evaluation-harness is installed in a virtual environment, by default target/parity-venv.

Exit codes: 0 if prompts and scores are equal, or differ with a known reason, 1 if not, 2 if the program or a package is
missing.
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
    print(f"installing lm-evaluation-harness in {folder}", file=sys.stderr)
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    command = [python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "-r", REQUIREMENTS], check=True)
    shutil.copyfile(REQUIREMENTS, folder / "installed.txt")


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "gage-host", help="a built gage-host")
    parser.add_argument("--venv", type=Path, default=TARGET / "parity-venv", help="folder of lm-evaluation-harness")
    text = "skip the comparison if lm-evaluation-harness is not installed, instead of installing it"
    parser.add_argument("--installed-only", action="store_true", help=text)
    parser.add_argument("--verbose", action="store_true", help="print up to four differences of each suite")
    parser.add_argument("suites", nargs="*", help="suites to compare; all by default")
    options = parser.parse_args()
    program, folder = options.program.resolve(), options.venv.resolve()
    if options.installed_only and not is_installed(folder):
        print(f"skipped: lm-evaluation-harness is not installed in {options.venv}; tests/parity/run.py installs it")
        return 0
    if not program.is_file():
        print(f"error: there is no program {options.program}; `make build` builds it", file=sys.stderr)
        return 2
    if not is_installed(folder):
        try:
            install(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"error: lm-evaluation-harness cannot be installed: {error}", file=sys.stderr)
            return 2
    verbose = ["--verbose"] if options.verbose else []
    command = [python_of(folder), FOLDER / "comparison.py", "--program", program, *verbose, *options.suites]
    quiet = {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    return subprocess.run(command, env=os.environ | quiet).returncode


if __name__ == "__main__":
    sys.exit(main())
