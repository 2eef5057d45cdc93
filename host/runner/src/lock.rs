//! Creates, compares and updates the lock of a suite.

use crate::async_runtime::start_runtime;
use crate::http_exchanges::HttpExchanges;
use crate::progress::FetchEvents;
use crate::request::{LockAction, LockRequest, RunRequest};
use crate::shortage::watched;
use crate::suite_source::{ReadSuite, Variables};
use crate::{Context, HostSettings, RunnerError, SuiteSource};
use gage_backend::{KernelVariant, ModelProgram, OpenOptions};
use gage_config::BackendKind;
use gage_core::Digest;
use gage_data::DataError;
use gage_engine::{Datasets, Plan, Session, fetch_models, identity, recorded_plugins};
use gage_record::{Difference, RunIdentity};
use gage_suite::{DatasetRows, Lock, Origin, PluginPlaces};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the default path of a suite's lock: next to the suite, with its name.
pub fn default_lock_path(suite: &Path) -> PathBuf {
    suite.with_extension("gage.lock")
}

/// Outcome of a lock request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LockOutcome {
    /// The lock file.
    pub path: PathBuf,
    /// The name of the suite.
    pub suite: String,
    /// Result for the lock.
    pub change: LockChange,
}

/// Result of a lock request.
#[derive(Clone, Debug, PartialEq)]
pub enum LockChange {
    /// The suite had no lock, and one was created.
    Created,
    /// The lock matches the suite, so nothing was written.
    Unchanged,
    /// The lock differs from the suite. No update was requested, so nothing was written.
    Stale(Vec<Difference>),
    /// The requested comparison; empty if the lock matches the suite.
    Compared(Vec<Difference>),
    /// An update was requested.
    Updated {
        /// True if the file was written.
        is_written: bool,
        /// Remaining differences, if only a part was updated.
        remaining: Vec<Difference>,
    },
}

/// Creates, compares or updates the lock of a suite. Loads its models. Must not be called within an async runtime.
///
/// # Errors
/// Fails if the suite or its lock cannot be used, or the lock is for another suite.
pub fn lock(request: &LockRequest) -> Result<LockOutcome, RunnerError> {
    watched(|_| lock_suite(request))
}

fn lock_suite(request: &LockRequest) -> Result<LockOutcome, RunnerError> {
    let path = request.path.clone().unwrap_or_else(|| default_lock_path(&request.suite.path));
    let needs_lock = request.action != LockAction::Create;
    let permissions = request.context.permissions_of(&request.suite.path);
    let before = (needs_lock || path.exists()).then(|| Lock::read(&path, &permissions)).transpose()?;
    let (mut found, datasets) = found_lock(request, before.as_ref())?;
    let counted = match &before {
        Some(before) if request.action == LockAction::Check => {
            found.copy_rows(before, &RowsOf(&datasets), true)
        }
        _ => found.count_rows(&RowsOf(&datasets)),
    };
    if let Err(error) = counted {
        let changed = before.map(|before| changes_of_same_suite(&before, &found)).unwrap_or_default();
        return Err(RunnerError::Rows(error).with_changes(changed));
    }
    let change = match before {
        None => {
            found.write(&path)?;
            LockChange::Created
        }
        Some(before) => change(&request.action, &before, &found, &path)?,
    };
    Ok(LockOutcome { suite: found.suite().to_owned(), path, change })
}

/// Compares or updates a lock.
fn change(action: &LockAction, before: &Lock, found: &Lock, path: &Path) -> Result<LockChange, RunnerError> {
    if *action == LockAction::Check {
        return Ok(LockChange::Compared(before.differences(found)));
    }
    check_suite(before, found, path)?;
    let updated = match action {
        LockAction::Create | LockAction::Check => {
            let differing = before.differences(found);
            return Ok(if differing.is_empty() {
                LockChange::Unchanged
            } else {
                LockChange::Stale(differing)
            });
        }
        LockAction::Update => found.clone(),
        LockAction::UpdatePart(part) => before.with_part(part, found)?,
    };
    let is_written = *before != updated;
    if is_written {
        updated.write(path)?;
    }
    Ok(LockChange::Updated { is_written, remaining: updated.differences(found) })
}

/// Rejects the lock of another suite.
fn check_suite(locked: &Lock, found: &Lock, path: &Path) -> Result<(), RunnerError> {
    if locked.suite() == found.suite() {
        return Ok(());
    }
    Err(RunnerError::LockOfAnotherSuite {
        path: path.to_owned(),
        locked: locked.suite().to_owned(),
        found: found.suite().to_owned(),
    })
}

/// Computes the lock of a suite, and opens its datasets. All problems are collected before any is returned.
fn found_lock(request: &LockRequest, before: Option<&Lock>) -> Result<(Lock, Datasets), RunnerError> {
    // The lock is what pins packages, so the policy cannot require their digests before.
    let trust = Arc::new(request.context.trust.allowing_unpinned());
    let context = &Context { trust, ..request.context.clone() };
    let mut suite = ReadSuite::new(context, &request.suite, Variables::default());
    let config = suite.loaded.config.take();
    let mut problems = std::mem::take(&mut suite.loaded.problems);
    let explain = |error: RunnerError, suite: &ReadSuite| match before {
        Some(before) => explained(error, before, &request.suite, &context.host, suite),
        None => error,
    };
    let registry = context.registry(&request.suite.plugin_folders);
    let mut registry = registry.map_err(|error| explain(error, &suite))?;
    // An update takes what a tag is now.
    let is_update = matches!(request.action, LockAction::Update | LockAction::UpdatePart(_));
    let pins = before.filter(|_| !is_update).map(Lock::packages).unwrap_or_default();
    let config = config.map(|mut config| {
        let fetched = context.fetch_packages(&mut config, &pins, request.is_offline, &mut problems);
        fetched.map(|()| config)
    });
    let config = config.transpose().map_err(|error| explain(error, &suite))?;
    let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let fetching = FetchEvents(&*context.progress);
    let locating = context.locate_options(request.is_offline, &fetching);
    let datasets = plan.as_ref().and_then(|plan| Datasets::locate(plan, &locating, &mut problems));
    let models =
        plan.as_ref().and_then(|plan| fetch_models(plan, &context.host.hub, &locating, &mut problems));
    let runtime = start_runtime(0)?;
    let session = match (&plan, &datasets, models) {
        (Some(plan), Some(_), Some(model_files)) => {
            // A check uses the locked kernels if this machine can run them; otherwise they are a difference.
            let pinned = before.filter(|_| request.action == LockAction::Check).and_then(|before| {
                pinned_kernels(before, &request.suite.path, plan, &context.host.model_program).ok()
            });
            let opening = OpenOptions {
                model_files,
                kernel_variants: pinned.unwrap_or_default(),
                ..context.host.open_options()
            };
            runtime.block_on(Session::open(plan, &registry, &opening, &mut problems))
        }
        _ => None,
    };
    let (Some(plan), Some(datasets), Some(session), Some(origin)) =
        (plan, datasets, session, &suite.loaded.origin)
    else {
        return Err(explain(RunnerError::problems(problems), &suite));
    };
    context.progress.on_event(&crate::RunEvent::Warnings(&problems));
    let identity = identity(&plan, &datasets, &session);
    let lock = suite.lock(&request.suite.path, origin, &identity)?;
    Ok((lock.with_packages(&recorded_plugins(&registry.package_origins())), datasets))
}

/// Returns the locked kernel variants for the models of a plan, by backend id. A locked run uses only these.
///
/// # Errors
/// Fails if this machine cannot run one of them. No model is loaded.
pub(crate) fn pinned_kernels(
    locked: &Lock,
    path: &Path,
    plan: &Plan,
    program: &ModelProgram,
) -> Result<BTreeMap<String, KernelVariant>, RunnerError> {
    let models = plan.config.backends.iter().filter(|spec| matches!(spec.kind, BackendKind::LlamaCpp(_)));
    let models: BTreeSet<&str> = models.map(|spec| spec.backend_id.as_str()).collect();
    let pinned = locked.kernel_variants().filter(|(backend_id, _)| models.contains(backend_id));
    pinned
        .map(|(backend_id, name)| {
            let variant =
                name.parse::<KernelVariant>().map_err(|_| "gage-host has none of this name".to_owned());
            let checked = variant.and_then(|variant| program.check_variant(&variant).map(|()| variant));
            let refused = |reason| RunnerError::LockedKernels {
                path: path.to_owned(),
                backend_id: backend_id.to_owned(),
                variant: name.to_owned(),
                reason,
            };
            Ok((backend_id.to_owned(), checked.map_err(refused)?))
        })
        .collect()
}

/// Counts the rows of a plan's located datasets for a lock.
struct RowsOf<'d>(&'d Datasets);

impl DatasetRows for RowsOf<'_> {
    fn rows(&self, dataset_id: &str) -> Result<Option<u64>, DataError> {
        let Some(dataset) = self.0.get(dataset_id) else { return Ok(None) };
        let rows = dataset.open(None)?;
        match rows.total() {
            Some(total) => Ok(Some(total)),
            None => rows.map(|row| row.map(|_| 1)).sum::<Result<u64, DataError>>().map(Some),
        }
    }

    fn media_digest(&self, dataset_id: &str) -> Result<Option<Digest>, DataError> {
        self.0.get(dataset_id).map_or(Ok(None), |dataset| dataset.media_digest())
    }
}

impl ReadSuite {
    /// Creates the lock of a complete suite.
    pub(crate) fn lock(
        &self,
        path: &Path,
        origin: &Origin,
        identity: &RunIdentity,
    ) -> Result<Lock, RunnerError> {
        self.with_inputs(|inputs| Lock::new(path, inputs, origin, identity)).map_err(RunnerError::Suite)
    }
}

/// The lock that a run must match.
pub(crate) struct ExpectedLock<'l> {
    pub(crate) locked: &'l Lock,
    pub(crate) path: &'l Path,
}

impl ExpectedLock<'_> {
    /// Compares the inputs of a run with the lock.
    pub(crate) fn check(
        &self,
        found: &mut Lock,
        datasets: &Datasets,
        request: &RunRequest,
    ) -> Result<(), RunnerError> {
        let ExpectedLock { locked, path } = *self;
        if let Err(error) = found.copy_rows(locked, &RowsOf(datasets), false) {
            return Err(RunnerError::Rows(error).with_changes(changes_of_same_suite(locked, found)));
        }
        check_suite(locked, found, path)?;
        if matches!(request.exchanges, HttpExchanges::Replay(_)) {
            found.copy_unset(locked);
        }
        let mut differences = locked.differences(found);
        differences.extend(request.max_samples.map(|most| Difference {
            place: "--max-samples".to_owned(),
            before: None,
            now: Some(most.into()),
        }));
        match differences.is_empty() {
            true => Ok(()),
            false => Err(RunnerError::LockMismatch { path: path.to_owned(), differences }),
        }
    }
}

/// Adds the differences from the lock to the error of an unusable suite. Other errors are returned unchanged.
pub(crate) fn explained(
    error: RunnerError,
    locked: &Lock,
    source: &SuiteSource,
    host: &HostSettings,
    suite: &ReadSuite,
) -> RunnerError {
    if !matches!(
        error,
        RunnerError::Problems(_) | RunnerError::UnfetchedPackages { .. } | RunnerError::Plugins(_)
    ) {
        return error;
    }
    let places = PluginPlaces {
        folders: &source.plugin_folders,
        is_bundled: &|name| host.is_bundled(name),
        installed: &|name| host.installed(name),
    };
    error.with_changes(suite.with_inputs(|inputs| locked.unusable(&source.path, inputs, &places)))
}

/// Returns the differences from a lock of the same suite if a dataset cannot be fully read.
fn changes_of_same_suite(locked: &Lock, found: &Lock) -> Vec<Difference> {
    if locked.suite() == found.suite() { locked.differences(found) } else { Vec::new() }
}
