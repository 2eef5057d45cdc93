//! `gage-host judge`: how far a judge can be trusted.

use super::compare::{open, unreadable};
use super::setup;
use crate::arguments::{CalibrateArguments, DEFAULT_LOG, JudgeCommand};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_compare::{
    Calibration, CorrectedRates, Estimate, JudgedAnswer, JudgedCounts, OrderChoice, calibrate, correct_other,
    correct_own,
};
use gage_config::shown_path;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{DEFAULT_MAX_JSON_VALUES, EvalContext, FieldPath, parse_json};
use gage_figures::RecordedRun;
use gage_record::SampleRecord;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Maximum size of a file with labels.
const MAX_LABELS_SIZE: FileLimit = FileLimit::new("a file of labels", 256 << 20);

pub(crate) fn execute(command: &JudgeCommand) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    match command {
        JudgeCommand::Calibrate(arguments) => calibrate_judge(arguments),
    }
}

/// Numbers of records that cannot be compared.
#[derive(Default)]
struct LeftOut {
    without_label: u64,
    without_verdict: u64,
    /// Answers to a sample after the first: a label is for one answer.
    repeats: u64,
    /// Labels of samples that the run does not have.
    unknown_labels: u64,
}

/// The judged answers of a run that have a label, and the counts of all verdicts.
#[derive(Default)]
struct ReadAnswers {
    answers: Vec<JudgedAnswer>,
    judged: JudgedCounts,
    left_out: LeftOut,
}

fn calibrate_judge(arguments: &CalibrateArguments) -> anyhow::Result<ExitCode> {
    let run = open(&arguments.named.run, &arguments.named.output_dir)?;
    let ReadAnswers { answers, judged, left_out } = read_answers(&run, arguments)?;
    let Some(calibration) = calibrate(&answers) else {
        let message = format!(
            "there is nothing to compare: {} records have no label, {} with a label have no verdict, and {} labels are of \
             samples that the run does not have",
            left_out.without_label, left_out.without_verdict, left_out.unknown_labels
        );
        return Ok(terminal::usage_error(&message, Some(LABEL_HELP)));
    };
    let corrected = match &arguments.correct {
        None => correct_own(calibration.counts, judged),
        Some(other) => correct_other(calibration.counts, judged_counts(other, arguments)?),
    };
    if arguments.json {
        let mut shown = serde_json::to_value(&calibration)?;
        shown["accepted"] = serde_json::to_value(corrected)?;
        shown["without_label"] = left_out.without_label.into();
        shown["without_verdict"] = left_out.without_verdict.into();
        shown["repeats"] = left_out.repeats.into();
        shown["unknown_labels"] = left_out.unknown_labels.into();
        terminal::print_json(format_args!("{shown:#}"))?;
    } else {
        print(&calibration, corrected, &left_out)?;
    }
    Ok(ExitCode::Done)
}

/// Reads the answers of a run. The error is the exit code of the printed message.
fn read_answers(run: &RecordedRun, arguments: &CalibrateArguments) -> Result<ReadAnswers, ExitCode> {
    let refused = |message: String| terminal::usage_error(&message, Some(LABEL_HELP));
    if let Some(task) = arguments.task.as_ref().filter(|task| !run.task_ids().contains(&task.as_str())) {
        let known = format!("expected one of: {}", run.task_ids().join(", "));
        let message = format!("the run {} has no task `{task}`", run.run_id());
        return Err(terminal::usage_error(&message, Some(&known)));
    }
    let read = |path| read_labels(path, arguments.threshold).map_err(refused);
    let labels = arguments.labels.as_deref().map(read).transpose()?;
    let field = arguments.label_field.as_deref().map(FieldPath::new);
    let mut found = ReadAnswers::default();
    let mut used = HashSet::new();
    found.left_out.repeats = each_verdict(run, arguments, |record, verdict| {
        let label = match (&labels, &field) {
            (Some(labels), _) => labels.of(record, &mut used),
            (None, Some(field)) => label_at(field, record, arguments.threshold).map_err(refused)?,
            (None, None) => None,
        };
        if let Some(verdict) = &verdict {
            found.judged.add(verdict.score >= arguments.threshold);
        }
        match (label, verdict) {
            (None, _) => found.left_out.without_label += 1,
            (Some(_), None) => found.left_out.without_verdict += 1,
            (Some(human), Some(verdict)) => found.answers.push(JudgedAnswer {
                judge: verdict.score >= arguments.threshold,
                human,
                characters: characters_of(record),
                orders: verdict.orders,
            }),
        }
        Ok(())
    })?;
    let labels = labels.as_ref().map_or(0, |labels| labels.by_sample.len());
    found.left_out.unknown_labels = labels.saturating_sub(used.len()) as u64;
    Ok(found)
}

/// Counts the verdicts about another run. The error is the exit code of the printed message.
fn judged_counts(run: &Path, arguments: &CalibrateArguments) -> Result<JudgedCounts, ExitCode> {
    let run = open(run, &arguments.named.output_dir)?;
    let mut judged = JudgedCounts::default();
    each_verdict(&run, arguments, |_, verdict| {
        verdict.into_iter().for_each(|verdict| judged.add(verdict.score >= arguments.threshold));
        Ok(())
    })?;
    if judged.judged == 0 {
        let message = format!("the run {} has no verdict to correct", run.run_id());
        let help = "name a run whose answers the same judge has judged";
        return Err(terminal::usage_error(&message, Some(help)));
    }
    Ok(judged)
}

/// Calls `take` with the first answer to each sample of the chosen tasks, and its verdict if it has one. Returns the
/// number of further answers.
fn each_verdict(
    run: &RecordedRun,
    arguments: &CalibrateArguments,
    mut take: impl FnMut(&SampleRecord, Option<JudgeVerdict>) -> Result<(), ExitCode>,
) -> Result<u64, ExitCode> {
    let (mut known, mut repeats) = (Vec::new(), 0);
    for record in run.records().map_err(|error| unreadable(error.into()))? {
        let record = record.map_err(|error| unreadable(error.into()))?;
        if arguments.task.as_ref().is_some_and(|task| *task != record.task_id) {
            continue;
        }
        if record.index % run.repeat(&record.task_id).max(1) > 0 {
            repeats += 1;
            continue;
        }
        let verdict = verdict_of(&record, arguments.judge.as_deref(), &mut known)
            .map_err(|message| terminal::usage_error(&message, Some("name one of them with --judge")))?;
        take(&record, verdict)?;
    }
    Ok(repeats)
}

const LABEL_HELP: &str = "a line of the labels is {\"sample_id\": \"q17\", \"label\": true}; a label is true or false, yes or \
    no, or a score from 0 to 1";

/// Labels by sample, and by task if they name one.
struct Labels {
    by_sample: HashMap<(Option<String>, String), bool>,
}

impl Labels {
    /// Returns the label of a record, and notes which one was used.
    fn of(&self, record: &SampleRecord, used: &mut HashSet<(Option<String>, String)>) -> Option<bool> {
        let keys = [Some(record.task_id.clone()), None].map(|task| (task, record.sample_id.clone()));
        let key = keys.into_iter().find(|key| self.by_sample.contains_key(key))?;
        let label = self.by_sample.get(&key).copied();
        used.insert(key);
        label
    }
}

/// Reads a file of labels. The error names the line.
fn read_labels(path: &Path, threshold: f64) -> Result<Labels, String> {
    let text = foreign_file::read_named_text(path, MAX_LABELS_SIZE)
        .map_err(|error| format!("cannot read {}: {error}", shown_path(path)))?;
    let mut by_sample = HashMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("line {} of {}", number + 1, shown_path(path));
        let row: Value = parse_json(line.as_bytes(), DEFAULT_MAX_JSON_VALUES)
            .map_err(|error| format!("{}: {error}", place()))?;
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let sample_id = text("sample_id").ok_or_else(|| format!("{}: `sample_id` is missing", place()))?;
        let label = row.get("label").ok_or_else(|| format!("{}: `label` is missing", place()))?;
        let label = read_label(label, threshold).map_err(|why| format!("{}: {why}", place()))?;
        // Somebody wrote a note about the sample, and gave no label.
        let Some(label) = label else { continue };
        let sample = (text("task_id"), sample_id);
        if by_sample.get(&sample).is_some_and(|before| *before != label) {
            return Err(format!(
                "{}: the sample `{}` has the opposite label on an earlier line",
                place(),
                sample.1
            ));
        }
        by_sample.insert(sample, label);
    }
    Ok(Labels { by_sample })
}

/// Reads a label; `None` if it is null.
fn read_label(value: &Value, threshold: f64) -> Result<Option<bool>, String> {
    let refused = || format!("{value} is not a label");
    match value {
        Value::Null => Ok(None),
        Value::Bool(label) => Ok(Some(*label)),
        Value::Number(score) => match score.as_f64() {
            Some(score) if (0.0..=1.0).contains(&score) => Ok(Some(score >= threshold)),
            _ => Err(refused()),
        },
        Value::String(word) => match word.trim().to_lowercase().as_str() {
            "" => Ok(None),
            "yes" | "true" | "correct" | "1" => Ok(Some(true)),
            "no" | "false" | "incorrect" | "0" => Ok(Some(false)),
            _ => Err(refused()),
        },
        Value::Array(_) | Value::Object(_) => Err(refused()),
    }
}

/// Returns the label at a path of a record; `None` if there is none.
fn label_at(path: &FieldPath, record: &SampleRecord, threshold: f64) -> Result<Option<bool>, String> {
    let nothing = &Value::Null;
    let context = EvalContext {
        sample: (&record.sample).into(),
        model_output: record.model_output.as_ref().map_or(nothing.into(), Into::into),
        judge_output: record.judge_output.as_ref().unwrap_or(nothing),
        support_output: record.support_output.as_ref().unwrap_or(nothing),
    };
    match path.resolve(context) {
        None => Ok(None),
        Some(value) => read_label(&value, threshold)
            .map_err(|why| format!("sample {}: `{}`: {why}", record.sample_id, path.as_str())),
    }
}

/// A verdict of a judge.
struct JudgeVerdict {
    score: f64,
    orders: Option<[OrderChoice; 2]>,
}

/// Returns the verdict about a record. An error if there are several judges and none is named; `known` collects them.
fn verdict_of(
    record: &SampleRecord,
    judge: Option<&str>,
    known: &mut Vec<String>,
) -> Result<Option<JudgeVerdict>, String> {
    let Some(output) = &record.judge_output else { return Ok(None) };
    let output = match (output.get("judges").and_then(Value::as_object), judge) {
        (None, _) => output,
        (Some(judges), Some(name)) => match judges.get(name) {
            Some(output) => output,
            None => {
                known.extend(judges.keys().cloned());
                return Err(format!("the run has no judge `{name}`; expected one of: {}", known.join(", ")));
            }
        },
        (Some(judges), None) => {
            known.extend(judges.keys().cloned());
            return Err(format!("the run has several judges: {}", known.join(", ")));
        }
    };
    let orders = output.get("winners").and_then(Value::as_array).and_then(|winners| {
        // The model's answer comes first in the first order, and second in the other.
        let choice = |winner: &Value, is_first: bool| match winner.as_str() {
            Some("answer") if is_first => Some(OrderChoice::First),
            Some("answer") => Some(OrderChoice::Second),
            Some("baseline") if is_first => Some(OrderChoice::Second),
            Some("baseline") => Some(OrderChoice::First),
            Some("tie") => Some(OrderChoice::Tie),
            _ => None,
        };
        let [one, other] = winners.as_slice() else { return None };
        Some([choice(one, true)?, choice(other, false)?])
    });
    Ok(output.get("score").and_then(Value::as_f64).map(|score| JudgeVerdict { score, orders }))
}

fn characters_of(record: &SampleRecord) -> u64 {
    let output = record.model_output.as_deref();
    let answer = output.and_then(|output| output.get("written").or_else(|| output.get("answer")));
    answer.and_then(Value::as_str).map_or(0, |text| text.chars().count() as u64)
}

fn print(
    calibration: &Calibration,
    corrected: Option<CorrectedRates>,
    left_out: &LeftOut,
) -> anyhow::Result<()> {
    let counts = calibration.counts;
    let row = |name: &str, estimate: Option<Estimate>, meaning: &str| match estimate {
        Some(Estimate { value, low, high }) => {
            format!("  {name:<15} {value:>8.4}  {low:>8.4} – {high:<8.4} {meaning}")
        }
        None => format!("  {name:<15}        –                      {meaning}"),
    };
    let mut lines = vec![
        format!("{} answers have a verdict and a label", calibration.answers),
        String::new(),
        format!("  {:<15} {:>12} {:>12}", "", "judge: yes", "judge: no"),
        format!("  {:<15} {:>12} {:>12}", "people: yes", counts.both_accept, counts.only_human),
        format!("  {:<15} {:>12} {:>12}", "people: no", counts.only_judge, counts.both_reject),
        String::new(),
        format!("  {:<15} {:>8}  {:<19}", "", "value", "95% interval"),
        row("agreement", Some(calibration.agreement), "share of equal verdicts"),
        row("Cohen's kappa", calibration.kappa, "agreement beyond chance; 1 is perfect, 0 is chance"),
        row(
            "length bias",
            calibration.length_bias,
            "correlation of the judge's errors with the length of answers",
        ),
    ];
    if let Some(position) = &calibration.position {
        lines.push(row("consistent", Some(position.consistent), "share of equal winners in both orders"));
        lines.push(row(
            "position bias",
            position.first,
            "share of choices for the first answer; 0.5 means no bias",
        ));
    }
    lines.push(format!(
        "  {:<15} {:>+8.4}  p = {:<15.3} {}",
        "bias", calibration.bias, calibration.bias_p_value, "answers accepted more often than by people"
    ));
    if let Some(CorrectedRates { judged, prediction_powered, rogan_gladen }) = corrected {
        lines.push(String::new());
        lines.push(format!(
            "  {:<15} {judged:>8.4}  {:<19} share of answers that the judge accepts",
            "accepted", ""
        ));
        if prediction_powered.is_some() {
            let meaning = "the same for people, if the labels are of a random part of the answers";
            lines.push(row("corrected", prediction_powered, meaning));
        }
        let meaning = "the same for people, if the judge errs as often as on the labels";
        lines.push(row("by error rates", rogan_gladen, meaning));
    }
    let LeftOut { without_label, without_verdict, repeats, unknown_labels } = left_out;
    let counts = [
        (without_label, "records without a label"),
        (without_verdict, "without a verdict"),
        (repeats, "further answers to a sample"),
        (unknown_labels, "labels of samples that the run does not have"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !counts.is_empty() {
        lines.push(String::new());
        lines.push(format!("left out: {}", counts.join(", ")));
    }
    terminal::print_line(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_have_several_forms() {
        for (label, expected) in [
            (json!(true), Ok(Some(true))),
            (json!("No"), Ok(Some(false))),
            (json!(0.5), Ok(Some(true))),
            (json!(0), Ok(Some(false))),
            (json!(null), Ok(None)),
            (json!("maybe"), Err("\"maybe\" is not a label".to_owned())),
            (json!(3), Err("3 is not a label".to_owned())),
        ] {
            assert_eq!(read_label(&label, 0.5), expected, "{label}");
        }
    }

    #[test]
    fn lines_with_a_note_and_no_label_are_passed_over() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |label: &str| format!("{{\"sample_id\": \"a\", \"note\": \"why?\"{label}}}\n");
        std::fs::write(file.path(), line(", \"label\": null")).unwrap();
        assert!(read_labels(file.path(), 0.5).unwrap().by_sample.is_empty());
        std::fs::write(file.path(), line("")).unwrap();
        let Err(error) = read_labels(file.path(), 0.5) else { panic!("a line without a label was accepted") };
        assert!(error.contains("`label` is missing"), "{error}");
    }

    #[test]
    fn opposite_labels_of_a_sample_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |label: bool| format!("{{\"sample_id\": \"a\", \"label\": {label}}}\n");
        std::fs::write(file.path(), line(true) + &line(true)).unwrap();
        assert_eq!(read_labels(file.path(), 0.5).unwrap().by_sample.len(), 1);
        std::fs::write(file.path(), line(true) + &line(false)).unwrap();
        let Err(error) = read_labels(file.path(), 0.5) else { panic!("opposite labels were accepted") };
        assert!(error.starts_with("line 2 of") && error.contains("opposite label"), "{error}");
    }
}
