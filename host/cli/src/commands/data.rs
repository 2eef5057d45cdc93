//! `gage-host data`: inspects datasets.

mod metric_paths;
mod preview;
mod stats;
mod validate;

use super::permissions::permissions;
use super::{ready_suite, setup};
use crate::arguments::{DEFAULT_LOG, DataArguments, DataCommand};
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress};
use gage_config::{
    Environment, Permissions, PipelineConfig, Problems, Purpose, load_datasets, loader_of_file,
};
use gage_core::Sample;
use gage_data::{
    DataError, LocateOptions, Preparation, PreparedSample, SampleProjection, StreamReport, stream_kept,
};
use gage_engine::{LocatedDataset, Plan};
use gage_plugin::Registry;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) fn execute(command: &DataCommand) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    match command {
        DataCommand::Preview(arguments) => preview::preview(arguments),
        DataCommand::Validate(arguments) => validate::validate(arguments),
        DataCommand::Stats(arguments) => stats::stats(arguments),
    }
}

/// Locates the selected datasets, with file digests if they are shown.
fn datasets(arguments: &DataArguments, with_digests: bool) -> anyhow::Result<Vec<LocatedDataset>> {
    datasets_with(arguments, with_digests, |_, _| ())
}

/// Like [`datasets`]; `read` gets a suite without errors, and its plugins.
fn datasets_with(
    arguments: &DataArguments,
    with_digests: bool,
    read: impl FnOnce(&PipelineConfig, &Registry),
) -> anyhow::Result<Vec<LocatedDataset>> {
    let (config, mut problems) = load(arguments)?;
    let mut registry = setup::registry(&arguments.plugin_folders, arguments.print.quiet)?;
    let mut located = Vec::new();
    if let Some(config) = config.filter(|_| !problems.has_errors()) {
        let known: Vec<&str> = config.datasets.iter().map(|dataset| dataset.dataset_id.as_str()).collect();
        if let Some(id) = arguments.dataset.as_deref().filter(|id| !known.contains(id)) {
            let message = format!("there is no dataset '{id}' in {}", arguments.source.display());
            let help = format!("there is: {}", known.join(", "));
            return Err(terminal::usage_error(&message, Some(&help)).into());
        }
        let planned = Plan::datasets(&config, arguments.dataset.as_deref(), &mut registry, &mut problems);
        read(&config, &registry);
        let cache_folder = environment::cache_folder();
        let progress = FetchProgress::new(arguments.print.quiet);
        let options = LocateOptions {
            with_digests,
            cache_folder: cache_folder.as_deref(),
            is_offline: arguments.offline,
            progress: &progress,
            is_cancelled: &|| false,
        };
        if !problems.has_errors() {
            for dataset in &planned {
                located.extend(LocatedDataset::new(dataset, &options, &mut problems));
            }
        }
    }
    terminal::show_problems(&problems);
    if problems.has_errors() { Err(setup::code_of(&problems).into()) } else { Ok(located) }
}

/// Returns what the suite of a command may reach, without its own folder.
fn permissions_of(arguments: &DataArguments) -> Result<Permissions, ExitCode> {
    let permissions = permissions(&arguments.permissions)?;
    Ok(if arguments.offline { permissions.offline() } else { permissions })
}

/// Returns the file of rows, or that of the suite.
fn file_of(arguments: &DataArguments) -> Result<PathBuf, ExitCode> {
    Ok(ready_suite::ready_file(&arguments.source)?.unwrap_or_else(|| arguments.source.clone()))
}

/// Reads the suite, or creates one for a file of rows, which may reach everything.
fn load(arguments: &DataArguments) -> Result<(Option<PipelineConfig>, Problems), ExitCode> {
    let source = &file_of(arguments)?;
    let is_suite = source.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    if is_suite {
        let permissions = permissions_of(arguments)?;
        let read = |overrides: &[String]| setup::loaded(source, overrides, &permissions, Purpose::Datasets);
        let overrides = with_defaults(arguments, read(&arguments.overrides).config);
        let loaded = read(&overrides);
        return Ok((loaded.config, loaded.problems));
    }
    let Some(loader) = arguments.loader.clone().or_else(|| loader_of_file(source).map(str::to_owned)) else {
        let message = format!("the name of {} does not say how it is read", source.display());
        let help = "give --loader: jsonl, json, csv, tsv or parquet; a suite ends in .yaml";
        return Err(terminal::usage_error(&message, Some(help)));
    };
    let Some(path) = source.to_str() else {
        let message = format!("the name of {} is not UTF-8", source.display());
        return Err(terminal::usage_error(&message, None));
    };
    let literal = |text: &str| text.replace("${", "$${");
    let suite = json!({
        "datasets": [{
            "loader": loader,
            "params": {"path": literal(path), "preprocess": literal(&arguments.preprocess)},
        }],
    });
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let text = format!("{suite:#}");
    let read = |overrides: &[String]| load_datasets("(the command line)", &text, overrides, &environment);
    let (config, mut problems) = read(&with_defaults(arguments, read(&arguments.overrides).0));
    environment::name_variables(&mut problems);
    Ok((config, problems))
}

/// Returns the overrides of the command line, followed by those of environment variables for values that neither
/// sets. A run uses the same order.
fn with_defaults(arguments: &DataArguments, said: Option<PipelineConfig>) -> Vec<String> {
    let defaults = said.map(|config| environment::defaults_of(&config.document)).unwrap_or_default();
    [arguments.overrides.clone(), defaults].concat()
}

/// Streams a dataset through its preprocessors on all cores, and keeps only the needed part of each Sample.
fn read<K: SampleProjection>(
    dataset: &LocatedDataset,
    most: Option<u64>,
    keep: impl Fn(Arc<Sample>) -> K + Sync,
    take: impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> StreamReport {
    read_with(dataset, &dataset.preparation(), most, keep, take)
}

/// Like [`read`], with another preparation of the rows.
fn read_with<K: SampleProjection>(
    dataset: &LocatedDataset,
    preparation: &Preparation,
    most: Option<u64>,
    keep: impl Fn(Arc<Sample>) -> K + Sync,
    take: impl FnMut(PreparedSample<K>) -> ControlFlow<()>,
) -> StreamReport {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    match dataset.open(most) {
        Ok(rows) => stream_kept(rows, preparation, workers, &|| false, &keep, take),
        Err(error) => StreamReport { failure: Some(error), ..StreamReport::default() },
    }
}

/// Prints why a dataset could not be fully read.
fn refuse(dataset: &LocatedDataset, error: &DataError) -> ExitCode {
    terminal::usage_error(&format!("{}: {error}", dataset.planned.spec.dataset_id), None)
}
