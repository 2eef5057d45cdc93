//! `gage-host data validate`: reads every row.

use super::metric_paths::{self, MetricPath};
use crate::arguments::DataArguments;
use crate::commands::new::likely_answer;
use crate::exit_code::ExitCode;
use crate::terminal::{self, RowProgress};
use gage_config::{OnInvalid, PluginReference, PreprocessSpec};
use gage_core::{AnswerProblem, DEFAULT_MAX_JSON_VALUES, Sample, parse_json};
use gage_data::{ReferenceProblem, ValidSample, Validation, ValidationReport};
use gage_engine::LocatedDataset;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The preprocessor that takes `answer_field`.
const DEFAULT_PREPROCESSOR: &str = "default";

pub(super) fn validate(arguments: &DataArguments) -> anyhow::Result<ExitCode> {
    let mut paths = Vec::new();
    let datasets = super::datasets_with(arguments, arguments.print.json, |config, registry| {
        paths = metric_paths::of_suite(config, registry);
    })?;
    let mut all = Vec::new();
    let (mut are_valid, mut code) = (true, ExitCode::Incomplete);
    for dataset in &datasets {
        let spec = &dataset.planned.spec;
        let mut validation = Validation::default();
        let progress = RowProgress::new(&spec.dataset_id, arguments.print.quiet);
        let watched: Vec<&MetricPath> = paths.iter().filter(|path| path.is_of(&spec.dataset_id)).collect();
        let keep = |sample: Arc<Sample>| {
            watched.iter().for_each(|path| path.look_at(&sample));
            ValidSample::from(sample)
        };
        let streamed = super::read(dataset, arguments.max_samples, keep, |prepared| {
            validation.add(&prepared);
            progress.row();
            ControlFlow::Continue(())
        });
        progress.finish();
        let report = validation.finish(streamed.filtered, streamed.renamed);
        let allowed = match spec.on_invalid {
            OnInvalid::Skip => spec.max_invalid,
            OnInvalid::Error => 0.0,
        };
        let unfound: Vec<&MetricPath> =
            watched.into_iter().filter(|path| report.samples > 0 && !path.is_found()).collect();
        let is_read = report.is_within(allowed) && report.rows > 0 && streamed.failure.is_none();
        let is_valid = is_read && unfound.is_empty();
        are_valid &= is_valid;
        let mut warnings: Vec<String> = streamed.missing_fields.iter().map(ToString::to_string).collect();
        warnings.extend(without_answers(dataset, &report));
        if arguments.print.json {
            let mut json = to_json(dataset, &report, is_valid)?;
            json["warnings"] = warnings.iter().map(String::as_str).collect();
            json["errors"] = unfound.iter().map(|path| path.to_string()).collect();
            all.push(json);
        } else {
            let has_unfound = is_read && !is_valid;
            show(dataset, &report, is_valid, has_unfound, allowed)?;
        }
        for path in unfound {
            terminal::usage_error(&format!("{}: {path}", spec.dataset_id), path.help().as_deref());
        }
        for warning in &warnings {
            let warning = format!("warning: {}: {warning}", spec.dataset_id);
            terminal::eprint_line(gage_core::printable_line(&warning));
        }
        if let Some(error) = &streamed.failure {
            code = super::refuse(dataset, error);
        }
    }
    if arguments.print.json {
        let json = json!({"valid": are_valid, "datasets": all});
        terminal::print_json(format_args!("{json:#}"))?;
    }
    Ok(if are_valid { ExitCode::Done } else { code })
}

/// Returns a warning if no Sample has an answer, with the field that probably is the answer.
fn without_answers(dataset: &LocatedDataset, report: &ValidationReport) -> Option<String> {
    let is_missing = |one: &&ReferenceProblem| one.kind == AnswerProblem::Missing.name();
    let missing = report.unanswered.iter().find(is_missing)?;
    if missing.count < report.samples {
        return None;
    }
    let warning = "no Sample has an answer, so a metric that needs one gives no score";
    // Other preprocessors have other parameters.
    let is_default = matches!(
        dataset.planned.spec.preprocess.as_slice(),
        [PreprocessSpec { reference: PluginReference::Name(name), .. }] if name == DEFAULT_PREPROCESSOR
    );
    if !is_default {
        return Some(warning.to_owned());
    }
    let row = dataset.open(Some(1)).ok().and_then(|mut rows| rows.next()?.ok()?.body.ok());
    let row = row.and_then(|body| match parse_json(body.as_bytes(), DEFAULT_MAX_JSON_VALUES) {
        Ok(Value::Object(row)) => likely_answer(row),
        _ => None,
    });
    let field = row.unwrap_or_else(|| "FIELD".to_owned());
    Some(format!(
        "{warning}; name its field in `params` of the dataset: `preprocess_kwargs: {{answer_field: {field}}}`"
    ))
}

fn to_json(dataset: &LocatedDataset, report: &ValidationReport, is_valid: bool) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    value["dataset_id"] = dataset.planned.spec.dataset_id.as_str().into();
    value["source"] = json!(dataset.located.identity);
    value["valid"] = is_valid.into();
    Ok(value)
}

fn show(
    dataset: &LocatedDataset,
    report: &ValidationReport,
    is_valid: bool,
    has_unfound: bool,
    allowed: f64,
) -> anyhow::Result<()> {
    let line = |text: &str| terminal::print_line(gage_core::printable_line(text));
    let id = &dataset.planned.spec.dataset_id;
    line(&format!("{id}: {} from {}", terminal::count_of(report.rows, "row"), dataset.located.shown))?;
    let share = |count: u64| {
        // Numbers of rows stay far below 2^53.
        let share = count as f64 / report.rows.max(1) as f64 * 100.0;
        format!("{share:>6.2} %")
    };
    let row = |name: &str, count: u64| line(&format!("  {name:<36}{count:>10}  {}", share(count)));
    row("samples", report.samples)?;
    for reason in &report.reasons {
        row(&format!("{} ({})", reason.outcome.name(), reason.kind), reason.count)?;
        for offender in &reason.first {
            line(&format!("    {}", offender.message))?;
        }
        let more = reason.count.saturating_sub(reason.first.len() as u64);
        if more > 0 {
            line(&format!("    … and {more} more"))?;
        }
    }
    for unanswered in &report.unanswered {
        row(&format!("without an answer ({})", unanswered.kind), unanswered.count)?;
        line(&format!("    {}, as {}", unanswered.message, unanswered.first.join(", ")))?;
    }
    if report.filtered > 0 {
        line(&format!("  {:<36}{:>10}", "left out by the filter", report.filtered))?;
    }
    if report.renamed > 0 {
        line(&format!(
            "  {:<36}{:>10}  an id that occurred before was given a \
            number",
            "renamed", report.renamed
        ))?;
    }
    let verdict = match (is_valid, report.invalid) {
        (false, _) if has_unfound => "not valid: a metric reads a path that no Sample has".to_owned(),
        (false, _) if report.rows == 0 => "not valid: there are no rows".to_owned(),
        (false, _) if report.is_within(allowed) => {
            "not valid: the data could not be read to its end".to_owned()
        }
        (true, 0) => "valid".to_owned(),
        (true, invalid) => {
            format!("valid: {invalid} invalid, {:.1} % is allowed (max_invalid)", allowed * 100.0)
        }
        (false, invalid) => {
            format!("not valid: {invalid} invalid, at most {:.1} % is allowed (max_invalid)", allowed * 100.0)
        }
    };
    line(&format!("  {verdict}"))
}
