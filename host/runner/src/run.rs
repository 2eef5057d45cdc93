//! Runs a suite, which creates a run folder.

mod shard;

use crate::aggregators::Aggregators;
use crate::async_runtime::{cores, start_runtime};
use crate::describe::{describe, describe_judges};
use crate::finish::{EndedRun, Origin, outage_of};
use crate::gate_power::check_gates;
use crate::http_exchanges::HttpExchanges;
use crate::limited_slices::check_limited_slices;
use crate::live_reports::LiveReports;
use crate::other_run::OtherRun;
use crate::output_folder::OutputFolder;
use crate::progress::{EngineEvents, FetchEvents};
use crate::recorded_gpu_layers::recorded_gpu_layers;
use crate::request::{DEFAULT_CONCURRENCY, ResumeRequest, RunRequest};
use crate::shortage::watched;
use crate::suite_source::{ReadSuite, Variables};
use crate::{HOST_VERSION, RunEvent, RunOutcome, RunnerError, batch, lock};
use gage_backend::{HttpBatch, HttpHosts, HttpRecording, KernelVariant, OpenOptions, RecordingError};
use gage_config::{PipelineConfig, Problems, RecordedConfig};
use gage_core::{Outcome, ResourceShortage, Shard, ShortageWatch};
use gage_engine::{
    CancelToken, Datasets, EarlierRecording, LimitedRequests, Plan, Progress, RecordSink, RunContext,
    RunOptions, RunReport, Session, fetch_models, identity, planned_identity, recorded_plugins,
};
use gage_figures::{TaskDescription, no_custom_aggregators};
use gage_observe::Observability;
use gage_plugin::Registry;
use gage_record::format::MANIFEST_FILE;
use gage_record::{Manifest, MissingManifest, RecordError, RecordedPlugin, RunFolder, RunReader, rfc3339};
use gage_suite::{Lock, newest_unfinished};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;
use uuid::Uuid;

/// Minimum number of threads of a run besides those of requests, scoring and preparation: one each for the events, the journal, a
/// task, its rows, and their file.
const MIN_TASK_THREADS: usize = 5;

/// Runs a suite, and writes a run folder. Must not be called within an async runtime: it blocks the thread.
///
/// A run that ends early, or has failed samples, is an outcome and not an error.
///
/// # Errors
/// Fails if the run cannot begin, or its folder cannot be written.
pub fn run(request: &RunRequest) -> Result<RunOutcome, RunnerError> {
    if let Some(shard) = request.shard {
        return shard::run_shard(request, shard);
    }
    let run_id = OnceCell::new();
    SuiteRun { request, retry: None, rejudge: None, answers_of: None, shard: None, run_id }.execute()
}

/// Resumes an unfinished run.
///
/// # Errors
/// Fails as [`run`] does. Also fails if there is no such run, or its suite was a different one.
pub fn resume(request: &ResumeRequest) -> Result<RunOutcome, RunnerError> {
    let rejudge = request.rejudge.as_deref();
    let (request, retry, run_id) = (&request.run, Some(&*request.retry), OnceCell::new());
    SuiteRun { request, retry, rejudge, answers_of: None, shard: None, run_id }.execute()
}

/// Judges the answers of a run again, into a new run folder. `judges` are those to be asked; all if it is empty. No other
/// model is asked.
pub(crate) fn rejudge(
    request: &RunRequest,
    parent: &RunReader,
    judges: &[String],
    suite: RecordedConfig,
) -> Result<RunOutcome, RunnerError> {
    let began = Instant::now();
    let (rejudge, answers_of, run_id) = (Some(judges), Some(parent), OnceCell::new());
    let run = SuiteRun { request, retry: None, rejudge, answers_of, shard: None, run_id };
    run.watched(|shortages| {
        let prepared = run.prepare(suite.config, suite.problems, &parent.manifest().plugins)?;
        let (prepared, opened) = run.open(prepared, BTreeMap::new())?;
        run.run_tasks(&prepared, opened, None, RunWatch { began, shortages })
    })
}

/// A run to be started or resumed.
struct SuiteRun<'r> {
    request: &'r RunRequest,
    /// Outcomes that are retried, if the run is resumed.
    retry: Option<&'r [Outcome]>,
    /// Judges to ask again about recorded answers; all if it is empty.
    rejudge: Option<&'r [String]>,
    /// The run whose answers are judged.
    answers_of: Option<&'r RunReader>,
    /// The shard to be written, and the id of the whole run.
    shard: Option<(Shard, String)>,
    /// The id, once it is known.
    run_id: OnceCell<String>,
}

/// The start of a run, and the shortages of the machine since then.
#[derive(Clone, Copy)]
struct RunWatch {
    began: Instant,
    shortages: ShortageWatch,
}

/// A suite with its datasets and model files, before any model is loaded.
struct PreparedSuite {
    run_id: String,
    plan: Plan,
    registry: Registry,
    datasets: Datasets,
    model_files: BTreeMap<PathBuf, PathBuf>,
    problems: Problems,
    /// Warnings that the run records.
    warnings: Vec<String>,
}

/// The loaded models of a run, and its observers.
struct OpenedModels {
    observability: Observability,
    recording: Option<Arc<HttpRecording>>,
    batch: Option<Arc<HttpBatch>>,
    runtime: Runtime,
    session: Session,
    servers: HttpHosts,
    loading: Instant,
    /// Removes the folder of runs if no run was created.
    _output_folder: OutputFolder,
}

impl SuiteRun<'_> {
    fn execute(&self) -> Result<RunOutcome, RunnerError> {
        let began = Instant::now();
        self.watched(|shortages| self.execute_since(RunWatch { began, shortages }))
    }

    /// Does the work of a run. A shortage of the machine names the run that can be resumed.
    fn watched(
        &self,
        work: impl FnOnce(ShortageWatch) -> Result<RunOutcome, RunnerError>,
    ) -> Result<RunOutcome, RunnerError> {
        watched(work).map_err(|error| match error {
            RunnerError::Shortage { message, run_id: None } => {
                let root = &self.request.output_folder;
                let has_begun = |run_id: &&String| root.join(run_id).join(MANIFEST_FILE).is_file();
                let run_id = self.run_id.get().filter(has_begun).cloned();
                RunnerError::Shortage { message, run_id }
            }
            error => error,
        })
    }

    fn execute_since(&self, watch: RunWatch) -> Result<RunOutcome, RunnerError> {
        let request = self.request;
        if let Some(run_id) = &request.run_id {
            self.check_run_id(run_id)?;
        }
        let permissions = request.context.permissions_of(&request.suite.path);
        let locked = request.lock.as_deref().map(|path| Lock::read(path, &permissions)).transpose()?;
        // A replay needs no secrets, because only the recorded requests used them.
        let variables = match &request.exchanges {
            HttpExchanges::Replay(_) => Variables::of_replay(&request.suite, &permissions),
            HttpExchanges::Live
            | HttpExchanges::Record(_)
            | HttpExchanges::WriteRequests(_)
            | HttpExchanges::TakeResponses(_) => Variables::default(),
        };
        let mut suite = ReadSuite::new(&request.context, &request.suite, variables);
        let origin = suite.loaded.origin.take();
        // An unusable suite may have changed since it was locked.
        let explained = |suite: &ReadSuite, error: RunnerError| match &locked {
            Some(locked) => lock::explained(error, locked, &request.suite, &request.context.host, suite),
            None => error,
        };
        let (config, problems) = (suite.loaded.config.take(), std::mem::take(&mut suite.loaded.problems));
        let pins = locked.as_ref().map_or_else(|| self.recorded_packages(), Lock::packages);
        let prepared = self.prepare(config, problems, &pins).map_err(|error| explained(&suite, error))?;
        if let Some(finished) = self.finished_shard(&prepared) {
            return Ok(finished);
        }
        let kernel_variants = match (&locked, &request.lock) {
            (Some(locked), Some(path)) => {
                let program = &request.context.host.model_program;
                lock::pinned_kernels(locked, path, &prepared.plan, program)?
            }
            _ => BTreeMap::new(),
        };
        let opened = self.open(prepared, kernel_variants);
        let (prepared, opened) = opened.map_err(|error| explained(&suite, error))?;
        let mut found = match origin {
            Some(origin) => {
                let identity = identity(&prepared.plan, &prepared.datasets, &opened.session);
                let found = suite.lock(&request.suite.path, &origin, &identity)?;
                Some(found.with_packages(&recorded_plugins(&prepared.registry.package_origins())))
            }
            None => None,
        };
        if let (Some(locked), Some(found), Some(path)) = (&locked, &mut found, &request.lock) {
            lock::ExpectedLock { locked, path }.check(found, &prepared.datasets, request)?;
        }
        self.run_tasks(&prepared, opened, found.map(|found| found.to_yaml()), watch)
    }

    /// Rejects the id of an existing run for a new run, and of a missing one for a resumed run.
    fn check_run_id(&self, run_id: &str) -> Result<(), RunnerError> {
        let root = &self.request.output_folder;
        let path = root.join(run_id);
        let run_id = run_id.to_owned();
        match (self.retry.is_some(), RunFolder::exists(root, &run_id)) {
            // Another process has just started the shard. Whoever creates its folder finds that out.
            (false, true) if self.shard.is_some() => Ok(()),
            (false, true) => Err(RunnerError::run_exists(root, &run_id)),
            (true, false) => Err(RunnerError::Record(RecordError::RunMissing { run_id, path })),
            (false, false)
                if matches!(
                    MissingManifest::of(&path),
                    MissingManifest::Lost | MissingManifest::Foreign | MissingManifest::Sharded
                ) =>
            {
                Err(RunnerError::Record(RecordError::RunExists { run_id, path }))
            }
            _ => Ok(()),
        }
    }

    /// Returns the packages of the run that is resumed, or of another shard of it. Their tags may have moved since.
    fn recorded_packages(&self) -> Vec<RecordedPlugin> {
        if let Some(other) = &self.request.other_shard {
            return other.plugins.clone();
        }
        let resumed = self.request.run_id.as_ref().filter(|_| self.retry.is_some());
        let manifest = resumed.map(|run_id| Manifest::read(&self.request.output_folder.join(run_id)));
        manifest.and_then(Result::ok).map(|manifest| manifest.plugins).unwrap_or_default()
    }

    /// Checks the suite, and locates its packages, datasets and model files. `pins` are the packages that it must have.
    fn prepare(
        &self,
        config: Option<PipelineConfig>,
        mut problems: Problems,
        pins: &[RecordedPlugin],
    ) -> Result<PreparedSuite, RunnerError> {
        let context = &self.request.context;
        let mut registry = context.registry(&self.request.suite.plugin_folders)?;
        let config = config.map(|mut config| {
            config.budget = self.request.budget.clone().over(&config.budget);
            if let Some((shard, _)) = &self.shard {
                config.budget = config.budget.of_shard(shard.count());
            }
            let fetched = context.fetch_packages(&mut config, pins, self.request.is_offline, &mut problems);
            fetched.map(|()| config)
        });
        let config = config.transpose()?;
        let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
        let Some(plan) = plan else { return Err(RunnerError::problems(problems)) };
        self.request.exchanges.remove_needless_warnings(&plan, &mut problems);
        self.check_judges(&plan)?;
        self.check_shard(&plan)?;
        let run_id = self.run_id(&plan)?;
        // Set once, because a suite is prepared once.
        let _ = self.run_id.set(run_id.clone());
        // A shard that has begun may be finished. Then it asks no model.
        if self.shard.is_none() || self.retry.is_none() {
            self.request.exchanges.check_keys(&plan, &mut problems);
        }
        if problems.has_errors() {
            return Err(RunnerError::problems(problems));
        }
        let fetching = FetchEvents(&*context.progress);
        let locating = context.locate_options(self.request.is_offline, &fetching);
        let Some(datasets) = Datasets::locate(&plan, &locating, &mut problems) else {
            return Err(RunnerError::problems(problems));
        };
        plan.check_prompts(&datasets, &mut problems);
        check_gates(&plan, &datasets, self.request.max_samples, &mut problems);
        let warnings = check_limited_slices(&plan, &datasets, self.request.max_samples, &mut problems);
        if problems.has_errors() {
            return Err(RunnerError::problems(problems));
        }
        let Some(model_files) = fetch_models(&plan, &context.host.hub, &locating, &mut problems) else {
            return Err(RunnerError::problems(problems));
        };
        Ok(PreparedSuite { run_id, plan, registry, datasets, model_files, problems, warnings })
    }

    /// Checks that the judges to be asked again exist.
    fn check_judges(&self, plan: &Plan) -> Result<(), RunnerError> {
        let Some(asked) = self.rejudge else { return Ok(()) };
        let judges = plan.tasks.iter().filter_map(|task| task.judges.as_ref());
        let mut known: Vec<&str> =
            judges.flat_map(|judges| &judges.judges).map(|judge| judge.judge_id.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        match asked.iter().find(|name| !known.contains(&name.as_str())) {
            None if !known.is_empty() => Ok(()),
            unknown => Err(RunnerError::UnknownJudge {
                judge: unknown.cloned().unwrap_or_default(),
                known: known.join(", "),
            }),
        }
    }

    /// Returns the id of the run: the given one, the one to resume, or a new one.
    fn run_id(&self, plan: &Plan) -> Result<String, RunnerError> {
        if let Some(run_id) = &self.request.run_id {
            return Ok(run_id.clone());
        }
        if self.retry.is_none() {
            return Ok(new_run_id());
        }
        let root = &self.request.output_folder;
        let wanted = planned_identity(plan);
        let found = match newest_unfinished(root, |identity| identity.is_same_suite(&wanted)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(RunnerError::UnreadableRuns { root: root.clone(), error });
            }
            found => found.ok().flatten(),
        };
        let Some(Manifest { run_id, .. }) = found else {
            let other = OtherRun::newest(root, &wanted, &plan.config);
            return Err(RunnerError::NothingToResume { root: root.clone(), other });
        };
        self.request.context.progress.on_event(&RunEvent::Resuming { folder: &root.join(&run_id) });
        Ok(run_id)
    }

    /// Starts the observers, and loads the models.
    fn open(
        &self,
        mut prepared: PreparedSuite,
        kernel_variants: BTreeMap<String, KernelVariant>,
    ) -> Result<(PreparedSuite, OpenedModels), RunnerError> {
        let request = self.request;
        let progress = &*request.context.progress;
        let observability = request.observe.observability(&prepared.run_id)?;
        let output_folder = OutputFolder::create(&request.output_folder).map_err(|error| {
            ResourceShortage::report_in(&error);
            RunnerError::OutputFolder { path: request.output_folder.clone(), error }
        })?;
        let runtime = start_runtime(MIN_TASK_THREADS + 2 * self.scoring_threads())?;
        runtime.block_on(request.observe.serve(&observability, progress))?;
        let loading = Instant::now();
        let recording = recording_of(&request.exchanges)?;
        let batch = batch::open(&request.exchanges, &prepared.plan)?;
        let answers = request.cache.open(
            prepared.plan.config.cache.as_ref(),
            &request.exchanges,
            &request.context.host,
            self.retry.is_some_and(|retry| !retry.is_empty()),
        )?;
        let opening = OpenOptions {
            hosts: HttpHosts::new(self.retry.is_some()),
            concurrency: request.concurrency.unwrap_or(DEFAULT_CONCURRENCY),
            recording: recording.clone(),
            batch: batch.clone(),
            answers,
            model_files: std::mem::take(&mut prepared.model_files),
            kernel_variants,
            gpu_layers: recorded_gpu_layers(&request.output_folder.join(&prepared.run_id)),
            ..request.context.host.open_options()
        };
        progress.on_event(&RunEvent::Loading);
        let PreparedSuite { plan, registry, datasets, problems, .. } = &mut prepared;
        let max_time = plan.config.budget.max_time;
        let session = Session::open(plan, registry, &opening, problems);
        let session = runtime.block_on(until_stopped(session, &request.context.stop, max_time))?;
        if let Some(session) = &session {
            session.check_media(plan, datasets, problems);
        }
        let Some(session) = session.filter(|_| !problems.has_errors()) else {
            return Err(RunnerError::problems(prepared.problems));
        };
        progress.on_event(&RunEvent::Warnings(problems));
        let opened = OpenedModels {
            observability,
            recording,
            batch,
            runtime,
            session,
            servers: opening.hosts.clone(),
            loading,
            _output_folder: output_folder,
        };
        Ok((prepared, opened))
    }

    /// Runs every task, and writes the reports.
    fn run_tasks(
        &self,
        prepared: &PreparedSuite,
        opened: OpenedModels,
        lock: Option<String>,
        watch: RunWatch,
    ) -> Result<RunOutcome, RunnerError> {
        let PreparedSuite { plan, .. } = prepared;
        let progress = &self.request.context.progress;
        let loading = opened.loading.elapsed();
        let mut tasks: Vec<TaskDescription> =
            plan.tasks.iter().map(|task| describe(&task.spec, &task.scoring)).collect();
        describe_judges(&mut tasks, &plan.config);
        let aggregators = Aggregators::new(plan.tasks.iter().map(|task| &task.scoring));
        // Components that aggregate read the journal at the end: the recorder must not wait for them.
        let live_reports =
            aggregators.is_empty().then(|| LiveReports::new(tasks.clone(), &no_custom_aggregators));
        // Nothing holds back a run that did not ask for more.
        let wanted = self.request.concurrency;
        let mut limits = wanted.map(|wanted| plan.concurrency_limits(wanted)).unwrap_or_default();
        // Only judges are asked again.
        limits.retain(|limit| self.rejudge.is_none() || limit.requests == LimitedRequests::Judges);
        progress.on_event(&RunEvent::Started { servers: &opened.servers, limits: &limits });
        let ran = self.call_engine(prepared, &opened, live_reports.as_ref(), watch.shortages);
        progress.on_event(&RunEvent::TasksEnded);
        let outage = outage_of(&opened.servers.unhealthy());
        let OpenedModels { observability, recording, batch, runtime, session, .. } = opened;
        let work = observability.meters.work();
        // Keeps recorded answers, even if the run failed.
        let recorded = recording.map_or(Ok(0), |recording| recording.finish());
        let report = ran?;
        recorded.map_err(RunnerError::UnwrittenRecording)?;
        let batch = batch.map(|batch| batch.finish()).transpose()?;
        let ended = EndedRun {
            config: &plan.config,
            tasks,
            aggregators: &aggregators,
            live_reports,
            origin: Origin::Models { lock, loading, work, backends: session.statistics(), limits, outage },
            report,
            plugins: prepared.registry.host().clone(),
            began: watch.began,
            shortages: watch.shortages,
            batch,
        };
        let outcome = ended.finish()?;
        // Does not wait for abandoned requests that still expect an answer.
        runtime.shutdown_background();
        Ok(outcome)
    }

    /// Returns the number of threads that score answers. As many prepare rows.
    fn scoring_threads(&self) -> usize {
        self.request.scoring_threads.unwrap_or_else(cores)
    }

    fn call_engine(
        &self,
        prepared: &PreparedSuite,
        opened: &OpenedModels,
        live_reports: Option<&LiveReports<'_>>,
        shortages: ShortageWatch,
    ) -> Result<RunReport, RunnerError> {
        let request = self.request;
        let options = RunOptions {
            concurrency: request.concurrency.unwrap_or(DEFAULT_CONCURRENCY),
            max_samples: request.max_samples,
            shard: self.shard.clone(),
            other_shard: request.other_shard.clone(),
            workers: self.scoring_threads(),
            task_parallelism: request.task_parallelism,
            resume: self.retry.is_some(),
            rejudge: self.rejudge.map(<[String]>::to_vec),
            retry: self.retry.unwrap_or_default().to_vec(),
            host_version: HOST_VERSION,
            warnings: prepared.warnings.clone(),
            observability: opened.observability.clone(),
            loading: opened.loading.elapsed(),
            recording: earlier_recording(&request.exchanges, opened.recording.as_deref()),
            is_lockstep: false,
            storage: None,
        };
        let events: Arc<dyn Progress> = Arc::new(EngineEvents {
            progress: Arc::clone(&request.context.progress),
            observability: Some(opened.observability.clone()),
        });
        let context = RunContext {
            plan: &prepared.plan,
            datasets: &prepared.datasets,
            session: &opened.session,
            root: &request.output_folder,
            run_id: &prepared.run_id,
            answers_of: self.answers_of,
            options: &options,
            progress: &events,
            records: live_reports.map(|reports| reports as &dyn RecordSink),
            stop: &request.context.stop,
            runtime: opened.runtime.handle(),
            shortages,
        };
        gage_engine::run(&context).map_err(RunnerError::Run)
    }
}

/// Loads models until the run is stopped, or its time is up. Dropping the work ends the processes of the models.
async fn until_stopped<T>(
    loading: impl Future<Output = T>,
    stop: &CancelToken,
    max_time: Option<Duration>,
) -> Result<T, RunnerError> {
    let time_is_up = async {
        match max_time {
            Some(max_time) => {
                tokio::time::sleep(max_time).await;
                max_time
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        loaded = loading => Ok(loaded),
        () = stop.cancelled() => Err(RunnerError::InterruptedLoad),
        max_time = time_is_up => Err(RunnerError::LoadTimeExceeded { max_time }),
    }
}

/// Opens the file for recording or replaying HTTP exchanges.
fn recording_of(exchanges: &HttpExchanges) -> Result<Option<Arc<HttpRecording>>, RecordingError> {
    let recording = match exchanges {
        HttpExchanges::Record(path) => HttpRecording::record(path)?,
        HttpExchanges::Replay(path) => HttpRecording::replay(path)?,
        HttpExchanges::Live | HttpExchanges::WriteRequests(_) | HttpExchanges::TakeResponses(_) => {
            return Ok(None);
        }
    };
    Ok(Some(Arc::new(recording)))
}

/// Returns the recording to which a run adds its exchanges, as it was when it was opened.
fn earlier_recording(
    exchanges: &HttpExchanges,
    recording: Option<&HttpRecording>,
) -> Option<EarlierRecording> {
    let HttpExchanges::Record(path) = exchanges else { return None };
    let exchanges = recording?.earlier_exchanges()?;
    Some(EarlierRecording { path: path.clone(), exchanges })
}

/// Creates a run id: date, time, and a random number for runs in the same second, as in `20260102-030405-1f3a92c7`.
pub fn new_run_id() -> String {
    let time: String =
        rfc3339(SystemTime::now()).chars().filter(|character| !"-:Z".contains(*character)).collect();
    let (suffix, ..) = Uuid::new_v4().as_fields();
    format!("{}-{suffix:08x}", time.replace('T', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use std::collections::HashSet;

    #[test]
    fn a_shard_needs_the_id_of_its_run() {
        let request = RunRequest { shard: Shard::new(1, 2), ..RunRequest::new(PathBuf::from("suite.yaml")) };
        let error = run(&request).expect_err("a refusal");
        assert!(matches!(error, RunnerError::ShardWithoutRun), "{error}");
        assert_eq!(error.recorded("shards"), "a shard needs the id of its run, which all shards share");
    }

    #[test]
    fn run_ids_of_one_second_differ() {
        let ids: HashSet<String> = (0..100).map(|_| new_run_id()).collect();
        assert_eq!(ids.len(), 100);
        assert!(ids.iter().all(|id| id.len() == "20260102-030405-1f3a92c7".len()), "{ids:?}");
    }
}
