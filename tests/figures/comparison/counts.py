"""Figures of counts, probabilities and categories: pass@k, Brier scores, calibration, confusion."""

import random
import statistics

from sklearn.metrics import accuracy_score, brier_score_loss, cohen_kappa_score, f1_score

from . import definitions
from .program import metric, scoring
from .results import agreement, several
from .texts import SEED

KS = (1, 2, 5, 10)
FORMULA = "1 − C(n−c, k) / C(n, k)"
ROWS = 300
BINS = 10
REPEATS = 10
# Names of options in each of the tables of categories.
CATEGORIES = ("AB", "ABCD", "ABCDEFGHIJ")


def figures(program):
    """Returns the rows of the table."""
    chance = random.Random(SEED)
    yield from attempts(program, chance)
    yield from probabilities(program, chance)
    for letters in CATEGORIES:
        yield from categories(program, chance, letters)


def attempts(program, chance):
    """Compares pass@k: with results in a field, and with repeated questions."""
    results = [[chance.random() < share for _ in range(chance.randint(1, 20))] for share in shares(chance)]
    rows = [
        {"id": str(at), "question": f"attempts {at}", "answer": "yes", "metadata": {"results": each}}
        for at, each in enumerate(results)
    ]
    answers = [[chance.choice(("yes", "no")) for _ in range(REPEATS)] for _ in rows]
    metrics = [
        metric("field", "pass_at_k", k=list(KS), results_field="sample.metadata.results"),
        metric("repeats", "exact_match", {"pass_at_k": {"k": list(KS)}}),
    ]
    run = program.answer("attempts", rows, answers, {"attempts": scoring(metrics) | {"repeat": REPEATS}})["attempts"]
    # Each repeat has the same field.
    once = {sample["sample_id"]: card for sample, card in zip(run.samples, run.cards("field"), strict=True)}
    for k in KS:
        ours = [once[row["id"]].get("sub_scores", {}).get(f"pass@{k}") for row in rows]
        theirs = [definitions.pass_at_k(len(each), sum(each), k) for each in results]
        yield agreement(f"`pass_at_k`, k = {k}", FORMULA, ours, theirs, results)
    figures = run.components("repeats")
    ours, theirs = {}, {}
    for k in KS:
        each = [definitions.pass_at_k(REPEATS, row.count("yes"), k) for row in answers]
        figure = figures[f"pass@{k}"]
        ours |= {f"mean {k}": figure["value"], f"error {k}": figure["stderr"]}
        theirs |= {f"mean {k}": statistics.mean(each), f"error {k}": statistics.stdev(each) / len(each) ** 0.5}
    yield several("`pass_at_k` of repeats: means and standard errors", FORMULA, ours, theirs)


def shares(chance):
    """Returns a probability of success for each row."""
    return [chance.choice((0.05, 0.5, 0.9, 1.0)) for _ in range(ROWS)]


def distribution(chance, letters):
    """Returns random probabilities with three decimals, whose sum is 1."""
    cuts = sorted(chance.randint(0, 1000) for _ in letters[1:])
    parts = [high - low for low, high in zip([0, *cuts], [*cuts, 1000])]
    return {letter: part / 1000 for letter, part in zip(letters, parts, strict=True)}


def probabilities(program, chance):
    """Compares Brier scores and calibration errors."""
    rows, confidences = [], []
    for at in range(ROWS):
        letters = "ABCDE"[: chance.randint(2, 5)]
        # Some confidences are on the edge of a bin.
        confidence = chance.choice((chance.random(), chance.randint(0, BINS) / BINS))
        metadata = {
            "options": distribution(chance, letters),
            "right": chance.choice(letters),
            "confidence": confidence,
            "correct": chance.random() < confidence,
        }
        confidences.append(confidence)
        rows.append({"id": str(at), "question": f"probabilities {at}", "answer": "yes", "metadata": metadata})
    stated = {"confidence_field": "sample.metadata.confidence", "correct_field": "sample.metadata.correct"}
    options = {"distribution_field": "sample.metadata.options", "label_field": "sample.metadata.right"}
    metrics = [metric("options", "brier", **options), metric("width", "brier", "ece", **stated)]
    metrics += [metric("mass", "brier", {"ece": {"binning": "equal_mass"}}, **stated)]
    run = program.answer("probabilities", rows, [["yes"]] * ROWS, {"all": scoring(metrics)})["all"]
    given = [row["metadata"] for row in rows]
    theirs = [brier(each["right"], list(each["options"].values()), list(each["options"]), False) for each in given]
    yield agreement("`brier` of distributions", "scikit-learn", run.scores("options"), theirs, given)
    theirs = [brier(each["correct"], each["confidence"], [False, True], True) for each in given]
    yield agreement("`brier` of confidences", "scikit-learn", run.scores("width"), theirs, given)
    correct = [each["correct"] for each in given]
    groups = {
        "width": definitions.equal_width(confidences, BINS),
        "mass": definitions.equal_mass(confidences, correct, BINS),
    }
    theirs = {name: definitions.calibration_error(confidences, correct, each) for name, each in groups.items()}
    yield several("`ece`: equal width, equal mass", "definition", {name: run.figure(name) for name in groups}, theirs)


def brier(truth, probabilities, labels, scale_by_half):
    """Returns the Brier score of one sample."""
    return brier_score_loss([truth], [probabilities], labels=labels, scale_by_half=scale_by_half)


def categories(program, chance, letters):
    """Compares figures of categories. Some rows have no answer."""
    rows, answers, pairs = [], [], []
    for at in range(ROWS):
        right = chance.choice(letters[: 1 + chance.randrange(len(letters))])
        given = chance.choice((right, right, chance.choice(letters), ""))
        pairs.append((right, given))
        answers.append([given])
        choices = [f"option {at} {letter}" for letter in letters]
        rows.append({"id": str(at), "question": f"categories {at}", "choices": choices, "answer": right})
    task = scoring([metric("table", "multi_choice_accuracy", "confusion")])
    task["params"] = {"preprocess": "multi_choice", "preprocess_kwargs": {"style": "question_only"}}
    figures = program.answer(f"categories-{len(letters)}", rows, answers, {"all": task})["all"].components("table")
    rights, givens = zip(*pairs, strict=True)
    theirs = {
        "accuracy": accuracy_score(rights, givens),
        "macro_f1": f1_score(rights, givens, labels=list(letters), average="macro", zero_division=0),
        "cohen_kappa": cohen_kappa_score(rights, givens),
    }
    ours = {name: figures[name]["value"] for name in theirs}
    name = f"`confusion` of {len(letters)} categories: accuracy, macro F1, kappa"
    yield several(name, "scikit-learn", ours, theirs)
