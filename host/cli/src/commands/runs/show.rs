//! `gage-host runs show`: shows the identity, the state and the files of a run.

use super::super::compare::refuse_run;
use super::super::setup;
use super::{sample, status, stopped_merge};
use crate::arguments::RunsShowArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_figures::{MetricFigure, Timings, unit_of};
use gage_record::{
    Manifest, MergedShard, RecordError, RecordedPlugin, RunFolder, RunIdentity, RunReader, RunStatus,
    has_shards,
};
use serde_json::Value;
use std::path::Path;

/// Maximum number of shards that are all listed.
const MAX_LISTED_SHARDS: usize = 32;

pub(super) fn execute(arguments: &RunsShowArguments) -> anyhow::Result<ExitCode> {
    if let Some(id) = &arguments.sample {
        return sample::show(arguments, id);
    }
    let folder = setup::run_folder(&arguments.named.run, &arguments.named.output_dir);
    if !RunFolder::has_manifest(&folder) && has_shards(&folder) {
        return status::show(&folder, arguments.json);
    }
    let run = RunReader::open(&folder)
        .map_err(|error| refuse_run(error, &arguments.named.run, &arguments.named.output_dir))?;
    let manifest = run.manifest();
    if let Some(edited) = run.edited() {
        let warning =
            format!("warning: {}; `gage-host verify` says what was changed", edited.of(&manifest.run_id));
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    if arguments.json {
        terminal::print_json(format_args!("{:#}", serde_json::to_value(manifest)?))?;
        return Ok(ExitCode::Done);
    }
    let summary = match run.summary::<Value>() {
        Err(error @ RecordError::Refused { .. }) => {
            return Ok(refuse_run(error, &arguments.named.run, &arguments.named.output_dir));
        }
        // A run that has not ended has none.
        summary => summary.ok().flatten().unwrap_or_default(),
    };
    let mut lines = head_lines(manifest, &folder);
    for figure in summary["metrics"].as_array().into_iter().flatten() {
        let text = |key: &str| figure[key].as_str().unwrap_or_default();
        lines.push(format!(
            "figure    {} {} {} ({} of {})",
            text("task_id"),
            text("metric_id"),
            figure["value"],
            figure["n"],
            figure["total"]
        ));
    }
    lines.extend(timing_lines(&run));
    let lines: Vec<_> = lines.iter().map(|line| gage_core::printable_line(line)).collect();
    terminal::print_line(terminal::wrapped(&lines.join("\n"), 10))?;
    Ok(ExitCode::Done)
}

/// Formats the state of a run, its inputs, its shards and its files.
fn head_lines(manifest: &Manifest, folder: &Path) -> Vec<String> {
    let is_written = RunFolder::is_being_written(folder);
    let status = match (manifest.status.state(is_written), &manifest.parent_run) {
        ("killed", Some(parent)) if !manifest.is_rejudged => {
            format!("killed; start it again with `gage-host score {parent} --run-id {}`", manifest.run_id)
        }
        ("killed", _) if manifest.shard.is_some() => {
            "killed; continue it with the command that started it".to_owned()
        }
        ("killed", _) if !manifest.shards.is_empty() => format!("killed: {}", stopped_merge(folder)),
        ("killed", _) => "killed; continue it with --resume".to_owned(),
        (state, _) => state.to_owned(),
    };
    let mut lines = vec![format!("run       {}", manifest.run_id), format!("status    {status}")];
    lines.extend(manifest.ended_by.as_ref().map(|reason| format!("reason    {reason}")));
    lines.extend(manifest.warnings.iter().map(|warning| format!("warning   {warning}")));
    lines.extend([
        format!("begun     {}", manifest.created_at),
        format!("ended     {}", manifest.finished_at.as_deref().unwrap_or("-")),
        format!(
            "program   gage-host {}, folder of version {}",
            manifest.host_version, manifest.format_version
        ),
    ]);
    lines.extend(manifest.parent_run.as_ref().map(|parent| format!("scored    the answers of {parent}")));
    lines.extend(shard_lines(manifest));
    lines.extend(identity_lines(&manifest.identity));
    lines.extend(manifest.plugins.iter().map(origin_line));
    for (name, file) in &manifest.files {
        lines.push(format!("file      {name} {} ({} bytes)", file.digest, file.bytes));
    }
    lines
}

/// Formats the run that a shard belongs to, and the shards of a merged run. Of many shards, only those that lack something are
/// listed.
fn shard_lines(manifest: &Manifest) -> Vec<String> {
    let of_run = manifest.shard.as_ref();
    let mut lines: Vec<String> = of_run
        .map(|shard| format!("shard     {}/{} of the run {}", shard.number, shard.count, shard.run_id))
        .into_iter()
        .collect();
    let count = manifest.shards.len();
    if count > 0 {
        lines.push(format!("merged    from {}", terminal::count(count, "shard")));
    }
    let is_listed = |shard: &&MergedShard| count <= MAX_LISTED_SHARDS || shard.missing != Some(0);
    lines.extend(manifest.shards.iter().filter(is_listed).map(|shard| {
        let status = shard.status.map_or("not started", RunStatus::name);
        let records = terminal::count_of(shard.records, "record");
        let missing = match shard.missing {
            Some(0) => String::new(),
            Some(missing) => format!(", and {} missing", indicatif::HumanCount(missing)),
            None => ", and an unknown number missing".to_owned(),
        };
        format!("shard     {}/{count} {status}, {records}{missing}", shard.number)
    }));
    lines
}

/// Formats the figures of metrics that read a clock, with their units.
fn timing_lines(run: &RunReader) -> Vec<String> {
    let timings = run.timings::<Timings>().ok().flatten();
    let line = |figure: &MetricFigure| {
        let with_unit = |value: f64| format!("{value} {}", unit_of(figure));
        let value = figure.value.map_or_else(|| "null".to_owned(), with_unit);
        let MetricFigure { task_id, metric_id, n, total, .. } = figure;
        format!("figure    {task_id} {metric_id} {} ({n} of {total})", value.trim_end())
    };
    timings.iter().flat_map(|timings| &timings.timing_metrics).map(line).collect()
}

/// Formats the source and the signer of a plugin.
fn origin_line(plugin: &RecordedPlugin) -> String {
    let signer = plugin.signer.as_ref().map(|signer| format!(", {signer}")).unwrap_or_default();
    format!("source    {} {}{signer}", plugin.id, plugin.source)
}

/// Formats the inputs of a run: each dataset, backend, plugin and prompt with its digest.
fn identity_lines(identity: &RunIdentity) -> Vec<String> {
    let line = |part: &str, name: &str, what: &str| format!("{part:<9} {name} {what}");
    let datasets = identity.datasets.iter();
    let mut lines: Vec<String> = datasets
        .map(|(name, dataset)| line("dataset", name, dataset.digest.as_deref().unwrap_or_default()))
        .collect();
    lines.extend(identity.backends.iter().map(|(name, backend)| {
        let digest = backend.details.get("digest").and_then(Value::as_str).or(backend.file_digest());
        line("backend", name, digest.unwrap_or(&backend.model))
    }));
    lines.extend(identity.plugins.iter().map(|(name, plugin)| line("plugin", name, &plugin.digest)));
    lines.extend(identity.prompts.iter().map(|(name, prompt)| line("prompt", name, &prompt.digest)));
    lines
}
