//! `gage-host run`: a suite becomes a run folder.

mod answers;
mod finish;

use super::aggregators::Aggregators;
use super::setup::{self, Variables};
use super::{lock, observability};
use crate::arguments::RunArguments;
use crate::exit_code::ExitCode;
use crate::omp_wait_policy;
use crate::terminal::{self, FetchProgress, TerminalProgress};
use answers::answers_of;
use anyhow::Context as _;
pub(super) use finish::{Origin, describe_requests, finish, reaches_of_parent};
use gage_backend::{HttpRecording, OpenOptions, RecordingError};
use gage_config::{BackendKind, Isolation, PipelineConfig, TaskSpec};
use gage_data::LocateOptions;
use gage_engine::{
    CancelToken, Datasets, Plan, Progress, RunContext, RunError, RunOptions, Scoring, Session, fetch_models,
    identity, identity_of_config, run,
};
use gage_record::{MissingManifest, RecordError, RunFolder, rfc3339};
use gage_report::{Aggregation, MetricDescription, TaskDescription};
use gage_suite::{LoadedSuite, Lock, newest_unfinished};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub(crate) fn execute(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    if let Err(message) = observability::logs(&arguments.logs, Some(&arguments.observe)) {
        return Ok(terminal::usage_error(&message, Some("write a filter like info, or warn,plugin=debug")));
    }
    let arguments = match arguments.resolved() {
        Ok(arguments) => arguments,
        Err((message, help)) => return Ok(terminal::usage_error(&message, Some(help))),
    };
    if let Some(code) = arguments.run_id.as_ref().and_then(|run_id| refuse_run_id(&arguments, run_id)) {
        return Ok(code);
    }
    let is_locked = arguments.locked || arguments.frozen;
    let lock_path = lock::lock_path(&arguments.config.path(), arguments.lock.as_deref());
    if arguments.lock.is_some() && !is_locked {
        let message = "--lock names a lock, and nothing is compared with it";
        return Ok(terminal::usage_error(message, Some("add --locked, or --frozen")));
    }
    let locked = match is_locked.then(|| Lock::read(&lock_path)).transpose() {
        Ok(locked) => locked,
        Err(error) => return setup::refuse_suite(error),
    };
    // What is played back was asked with secrets, and needs none.
    let variables = match &arguments.replay {
        Some(_) => Variables::of_replay(&arguments.config),
        None => Variables::default(),
    };
    let overrides = setup::overrides(&arguments.config, &variables);
    let LoadedSuite { config, origin, mut problems, .. } =
        setup::loaded(&arguments.config.path(), &overrides, &variables, false);
    // What cannot be used may be what was locked and is another now.
    let unusable = || {
        let code = locked
            .as_ref()
            .and_then(|locked| lock::unusable(locked, &arguments.config, &overrides, &variables));
        code.unwrap_or(ExitCode::Configuration)
    };
    if config.as_ref().is_some_and(has_model_of_its_own) {
        omp_wait_policy::set();
    }
    crate::environment::warn_of_no_effect();
    let mut registry = match setup::registry(&arguments.config.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => {
            terminal::usage_error(&error.to_string(), error.help().as_deref());
            return Ok(unusable());
        }
    };
    let config = config.map(|mut config| {
        config.budget = arguments.budget.spec().over(&config.budget);
        config
    });
    let Some(plan) = config.and_then(|config| Plan::new(config, &mut registry, &mut problems)) else {
        terminal::show_problems(&problems);
        return Ok(unusable());
    };
    let run_id = match run_id_of(&arguments, &plan) {
        Ok(run_id) => run_id,
        Err(code) => return Ok(code),
    };
    let cache_folder = setup::cache_folder();
    let fetching = FetchProgress::new(arguments.quiet);
    let locating = LocateOptions {
        with_digests: true,
        cache_folder: cache_folder.as_deref(),
        is_offline: arguments.offline || arguments.frozen,
        progress: &fetching,
        is_cancelled: &|| false,
    };
    let Some(datasets) = Datasets::locate(&plan, &locating, &mut problems) else {
        terminal::show_problems(&problems);
        return Ok(unusable());
    };
    let Some(model_files) = fetch_models(&plan, &setup::model_hub(), &locating, &mut problems) else {
        terminal::show_problems(&problems);
        return Ok(unusable());
    };
    let observability = match observability::observability(&arguments.observe, &run_id) {
        Ok(observability) => observability,
        Err(message) => return Ok(terminal::usage_error(&message, None)),
    };
    let _output_folder = match OutputFolder::create(&arguments.output_dir) {
        Ok(folder) => folder,
        Err(error) => {
            let folder = gage_config::shown_path(&arguments.output_dir);
            let message = format!("cannot write to the folder {folder}: {error}");
            return Ok(terminal::usage_error(&message, Some("choose another --output-dir")));
        }
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    if let Err(message) = runtime.block_on(observability::serve(&arguments.observe, &observability)) {
        return Ok(terminal::usage_error(&message, Some("choose another --metrics-listen")));
    }
    full_files_are_errors(&runtime);
    let loading = Instant::now();
    let tape = match tape_of(&arguments) {
        Ok(tape) => tape,
        Err(error) => {
            let help = Some("--record goes on with a file of its own; --replay needs one that it wrote");
            return Ok(terminal::usage_error(&error.to_string(), help));
        }
    };
    let answers = match answers_of(&arguments, plan.config.cache.as_ref()) {
        Ok(answers) => answers,
        Err(message) => {
            let help = "name another folder, or leave the cache off: --cache=off";
            return Ok(terminal::usage_error(&message, Some(help)));
        }
    };
    let opening =
        OpenOptions { tape: tape.clone(), answers, model_files, ..setup::opening(&arguments.logs.log) };
    let session = runtime.block_on(Session::open(&plan, &registry, &opening, &mut problems));
    if let Some(session) = &session {
        session.check_media(&plan, &datasets, &mut problems);
    }
    let session = session.filter(|_| !problems.has_errors());
    terminal::show_problems(&problems);
    let Some(session) = session else { return Ok(unusable()) };

    let mut found = match origin {
        Some(origin) => {
            let identity = identity(&plan, &datasets, &session);
            let config = &arguments.config;
            match lock::of_suite(&config.path(), &overrides, &variables, &origin, &identity) {
                Ok(found) => Some(found),
                Err(error) => return setup::refuse_suite(error),
            }
        }
        None => None,
    };
    if let (Some(locked), Some(found)) = (&locked, &mut found)
        && let Some(code) = lock::compare(
            locked,
            found,
            &datasets,
            &lock_path,
            arguments.max_samples,
            arguments.replay.is_some(),
        )
    {
        return Ok(code);
    }
    let lock = found.map(|found| found.to_yaml());

    let stop = CancelToken::default();
    runtime.spawn(stop_on_signal(stop.clone()));
    let loading = loading.elapsed();
    let shown = Arc::new(TerminalProgress::new(arguments.progress.progress, arguments.quiet));
    let progress: Arc<dyn Progress> =
        Arc::new(observability::RunObserver::new(Arc::clone(&shown), observability.clone()));
    let options = RunOptions {
        concurrency: arguments.concurrency,
        max_samples: arguments.max_samples,
        workers: arguments
            .autoeval_workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        task_parallelism: arguments.task_parallelism,
        resume: arguments.is_resumed(),
        retry: arguments.retry.clone(),
        host_version: env!("CARGO_PKG_VERSION"),
        observability: observability.clone(),
    };
    let aggregators = Aggregators::new(plan.tasks.iter().map(|task| &task.scoring));
    let tasks: Vec<TaskDescription> =
        plan.tasks.iter().map(|task| describe(&task.spec, &task.scoring)).collect();
    let root = &arguments.output_dir;
    let handle = runtime.handle();
    let ran = run(&RunContext {
        plan: &plan,
        datasets: &datasets,
        session: &session,
        root,
        run_id: &run_id,
        options: &options,
        progress: &progress,
        stop: &stop,
        runtime: handle,
    });
    shown.finish();
    let work = observability.meters.work();
    // What was answered is kept, however the run ended.
    let recorded = tape.map_or(Ok(0), |tape| tape.finish());
    let report = match ran {
        Ok(report) => report,
        Err(error) => return report_failure(error),
    };
    let from = Origin::Models { lock, loading, work, backends: session.statistics() };
    let code = finish(arguments.json, &plan.config, tasks, &aggregators, &from, report, began)?;
    if let Err(error) = recorded {
        terminal::eprint_line(format_args!("error: the HTTP exchanges were not recorded: {error}"));
        return Ok(ExitCode::Internal);
    }
    // What was given up may still wait for an answer; nobody waits for it.
    runtime.shutdown_background();
    Ok(code)
}

/// Refuses the id of a run that is there where a new one is to begin, and of none where one is to go on.
fn refuse_run_id(arguments: &RunArguments, run_id: &str) -> Option<ExitCode> {
    let root = &arguments.output_dir;
    match (arguments.is_resumed(), RunFolder::exists(root, run_id)) {
        (false, true) => {
            let message = format!("there is a run '{run_id}' already in {}", root.display());
            Some(terminal::usage_error(
                &message,
                Some("go on with it by --resume, or choose another --run-id"),
            ))
        }
        (true, false) => {
            let missing = RecordError::RunMissing { run_id: run_id.to_owned(), path: root.join(run_id) };
            Some(terminal::usage_error(&missing.to_string(), None))
        }
        (false, false) => {
            let path = root.join(run_id);
            let is_taken =
                matches!(MissingManifest::of(&path), MissingManifest::Lost | MissingManifest::Foreign);
            let taken = RecordError::RunExists { run_id: run_id.to_owned(), path };
            is_taken.then(|| terminal::usage_error(&taken.to_string(), None))
        }
        (true, true) => None,
    }
}

/// The id of the run: the one that was given, the one to go on with, or a new one. Else the code of what was said.
fn run_id_of(arguments: &RunArguments, plan: &Plan) -> Result<String, ExitCode> {
    match &arguments.run_id {
        Some(run_id) => Ok(run_id.clone()),
        None if !arguments.is_resumed() => Ok(new_run_id()),
        None => {
            let root = &arguments.output_dir;
            let found = match newest_unfinished(root, &identity_of_config(plan)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    let message = format!("cannot read the folder {}: {error}", root.display());
                    return Err(terminal::usage_error(&message, Some("name the run by --resume RUN")));
                }
                found => found.ok().flatten(),
            };
            let Some(run_id) = found else {
                let message = format!("{} holds no run of this suite that could go on", root.display());
                let help = "each has come to its end, is written by a process now, or was begun with another \
                            configuration: name one by --resume RUN (`gage-host runs list` shows them), or leave --resume out";
                return Err(terminal::usage_error(&message, Some(help)));
            };
            if !arguments.quiet {
                terminal::eprint_line(format_args!("going on with {}", root.join(&run_id).display()));
            }
            Ok(run_id)
        }
    }
}

/// Whether a model runs in this process.
fn has_model_of_its_own(config: &PipelineConfig) -> bool {
    let is_here = |kind: &BackendKind| matches!(kind, BackendKind::LlamaCpp(config) if config.isolation == Isolation::Thread);
    config.backends.iter().any(|backend| is_here(&backend.kind))
}

/// The folder of all runs. One that was made for a run that never began goes again.
struct OutputFolder<'a> {
    made: Option<&'a Path>,
}

impl OutputFolder<'_> {
    fn create(path: &Path) -> std::io::Result<OutputFolder<'_>> {
        let was_there = path.exists();
        std::fs::create_dir_all(path)?;
        Ok(OutputFolder { made: (!was_there).then_some(path) })
    }
}

impl Drop for OutputFolder<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.made {
            // Fails where a run is in it, this one or somebody else's, and then it stays.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Where the HTTP exchanges of a run are recorded, or played back from.
fn tape_of(arguments: &RunArguments) -> Result<Option<Arc<HttpRecording>>, RecordingError> {
    let tape = match (&arguments.record, &arguments.replay) {
        (Some(path), _) => HttpRecording::record(path)?,
        (None, Some(path)) => HttpRecording::replay(path)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(Arc::new(tape)))
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
                    is_proportion: value.is_none_or(|value| {
                        matches!((value.minimum, value.maximum), (None, None) | (Some(0.0), Some(1.0)))
                    }),
                    scales: description
                        .values
                        .iter()
                        .filter_map(|value| Some((value.name.clone(), value.scale()?)))
                        .collect(),
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
        prompts: Vec::new(),
        prompt_version: scoring.prompt_version.clone(),
        metric_paths: metric_paths(spec, scoring),
        judges: Vec::new(),
        sampling_params: gage_core::Object::new(),
    }
}

/// The paths that a suite gives the metrics of a task; those that read a clock find it where no record has it.
fn metric_paths(spec: &TaskSpec, scoring: &Scoring) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for planned in scoring.metrics.iter().filter(|planned| !planned.is_timing) {
        let metric_id = &planned.metric_id;
        let Some(metric) = spec.metrics.iter().find(|metric| metric.metric_id == *metric_id) else {
            continue;
        };
        let given = metric.params.to_json();
        for input in &planned.metric.description().inputs {
            let param =
                input.path_params.iter().find(|param| given.get(param).is_some_and(|path| !path.is_null()));
            let path = param.and_then(|param| Some((param, given[param].as_str()?)));
            paths.extend(path.map(|(param, path)| (format!("{metric_id}.{param}"), path.to_owned())));
        }
    }
    paths
}

/// Errors of the user's making end with another code than those of the program or the machine.
fn report_failure(error: RunError) -> anyhow::Result<ExitCode> {
    match error {
        RunError::Different(_) | RunError::Changed { .. } | RunError::Data(_) => {
            let message = format!("{:#}", anyhow::Error::new(error));
            Ok(terminal::usage_error(&message, Some("use another --run-id to begin a new run")))
        }
        error @ RunError::FewerSamples { recorded, .. } => {
            let help =
                format!("give --max-samples {recorded} or more, or leave it out; the run is as it was");
            Ok(terminal::usage_error(&error.to_string(), Some(&help)))
        }
        RunError::Record(
            error @ (RecordError::RunExists { .. }
            | RecordError::Locked { .. }
            | RecordError::RunMissing { .. }
            | RecordError::NotARunFolder { .. }
            | RecordError::Invalid { .. }
            | RecordError::DamagedJournal { .. }
            | RecordError::NewerFormat { .. }
            | RecordError::InvalidRunId(_)),
        ) => {
            terminal::eprint_line(format_args!("error: {:#}", anyhow::Error::new(error)));
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
pub(super) async fn stop_on_signal(stop: CancelToken) {
    signal().await;
    stop.cancel();
    terminal::eprint_line("\nstopping: what is in flight is finished; once more to stop at once");
    signal().await;
    std::process::exit(ExitCode::Interrupted as i32);
}

/// A limit on the size of files (`ulimit -f`) would end the process without a word; so it is a failed write, like that of a
/// full disk.
#[cfg(unix)]
fn full_files_are_errors(runtime: &tokio::runtime::Runtime) {
    /// SIGXFSZ of Linux, macOS and the BSDs.
    const FILE_TOO_LARGE: i32 = 25;
    let _entered = runtime.enter();
    // Whoever listens has done so for good, so nobody needs to hear it.
    let listening = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_TOO_LARGE));
    if let Err(error) = listening {
        tracing::debug!(%error, "a limit on the size of files will end the process");
    }
}

#[cfg(not(unix))]
fn full_files_are_errors(_: &tokio::runtime::Runtime) {}

/// Waits for Ctrl-C, for the signal by which schedulers end a process, or for the end of the terminal or the session, unless
/// the process was begun to outlive that.
#[cfg(unix)]
pub(super) async fn signal() {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn received(signal: Option<Signal>) {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
    let terminate = signal(SignalKind::terminate()).ok();
    // Before the first one is listened for: from then on nothing is ignored.
    static IGNORES_HANGUP: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let hangup = match IGNORES_HANGUP.get_or_init(ignores_hangup) {
        true => None,
        false => signal(SignalKind::hangup()).ok(),
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = received(terminate) => {}
        () = received(hangup) => terminal::hung_up(),
    }
}

/// Whether the process was begun with SIGHUP ignored, as by `nohup`. Where the system does not say it, it was where its
/// standard output and error streams are no terminal, as `nohup` leaves them.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    use std::io::IsTerminal as _;
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    match ignored {
        Some(mask) => mask & HANGUP != 0,
        None => !std::io::stdout().is_terminal() && !std::io::stderr().is_terminal(),
    }
}

#[cfg(not(unix))]
pub(super) async fn signal() {
    drop(tokio::signal::ctrl_c().await);
}
