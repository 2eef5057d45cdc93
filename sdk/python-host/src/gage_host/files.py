"""The JSON files of a run folder, and the output of `gage-host compare --json`, as types.

The reference of the run folder explains every key. Keys of other versions of the program may be present, too.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Interval(TypedDict):
    """A confidence interval."""

    low: float
    high: float
    level: float
    method: str


class SampleCounts(TypedDict):
    """How samples ended."""

    total: int
    outcomes: dict[str, int]
    coverage: float


class _MetricKeys(TypedDict):
    task_id: str
    metric_id: str
    implementation: str
    schema_version: str
    scorer_version: str
    prompt_version: str
    aggregation: str
    value_name: str
    higher_is_better: bool
    value: float | None
    n: int
    total: int
    coverage: float
    repeats: int
    stderr: float | None
    interval: Interval | None
    sub_scores: list[dict[str, Any]]
    error_tags: list[dict[str, Any]]
    outcomes: dict[str, int]


class Metric(_MetricKeys, total=False):
    """A figure: the value of a metric for a task."""

    scale: list[float]
    total_is_least: bool
    clusters: int
    no_resamples: str
    categories: list[dict[str, Any]]
    figures: list[dict[str, Any]]
    slices: list[dict[str, Any]]
    slice_means: list[dict[str, Any]]
    error: str


class _TaskKeys(TypedDict):
    task_id: str
    dataset_id: str
    samples: SampleCounts
    metrics: list[Metric]


class Task(_TaskKeys, total=False):
    """A task of a run, with its figures."""

    usage: dict[str, int]
    served: list[dict[str, Any]]
    prompts: list[dict[str, Any]]
    sampling_params: dict[str, Any]
    judges: list[dict[str, Any]]
    unfound: list[dict[str, Any]]


class Summary(TypedDict):
    """The file `summary.json`."""

    format_version: int
    samples: SampleCounts
    tasks: list[Task]
    metrics: list[Metric]


class _ManifestKeys(TypedDict):
    format_version: int
    run_id: str
    created_at: str
    host_version: str
    status: Literal["running", "interrupted", "complete", "incomplete"]
    identity: dict[str, Any]


class Manifest(_ManifestKeys, total=False):
    """The file `manifest.json`, as far as `gage-host runs show --json` prints it."""

    finished_at: str | None
    ended_by: str | None
    parent_run: str | None
    facts: dict[str, Any]
    prompt_versions: dict[str, str]
    costs: dict[str, float]
    files: dict[str, Any]


class _MetricComparisonKeys(TypedDict):
    task_id: str
    metric_id: str
    higher_is_better: bool
    n: int
    coverage: float
    base: float | None
    new: float | None
    difference: float
    interval: Interval | None
    worse: int
    better: int
    flips: list[dict[str, Any]]


class MetricComparison(_MetricComparisonKeys, total=False):
    """A metric of a task in two runs. `gate` has its verdict and the reason."""

    gate: dict[str, Any]
    test: dict[str, Any] | None
    smallest_visible: float | None
    error_tags: list[dict[str, Any]]
    slices: list[dict[str, Any]]


Verdict = Literal["PASS", "REGRESSION", "INCONCLUSIVE", "INCOMPLETE", "MISMATCH"]
