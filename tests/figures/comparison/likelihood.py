"""Figures of log-likelihoods, of the tiny model that comes with the project."""

import random
from pathlib import Path

from lm_eval.api.metrics import bits_per_byte, brier_score, weighted_perplexity

from . import definitions
from .lm_eval_source import Task
from .program import metric
from .results import agreement, several
from .texts import SEED, pairs, rows as corpus_rows

MODEL = Path(__file__).parents[3] / "config" / "models" / "gage-tiny-early.gguf"
BLANKS = ("", "", "", "", "", " ", "  ", "\n", "\t")
QUESTIONS = 160
TEXTS = 60
BINS = 10
VALUES = ("acc", "acc_norm", "acc_bytes")
STEP = {"step": "inference", "request": "loglikelihood"}


def backend():
    """Returns the backend of a suite."""
    # Several threads wait for each other on a busy machine, and the model is tiny.
    config = {"model_path": str(MODEL), "deterministic": True, "context_length": 256, "threads": 1}
    return {"type": "llama_cpp", "config": config}


def figures(program):
    """Returns the rows of the table."""
    yield from choices(program)
    yield from perplexities(program)


def questions():
    """Returns questions whose options have blanks at their ends, and letters of many scripts."""
    chance = random.Random(SEED)
    languages = [each for each in corpus_rows("words.jsonl") if each["language"] not in ("controls", "marks")]
    found = []
    for at in range(QUESTIONS):
        options = []
        while len(options) < 4:
            language = chance.choice((languages[0], chance.choice(languages)))
            text = language["blank"].join(chance.choices(language["words"], k=chance.randint(1, 3)))
            if text not in [option.strip() for option in options]:
                options.append(chance.choice(BLANKS) + text + chance.choice(BLANKS))
        found.append({"id": str(at), "question": f"What is {at}?", "choices": options, "answer": chance.randrange(4)})
    return found


def choices(program):
    """Compares the decisions for options, with and without a text before each."""
    given = questions()
    names = metric("choice", "loglikelihood_accuracy"), metric("ece", "loglikelihood_accuracy", "ece")
    common = {
        "metric_overrides": list(names),
        "params": {"preprocess": "multi_choice", "preprocess_kwargs": {"style": "question_only"}},
    }
    steps = {
        "plain": [STEP, {"step": "auto_eval"}],
        "prefix": [STEP | {"continuation_prefix": " "}, {"step": "auto_eval"}],
    }
    runs = program.run("choices", given, backend(), {name: common | {"steps": each} for name, each in steps.items()})
    task = Task("multiple_choice", [*VALUES, "brier_score"])
    for name, run in runs.items():
        suffix = ", with a prefix" if name == "prefix" else ""
        sums = [[each["logprob"] for each in output] for output in run.outputs("continuations")]
        documents = [{"choices": row["choices"], "target": row["answer"]} for row in given]
        theirs = [task.scores(each, [(one, False) for one in lls]) for each, lls in zip(documents, sums, strict=True)]
        for value in VALUES:
            ours = run.scores("choice", None if value == "acc" else value)
            yield agreement(f"`{value}`{suffix}", "lm-eval", ours, [each[value] for each in theirs], given)
        brier = [brier_score([each["brier_score"]]) for each in theirs]
        yield agreement(f"Brier score of a choice{suffix}", "lm-eval", run.scores("choice", "brier"), brier, given)
        top = [max(each["brier_score"][1]) for each in theirs]
        right = [each["acc"] for each in theirs]
        error = definitions.calibration_error(top, right, definitions.equal_width(top, BINS))
        yield agreement(f"`ece` of a choice{suffix}", "definition", [run.figure("ece")], [error])
    yield sizes(given, runs)
    yield with_blanks(program, given, common | {"steps": steps["plain"]}, runs["prefix"])


def sizes(given, runs):
    """Compares the recorded sizes of options, of which a prefix is no part."""
    ours, theirs, options = [], [], []
    for run in runs.values():
        for row, found in zip(given, run.outputs("continuations"), strict=True):
            for option, each in zip(row["choices"], found, strict=True):
                options.append(option)
                ours.append(str((each.get("character_count", each["byte_count"]), each["byte_count"])))
                theirs.append(str((len(option), len(option.encode()))))
    return agreement("characters and bytes of an option", "Python", ours, theirs, options)


def with_blanks(program, given, task, prefixed):
    """Compares options that begin with a blank with the same options after a prefix: the model reads the same text."""
    rows = [row | {"choices": [f" {option}" for option in row["choices"]]} for row in given]
    run = program.run("blanks", rows, backend(), {"all": task})["all"]
    sums = [[each["logprob"] for found in one.outputs("continuations") for each in found] for one in (run, prefixed)]
    options = [option for row in rows for option in row["choices"]]
    return agreement("log-likelihood of an option with a blank", "a blank as the prefix", *sums, options)


def texts():
    """Returns texts to be scored as a whole: some have blanks at their ends, and one is longer than the context."""
    found = [each.references[0] for each in pairs() if each.references[0].strip()]
    step = len(found) // TEXTS
    short = [text for text in found[::step] if len(text.encode()) < 200][:TEXTS]
    long = next(text for text in found if len(text) > 800 and text.isascii())[:800]
    blanks = [f"{before}What is 2 + 2?{after}" for before, after in ((" ", ""), ("", "\n"), ("\n\n", "  "))]
    return [*short, *blanks, long]


def perplexities(program):
    """Compares perplexities with lm-eval's formulas, on the log-likelihoods of the run."""
    given = texts()
    units = ("word_perplexity", "byte_perplexity", "bits_per_byte", "token_perplexity")
    task = {
        "metric_overrides": [metric(name, name, "corpus_perplexity") for name in units],
        "steps": [STEP | {"request": "rolling_loglikelihood"}, {"step": "auto_eval"}],
    }
    lines = [{"id": str(at), "text": text} for at, text in enumerate(given)]
    run = program.run("texts", lines, backend(), {"all": task})["all"]
    rolling = run.outputs("rolling")
    reference = Task("loglikelihood_rolling", [*units])
    weighted = {name: [] for name in units}
    for text, each in zip(given, rolling, strict=True):
        scores = reference.scores({"target": text}, [each["loglikelihood"]])
        scores["token_perplexity"] = (each["loglikelihood"], each["token_count"])
        for name in units:
            weighted[name].append(scores[name])
    corpus = {}
    for name in units:
        formula = bits_per_byte if name == "bits_per_byte" else weighted_perplexity
        theirs = [finite(formula, each) for each in weighted[name]]
        source = "lm-eval's formula, on tokens" if name == "token_perplexity" else "lm-eval"
        yield agreement(f"`{name}`", source, run.scores(name), theirs, given)
        corpus[name] = formula(weighted[name])
    yield several("these four, of all texts", "lm-eval", {name: run.figure(name) for name in units}, corpus)


def finite(formula, text):
    """Returns a figure of one text; none if it is too large for a float."""
    try:
        return formula([text])
    except OverflowError:
        return None
