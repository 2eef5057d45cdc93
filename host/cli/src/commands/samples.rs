//! `gage-host samples`: the samples of a run, each with its question, its references, its answer and its scores.

mod texts;

use super::compare::{open, unreadable, warn_if_changed};
use super::fields::field;
use super::setup;
use crate::arguments::{DEFAULT_LOG, SamplesArguments};
use crate::exit_code::ExitCode;
use crate::terminal::{self, Style, count_of};
use gage_core::{MetricResult, Outcome};
use gage_record::{SampleRecord, SampleStage};
use serde_json::{Value, json};
use texts::SampleTexts;

/// Maximum number of lines of a text.
const MAX_TEXT_LINES: usize = 8;

pub(crate) fn execute(arguments: &SamplesArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let run = open(&arguments.named.run, &arguments.named.output_dir)?;
    if let Some(task) = arguments.task.as_ref().filter(|task| !run.task_ids().contains(&task.as_str())) {
        let known = format!("expected one of: {}", run.task_ids().join(", "));
        let message = format!("the run {} has no task `{task}`", run.run_id());
        return Ok(terminal::usage_error(&message, Some(&known)));
    }
    warn_if_changed(&run, "`gage-host verify` says what was changed");
    let mut counts = SampleCounts::default();
    let mut as_json = Vec::new();
    // Samples without a score come before wrong answers, of which there may be many.
    let choices: &[Choice] = match arguments.failed {
        true => &[Choice::Unscored, Choice::NotPassed],
        false => &[Choice::All],
    };
    for choice in choices {
        counts.all = 0;
        for record in run.records_so_far().map_err(|error| unreadable(error.into()))? {
            let (record, stage) = record.map_err(|error| unreadable(error.into()))?;
            if arguments.task.as_ref().is_some_and(|task| *task != record.task_id) {
                continue;
            }
            counts.all += 1;
            if !choice.has(&record, stage) {
                continue;
            }
            counts.chosen += 1;
            if counts.printed >= arguments.limit as u64 {
                continue;
            }
            counts.printed += 1;
            match arguments.json {
                true => as_json.push(to_json(&record)),
                false => print(&record)?,
            }
        }
    }
    if arguments.json {
        let shown = json!({"samples": as_json, "chosen": counts.chosen, "all": counts.all});
        terminal::print_json(format_args!("{shown:#}"))?;
    }
    terminal::eprint_line(counts.line(arguments.failed));
    Ok(ExitCode::Done)
}

/// Numbers of samples of a run, or of one of its tasks.
#[derive(Clone, Copy, Debug, Default)]
struct SampleCounts {
    all: u64,
    /// Those that the command asks for.
    chosen: u64,
    printed: u64,
}

impl SampleCounts {
    /// Formats the last line, which counts what is left out.
    fn line(self, only_failed: bool) -> String {
        let SampleCounts { all, chosen, printed } = self;
        let text = match (only_failed, chosen) {
            (true, 0) => format!("none of {} failed", count_of(all, "sample")),
            (true, _) => format!("{chosen} of {} failed", count_of(all, "sample")),
            (false, _) => count_of(all, "sample"),
        };
        match chosen - printed {
            0 => text,
            left => format!("{text}; {left} of them are not shown: --limit {chosen} shows all"),
        }
    }
}

/// Samples that are printed one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Every sample.
    All,
    /// Samples without an answer, or without the score of a metric.
    Unscored,
    /// Samples with all scores, and an answer that does not pass a metric.
    NotPassed,
}

impl Choice {
    fn has(self, record: &SampleRecord, stage: SampleStage) -> bool {
        let lacks_score =
            |metric: &MetricResult| !matches!(metric.outcome, Outcome::Scored | Outcome::Skipped);
        let fails = |metric: &MetricResult| metric.card.as_ref().is_some_and(|card| card.pass == Some(false));
        let is_unscored = record.outcome != Outcome::Scored || record.metrics.iter().any(lacks_score);
        match self {
            Choice::All => true,
            Choice::Unscored => stage == SampleStage::Ended && is_unscored,
            Choice::NotPassed => {
                stage == SampleStage::Ended && !is_unscored && record.metrics.iter().any(fails)
            }
        }
    }
}

fn to_json(record: &SampleRecord) -> Value {
    let SampleTexts { question, references, answer } = SampleTexts::of(record);
    let score = |metric: &MetricResult| {
        json!({
            "metric_id": metric.metric_id,
            "outcome": metric.outcome,
            "score": metric.score(),
            "pass": metric.card.as_ref().and_then(|card| card.pass),
            "error": metric.error,
        })
    };
    json!({
        "task_id": record.task_id,
        "index": record.index,
        "sample_id": record.sample_id,
        "outcome": record.outcome,
        "question": question,
        "references": references,
        "answer": answer,
        "error": record.error,
        "scores": record.metrics.iter().map(score).collect::<Vec<Value>>(),
    })
}

fn print(record: &SampleRecord) -> anyhow::Result<()> {
    let style = Style::of_stdout();
    let head = format!("{} · {} · {}", record.task_id, record.sample_id, record.outcome.name());
    terminal::print_line(style.bold(&gage_core::printable_line(&head)))?;
    let SampleTexts { question, references, answer } = SampleTexts::of(record);
    let field = |name: &str, text: &str| field(name, text, Some(MAX_TEXT_LINES), &style);
    field("question", &question)?;
    for reference in &references {
        field("reference", reference)?;
    }
    if let Some(answer) = &answer {
        field("answer", answer)?;
    }
    if let Some(error) = &record.error {
        field("error", &format!("{}: {}", error.kind, error.message))?;
    }
    for metric in &record.metrics {
        field("score", &score_of(metric))?;
    }
    terminal::print_line("")
}

/// Describes the result of a metric: its score, or why there is none, and whether the answer passes.
fn score_of(metric: &MetricResult) -> String {
    let result = match metric.score() {
        Some(score) => score.to_string(),
        None => metric.outcome.name().to_owned(),
    };
    let verdict = match metric.card.as_ref().and_then(|card| card.pass) {
        Some(true) => ", passed",
        Some(false) => ", not passed",
        None => "",
    };
    let error = metric.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{} {result}{verdict}{error}", metric.metric_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_what_is_left_out() {
        let counts = |all, chosen, printed| SampleCounts { all, chosen, printed };
        for (counts, only_failed, expected) in [
            (counts(30, 0, 0), true, "none of 30 samples failed"),
            (counts(30, 13, 13), true, "13 of 30 samples failed"),
            (
                counts(30, 13, 5),
                true,
                "13 of 30 samples failed; 8 of them are not shown: --limit 13 shows all",
            ),
            (counts(1, 1, 1), false, "1 sample"),
            (counts(30, 30, 20), false, "30 samples; 10 of them are not shown: --limit 30 shows all"),
        ] {
            assert_eq!(counts.line(only_failed), expected);
        }
    }
}
