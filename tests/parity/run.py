#!/usr/bin/env python3
"""Compares prompts and scores of the suites in config/suites with lm-evaluation-harness, and prints a table.

    python3 tests/parity/run.py --program target/debug/gage-host [SUITE…]
    python3 tests/parity/run.py --program target/debug/gage-host --answers
    python3 tests/parity/run.py --program target/debug/gage-host --gguf FILE

With `--answers`, it runs each suite on a model that gives the right answers and on one that gives wrong ones instead.
With `--gguf`, both programs run PIQA on this file instead.
lm-evaluation-harness is installed in a virtual environment, by default target/parity-venv.

Exit codes: 0 if prompts and scores are equal, or differ with a known reason, 1 if not, 2 if the program or a package is
missing, or if the time is over.
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
# Time for the comparison, and for the installation, in seconds.
LIMIT_S = 1200
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
    subprocess.run([*command, "-r", REQUIREMENTS], check=True, timeout=LIMIT_S)
    shutil.copyfile(REQUIREMENTS, folder / "installed.txt")


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=TARGET / "debug" / "gage-host", help="a built gage-host")
    parser.add_argument("--venv", type=Path, default=TARGET / "parity-venv", help="folder of lm-evaluation-harness")
    parser.add_argument("--plugin-dir", type=Path, help="folder with python_tests.wasm, if not beside the program")
    parser.add_argument("--answers", action="store_true", help="compare right and wrong answers instead")
    parser.add_argument("--gguf", type=Path, help="compare PIQA on this model file instead")
    parser.add_argument("--write", action="store_true", help="write the table into its page")
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
        except (OSError, subprocess.SubprocessError) as error:
            print(f"error: lm-evaluation-harness cannot be installed: {error}", file=sys.stderr)
            return 2
    script = "gguf.py" if options.gguf else "answers.py" if options.answers else "comparison.py"
    command = [python_of(folder), "-B", FOLDER / script, "--program", program]
    if options.gguf:
        command += ["--gguf", options.gguf.resolve()]
    if options.plugin_dir:
        command += ["--plugin-dir", options.plugin_dir.resolve()]
    for name in ("verbose", "write"):
        command += [f"--{name}"] * getattr(options, name)
    # Threads of OpenMP that wait without sleeping take most of the time of a busy machine.
    variables = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "OMP_WAIT_POLICY": "passive"}
    try:
        return subprocess.run([*command, *options.suites], env=os.environ | variables, timeout=LIMIT_S).returncode
    except subprocess.TimeoutExpired:
        print(f"error: the comparison takes more than {LIMIT_S} s", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
