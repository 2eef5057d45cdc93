"""Progress is readable in a terminal, in a log and in a notebook."""

import importlib.util
import io
import json
import os
import tempfile
import unittest
from typing import Any
from unittest import mock

from gage_host.progress import Progress
from support import SUITE, enter_folder

CLEAR = "\r\x1b[K"


def event(kind: str, **keys: Any) -> str:
    task = {"task_id": "sums", "total": 9, "done": 3, "samples_per_s": 2.5, "eta_s": 62.0, "failures": {}}
    return json.dumps({"event": kind} | task | keys, separators=(",", ":"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, lines: list[str]) -> str:
    with mock.patch("sys.stderr", stream):
        progress = Progress()
        for line in lines:
            progress.on_line(line)
        progress.close()
    return stream.getvalue()


class ProgressTest(unittest.TestCase):
    def test_terminal_shows_one_line_and_keeps_the_last(self) -> None:
        for lines, expected in [
            ([event("progress")], f"{CLEAR}sums 3/9 · 2.5/s · 1:02 left{CLEAR}"),
            (
                [event("task_finished", done=9, failures={"timeout": 2})],
                f"{CLEAR}sums 9/9 · 2.5/s · 2 failed\n{CLEAR}{CLEAR}",
            ),
            (
                [event("task_started", total=None, done=0, samples_per_s=None, eta_s=None)],
                f"{CLEAR}sums 0/?{CLEAR}",
            ),
            (["warning: one"], f"{CLEAR}{CLEAR}"),
        ]:
            with self.subTest(lines=lines):
                self.assertEqual(shown(Terminal(), lines), expected)

    def test_terminal_cuts_long_lines(self) -> None:
        with mock.patch.dict(os.environ, {"COLUMNS": "20"}):
            text = shown(Terminal(), [event("progress", task_id="a" * 50)])
        self.assertEqual(text, CLEAR + "a" * 19 + CLEAR)

    def test_server_is_shown_while_it_is_away(self) -> None:
        away = '{"event":"server","host":"h","state":"away","cause":"refused"}'
        healthy = '{"event":"server","host":"h","state":"healthy","cause":null}'
        self.assertEqual(shown(Terminal(), [away, healthy]), f"{CLEAR}h is away: refused{CLEAR}{CLEAR}")

    def test_log_has_a_line_for_each_finished_task(self) -> None:
        lines = [event("task_started"), event("progress"), event("task_finished", done=9), "warning: one"]
        self.assertEqual(shown(io.StringIO(), lines), "sums 9/9 · 2.5/s\n")

    def test_other_lines_are_not_progress(self) -> None:
        with mock.patch("sys.stderr", io.StringIO()):
            progress = Progress()
            for line in ["", "{", '{"event":', '{"other": 1}', "error: x"]:
                with self.subTest(line=line):
                    self.assertFalse(progress.on_line(line))


@unittest.skipUnless(importlib.util.find_spec("nbclient"), "nbclient is not installed")
class NotebookTest(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(os.chdir, os.getcwd())
        folder: tempfile.TemporaryDirectory[str] = enter_folder()
        self.addCleanup(folder.cleanup)

    def outputs(self, *cells: str) -> list[list[dict[str, Any]]]:
        import nbclient
        import nbformat

        form: Any = nbformat.v4
        notebook = form.new_notebook(cells=[form.new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(notebook, allow_errors=True, timeout=300).execute()
        return [cell.outputs for cell in notebook.cells]

    def test_notebook_shows_progress_and_tables(self) -> None:
        run, comparison, refused, interrupted = self.outputs(
            f"import gage_host\nrun = gage_host.run({SUITE!r}, run_id='base', max_samples=4)\nrun",
            "run.compare(run)",
            f"gage_host.run({SUITE!r}, max_sample=4)",
            "import _thread\n"
            "from gage_host import progress\n"
            "class Stop(progress.Progress):\n"
            "    def on_line(self, line):\n"
            "        if not self._running: _thread.interrupt_main()\n"
            "        return super().on_line(line)\n"
            "gage_host.runs.Progress = Stop\n"
            f"gage_host.run({SUITE!r}, run_id='stopped', max_samples=100)",
        )
        self.assertEqual([output["output_type"] for output in run], ["display_data", "execute_result"])
        tasks = [line.split(" ")[:2] for line in run[0]["data"]["text/plain"].splitlines()]
        self.assertEqual(
            tasks, [[task, "4/4"] for task in ("arithmetic", "opposites", "facts", "comparison")]
        )
        self.assertIn("<caption>run base: complete</caption>", run[1]["data"]["text/html"])
        self.assertIn("## 5 metrics compared", comparison[0]["data"]["text/markdown"])
        self.assertEqual([output["output_type"] for output in refused], ["error"])
        self.assertIn("a similar argument exists: '--max-samples'", refused[0]["evalue"])
        self.assertEqual(interrupted[-1]["ename"], "Interrupted")


if __name__ == "__main__":
    unittest.main()
