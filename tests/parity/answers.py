"""Runs each suite on a model that gives the right answers and on one that gives wrong ones, and prints a table.

`run.py --answers` starts it.
"""

import argparse
import sys
from pathlib import Path

from comparison import row_in
from hub import Hub
from pages import write_table
from server import Server
from suites import PAIRS
from trial import Trial, rows_of_suite

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "ready-suites.md"
# Natural logarithm of the probability of an option's last character, if the model does not write it.
UNLIKELY = -40.0
# Figures that are not shares: those of a model that is certain of the text, and of one that is not.
BEST = {"perplexity": 1.0, "word_perplexity": 1.0, "byte_perplexity": 1.0, "bits_per_byte": 0.0}


def answers_of(pair, rows, are_right):
    """Returns the answers of a model by the key of answers."""

    def answer(prompt):
        row = rows[row_in(prompt, rows, pair.key)]
        return pair.form.format(pair.gold(row) if are_right else pair.wrong(row))

    return answer


def logprobs_of(pair, rows, are_right):
    """Returns log-probabilities by the key of answers: only options that the model would write are likely."""

    def logprobs(text):
        asked = rows if pair.is_hidden else [rows[row_in(text, rows, pair.key)]]
        is_right = any(pair.is_right(text, row) for row in asked)
        last = 0.0 if is_right == are_right else UNLIKELY
        return [(0.0, 0.0)] * (len(text) - 2) + [(last, 0.0)]

    return logprobs


def figures_of(summary):
    """Returns the figures of a run, by name."""
    found = {}
    for metric in summary["summary"]["tasks"][0]["metrics"]:
        if metric["value"] is not None:
            found[metric["metric_id"]] = metric["value"]
    return found


def measure(pair, server, trial, are_right):
    """Returns the figures of a suite with one of the models, and the number of samples."""
    rows = rows_of_suite(pair.suite)
    if pair.is_right:
        server.logprobs = logprobs_of(pair, rows, are_right)
    else:
        server.answers = answers_of(pair, rows, are_right)
    summary = trial.run(pair.suite, server)[0]
    return figures_of(summary), summary["summary"]["samples"]["total"]


def shown(value):
    """Returns a figure with at most four digits."""
    return "0" if abs(value) < 1e-9 else f"{value:.4g}"


def compare(pair, server, trial):
    """Returns the row of the table for a suite, and whether all its figures are as they should be."""
    right, count = measure(pair, server, trial, True)
    wrong, _ = measure(pair, server, trial, False)
    is_expected = bool(right)
    for name, value in right.items():
        best = BEST.get(name, 1.0)
        worst = wrong[name] > best if name in BEST else wrong[name] < 1e-9
        is_expected = is_expected and abs(value - best) < 1e-9 and worst
    cells = [", ".join(f"`{name}` {shown(value)}" for name, value in figures.items()) for figures in (right, wrong)]
    return f"| `{pair.suite}` | {count} | {' | '.join(cells)} |", is_expected


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin-dir")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    server, trial = Server(), Trial(options.program, Hub(), options.plugin_dir)
    table = ["| suite | rows | right answers | wrong answers |", "| --- | ---: | --- | --- |"]
    print(*table, sep="\n")
    are_expected = True
    for pair in sorted(PAIRS, key=lambda pair: pair.suite):
        if options.suites and pair.suite not in options.suites:
            continue
        row, is_expected = compare(pair, server, trial)
        are_expected = are_expected and is_expected
        table.append(row)
        print(row if is_expected else f"{row} **not as expected**", flush=True)
    trial.close()
    if options.write:
        write_table(PAGE, "answers", table)
    return 0 if are_expected else 1


if __name__ == "__main__":
    sys.exit(main())
