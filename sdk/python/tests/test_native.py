"""The metrics of a plugin in this interpreter, as `gage-host plugin test --native` runs them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

SDK = Path(__file__).resolve().parent.parent

PLUGIN = '''
import sys
from gage_sdk import metric, log

print("loaded")

@metric(version="1")
def tried(prediction: object) -> float:
    """Does what it is asked for."""
    print("asked for", prediction)
    print("no end", end="", file=sys.stderr)
    if prediction == "break":
        return helper({})
    log.info("done" if log.enabled("info") else "dropped")
    return float(prediction)

def helper(values):
    return values["x"]
'''


def run(source: str, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of the runner."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plugin.py").write_text(source)
        ended = subprocess.run(
            [sys.executable, "-B", "-m", "gage_sdk.native"],
            input="".join(json.dumps(request) + "\n" for request in requests),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SDK / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line.replace(folder, "")) for line in ended.stdout.splitlines()]


def score(*values: str) -> dict[str, Any]:
    """A request that scores these texts."""
    items = [
        {"sample_id": f"q{place}", "inputs": [{"tag": "text", "val": value}]}
        for place, value in enumerate(values)
    ]
    return {"call": "score", "member": "tried", "params": "{}", "items": items}


def lines(messages: list[dict[str, Any]]) -> list[str]:
    """The lines among messages."""
    found = [message["line"] for message in messages if "line" in message]
    return [f"{line['source']}: {line['text']}" for line in found]


class Native(unittest.TestCase):
    def test_declarations(self) -> None:
        loaded, described = run(PLUGIN, {"call": "describe"})
        self.assertEqual(lines([loaded]), ["stdout: loaded"])
        (metric,) = described["reply"]["metrics"]
        self.assertEqual((metric["name"], metric["inputs"][0]["kind"]), ("tried", "any"))
        self.assertEqual(described["reply"]["native_packages"], [])

    def test_scores_and_lines(self) -> None:
        *printed, reply = run(PLUGIN, score("0.5"))
        expected = ["stdout: asked for 0.5", "info: done", "stderr: no end"]
        self.assertEqual(lines(printed)[1:], expected)
        self.assertEqual(reply["reply"][0]["ok"]["primary_score"], 0.5)
        *printed, reply = run(PLUGIN, score("nan", "-inf"))
        self.assertIn("stdout: sample q1: asked for -inf", lines(printed))
        self.assertIn("info: sample q1: done", lines(printed))
        scores = [one["ok"]["primary_score"] for one in reply["reply"]]
        self.assertEqual(scores, ["NaN", "-Infinity"])

    def test_a_traceback(self) -> None:
        *printed, reply = run(PLUGIN, score("break"))
        places = "(plugin.py, line 18, in helper, called from plugin.py, line 13, in tried)"
        message = f"KeyError: 'x' {places}"
        self.assertEqual(reply["reply"][0]["error"]["message"], message)
        found = lines(printed)
        self.assertIn('debug:   File "/plugin.py", line 18, in helper', found)
        self.assertEqual(found[-1], "debug: KeyError: 'x'")

    def test_faults_that_only_components_have_get_advice(self) -> None:
        for fault, advice in [
            ("import not_a_module", "import not_a_module at the top of plugin.py"),
            ("return 'a'.encode('unicode-escapes')", "`import encodings.unicode_escapes` at the top"),
        ]:
            with self.subTest(fault=fault):
                source = PLUGIN.replace('return values["x"]', fault)
                error = run(source, score("break"))[-1]["reply"][0]["error"]
                self.assertIn(advice, error["message"])

    def test_parameters_are_checked(self) -> None:
        check = {"call": "check", "member": "tried", "params": '{"a": 1}'}
        reply = run(PLUGIN, check)[-1]["reply"]
        self.assertEqual((reply["error"]["kind"], reply["error"]["pointer"]), ("invalid_config", "/a"))

    def test_code_that_cannot_be_loaded(self) -> None:
        (failed,) = run("import not_a_module", {"call": "describe"})
        self.assertEqual(failed["missing_module"], "not_a_module")
        start = 'Traceback (most recent call last):\n  File "/plugin.py", line 1, in <module>'
        self.assertTrue(failed["failure"].startswith(start), failed["failure"])
        (failed,) = run("def", {"call": "describe"})
        self.assertIn("SyntaxError", failed["failure"])


@unittest.skipUnless(sys.platform == "linux", "only Linux ends a process with its parent")
class EndlessLoop(unittest.TestCase):
    def test_it_ends_with_the_host(self) -> None:
        source = PLUGIN.replace('    if prediction == "break"', "    while True: pass\n    if prediction")
        request = json.dumps(score("1")) + "\n"
        # Stands for the host. The runner holds the output open until it ends.
        host = (
            "import subprocess, sys, time\n"
            "command = [sys.executable, '-B', '-u', '-m', 'gage_sdk.native']\n"
            "runner = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)\n"
            "print(runner.pid, flush=True)\n"
            f"runner.stdin.write({request!r})\n"
            "runner.stdin.flush()\n"
            "runner.wait()\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "plugin.py").write_text(source)
            environment = {**os.environ, "PYTHONPATH": str(SDK / "src")}
            child = subprocess.Popen(
                [sys.executable, "-c", host], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
            )
            assert child.stdout is not None
            runner = int(child.stdout.readline())
            # A runner that stays would keep the output open.
            overdue = threading.Timer(60, lambda: os.kill(runner, signal.SIGKILL))
            overdue.start()
            for line in child.stdout:
                if "asked for 1" in line:
                    child.kill()
            self.assertTrue(overdue.is_alive(), "the runner did not end by itself")
            overdue.cancel()
            child.wait()
            child.stdout.close()


if __name__ == "__main__":
    unittest.main()
