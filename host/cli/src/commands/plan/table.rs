//! Table of a plan, as wide as the terminal, or 80 columns without one.

use super::cells::{GAP, aligned, cost, count, duration, spread, whole};
use super::detectable;
use super::shards::ShardPlan;
use super::uses::SuiteUses;
use crate::arguments::PlanArguments;
use crate::terminal::{self, Style, wrap_words};
use gage_engine::{Estimate, Plan, PluginEstimate, Range, TaskEstimate, TokensBy};

/// Width without a terminal.
const DEFAULT_WIDTH: usize = 80;
const TITLES: [&str; 7] = ["task", "samples", "requests", "tokens", "cost", "time", "detects"];
/// Columns to leave out one by one on a terminal that is too narrow: `detects` and `tokens`.
const SPARE: [usize; 2] = [6, 3];
const PLUGIN_TITLES: [&str; 5] = ["plugin", "CPU a sample", "CPU", "fuel a sample", "memory"];
/// Columns of plugins to leave out on a terminal that is too narrow: the fuel.
const SPARE_OF_PLUGINS: [usize; 1] = [3];

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
    /// The run in shards, if they are asked for.
    pub(super) shards: Option<&'p ShardPlan<'p>>,
}

/// Formats the plan for display.
pub(super) fn render(arguments: &PlanArguments, parts: &PlanParts<'_>) -> String {
    let PlanParts { plan, estimate, exceeded, uses, shards } = *parts;
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
    if let Some(shards) = shards {
        lines.push(String::new());
        lines.extend(shards.lines(&style));
    }
    lines.extend(plugin_lines(estimate, &style));
    lines.push(String::new());
    lines.extend(uses_lines(uses, &style));
    lines.push(String::new());
    let width = width();
    let of_shards = shards.map(ShardPlan::notes).unwrap_or_default();
    for note in notes(arguments, plan, estimate).into_iter().chain(of_shards) {
        lines.extend(wrap_words(&note, width, GAP).lines().map(|line| style.dim(line)));
    }
    let warnings = exceeded.iter().cloned().chain(shards.map(ShardPlan::warnings).unwrap_or_default());
    lines.extend(warnings.map(|line| wrap_words(&format!("warning: {line}"), width, GAP)));
    lines.join("\n")
}

fn width() -> usize {
    terminal::terminal_width().unwrap_or(DEFAULT_WIDTH)
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
        let none = "this suite uses no variables, hosts or plugins, and no files outside its folder";
        return vec![wrap_words(none, width(), GAP)];
    }
    let mut lines = vec![style.bold("this suite uses")];
    for (kind, text) in entries {
        let line = format!("  {kind:USES_COLUMN_WIDTH$}{text}");
        lines.push(wrap_words(&line, width(), GAP + USES_COLUMN_WIDTH));
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
    let mut rows = vec![PLUGIN_TITLES.map(str::to_owned)];
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
    let all = Vec::from_iter(0..PLUGIN_TITLES.len());
    let formatted = match terminal::terminal_width() {
        Some(width) => aligned(&rows, all, &SPARE_OF_PLUGINS, width),
        None => aligned(&rows, all, &[], usize::MAX),
    };
    lines.extend(formatted.iter().enumerate().map(|(place, line)| match place {
        0 => style.bold(line),
        _ => line.clone(),
    }));
    if more > 0 {
        lines.push(style.dim(&format!("and {more} more plugins (--json lists all)")));
    }
    lines
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

/// Formats rows under their titles. Columns without a value are left out.
fn table(rows: &[Row], style: &Style) -> Vec<String> {
    let is_empty =
        |place: usize| place > 0 && rows.iter().all(|row| row[place].is_empty() || row[place] == "–");
    let shown = (0..TITLES.len()).filter(|place| !is_empty(*place)).collect();
    let all: Vec<Row> = std::iter::once(TITLES.map(str::to_owned)).chain(rows.iter().cloned()).collect();
    let mut lines = match terminal::terminal_width() {
        Some(width) => aligned(&all, shown, &SPARE, width),
        None => aligned(&all, shown, &[], DEFAULT_WIDTH),
    };
    if let Some(titles) = lines.first_mut() {
        *titles = style.bold(titles);
    }
    lines
}

/// Formats a duration in its two largest units.
fn processor_time(seconds: f64) -> String {
    match seconds {
        short if short < 0.0005 => "<1ms".to_owned(),
        short if short < 0.9995 => format!("{:.0}ms", short * 1e3),
        long => duration(long),
    }
}
