//! The figures of several runs of one suite, side by side.

use super::cells::{Align, fitted, narrow, width_of};
use super::numbers::{interval, number_or_nothing};
use super::{FAINT, GAP, HEADER, INDENT, Paint, TableOptions};
use crate::{MetricFigure, Summary};
use gage_core::printable_line;
use itertools::Itertools as _;

/// Renders the metrics of several runs: a block for each task, with a row for each run and a column for each metric. Intervals
/// are left out if the table would be too wide. `runs` has the name of each run, which is escaped; the text ends with a
/// newline.
pub fn render_side_by_side(runs: &[(&str, &Summary)], options: &TableOptions<'_>) -> String {
    let task_ids = runs.iter().flat_map(|(_, summary)| &summary.tasks).map(|task| task.task_id.as_str());
    let blocks = task_ids.unique().map(|task_id| block(task_id, runs, options));
    blocks.collect::<Vec<_>>().join("\n")
}

fn block(task_id: &str, runs: &[(&str, &Summary)], options: &TableOptions<'_>) -> String {
    let figures_of = |summary: &'_ Summary| -> Vec<MetricFigure> {
        let of_task = summary.tasks.iter().filter(|task| task.task_id == task_id);
        of_task.flat_map(|task| task.metrics.clone()).collect()
    };
    let figures: Vec<Vec<MetricFigure>> = runs.iter().map(|(_, summary)| figures_of(summary)).collect();
    let metric_ids: Vec<&str> =
        figures.iter().flatten().map(|figure| figure.metric_id.as_str()).unique().collect();
    let table = |with_intervals: bool| -> Vec<Vec<String>> {
        let title = std::iter::once(task_id).chain(metric_ids.iter().copied());
        let mut rows = vec![title.map(|name| printable_line(name).into_owned()).collect::<Vec<String>>()];
        for ((name, _), figures) in runs.iter().zip(&figures) {
            let cells = metric_ids.iter().map(|metric_id| {
                let figure = figures.iter().find(|figure| figure.metric_id == *metric_id);
                figure.map_or_else(|| number_or_nothing(None), |figure| cell(figure, with_intervals))
            });
            rows.push(std::iter::once(printable_line(name).into_owned()).chain(cells).collect());
        }
        rows
    };
    let room = options.width.saturating_sub(width_of(INDENT));
    let mut rows = table(true);
    if total_width(&widths_of(&rows)) > room {
        rows = table(false);
    }
    let mut widths = widths_of(&rows);
    narrow(&mut widths, 1, room, width_of(GAP));
    let paint = Paint { colour: options.colour };
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let mut cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let cell = fitted(cell, *width, if column == 0 { Align::Left } else { Align::Right });
            if place == 0 { paint.with(HEADER, &cell) } else { cell }
        });
        text.push_str(format!("{INDENT}{}", cells.join(GAP)).trim_end());
        text.push('\n');
        if place == 0 {
            text.push_str(&format!("{INDENT}{}\n", paint.with(FAINT, &"─".repeat(total_width(&widths)))));
        }
    }
    text
}

fn cell(figure: &MetricFigure, with_interval: bool) -> String {
    let value = number_or_nothing(figure.value);
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

fn total_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + width_of(GAP) * widths.len().saturating_sub(1)
}
