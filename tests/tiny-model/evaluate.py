"""Measures GGUF models on the tiny suite with llama.cpp, as a check that is independent of this project's host.

    python evaluate.py ../../config/models/gage-tiny.gguf

llama.cpp (from the `xllamacpp` wheel) does everything from the file alone: it renders the model's own chat
template, tokenises, generates and gives probabilities. Generated answers are scored by exact match, options
by the summed log-likelihood of their text. Prints one table of accuracies for each model.
"""

import argparse
import json
import urllib.request
from collections import defaultdict
from pathlib import Path

import xllamacpp

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATED = ["arithmetic", "opposites"]
CHOSEN = ["facts", "comparison"]
MAXIMUM_ANSWER_TOKENS = 12


class Model:
    """One model file in llama.cpp, with greedy generation and log-likelihoods."""

    def __init__(self, path: Path):
        parameters = xllamacpp.CommonParams()
        parameters.model.path = str(path)
        parameters.n_ctx = 256
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = 1
        parameters.cpuparams_batch.n_threads = 1
        parameters.use_jinja = True
        parameters.verbosity = -1
        self.server = xllamacpp.Server(parameters)
        self.letter = self.tokenize("a")[0]
        self.vocabulary_size = len(self.next_token_log_probabilities([self.letter], 10_000))

    def post(self, path: str, body: dict) -> dict:
        """Asks the wheel's own loopback server, for the two calls that have no method."""
        request = urllib.request.Request(
            self.server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def tokenize(self, text: str) -> list[int]:
        return self.post("/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]

    def render(self, question: str) -> str:
        """Renders a question with the chat template of the model file and the generation prompt."""
        return self.post("/apply-template", {"messages": [{"role": "user", "content": question}]})["prompt"]

    def generate(self, question: str) -> tuple[str, str]:
        """Generates an answer greedily; returns it and why generation ended."""
        reply = self.server.handle_chat_completions(
            {
                "messages": [{"role": "user", "content": question}],
                "temperature": 0,
                "max_tokens": MAXIMUM_ANSWER_TOKENS,
            }
        )["choices"][0]
        return reply["message"]["content"], reply["finish_reason"]

    def next_token_log_probabilities(self, ids: list[int], count: int) -> dict[int, float]:
        # A reply whose sampled token has no printable text (the end token, part of a character) carries
        # no probabilities. The bias makes sure that a letter is sampled; the reported distribution is
        # taken before it, as the model gave it.
        bias = [[self.letter, 1000.0]]
        reply = self.server.handle_completions(
            {"prompt": ids, "n_predict": 1, "temperature": 0, "n_probs": count, "logit_bias": bias}
        )
        candidates = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return {candidate["id"]: candidate["logprob"] for candidate in candidates}

    def log_likelihoods(self, question: str, options: list[str]) -> list[float]:
        """Sums, for each option, the log-probabilities of its tokens after the rendered question."""
        prompt = self.render(question)
        prompt_ids = self.tokenize(prompt)
        known = {}  # log-probabilities after a prefix: options that begin alike share them
        sums = []
        for option in options:
            ids = self.tokenize(prompt + option)
            if ids[: len(prompt_ids)] != prompt_ids:
                raise ValueError(f"option {option!r} changes the tokens of its question")
            total = 0.0
            for end in range(len(prompt_ids), len(ids)):
                prefix = tuple(ids[:end])
                if prefix not in known:
                    known[prefix] = self.next_token_log_probabilities(list(prefix), self.vocabulary_size)
                total += known[prefix][ids[end]]
            sums.append(total)
        return sums


class Tally:
    """Right and all answers under each label, in the order in which the labels appear."""

    def __init__(self):
        self.counts = defaultdict(lambda: [0, 0])

    def add(self, labels: list[str], right: bool) -> None:
        for label in labels:
            self.counts[label][0] += right
            self.counts[label][1] += 1


def evaluate(path: Path, data: Path) -> Tally:
    model = Model(path)
    tally = Tally()
    for name in GENERATED + CHOSEN:
        for line in (data / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if name in GENERATED:
                text, finish = model.generate(row["question"])
                right = text == row["answer"] and finish == "stop"
            else:
                scores = model.log_likelihoods(row["question"], row["choices"])
                right = scores.index(max(scores)) == row["answer"]
            seen = "held out" if row["held_out"] else "seen"
            labels = ["whole suite", name, f"{name}, {seen}"]
            part = row.get("operation") or row.get("category")
            if part:
                labels.append(f"{name}, {part}" if name == "facts" else f"{name}, {part}, {seen}")
            tally.add(labels, right)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="+", help="GGUF files")
    parser.add_argument("--data", type=Path, default=REPOSITORY / "config/data/tiny", help="folder of the JSONL rows")
    options = parser.parse_args()
    tallies = [evaluate(path, options.data) for path in options.models]
    print("| rows | n | " + " | ".join(path.stem for path in options.models) + " |")
    print("| --- | ---: |" + " ---: |" * len(options.models))
    for label in sorted(tallies[0].counts):
        cells = [f"{100 * right / count:.1f} %" for right, count in (tally.counts[label] for tally in tallies)]
        print(f"| {label} | {tallies[0].counts[label][1]} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
