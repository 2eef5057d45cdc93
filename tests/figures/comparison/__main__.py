"""Prints the tables of the page "How right are the figures". `run.py` starts it with the references installed."""

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version

from . import counts, likelihood, overlap, readings
from .program import Failed, Program
from .results import failures, print_agreements, print_readings, print_rules

PACKAGES = ("sacrebleu", "rouge-score", "scikit-learn", "lm-eval", "math-verify")
NAMED = ("right", "another named", "none found")


def main():
    """Runs all comparisons. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="comparison")
    parser.add_argument("--program", required=True)
    path = parser.parse_args().program
    try:
        with tempfile.TemporaryDirectory(prefix="gage-figures-") as folder:
            found = compare(Program(path, folder))
    except Failed as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    for each in found:
        print(f"differs: {each}", file=sys.stderr)
    return 1 if found else 0


def compare(program):
    """Prints the tables. Returns what is not as it should be."""
    print("References:", ", ".join(f"{name} {version(name)}" for name in PACKAGES), end=".\n\n", flush=True)
    # The slowest parts begin first.
    parts = (readings.maths, overlap.figures, counts.figures, likelihood.figures, readings.numbers, readings.letters)
    with ProcessPoolExecutor() as processes:
        maths, *others, (numbers, rules), letters = processes.map(part_of, parts, [program] * len(parts))
    agreements = []
    for title, rows in zip(("Texts", "Counts and probabilities", "Log-likelihoods"), others, strict=True):
        print_agreements(title, rows)
        agreements += rows
    print_readings("Numbers", NAMED, numbers)
    print_rules("Rules for numbers", rules)
    print_readings("Letters", NAMED, letters)
    print_readings("Mathematical answers", ("right", "wrongly right", "wrongly wrong"), maths)
    return failures(agreements, [*numbers, *letters, *maths])


def part_of(part, program):
    """Runs one part in a process of its own."""
    found = part(program)
    return found if isinstance(found, (list, tuple)) else list(found)


if __name__ == "__main__":
    sys.exit(main())
