//! `gage-host data stats`: prints statistics of the Samples.

use crate::arguments::StatsArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, RowProgress, Style};
use gage_data::{Statistics, StatisticsReport, TokenCounter};
use gage_engine::LocatedDataset;
use serde_json::{Value, json};
use std::ops::ControlFlow;

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

fn show(dataset: &LocatedDataset, report: &StatisticsReport, rejected: u64) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let line = |text: &str| terminal::print_line(gage_core::printable_line(text));
    let id = &dataset.planned.spec.dataset_id;
    terminal::print_line(style.bold(&gage_core::printable_line(&format!(
        "{id}: {} from {}",
        terminal::count_of(report.samples, "Sample"),
        dataset.located.shown
    ))))?;
    if let Some(digest) = &dataset.located.identity.digest {
        line(&format!("  {}", digest.replacen(':', " ", 1)))?;
    }
    if rejected > 0 {
        let rows = terminal::count_of(rejected, "row");
        line(&format!("  {rows} gave no Sample: `gage-host data validate` says why"))?;
    }
    if !report.numbers.is_empty() {
        let head = format!(
            "  {:<22}{:>10}{:>10}{:>10}{:>12}{:>12}{:>10}",
            "", "of", "min", "median", "mean", "95 %", "max"
        );
        terminal::print_line(style.dim(&head))?;
    }
    for (name, of) in &report.numbers {
        line(&format!(
            "  {name:<22}{:>10}{:>10}{:>10}{:>12.1}{:>12}{:>10}",
            of.count, of.min, of.median, of.mean, of.p95, of.max
        ))?;
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
        line(&format!("  {name:<22}{}{more}", listed.join(" · ")))?;
    }
    for unanswered in &report.unanswered {
        let first = unanswered.first.join(", ");
        line(&format!(
            "  {:<22}{} ({}), as {first}",
            "without an answer", unanswered.count, unanswered.message
        ))?;
    }
    let examples = match report.first_duplicates.is_empty() {
        true => String::new(),
        false => format!(", as {}", report.first_duplicates.join(", ")),
    };
    line(&format!("  {:<22}{}{examples}", "duplicates", report.duplicates))
}
