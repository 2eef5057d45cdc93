"""Compares prompts and scores of suites with lm-evaluation-harness, and prints a table. `run.py` starts it."""

import argparse
import math
import re
import sys
from collections import Counter
from pathlib import Path

import reference
from hub import Hub
from pages import write_table
from server import Server, fraction
from suites import PAIRS
from trial import TEXT_START, Trial, rows_of_suite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures" / "comparison"))

from definitions import Squad  # noqa: E402

FOLDER = Path(__file__).resolve().parent
TOLERANCE = 1e-9

ANSWERS = [
    " {}",
    "{}.",
    " The answer is {}. Right.",
    "So the answer is {}.",
    " Steps of 12 and 7.\n#### {}",
    "It is ${}$, I think.",
    "Hence \\boxed{{{}}}.",
    " no idea",
    " the {}",
    "The answer is ({}) and not (B).",
    "1, 2 or {}?\nQuestion: more",
    "",
    " {}",
    "{}",
    "Steps.\n#### {}",
    "2 and 3, so the answer is {}.",
    "the answer is {}.",
    "answer is ({})",
    "Final Answer: The final answer is ${}$. I hope it is correct.",
    "  {}  ",
    "#### 1,{}",
    "the answer is {}.\n\nQ: next",
]


def text_in(value):
    """Returns the part of a field that its prompt has as it is: without marks of pictures, and the first of several."""
    text = value[0] if isinstance(value, list) else str(value)
    return max(re.split(r"<image \d>", text), key=len).strip()


def row_in(prompt, rows, key):
    """Returns the place of the row that a prompt asks about: the one whose text comes last."""
    places = [prompt.rfind(text_in(row[key])) for row in rows]
    return max(range(len(rows)), key=places.__getitem__)


def answers_for(pair, rows):
    """Returns the answers of the mock server: one of several forms, with the right answer or that of another row."""
    golds = [str(pair.gold(row)) for row in rows]

    def answer(prompt):
        place = row_in(prompt, rows, pair.key)
        asked = str(rows[place][pair.key])
        gold = golds[place if fraction(asked, "right") < 0.7 else place - 1]
        if pair.suite in ("humaneval", "mbpp", "ifeval"):
            return pair.form.format(gold)
        is_usual = fraction(asked, "usual") < 0.4
        form = pair.form if is_usual else ANSWERS[int(fraction(asked, "form") * len(ANSWERS))]
        return form.format(gold)

    return answer


def value_of(sample, metric_id, sub_score):
    """Returns a figure of a sample, or `None` if the sample lacks it."""
    for metric in sample["metrics"]:
        if metric["metric_id"] == metric_id:
            card = metric["card"]
            return card["sub_scores"].get(sub_score) if sub_score else card["primary_score"]
    return None


def text_of(body):
    """Returns the text of a request for an answer."""
    if "messages" not in body:
        return body["prompt"]
    parts = []
    for message in body["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part.get("text", "<image>") for part in content]
    return "".join(parts)


def own_requests(requests):
    """Returns what gage-host asked: texts to score, and texts to continue with their settings."""
    scored, asked = Counter(), Counter()
    for body in requests:
        if body.get("echo"):
            scored[body["prompt"]] += 1
        else:
            limit = body.get("max_tokens", body.get("max_completion_tokens"))
            asked[text_of(body), tuple(body.get("stop") or []), limit, float(body.get("temperature", 0))] += 1
    return scored, asked


def their_requests(samples):
    """Returns the same of lm-evaluation-harness."""
    scored, asked = Counter(), Counter()
    for sample in samples:
        for argument in sample["arguments"]:
            if len(argument) == 1:
                scored[TEXT_START + argument[0]] += 1
            elif isinstance(argument[1], dict):
                settings = argument[1]
                stops = settings.get("until") or []
                stops = [stops] if isinstance(stops, str) else stops
                asked[
                    argument[0], tuple(stops), settings.get("max_gen_toks", 256), float(settings.get("temperature", 0))
                ] += 1
            else:
                scored[argument[0] + argument[1]] += 1
    return scored, asked


def difference(own, theirs):
    """Returns one request that differs, for people."""
    ours, others = list((own - theirs).elements()), list((theirs - own).elements())
    return f"\n    gage-host: {ours[:1]!r}\n    lm-eval:   {others[:1]!r}" if ours or others else ""


def squad_values(sample, answer):
    """Returns the figures of SQuAD 2.0, which lm-evaluation-harness computes for all samples together."""
    script, texts = Squad("2.0"), sample["doc"]["answers"]["text"]
    return {"f1": script.f1(answer, texts), "exact": script.exact(answer, texts)}


def their_value(pair, sample, figure):
    """Returns a figure of a sample of lm-evaluation-harness."""
    if pair.suite == "squad2":
        return squad_values(sample, sample["resps"][0][0])[figure]
    if pair.suite == "wikitext":
        loglikelihood, units = sample[figure]
        return -loglikelihood / (units * math.log(2)) if figure == "bits_per_byte" else math.exp(-loglikelihood / units)
    return float(sample[figure])


class Scores:
    """Figures that were compared."""

    def __init__(self):
        self.equal = self.total = 0
        self.differences = []

    def add(self, is_equal, shown):
        self.total += 1
        self.equal += is_equal
        if not is_equal:
            self.differences.append(shown)

    def shown(self):
        """Returns the cell of the table."""
        return f"{self.equal}/{self.total}" if self.total else "–"


def compare_continuations(scores, ours, sample):
    """Compares the log-likelihoods of a sample's options, and the texts that they are of."""
    for place, continuation in enumerate(ours["model_output"].get("continuations", [])):
        if sample["filter"] == "none" and place < len(sample["resps"]):
            logprob, is_greedy = sample["resps"][place][0]
            context, text = sample["arguments"][place]
            # Blanks at the end of the prompt are scored with the option.
            count = len(text) + len(context) - len(context.rstrip())
            same = abs(continuation["logprob"] - logprob) <= TOLERANCE and continuation["is_greedy"] == is_greedy
            scores.add(same and continuation["token_count"] == count, (continuation, logprob, is_greedy, text))


def compare_scores(pair, own, theirs):
    """Compares the figures of each sample."""
    scores = Scores()
    for place, sample in theirs:
        ours = own[place]
        compare_continuations(scores, ours, sample)
        for (figure, filter_name), (metric_id, sub_score) in pair.figures.items():
            if sample["filter"] != filter_name:
                continue
            value, expected = value_of(ours, metric_id, sub_score), their_value(pair, sample, figure)
            is_equal = value is not None and math.isclose(expected, value, rel_tol=0, abs_tol=TOLERANCE)
            answer = ours["model_output"].get("answer")
            scores.add(is_equal, (figure, expected, value, answer, sample["filtered_resps"]))
    return scores


def compare_totals(scores, pair, summary, results):
    """Compares the figures of the run with those of the tasks, which have equal numbers of rows."""
    own = {metric["metric_id"]: metric["value"] for metric in summary["summary"]["tasks"][0]["metrics"]}
    # lm-evaluation-harness computes those of SQuAD by a script on the hub.
    figures = {} if pair.suite == "squad2" else pair.figures | pair.totals
    for (figure, filter_name), (metric_id, sub_score) in figures.items():
        if sub_score is None:
            expected = sum(result[f"{figure},{filter_name}"] for result in results) / len(results)
            is_equal = math.isclose(expected, own[metric_id], rel_tol=TOLERANCE, abs_tol=TOLERANCE)
            scores.add(is_equal, (figure, expected, own[metric_id]))


def reference_samples(pair, rows, server):
    """Returns the samples of lm-evaluation-harness, each with the place of its row, and its figures of each task."""
    found, results = [], []
    for task, group in pair.tasks.items():
        own = {row[pair.key]: place for place, row in enumerate(rows) if group is None or row[pair.group] == group}
        samples, figures = reference.evaluate_task(task, reference.model_of(task, server), pair.num_fewshot)
        found += [(own[sample["doc"][pair.key]], sample) for sample in samples]
        results.append(figures)
    return found, results


def wanted_requests(pair, rows, theirs):
    """Returns the requests of lm-evaluation-harness, or of the source that the card states."""
    if pair.source:
        return [Counter(), Counter(pair.source(row) for row in rows)]
    # A sample is listed once for each filter.
    return list(their_requests(dict(theirs).values()))


def compare(pair, server, trial, is_verbose):
    """Returns the row of the table for a suite, and whether as many prompts and scores differ as are known."""
    rows = rows_of_suite(pair.suite)
    server.answers = answers_for(pair, rows) if pair.tasks and pair.gold else lambda _: "none"
    summary, own, requests = trial.run(pair.suite, server)
    theirs, results = reference_samples(pair, rows, server)
    wanted = wanted_requests(pair, rows, theirs)
    found = list(own_requests(body for _, body in requests if body["model"] == "mock"))
    if pair.source:
        found = [Counter(), Counter(request[0] for request in found[1].elements())]
    same = sum(sum((ours & others).values()) for ours, others in zip(found, wanted))
    total = max(sum(sum(ours.values()) for ours in side) for side in (found, wanted))
    scores = compare_scores(pair, {sample["index"]: sample for sample in own}, theirs)
    if results:
        compare_totals(scores, pair, summary, results)
    if is_verbose:
        for ours, others in zip(found, wanted):
            print(difference(ours, others))
        print(*(f"    {item}" for item in scores.differences[:4]), sep="\n")
    is_known = total - same == pair.prompts_differ and scores.total - scores.equal == pair.scores_differ
    return f"| `{pair.suite}` | {len(rows)} | {same}/{total} | {scores.shown()} | {pair.reason} |", is_known


def compare_all(options, server, trial):
    """Yields the row of each suite, and whether it is as known."""
    for pair in PAIRS:
        if options.suites and pair.suite not in options.suites:
            continue
        if pair.suite in ("humaneval", "mbpp") and not trial.has_python_tests:
            yield f"| `{pair.suite}` | | | | not compared: `make python-runner` builds python_tests |", False
            continue
        try:
            yield compare(pair, server, trial, options.verbose)
        except Exception as error:  # The other suites are compared.
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:900]
            yield f"| `{pair.suite}` | | | | not compared: {reason} |", False


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--plugin-dir")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    trial = Trial(options.program, Hub(), options.plugin_dir)
    table = ["| suite | rows | prompts equal | scores equal | reason |", "| --- | ---: | ---: | ---: | --- |"]
    print(*table, sep="\n")
    are_known = True
    for row, is_known in compare_all(options, Server(), trial):
        are_known = are_known and is_known
        table.append(row)
        print(row if is_known else f"{row} **not as known**", flush=True)
    trial.close()
    if options.write:
        write_table(FOLDER / "README.md", "comparison", table)
    return 0 if are_known else 1


if __name__ == "__main__":
    sys.exit(main())
