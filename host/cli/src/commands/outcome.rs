//! Prints the outcome of a run: the table or JSON, notes, and how the run ended.

mod batch;
mod stopped;

use super::next_command::{self, OutcomeOf, live_command, resume_command};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::Outcome;
use gage_figures::{
    MetricFigure, SampleFigures, TableOptions, TaskSummary, percent_rounded_down, render_table,
};
use gage_runner::{
    BatchReport, ConcurrencyLimit, CoverageShortfall, Ending, RunOutcome, Shortfall, StopReason,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Prints the outcome of a run and the command that follows it, and returns the exit code.
///
/// # Errors
/// Fails if the standard output stream cannot be written.
pub(super) fn print(outcome: &RunOutcome, json: bool, of: OutcomeOf<'_>) -> anyhow::Result<ExitCode> {
    let code = print_figures(outcome, json, of)?;
    next_command::print(&next_command::after(outcome, of));
    Ok(code)
}

/// Prints the outcome of a run, and returns its exit code.
///
/// # Errors
/// Fails if the standard output stream cannot be written.
pub(super) fn print_figures(outcome: &RunOutcome, json: bool, of: OutcomeOf<'_>) -> anyhow::Result<ExitCode> {
    if json {
        print_json(outcome)?;
    } else {
        let folder = outcome.folder.display().to_string();
        let options = TableOptions {
            width: terminal::width(),
            colour: terminal::colour_on_stdout(),
            run_folder: Some(&folder),
            is_merged: outcome.is_merged,
        };
        terminal::print_line(render_table(&outcome.reports.summary, &outcome.reports.timings, &options))?;
    }
    Ok(print_remarks(outcome, of))
}

/// Prints what follows the table: notes, usage, and how the run ended. Returns its exit code.
pub(super) fn print_remarks(outcome: &RunOutcome, of: OutcomeOf<'_>) -> ExitCode {
    print_notes(outcome, of);
    print_usage(outcome);
    if let Ending::Stopped(reason) = &outcome.ending {
        let outcomes = &outcome.reports.summary.samples.outcomes;
        let failed = outcomes.get(&Outcome::BackendError).copied().unwrap_or_default();
        stopped::print(reason, outcome.ended_by.as_deref(), failed, of);
    }
    let again = match &outcome.ending {
        Ending::Stopped(_) => resume_command(&outcome.run_id),
        // Every result of a batch was taken.
        _ => live_command(&outcome.run_id),
    };
    if !matches!(outcome.ending, Ending::Stopped(StopReason::Requested | StopReason::AwaitsBatch)) {
        for shortfall in &outcome.shortfalls {
            let line = shortfall_line(shortfall, &again);
            terminal::eprint_line(format_args!("incomplete: {}", gage_core::printable_line(&line)));
        }
    }
    for task in &outcome.tasks {
        if let Some(error) = &task.failure {
            let folder = outcome.folder.display();
            let help = format!("fix the data, and start a new run; what was read is in {folder}");
            terminal::usage_error(&format!("{}: {error}", task.task_id), Some(&help));
        }
    }
    batch::print(outcome);
    match (&outcome.batch, &outcome.ending) {
        // The requests are written, as the user asked.
        (Some(BatchReport::Written { .. }), Ending::Stopped(StopReason::AwaitsBatch)) => ExitCode::Done,
        (_, ending) => code_of(ending),
    }
}

fn code_of(ending: &Ending) -> ExitCode {
    match ending {
        Ending::Complete => ExitCode::Done,
        Ending::UnreadableData | Ending::Stopped(StopReason::BackendRefused { .. }) => {
            ExitCode::Configuration
        }
        Ending::Stopped(StopReason::Requested) => ExitCode::Interrupted,
        Ending::Stopped(StopReason::ServerLost { .. }) => ExitCode::RetryLater,
        Ending::Incomplete
        | Ending::Stopped(
            StopReason::Budget(_)
            | StopReason::FailFast(_)
            | StopReason::AwaitsBatch
            | StopReason::ModelLost { .. },
        ) => ExitCode::Incomplete,
    }
}

fn print_json(outcome: &RunOutcome) -> anyhow::Result<()> {
    terminal::print_json(format_args!("{:#}", json_of(outcome)))
}

/// Returns an outcome as JSON.
pub(super) fn json_of(outcome: &RunOutcome) -> Value {
    json!({
        "run_id": outcome.run_id,
        "folder": outcome.folder.display().to_string(),
        "status": outcome.status.name(),
        "ended_by": outcome.ended_by,
        "spent": {
            "prompt_tokens": outcome.usage.prompt_tokens,
            "completion_tokens": outcome.usage.completion_tokens,
            "cost": outcome.usage.cost,
            "missing_prices": outcome.usage.missing_prices,
            "uncounted": outcome.usage.uncounted,
        },
        "summary": outcome.reports.summary,
        "timings": outcome.reports.timings,
        "batch": batch::json_of(outcome.batch.as_ref()),
    })
}

/// Prints notes about the data, failed samples and metrics.
fn print_notes(outcome: &RunOutcome, of: OutcomeOf<'_>) {
    for task in outcome.tasks.iter().filter(|task| task.filtered > 0) {
        let rows = terminal::count_of(task.filtered, "row");
        terminal::eprint_line(format_args!("{}: the dataset's filter left out {rows}", task.task_id));
    }
    let mut lines: Vec<String> = Vec::new();
    for task in &outcome.tasks {
        let missing = task.missing_fields.iter();
        lines.extend(missing.map(|missing| format!("warning: {}: {missing}", task.task_id)));
    }
    lines.extend(outcome.reports.examples.iter().map(ToString::to_string));
    lines.extend(held_back(&outcome.limits));
    let tasks = &outcome.reports.summary.tasks;
    for task in tasks {
        // A path that a metric could not find is a shortfall, and is printed there.
        let unfound = task.unfound.iter().filter(|path| !path.is_of_metric());
        lines.extend(unfound.map(|unfound| format!("warning: {}: {unfound}", task.task_id)));
        let crowded = task.crowded_slices().into_iter();
        lines.extend(crowded.map(|message| format!("warning: {}: {message}", task.task_id)));
    }
    let is_measured = tasks.iter().any(|task| !task.metrics.is_empty());
    if !is_measured && outcome.reports.timings.timing_metrics.is_empty() {
        lines.push(
            "note: the suite has no `metrics`, so only answers were recorded, and nothing was measured"
                .to_owned(),
        );
    }
    let are_given = outcome.has_given_answers;
    lines.extend(tasks.iter().flat_map(|task| incomplete_answers(&task.task_id, &task.samples, are_given)));
    let check = next_command::data_check(of);
    lines.extend(tasks.iter().flat_map(|task| unanswered(task, &check)));
    lines.extend(tasks.iter().flat_map(unreadable));
    lines.iter().for_each(|line| terminal::eprint_line(gage_core::printable_line(line)));
}

/// Returns notes about limits of the suite that held the run back, each once.
fn held_back(limits: &[ConcurrencyLimit]) -> BTreeSet<String> {
    let notes = limits.iter().map(|limit| {
        let (wanted, remedy) = (limit.concurrency, limit.remedy());
        format!("note: {limit}; {remedy} to have up to {wanted} requests in flight (--concurrency)")
    });
    notes.collect()
}

fn shortfall_line(shortfall: &Shortfall, again: &str) -> String {
    match shortfall {
        Shortfall::InvalidRows(invalid) => invalid.to_string(),
        Shortfall::FailedFast { sample, is_whole_run } => {
            let what = if *is_whole_run { "run" } else { "task" };
            format!("{sample}, and the {what} ended there (fail_fast); continue with {again}")
        }
        Shortfall::Coverage(coverage) => coverage_line(coverage),
        Shortfall::UnfoundPath { task_id, message } => format!("{task_id}: {message}"),
        Shortfall::NoPrediction { task_id, metric_id, answers } => format!(
            "{task_id}: `{metric_id}` found no prediction in any of {answers} answers, so it has no figure; \
             check the extractors of the step `extract`, and the parameters of the metric that hold a path or a field"
        ),
        Shortfall::MissingRecords { shards, records } => {
            let shards = terminal::count_of(*shards, "shard");
            let records = match records {
                Some(records) => terminal::count_of(*records, "record"),
                None => "an unknown number of records".to_owned(),
            };
            format!("{records} of {shards} are missing; run these shards, and merge again")
        }
        Shortfall::ParentEndedEarly { run_id, reason } => {
            format!("the run {run_id} ended early ({reason}): only its recorded answers are scored")
        }
        Shortfall::ParentUnfinished { run_id, status } => {
            format!(
                "the run {run_id} has not ended (status `{}`): only its recorded answers are scored",
                status.name()
            )
        }
    }
}

fn coverage_line(coverage: &CoverageShortfall) -> String {
    let CoverageShortfall { task_id, scored, total, .. } = coverage;
    // Rounded as in the table.
    let (found, wanted) = (percent_rounded_down(coverage.coverage), coverage.min_coverage * 100.0);
    if let Some(metric_id) = &coverage.metric_id {
        return format!(
            "{task_id}: `{metric_id}` scored {scored} of {total} samples ({found:.1} %); the suite requires {wanted:.1} % \
             (min_coverage)"
        );
    }
    if *total == 0 {
        return format!("{task_id}: there are no samples, so there is no figure");
    }
    if coverage.total_is_least {
        // The coverage is an upper bound.
        return format!(
            "{task_id}: {scored} of {total} processed samples were scored; the number of remaining samples \
             is unknown; the suite requires {wanted:.1} % of all (min_coverage)"
        );
    }
    if *scored == 0 {
        return format!("{task_id}: none of {total} samples were scored, so there is no figure");
    }
    format!(
        "{task_id}: {scored} of {total} samples were scored ({found:.1} %); the suite requires {wanted:.1} % \
         (min_coverage)"
    )
}

/// Returns warnings about Samples without a usable reference: those without a score, and those whose answers all count as
/// wrong, which is not the model's fault. `check` is the command that names them.
fn unanswered(task: &TaskSummary, check: &str) -> Vec<String> {
    let warning = |count_of: &dyn Fn(&MetricFigure) -> u64, effect: &dyn Fn(&str, bool) -> String| {
        let counts: Vec<(&str, u64)> = task
            .metrics
            .iter()
            .map(|figure| (figure.metric_id.as_str(), count_of(figure)))
            .filter(|(_, count)| *count > 0)
            .collect();
        let most = counts.iter().map(|(_, count)| *count).max()?;
        let metrics: Vec<String> = counts.iter().map(|(name, _)| format!("`{name}`")).collect();
        Some(format!(
            "warning: {}: {} {}; `{check}` names the first",
            task.task_id,
            terminal::count_of(most, "sample"),
            effect(&metrics.join(", "), most == 1)
        ))
    };
    let missing =
        |figure: &MetricFigure| figure.outcomes.get(&Outcome::MissingReference).copied().unwrap_or_default();
    let unknown = |figure: &MetricFigure| {
        let unusable = ["unknown_reference", "invalid_reference"];
        let tags = figure.error_tags.iter().filter(|tag| unusable.contains(&tag.tag.as_str()));
        tags.map(|tag| tag.count).sum::<u64>()
    };
    let has = |is_one: bool| if is_one { "has" } else { "have" };
    let unscored =
        |metrics: &str, is_one: bool| format!("{} no reference for {metrics}, and no score", has(is_one));
    let wrong = |metrics: &str, is_one: bool| {
        let are = if is_one { "is" } else { "are" };
        format!(
            "{} no reference that {metrics} can use, and {are} scored as wrong for any answer",
            has(is_one)
        )
    };
    [warning(&missing, &unscored), warning(&unknown, &wrong)].into_iter().flatten().collect()
}

/// Returns warnings about answers that are cut off or empty, if they are half of a task's samples or more. Answers that
/// are given have no model that could answer again.
fn incomplete_answers(task_id: &str, samples: &SampleFigures, are_given: bool) -> Vec<String> {
    let warning = |(outcome, how, remedy): (Outcome, &str, &str)| {
        let count = samples.outcomes.get(&outcome).copied().filter(|count| count * 2 >= samples.total)?;
        let name = outcome.name();
        Some(format!(
            "warning: {task_id}: {count} of {} answers {how}, and have no score; {remedy}, or score them as they are: \
             `score_outcomes: [{name}]`",
            samples.total,
        ))
    };
    let raise = "raise `max_new_tokens`";
    let kinds = match are_given {
        true => [
            (
                Outcome::Truncated,
                "were cut off, as their `finish_reason` says",
                "have them made again with a larger limit",
            ),
            (Outcome::EmptyOutput, "are empty in their file", "complete the file"),
        ],
        false => [
            (Outcome::Truncated, "were cut off at a limit", raise),
            (Outcome::EmptyOutput, "are empty, perhaps after reasoning up to the limit", raise),
        ],
    };
    kinds.into_iter().filter_map(warning).collect()
}

/// Tags of answers in a form that the metric does not read.
const FORM_TAGS: [&str; 3] = ["invalid_format", "no_choice_found", "parse_failed"];

/// Returns warnings about metrics that could not read half of the answers or more. The prompt then asks for a
/// form that the metric does not read, or the model ignores the prompt.
fn unreadable(task: &TaskSummary) -> Vec<String> {
    let warning = |figure: &MetricFigure| {
        let scored = figure.outcomes.get(&Outcome::Scored).copied().unwrap_or_default();
        let tags = || figure.error_tags.iter().filter(|tag| FORM_TAGS.contains(&tag.tag.as_str()));
        // A card may have several of the tags.
        let most = tags().max_by_key(|tag| tag.count).filter(|tag| tag.count * 2 >= scored)?;
        Some(format!(
            "warning: {}: `{}` could not read {} of {} (`{}`); add a step `extract` that finds the answer in the \
             text, or ask for another form in the prompt",
            task.task_id,
            figure.metric_id,
            most.count.min(scored),
            terminal::count_of(scored, "answer"),
            most.tag,
        ))
    };
    task.metrics.iter().filter_map(warning).collect()
}

/// Prints the cost of the run if the suite has prices, and answers that no budget could count.
fn print_usage(outcome: &RunOutcome) {
    let usage = &outcome.usage;
    if let Some(cost) = usage.cost {
        let tokens = |count| terminal::count_of(count, "token");
        let missing = usage.missing_prices.as_ref().map(|missing| format!(", {missing}")).unwrap_or_default();
        let missing = gage_core::printable_line(&missing);
        terminal::eprint_line(format_args!(
            "cost: {cost:.4}{missing} ({} of prompts, {} of completions)",
            tokens(usage.prompt_tokens),
            tokens(usage.completion_tokens)
        ));
    }
    if usage.uncounted > 0 && (outcome.has_usage_budget || usage.cost.is_some()) {
        terminal::eprint_line(format_args!(
            "warning: {} had no token counts, so no budget or cost includes them",
            terminal::count_of(usage.uncounted, "answer")
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_runner::LimitedRequests;

    fn coverage(scored: u64, total: u64, total_is_least: bool) -> Shortfall {
        Shortfall::Coverage(CoverageShortfall {
            task_id: "t".to_owned(),
            metric_id: None,
            scored,
            total,
            total_is_least,
            coverage: scored as f64 / total.max(1) as f64,
            min_coverage: 0.95,
        })
    }

    #[test]
    fn each_shortfall_has_its_sentence() {
        let failed =
            |is_whole_run| Shortfall::FailedFast { sample: "t: a: timeout".to_owned(), is_whole_run };
        for (shortfall, expected) in [
            (failed(true), "t: a: timeout, and the run ended there (fail_fast); continue with AGAIN"),
            (failed(false), "t: a: timeout, and the task ended there (fail_fast); continue with AGAIN"),
            (coverage(0, 0, false), "t: there are no samples, so there is no figure"),
            (coverage(0, 4, false), "t: none of 4 samples were scored, so there is no figure"),
            (
                coverage(2, 4, false),
                "t: 2 of 4 samples were scored (50.0 %); the suite requires 95.0 % (min_coverage)",
            ),
            (
                coverage(2, 3, false),
                "t: 2 of 3 samples were scored (66.6 %); the suite requires 95.0 % (min_coverage)",
            ),
        ] {
            assert_eq!(shortfall_line(&shortfall, "AGAIN"), expected);
        }
        assert!(shortfall_line(&coverage(0, 4, true), "").contains("of 4 processed samples were scored"));
    }

    #[test]
    fn a_limit_of_several_tasks_is_noted_once() {
        let limit = |task_id: &str| ConcurrencyLimit {
            task_id: task_id.to_owned(),
            requests: LimitedRequests::Model,
            size: 64,
            key: "max_concurrency",
            owner: "the backend `server`".to_owned(),
            concurrency: 256,
        };
        let sequential = ConcurrencyLimit {
            size: 1,
            key: "mode: sequential",
            owner: "the task `c`".to_owned(),
            ..limit("c")
        };
        let notes = held_back(&[limit("a"), limit("b"), sequential]);
        let expected = [
            "note: held at 1 by `mode: sequential` of the task `c`; leave it out to have up to 256 requests in flight \
             (--concurrency)",
            "note: held at 64 by `max_concurrency` of the backend `server`; raise it to have up to 256 requests in \
             flight (--concurrency)",
        ];
        assert_eq!(Vec::from_iter(notes), expected);
    }

    #[test]
    fn cut_off_and_empty_answers_have_a_remedy() {
        let warnings = |outcome: Outcome, count: u64| {
            let outcomes = [(outcome, count), (Outcome::Scored, 30 - count)].into();
            let coverage = (30 - count) as f64 / 30.0;
            let samples =
                SampleFigures { total: 30, outcomes, not_reached: 0, total_is_least: false, coverage };
            [false, true].map(|are_given| incomplete_answers("mine", &samples, are_given).join("\n"))
        };
        let [cut_off, given] = warnings(Outcome::Truncated, 30);
        let expected = "warning: mine: 30 of 30 answers were cut off at a limit, and have no score; raise \
                        `max_new_tokens`, or score them as they are: `score_outcomes: [truncated]`";
        assert_eq!(cut_off, expected);
        let expected = "warning: mine: 30 of 30 answers were cut off, as their `finish_reason` says, and have no score; \
                        have them made again with a larger limit, or score them as they are: `score_outcomes: [truncated]`";
        assert_eq!(given, expected);
        let [empty, given] = warnings(Outcome::EmptyOutput, 20);
        assert!(empty.contains("20 of 30 answers are empty") && empty.contains("[empty_output]"), "{empty}");
        assert!(given.contains("are empty in their file") && given.contains("complete the file"), "{given}");
        assert_eq!(warnings(Outcome::Truncated, 14), ["", ""]);
        assert_eq!(warnings(Outcome::Refused, 30), ["", ""]);
    }

    #[test]
    fn each_ending_has_one_exit_code() {
        let refused = StopReason::BackendRefused { backend_id: "b".to_owned(), message: "no key".to_owned() };
        let lost = StopReason::ServerLost { backend_id: "b".to_owned(), message: "refused".to_owned() };
        for (ending, code) in [
            (Ending::Stopped(lost), ExitCode::RetryLater),
            (Ending::Complete, ExitCode::Done),
            (Ending::Incomplete, ExitCode::Incomplete),
            (Ending::Stopped(StopReason::AwaitsBatch), ExitCode::Incomplete),
            (Ending::UnreadableData, ExitCode::Configuration),
            (Ending::Stopped(StopReason::Requested), ExitCode::Interrupted),
            (Ending::Stopped(refused), ExitCode::Configuration),
            (Ending::Stopped(StopReason::Budget("max_time".to_owned())), ExitCode::Incomplete),
        ] {
            assert_eq!(code_of(&ending), code, "{ending:?}");
        }
    }
}
