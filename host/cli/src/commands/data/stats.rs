//! `gage-host data stats`: prints statistics of the Samples.

use crate::arguments::StatsArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, RowProgress, Style};
use gage_data::{Statistics, StatisticsReport, TokenCounter};
use gage_engine::LocatedDataset;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use unicode_width::UnicodeWidthStr as _;

pub(super) fn stats(arguments: &StatsArguments) -> anyhow::Result<ExitCode> {
    let datasets = super::datasets(&arguments.data, true)?;
    let mut all = Vec::new();
    for dataset in &datasets {
        let tokens = arguments.tokenizer.as_deref().map(TokenCounter::read).transpose();
        let help = Some("give a tokenizer.json, or its folder");
        let tokens = tokens.map_err(|message| terminal::usage_error(&message, help))?;
        let mut statistics = Statistics::new(tokens);
        let mut rejected = 0_u64;
        let progress = RowProgress::new(&dataset.planned.spec.dataset_id, arguments.data.print.quiet);
        let read = super::read(
            dataset,
            arguments.data.max_samples,
            |sample| sample,
            |prepared| {
                match &prepared.result {
                    Ok(sample) => statistics.add(sample),
                    Err(_) => rejected += 1,
                }
                progress.row();
                ControlFlow::Continue(())
            },
        );
        progress.finish();
        let report = statistics.finish();
        if arguments.data.print.json {
            all.push(to_json(dataset, &report, rejected)?);
        } else {
            show(dataset, &report, rejected)?;
        }
        if let Some(error) = &read.failure {
            return Ok(super::refuse(dataset, error));
        }
    }
    if arguments.data.print.json {
        let json = json!({"datasets": all});
        terminal::print_json(format_args!("{json:#}"))?;
    }
    Ok(ExitCode::Done)
}

fn to_json(dataset: &LocatedDataset, report: &StatisticsReport, rejected: u64) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    value["dataset_id"] = dataset.planned.spec.dataset_id.as_str().into();
    value["source"] = json!(dataset.located.identity);
    value["rejected"] = rejected.into();
    Ok(value)
}

/// Width of the column of names.
const NAME_WIDTH: usize = 22;

/// Columns of numbers, with their widths without a terminal.
const NUMBER_COLUMNS: [(&str, usize); 6] =
    [("of", 10), ("min", 10), ("median", 10), ("mean", 12), ("95 %", 12), ("max", 10)];

fn show(dataset: &LocatedDataset, report: &StatisticsReport, rejected: u64) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let line = |text: &str| terminal::print_line(terminal::wrapped(&gage_core::printable_line(text), 4));
    let entry = |name: &str, text: &str| {
        let name = gage_core::printable_line(name);
        let shown = terminal::beside(&format!("  {name:<NAME_WIDTH$}"), &gage_core::printable_line(text));
        terminal::print_line(shown.trim_end())
    };
    let id = &dataset.planned.spec.dataset_id;
    let samples = terminal::count_of(report.samples, "Sample");
    let heading = format!("{id}: {samples} from {}", dataset.located.shown);
    let heading = terminal::wrapped(&gage_core::printable_line(&heading), 4);
    terminal::print_line(style.bold(&heading))?;
    if let Some(digest) = &dataset.located.identity.digest {
        line(&format!("  {}", digest.replacen(':', " ", 1)))?;
    }
    if rejected > 0 {
        let rows = terminal::count_of(rejected, "row");
        line(&format!("  {rows} gave no Sample: `gage-host data validate` says why"))?;
    }
    for (number, text) in number_lines(report, terminal::terminal_width()).iter().enumerate() {
        terminal::print_line(if number == 0 { style.dim(text) } else { text.clone() })?;
    }
    for (name, counts) in &report.values {
        let distinct = report.distinct.get(name).copied().unwrap_or_default();
        let listed: Vec<String> = counts.iter().map(|one| format!("{} {}", one.value, one.count)).collect();
        let more = if report.more_distinct.contains(name) {
            format!(" … (more than {distinct} different)")
        } else if distinct > counts.len() as u64 {
            format!(" … ({distinct} different)")
        } else {
            String::new()
        };
        entry(name, &format!("{}{more}", listed.join(" · ")))?;
    }
    for unanswered in &report.unanswered {
        let first = unanswered.first.join(", ");
        let text = format!("{} ({}), as {first}", unanswered.count, unanswered.message);
        entry("without an answer", &text)?;
    }
    let examples = match report.first_duplicates.is_empty() {
        true => String::new(),
        false => format!(", as {}", report.first_duplicates.join(", ")),
    };
    entry("duplicates", &format!("{}{examples}", report.duplicates))
}

/// Formats the numbers under their titles. On a narrow terminal, the columns are as wide as their numbers, and the median and
/// the 95th percentile are left out if there is still no room.
fn number_lines(report: &StatisticsReport, width: Option<usize>) -> Vec<String> {
    if report.numbers.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![(String::new(), NUMBER_COLUMNS.map(|(title, _)| title.to_owned()))];
    rows.extend(report.numbers.iter().map(|(name, of)| {
        let mean = format!("{:.1}", of.mean);
        let [count, min, median, p95, max] =
            [of.count, of.min, of.median, of.p95, of.max].map(|one| one.to_string());
        (gage_core::printable_line(name).into_owned(), [count, min, median, mean, p95, max])
    }));
    let mut widths = NUMBER_COLUMNS.map(|(_, width)| width);
    let mut shown = Vec::from_iter(0..NUMBER_COLUMNS.len());
    let total = |widths: &[usize; 6], shown: &[usize]| {
        2 + NAME_WIDTH + shown.iter().map(|column| widths[*column]).sum::<usize>()
    };
    if let Some(width) = width.filter(|width| total(&widths, &shown) > *width) {
        let longest = |column: usize| rows.iter().map(|(_, cells)| cells[column].width()).max().unwrap_or(0);
        widths = std::array::from_fn(|column| longest(column) + 2);
        for spare in [2, 4] {
            if total(&widths, &shown) > width {
                shown.retain(|column| *column != spare);
            }
        }
    }
    let one = |(name, cells): &(String, [String; 6])| {
        let numbers = shown.iter().map(|column| format!("{:>1$}", cells[*column], widths[*column]));
        format!("  {name:<NAME_WIDTH$}{}", numbers.collect::<String>())
    };
    rows.iter().map(one).collect()
}
