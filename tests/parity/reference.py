"""lm-evaluation-harness over the rows of `rows.py`: its requests, and its scores of each sample."""

import contextlib
import hashlib
import logging
import os
import random
import subprocess
import sys

import datasets
import evaluate
import nltk

from rows import DATASETS, rows_of
from server import cut
from trial import TEXT_START

logging.disable(logging.WARNING)


def load_dataset(path, name=None, **_):
    """Takes the place of `datasets.load_dataset`: the rows are local."""
    subset = name if (path, name) in DATASETS else None
    splits = DATASETS[path, subset][1]
    return datasets.DatasetDict({split: datasets.Dataset.from_list(rows_of(path, subset, split)) for split in splits})


class NoMetric:
    """Takes the place of metrics of `evaluate`, whose code is on the hub."""

    def __init__(self, name):
        self.name = name

    def compute(self, predictions, references, **_):
        if self.name != "code_eval":
            return {}
        programs = [f"{candidates[0]}\n{test}" for candidates, test in zip(predictions, references)]
        passed = [runs(program) for program in programs]
        return {"pass@1": sum(passed) / len(passed)}, {}


def runs(program):
    """Returns whether a program of `rows.py` ends without an error."""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, timeout=20)
    return done.returncode == 0


def by_digest(items):
    """Takes the place of `random.shuffle`, whose state depends on what was done before, with the order of the suite."""
    items.sort(key=lambda item: hashlib.sha256(f"0\0{item}".encode()).hexdigest())


datasets.load_dataset = load_dataset
evaluate.load = lambda name, **__: NoMetric(name)
nltk.data.find = lambda *_, **__: None

from lm_eval import simple_evaluate  # noqa: E402
from lm_eval.api.model import LM  # noqa: E402
from lm_eval.models.openai_completions import LocalCompletionsAPI  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402


class Characters(LocalCompletionsAPI):
    """The model `local-completions`, with a tokenizer whose tokens are characters."""

    def __init__(self, address):
        super().__init__(
            base_url=f"{address}/completions",
            model="mock",
            tokenizer_backend=None,
            max_length=1 << 20,
            num_concurrent=1,
        )
        self.tokenizer, self.tokenizer_backend, self.tokenized_requests = object(), "characters", True

    @property
    def eot_token_id(self):
        return ord(TEXT_START)

    @property
    def prefix_token_id(self):
        return ord(TEXT_START)

    def decode_batch(self, tokens):
        return ["".join(map(chr, text)) for text in tokens]

    def tok_encode(self, string, left_truncate_len=0, add_special_tokens=False, truncation=False, **_):
        if isinstance(string, str):
            return [ord(character) for character in string]
        return [[ord(character) for character in text] for text in string]


class Pictures(LM):
    """A model that reads pictures, and gets its answers without a server."""

    MULTIMODAL = True

    def __init__(self, server):
        super().__init__()
        self.server = server

    def generate_until(self, requests, **_):
        return [cut(self.server.answers(request.args[0]), request.args[1].get("until")) for request in requests]

    def loglikelihood(self, requests, **_):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


MANAGER = None


def model_of(task, server):
    """Returns the model that asks the server."""
    return Pictures(server) if task.startswith("mmmu") else Characters(server.address)


def evaluate_task(task, model, num_fewshot=None):
    """Returns the samples of a task with their arguments, answers and scores, and its figures."""
    global MANAGER
    MANAGER = MANAGER or TaskManager()
    shuffle, random.shuffle = random.shuffle, by_digest if task.startswith("gpqa") else random.shuffle
    # Its progress bars are not shown.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        found = simple_evaluate(
            model=model,
            tasks=[task],
            task_manager=MANAGER,
            num_fewshot=num_fewshot,
            log_samples=True,
            bootstrap_iters=0,
            confirm_run_unsafe_code=True,
        )
    random.shuffle = shuffle
    return found["samples"][task], found["results"][task]
