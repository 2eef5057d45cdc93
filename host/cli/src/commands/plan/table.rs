//! Table of a plan, 80 columns wide.

use super::detectable;
use super::uses::SuiteUses;
use crate::arguments::PlanArguments;
use crate::terminal::Style;
use gage_engine::{Estimate, Plan, PluginEstimate, Range, TaskEstimate, TokensBy};
use unicode_width::UnicodeWidthStr as _;

const WIDTH: usize = 80;
/// Number of spaces between columns.
const GAP: usize = 2;
/// Minimum width of a shortened name column.
const MIN_FIRST_COLUMN_WIDTH: usize = 8;
const TITLES: [&str; 7] = ["task", "samples", "requests", "tokens", "cost", "time", "detects"];

type Row = [String; TITLES.len()];

/// Width of the names of what a suite uses.
const USES_COLUMN_WIDTH: usize = 11;

/// The parts of a plan that are shown.
pub(super) struct PlanParts<'p> {
    pub(super) plan: &'p Plan,
    pub(super) estimate: &'p Estimate,
    /// The budgets that the run may exceed, in words.
    pub(super) exceeded: &'p [String],
    pub(super) uses: &'p SuiteUses,
}

/// Formats the plan for display.
pub(super) fn render(arguments: &PlanArguments, parts: &PlanParts<'_>) -> String {
    let PlanParts { plan, estimate, exceeded, uses } = *parts;
    let style = Style::of_stdout();
    let mut rows: Vec<Row> = Vec::new();
    for task in &estimate.tasks {
        rows.push(row_of(task, detectable(plan, task)));
        if task.requests.len() > 1 {
            rows.extend(task.requests.iter().map(|request| {
                let tokens = request.prompt_tokens + request.completion_tokens;
                let name = format!("  {}", request.adapter_id);
                let time = spread(request.seconds, duration);
                [
                    name,
                    String::new(),
                    whole(request.requests),
                    whole(tokens),
                    cost(request.cost),
                    time,
                    String::new(),
                ]
            }));
        }
    }
    if estimate.tasks.len() > 1 {
        let tokens = estimate.prompt_tokens + estimate.completion_tokens;
        let samples: u64 = estimate.tasks.iter().filter_map(|task| task.samples).sum();
        rows.push([
            "total".to_owned(),
            count(samples as f64),
            whole(estimate.requests),
            whole(tokens),
            cost(estimate.cost),
            spread(estimate.seconds, duration),
            String::new(),
        ]);
    }
    let mut lines = vec![style.bold(&arguments.config.path().display().to_string()), String::new()];
    lines.extend(table(&rows, &style));
    lines.extend(plugin_lines(estimate, &style));
    lines.push(String::new());
    lines.extend(uses_lines(uses, &style));
    lines.push(String::new());
    for note in notes(arguments, plan, estimate) {
        lines.extend(words(&note, WIDTH).into_iter().map(|line| style.dim(&line)));
    }
    lines.extend(exceeded.iter().flat_map(|line| words(&format!("warning: {line}"), WIDTH)));
    lines.join("\n")
}

/// Returns how the numbers were estimated.
fn notes(arguments: &PlanArguments, plan: &Plan, estimate: &Estimate) -> Vec<String> {
    let (least, most) = arguments.latency;
    let latency = if least == most { format!("{least} s") } else { format!("{least} to {most} s") };
    let mut notes = vec![
        format!(
            "tokens: {}, over the prompts of the first rows; completions from a tenth of max_new_tokens (256 \
             if it is not set) to all of it",
            counted(estimate)
        ),
        format!("time: {latency} for a request (--latency), as many in flight as the suite allows"),
    ];
    if estimate.tasks.iter().any(|task| detectable(plan, task).is_some()) {
        notes.push(
            "detects: the smallest loss of a 0/1 score that `compare` detects in four runs of five at the 5 \
             % level, if half of the samples change; if fewer change, smaller losses are detected"
                .to_owned(),
        );
    }
    if estimate.tasks.iter().any(|task| !task.plugins.is_empty()) {
        notes.push(
            "plugins: measured over the first rows, with the reference as the answer; fuel counts instructions, \
             and memory is the most of one instance"
                .to_owned(),
        );
    }
    for task in &estimate.tasks {
        notes.extend(task.notes.iter().map(|note| format!("{}: {note}", task.task_id)));
    }
    notes
}

/// Formats what the suite uses outside its own folder.
fn uses_lines(uses: &SuiteUses, style: &Style) -> Vec<String> {
    let entries = uses.entries();
    if entries.is_empty() {
        return vec![
            "this suite uses no variables, hosts or plugins, and no files outside its folder".to_owned(),
        ];
    }
    let mut lines = vec![style.bold("this suite uses")];
    for (kind, text) in entries {
        let lines_of_kind = words(&text, WIDTH - GAP - USES_COLUMN_WIDTH);
        for (place, line) in lines_of_kind.iter().filter(|line| !line.is_empty()).enumerate() {
            let kind = if place == 0 { kind } else { "" };
            lines.push(format!("  {kind:USES_COLUMN_WIDTH$}{}", line.trim_start()));
        }
    }
    lines
}

/// Maximum number of plugins that are shown.
const MAX_PLUGIN_LINES: usize = 8;

/// Formats what the plugins of all tasks cost, the most expensive first.
fn plugin_lines(estimate: &Estimate, style: &Style) -> Vec<String> {
    let several = estimate.tasks.len() > 1;
    let mut plugins: Vec<(&TaskEstimate, &PluginEstimate)> = estimate
        .tasks
        .iter()
        .flat_map(|task| task.plugins.iter().map(move |plugin| (task, plugin)))
        .collect();
    plugins.sort_by(|(_, one), (_, other)| other.cpu_s.total_cmp(&one.cpu_s));
    if plugins.is_empty() {
        return Vec::new();
    }
    let more = plugins.len().saturating_sub(MAX_PLUGIN_LINES);
    let titles = ["plugin", "CPU a sample", "CPU", "fuel a sample", "memory"].map(str::to_owned);
    let mut rows = vec![titles];
    rows.extend(plugins.iter().take(MAX_PLUGIN_LINES).map(|(task, plugin)| {
        let name = format!("{} ({})", plugin.member, plugin.kind);
        [
            if several { format!("{name} of {}", task.task_id) } else { name },
            format!("{:.1} µs", plugin.cpu_us_per_sample),
            processor_time(plugin.cpu_s),
            count(plugin.fuel_per_sample as f64),
            format!("{:.1} MB", plugin.peak_memory_bytes as f64 / 1e6),
        ]
    }));
    let mut lines = vec![String::new()];
    let formatted = aligned(&rows);
    lines.extend(formatted.iter().enumerate().map(|(place, line)| match place {
        0 => style.bold(line),
        _ => line.clone(),
    }));
    if more > 0 {
        lines.push(style.dim(&format!("and {more} more plugins (--json lists all)")));
    }
    lines
}

/// Formats rows with names on the left and figures on the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] =
        std::array::from_fn(|place| rows.iter().map(|row| row[place].width()).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate().map(|(place, (cell, width))| {
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            if place == 0 { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Describes how tokens are counted, and for which tasks if there are several ways.
fn counted(estimate: &Estimate) -> String {
    let ways = [
        (TokensBy::Model, "by the vocabulary of the model's file"),
        (TokensBy::Tokenizer, "by the tokenizer"),
        (TokensBy::Bytes, "estimated at 4 bytes each (--tokenizer counts them)"),
    ];
    let used = ways.map(|(by, words)| {
        let tasks = estimate.tasks.iter().filter(|task| task.tokens_by == by);
        (words, tasks.map(|task| task.task_id.as_str()).collect::<Vec<_>>())
    });
    let used: Vec<(&str, Vec<&str>)> = used.into_iter().filter(|(_, tasks)| !tasks.is_empty()).collect();
    match used.as_slice() {
        [(words, _)] => (*words).to_owned(),
        several => {
            let several = several.iter().map(|(words, tasks)| format!("{words} ({})", tasks.join(", ")));
            several.collect::<Vec<_>>().join("; ")
        }
    }
}

fn row_of(task: &TaskEstimate, detectable: Option<f64>) -> Row {
    let sum = |of: fn(&gage_engine::RequestEstimate) -> Range| {
        task.requests.iter().map(of).fold(Range::default(), std::ops::Add::add)
    };
    let tokens = sum(|request| request.prompt_tokens + request.completion_tokens);
    let priced: Vec<Range> = task.requests.iter().filter_map(|request| request.cost).collect();
    let priced = (!priced.is_empty()).then(|| priced.into_iter().fold(Range::default(), std::ops::Add::add));
    let Some(samples) = task.samples else {
        let unknown = || "?".to_owned();
        return [task.task_id.clone(), unknown(), unknown(), unknown(), unknown(), unknown(), String::new()];
    };
    let at_least = if task.is_at_least { "≥" } else { "" };
    let shown = detectable.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0));
    [
        task.task_id.clone(),
        format!("{at_least}{}", count(samples as f64)),
        whole(sum(|request| request.requests)),
        whole(tokens),
        cost(priced),
        spread(task.seconds, duration),
        shown,
    ]
}

/// Formats rows under their titles, with names on the left and figures on the right.
fn table(rows: &[Row], style: &Style) -> Vec<String> {
    let titles: Row = TITLES.map(str::to_owned);
    let is_empty =
        |place: usize| place > 0 && rows.iter().all(|row| row[place].is_empty() || row[place] == "–");
    let kept: Vec<usize> = (0..TITLES.len()).filter(|place| !is_empty(*place)).collect();
    let mut widths: Vec<usize> = kept
        .iter()
        .map(|place| rows.iter().chain([&titles]).map(|row| row[*place].width()).max().unwrap_or(0))
        .collect();
    let total: usize = widths.iter().sum::<usize>() + GAP * kept.len().saturating_sub(1);
    if let Some(first) = widths.first_mut() {
        *first = first.saturating_sub(total.saturating_sub(WIDTH)).max(MIN_FIRST_COLUMN_WIDTH.min(*first));
    }
    let line = |row: &Row| {
        let cells = kept.iter().zip(&widths).map(|(place, width)| {
            let cell = console::truncate_str(&row[*place], *width, "…");
            let blanks = " ".repeat(width.saturating_sub(cell.width()));
            if *place == 0 { cell.into_owned() + &blanks } else { blanks + &cell }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    std::iter::once(style.bold(&line(&titles))).chain(rows.iter().map(line)).collect()
}

/// Wraps a text between words, at a maximum width in columns.
fn words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let begins = lines.last().is_some_and(|line| line.width() + 1 + word.width() > width);
        match lines.last_mut() {
            Some(line) if !begins => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}

fn whole(range: Range) -> String {
    spread(range, count)
}

fn cost(range: Option<Range>) -> String {
    let amount = |amount: f64| match amount {
        0.0 => "0".to_owned(),
        small if small < 0.01 => format!("{small:.4}"),
        amount if amount < 1_000.0 => format!("{amount:.2}"),
        large => count(large),
    };
    range.map_or_else(|| "–".to_owned(), |range| spread(range, amount))
}

/// Formats a range, or its only value.
fn spread(range: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(range.low), show(range.high));
    if low == high { low } else { format!("{low}–{high}") }
}

/// Formats a count in at most five columns.
fn count(number: f64) -> String {
    match number {
        small if small < 10_000.0 => format!("{small:.0}"),
        number if number < 999_500.0 => format!("{:.0}k", number / 1e3),
        number if number < 9.95e6 => format!("{:.1}M", number / 1e6),
        number if number < 9.995e8 => format!("{:.0}M", number / 1e6),
        number => format!("{:.1}G", number / 1e9),
    }
}

/// Formats a duration in its two largest units.
fn processor_time(seconds: f64) -> String {
    match seconds {
        short if short < 0.0005 => "<1ms".to_owned(),
        short if short < 0.9995 => format!("{:.0}ms", short * 1e3),
        long => duration(long),
    }
}

fn duration(seconds: f64) -> String {
    // Durations stay far below 2^53 seconds, and are not negative.
    let whole = seconds.ceil() as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3_600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3_600..172_800 => format!("{}h{:02}m", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (number, shown) in
            [(0.0, "0"), (9_999.0, "9999"), (14_042.0, "14k"), (1.23e6, "1.2M"), (5e7, "50M"), (2e9, "2.0G")]
        {
            assert_eq!(count(number), shown);
        }
        for (seconds, shown) in [(0.2, "1s"), (61.0, "1m01s"), (7_260.0, "2h01m"), (200_000.0, "2d07h")] {
            assert_eq!(duration(seconds), shown);
        }
        assert_eq!(words("one two three", 7), ["one two", "  three"]);
    }
}
