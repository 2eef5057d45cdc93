"""Labelled answers: how many of them gage-host reads as the label says, beside other programs."""

import math
import re
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

from lm_eval.api.metrics import exact_match_hf_evaluate
from lm_eval.filters.extraction import RegexFilter
from math_verify import parse, verify

from .lm_eval_source import functions, task_file
from .program import metric, scoring
from .results import Reading
from .texts import rows

sys.path.insert(0, str(Path(__file__).parents[1]))
import letters_other_tools  # noqa: E402

# The chain of the suites for GSM8K that come with the project.
CHAIN = [
    "strip_thoughts",
    {"boxed": {"kind": "number"}},
    {"final_answer": {"kind": "number"}},
    {"last_number": {"fractions": True}},
]
HENDRYCKS = [
    "is_equiv",
    "strip_string",
    "fix_fracs",
    "fix_a_slash_b",
    "fix_sqrt",
    "remove_right_units",
]
# Least number of answers that gage-host reads right. They only grow.
LEAST_NUMBERS, LEAST_LETTERS, LEAST_MATHS = 970, 495, 582
# Patterns of the forms of the corpus that a rule decides.
RULES = {
    "decimal comma": r"decimal-comma|thousands-dot-decimal-comma",
    "point after thousands": r"thousands-dot",
    "comma after thousands": r"thousands-(comma|comma-decimal-point|indian)",
    "blank, apostrophe or LaTeX comma after thousands": r"thousands-(blank|nbsp|narrow-nbsp|swiss-apostrophe|latex)",
    "signs": r"negative-.*|.*-negative",
    "dashes that are not signs": r"range-not-sign|hyphen-compound-not-sign|dash-as-punctuation",
    "fractions, mixed and scientific numbers": r".*fraction.*|mixed-number|scientific-.*",
    "no number is the answer": r"null-.*",
}


def counted(method, found, expected, least=None):
    """Counts answers that are right, named wrongly, and wrongly without a name."""
    pairs = list(zip(found, expected, strict=True))
    right = sum(one == other for one, other in pairs)
    none = sum(one is None and other is not None for one, other in pairs)
    return Reading(method, right, len(pairs) - right - none, none, least)


def extracting(extractors):
    """Returns the keys of a task that extracts an answer. Its metric is not used."""
    return scoring([metric("length", "text_length")], {"step": "extract", "extractors": extractors})


def asked(program, name, corpus, tasks, **fields):
    """Runs tasks over the answers of a corpus. `fields` are further fields of a row, by functions of the corpus's."""
    lines = [
        {"id": row["id"], "question": f"{name} {row['id']}"} | {field: of(row) for field, of in fields.items()}
        for row in corpus
    ]
    return program.answer(name, lines, [[row["answer"]] for row in corpus], tasks)


def value(text):
    """Returns the number that a label spells: a decimal or a fraction."""
    return None if text is None else float(Fraction(text))


def near(number, expected):
    """Returns the expected number if it is the same, up to rounding."""
    if not isinstance(number, (int, float)) or expected is None:
        return number
    return expected if abs(number - expected) <= 1e-9 * max(1, abs(expected)) else number


def numbers(program):
    """Returns the rows of the table of numbers, and those of the table of its rules."""
    corpus = rows("numbers.jsonl")
    expected = [value(row["expected"]) for row in corpus]
    tasks = {"chain": extracting(CHAIN), "last": extracting(["last_number"])}
    runs = asked(program, "numbers", corpus, tasks)
    found = {}
    for name, run in runs.items():
        parsed = [(each or {}).get("value") for each in run.outputs("parsed")]
        found[name] = [near(each, label) for each, label in zip(parsed, expected, strict=True)]
    readings = [
        counted("gage-host: the chain of the suite for GSM8K", found["chain"], expected, LEAST_NUMBERS),
        counted("gage-host: `last_number`", found["last"], expected),
    ]
    for name in ("flexible-extract", "strict-match"):
        texts = filtered(corpus, name)
        readings.append(counted(f"lm-eval: `{name}`", texts, [row["expected"] for row in corpus]))
        close = [near(as_number(text), label) for text, label in zip(texts, expected, strict=True)]
        readings.append(counted(f"lm-eval: `{name}`, compared as numbers", close, expected))
    return readings, list(by_rule(corpus, found["chain"], expected))


def filtered(corpus, name):
    """Returns what a filter of lm-eval's task gsm8k finds; the label itself if the task takes both for equal."""
    task = task_file("gsm8k/gsm8k.yaml")
    steps = next(each["filter"] for each in task["filter_list"] if each["name"] == name)
    options = {key: given for key, given in steps[0].items() if key != "function"}
    texts = RegexFilter(**options).apply([[row["answer"]] for row in corpus], [])
    options = {key: given for key, given in task["metric_list"][0].items() if key.startswith(("ignore", "regexes"))}
    found = []
    for (text,), row in zip(texts, corpus, strict=True):
        label = row["expected"]
        if text == "[invalid]":
            found.append(None)
        elif label is not None and exact_match_hf_evaluate([text], [label], **options)["exact_match"]:
            found.append(label)
        else:
            found.append(text)
    return found


def as_number(text):
    """Returns the number of a text without separators and currency; a text that is not a number as it is."""
    try:
        return None if text is None else float(re.sub("[,$]", "", text).rstrip("."))
    except ValueError:
        return value(text) if re.fullmatch(r"-?\d+/\d+", text) else text


def by_rule(corpus, found, expected):
    """Counts answers by the rule that decides them."""
    for rule, form in RULES.items():
        chosen = [at for at, row in enumerate(corpus) if re.fullmatch(form, row["form"])]
        right = sum(found[at] == expected[at] for at in chosen)
        wrong = sum(misread(found[at], expected[at]) for at in chosen)
        yield rule, (len(chosen), right, len(chosen) - right - wrong, wrong)


def misread(found, expected):
    """Returns whether a number is the expected one with another sign, or with its decimal point at another place."""
    if not found or not expected or found == expected:
        return False
    places = math.log10(abs(found / expected))
    return math.isclose(places, round(places), abs_tol=1e-9)


def letters(program):
    """Returns the rows of the table of letters."""
    corpus = rows("letters.jsonl")
    expected = [row["expected"] for row in corpus]
    task = extracting(["choice_letter"])
    task["params"] = {"preprocess": "multi_choice", "preprocess_kwargs": {"style": "question_only"}}

    def options(row):
        return [f"text {row['id']} {at}" for at in range(row["options"])]

    run = asked(program, "letters", corpus, {"all": task}, choices=options, answer=lambda row: "A")["all"]
    found = [(each or {}).get("value") for each in run.outputs("parsed")]
    readings = [counted("gage-host: `choice_letter`", found, expected, LEAST_LETTERS)]
    for name, read in letters_other_tools.TOOLS.items():
        readings.append(counted(name, [read(row["answer"]) for row in corpus], expected))
    return readings


def maths(program):
    """Returns the rows of the table of mathematical answers."""
    corpus = rows("math.jsonl")
    metrics = [metric("math_equal", "math_equal"), metric("exact_match", "exact_match")]
    metrics.append(metric("numeric_error", "numeric_error", number_format="written"))
    run = asked(program, "maths", corpus, {"all": scoring(metrics)}, answer=lambda row: row["reference"])["all"]
    equal = [row["equal"] for row in corpus]
    hendrycks = functions("tasks/hendrycks_math/utils.py", HENDRYCKS)
    methods = {
        "gage-host: `math_equal`": [score == 1 for score in run.scores("math_equal")],
        "math-verify": [verify(formula(row["reference"]), formula(row["answer"])) for row in corpus],
        "lm-eval: `hendrycks_math`": [hendrycks.is_equiv(row["reference"], row["answer"]) for row in corpus],
        "gage-host: `numeric_error`, `number_format: written`": [score == 1 for score in run.scores("numeric_error")],
        "gage-host: `exact_match`": [score == 1 for score in run.scores("exact_match")],
    }
    readings = []
    for method, found in methods.items():
        counts = Counter(zip(found, equal, strict=True))
        right = counts[True, True] + counts[False, False]
        least = LEAST_MATHS if "math_equal" in method else None
        readings.append(Reading(method, right, counts[True, False], counts[False, True], least))
    return readings


def formula(text):
    """Parses a formula with math-verify, which wants formulas between dollar signs or in a box."""
    is_marked = any(mark in text for mark in ("$", "\\boxed", "\\(", "\\["))
    return parse(text if is_marked else f"${text}$")
