//! `gage-host runs trend`: shows the figures of a suite over time.

use super::super::history;
use crate::arguments::RunsTrendArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_history::{Baseline, BaselineState, FlipRate, History, HistoryError, Trend, TrendPoint};
use serde_json::json;

/// Maximum length of a run or model name in the table, in characters.
const MAX_NAME_CHARS: usize = 22;

const ONE_MODEL: terminal::Table<6> = terminal::Table {
    headings: ["run", "started", "value", "change", "95% interval", "scored"],
    flexible: &[0],
    spare: &[1],
};

const SEVERAL_MODELS: terminal::Table<7> = terminal::Table {
    headings: ["run", "model", "started", "value", "change", "95% interval", "scored"],
    flexible: &[0, 1],
    spare: &[2],
};

/// Data of a suite.
struct TrendOutput {
    trends: Vec<Trend>,
    flips: Vec<FlipRate>,
    baseline: Option<Baseline>,
    /// Descriptions of edited runs.
    edited: Vec<String>,
}

pub(super) fn execute(arguments: &RunsTrendArguments) -> anyhow::Result<ExitCode> {
    let Some(history) = history::open(&arguments.runs.output_dir).map_err(history::refuse)? else {
        let message = format!("there is no folder {}", gage_config::shown_path(&arguments.runs.output_dir));
        return Ok(terminal::usage_error(&message, Some("name the folder of runs with --output-dir")));
    };
    let mut answer = read(&history, arguments).map_err(history::refuse)?;
    for trend in &mut answer.trends {
        let older = trend.points.len().saturating_sub(arguments.last);
        trend.points.drain(..older);
    }
    for edited in &answer.edited {
        terminal::eprint_line(gage_core::printable_line(&format!("warning: {edited}")));
    }
    if arguments.runs.json {
        let TrendOutput { trends, flips, baseline, edited } = answer;
        let suite = &arguments.suite;
        let answer = json!({
            "suite": suite, "baseline": baseline, "trends": trends, "flip_rates": flips, "edited": edited,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else if answer.trends.is_empty() {
        terminal::eprint_line(format_args!("no run of the suite '{}' is finished", arguments.suite));
    } else {
        let parts: Vec<String> = answer.trends.iter().map(|trend| part(trend, &answer)).collect();
        terminal::print_line(parts.join("\n\n"))?;
        let has = |check: &dyn Fn(&TrendPoint) -> bool| {
            answer.trends.iter().flat_map(|trend| &trend.points).any(check)
        };
        if has(&|point| answer.is_baseline(point)) {
            terminal::eprint_line("* the baseline");
        }
        if has(&|point| point.is_redefined) {
            terminal::eprint_line(
                "! the suite differs from that of the previous run, which may change figures",
            );
        }
        if has(&|point| point.figure.total_is_least) {
            terminal::eprint_line("+ the run was stopped, and the number of remaining samples is unknown");
        }
    }
    Ok(ExitCode::Done)
}

fn read(history: &History, arguments: &RunsTrendArguments) -> Result<TrendOutput, HistoryError> {
    let suite = &arguments.suite;
    let trends = history.trend(suite, arguments.metric.as_deref())?;
    let mut flips = history.flip_rate(suite)?;
    flips.retain(|rate| arguments.metric.as_ref().is_none_or(|metric| *metric == rate.metric_id));
    let runs = history.runs_of(suite)?;
    let edited = runs.iter().filter_map(|run| Some(format!("{}: {}", run.label(), run.edited.as_ref()?)));
    Ok(TrendOutput { trends, flips, baseline: history.baseline(suite)?, edited: edited.collect() })
}

impl TrendOutput {
    fn is_baseline(&self, point: &TrendPoint) -> bool {
        let is_there = |baseline: &&Baseline| baseline.state != BaselineState::Gone;
        self.baseline.as_ref().filter(is_there).is_some_and(|baseline| baseline.folder_name() == point.folder)
    }
}

/// Formats a metric: its table, and its flip rate.
fn part(trend: &Trend, answer: &TrendOutput) -> String {
    let direction = if trend.higher_is_better { "more is better" } else { "less is better" };
    let models: Vec<&Option<String>> = trend.points.iter().map(|point| &point.model).collect();
    let is_one_model = models.windows(2).all(|pair| pair[0] == pair[1]);
    let of_model = match models.first() {
        Some(Some(model)) if is_one_model => format!(", {model}"),
        _ => String::new(),
    };
    let heading = format!("{} of {} ({direction}{of_model})", trend.metric_id, trend.task_id);
    let mut lines = vec![terminal::wrapped(&gage_core::printable_line(&heading), 2)];
    let mut before = None;
    let rows: Vec<[String; 6]> = trend
        .points
        .iter()
        .map(|point| {
            let row = row(point, before, answer);
            before = point.figure.value.or(before);
            row
        })
        .collect();
    lines.push(if is_one_model {
        ONE_MODEL.draw(&rows)
    } else {
        let with_model: Vec<[String; 7]> = rows.into_iter().zip(&trend.points).map(with_model).collect();
        SEVERAL_MODELS.draw(&with_model)
    });
    let of_metric =
        answer.flips.iter().filter(|rate| rate.task_id == trend.task_id && rate.metric_id == trend.metric_id);
    for FlipRate { model, pairs, compared, flips, rate, .. } in of_metric {
        let of_model = model.as_ref().filter(|_| !is_one_model).map(|model| format!(", {model}"));
        let text = format!(
            "  {:.2}% of the answers changed between equal runs ({flips} of {compared}, {}{})",
            rate * 100.0,
            terminal::count_of(*pairs, "pair"),
            of_model.unwrap_or_default()
        );
        lines.push(terminal::wrapped(&gage_core::printable_line(&text), 4));
    }
    lines.join("\n")
}

fn row(point: &TrendPoint, before: Option<f64>, answer: &TrendOutput) -> [String; 6] {
    let figure = &point.figure;
    let nothing = || "–".to_owned();
    let change = before.zip(figure.value).map(|(before, now)| format!("{:+.4}", now - before));
    let interval = figure.low.zip(figure.high).map(|(low, high)| format!("{low:.4} – {high:.4}"));
    let mark = match (answer.is_baseline(point), point.is_redefined) {
        (true, true) => " *!",
        (true, false) => " *",
        (false, true) => " !",
        (false, false) => "",
    };
    let name = gage_core::printable_line(&point.label);
    let begun: String = point.created_at.chars().take("2026-01-01T00:00".len()).collect();
    [
        format!("{}{mark}", terminal::shortened(&name, MAX_NAME_CHARS)),
        gage_core::printable_line(&begun.replace('T', " ")).into_owned(),
        figure.value.map_or_else(nothing, |value| format!("{value:.4}")),
        change.unwrap_or_else(nothing),
        interval.unwrap_or_else(nothing),
        format!("{}/{}{}", figure.n, figure.total, if figure.total_is_least { "+" } else { "" }),
    ]
}

fn with_model(row: ([String; 6], &TrendPoint)) -> [String; 7] {
    let ([run, begun, value, change, interval, scored], point) = row;
    let model = gage_core::printable_line(point.model.as_deref().unwrap_or("–")).into_owned();
    [run, terminal::shortened(&model, MAX_NAME_CHARS), begun, value, change, interval, scored]
}
