"""Runs a ready suite with gage-host: its rows come from the hub of `hub.py`, and its model is usually a mock server."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from rows import SUITES, evaluated_rows

LIMIT_S = 600
# Token before a text whose likelihood is wanted, as the servers of both programs know it.
TEXT_START = "¶"
# Suites whose models answer in a chat: they see pictures, or judge.
CHAT_SUITES = {"docvqa", "mathvista", "mmmu", "mt_bench", "simpleqa"}


class Trial:
    """The program, with a hub and a folder of its own."""

    def __init__(self, program, hub, plugin_folder=None):
        self.program, self.hub, self.plugin_folder = program, hub, plugin_folder
        self.folder = Path(tempfile.mkdtemp(prefix="gage-parity-"))
        listed = self.call(["list", "metrics", "--json"], {})
        self.has_python_tests = '"python_tests"' in listed.stdout

    def close(self):
        """Removes the folder."""
        shutil.rmtree(self.folder)

    def call(self, arguments, environment):
        """Runs the program in its folder."""
        plugins = ["--plugin-dir", self.plugin_folder] if self.plugin_folder else []
        return subprocess.run(
            [self.program, *arguments, *plugins],
            capture_output=True,
            text=True,
            cwd=self.folder,
            # Compiled components are kept in the usual cache, datasets in the folder.
            env=os.environ | environment,
            timeout=LIMIT_S,
        )

    def run(self, suite, server):
        """Returns the summary, the samples, and the requests that the server got."""
        server.take()
        settings = [f"model.text_start={TEXT_START}"] if suite == "wikitext" else []
        roles = {"JUDGE_BASE_URL": server.address, "JUDGE_MODEL": "judge", "BASELINE_MODEL": "baseline"}
        summary, samples = self.evaluate(suite, f"openai:mock@{server.address}", settings, roles)
        return summary, samples, server.take()

    def evaluate(self, suite, model, settings=(), environment=None):
        """Returns the summary and the samples of a run."""
        settings = [f"datasets.0.params.endpoint={self.hub.address}", "datasets.0.params.token=", *settings]
        if suite not in CHAT_SUITES:
            # lm-evaluation-harness sends prompts as they are.
            settings.append("custom.chat_template=none")
        arguments = ["eval", suite, "--model", model, "--run-id", suite, "--output-dir", "runs", "--quiet", "--json"]
        for setting in settings:
            arguments += ["--set", setting]
        shutil.rmtree(self.folder / "runs" / suite, ignore_errors=True)
        done = self.call(arguments, environment or {})
        if done.returncode not in (0, 4):
            raise RuntimeError(f"exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        lines = (self.folder / "runs" / suite / "samples.jsonl").read_text().splitlines()
        samples = sorted(map(json.loads, lines), key=lambda sample: sample["index"])
        return json.loads(done.stdout), samples


def rows_of_suite(suite):
    """Returns the rows that a suite evaluates, in its order."""
    return evaluated_rows(yaml.safe_load((SUITES / f"{suite}.yaml").read_text())["datasets"][0]["params"])
