//! End of a run: writes the reports, the status and the manifest.

use crate::aggregators::Aggregators;
use crate::describe::describe_requests;
use crate::error::with_causes;
use crate::live_reports::{BegunReports, LiveReports};
use crate::outcome::{CoverageShortfall, Ending, RunOutcome, Shortfall};
use crate::{HOST_VERSION, RunnerError};
use gage_backend::{BatchReport, HealthState};
use gage_config::{BackendKind, FailurePolicy, PipelineConfig, TaskSpec};
use gage_core::{Object, Outcome, ShortageWatch};
use gage_engine::{ConcurrencyLimit, RunError, RunReport, StopReason, TaskReport};
use gage_figures::{
    Completeness, MetricFigure, Phases, PluginCosts, Summary, TaskCompleteness, TaskDescription, TaskSummary,
    WrittenReports,
};
use gage_html::PageFolderWriter;
use gage_observe::RequestTotals;
use gage_plugin::{MemberWork, PluginHost};
use gage_record::format::{
    CONFIG_FILE, EVENTS_FILE, LOCK_FILE, MEDIA_FOLDER, SAMPLES_FILE, UNSENT_EVENTS_FILE,
};
use gage_record::{
    FileDigest, Manifest, MediaFolder, RecordError, RunFolder, RunReader, ShardOfRun, journal_digests,
};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The source of a run's answers.
pub(crate) enum Origin {
    /// Models loaded for the run.
    Models {
        /// The lock of the run's inputs.
        lock: Option<String>,
        /// Duration of loading the models.
        loading: Duration,
        /// The requests and tokens of this process.
        work: RequestTotals,
        /// Statistics of each backend.
        backends: BTreeMap<String, Object>,
        /// The limits of the suite on its tasks.
        limits: Vec<ConcurrencyLimit>,
        /// The servers that were away at the end, in words.
        outage: Option<String>,
    },
    /// Another run.
    Answers {
        /// The reason why that run lacks answers.
        parent: Option<Shortfall>,
        /// Completeness of its tasks.
        completeness: Completeness,
    },
    /// The shards of the run.
    Shards {
        /// The lock of the run's inputs.
        lock: Option<String>,
        /// The text of their configuration.
        config: Option<String>,
        /// The sums of their times and counts.
        phases: Box<Phases>,
        /// The reason why they lack records.
        missing: Option<Shortfall>,
        /// Completeness of the tasks.
        completeness: Completeness,
    },
}

impl Origin {
    /// Returns the durations of the run's phases, other than its tasks.
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
            Origin::Shards { phases, .. } => (**phases).clone(),
        }
    }

    /// Writes the configuration to the folder of the run. That of a merged run is the text that a shard has written.
    fn write_config(&self, config: &PipelineConfig, folder: &RunFolder) -> Result<FileDigest, RunnerError> {
        let document = match self {
            Origin::Shards { config: Some(document), .. } => document.clone(),
            _ => serde_yaml::to_string(&config.document).map_err(RunnerError::Yaml)?,
        };
        folder.write_atomically(CONFIG_FILE, document.as_bytes()).map_err(RunnerError::unwritten)
    }

    /// Returns the limits of the suite that held the run back: those of tasks with more samples in this process.
    fn holding_limits(self, ran: &[TaskReport]) -> Vec<ConcurrencyLimit> {
        let Origin::Models { mut limits, .. } = self else { return Vec::new() };
        limits.retain(|limit| {
            let asked = ran.iter().filter(|task| task.task_id == limit.task_id);
            let asked: u64 = asked.map(|task| task.counts.total().saturating_sub(task.resumed)).sum();
            asked > limit.size as u64
        });
        limits
    }
}

/// A run whose tasks have all ended, with the inputs of its reports.
pub(crate) struct EndedRun<'r> {
    pub(crate) config: &'r PipelineConfig,
    pub(crate) tasks: Vec<TaskDescription>,
    pub(crate) aggregators: &'r Aggregators,
    /// Reports of the first records; the rest is in the journal.
    pub(crate) live_reports: Option<LiveReports<'r>>,
    pub(crate) origin: Origin,
    pub(crate) report: RunReport,
    /// The host of the plugins, which knows what they cost.
    pub(crate) plugins: PluginHost,
    pub(crate) began: Instant,
    /// Notices plugins that the machine could not run.
    pub(crate) shortages: ShortageWatch,
    /// What became of the requests that are answered in bulk.
    pub(crate) batch: Option<BatchReport>,
}

impl EndedRun<'_> {
    /// Writes the reports, and then the manifest with the status of the run.
    pub(crate) fn finish(self) -> Result<RunOutcome, RunnerError> {
        let EndedRun {
            config,
            mut tasks,
            aggregators,
            live_reports,
            origin,
            report,
            plugins,
            began,
            shortages,
            batch,
        } = self;
        let phases = phases(&origin, &report.tasks, began);
        let RunReport { folder, mut manifest, tasks: ran, stopped, unchanged, spent } = report;
        describe_requests(&mut tasks, config, &manifest);
        let config_digest = origin.write_config(config, &folder)?;
        let completeness = completeness(&ran, &origin);
        let custom = |task_id: &str, metric_id: &str| aggregators.fold(task_id, metric_id);
        let finished: u64 = ran.iter().map(|task| task.counts.total()).sum();
        let kept = match &unchanged {
            Some(before) if is_same(&manifest, before, &config_digest) => {
                WrittenReports::read(&folder, &before.files)?
            }
            _ => None,
        };
        let plugins = || phases.with_plugins(|| plugin_costs(&plugins));
        let reports = match kept {
            Some(reports) => reports,
            None => {
                let begun = match live_reports.and_then(LiveReports::into_begun) {
                    Some(begun) if begun.builder.records() >= finished => begun,
                    Some(begun) => begun.with_rest(&folder, &tasks)?,
                    None => BegunReports::new(&folder, &tasks, &custom)?.with_rest(&folder, &tasks)?,
                };
                let BegunReports { builder, page } = begun;
                let builder = builder.with_plugins(manifest.plugins.clone());
                let reports = builder.finish(&folder, &tasks, &completeness, plugins)?;
                finish_page(page, &reports);
                reports
            }
        };
        if let Some(shortage) = shortages.shortage() {
            return Err(RunnerError::Run(RunError::Shortage(shortage)));
        }
        let mut shortfalls = shortfalls(config, &reports, &ran, stopped.as_ref(), &origin);
        end_shard(manifest.shard.as_mut(), &ran, &mut shortfalls);
        let has_unread_data = ran.iter().any(|task| task.failure.is_some());
        let ending = Ending::new(stopped, has_unread_data, !shortfalls.is_empty());
        manifest.files = reports.files.clone();
        manifest.files.insert(CONFIG_FILE.to_owned(), config_digest);
        seal(&folder, &mut manifest, &origin, &ending).map_err(RunnerError::unwritten)?;
        let budget = &config.budget;
        let is_merged = matches!(origin, Origin::Shards { .. });
        Ok(RunOutcome {
            run_id: folder.run_id().to_owned(),
            folder: folder.path().to_owned(),
            status: ending.status(),
            ended_by: manifest.ended_by,
            ending,
            shortfalls,
            limits: origin.holding_limits(&ran),
            tasks: ran,
            usage: spent,
            has_usage_budget: budget.max_cost.is_some() || budget.max_tokens_total.is_some(),
            has_given_answers: has_given_answers(config),
            is_merged,
            reports,
            batch,
        })
    }
}

/// Returns whether a model of a suite is a file of answers.
pub(crate) fn has_given_answers(config: &PipelineConfig) -> bool {
    config.backends.iter().any(|backend| matches!(backend.kind, BackendKind::Answers(_)))
}

/// Notes in a shard the number of records of each task in all shards, and drops the shortfalls that are judged when they are
/// merged: the requirements are those of the whole run.
fn end_shard(shard: Option<&mut ShardOfRun>, ran: &[TaskReport], shortfalls: &mut Vec<Shortfall>) {
    let Some(shard) = shard else { return };
    shortfalls.retain(|one| matches!(one, Shortfall::InvalidRows(_) | Shortfall::FailedFast { .. }));
    for (task, ran) in shard.tasks.iter_mut().zip(ran) {
        task.records = ran.records_of_all_shards;
    }
}

/// Completes the page folder of a run. It is no result of the run, and `gage-host view` can make it again, so a failure is only
/// logged.
fn finish_page(page: Option<PageFolderWriter>, reports: &WrittenReports) {
    let (Some(page), Some(samples)) = (page, reports.files.get(SAMPLES_FILE)) else { return };
    if let Err(error) = page.finish(&samples.digest) {
        tracing::warn!("the blocks of the run's page are not written: {}", with_causes(&error));
    }
}

/// Returns what each plugin has cost so far, the most expensive first.
fn plugin_costs(host: &PluginHost) -> Vec<PluginCosts> {
    let mut costs: Vec<PluginCosts> = host.work().into_iter().map(costs_of).collect();
    costs.sort_by(|one, other| other.cpu_s.total_cmp(&one.cpu_s));
    costs
}

/// Returns the costs of a member of a plugin.
pub(crate) fn costs_of(MemberWork { plugin, world, member, work }: MemberWork) -> PluginCosts {
    let cpu_s = work.processor_time.as_secs_f64();
    PluginCosts {
        plugin,
        kind: world.to_string(),
        member,
        items: work.items,
        calls: work.calls,
        cpu_s,
        cpu_us_per_item: (work.items > 0).then(|| cpu_s * 1e6 / work.items as f64),
        fuel: work.fuel,
        peak_memory_bytes: work.peak_memory_bytes,
    }
}

/// Returns whether the reports of a complete run still hold for the run as it is resumed.
fn is_same(now: &Manifest, before: &Manifest, config: &FileDigest) -> bool {
    before.host_version == HOST_VERSION
        && now.identity == before.identity
        && now.prompt_versions == before.prompt_versions
        && before.files.get(CONFIG_FILE) == Some(config)
}

/// Adds the digests of the remaining files to the manifest, and writes it with the status of the run.
fn seal(
    folder: &RunFolder,
    manifest: &mut Manifest,
    origin: &Origin,
    ending: &Ending,
) -> Result<(), RecordError> {
    if let Origin::Models { lock: Some(lock), .. } | Origin::Shards { lock: Some(lock), .. } = origin {
        manifest.files.insert(LOCK_FILE.to_owned(), folder.write_atomically(LOCK_FILE, lock.as_bytes())?);
    }
    manifest.files.extend(journal_digests(folder)?);
    let media = MediaFolder::digest(folder.path())?;
    manifest.files.extend(media.map(|digest| (MEDIA_FOLDER.to_owned(), digest)));
    // All observers have ended by now.
    for name in [EVENTS_FILE, UNSENT_EVENTS_FILE] {
        manifest.files.extend(folder.sync_and_digest(name)?.map(|digest| (name.to_owned(), digest)));
    }
    manifest.ended_by = ending.ended_by().or_else(|| match (ending, origin) {
        // A user who stops such a run, stops it because of the outage.
        (Ending::Stopped(StopReason::Requested), Origin::Models { outage, .. }) => outage.clone(),
        _ => None,
    });
    manifest.finish(ending.status());
    manifest.write(folder)
}

/// Describes the servers that are away or lost; `None` if there are none.
pub(crate) fn outage_of(servers: &[(String, HealthState)]) -> Option<String> {
    let away = servers.iter().filter_map(|(host, state)| match state {
        HealthState::Away { cause, .. } | HealthState::Lost { cause } => Some(format!("{host}: {cause}")),
        HealthState::Healthy | HealthState::Degraded { .. } => None,
    });
    let away: Vec<String> = away.collect();
    (!away.is_empty()).then(|| format!("server away: {}", away.join(", ")))
}

fn phases(origin: &Origin, ran: &[TaskReport], began: Instant) -> Phases {
    if let Origin::Shards { .. } = origin {
        return origin.phases();
    }
    let sum = |part: fn(&TaskReport) -> Duration| ran.iter().map(part).sum();
    Phases {
        dataset_materialization: sum(|task| task.reading),
        inference: sum(|task| task.inference),
        evaluation: sum(|task| task.evaluation),
        wall: began.elapsed(),
        samples: ran.iter().map(|task| task.counts.total().saturating_sub(task.resumed)).sum(),
        finished: ran.iter().map(|task| task.counts.total()).sum(),
        ..origin.phases()
    }
}

/// Returns the completeness of a run's tasks. A rescored or merged run is at most as complete as its sources.
fn completeness(ran: &[TaskReport], origin: &Origin) -> Completeness {
    let early = ran.iter().filter(|task| task.ended_early());
    let own = early.map(|task| {
        (task.task_id.clone(), task.planned.map_or(TaskCompleteness::Unknown, TaskCompleteness::Of))
    });
    let mut all: Completeness = own.collect();
    if let Origin::Answers { completeness: known, .. } | Origin::Shards { completeness: known, .. } = origin {
        let early = known.iter().filter(|(_, reach)| **reach != TaskCompleteness::Whole);
        all.extend(early.map(|(task_id, reach)| (task_id.clone(), *reach)));
    }
    all
}

/// Returns the completeness of each task in an unfinished run; unknown if the run was killed.
pub(crate) fn completeness_of_parent(parent: &RunReader, config: &PipelineConfig) -> Completeness {
    let summary = parent.summary::<Summary>().ok().flatten();
    let tasks = config.tasks.iter().map(|task| (task.task_id.clone(), TaskCompleteness::Unknown));
    let known = summary.iter().flat_map(|summary| &summary.tasks);
    tasks.chain(known.map(|task| (task.task_id.clone(), task.completeness()))).collect()
}

/// Returns everything that a run lacks according to its suite.
fn shortfalls(
    config: &PipelineConfig,
    reports: &WrittenReports,
    ran: &[TaskReport],
    stopped: Option<&StopReason>,
    origin: &Origin,
) -> Vec<Shortfall> {
    let invalid = ran.iter().filter_map(|task| task.too_many_invalid.clone());
    let mut shortfalls: Vec<Shortfall> = invalid.map(Shortfall::InvalidRows).collect();
    shortfalls.extend(ran.iter().filter_map(|task| failed_fast(task, stopped)));
    let of_tasks = config.tasks.iter().zip(&reports.summary.tasks).zip(ran);
    for ((spec, summary), ran) in of_tasks {
        let uncovered = match uncovered(spec, summary, ran) {
            Some(task) => match failing_metrics(spec, summary) {
                metrics if metrics.is_empty() => vec![task],
                metrics => metrics,
            },
            None => uncovered_metrics(spec, summary),
        };
        shortfalls.extend(uncovered.into_iter().map(Shortfall::Coverage));
        let unfound = summary.unfound.iter().filter(|path| path.is_of_metric());
        shortfalls.extend(unfound.map(|path| Shortfall::UnfoundPath {
            task_id: summary.task_id.clone(),
            message: path.to_string(),
        }));
        let without_prediction = summary.metrics.iter().filter(|figure| figure.has_no_prediction());
        shortfalls.extend(without_prediction.map(|figure| Shortfall::NoPrediction {
            task_id: summary.task_id.clone(),
            metric_id: figure.metric_id.clone(),
            answers: figure.n,
        }));
    }
    match origin {
        Origin::Models { .. } => {}
        Origin::Answers { parent: source, .. } | Origin::Shards { missing: source, .. } => {
            shortfalls.extend(source.clone());
        }
    }
    shortfalls
}

/// Returns the shortfall of a task that ended at its first failed sample.
fn failed_fast(task: &TaskReport, of_run: Option<&StopReason>) -> Option<Shortfall> {
    let Some(reason @ StopReason::FailFast(text)) = &task.cut_off else { return None };
    let is_whole_run = of_run == Some(reason) && text.starts_with(&format!("{}:", task.task_id));
    let is_counted = of_run.is_none() || is_whole_run;
    is_counted.then(|| Shortfall::FailedFast { sample: text.clone(), is_whole_run })
}

/// Returns the shortfall of a task with fewer scored samples than the suite requires.
fn uncovered(spec: &TaskSpec, summary: &TaskSummary, ran: &TaskReport) -> Option<CoverageShortfall> {
    let samples = &summary.samples;
    // Without a scored sample there is no figure, under any failure policy. A task that was never reached is not a
    // shortfall.
    let scored = samples.outcomes.get(&Outcome::Scored).copied();
    let is_lacking = samples.coverage < spec.min_coverage;
    let is_enough = spec.failure_policy == FailurePolicy::BestEffort;
    let is_to_come = ran.cut_off.is_some() && samples.reached() == 0;
    let is_short = (scored.is_none() || is_lacking && !is_enough) && !is_to_come;
    is_short.then(|| CoverageShortfall {
        task_id: spec.task_id.clone(),
        metric_id: None,
        scored: scored.unwrap_or(0),
        total: samples.total,
        total_is_least: samples.total_is_least,
        coverage: samples.coverage,
        min_coverage: spec.min_coverage,
    })
}
/// Returns the shortfalls of metrics that lack scores because references are missing, judges' replies are
/// unreadable, or replies only call tools.
fn uncovered_metrics(spec: &TaskSpec, summary: &TaskSummary) -> Vec<CoverageShortfall> {
    const OF_ONE_METRIC: [Outcome; 3] =
        [Outcome::MissingReference, Outcome::JudgeUnparseable, Outcome::EmptyOutput];
    if spec.failure_policy == FailurePolicy::BestEffort {
        return Vec::new();
    }
    let is_short = |figure: &&MetricFigure| {
        figure.coverage < spec.min_coverage
            && OF_ONE_METRIC.iter().any(|outcome| figure.outcomes.contains_key(outcome))
    };
    summary.metrics.iter().filter(is_short).map(|figure| of_metric(spec, summary, figure)).collect()
}

/// Returns the shortfalls of the metrics that lack scores while another one has scores of the same answers. Then the
/// metrics failed, and not the task.
fn failing_metrics(spec: &TaskSpec, summary: &TaskSummary) -> Vec<CoverageShortfall> {
    let scored = summary.samples.outcomes.get(&Outcome::Scored).copied().unwrap_or(0);
    if summary.metrics.iter().all(|figure| figure.n <= scored) {
        return Vec::new();
    }
    let short = summary.metrics.iter().filter(|figure| figure.coverage < spec.min_coverage);
    short.map(|figure| of_metric(spec, summary, figure)).collect()
}

/// Returns the shortfall of a metric.
fn of_metric(spec: &TaskSpec, summary: &TaskSummary, figure: &MetricFigure) -> CoverageShortfall {
    CoverageShortfall {
        task_id: spec.task_id.clone(),
        metric_id: Some(figure.metric_id.clone()),
        scored: figure.n,
        total: figure.total,
        total_is_least: summary.samples.total_is_least,
        coverage: figure.coverage,
        min_coverage: spec.min_coverage,
    }
}
