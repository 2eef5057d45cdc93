"""Compares PIQA on a GGUF file with lm-evaluation-harness over llama-cpp-python. `run.py --gguf FILE` starts it.

Both programs run llama.cpp, of different versions and with different batches. With quantised weights, llama.cpp rounds
the activations too, so log-likelihoods depend on the kernels and the batch. A copy of the file with weights of 32 bits,
which llama.cpp writes, shows whether anything else differs.
"""

import argparse
import ctypes
import logging
import os
import statistics
import sys
from pathlib import Path

import numpy
import reference
from comparison import value_of
from hub import Hub
from lm_eval.api.model import TemplateLM
from pages import write_table
from trial import Trial

try:
    import llama_cpp
except ModuleNotFoundError:
    COMMAND = f"{sys.executable} -m pip install llama-cpp-python==0.3.36"
    print(f"error: llama-cpp-python is not installed; `{COMMAND}` builds it in 5 to 20 minutes", file=sys.stderr)
    sys.exit(2)

# Its name for the messages of llama.cpp.
logging.getLogger("llama-cpp-python").setLevel(logging.ERROR)

FOLDER = Path(__file__).resolve().parent
CONTEXT_TOKENS = 1024
# Largest difference of two log-likelihoods of a text, in nats: with weights of 32 bits, and as the file is.
TOLERANCES_NATS = {"32 bits": 0.05, "as in the file": 5.0}
HEADINGS = ["weights", "rows", "equal tokens", "median difference", "largest difference"]
HEADINGS += ["same choice, `acc`", "same choice, `acc_norm`", "`acc`", "`acc_norm`"]


class Gguf(TemplateLM):
    """llama.cpp on a GGUF file, one text at a time."""

    def __init__(self, path):
        super().__init__()
        self.llama = llama_cpp.Llama(path, n_ctx=CONTEXT_TOKENS, n_gpu_layers=0, logits_all=True, verbose=False)
        # Numbers of tokens of each context and continuation.
        self.token_counts = {}

    @property
    def eot_token_id(self):
        return self.llama.token_eos()

    @property
    def prefix_token_id(self):
        return self.llama.token_bos()

    def tok_encode(self, string, add_special_tokens=None, **_):
        # llama.cpp adds the first token only if the file asks for it.
        return self.llama.tokenize(string.encode(), add_bos=add_special_tokens is not False, special=True)

    def _loglikelihood_tokens(self, requests, **_):
        return [self.score(*request) for request in requests]

    def score(self, texts, context, continuation):
        """Returns the log-likelihood of a continuation, and whether each of its tokens is the most likely one."""
        self.token_counts[texts] = len(context), len(continuation)
        self.llama.reset()
        self.llama.eval([*context, *continuation][:-1])
        logits = self.llama.scores[len(context) - 1 : self.llama.n_tokens].astype(float)
        highest = logits.max(axis=1)
        totals = highest + numpy.log(numpy.exp(logits - highest[:, None]).sum(axis=1))
        logprobs = logits[range(len(continuation)), continuation] - totals
        return float(logprobs.sum()), bool((logits.argmax(axis=1) == continuation).all())

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    generate_until = loglikelihood_rolling


class Comparison:
    """What both programs found for each row."""

    def __init__(self, token_counts):
        self.token_counts = token_counts
        self.same_tokens, self.differences = 0, []
        self.same_choices = {"acc": 0, "acc_norm": 0}
        # Choices that differ more than their log-likelihoods explain.
        self.unexplained = []

    def add(self, ours, theirs):
        """Compares a row."""
        row, output = theirs["doc"], ours["model_output"]
        if ours["sample"]["_row"] != row:
            raise ValueError(f"the programs have different rows at {ours['index']}")
        counts = [self.token_counts[tuple(argument)] for argument in theirs["arguments"]]
        own_counts = [(output["usage"]["prompt_tokens"], one["token_count"]) for one in output["continuations"]]
        self.same_tokens += own_counts == counts
        expected = [response[0][0] for response in theirs["resps"]]
        differences = [one["logprob"] - other for one, other in zip(output["continuations"], expected, strict=True)]
        self.differences += differences
        lengths = {"acc": (1, 1), "acc_norm": (len(row["sol1"]), len(row["sol2"]))}
        for name, divisors in lengths.items():
            # There are two options, so equal scores are equal choices.
            if value_of(ours, name, None) == theirs[name]:
                self.same_choices[name] += 1
                continue
            scaled, changes = numpy.divide(expected, divisors), numpy.divide(differences, divisors)
            distance, change = abs(scaled[0] - scaled[1]), abs(changes[0] - changes[1])
            print(f"    row {ours['index']}, `{name}`: the options are {distance:.2g} apart, and moved by {change:.2g}")
            if distance > change:
                self.unexplained.append((ours["index"], name))


def figure(summary, name):
    """Returns a figure of gage-host's run."""
    metrics = summary["summary"]["tasks"][0]["metrics"]
    return next(metric["value"] for metric in metrics if metric["metric_id"] == name)


def compare(weights, path, trial):
    """Returns the row of the table for a file, and whether it is as expected."""
    # The same figures at every run.
    summary, own = trial.evaluate("piqa", path, ["model.deterministic=true"])
    model = Gguf(path)
    samples, results = reference.evaluate_task("piqa", model)
    found = Comparison(model.token_counts)
    for ours, theirs in zip(own, sorted(samples, key=lambda sample: sample["doc_id"]), strict=True):
        found.add(ours, theirs)
    sizes = [abs(difference) for difference in found.differences]
    print(f"    mean difference of {len(sizes)} log-likelihoods: {statistics.mean(found.differences):+.4f}")
    cells = [weights, len(own), found.same_tokens, f"{statistics.median(sizes):.4f}", f"{max(sizes):.4f}"]
    cells += found.same_choices.values()
    cells += [f"{figure(summary, name):.3f} and {results[f'{name},none']:.3f}" for name in found.same_choices]
    is_expected = found.same_tokens == len(own) and max(sizes) <= TOLERANCES_NATS[weights] and not found.unexplained
    return f"| {' | '.join(map(str, cells))} |", is_expected


def write_copy(source, target):
    """Writes a copy of a GGUF file with weights of 32 bits."""
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype, settings.allow_requantize = llama_cpp.LLAMA_FTYPE_ALL_F32, True
    if llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(settings)):
        raise RuntimeError(f"llama.cpp cannot write {target}")


def compare_both(options, trial):
    """Prints the table, and returns whether all is as expected."""
    copy = str(trial.folder / "weights-of-32-bits.gguf")
    write_copy(options.gguf, copy)
    table = [f"| {' | '.join(HEADINGS)} |", "| --- |" + " ---: |" * (len(HEADINGS) - 1)]
    are_expected = True
    for weights, path in zip(TOLERANCES_NATS, (copy, options.gguf)):
        row, is_expected = compare(weights, path, trial)
        are_expected = are_expected and is_expected
        table.append(row)
    print(*table, sep="\n")
    if options.write:
        write_table(FOLDER / "README.md", "gguf", table)
    return are_expected


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    trial = Trial(options.program, Hub())
    try:
        return 0 if compare_both(options, trial) else 1
    finally:
        trial.close()


if __name__ == "__main__":
    sys.exit(main())
