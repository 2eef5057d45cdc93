"""Runs a suite on local rows with gage-host and a mock server."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import yaml

from emulation import local_suite

ROOT = Path(__file__).resolve().parents[2]


def run_suite(name, server, program, change=lambda suite: suite):
    """Returns the rows, the samples of the run, and the bodies that the server got."""
    suite = change(yaml.safe_load((ROOT / "config/suites" / f"{name}.yaml").read_text()))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        suite, rows = local_suite(suite, folder, server.address)
        path = folder / "suite.yaml"
        path.write_text(yaml.safe_dump(suite, allow_unicode=True, sort_keys=False))
        server.take()
        command = [
            program,
            "run",
            str(path),
            "--run-id",
            "run",
            "--output-dir",
            str(folder / "runs"),
            "--quiet",
            "--json",
        ]
        environment = os.environ | {"JUDGE_BASE_URL": server.address}
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"{name}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        samples = [json.loads(line) for line in (folder / "runs/run/samples.jsonl").read_text().splitlines()]
        samples.sort(key=lambda sample: sample["index"])
        return rows, samples, server.take(), done
