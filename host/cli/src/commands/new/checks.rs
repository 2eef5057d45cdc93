//! Checks of the values for a new suite, before it is written.

use super::columns::Columns;
use super::questions::UnusableValue;
use crate::commands::list;
use gage_config::{
    Environment, Permissions, PipelineConfig, PluginReference, Problems, Severity, load, load_datasets,
    loader_of_file,
};
use gage_core::{DEFAULT_MAX_JSON_VALUES, name_list, parse_json};
use gage_data::{LocateOptions, NoProgress, locate, open_located};
use gage_plugin::World;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of fields that a message lists.
pub(super) const MAX_SHOWN_FIELDS: usize = 30;

/// Maximum number of metrics that a message lists.
const MAX_SHOWN_METRICS: usize = 200;

/// Number of rows whose fields are looked at.
const SURVEYED_ROWS: u64 = 100;

/// Loaders of files whose first line names the columns.
const LOADERS_WITH_HEADER: [&str; 2] = ["csv", "tsv"];

/// Name of the source in problems of a value.
const SOURCE: &str = "(the command line)";

/// Checks that the rows have a field.
pub(super) fn known_field(field: &str, columns: &Columns) -> Result<String, UnusableValue> {
    if columns.has(field) {
        return Ok(field.to_owned());
    }
    let names = columns.names();
    let near = gage_core::nearest(field, names.iter().copied());
    let hint = near.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    let names = name_list(names.iter().copied(), MAX_SHOWN_FIELDS, ", ");
    let help = format!("{hint}the rows have: {names}");
    Err(UnusableValue::new(format!("the rows have no field `{field}`"), Some(help)))
}

/// Checks that a text names a model.
pub(super) fn known_model(model: &str) -> Result<String, UnusableValue> {
    let suite = json!({"datasets": ["rows.jsonl"], "model": model, "metrics": ["exact_match"]});
    checked(&suite).map(|_| model.to_owned())
}

/// Checks the metrics of a list. `known` are the names that need no component.
pub(super) fn known_metrics(metrics: &[String], known: &[String]) -> Result<Vec<String>, UnusableValue> {
    let suite = json!({"datasets": ["rows.jsonl"], "model": "openai:m", "metrics": metrics});
    for metric in checked(&suite)?.metrics {
        let PluginReference::Name(name) = &metric.implementation else { continue };
        if known.contains(name) {
            continue;
        }
        let near = gage_core::nearest(name, known.iter().map(String::as_str));
        let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let help = format!("{hint}expected one of: {}", name_list(known, MAX_SHOWN_METRICS, ", "));
        return Err(UnusableValue::new(format!("there is no metric '{name}'"), Some(help)));
    }
    Ok(metrics.to_vec())
}

/// Returns the names of the bundled metrics.
///
/// # Errors
/// If a bundled component cannot be described.
pub(super) fn metric_names() -> anyhow::Result<Vec<String>> {
    let plugins = list::registry(None, &Permissions::default(), &[], true)?.list()?;
    let metrics = plugins.iter().filter(|plugin| plugin.world() == World::Metric);
    Ok(metrics.flat_map(|plugin| plugin.members().iter().map(|member| member.name.clone())).collect())
}

/// Reads a suite with one value of the user. Its first error is that of the value.
fn checked(suite: &Value) -> Result<PipelineConfig, UnusableValue> {
    // Keys need not be set yet.
    let variable = |name: &str| gage_core::variable(name).or_else(|| Some(String::new()));
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let (config, problems) = load(SOURCE, &suite.to_string(), &[], &environment);
    config.filter(|_| !problems.has_errors()).ok_or_else(|| first_error(&problems))
}

fn first_error(problems: &Problems) -> UnusableValue {
    let sorted = problems.sorted();
    let error = sorted.iter().find(|problem| problem.severity == Severity::Error);
    match error {
        Some(error) => UnusableValue::new(error.message.clone(), error.help.clone()),
        None => UnusableValue::new("the value cannot be read", None),
    }
}

/// Reads the first rows of a file. `has_named_columns` is true if the user names one of its columns.
pub(super) fn survey(data: &str, has_named_columns: bool) -> Result<Columns, UnusableValue> {
    let Some(loader) = loader_of_file(Path::new(data)) else {
        let help = "it must end in .jsonl, .json, .csv, .tsv or .parquet; all but the last may be compressed (.gz, .zst)";
        let message = format!("the name of {data} does not say how it is read");
        return Err(UnusableValue::new(message, Some(help.to_owned())));
    };
    let (columns, first_problem) = first_rows(data)?;
    if columns.rows == 0 {
        let reason = first_problem.map(|reason| format!(": {reason}")).unwrap_or_default();
        let file = crate::terminal::shell_word(data);
        let help = format!("`gage-host data validate {file}` reports every row");
        return Err(UnusableValue::new(format!("no row of {data} can be read{reason}"), Some(help)));
    }
    if LOADERS_WITH_HEADER.contains(&loader) && !has_named_columns && columns.has_values_as_names() {
        let names = name_list(columns.names(), MAX_SHOWN_FIELDS, ", ");
        let message =
            format!("the first line of {data} must name the columns, and looks like a row: {names}");
        let help = "add a header line such as question,answer, or name the columns in the `params` of the dataset: \
                    columns: [question, answer]; if it is a header, name its fields by --question and --answer";
        return Err(UnusableValue::new(message, Some(help.to_owned())));
    }
    Ok(columns)
}

/// Returns the columns of the first rows, and the problem of the first row that cannot be read.
fn first_rows(data: &str) -> Result<(Columns, Option<String>), UnusableValue> {
    let suite = json!({"datasets": [data.replace("${", "$${")]});
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (config, problems) = load_datasets(SOURCE, &suite.to_string(), &[], &environment);
    let config = config.filter(|_| !problems.has_errors()).ok_or_else(|| first_error(&problems))?;
    let options = LocateOptions {
        with_digests: false,
        cache_folder: None,
        is_offline: true,
        progress: &NoProgress,
        is_cancelled: &|| false,
    };
    let (mut columns, mut first_problem) = (Columns::default(), None);
    for spec in &config.datasets {
        let located = locate(spec, &options, &Permissions::default())
            .map_err(|error| UnusableValue::new(error.to_string(), error.help()))?;
        let rows = open_located(spec, &located, Some(SURVEYED_ROWS))
            .map_err(|error| UnusableValue::new(error.to_string(), None))?;
        for row in rows {
            let row = row.map_err(|error| UnusableValue::new(error.to_string(), None))?;
            let body = match row.body {
                Ok(body) => body,
                Err(problem) => {
                    first_problem.get_or_insert(problem.message);
                    continue;
                }
            };
            if let Ok(Value::Object(row)) = parse_json(body.as_bytes(), DEFAULT_MAX_JSON_VALUES) {
                columns.add(row);
            }
        }
    }
    Ok((columns, first_problem))
}
