//! `gage-host run`: a suite becomes a run folder.

use super::aggregators::Aggregators;
use super::setup;
use crate::arguments::RunArguments;
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress, TerminalProgress};
use anyhow::Context as _;
use gage_config::{PipelineConfig, TaskSpec};
use gage_data::LocateOptions;
use gage_engine::{Datasets, Plan, Progress, RunError, RunOptions, RunReport, Scoring, Session, Stop, run};
use gage_record::format::CONFIG_FILE;
use gage_record::{RecordError, RunFolder, RunStatus, rfc3339};
use gage_report::{
    Aggregation, MetricDescription, Phases, TableOptions, TaskDescription, Written, render_table,
    write_reports,
};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

pub(crate) fn execute(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Err(message) = setup::logs(&arguments.log) {
        return Ok(terminal::refuse(&message, Some("write it like info, or warn,plugin=debug")));
    }
    let run_id = arguments.run_id.clone().unwrap_or_else(new_run_id);
    if !arguments.resume && RunFolder::exists(&arguments.output_dir, &run_id) {
        let message = format!("there is a run '{run_id}' already in {}", arguments.output_dir.display());
        return Ok(terminal::refuse(&message, Some("go on with it by --resume, or choose another --run-id")));
    }
    let (config, mut problems) = setup::suite(&arguments.config)?;
    let mut registry = match setup::registry(&arguments.config.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => return Ok(terminal::refuse(&error.to_string(), error.help().as_deref())),
    };
    let Some(plan) = config.and_then(|config| Plan::new(config, &mut registry, &mut problems)) else {
        terminal::show_problems(&problems);
        return Ok(ExitCode::Configuration);
    };
    let cache_folder = setup::cache_folder();
    let fetching = FetchProgress::new(arguments.quiet);
    let locating = LocateOptions {
        cache_folder: cache_folder.as_deref(),
        is_offline: arguments.offline,
        progress: &fetching,
        is_cancelled: &|| false,
    };
    let Some(datasets) = Datasets::locate(&plan, &locating, &mut problems) else {
        terminal::show_problems(&problems);
        return Ok(ExitCode::Configuration);
    };
    let was_there = arguments.output_dir.exists();
    if let Err(error) = std::fs::create_dir_all(&arguments.output_dir) {
        let folder = gage_config::shown_path(&arguments.output_dir);
        return Ok(terminal::refuse(
            &format!("cannot write to the folder {folder}: {error}"),
            Some("choose another --output-dir"),
        ));
    }
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    let session =
        runtime.block_on(Session::open(&plan, &registry, &setup::opening(&arguments.log), &mut problems));
    terminal::show_problems(&problems);
    let Some(session) = session else {
        if !was_there {
            // Fails where somebody else has begun to use it, and then it stays.
            let _ = std::fs::remove_dir(&arguments.output_dir);
        }
        return Ok(ExitCode::Configuration);
    };

    let stop = Stop::default();
    runtime.spawn(stop_on_signal(stop.clone()));
    let progress: Arc<dyn Progress> = Arc::new(TerminalProgress::new(arguments.quiet));
    let options = RunOptions {
        concurrency: arguments.concurrency,
        max_samples: arguments.max_samples,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        resume: arguments.resume,
        host_version: env!("CARGO_PKG_VERSION"),
    };
    let aggregators = Aggregators::new(plan.tasks.iter().map(|task| &task.scoring));
    let (tasks, config) = (
        plan.tasks.iter().map(|task| describe(&task.spec, &task.scoring)).collect::<Vec<_>>(),
        plan.config.clone(),
    );
    let root = &arguments.output_dir;
    let report =
        match run(plan, &datasets, &session, root, &run_id, &options, &progress, &stop, runtime.handle()) {
            Ok(report) => report,
            Err(error) => return report_failure(error),
        };
    finish(arguments.json, &config, &tasks, &aggregators, &Origin::Models, report, began)
}

/// Where the answers of a run are from.
pub(super) enum Origin {
    /// Models were asked.
    Models,
    /// From another run, which may have been cut off.
    Answers { cut_off: Option<String> },
}

/// Writes what is reported, and says how the run ended.
pub(super) fn finish(
    json: bool,
    config: &PipelineConfig,
    tasks: &[TaskDescription],
    aggregators: &Aggregators,
    from: &Origin,
    report: RunReport,
    began: Instant,
) -> anyhow::Result<ExitCode> {
    let RunReport { folder, mut manifest, tasks: ran, was_stopped } = report;
    let sum = |part: fn(&gage_engine::TaskReport) -> Duration| ran.iter().map(part).sum();
    let phases = Phases {
        dataset_materialization: sum(|task| task.reading),
        inference: sum(|task| task.inference),
        evaluation: sum(|task| task.evaluation),
        wall: began.elapsed(),
        samples: ran.iter().map(|task| task.counts.total()).sum(),
        ..Phases::default()
    };
    let document =
        serde_yaml::to_string(&config.document).context("cannot write the configuration as YAML")?;
    let config_digest = folder.write_atomically(CONFIG_FILE, document.as_bytes())?;
    let written =
        write_reports(&folder, tasks, &phases, &|task_id, metric_id| aggregators.fold(task_id, metric_id))?;
    let mut lacking = lacking(config, &written);
    lacking
        .splice(0..0, ran.iter().filter_map(|task| task.too_many_invalid.as_ref()).map(ToString::to_string));
    if let Origin::Answers { cut_off } = from {
        lacking.extend(cut_off.clone());
    }
    let unread: Vec<String> = ran
        .iter()
        .filter_map(|task| task.failure.as_ref().map(|error| format!("{}: {error}", task.task_id)))
        .collect();
    let (status, code) = match (was_stopped, unread.is_empty(), lacking.is_empty()) {
        (true, ..) => (RunStatus::Interrupted, ExitCode::Interrupted),
        (false, true, true) => (RunStatus::Complete, ExitCode::Done),
        (false, true, false) => (RunStatus::Incomplete, ExitCode::Incomplete),
        (false, false, _) => (RunStatus::Incomplete, ExitCode::Configuration),
    };
    manifest.files = written.files.clone();
    manifest.files.insert(CONFIG_FILE.to_owned(), config_digest);
    manifest.finish(status);
    manifest.write(&folder)?;

    let path = folder.path().display().to_string();
    if json {
        let json = serde_json::json!({
            "run_id": folder.run_id(),
            "folder": path,
            "status": status.name(),
            "summary": written.summary,
            "timings": written.timings,
        });
        terminal::answer(format_args!("{json:#}"))?;
    } else {
        let options = TableOptions {
            width: terminal::width(),
            colour: terminal::colour_on_stdout(),
            run_folder: Some(&path),
        };
        terminal::answer(render_table(&written.summary, &written.timings, &options))?;
    }
    for task in ran.iter().filter(|task| task.filtered > 0) {
        let rows = terminal::count_of(task.filtered, "row");
        terminal::say(format_args!("{}: the dataset's filter left out {rows}", task.task_id));
    }
    for example in &written.examples {
        terminal::say(gage_core::printable_line(&example.to_string()));
    }
    match was_stopped {
        true if matches!(from, Origin::Answers { .. }) => {
            terminal::say("interrupted; not all answers are scored: score the run once more");
        }
        true => terminal::say(format_args!("interrupted; go on with --run-id {} --resume", folder.run_id())),
        false => lacking.iter().for_each(|line| terminal::say(format_args!("incomplete: {line}"))),
    }
    for line in &unread {
        let help = format!("mend the data, and begin a new run; what was read is in {path}");
        terminal::refuse(line, Some(&help));
    }
    Ok(code)
}

/// The tasks of which fewer samples were scored than the suite asks for.
fn lacking(config: &PipelineConfig, written: &Written) -> Vec<String> {
    config
        .tasks
        .iter()
        .zip(&written.counts)
        .filter(|(task, counts)| {
            // Where nothing was scored there is no figure, whatever the suite is content with.
            let nothing = counts.get(gage_core::Outcome::Scored) == 0;
            nothing || counts.coverage() < task.min_coverage
        })
        .map(|(task, counts)| {
            let scored = counts.get(gage_core::Outcome::Scored);
            let total = counts.total();
            let (found, wanted) = (counts.coverage() * 100.0, task.min_coverage * 100.0);
            format!(
                "{}: {scored} of {total} samples were scored ({found:.1} %); the suite asks for {wanted:.1} % (min_coverage)",
                task.task_id
            )
        })
        .collect()
}

/// What reports need to know of a task.
pub(super) fn describe(spec: &TaskSpec, scoring: &Scoring) -> TaskDescription {
    let of = |is_timing: bool| {
        scoring
            .metrics
            .iter()
            .filter(|planned| planned.is_timing == is_timing)
            .map(|planned| {
                let description = planned.metric.description();
                let value = description.values.first();
                MetricDescription {
                    metric_id: planned.metric_id.clone(),
                    implementation: planned.implementation.to_string(),
                    scorer_version: description.version.clone(),
                    aggregation: match &planned.aggregator {
                        None => Aggregation::parse(&planned.aggregation).unwrap_or(Aggregation::Mean),
                        Some(_) => Aggregation::Custom(planned.aggregation.clone()),
                    },
                    value_name: value.map(|value| value.name.clone()).unwrap_or_default(),
                    higher_is_better: value.is_none_or(|value| value.higher_is_better),
                }
            })
            .collect()
    };
    TaskDescription {
        task_id: spec.task_id.clone(),
        dataset_id: spec.dataset_id.clone(),
        metrics: of(false),
        timing_metrics: of(true),
        slices: spec.slices.iter().map(|path| path.as_str().to_owned()).collect(),
        cluster_by: spec.cluster_by.as_ref().map(|path| path.as_str().to_owned()),
        repeat: spec.repeat,
    }
}

/// Errors of the user's making end with another code than those of the program or the machine.
fn report_failure(error: RunError) -> anyhow::Result<ExitCode> {
    match error {
        RunError::Different(_) | RunError::Changed { .. } | RunError::Data(_) => {
            let message = format!("{:#}", anyhow::Error::new(error));
            Ok(terminal::refuse(&message, Some("use another --run-id to begin a new run")))
        }
        RunError::Record(
            error @ (RecordError::RunExists { .. }
            | RecordError::Locked { .. }
            | RecordError::RunMissing { .. }
            | RecordError::NotARunFolder { .. }
            | RecordError::InvalidRunId(_)),
        ) => {
            terminal::say(format_args!("error: {:#}", anyhow::Error::new(error)));
            Ok(ExitCode::Configuration)
        }
        error => Err(error.into()),
    }
}

/// Date and time, and what keeps two runs of one second apart: `20260102-030405-1f3a`.
pub(super) fn new_run_id() -> String {
    let now = SystemTime::now();
    let time: String = rfc3339(now).chars().filter(|character| !"-:Z".contains(*character)).collect();
    let nanoseconds = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    let apart = (nanoseconds ^ std::process::id()) & 0xffff;
    format!("{}-{apart:04x}", time.replace('T', "-"))
}

/// The first signal ends the run in order; the second ends the process at once. The journal
/// holds every acknowledged sample either way.
pub(super) async fn stop_on_signal(stop: Stop) {
    signal().await;
    stop.set();
    terminal::say("\nstopping: what is in flight is finished; once more to stop at once");
    signal().await;
    std::process::exit(ExitCode::Interrupted as i32);
}

/// Waits for Ctrl-C, or for the signal by which schedulers end a process.
#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        }
        Err(_) => drop(tokio::signal::ctrl_c().await),
    }
}

#[cfg(not(unix))]
async fn signal() {
    drop(tokio::signal::ctrl_c().await);
}
