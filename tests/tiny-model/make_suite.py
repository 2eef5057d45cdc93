"""Draws the evaluation rows of the tiny suite from `tiny_data` and writes them as JSONL.

    python make_suite.py                 # writes config/data/tiny/*.jsonl

Four files: arithmetic and opposites are answered by generation, facts and comparison are scored by
the log-likelihood of each option's text. The same seed always gives the same bytes.
"""

import argparse
import json
import random
from pathlib import Path

import tiny_data

REPOSITORY = Path(__file__).resolve().parents[2]
SEED = 20260


def draw(generator: random.Random, questions: list, count: int) -> list:
    """Draws `count` questions without repetition."""
    if len(questions) < count:
        raise ValueError(f"asked for {count} questions, only {len(questions)} exist")
    return generator.sample(questions, count)


def arithmetic_rows(generator: random.Random) -> list[dict]:
    """Draws 200 rows: for each operation 60 seen in training and 40 held out."""
    questions = tiny_data.arithmetic_questions()
    chosen = []
    for operation in ("add", "subtract"):
        for held_out, count in ((False, 60), (True, 40)):
            pool = [q for q in questions if q.category == operation and q.held_out == held_out]
            chosen += draw(generator, pool, count)
    generator.shuffle(chosen)
    return [
        {
            "id": f"arith-{number:04}",
            "question": question.text,
            "answer": question.answer,
            "operation": question.category,
            "held_out": question.held_out,
        }
        for number, question in enumerate(chosen, start=1)
    ]


def comparison_rows(generator: random.Random) -> list[dict]:
    """Draws 150 rows, 100 seen and 50 held out; the right option is first in half of each."""
    questions = tiny_data.comparison_questions()
    # How many of each wording, by whether they are held out and which option is right.
    cells = {
        (False, "larger", 0): 25, (False, "larger", 1): 25, (False, "smaller", 0): 25, (False, "smaller", 1): 25,
        (True, "larger", 0): 13, (True, "larger", 1): 12, (True, "smaller", 0): 12, (True, "smaller", 1): 13,
    }
    chosen = []
    for (held_out, category, position), count in cells.items():
        pool = [
            question for question in questions
            if (question.held_out, question.category) == (held_out, category)
            and str(question.operands[position]) == question.answer
        ]
        chosen += draw(generator, pool, count)
    generator.shuffle(chosen)
    return [
        {
            "id": f"compare-{number:04}",
            "question": question.text,
            "choices": [str(operand) for operand in question.operands],
            "answer": 0 if str(question.operands[0]) == question.answer else 1,
            "category": question.category,
            "held_out": question.held_out,
        }
        for number, question in enumerate(chosen, start=1)
    ]


def fact_rows(generator: random.Random) -> list[dict]:
    """Takes every fact, with three wrong options from the same category, the right one balanced over the positions."""
    questions = tiny_data.fact_questions()
    generator.shuffle(questions)
    answers_of = {}
    for question in questions:
        answers_of.setdefault(question.category, set()).add(question.answer)
    positions = [number % 4 for number in range(len(questions))]
    generator.shuffle(positions)
    rows = []
    for number, (question, position) in enumerate(zip(questions, positions), start=1):
        wrong = sorted(answers_of[question.category] - {question.answer})
        choices = draw(generator, wrong, 3)
        choices.insert(position, question.answer)
        rows.append(
            {
                "id": f"fact-{number:04}",
                "question": question.text,
                "choices": choices,
                "answer": position,
                "category": question.category,
                "held_out": question.held_out,
            }
        )
    return rows


def opposite_rows(generator: random.Random) -> list[dict]:
    """Takes every opposite, in both directions."""
    questions = tiny_data.opposite_questions()
    generator.shuffle(questions)
    return [
        {
            "id": f"opposite-{number:04}",
            "question": question.text,
            "answer": question.answer,
            "held_out": question.held_out,
        }
        for number, question in enumerate(questions, start=1)
    ]


def write_rows(path: Path, rows: list[dict]) -> None:
    """Writes one JSON object a line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    print(f"{path.name}: {len(rows)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=REPOSITORY / "config/data/tiny", help="folder for the JSONL files")
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    makers = {
        "arithmetic": arithmetic_rows,
        "facts": fact_rows,
        "comparison": comparison_rows,
        "opposites": opposite_rows,
    }
    for name, make_rows in makers.items():
        # A generator of its own for each file: changing one file never reshuffles another.
        write_rows(output / f"{name}.jsonl", make_rows(random.Random(f"{SEED}:{name}")))


if __name__ == "__main__":
    main()
