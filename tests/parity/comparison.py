"""Compares prompts and scores of suites with lm-evaluation-harness, and prints a table. `run.py` starts it."""

import argparse
import math
import re
import string
import subprocess
import sys
from collections import Counter
from pathlib import Path

import reference
from emulation import emulated_keys, local_rows
from server import Server, fraction
from suites import PAIRS
from trial import run_suite

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "figures" / "comparison"))

from definitions import Squad  # noqa: E402

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


def row_in(prompt, rows, key):
    """Returns the place of the row that a prompt asks about: the one whose text comes last."""
    places = [prompt.rfind(str(row[key]).strip().removeprefix("<image 1> ")) for row in rows]
    return max(range(len(rows)), key=places.__getitem__)


def answers_for(pair, rows):
    """Returns the answers of the mock server: one of several forms, with the right answer or that of another row."""
    golds = [str(pair.gold(row)) for row in rows]

    def answer(prompt):
        place = row_in(prompt, rows, pair.key)
        asked = str(rows[place][pair.key])
        gold = golds[place if fraction(asked, "right") < 0.7 else place - 1]
        if pair.suite in ("humaneval", "mbpp"):
            return gold + ("\n[DONE]" if "[BEGIN]" in prompt else "")
        is_usual = fraction(asked, "usual") < 0.4
        form = pair.form if is_usual else ANSWERS[int(fraction(asked, "form") * len(ANSWERS))]
        return form.format(gold)

    return answer


def known_metrics(program):
    """Returns the names of metrics that the program has."""
    listed = subprocess.run([program, "list", "metrics", "--json"], capture_output=True, text=True, check=True)
    return set(re.findall(r'"name":\s*"([^"]+)"', listed.stdout))


def implementation(metric):
    """Returns the id and the name of the implementation of a metric of a suite."""
    if isinstance(metric, str):
        return metric, metric
    if "metric_id" not in metric:
        name = next(iter(metric))
        return name, name
    return metric["metric_id"], metric.get("implementation", metric["metric_id"])


def without_unknown_metrics(known, removed):
    """Returns a change of a suite that replaces metrics which the program lacks."""

    def change(suite):
        kept = []
        for metric in suite["metrics"]:
            name, used = implementation(metric)
            if used in known and not (isinstance(metric, dict) and "counted_field" in str(metric)):
                kept.append(metric)
            else:
                removed[name] = metric
        suite["metrics"] = kept or ["latency"]
        return suite

    return change


def extracted_match(params, answer, references):
    """The metric `extracted_match`, as it is specified."""
    found = list(re.finditer(params.get("pattern", r"(?s)\A.*\Z"), answer))
    if not found:
        return 0.0
    match = found[-1 if params.get("which") == "last" else 0]
    groups = [group for group in match.groups() if group] if match.re.groups else [match.group()]
    if not groups:
        return 0.0

    def plain(text):
        for pattern in params.get("ignore_patterns", []):
            text = re.sub(pattern, "", text)
        text = text.lower() if params.get("ignore_case") else text
        return text.translate(str.maketrans("", "", string.punctuation)) if params.get("ignore_punctuation") else text

    return float(any(plain(groups[0].strip()) == plain(reference) for reference in references))


def reference_texts(sample):
    """Returns the right answers of a sample."""
    found = []
    for item in sample.get("references") or []:
        answer = item["answer"] if isinstance(item, dict) else item
        found.append(answer if isinstance(answer, str) else "".join(part.get("text", "") for part in answer))
    return found or [str(sample.get("label", ""))]


def value_of(sample, metric_id, sub_score, removed):
    """Returns a figure of a sample, and whether the specification gave it in place of the program."""
    if metric_id in removed:
        metric = removed[metric_id]
        name, used = implementation(metric)
        if used == "extracted_match":
            answer = sample["model_output"]["answer"]
            return extracted_match(metric["params"], answer, reference_texts(sample["sample"])), True
        if used == "greedy_match":
            return float(sample["model_output"]["continuations"][0]["is_greedy"]), True
        if used == "answer_probability":
            right = reference_texts(sample["sample"])
            shares = {item["id"]: math.exp(item["logprob"]) for item in sample["model_output"]["continuations"]}
            return sum(shares[label] for label in right) / sum(shares.values()), True
        return None, True
    for metric in sample["metrics"]:
        if metric["metric_id"] == metric_id:
            card = metric["card"]
            return (card["sub_scores"].get(sub_score) if sub_score else card["primary_score"]), False
    return None, False


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
    for _, body in requests:
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
                asked[argument[0], (), None, 0.0] += 1
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
    return float(sample[figure])


class Scores:
    """Figures that were compared."""

    def __init__(self):
        self.equal = self.total = self.specified = 0
        self.differences, self.missing = [], set()

    def add(self, is_equal, shown):
        self.total += 1
        self.equal += is_equal
        if not is_equal:
            self.differences.append(shown)

    def shown(self):
        """Returns the cell of the table."""
        if not self.total:
            return "–"
        note = f", {self.specified} by the specification" if self.specified else ""
        return f"{self.equal}/{self.total}{note}"


def compare_continuations(scores, ours, sample):
    """Compares the log-likelihoods of a sample's options, and the texts that they are of."""
    for place, continuation in enumerate(ours["model_output"].get("continuations", [])):
        if sample["filter"] == "none" and place < len(sample["resps"]):
            logprob, is_greedy = sample["resps"][place][0]
            text = sample["arguments"][place][1]
            same = abs(continuation["logprob"] - logprob) <= TOLERANCE and continuation["is_greedy"] == is_greedy
            scores.add(same and continuation["token_count"] == len(text), (continuation, logprob, is_greedy, text))


def compare_scores(pair, own, theirs, rows, removed):
    """Compares the figures of each sample."""
    places = {row[pair.key]: place for place, row in enumerate(rows)}
    own = {sample["index"]: sample for sample in own}
    scores = Scores()
    for sample in theirs:
        ours = own[places[sample["doc"][pair.key]]]
        compare_continuations(scores, ours, sample)
        for (figure, filter_name), (metric_id, sub_score) in pair.figures.items():
            if sample["filter"] != filter_name:
                continue
            value, is_specified = value_of(ours, metric_id, sub_score, removed)
            if value is None:
                scores.missing.add(metric_id)
                continue
            scores.specified += is_specified
            expected = their_value(pair, sample, figure)
            shown = (figure, expected, value, ours["model_output"].get("answer"), sample["filtered_resps"])
            scores.add(math.isclose(expected, value, rel_tol=0, abs_tol=TOLERANCE), shown)
    return scores


def wanted_requests(pair, rows, server):
    """Returns the samples of lm-evaluation-harness, and the requests of it or of the source that the card states."""
    if pair.source:
        return [], [Counter(), Counter(pair.source(row) for row in rows)]
    theirs = []
    for task in pair.tasks:
        theirs += reference.evaluate_task(task, server, pair.num_fewshot)[0]
    # A sample is listed once for each filter.
    once = {sample["doc"][pair.key]: sample for sample in theirs}
    return theirs, list(their_requests(once.values()))


def compare(pair, server, program, known, verbose):
    """Returns the row of the table for a suite, and whether as many prompts and scores differ as are known."""
    removed, emulated = {}, []

    def change(suite):
        emulated.extend(emulated_keys(suite))
        suite = without_unknown_metrics(known, removed)(suite)
        rows = local_rows(suite["datasets"][0]["params"])
        server.answers = answers_for(pair, rows) if pair.gold else lambda _: "none"
        return suite

    rows, own, requests, done = run_suite(pair.suite, server, program, change)
    theirs, wanted = wanted_requests(pair, rows, server)
    found = list(own_requests(requests))
    if pair.source:
        found = [Counter(), Counter(request[0] for request in found[1].elements())]
    same = sum(sum((ours & others).values()) for ours, others in zip(found, wanted))
    total = sum(sum(others.values()) for others in wanted)
    scores = compare_scores(pair, own, theirs, rows, removed) if theirs else Scores()
    reasons = [pair.reason] if pair.reason else []
    if scores.missing:
        reasons.append(f"the program has no {' and '.join(sorted(scores.missing))}, so these scores are not compared")
    if verbose:
        for ours, others in zip(found, wanted):
            print(difference(ours, others))
        print(*(f"    {item}" for item in scores.differences[:4]), done.stderr[-1500:], sep="\n")
    is_known = total - same == pair.prompts_differ and scores.total - scores.equal == pair.scores_differ
    keys = ", ".join(f"`{key}`" for key in emulated)
    row = f"| `{pair.suite}` | {len(rows)} | {same}/{total} | {scores.shown()} | {keys} | {'; '.join(reasons)} |"
    return row, is_known


def main():
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    server, known = Server(), known_metrics(options.program)
    print("| suite | rows | prompts equal | scores equal | emulated keys | reason |")
    print("| --- | ---: | ---: | ---: | --- | --- |")
    are_known = True
    for pair in PAIRS:
        if options.suites and pair.suite not in options.suites:
            continue
        try:
            row, known_only = compare(pair, server, options.program, known, options.verbose)
        except Exception as error:  # The other suites are compared.
            row, known_only = (
                f"| `{pair.suite}` | | | | | not compared: {type(error).__name__}: {str(error)[:900]} |",
                False,
            )
        are_known = are_known and known_only
        print(row, flush=True)
    return 0 if are_known else 1


if __name__ == "__main__":
    sys.exit(main())
