//! CSV of all figures of a run: one row per metric, followed by one per part of it.

use super::files::Files;
use super::run::ExportedRun;
use super::{ExportError, ExportReport};
use gage_figures::{Interval, MetricFigure};
use std::io;
use std::path::Path;

/// A column: its heading, and a function that returns its cell for a row.
type CsvColumn = (&'static str, fn(&FigureRow<'_>) -> String);

const COLUMNS: [CsvColumn; 23] = [
    ("run_id", |row| row.run_id.to_owned()),
    ("model", |row| row.model.to_owned()),
    ("task_id", |row| row.figure.task_id.clone()),
    ("metric_id", |row| row.figure.metric_id.clone()),
    ("part", |row| row.part.kind.to_owned()),
    ("by", |row| row.part.by.to_owned()),
    ("name", |row| row.part.name.to_owned()),
    ("aggregation", |row| row.figure.aggregation.name().into_owned()),
    ("higher_is_better", |row| row.figure.higher_is_better.to_string()),
    ("value", |row| shown(row.part.value)),
    ("n", |row| row.part.n.to_string()),
    ("total", |row| shown(row.part.total)),
    ("coverage", |row| shown(row.part.coverage)),
    ("stderr", |row| shown(row.part.stderr)),
    ("low", |row| shown(row.part.interval.map(|interval| interval.low))),
    ("high", |row| shown(row.part.interval.map(|interval| interval.high))),
    ("level", |row| shown(row.part.interval.map(|interval| interval.level))),
    ("method", |row| shown(row.part.interval.map(|interval| interval.method))),
    ("schema_version", |row| row.figure.schema_version.clone()),
    ("scorer_version", |row| row.figure.scorer_version.clone()),
    ("prompt_version", |row| row.figure.prompt_version.clone()),
    ("error", |row| shown(row.part.error)),
    ("total_is_least", |row| shown(row.part.total_is_least)),
];

/// Marks a text that a spreadsheet would read as a formula. Numbers stay numbers.
fn without_formula(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    if is_formula { format!("'{cell}") } else { cell }
}

/// Formats a value as the shortest text that parses to the same number, or as an empty text if there is none.
fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A part of a figure, with its run and metric.
struct FigureRow<'f> {
    run_id: &'f str,
    model: &'f str,
    figure: &'f MetricFigure,
    part: FigurePart<'f>,
}

/// A metric itself, or a part of it.
#[derive(Default)]
struct FigurePart<'f> {
    kind: &'static str,
    by: &'f str,
    name: &'f str,
    value: Option<f64>,
    n: u64,
    total: Option<u64>,
    /// True if there is an unknown number of further samples; the coverage is then an upper bound.
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
    table.write_record(COLUMNS.map(|(heading, _)| heading)).map_err(failed)?;
    for task in run.tasks() {
        let model = run.model(&task.task_id).name;
        for figure in run.figures(&task.task_id) {
            for part in parts(&figure) {
                let row = FigureRow { run_id: run.source.run_id(), model: &model, figure: &figure, part };
                table.write_record(COLUMNS.map(|(_, cell)| without_formula(cell(&row)))).map_err(failed)?;
            }
        }
    }
    table.flush().map_err(|error| ExportError::write(path, error))?;
    drop(table);
    file.finish()?;
    Ok(ExportReport { samples: run.summary.samples.reached(), ..ExportReport::default() })
}

/// Creates a writer for RFC 4180, except that lines end in a plain newline.
fn csv_writer<W: io::Write>(out: W) -> csv::Writer<W> {
    csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(out)
}

fn parts(figure: &MetricFigure) -> Vec<FigurePart<'_>> {
    let mut parts = vec![FigurePart {
        kind: "metric",
        value: figure.value,
        n: figure.n,
        total: Some(figure.total),
        total_is_least: Some(figure.total_is_least),
        coverage: Some(figure.coverage),
        stderr: figure.stderr,
        interval: figure.interval,
        error: figure.error.as_deref(),
        ..FigurePart::default()
    }];
    let sub_scores = figure.sub_scores.iter();
    parts.extend(sub_scores.map(|one| FigurePart {
        kind: "sub_score",
        name: &one.name,
        value: one.value,
        n: one.n,
        ..FigurePart::default()
    }));
    // The first one is the metric's own value.
    let named = figure.figures.iter().skip(1);
    parts.extend(named.map(|one| FigurePart {
        kind: "figure",
        name: &one.name,
        value: Some(one.value),
        n: one.n,
        stderr: one.stderr,
        ..FigurePart::default()
    }));
    let categories = figure.categories.iter();
    parts.extend(categories.map(|one| FigurePart {
        kind: "category",
        name: &one.name,
        value: Some(one.share),
        n: one.count,
        ..FigurePart::default()
    }));
    parts.extend(figure.slices.iter().map(|slice| FigurePart {
        kind: "slice",
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
    parts.extend(figure.slice_means.iter().map(|mean| FigurePart {
        kind: "slice_mean",
        by: &mean.by,
        value: mean.value,
        n: mean.slices,
        stderr: mean.stderr,
        interval: mean.interval,
        ..FigurePart::default()
    }));
    parts
}

#[cfg(test)]
mod tests {
    use super::{csv_writer, without_formula};

    #[test]
    fn no_cell_is_a_formula() {
        for (cell, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1+1", "'+1+1"),
            ("-2+3", "'-2+3"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("-0.25", "-0.25"),
            ("1e-9", "1e-9"),
            ("law", "law"),
            ("", ""),
        ] {
            assert_eq!(without_formula(cell.to_owned()), expected);
        }
    }

    #[test]
    fn what_could_be_taken_for_another_cell_is_quoted() {
        let mut table = csv_writer(Vec::new());
        table.write_record(["a", "", "b c", ""]).unwrap();
        table.write_record(["a,b", "say \"x\"", "1\n2", "\r"]).unwrap();
        let lines = String::from_utf8(table.into_inner().unwrap()).unwrap();
        assert_eq!(lines, "a,,b c,\n\"a,b\",\"say \"\"x\"\"\",\"1\n2\",\"\r\"\n");
    }
}
