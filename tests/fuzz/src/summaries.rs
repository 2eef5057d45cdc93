//! Figures and timings of a run folder, and the table that shows them.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_core::Outcome;
use gage_figures::test_records::{failed, sample, task};
use gage_figures::{
    Completeness, Machine, Phases, Summary, SummaryBuilder, TableOptions, Timings, TimingsBuilder,
    no_custom_aggregators, render_table,
};
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use std::time::Duration;

/// Figures and timings.
pub const TARGET: Target = Target { name: "summaries", cases: 500, seeds, inputs, check };

const NAMES: &[&str] = &[
    "summary",
    "timings",
    "format_version",
    "samples",
    "tasks",
    "metrics",
    "total",
    "total_is_least",
    "not_reached",
    "coverage",
    "task_id",
    "metric_id",
    "value",
    "n",
    "interval",
    "low",
    "high",
    "stderr",
    "slices",
    "sub_scores",
    "tags",
    "aggregation",
    "latency",
    "first_token",
    "judge",
    "retries",
    "plugins",
    "stages",
    "backends",
    "wall_runtime_s",
    "mean_ms",
    "p50_ms",
    "p99_ms",
    "outcomes",
    "usage",
];

/// Returns figures and timings of a small run.
fn figures() -> Option<(Summary, Timings)> {
    let tasks = [task("a")];
    let mut summary = SummaryBuilder::new(&tasks, &no_custom_aggregators);
    let mut timings = TimingsBuilder::new(&tasks, &no_custom_aggregators);
    let records = [
        sample("a", 0, 0.25, 12.5),
        sample("a", 1, 1.0, 17.5),
        sample("a", 2, 0.5, 300.0),
        failed("a", 3, Outcome::BackendError),
    ];
    for record in &records {
        summary.add(record).ok()?;
        timings.add(record).ok()?;
    }
    let phases = Phases { wall: Duration::from_secs(3), samples: 4, finished: 4, ..Phases::default() };
    let machine = Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() };
    let completeness = Completeness::new();
    Some((summary.finish(&completeness), timings.finish(&phases, machine, &completeness)))
}

fn seeds() -> Vec<Vec<u8>> {
    let figures = figures();
    let texts =
        figures.map(|(summary, timings)| format!("{:#}", json!({"summary": summary, "timings": timings})));
    texts.into_iter().map(String::into_bytes).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::json_inputs(seeds(), NAMES)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let Ok(document) = serde_json::from_slice::<Value>(input) else { return Ok(Verdict::Refused) };
    let part = |key: &str| document.get(key).cloned().unwrap_or_default();
    let summary = Summary::from_value(part("summary"));
    let timings = Timings::from_value(part("timings"));
    if let Ok(summary) = &summary {
        let written = summary.to_json().map_err(|error| error.to_string())?;
        let again = read_again(&written, |value| Summary::from_value(value).ok()?.to_json().ok())?;
        check_equal(&written, &again)?;
    }
    if let Ok(timings) = &timings {
        let written = timings.to_json().map_err(|error| error.to_string())?;
        let again = read_again(&written, |value| Timings::from_value(value).ok()?.to_json().ok())?;
        check_equal(&written, &again)?;
    }
    let (Ok(summary), Ok(timings)) = (summary, timings) else { return Ok(Verdict::Refused) };
    for width in [0, 40, 200] {
        let (run_folder, is_merged) = (Some("runs/run"), false);
        let options = TableOptions { width, colour: width == 40, run_folder, is_merged };
        let table = render_table(&summary, &timings, &options);
        if table.chars().any(|one| one.is_control() && one != '\n' && one != '\u{1b}') {
            return Err(format!("the table has control characters: {table:?}"));
        }
    }
    Ok(Verdict::Accepted)
}

fn read_again(written: &str, read: impl Fn(Value) -> Option<String>) -> Result<String, String> {
    let value = serde_json::from_str(written).map_err(|error| format!("{error}: {written}"))?;
    read(value).ok_or_else(|| format!("it is written and not read again: {written}"))
}

fn check_equal(written: &str, again: &str) -> Result<(), String> {
    match written == again {
        true => Ok(()),
        false => Err(format!("written {written}, and then {again}")),
    }
}
