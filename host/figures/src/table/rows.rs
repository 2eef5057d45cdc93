//! The rows of a table: one for every metric, with those of its parts below.

use super::numbers::{coverage, interval, number_or_nothing, percent, unit};
use crate::{Aggregation, Interval, MetricFigure, SliceFigure, SliceMean};
use gage_core::printable_line;

/// Maximum number of rows of one kind below a metric; the rest is in `summary.json`.
const MAX_PARTS: usize = 60;

/// Cells in the order of the columns: task, metric, value, interval, scored, coverage.
pub(super) type Cells = [String; 6];

/// A row of the table.
#[derive(Debug)]
pub(super) struct TableRow {
    pub(super) cells: Cells,
    /// Unit of the value; empty if it has none.
    pub(super) unit: &'static str,
    /// True if the row is for a part of a metric, below that metric.
    pub(super) is_part: bool,
    /// True if some samples were not scored.
    pub(super) is_partial: bool,
}

/// Returns the rows of a metric.
pub(super) fn rows_of(task_name: String, figure: &MetricFigure) -> Vec<TableRow> {
    let counts = RowCounts {
        n: figure.n,
        total: figure.total,
        coverage: figure.coverage,
        total_is_least: figure.total_is_least,
    };
    let unit = unit_of(figure);
    let mut rows = vec![TableRow {
        cells: cells(task_name, metric_name(figure), (figure.value, figure.interval), counts),
        unit: unit_if(unit, figure.value),
        is_part: false,
        is_partial: counts.is_partial(),
    }];
    let categories = figure.categories.iter();
    rows.extend(bounded(categories.map(|one| counted_part(&one.name, percent(one.share), one.count))));
    // The first figure is the value of the metric.
    let named = figure.figures.iter().skip(1);
    rows.extend(bounded(named.map(|one| counted_part(&one.name, number_or_nothing(Some(one.value)), one.n))));
    for slices in figure.slices.chunk_by(|one, two| one.by == two.by) {
        let by = slices.first().map_or("", |slice| slice.by.as_str());
        let slices = slices.iter().map(|slice| {
            let SliceFigure { by, key, value, interval, n, total, coverage, .. } = slice;
            let total_is_least = figure.has_more_in_slices();
            let counts = RowCounts { n: *n, total: *total, coverage: *coverage, total_is_least };
            let name = part_name(&format!("{by}={key}"));
            let cells = cells(String::new(), name, (*value, *interval), counts);
            TableRow { cells, unit: unit_if(unit, *value), is_part: true, is_partial: counts.is_partial() }
        });
        rows.extend(bounded(slices));
        rows.extend(
            figure.slice_means.iter().filter(|mean| *by == mean.by).map(|mean| mean_of_slices(mean, unit)),
        );
    }
    rows
}

/// Number of samples that a row covers.
#[derive(Clone, Copy)]
struct RowCounts {
    n: u64,
    total: u64,
    coverage: f64,
    total_is_least: bool,
}

impl RowCounts {
    fn is_partial(self) -> bool {
        self.total_is_least || self.total > 0 && self.coverage < 1.0
    }
}

/// Returns the name of a metric, with its aggregation if that is not the mean.
fn metric_name(figure: &MetricFigure) -> String {
    let metric_id = printable_line(&figure.metric_id);
    match &figure.aggregation {
        Aggregation::Mean => metric_id.into_owned(),
        other => format!("{metric_id} ({})", printable_line(&other.name())),
    }
}

fn part_name(name: &str) -> String {
    format!("  {}", printable_line(name))
}

/// Returns the row of the mean over the slices of a path.
fn mean_of_slices(mean: &SliceMean, unit: &'static str) -> TableRow {
    let SliceMean { by, slices, value, interval: range, .. } = mean;
    let nothing = String::new;
    let name = part_name(&format!("mean of {slices} {by}"));
    let cells = [nothing(), name, number_or_nothing(*value), interval(*value, *range), nothing(), nothing()];
    TableRow { cells, unit: unit_if(unit, *value), is_part: true, is_partial: false }
}

/// Returns the row of a part with only a value and a number of samples.
fn counted_part(name: &str, value: String, count: u64) -> TableRow {
    let (nothing, name) = (String::new, part_name(name));
    let cells = [nothing(), name, value, nothing(), count.to_string(), nothing()];
    TableRow { cells, unit: "", is_part: true, is_partial: false }
}

/// Returns the unit of a figure; empty for a score without one. A component names its figures itself.
pub fn unit_of(figure: &MetricFigure) -> &'static str {
    match figure.figures.first() {
        Some(first) => unit(&first.name, None),
        None => unit(&figure.value_name, figure.scale),
    }
}

/// Returns the unit of a value, if there is a value.
fn unit_if(unit: &'static str, value: Option<f64>) -> &'static str {
    if value.is_some() { unit } else { "" }
}

fn cells(
    task: String,
    name: String,
    (value, range): (Option<f64>, Option<Interval>),
    counts: RowCounts,
) -> Cells {
    let (scored, covered) = match counts {
        RowCounts { n, total, coverage: part, total_is_least: false } => {
            (format!("{n}/{total}"), coverage(part, total))
        }
        RowCounts { n, total: 0, .. } => (format!("{n}/0+"), coverage(0.0, 0)),
        RowCounts { n, total, coverage: part, .. } => {
            (format!("{n}/{total}+"), format!("≤{}", coverage(part, total)))
        }
    };
    [task, name, number_or_nothing(value), interval(value, range), scored, covered]
}

/// Returns the first rows, and a row with the number of further ones.
fn bounded(rows: impl ExactSizeIterator<Item = TableRow>) -> Vec<TableRow> {
    let left = rows.len().saturating_sub(MAX_PARTS);
    let mut shown: Vec<TableRow> = rows.take(MAX_PARTS).collect();
    if left > 0 {
        let mut cells = Cells::default();
        let [_, name, ..] = &mut cells;
        *name = format!("  … {left} more");
        shown.push(TableRow { cells, unit: "", is_part: true, is_partial: false });
    }
    shown
}
