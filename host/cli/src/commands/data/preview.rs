//! `gage-host data preview`: prints the first Samples in readable form.

use crate::arguments::DataArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style};
use gage_core::{ContentPart, Message, OptionDisplay, Sample};
use gage_data::{PreparedSample, Rejection};
use gage_engine::LocatedDataset;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Number of Samples shown per dataset.
const DEFAULT_SAMPLES: u64 = 3;
/// Maximum number of lines shown of a text.
const MAX_PREVIEW_LINES: usize = 12;

pub(super) fn preview(arguments: &DataArguments) -> anyhow::Result<ExitCode> {
    let datasets = super::datasets(arguments, false)?;
    for dataset in &datasets {
        let mut first = Vec::new();
        let read = super::read(
            dataset,
            Some(arguments.max_samples.unwrap_or(DEFAULT_SAMPLES)),
            |sample| sample,
            |prepared| {
                first.push(prepared);
                ControlFlow::Continue(())
            },
        );
        for prepared in first {
            match arguments.print.json {
                true => terminal::print_line(to_json(prepared))?,
                false => show(dataset, &prepared)?,
            }
        }
        if let Some(error) = &read.failure {
            return Ok(super::refuse(dataset, error));
        }
    }
    Ok(ExitCode::Done)
}

/// Returns a line: the Sample, or the reason why there is none.
fn to_json(prepared: PreparedSample) -> Value {
    match prepared.result {
        Ok(sample) => sample.to_value(),
        Err(rejection) => json!({
            "rejected": {
                "outcome": rejection.outcome.name(),
                "kind": rejection.kind,
                "message": rejection.message,
                "pointer": rejection.pointer,
                "row": rejection.row,
            }
        }),
    }
}

fn show(dataset: &LocatedDataset, prepared: &PreparedSample) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let id = &dataset.planned.spec.dataset_id;
    match &prepared.result {
        Ok(sample) => show_sample(id, sample, dataset.planned.option_display, &style),
        Err(rejection) => show_rejection(id, prepared.index, rejection, &style),
    }
}

fn show_rejection(dataset: &str, index: u64, rejection: &Rejection, style: &Style) -> anyhow::Result<()> {
    let head = format!("{dataset} · row {index} · {} ({})", rejection.outcome.name(), rejection.kind);
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    field("why", &rejection.message, style)?;
    field("row", &rejection.row, style)?;
    terminal::print_line("")
}

fn show_sample(dataset: &str, sample: &Sample, display: OptionDisplay, style: &Style) -> anyhow::Result<()> {
    let kind = sample.task_type.as_ref().map(|kind| format!(" · {}", kind.name())).unwrap_or_default();
    let head = format!("{dataset} · {}{kind}", sample.id);
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    for message in sample.conversation(display) {
        field(message.role.name(), &text_of(&message), style)?;
    }
    if let Some(prompt) = sample.rendered_prompt() {
        field("prompt", prompt, style)?;
    }
    for option in &sample.options {
        let mark = if sample.label.as_deref() == Some(option.id.as_str()) { " ✓" } else { "" };
        field("option", &format!("{}. {}{mark}", option.id, option.content), style)?;
    }
    for reference in &sample.references {
        field("reference", &reference.text(), style)?;
    }
    let further = [
        ("tools", sample.tools.len()),
        ("golden", sample.golden_trajectories.len()),
        ("few-shot", sample.few_shot_examples.len()),
    ];
    for (name, count) in further.into_iter().filter(|(_, count)| *count > 0) {
        field(name, &count.to_string(), style)?;
    }
    for (name, object) in
        [("data_tag", &*sample.data_tag), ("metadata", &sample.metadata), ("media", &*sample.media_meta)]
    {
        if !object.is_empty() {
            field(name, &Value::Object(object.clone()).to_string(), style)?;
        }
    }
    terminal::print_line("")
}

/// Formats a message as one text, with a placeholder for each non-text part.
fn text_of(message: &Message) -> String {
    let parts: Vec<String> = message
        .content
        .iter()
        .map(|part| match part {
            ContentPart::Text { text, .. } => text.clone(),
            ContentPart::Media { kind, url, .. } => {
                let shown: String = url.chars().take(80).collect();
                let rest = if shown.len() < url.len() { "…" } else { "" };
                format!("[{} {shown}{rest}]", kind.type_name().trim_end_matches("_url"))
            }
        })
        .collect();
    let calls: Vec<String> = message.tool_calls.iter().map(|call| format!("[call {call}]")).collect();
    parts.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

/// Prints a name, followed by a text of several lines, which is cut if it is very long.
fn field(name: &str, text: &str, style: &Style) -> anyhow::Result<()> {
    const NAME: usize = 10;
    let width = terminal::width().saturating_sub(NAME + 3).max(20);
    let text = gage_core::printable(text);
    let mut lines: Vec<String> = text.lines().flat_map(|line| terminal::wrap(line, width)).collect();
    if lines.is_empty() {
        lines.push(String::new());
    }
    let left_out = lines.len().saturating_sub(MAX_PREVIEW_LINES);
    if left_out > 1 {
        lines.truncate(MAX_PREVIEW_LINES);
        lines.push(format!("… {left_out} more lines"));
    }
    for (number, line) in lines.iter().enumerate() {
        let name = if number == 0 { name } else { "" };
        terminal::print_line(format_args!("  {} {line}", style.dim(&format!("{name:<NAME$}"))))?;
    }
    Ok(())
}
