#!/usr/bin/env python3
"""Prints how many programs of models python_tests judges a second, beside a runner with a process for each program.

    tests/benchmarks/candidates.py PROGRAM [--copies N]

PROGRAM is the gage-host of `make release`, with `plugins/python_tests.wasm` of `make python-runner` in its folder. The
candidates are the right solutions of tests/code/humaneval.jsonl, each N times. The cold run compiles the component, and the
warm one finds it in the cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROBLEMS = Path(__file__).resolve().parents[1] / "code" / "humaneval.jsonl"
SUITE = """\
datasets: rows.jsonl
prompt: '{{ prompt }}'
metrics: [python_tests]
"""
PROCESS_TIMEOUT_S = 60


def write_suite(folder: Path, rows: list[dict[str, str]]) -> None:
    """Writes a suite, its rows, and the right answers."""
    lines = [json.dumps({**row, "task_id": f"candidate/{number}"}) for number, row in enumerate(rows)]
    answers = [json.dumps({"answer": row["canonical_solution"]}) for row in rows]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "answers.jsonl").write_text("\n".join(answers) + "\n")
    (folder / "suite.yaml").write_text(SUITE)


def seconds_in_sandbox(program: Path, folder: Path, run_id: str) -> float:
    """Judges all candidates with python_tests. Returns the seconds from the start to the end of the program."""
    environment = {**os.environ, "GAGE_CACHE_DIR": str(folder / "cache")}
    words = [program, "run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", run_id, "--quiet"]
    began = time.monotonic()
    subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    summary = json.loads((folder / "runs" / run_id / "summary.json").read_text())
    passed = summary["metrics"][0]["value"]
    if passed != 1.0:
        sys.exit(f"error: python_tests passed a share of {passed} of right programs; the figures would mean nothing")
    return seconds


def passes_in_process(row: dict[str, str]) -> bool:
    """Judges a candidate in a Python process of its own, which is no sandbox."""
    code = f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
    words = [sys.executable, "-I", "-"]
    ended = subprocess.run(words, input=code.encode(), capture_output=True, timeout=PROCESS_TIMEOUT_S)
    return ended.returncode == 0


def seconds_in_processes(rows: list[dict[str, str]]) -> float:
    """Judges all candidates in processes, as many at a time as there are cores."""
    began = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = sum(pool.map(passes_in_process, rows))
    seconds = time.monotonic() - began
    if passed != len(rows):
        sys.exit(f"error: {len(rows) - passed} right programs failed in processes")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--copies", type=int, default=40, help="how often each solution is judged (default 40)")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in PROBLEMS.read_text().splitlines()] * arguments.copies
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_suite(folder, rows)
        program = arguments.program.resolve()
        measured = {
            "python_tests, cold": seconds_in_sandbox(program, folder, "cold"),
            "python_tests, warm": seconds_in_sandbox(program, folder, "warm"),
            "a Python process each": seconds_in_processes(rows),
        }
    print(f"{len(rows)} candidates on {os.cpu_count()} cores\n")
    print("| runner | seconds | candidates a second |\n| --- | ---: | ---: |")
    for runner, seconds in measured.items():
        print(f"| {runner} | {seconds:.1f} | {len(rows) / seconds:.0f} |")


if __name__ == "__main__":
    main()
