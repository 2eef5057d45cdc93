"""Reads the exports of a run with the readers of their own ecosystems, and compares what they see with the run.

    python check_exports.py RUN_FOLDER EXPORTS_FOLDER

EXPORTS_FOLDER holds what `gage-host export` writes: `lm-eval/`, `inspect/`, `every-eval-ever/`, `samples.parquet` and
`figures.csv`. Needs the packages of requirements.txt. Says what it read; ends with an error where something differs.
"""

import csv
import json
import logging
import sys
from pathlib import Path

import pyarrow.json
import pyarrow.parquet
from every_eval_ever.converters.lm_eval.adapter import LMEvalAdapter
from every_eval_ever.converters.lm_eval.instance_level_adapter import LMEvalInstanceLevelAdapter
from every_eval_ever.validator.validation_core import validate_file
from inspect_ai.log import list_eval_logs, read_eval_log
from lm_eval.config.task import TaskConfig
from lm_eval.utils import (
    get_file_datetime,
    get_file_task_name,
    get_results_filenames,
    get_sample_results_filenames,
    make_table,
    sanitize_model_name,
)


def scores(line):
    """The scores of a line of samples.jsonl, by metric."""
    found = {}
    for result in line["metrics"]:
        score = (result.get("card") or {}).get("primary_score")
        if result["outcome"] == "scored" and score is not None:
            found[result["metric_id"]] = score
    return found


def check_lm_eval(folder, lines, figures):
    adapter = LMEvalAdapter()
    logs = adapter.transform_from_directory(folder, {"source_organization_name": "test"})
    tasks = {line["task_id"] for line in lines}
    assert {adapter.get_eval_metadata(log.evaluation_id)["task_name"] for log in logs} == tasks
    for log in logs:
        task = adapter.get_eval_metadata(log.evaluation_id)["task_name"]
        read = {one.metric_config.metric_name: one.score_details.score for one in log.evaluation_results}
        for (of_task, metric), value in figures.items():
            assert of_task != task or read[metric] == value, (task, metric)
        (path,) = folder.glob(f"*/samples_{task}_*.jsonl")
        of_task = [line for line in lines if line["task_id"] == task]
        assert pyarrow.json.read_json(path).num_rows == len(of_task)
        rows = LMEvalInstanceLevelAdapter().transform_samples(path, log.evaluation_id, log.model_info.id, task)
        read = [(row.evaluation_result_id, row.evaluation.score) for row in rows if row.evaluation_result_id]
        own = [score for line in of_task for score in scores(line).values()]
        # Metrics that read a clock are not in samples.jsonl.
        assert len(read) >= len(own)
    return f"lm-eval: {len(logs)} tasks"


class Warned(logging.Handler):
    """Holds what the harness says that it does not like."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())


def check_lm_eval_itself(folder, lines, figures):
    """What lm-evaluation-harness makes of its own layout: its names of files, its table and its task configurations."""
    names = [str(path) for path in folder.glob("*/*")]
    (path,) = get_results_filenames(names)
    results = json.loads(Path(path).read_text(encoding="utf-8"))
    tasks = {line["task_id"] for line in lines}
    assert {get_file_task_name(Path(name).name) for name in get_sample_results_filenames(names)} == tasks
    assert all(get_file_datetime(name).replace(".json", "") == get_file_datetime(path).replace(".json", "") for name in names)
    assert sanitize_model_name(results["model_name"]) == results["model_name_sanitized"] == Path(path).parent.name
    table = make_table(results)
    for (task, metric), value in figures.items():
        assert task in table and metric in table and f"{value:.4f}" in table, (task, metric, table)
    warned = Warned()
    logging.getLogger("lm_eval").addHandler(warned)
    for task, config in results["configs"].items():
        dumped = TaskConfig(**json.loads(json.dumps(config))).to_dict()
        assert config.items() <= dumped.items(), (config, dumped)
        assert [one["metric"] for one in dumped["metric_list"]] == list(results["higher_is_better"][task])
    assert not warned.said, warned.said
    return f"lm-eval itself: {len(tasks)} tasks"


def check_inspect(folder, lines, figures):
    names = list_eval_logs(str(folder))
    samples = 0
    for name in names:
        head = read_eval_log(name, header_only=True)
        log = read_eval_log(name)
        assert head.eval.task == log.eval.task and head.samples is None
        of_task = [line for line in lines if line["task_id"] == log.eval.task]
        assert [sample.id for sample in log.samples] == [line["sample_id"] for line in of_task]
        for sample, line in zip(log.samples, of_task):
            read = {name: score.value for name, score in (sample.scores or {}).items()}
            assert scores(line).items() <= read.items()
            output = line["model_output"] or {}
            assert sample.output.completion == (output.get("written") or output.get("answer") or "")
        for score in log.results.scores:
            value = figures.get((log.eval.task, score.name))
            assert value is None or value in [metric.value for metric in score.metrics.values()]
        samples += len(log.samples)
    assert samples == len(lines)
    return f"inspect: {len(names)} logs, {samples} samples"


def check_every_eval_ever(folder, lines):
    paths = sorted(folder.glob("data/**/*.json*"))
    names = {path.relative_to(folder).as_posix() for path in paths}
    count = 0
    for path in paths:
        report = validate_file(
            path,
            repo_path=path.relative_to(folder).as_posix(),
            available_files=names,
            read_repo_file=lambda name: (folder / name).read_text(encoding="utf-8"),
            run_semantic_checks=True,
        )
        assert report.valid and not report.errors, (path, report)
        warnings = [str(warning) for warning in report.warnings]
        assert not warnings, (path, warnings)
        count += 1
    assert count == 2 * len({line["task_id"] for line in lines})
    return f"every-eval-ever: {count} files"


def check_parquet(path, lines):
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines):
        assert (row["task_id"], row["index"], row["outcome"]) == (line["task_id"], line["index"], line["outcome"])
        for column in ("sample", "model_output", "metrics"):
            assert (json.loads(row[column]) if row[column] else None) == line[column], column
        for metric, score in scores(line).items():
            assert row[f"score.{metric}"] == score
    return f"parquet: {len(rows)} rows"


def check_csv(path, figures):
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "metric"]
    read = {(row["task_id"], row["metric_id"]): float(row["value"]) for row in rows if row["value"]}
    assert figures.items() <= read.items()
    return f"csv: {len(rows)} figures"


def main():
    run, exports = map(Path, sys.argv[1:3])
    lines = [json.loads(line) for line in (run / "samples.jsonl").read_text(encoding="utf-8").split("\n") if line]
    summary = json.loads((run / "summary.json").read_text())
    figures = {(one["task_id"], one["metric_id"]): one["value"] for one in summary["metrics"] if one["value"] is not None}
    print(check_lm_eval_itself(exports / "lm-eval", lines, figures))
    print(check_lm_eval(exports / "lm-eval", lines, figures))
    print(check_inspect(exports / "inspect", lines, figures))
    print(check_every_eval_ever(exports / "every-eval-ever", lines))
    print(check_parquet(exports / "samples.parquet", lines))
    print(check_csv(exports / "figures.csv", figures))


main()
