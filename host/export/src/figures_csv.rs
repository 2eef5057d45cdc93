//! CSV of all figures of a run: a row for each metric, and below it one for each of its parts.

use super::files::Files;
use super::run::ExportedRun;
use super::{ExportError, ExportReport};
use gage_figures::{Interval, MetricFigure};
use std::io;
use std::path::Path;

const HEADINGS: [&str; 23] = [
    "run_id",
    "model",
    "task_id",
    "metric_id",
    "part",
    "by",
    "name",
    "aggregation",
    "higher_is_better",
    "value",
    "n",
    "total",
    "coverage",
    "stderr",
    "low",
    "high",
    "level",
    "method",
    "schema_version",
    "scorer_version",
    "prompt_version",
    "error",
    "total_is_least",
];

/// What a row is of.
#[derive(Default)]
struct FigureRow<'f> {
    part: &'static str,
    by: &'f str,
    name: &'f str,
    value: Option<f64>,
    n: u64,
    total: Option<u64>,
    /// Whether there are more, and nobody knows how many; then the coverage is at most what stands there.
    total_is_least: Option<bool>,
    coverage: Option<f64>,
    stderr: Option<f64>,
    interval: Option<Interval>,
    error: Option<&'f str>,
}

pub(super) fn write(
    run: &ExportedRun<'_>,
    path: &Path,
    files: &mut Files,
) -> Result<ExportReport, ExportError> {
    let mut file = files.create(path)?;
    let mut table = csv_writer(&mut file);
    let failed = |error: csv::Error| ExportError::write(path, error);
    table.write_record(HEADINGS).map_err(failed)?;
    for task in run.tasks() {
        let model = run.model(&task.task_id).name;
        for figure in run.figures(&task.task_id) {
            for part in parts(&figure) {
                table.write_record(row(run, &model, &figure, &part)).map_err(failed)?;
            }
        }
    }
    table.flush().map_err(|error| ExportError::write(path, error))?;
    drop(table);
    file.finish()?;
    Ok(ExportReport { samples: run.summary.samples.reached(), ..ExportReport::default() })
}

/// Writes lines after RFC 4180, but that they end as lines do here.
fn csv_writer<W: io::Write>(out: W) -> csv::Writer<W> {
    csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out)
}

fn parts(figure: &MetricFigure) -> Vec<FigureRow<'_>> {
    let mut parts = vec![FigureRow {
        part: "metric",
        value: figure.value,
        n: figure.n,
        total: Some(figure.total),
        total_is_least: Some(figure.total_is_least),
        coverage: Some(figure.coverage),
        stderr: figure.stderr,
        interval: figure.interval,
        error: figure.error.as_deref(),
        ..FigureRow::default()
    }];
    let sub_scores = figure.sub_scores.iter();
    parts.extend(sub_scores.map(|one| FigureRow {
        part: "sub_score",
        name: &one.name,
        value: one.value,
        n: one.n,
        ..FigureRow::default()
    }));
    // The first is the value of the metric itself.
    let named = figure.figures.iter().skip(1);
    parts.extend(named.map(|one| FigureRow {
        part: "figure",
        name: &one.name,
        value: Some(one.value),
        n: one.n,
        stderr: one.stderr,
        ..FigureRow::default()
    }));
    let categories = figure.categories.iter();
    parts.extend(categories.map(|one| FigureRow {
        part: "category",
        name: &one.name,
        value: Some(one.share),
        n: one.count,
        ..FigureRow::default()
    }));
    parts.extend(figure.slices.iter().map(|slice| FigureRow {
        part: "slice",
        by: &slice.by,
        name: &slice.key,
        value: slice.value,
        n: slice.n,
        total: Some(slice.total),
        total_is_least: Some(figure.has_more_in_slices()),
        coverage: Some(slice.coverage),
        stderr: slice.stderr,
        interval: slice.interval,
        error: slice.error.as_deref(),
    }));
    parts
}

fn row(
    run: &ExportedRun<'_>,
    model: &str,
    figure: &MetricFigure,
    part: &FigureRow<'_>,
) -> [String; HEADINGS.len()] {
    // The shortest text that reads back as the same number.
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let method = part.interval.and_then(|interval| serde_json::to_value(interval.method).ok());
    [
        run.source.run_id().to_owned(),
        model.to_owned(),
        figure.task_id.clone(),
        figure.metric_id.clone(),
        part.part.to_owned(),
        part.by.to_owned(),
        part.name.to_owned(),
        figure.aggregation.name().into_owned(),
        figure.higher_is_better.to_string(),
        number(part.value),
        part.n.to_string(),
        part.total.map(|total| total.to_string()).unwrap_or_default(),
        number(part.coverage),
        number(part.stderr),
        number(part.interval.map(|interval| interval.low)),
        number(part.interval.map(|interval| interval.high)),
        number(part.interval.map(|interval| interval.level)),
        method.and_then(|method| method.as_str().map(str::to_owned)).unwrap_or_default(),
        figure.schema_version.clone(),
        figure.scorer_version.clone(),
        figure.prompt_version.clone(),
        part.error.unwrap_or_default().to_owned(),
        part.total_is_least.map(|is_least| is_least.to_string()).unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::csv_writer;

    #[test]
    fn what_could_be_taken_for_another_cell_is_quoted() {
        let mut table = csv_writer(Vec::new());
        table.write_record(["a", "", "b c", ""]).unwrap();
        table.write_record(["a,b", "say \"x\"", "1\n2", "\r"]).unwrap();
        let lines = String::from_utf8(table.into_inner().unwrap()).unwrap();
        assert_eq!(lines, "a,,b c,\n\"a,b\",\"say \"\"x\"\"\",\"1\n2\",\"\r\"\n");
    }
}
