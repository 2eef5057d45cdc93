"""Runs: made by the program, or loaded from their folders."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from . import table
from .comparison import Comparison
from .errors import Error, Interrupted, error_of
from .files import Manifest, Metric, Summary
from .invocation import Ended, StrPath, Value, call, option_words
from .progress import Progress
from .reading import read_summary, read_timings
from .samples import Samples

# Exit codes of `gage-host compare` besides 0 with which it prints a comparison.
_VERDICT_CODES = frozenset({3, 4, 10, 11})


class Run:
    """A run, which `run` and `load` return. Notebooks show its figures as a table, and so does `print`.

    Attributes:
        folder: The run folder.
        manifest: What the run was made from, and how it ended.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.manifest["run_id"]

    @property
    def status(self) -> str:
        """How the run ended: "complete", "incomplete" or "interrupted"; "running" if it has not."""
        return self.manifest["status"]

    @cached_property
    def summary(self) -> Summary:
        """The counts and figures: `summary.json`.

        Raises:
            Error: If the run has not ended, because its figures do not count. If the file is gone or damaged.
        """
        self._require_end()
        return read_summary(self.folder)

    @cached_property
    def metrics(self) -> list[Metric]:
        """All figures, task by task.

        Those of metrics that read a clock, such as `latency`, come from `timings.json`.

        Raises:
            Error: As `summary` does.
        """
        places = {task["task_id"]: place for place, task in enumerate(self.summary["tasks"])}
        metrics = [*self.summary["metrics"], *read_timings(self.folder)]
        return sorted(metrics, key=lambda metric: places.get(metric["task_id"], len(places)))

    def metric(self, metric_id: str, *, task: str | None = None) -> Metric:
        """Returns a figure.

        Raises:
            KeyError: If the run does not have it, or several tasks have it and none is named.
        """
        found = [metric for metric in self.metrics if metric["metric_id"] == metric_id]
        tasks = [metric["task_id"] for metric in found]
        if not found:
            known = sorted({metric["metric_id"] for metric in self.metrics})
            raise KeyError(f"the run has no metric {metric_id!r}; its metrics are: {', '.join(known)}")
        if task is None and len(found) > 1:
            raise KeyError(
                f"several tasks have the metric {metric_id!r}; name one with task=: {', '.join(tasks)}"
            )
        if task is not None and task not in tasks:
            raise KeyError(
                f"the task {task!r} does not have the metric {metric_id!r}; these do: {', '.join(tasks)}"
            )
        return found[0] if task is None else found[tasks.index(task)]

    @cached_property
    def samples(self) -> Samples:
        """The samples, as tables or one by one. They are read when they are asked for."""
        return Samples(self.folder, self._export)

    def compare(
        self,
        base: Run | StrPath | None = None,
        *,
        margin: float | None = None,
        gate: StrPath | None = None,
        allow: Sequence[str] = (),
        **options: Value,
    ) -> Comparison:
        """Compares this run with a baseline, sample by sample: `gage-host compare BASE RUN`.

        Args:
            base: The baseline: a run, its folder, or the id of a run in the same folder as this one. By
                default the one that `gage-host runs baseline` chose for the suite.
            margin: Gates every metric with this non-inferiority margin.
            gate: A file with a gate, instead of that of the suite.
            allow: Parts that may differ besides the model, such as "settings".
            options: Further options of `gage-host compare`.

        Raises:
            Refused: If the gate or an option is wrong, there is no such run, or, without a gate, the runs
                have a task but no metric in common.
        """
        _check_own_options("compare", options, "json", "markdown")
        runs = [] if base is None else [os.fspath(base.folder if isinstance(base, Run) else base)]
        words = option_words(
            {"output_dir": self.folder.parent, "margin": margin, "gate": gate, "allow": allow, **options}
        )
        with tempfile.TemporaryDirectory() as folder:
            markdown = Path(folder, "comparison.md")
            ended = call(
                ["compare", *words, "--json", f"--markdown={markdown}", *runs, os.fspath(self.folder)]
            )
            data = _object(ended)
            ended.check(accepted=_VERDICT_CODES if data else frozenset())
            return Comparison(ended.exit_code, data, markdown.read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"<run {os.fspath(self.folder)!r}: {self.status}>"

    def __str__(self) -> str:
        return table.as_text(self._title(), self._shown_metrics())

    def _repr_html_(self) -> str:
        return table.as_html(self._title(), self._shown_metrics())

    def _title(self) -> str:
        cause = self.manifest.get("ended_by")
        return f"run {self.run_id}: {self.status}" + (f", {cause}" if cause else "")

    def _shown_metrics(self) -> list[Metric]:
        return [] if self.status == "running" else self.metrics

    def _require_end(self) -> None:
        if self.status == "running":
            message = "the run has not ended, so it has no figures; continue it with resume=True"
            raise Error(1, message, self)

    def _export(self) -> Path:
        words = ["export", "--format=parquet", "--force", "--json"]
        if self.status == "interrupted":
            words.append("--partial")
        ended = call([*words, "--", os.fspath(self.folder)])
        ended.check()
        return Path(_object(ended)["files"][0])


def load(run: StrPath) -> Run:
    """Opens a run: its folder, or its id in the folder of runs.

    Raises:
        Refused: If there is no such run, or a newer version of the program wrote it.
    """
    folder = _folder_of(Path(run))
    ended = call(["runs", "show", "--json", "--", os.path.join(os.curdir, folder)])
    ended.check()
    manifest: Any = _object(ended)
    return Run(folder.absolute(), manifest)


def _folder_of(run: Path) -> Path:
    """Returns the folder of a run. A folder that exists wins over an id."""
    by_id = Path(os.environ.get("GAGE_HOST_OUTPUT_DIR") or "runs", run)
    is_id = len(run.parts) == 1 and not run.exists() and by_id.is_dir()
    return by_id if is_id else run


def run(
    suite: StrPath,
    *,
    set: Mapping[str, object] | None = None,
    model: str | None = None,
    prompt: str | None = None,
    max_samples: int | None = None,
    run_id: str | None = None,
    output_dir: StrPath | None = None,
    resume: bool | str = False,
    progress: bool = True,
    **options: Value,
) -> Run:
    """Runs a suite to its end: `gage-host run SUITE`.

    Args:
        suite: The suite: a YAML file, or the name of a ready suite, such as "gsm8k".
        set: Values of the suite to replace, by their keys: `{"tasks.0.max_samples": 5}`.
        model: The model to evaluate instead of that of the suite.
        prompt: The prompt of the suite to use.
        max_samples: Maximum number of samples of each task: those of the first rows.
        run_id: Name of the run and of its folder.
        output_dir: Folder in which run folders are created.
        resume: Continues the run `run_id`, this run, or the suite's most recent unfinished run.
        progress: Shows the progress.
        options: Every other option of `gage-host run`, with underscores: `offline=True`, `max_time="30m"`.

    With `requests_out=FILE`, the requests are written for the batch API of a provider, and none is sent. This
    is no error: the run has the status "interrupted" and no answers until `responses=FILE` takes the results.

    Raises:
        Refused: If the suite or an option is wrong.
        Incomplete: If samples lack a score. The exception has the run.
        Interrupted: If Ctrl-C or the stop button of a notebook ended the run. The exception has the run.
    """
    _check_types(set, {"model": model, "prompt": prompt})
    _check_own_options("run", options, "json")
    words = option_words(
        {
            "set": [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in (set or {}).items()],
            "model": model,
            "prompt": prompt,
            "max_samples": max_samples,
            "run_id": run_id,
            "output_dir": output_dir,
            "resume": resume,
            **options,
        }
    )
    kind = "json" if progress else "none"
    shown = Progress() if progress else None
    try:
        ended = call(
            ["run", *words, "--json", f"--progress={kind}", "--", os.fspath(suite)],
            shown.on_line if shown else None,
        )
    finally:
        if shown:
            shown.close()
    return _run_of(ended)


def _run_of(ended: Ended) -> Run:
    """Returns the run that the program has made, or raises why it is not complete."""
    folder = _object(ended).get("folder")
    made = None if folder is None else load(folder)
    if ended.was_interrupted:
        raise Interrupted(ended.exit_code, ended.message or "interrupted", made)
    if ended.exit_code != 0 or made is None:
        raise error_of(ended.exit_code, ended.message, made)
    return made


def _check_types(values: object, names: Mapping[str, object]) -> None:
    """Refuses values to set that are not a mapping, and names that are not strings."""
    for name, value in names.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a string; to evaluate several, call run() once for each")
    if values is not None and not isinstance(values, Mapping):
        raise TypeError('set is a dictionary of values by their keys: set={"tasks.0.max_samples": 5}')


def _check_own_options(function: str, options: Mapping[str, object], *own: str) -> None:
    """Refuses options that the package sets itself, and `help`, which only prints."""
    for name in own:
        if name in options:
            raise TypeError(f"{function}() has no option {name}: it returns an object with the figures")
    if "help" in options:
        raise TypeError(f"{function}() has no option help; use `gage-host {function} --help` in a shell")


def _object(ended: Ended) -> dict[str, Any]:
    """Returns the JSON object that the program printed; an empty one if it printed nothing.

    Raises:
        Error: If it printed anything else.
    """
    value: Any
    try:
        value = json.loads(ended.output) if ended.output.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        message = f"gage-host printed something other than a JSON object: {ended.output[:200]!r}"
        raise Error(ended.exit_code, message)
    return cast("dict[str, Any]", value)
