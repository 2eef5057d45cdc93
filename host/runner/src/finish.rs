//! The end of a run: what is reported is written, and how the run ended is said.

use super::super::aggregators::Aggregators;
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::{FailurePolicy, PipelineConfig, RequestKind, load_recorded};
use gage_core::{Object, Outcome};
use gage_engine::{RunReport, RunUsage, StopReason, TaskReport};
use gage_observe::RequestTotals;
use gage_record::format::{CONFIG_FILE, EVENTS_FILE, LOCK_FILE, UNSENT_EVENTS_FILE};
use gage_record::{Manifest, RunReader, RunStatus, journal_digests};
use gage_report::{
    Completeness, MetricFigure, Phases, PromptDescription, Summary, TableOptions, TaskCompleteness,
    TaskDescription, TaskSummary, WrittenReports, render_table, write_reports,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Where the answers of a run are from.
pub(in crate::commands) enum Origin {
    /// Models were asked, that much, and had to be loaded before; with what the run is made from, as a lock.
    Models {
        lock: Option<String>,
        loading: Duration,
        work: RequestTotals,
        backends: BTreeMap<String, Object>,
    },
    /// From another run, which may have been cut off.
    Answers { cut_off: Option<String>, reaches: Completeness },
}

impl Origin {
    /// What is known of the phases of a run besides its tasks.
    fn phases(&self) -> Phases {
        match self {
            Origin::Models { loading, work, backends, .. } => Phases {
                stages: [("model_loading".to_owned(), *loading)].into(),
                requests: work.requests,
                retries: work.retries,
                prompt_tokens: work.prompt_tokens,
                completion_tokens: work.completion_tokens,
                backends: backends.clone(),
                ..Phases::default()
            },
            Origin::Answers { .. } => Phases::default(),
        }
    }
}

/// Writes what is reported, and says how the run ended.
pub(in crate::commands) fn finish(
    json: bool,
    config: &PipelineConfig,
    mut tasks: Vec<TaskDescription>,
    aggregators: &Aggregators,
    from: &Origin,
    report: RunReport,
    began: Instant,
) -> anyhow::Result<ExitCode> {
    let RunReport { folder, mut manifest, tasks: ran, stopped, spent } = report;
    describe_requests(&mut tasks, config, &manifest);
    let sum = |part: fn(&TaskReport) -> Duration| ran.iter().map(part).sum();
    let phases = Phases {
        dataset_materialization: sum(|task| task.reading),
        inference: sum(|task| task.inference),
        evaluation: sum(|task| task.evaluation),
        wall: began.elapsed(),
        samples: ran.iter().map(|task| task.counts.total().saturating_sub(task.resumed)).sum(),
        finished: ran.iter().map(|task| task.counts.total()).sum(),
        ..from.phases()
    };
    let document =
        serde_yaml::to_string(&config.document).context("cannot write the configuration as YAML")?;
    let config_digest = folder.write_atomically(CONFIG_FILE, document.as_bytes())?;
    let reaches = reaches_of(&ran, from);
    let written = write_reports(&folder, &tasks, &reaches, &phases, &|task_id, metric_id| {
        aggregators.fold(task_id, metric_id)
    })?;
    let again = format!("--run-id {} --resume", folder.run_id());
    let mut lacking: Vec<String> =
        ran.iter().filter_map(|task| task.too_many_invalid.as_ref()).map(ToString::to_string).collect();
    lacking.extend(ran.iter().filter_map(|task| failed_fast(task, stopped.as_ref(), &again)));
    lacking.extend(uncovered(config, &written, &ran));
    if let Origin::Answers { cut_off, .. } = from {
        lacking.extend(cut_off.clone());
    }
    let unread: Vec<String> = ran
        .iter()
        .filter_map(|task| task.failure.as_ref().map(|error| format!("{}: {error}", task.task_id)))
        .collect();
    let (status, code) = match (&stopped, unread.is_empty(), lacking.is_empty()) {
        (Some(StopReason::Requested), ..) => (RunStatus::Interrupted, ExitCode::Interrupted),
        (Some(StopReason::BackendRefused { .. }), ..) => (RunStatus::Interrupted, ExitCode::Configuration),
        (Some(StopReason::ModelLost { .. }), ..) => (RunStatus::Interrupted, ExitCode::Incomplete),
        (Some(StopReason::Budget(_) | StopReason::FailFast(_)), ..) => {
            (RunStatus::Incomplete, ExitCode::Incomplete)
        }
        (None, true, true) => (RunStatus::Complete, ExitCode::Done),
        (None, true, false) => (RunStatus::Incomplete, ExitCode::Incomplete),
        (None, false, _) => (RunStatus::Incomplete, ExitCode::Configuration),
    };
    manifest.files = written.files.clone();
    manifest.files.insert(CONFIG_FILE.to_owned(), config_digest);
    if let Origin::Models { lock: Some(lock), .. } = from {
        manifest.files.insert(LOCK_FILE.to_owned(), folder.write_atomically(LOCK_FILE, lock.as_bytes())?);
    }
    manifest.files.extend(journal_digests(&folder)?);
    // Whoever told of the run has ended by now.
    for name in [EVENTS_FILE, UNSENT_EVENTS_FILE] {
        manifest.files.extend(folder.sync_and_digest(name)?.map(|digest| (name.to_owned(), digest)));
    }
    manifest.ended_by = stopped.as_ref().and_then(ended_by);
    manifest.finish(status);
    manifest.write(&folder)?;

    let path = folder.path().display().to_string();
    if json {
        let json = json!({
            "run_id": folder.run_id(),
            "folder": path,
            "status": status.name(),
            "ended_by": manifest.ended_by,
            "spent": {
                "prompt_tokens": spent.prompt_tokens,
                "completion_tokens": spent.completion_tokens,
                "cost": spent.cost,
                "uncounted": spent.uncounted,
            },
            "summary": written.summary,
            "timings": written.timings,
        });
        terminal::print_line(format_args!("{json:#}"))?;
    } else {
        let options = TableOptions {
            width: terminal::width(),
            colour: terminal::colour_on_stdout(),
            run_folder: Some(&path),
        };
        terminal::print_line(render_table(&written.summary, &written.timings, &options))?;
    }
    for task in ran.iter().filter(|task| task.filtered > 0) {
        let rows = terminal::count_of(task.filtered, "row");
        terminal::eprint_line(format_args!("{}: the dataset's filter left out {rows}", task.task_id));
    }
    for (task, missing) in ran.iter().flat_map(|task| task.missing_fields.iter().map(move |one| (task, one)))
    {
        let warning = format!("warning: {}: {missing}", task.task_id);
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    for example in &written.examples {
        terminal::eprint_line(gage_core::printable_line(&example.to_string()));
    }
    for task in &written.summary.tasks {
        for unfound in &task.unfound {
            let warning = format!("warning: {}: {unfound}", task.task_id);
            terminal::eprint_line(gage_core::printable_line(&warning));
        }
    }
    for task in &written.summary.tasks {
        if let Some(warning) = unanswered(task) {
            terminal::eprint_line(gage_core::printable_line(&warning));
        }
    }
    say_spent(&spent, config);
    match &stopped {
        Some(StopReason::Requested) if matches!(from, Origin::Answers { .. }) => {
            terminal::eprint_line("interrupted; not all answers are scored: score the run once more");
        }
        Some(StopReason::Requested) => terminal::eprint_line(format_args!("interrupted; go on with {again}")),
        Some(StopReason::Budget(text)) => {
            terminal::eprint_line(format_args!(
                "incomplete: a budget is used up: {text}; go on with a larger one and {again}"
            ));
        }
        Some(StopReason::BackendRefused { backend_id, message }) => {
            let message = format!("the backend `{backend_id}` refuses every request: {message}");
            let help = format!(
                "see to its key, and to what the account may use; then go on with {again}. What had no answer is not \
                 recorded"
            );
            terminal::usage_error(&gage_core::printable_line(&message), Some(&help));
        }
        Some(StopReason::ModelLost { backend_id, message }) => {
            let message = format!("the model of the backend `{backend_id}` is lost: {message}");
            let help = format!(
                "see to its file and to memory, then go on with {again}. What had no answer is not recorded"
            );
            terminal::usage_error(&gage_core::printable_line(&message), Some(&help));
        }
        Some(StopReason::FailFast(_)) | None => {}
    }
    if !matches!(stopped, Some(StopReason::Requested)) {
        lacking.iter().for_each(|line| terminal::eprint_line(format_args!("incomplete: {line}")));
    }
    for line in &unread {
        let help = format!("mend the data, and begin a new run; what was read is in {path}");
        terminal::usage_error(line, Some(&help));
    }
    Ok(code)
}

/// How far the run came of its tasks. A run whose answers are another's came no further than that one.
fn reaches_of(ran: &[TaskReport], from: &Origin) -> Completeness {
    let early = ran.iter().filter(|task| task.ended_early());
    let own = early.map(|task| {
        (task.task_id.clone(), task.planned.map_or(TaskCompleteness::Unknown, TaskCompleteness::Of))
    });
    let mut reaches: Completeness = own.collect();
    if let Origin::Answers { reaches: of_parent, .. } = from {
        let early = of_parent.iter().filter(|(_, reach)| **reach != TaskCompleteness::Whole);
        reaches.extend(early.map(|(task_id, reach)| (task_id.clone(), *reach)));
    }
    reaches
}

/// How far a run that did not come to its end came of the tasks of a suite. One that was killed does not say.
pub(in crate::commands) fn reaches_of_parent(parent: &RunReader, config: &PipelineConfig) -> Completeness {
    let summary = parent.summary::<Summary>().ok();
    let known: Completeness = match &summary {
        Some(summary) => {
            summary.tasks.iter().map(|task| (task.task_id.clone(), TaskCompleteness::of(task))).collect()
        }
        None => Completeness::new(),
    };
    let unknown = config.tasks.iter().filter(|task| !known.contains_key(&task.task_id));
    let unknown: Completeness =
        unknown.map(|task| (task.task_id.clone(), TaskCompleteness::Unknown)).collect();
    known.into_iter().chain(unknown).collect()
}

/// Says which prompts and sampling parameters the requests of each task were made with, and who judged the answers.
pub(in crate::commands) fn describe_requests(
    tasks: &mut [TaskDescription],
    config: &PipelineConfig,
    manifest: &Manifest,
) {
    let prompts = &manifest.identity["prompts"];
    let holds_secrets = !config.withheld.is_empty() || manifest.identity.get("withheld").is_some();
    let public = holds_secrets.then(|| load_recorded(&config.document)).flatten();
    for (task, spec) in tasks.iter_mut().zip(&config.tasks) {
        let mut roles: Vec<&str> = Vec::new();
        for role in config.roles_of(spec) {
            if !roles.contains(&role.adapter_id.as_str()) {
                roles.push(&role.adapter_id);
            }
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let described = |adapter_id: &str| {
            let prompt = prompts.get(adapter_id)?;
            Some(PromptDescription {
                adapter_id: adapter_id.to_owned(),
                prompt_id: text(&prompt["prompt_id"]),
                digest: text(&prompt["digest"]),
            })
        };
        task.prompts = roles.into_iter().filter_map(described).collect();
        let judges = spec.steps.judge.iter().flat_map(|step| &step.judges);
        task.judges = judges.filter_map(|judge| config.judge_id_of(judge)).collect();
        // A secret that is sent so is named here; that of a run that is scored again is no longer known.
        let named = public.as_ref().and_then(|public| {
            let task = public.tasks.iter().find(|task| task.task_id == spec.task_id)?;
            Some(public.sent_params_of(task))
        });
        let params = serde_json::to_value(named.unwrap_or_else(|| config.sent_params_of(spec)));
        task.sampling_params = match params {
            Ok(Value::Object(params)) if spec.steps.inference.request == RequestKind::Generate => params,
            _ => Object::new(),
        };
    }
}

/// What the manifest says of a run that ended early.
fn ended_by(reason: &StopReason) -> Option<String> {
    match reason {
        StopReason::Requested => None,
        StopReason::Budget(text) => Some(format!("budget: {text}")),
        StopReason::FailFast(text) => Some(format!("fail_fast: {text}")),
        StopReason::BackendRefused { backend_id, message } => {
            Some(format!("refused: {backend_id}: {message}"))
        }
        StopReason::ModelLost { backend_id, message } => Some(format!("model lost: {backend_id}: {message}")),
    }
}

/// A task that its first failed sample ended.
fn failed_fast(task: &TaskReport, of_run: Option<&StopReason>, again: &str) -> Option<String> {
    match &task.cut_off {
        Some(StopReason::FailFast(text)) if of_run.is_none() => {
            Some(format!("{text}, and the task ended there (fail_fast); go on with {again}"))
        }
        Some(reason @ StopReason::FailFast(text))
            if of_run == Some(reason) && text.starts_with(&format!("{}:", task.task_id)) =>
        {
            Some(format!("{text}, and the run ended there (fail_fast); go on with {again}"))
        }
        _ => None,
    }
}

/// The tasks of which fewer samples were scored than the suite asks for.
fn uncovered(config: &PipelineConfig, written: &WrittenReports, ran: &[TaskReport]) -> Vec<String> {
    let of_tasks = config.tasks.iter().zip(&written.summary.tasks).zip(ran);
    of_tasks
        .filter(|((task, TaskSummary { samples, .. }), ran)| {
            // Where nothing was scored there is no figure, whatever the suite is content with; a task that
            // the run has not come to says nothing.
            let nothing = !samples.outcomes.contains_key(&Outcome::Scored);
            let is_lacking = samples.coverage < task.min_coverage;
            let is_enough = task.failure_policy == FailurePolicy::BestEffort;
            let is_to_come = ran.cut_off.is_some() && samples.reached() == 0;
            (nothing || is_lacking && !is_enough) && !is_to_come
        })
        .map(|((task, TaskSummary { samples, .. }), _)| {
            let scored = samples.outcomes.get(&Outcome::Scored).copied().unwrap_or(0);
            let total = samples.total;
            let (found, wanted) = (samples.coverage * 100.0, task.min_coverage * 100.0);
            if total == 0 {
                return format!("{}: there is no sample, so there is no figure", task.task_id);
            }
            if samples.total_is_least {
                // The coverage is at most that.
                return format!(
                    "{}: {scored} of the {total} samples that it came to were scored, and nobody knows how many were left; \
                     the suite asks for {wanted:.1} % of all (min_coverage)",
                    task.task_id
                );
            }
            if scored == 0 {
                return format!("{}: none of {total} samples were scored, so there is no figure", task.task_id);
            }
            format!(
                "{}: {scored} of {total} samples were scored ({found:.1} %); the suite asks for {wanted:.1} % (min_coverage)",
                task.task_id
            )
        })
        .collect()
}

/// The Samples of a task that say nothing that its metrics could compare answers with: most score 0 for that,
/// which is no fault of the model.
fn unanswered(task: &TaskSummary) -> Option<String> {
    const TAGS: [&str; 2] = ["missing_reference", "unknown_reference"];
    let unusable = |figure: &MetricFigure| {
        let tags = figure.error_tags.iter().filter(|tag| TAGS.contains(&tag.tag.as_str()));
        tags.map(|tag| tag.count).sum::<u64>()
    };
    let counts: Vec<(&str, u64)> = task
        .metrics
        .iter()
        .map(|figure| (figure.metric_id.as_str(), unusable(figure)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let metrics: Vec<String> = counts.iter().map(|(name, _)| format!("`{name}`")).collect();
    Some(format!(
        "warning: {}: {} {} no reference that {} can use, and {} not right for that, whatever the model said; \
         `gage-host data validate` names the first",
        task.task_id,
        terminal::count_of(most, "sample"),
        if most == 1 { "has" } else { "have" },
        metrics.join(", "),
        if most == 1 { "is" } else { "are" },
    ))
}

/// Says what the run cost, where the suite has prices, and where a budget could not be held to.
fn say_spent(spent: &RunUsage, config: &PipelineConfig) {
    if let Some(cost) = spent.cost {
        let tokens = |count| terminal::count_of(count, "token");
        terminal::eprint_line(format_args!(
            "cost: {cost:.4} ({} of prompts, {} of completions)",
            tokens(spent.prompt_tokens),
            tokens(spent.completion_tokens)
        ));
    }
    let is_held = config.budget.max_cost.is_some() || config.budget.max_tokens_total.is_some();
    if spent.uncounted > 0 && (is_held || spent.cost.is_some()) {
        terminal::eprint_line(format_args!(
            "warning: {} came without a count of tokens, and no budget or cost holds them",
            terminal::count_of(spent.uncounted, "answer")
        ));
    }
}
