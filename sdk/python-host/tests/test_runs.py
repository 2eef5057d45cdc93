"""Suites run, their run folders are read, and each end of the program has its result or exception."""

import io
import json
import os
import shutil
import signal
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import gage_host
from gage_host import errors, invocation, runs
from support import EARLY, SUITE, FolderTest, run_tiny


def copy_of_run(run: gage_host.Run) -> Path:
    """Copies the folder of a run, and returns that of the copy."""
    return Path(shutil.copytree(run.folder, Path(tempfile.mkdtemp(dir="."), "copy")))


def replace_file(path: Path, content: str | None) -> None:
    """Gives a file another content; without one, removes it."""
    if content is None:
        path.unlink()
    else:
        path.write_text(content, encoding="utf-8", errors="surrogateescape")


class OptionsTest(unittest.TestCase):
    def test_keywords_become_options(self) -> None:
        cases: list[tuple[dict[str, invocation.Value], list[str]]] = [
            ({"max_samples": 5}, ["--max-samples=5"]),
            ({"offline": True, "locked": False, "lock": None}, ["--offline"]),
            ({"output_dir": Path("a b")}, ["--output-dir=a b"]),
            ({"responses": ["a", Path("b")]}, ["--responses=a", "--responses=b"]),
            ({"max_cost": 0.5, "run_id": "-x"}, ["--max-cost=0.5", "--run-id=-x"]),
            ({"allow": ()}, []),
        ]
        for options, words in cases:
            with self.subTest(options=options):
                self.assertEqual(invocation.option_words(options), words)


class ErrorsTest(unittest.TestCase):
    def test_exit_codes_have_exceptions(self) -> None:
        for code, kind in [
            (1, gage_host.Error),
            (2, gage_host.Refused),
            (3, gage_host.Refused),
            (4, gage_host.Incomplete),
            (5, gage_host.Incomplete),
            (-9, gage_host.Error),
            (130, gage_host.Interrupted),
        ]:
            with self.subTest(code=code):
                error = errors.error_of(code, "the message")
                self.assertIs(type(error), kind)
                self.assertEqual((error.exit_code, error.run, str(error)), (code, None, "the message"))
        self.assertEqual(str(errors.error_of(-9, "")), "gage-host was killed by signal 9 and printed nothing")
        self.assertFalse(issubclass(gage_host.Interrupted, Exception))


class RunsTest(FolderTest):
    run_made: gage_host.Run

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.run_made = run_tiny("base")

    def test_run_has_figures_and_samples(self) -> None:
        run = self.run_made
        self.assertEqual((run.run_id, run.status, run.summary["samples"]["total"]), ("base", "complete", 16))
        self.assertEqual(run.metric("numeric_match")["task_id"], "arithmetic")
        self.assertEqual(run.metric("exact_match", task="opposites")["n"], 4)
        self.assertGreater(run.metric("latency", task="facts")["value"] or 0, 0)
        self.assertEqual([metric["task_id"] for metric in run.metrics][:3], ["arithmetic"] * 3)
        samples = list(run.samples)
        self.assertEqual((len(samples), samples[0]["sample_id"]), (16, "arith-0001"))

    def test_missing_figures_name_those_there_are(self) -> None:
        for metric, task, message in [
            ("bleu", None, "no metric 'bleu'; its metrics are: exact_match, latency, multi_choice_accuracy"),
            ("exact_match", None, "name one with task=: arithmetic, opposites"),
            ("exact_match", "facts", "these do: arithmetic, opposites"),
        ]:
            with self.subTest(metric=metric, task=task), self.assertRaises(KeyError) as raised:
                self.run_made.metric(metric, task=task)
            self.assertIn(message, str(raised.exception))

    def test_loaded_run_is_the_same(self) -> None:
        loaded = gage_host.load("runs/base")
        self.assertEqual(loaded.folder, self.run_made.folder)
        self.assertEqual(gage_host.load("base").folder, self.run_made.folder)
        self.assertEqual(loaded.summary, self.run_made.summary)
        self.assertEqual(str(loaded), str(self.run_made))

    def test_figures_are_shown_as_tables(self) -> None:
        run = gage_host.Run(self.run_made.folder, self.run_made.manifest)
        lines = str(run).splitlines()
        self.assertEqual(lines[0], "run base: complete")
        self.assertEqual(
            lines[2].split(), ["arithmetic", "exact_match", "1.0000", "0.5101", "–", "1.0000", "4/4"]
        )
        figure = {"value": 0.5, "interval": {"low": 0.1, "high": 0.9}, "n": 2, "total": 2}
        slices = [{"by": "metadata.subject", "key": f"subject {number}", **figure} for number in range(61)]
        means = [{"by": "metadata.subject", "slices": 61, "value": 0.25, "interval": None}]
        run.metrics[0]["slices"], run.metrics[0]["slice_means"] = slices, means
        lines = str(run).splitlines()
        self.assertEqual(
            lines[3].split(), ["metadata.subject=subject", "0", "0.5000", "0.1000", "–", "0.9000", "2/2"]
        )
        self.assertEqual(lines[63].strip(), "1 more")
        self.assertEqual(lines[64].split(), ["mean", "of", "61", "metadata.subject", "0.2500"])
        run.metrics[0]["task_id"] = "<script>"
        html = run._repr_html_()
        self.assertIn('<td style="text-align: left">&lt;script&gt;</td>', html)
        self.assertNotIn("<script>", html)

    def test_wrong_calls_are_refused(self) -> None:
        cases: list[tuple[Callable[[], object], str]] = [
            (lambda: gage_host.run("nope.yaml"), "cannot read the suite 'nope.yaml'"),
            (lambda: gage_host.run(SUITE, max_sample=3), "a similar argument exists: '--max-samples'"),
            (lambda: run_tiny("base"), "there is a run 'base' already"),
            (lambda: run_tiny("x", set={"tasks.9": 1}), "error"),
            (lambda: gage_host.load("nope"), "there is no run folder ./nope"),
            (lambda: gage_host.load("config"), "./config is not a run folder"),
            (lambda: self.run_made.compare("nope"), "there is no run 'nope'"),
            (lambda: self.run_made.compare(), "has no baseline"),
        ]
        # As in kernels of notebooks, which ask for colours.
        with mock.patch.dict(os.environ, {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}):
            for call, message in cases:
                with self.subTest(message=message), self.assertRaises(gage_host.Refused) as raised:
                    call()
                error = raised.exception
                self.assertEqual((error.exit_code, error.run), (2, None))
                self.assertIn(message, error.message)
                self.assertNotIn("\x1b", error.message)
                self.assertNotIn("next: ", error.message)

    def test_ready_suites_have_names_and_limits(self) -> None:
        with self.assertRaises(gage_host.Refused) as raised:
            gage_host.run("gsm8k", limit=1)
        self.assertIn("the suite names no model", raised.exception.message)
        self.assertEqual(len(list(run_tiny("limit", max_samples=None, limit=1).samples)), 4)

    def test_options_of_the_package_are_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, r"run\(\) has no option json"):
            gage_host.run(SUITE, json=True)
        with self.assertRaisesRegex(TypeError, r"compare\(\) has no option markdown"):
            self.run_made.compare(self.run_made, markdown="x.md")
        with self.assertRaisesRegex(TypeError, r"run\(\) has no option help; use `gage-host run --help`"):
            gage_host.run(SUITE, help=True)
        with self.assertRaisesRegex(TypeError, r"compare\(\) has no option help"):
            self.run_made.compare(self.run_made, help=True)

    def test_output_that_is_not_json_is_an_error(self) -> None:
        for output in ["Usage: gage-host", "[]"]:
            with self.subTest(output=output), self.assertRaisesRegex(gage_host.Error, "other than a JSON object"):
                runs._object(invocation.Ended(0, output, "", was_interrupted=False))

    def test_values_to_set_are_a_dictionary(self) -> None:
        for values in ["a=b", ["a=b"]]:
            wrong: object = values
            with self.subTest(values=values), self.assertRaisesRegex(TypeError, "set is a dictionary"):
                gage_host.run(SUITE, set=wrong)  # type: ignore[arg-type]

    def test_quiet_environment_hides_progress_only(self) -> None:
        with (
            mock.patch.dict(os.environ, {"GAGE_HOST_QUIET": "1"}),
            mock.patch("sys.stderr", io.StringIO()) as stream,
        ):
            run = run_tiny("quiet", max_samples=1, progress=True)
            self.assertTrue(run.samples.parquet().exists())
            self.assertIsNone(run.compare(run).verdict)
        self.assertEqual(stream.getvalue(), "")

    def test_several_models_are_an_error(self) -> None:
        models: object = ["a", "b"]
        with self.assertRaisesRegex(TypeError, "model is a string; to evaluate several, call run"):
            gage_host.run(SUITE, model=models)  # type: ignore[arg-type]

    def test_incomplete_run_is_kept_and_continued(self) -> None:
        with self.assertRaises(gage_host.Incomplete) as raised:
            run_tiny("part", max_tokens_total=10)
        error = raised.exception
        self.assertIn("incomplete: a budget is used up", error.message)
        self.assertIsNotNone(error.run)
        self.assertEqual(error.run and error.run.status, "incomplete")
        self.assertIn(f"run: {Path('runs/part').absolute()}", str(error))
        self.assertEqual(run_tiny("part", resume=True).status, "complete")

    def test_interrupt_reaches_the_program_once(self) -> None:
        class Interrupting:
            """Interrupts this process when the first task has finished."""

            def __init__(self) -> None:
                self.count = 0

            def on_line(self, line: str) -> bool:
                self.count += '"task_finished"' in line
                if self.count == 1:
                    self.count += 1
                    signal.raise_signal(signal.SIGINT)
                return True

            def close(self) -> None:
                """Nothing is shown."""

        with (
            mock.patch.object(runs, "Progress", Interrupting),
            self.assertRaises(gage_host.Interrupted) as raised,
        ):
            run_tiny("stopped", max_samples=20, progress=True)
        error = raised.exception
        self.assertEqual((error.exit_code, error.message.splitlines()[-1]), (130, "interrupted"))
        run = error.run
        assert run is not None
        self.assertEqual(run.status, "interrupted")
        self.assertIn(len(list(run.samples)), range(20, 80))
        self.assertTrue(run.samples.parquet().exists())
        self.assertIn("run stopped: interrupted", str(run))

    def test_run_that_has_not_ended_has_no_figures(self) -> None:
        shutil.copytree("runs/base", "runs/killed")
        path = Path("runs/killed/manifest.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "running"}))
        run = gage_host.load("runs/killed")
        self.assertEqual(str(run).splitlines()[0], "run base: running")
        with self.assertRaisesRegex(gage_host.Error, "has not ended"):
            str(run.summary)

    def test_damaged_files_of_a_run_are_named(self) -> None:
        def replace_metrics(metrics: object) -> str:
            return json.dumps(dict(self.run_made.summary) | {"metrics": metrics})

        uses: list[Callable[[gage_host.Run], object]] = [
            str,
            lambda run: run._repr_html_(),
            lambda run: run.metric("numeric_match"),
        ]
        for name, content, message in [
            ("summary.json", None, "No such file or directory"),
            ("summary.json", '{"format_version": 1', "it is cut or damaged"),
            ("summary.json", "[]", "an object is missing"),
            ("summary.json", "{}", "the key 'format_version' is missing"),
            ("summary.json", replace_metrics({}), "a list is missing"),
            ("summary.json", replace_metrics([{"task_id": "x"}]), "the key 'aggregation' is missing"),
            ("timings.json", "\udcff", "it is cut or damaged"),
            ("timings.json", '{"timing_metrics": [1]}', "an object is missing"),
        ]:
            folder = copy_of_run(self.run_made)
            replace_file(folder / name, content)
            for number, use in enumerate(uses):
                with (
                    self.subTest(name=name, message=message, use=number),
                    self.assertRaises(gage_host.Error) as raised,
                ):
                    use(gage_host.Run(folder.absolute(), self.run_made.manifest))
                self.assertIn(f"cannot read {folder.absolute() / name}: {message}", str(raised.exception))

    def test_damaged_samples_are_named(self) -> None:
        lines = Path(self.run_made.folder, "samples.jsonl").read_text(encoding="utf-8")
        for content, message in [
            (None, "No such file or directory"),
            (lines[:-10], "line 16 is cut or damaged"),
            (f"3\n{lines}", "line 1 is not an object"),
        ]:
            folder = copy_of_run(self.run_made)
            replace_file(folder / "samples.jsonl", content)
            with self.subTest(message=message), self.assertRaisesRegex(gage_host.Error, message):
                list(gage_host.Run(folder, self.run_made.manifest).samples)

    def test_resuming_writes_damaged_files_again(self) -> None:
        run = run_tiny("damaged")
        before = [run.summary, list(run.samples)]
        replace_file(run.folder / "summary.json", "{")
        replace_file(run.folder / "samples.jsonl", "{")
        again = run_tiny("damaged", resume=True)
        self.assertEqual([again.summary, list(again.samples)], before)

    def test_run_that_writes_requests_waits_for_answers(self) -> None:
        Path("rows.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')
        Path("bulk.yaml").write_text(
            "datasets: rows.jsonl\nmodel: openai:m@http://localhost:1/v1\n"
            "prompt: '{{ question }}'\nmetrics: [exact_match]\n"
        )
        with mock.patch("sys.stderr", io.StringIO()):
            run = gage_host.run("bulk.yaml", run_id="bulk", requests_out="requests.jsonl", progress=False)
        self.assertEqual((run.status, list(run.samples)), ("interrupted", []))
        self.assertEqual(len(Path("requests.jsonl").read_text().splitlines()), 1)
        self.assertIn("interrupted, requests wait for the results of their batch", str(run))

    def test_warnings_are_printed_and_hints_are_not(self) -> None:
        with mock.patch("builtins.print") as printed:
            messages = invocation._Messages(None)
            for line in ["warning: one", "next: gage-host report x", "error: two", "", "  help: three"]:
                messages.take(line)
        self.assertEqual([call.args[0] for call in printed.call_args_list], ["warning: one"])
        self.assertEqual(messages.end(2), "error: two\n\n  help: three")


class CompareTest(FolderTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        run_tiny("base", max_samples=30)
        run_tiny("early", max_samples=30, set=EARLY)
        run_tiny("few", max_samples=2)
        run_tiny("short", max_samples=2, set={"backends.tiny.config.default_params.max_new_tokens": 8})
        names = {f"tasks.{number}.task_id": f"other{number}" for number in range(4)}
        run_tiny("other", max_samples=2, set=names)

    def test_verdicts_are_those_of_the_program(self) -> None:
        for new, base, options, verdict, code in [
            ("early", "base", {}, None, 0),
            ("base", "base", {"margin": 0.5}, "PASS", 0),
            ("early", "base", {"margin": 0.05}, "REGRESSION", 10),
            ("few", "few", {"margin": 0.05}, "INCONCLUSIVE", 11),
            ("few", "base", {"margin": 0.05}, "INCOMPLETE", 4),
            ("short", "few", {}, "MISMATCH", 3),
            ("short", "few", {"allow": ["settings"]}, None, 0),
            ("other", "few", {}, "MISMATCH", 3),
        ]:
            with self.subTest(new=new, base=base, options=options):
                comparison = gage_host.load(f"runs/{new}").compare(base, **options)  # type: ignore[arg-type]
                self.assertEqual((comparison.verdict, comparison.exit_code), (verdict, code))

    def test_refusal_says_why_nothing_can_be_judged(self) -> None:
        for new, base, expected in [
            ("early", "base", None),
            ("other", "few", "no task in common"),
            ("short", "few", "--allow settings"),
        ]:
            with self.subTest(new=new, base=base):
                refusal = gage_host.load(f"runs/{new}").compare(base).refusal
                if expected is None:
                    self.assertIsNone(refusal)
                else:
                    self.assertIn(expected, refusal or "")

    def test_runs_without_a_common_metric_are_refused(self) -> None:
        Path("rows.jsonl").write_text('{"question": "2 + 2?", "answer": "4"}\n')
        for metric in ["exact_match", "contains"]:
            Path(f"{metric}.yaml").write_text(
                "datasets: rows.jsonl\nmodel: config/models/gage-tiny.gguf\n"
                f"prompt: '{{{{ question }}}}'\nmetrics: [{metric}]\n"
            )
            gage_host.run(f"{metric}.yaml", run_id=metric, progress=False)
        new = gage_host.load("runs/contains")
        with self.assertRaises(gage_host.Refused) as raised:
            new.compare("exact_match")
        self.assertIn("the runs have no metric in common", raised.exception.message)
        gated = new.compare("exact_match", margin=0.1)
        self.assertEqual(gated.verdict, "MISMATCH")
        self.assertIn("only one of the runs has", gated.refusal or "")

    def test_comparison_has_metrics_and_markdown(self) -> None:
        base, early = gage_host.load("runs/base"), gage_host.load("runs/early")
        comparison = early.compare(base, margin=0.05)
        first = comparison.metrics[0]
        self.assertEqual((first["metric_id"], first["worse"], first["better"]), ("exact_match", 10, 0))
        self.assertEqual(first["gate"]["verdict"], "REGRESSION")
        self.assertEqual(comparison.differences, [])
        self.assertTrue(
            comparison._repr_markdown_().startswith("## REGRESSION: 2 of 5 metrics: exact&#95;match")
        )
        self.assertTrue(str(comparison).startswith("## REGRESSION: 2 of 5 metrics: exact_match"))
        self.assertEqual(repr(comparison), "<comparison of 'early' with 'base': REGRESSION>")


if __name__ == "__main__":
    unittest.main()
