//! The figures of a run as a table for a terminal.

mod cells;
mod numbers;
mod rows;
mod side_by_side;

use crate::{
    JudgeFigure, LatencyFigures, MetricFigure, SampleFigures, Summary, TaskSummary, Timings, describe_served,
};
use anstyle::{AnsiColor, Style};
use cells::{
    Align, MIN_NAME_COLUMNS, MIN_SHORT_NAME_COLUMNS, fitted, narrow, total_width, width_of, wrapped,
};
use gage_core::{Outcome, printable_line};
use itertools::Itertools as _;
pub use numbers::percent_rounded_down;
use numbers::{duration, milliseconds};
pub use rows::unit_of;
use rows::{TableRow, rows_of};
pub use side_by_side::render_side_by_side;

/// Options for rendering a table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions<'a> {
    /// Width of the terminal in columns. If the table is wider, names are cut and less important columns are left out.
    pub width: usize,
    /// True to use colours.
    pub colour: bool,
    /// Path of the run folder, if it is to be shown.
    pub run_folder: Option<&'a str>,
    /// True for a run that was merged from shards. Its process asked nothing, and the shards ran at different times, so there
    /// are no rates.
    pub is_merged: bool,
}

const INDENT: &str = "  ";
const GAP: &str = "  ";
const TIME_GAP: &str = " · ";
const HEADER: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const ATTENTION: Style = AnsiColor::Yellow.on_default();
/// The columns, with the alignment of their cells.
const COLUMNS: [(&str, Align); 6] = [
    ("task", Align::Left),
    ("metric", Align::Left),
    ("value", Align::Right),
    ("95% interval", Align::Right),
    ("scored", Align::Right),
    ("coverage", Align::Right),
];
/// Number of leading columns that hold names, which may be cut.
const NAME_COLUMNS: usize = 2;
/// Places of columns.
const VALUE: usize = 2;
const INTERVAL: usize = 3;
const SCORED: usize = 4;
const COVERAGE: usize = 5;

/// Renders the figures as a table: a row for every metric of every task, with rows for its parts below it.
///
/// Below the table there is a line for every task with unscored samples, every judge with unreadable replies, every
/// aggregator that failed, and every task whose server changed its model. The times and the path of the run folder follow. All names are escaped; the text ends with a
/// newline.
pub fn render_table(summary: &Summary, timings: &Timings, options: &TableOptions<'_>) -> String {
    let paint = Paint { colour: options.colour };
    let mut lines = metric_lines(summary, timings, options, paint);
    let mut ends = outcome_lines(summary, timings);
    ends.extend(judge_lines(summary));
    ends.extend(error_lines(summary, timings));
    ends.extend(served_lines(summary));
    if !ends.is_empty() {
        lines.push(String::new());
        lines.extend(ends.iter().flat_map(|text| notice(text, options.width, paint)));
    }
    lines.push(String::new());
    lines.extend(time_lines(timings, options));
    if let Some(folder) = options.run_folder {
        lines.push(format!("{INDENT}{}", paint.with(FAINT, &printable_line(folder))));
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn with(self, style: Style, text: &str) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn metric_lines(
    summary: &Summary,
    timings: &Timings,
    options: &TableOptions<'_>,
    paint: Paint,
) -> Vec<String> {
    let mut rows: Vec<TableRow> = Vec::new();
    for task in &summary.tasks {
        let of_task = |figure: &&MetricFigure| figure.task_id == task.task_id;
        let timing_metrics = timings.timing_metrics.iter().filter(of_task);
        for (position, figure) in task.metrics.iter().chain(timing_metrics).enumerate() {
            let task_name =
                if position == 0 { printable_line(&task.task_id).into_owned() } else { String::new() };
            rows.extend(rows_of(task_name, figure));
        }
    }
    if rows.is_empty() {
        return vec![format!("{INDENT}no metrics")];
    }
    write_units(&mut rows);
    let mut widths = COLUMNS.map(|(title, _)| width_of(title));
    for row in &rows {
        widths.iter_mut().zip(&row.cells).for_each(|(width, cell)| *width = width_of(cell).max(*width));
    }
    let shown = fit(&mut widths, options.width.saturating_sub(width_of(INDENT)));
    let columns = || shown.iter().map(move |column| (*column, COLUMNS[*column], widths[*column]));
    let mut header =
        columns().map(|(_, (title, align), width)| paint.with(HEADER, &fitted(title, width, align)));
    let total = total_width(&columns().map(|(.., width)| width).collect::<Vec<_>>(), width_of(GAP));
    let mut lines = vec![
        format!("{INDENT}{}", header.join(GAP)),
        format!("{INDENT}{}", paint.with(FAINT, &"─".repeat(total))),
    ];
    let last = shown.last().copied();
    for TableRow { cells, is_part, is_partial, .. } in rows {
        let mut cells = columns().map(|(column, (_, align), width)| {
            let cell = fitted(&cells[column], width, align);
            match (is_part, is_partial && Some(column) == last) {
                (_, true) => paint.with(ATTENTION, &cell),
                (true, false) => paint.with(FAINT, &cell),
                (false, false) => cell,
            }
        });
        lines.push(format!("{INDENT}{}", cells.join(GAP)));
    }
    lines
}

/// Writes the unit after each value that has one. The digits of the others stay in line with those.
fn write_units(rows: &mut [TableRow]) {
    let width = rows.iter().map(|row| row.unit.len()).max().unwrap_or_default();
    if width == 0 {
        return;
    }
    for row in rows.iter_mut().filter(|row| !row.cells[VALUE].is_empty()) {
        let unit = row.unit;
        row.cells[VALUE].push_str(&format!(" {unit:width$}"));
    }
}

/// Returns the columns that fit a width, and narrows those of names. Figures are never cut.
fn fit(widths: &mut [usize; COLUMNS.len()], room: usize) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    let gap = width_of(GAP);
    for (least, dropped) in [
        (MIN_NAME_COLUMNS, None),
        (MIN_NAME_COLUMNS, Some(COVERAGE)),
        (MIN_SHORT_NAME_COLUMNS, None),
        (MIN_SHORT_NAME_COLUMNS, Some(INTERVAL)),
        (MIN_SHORT_NAME_COLUMNS, Some(SCORED)),
    ] {
        shown.retain(|column| Some(*column) != dropped);
        let mut of_shown: Vec<usize> = shown.iter().map(|column| widths[*column]).collect();
        narrow(&mut of_shown, NAME_COLUMNS, room, gap, least);
        if total_width(&of_shown, gap) <= room {
            shown.iter().zip(of_shown).for_each(|(column, width)| widths[*column] = width);
            return shown;
        }
    }
    widths.iter_mut().take(NAME_COLUMNS).for_each(|width| *width = MIN_SHORT_NAME_COLUMNS.min(*width));
    shown
}

/// Formats a notice below the table, on as many lines as it needs.
fn notice(text: &str, width: usize, paint: Paint) -> Vec<String> {
    let indent = width_of(INDENT);
    let lines =
        wrapped(&printable_line(text), width.saturating_sub(indent), width.saturating_sub(2 * indent));
    let indents = std::iter::once(1).chain(std::iter::repeat(2));
    let line =
        |(line, times): (String, usize)| format!("{}{}", INDENT.repeat(times), paint.with(ATTENTION, &line));
    lines.into_iter().zip(indents).map(line).collect()
}

/// Returns a line for each metric that has no value although samples were scored, with the reason.
fn error_lines(summary: &Summary, timings: &Timings) -> Vec<String> {
    let line = |figure: &MetricFigure| {
        let error = figure.error.as_ref()?;
        Some(format!("{}: {}: {error}", figure.task_id, figure.metric_id))
    };
    let tasks = summary.tasks.iter().flat_map(|task| &task.metrics);
    tasks.chain(&timings.timing_metrics).filter_map(line).collect()
}

/// Returns a line for each task whose server changed its model during the run.
fn served_lines(summary: &Summary) -> Vec<String> {
    let changed = summary.tasks.iter().filter(|task| task.served.len() > 1);
    let line = |task: &TaskSummary| {
        let served = describe_served(&task.served);
        format!("{}: the server changed its model during the run: {served}", task.task_id)
    };
    changed.map(line).collect()
}

/// Returns a line for each task with samples that were not scored, or that the run did not reach.
fn outcome_lines(summary: &Summary, timings: &Timings) -> Vec<String> {
    let line = |task: &TaskSummary| {
        let of_task = |figure: &&MetricFigure| figure.task_id == task.task_id;
        let timing_metrics = timings.timing_metrics.iter().filter(of_task);
        let of_plugins = plugin_failures(&task.metrics.iter().chain(timing_metrics).collect_vec());
        let differs = !of_plugins.is_empty();
        let is_shown =
            |outcome: Outcome| outcome != Outcome::Scored && !(differs && PLUGIN_FAILURES.contains(&outcome));
        let of_samples = task.samples.outcomes.iter().filter(|(outcome, _)| is_shown(**outcome));
        let ends: Vec<String> = of_samples
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .chain(of_plugins)
            .chain(not_reached(&task.samples))
            .collect();
        (!ends.is_empty()).then(|| format!("{}: {}", task.task_id, ends.join(", ")))
    };
    summary.tasks.iter().filter_map(line).collect()
}

/// Outcomes of a plugin that failed. Those of metrics may differ for one sample, whose outcome is that of the first.
const PLUGIN_FAILURES: [Outcome; 2] = [Outcome::PluginError, Outcome::PluginTimeout];

/// Returns the number of failures of each metric's plugin, with the names of the metrics that failed as often:
/// `5 plugin_error (one, two)`. Empty if all metrics have the same, as for samples that failed before they were scored.
fn plugin_failures(figures: &[&MetricFigure]) -> Vec<String> {
    let counts_of = |figure: &MetricFigure| {
        PLUGIN_FAILURES.map(|outcome| figure.outcomes.get(&outcome).copied().unwrap_or_default())
    };
    if figures.iter().map(|figure| counts_of(figure)).all_equal() {
        return Vec::new();
    }
    let mut groups: Vec<(Outcome, u64, Vec<&str>)> = Vec::new();
    for figure in figures {
        let name = figure.metric_id.as_str();
        for (outcome, count) in
            PLUGIN_FAILURES.into_iter().zip(counts_of(figure)).filter(|(_, count)| *count > 0)
        {
            match groups.iter_mut().find(|group| (group.0, group.1) == (outcome, count)) {
                Some((.., metrics)) => metrics.push(name),
                None => groups.push((outcome, count, vec![name])),
            }
        }
    }
    groups
        .into_iter()
        .map(|(outcome, count, metrics)| format!("{count} {outcome} ({})", metrics.join(", ")))
        .collect()
}

/// Describes the samples that the run did not reach.
fn not_reached(samples: &SampleFigures) -> Option<String> {
    match (samples.total_is_least, samples.not_reached) {
        (true, _) => Some("it was stopped early, and the number of remaining samples is unknown".to_owned()),
        (false, 0) => None,
        (false, left) => Some(format!("{left} not reached")),
    }
}

/// Returns a line for each judge that gave no readable reply for some answers.
fn judge_lines(summary: &Summary) -> Vec<String> {
    let line = |task: &TaskSummary, judge: &JudgeFigure| {
        let JudgeFigure { judge_id, asked, unreadable, asked_again, .. } = judge;
        format!(
            "{}: judge {judge_id}: no reply could be read about {unreadable} of {asked} answers; it was asked again about \
             {asked_again}",
            task.task_id
        )
    };
    let judges = summary.tasks.iter().flat_map(|task| task.judges.iter().map(move |judge| (task, judge)));
    judges.filter(|(_, judge)| judge.unreadable > 0).map(|(task, judge)| line(task, judge)).collect()
}

/// Returns the number of samples of this process, if others did the rest, and its rate.
fn process_parts(timings: &Timings) -> Vec<String> {
    let mut parts = Vec::new();
    let are_judged = timings.samples == 0 && timings.tasks.iter().any(|task| task.judge.is_some());
    if are_judged && timings.finished > 0 {
        parts.push(format!("{} of {} samples judged now", timings.finished, timings.samples_of_run));
    } else if timings.samples < timings.samples_of_run {
        parts.push(format!("{} of {} samples asked now", timings.samples, timings.samples_of_run));
    }
    parts.extend(timings.throughput_total_samples_per_s.map(|rate| format!("{rate:.1} samples/s")));
    parts
}

/// Returns the times, wrapped over as many lines as needed.
fn time_lines(timings: &Timings, options: &TableOptions<'_>) -> Vec<String> {
    let TableOptions { width, is_merged, .. } = *options;
    // For a resumed run, everything below except the latencies covers only the last process.
    let mut parts = if is_merged { Vec::new() } else { process_parts(timings) };
    parts.push(format!("{} in all", duration(timings.wall_runtime_s)));
    for (name, latency) in [("model calls", timings.latency), ("first token", timings.first_token)] {
        let Some(LatencyFigures { p50_ms, p95_ms, .. }) = latency else { continue };
        parts.push(format!("{name} p50 {}, p95 {}", milliseconds(p50_ms), milliseconds(p95_ms)));
    }
    if timings.prompt_tokens > 0 || timings.completion_tokens > 0 {
        parts.push(format!("{} tokens in, {} out", timings.prompt_tokens, timings.completion_tokens));
    }
    if let Some(rate) = timings.throughput_completion_tokens_per_s.filter(|_| !is_merged) {
        parts.push(format!("{rate:.0} tokens/s"));
    }
    match timings.retries {
        0 => {}
        1 => parts.push("1 retry".to_owned()),
        retries => parts.push(format!("{retries} retries")),
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(TIME_GAP) + width_of(&part) <= width => {
                line.push_str(TIME_GAP);
                line.push_str(&part);
            }
            _ => lines.push(format!("{INDENT}{part}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
