"""Runs gage-host against answers that are given, and reads what it wrote."""

import json
import os
import re
import subprocess
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Failed(Exception):
    """gage-host ended with an error, or did not score what was asked."""


class AnswerServer:
    """A server of chat completions. The n-th request with a prompt gets the n-th answer of that prompt."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = defaultdict(int)
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, prompt):
        """Returns the next answer to a prompt."""
        with self.lock:
            asked = self.asked[prompt]
            self.asked[prompt] += 1
        answers = self.answers[prompt]
        return answers[asked % len(answers)]

    def handler(self):
        """Returns the class that handles requests to this server."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # The head and the body of a reply are two packets.
            disable_nagle_algorithm = True

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                content = request["messages"][-1]["content"]
                prompt = content if isinstance(content, str) else content[0]["text"]
                message = {"role": "assistant", "content": server.answer(prompt)}
                reply = {
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                }
                body = json.dumps(reply).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler


class Run:
    """The samples and figures of one task."""

    def __init__(self, folder, task):
        # Line ends in JSON texts are escaped, but other characters at which `splitlines` splits are not.
        lines = (folder / "samples.jsonl").read_text(encoding="utf-8").split("\n")
        samples = [json.loads(line) for line in lines if line]
        self.samples = [sample for sample in samples if sample["task_id"] == task]
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        tasks = {each["task_id"]: each for each in summary["tasks"]}
        self.figures = {metric["metric_id"]: metric for metric in tasks[task]["metrics"]}

    def cards(self, metric):
        """Returns the score card of each sample for a metric, in the order of the rows."""
        return [card(sample, metric) for sample in self.samples]

    def scores(self, metric, value=None):
        """Returns one value of each sample: the primary score, or a sub-score."""
        cards = self.cards(metric)
        if value is None:
            return [card.get("primary_score") for card in cards]
        return [card["sub_scores"].get(value) for card in cards]

    def figure(self, metric):
        """Returns the figure of a metric."""
        return self.figures[metric_id(metric)]["value"]

    def components(self, metric):
        """Returns the figures of an aggregator by their names."""
        return {figure["name"]: figure for figure in self.figures[metric_id(metric)]["figures"]}

    def outputs(self, field):
        """Returns a field of the model's output of each sample."""
        return [sample["model_output"].get(field) for sample in self.samples]


def card(sample, metric):
    """Returns the score card of a sample for a metric."""
    found = [each for each in sample["metrics"] if each["metric_id"] == metric_id(metric)]
    if not found or found[0].get("card") is None:
        raise Failed(f"{sample['sample_id']} was not scored by {metric}: {json.dumps(sample)[:2000]}")
    return found[0]["card"]


class Program:
    """A built gage-host and a folder for its files."""

    def __init__(self, path, folder):
        self.path = Path(path).resolve()
        self.folder = Path(folder)

    def run(self, name, rows, backend, tasks):
        """Runs a suite over rows. `tasks` has the keys of each task by its name. Returns a run for each task."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / "rows.jsonl").write_text("".join(lines), encoding="utf-8")
        first = next(iter(tasks.values()))
        params = {"path": "rows.jsonl"} | first.get("params", {})
        suite = {
            "api_version": "gage/v1alpha1",
            "kind": "PipelineConfig",
            "metadata": {"name": name},
            "datasets": [{"dataset_id": "rows", "loader": "jsonl", "params": params}],
            "backends": [{"backend_id": "model", **backend}],
            "role_adapters": [{"adapter_id": "dut", "role_type": "dut_model", "backend_id": "model"}],
            "custom": {"score_outcomes": ["empty_output", "truncated"], "min_coverage": 0.01},
            "tasks": [{"task_id": task, "dataset_id": "rows", **without_params(keys)} for task, keys in tasks.items()],
        }
        (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
        command = [self.path, "run", "suite.yaml", "--run-id", "run", "--output-dir", "runs"]
        environment = os.environ | {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        ended = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
        )
        if ended.returncode != 0:
            raise Failed(f"gage-host ended with code {ended.returncode}\n{ended.stdout}{ended.stderr}")
        runs = {task: Run(folder / "runs" / "run", task) for task in tasks}
        for task, run in runs.items():
            if len(run.samples) != len(rows) * tasks[task].get("repeat", 1):
                raise Failed(f"{name}: {len(run.samples)} samples for {len(rows)} rows")
        return runs

    def answer(self, name, rows, answers, tasks):
        """Runs a suite with given answers: a list for each row, of which each repeat takes one."""
        by_prompt = {row["question"]: given for row, given in zip(rows, answers, strict=True)}
        if len(by_prompt) != len(rows):
            raise Failed(f"{name}: two rows have the same question")
        with AnswerServer(by_prompt) as server:
            config = {"base_url": server.address, "model": "given"}
            runs = self.run(name, rows, {"type": "openai_http", "config": config}, tasks)
        return runs


def without_params(keys):
    """Returns the keys of a task without the parameters of its dataset."""
    return {key: value for key, value in keys.items() if key != "params"}


def scoring(metrics, *between):
    """Returns the keys of a task that asks, and scores with metrics: parameters and implementation by name."""
    steps = [{"step": "inference"}, *between, {"step": "auto_eval"}]
    return {"steps": steps, "metric_overrides": metrics}


def metric_id(name):
    """Returns a name in the characters that an id may have."""
    return re.sub("[^A-Za-z0-9._-]", "_", name)


def metric(name, implementation, aggregation=None, **params):
    """Returns a metric of a suite."""
    entry = {"metric_id": metric_id(name), "implementation": implementation, "params": params}
    return entry if aggregation is None else entry | {"aggregation": aggregation}
