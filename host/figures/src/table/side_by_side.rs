//! The figures of several runs of one suite, side by side.

use super::cells::{Align, MIN_NAME_COLUMNS, fitted, narrow, total_width, width_of};
use super::numbers::{interval, number_or_nothing};
use super::rows::unit_of;
use super::{FAINT, GAP, HEADER, INDENT, Paint, TableOptions};
use crate::{MetricFigure, Summary};
use gage_core::printable_line;
use itertools::Itertools as _;

/// Renders the metrics of several runs: a block for each task, with a row for each run and a column for each metric. If the
/// table would be too wide, intervals are left out, and then the metrics are in several tables. `runs` has the name of each run, which is escaped; the text ends with a
/// newline.
pub fn render_side_by_side(runs: &[(&str, &Summary)], options: &TableOptions<'_>) -> String {
    let task_ids = runs.iter().flat_map(|(_, summary)| &summary.tasks).map(|task| task.task_id.as_str());
    let blocks = task_ids.unique().map(|task_id| block(task_id, runs, options));
    blocks.collect::<Vec<_>>().join("\n")
}

/// Figures of a task, by run.
struct TaskFigures<'r> {
    task_id: &'r str,
    runs: Vec<(&'r str, Vec<&'r MetricFigure>)>,
}

fn block(task_id: &str, runs: &[(&str, &Summary)], options: &TableOptions<'_>) -> String {
    let figures_of = |summary: &'_ Summary| -> Vec<MetricFigure> {
        let of_task = summary.tasks.iter().filter(|task| task.task_id == task_id);
        of_task.flat_map(|task| task.metrics.clone()).collect()
    };
    let figures: Vec<Vec<MetricFigure>> = runs.iter().map(|(_, summary)| figures_of(summary)).collect();
    let metric_ids: Vec<&str> =
        figures.iter().flatten().map(|figure| figure.metric_id.as_str()).unique().collect();
    let runs = runs.iter().zip(&figures).map(|((name, _), figures)| (*name, figures.iter().collect()));
    TaskFigures { task_id, runs: runs.collect() }.render(&metric_ids, options)
}

impl TaskFigures<'_> {
    /// Renders some metrics as one table, or as several if that is too wide.
    fn render(&self, metric_ids: &[&str], options: &TableOptions<'_>) -> String {
        let room = options.width.saturating_sub(width_of(INDENT));
        for with_intervals in [true, false] {
            let rows = self.rows(metric_ids, with_intervals);
            let mut widths = widths_of(&rows);
            narrow(&mut widths, 1, room, width_of(GAP), MIN_NAME_COLUMNS);
            let is_natural = widths == widths_of(&rows);
            let fits = total_width(&widths, width_of(GAP)) <= room;
            // Names are cut only if the intervals are left out already.
            if fits && (is_natural || !with_intervals) {
                return drawn(&rows, &widths, options);
            }
            if !with_intervals && metric_ids.len() < 2 {
                return drawn(&rows, &widths, options);
            }
        }
        let (first, rest) = metric_ids.split_at(metric_ids.len() / 2);
        format!("{}\n{}", self.render(first, options), self.render(rest, options))
    }

    fn rows(&self, metric_ids: &[&str], with_intervals: bool) -> Vec<Vec<String>> {
        let title = std::iter::once(self.task_id).chain(metric_ids.iter().copied());
        let mut rows = vec![title.map(|name| printable_line(name).into_owned()).collect::<Vec<String>>()];
        for (name, figures) in &self.runs {
            let cells = metric_ids.iter().map(|metric_id| {
                let figure = figures.iter().find(|figure| figure.metric_id == *metric_id);
                figure.map_or_else(|| number_or_nothing(None), |figure| cell(figure, with_intervals))
            });
            rows.push(std::iter::once(printable_line(name).into_owned()).chain(cells).collect());
        }
        rows
    }
}

fn drawn(rows: &[Vec<String>], widths: &[usize], options: &TableOptions<'_>) -> String {
    let paint = Paint { colour: options.colour };
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let mut cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let cell = fitted(cell, *width, if column == 0 { Align::Left } else { Align::Right });
            if place == 0 { paint.with(HEADER, &cell) } else { cell }
        });
        text.push_str(format!("{INDENT}{}", cells.join(GAP)).trim_end());
        text.push('\n');
        if place == 0 {
            let line = "─".repeat(total_width(widths, width_of(GAP)));
            text.push_str(&format!("{INDENT}{}\n", paint.with(FAINT, &line)));
        }
    }
    text
}

fn cell(figure: &MetricFigure, with_interval: bool) -> String {
    let mut value = number_or_nothing(figure.value);
    let unit = unit_of(figure);
    if figure.value.is_some() && !unit.is_empty() {
        value = format!("{value} {unit}");
    }
    match figure.interval.filter(|_| with_interval && figure.value.is_some()) {
        Some(range) => format!("{value} [{}]", interval(figure.value, Some(range))),
        None => value,
    }
}

fn widths_of(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width_of(cell)).max();
    (0..columns).map(|column| width(column).unwrap_or_default()).collect()
}
