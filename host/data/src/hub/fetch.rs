//! Fetch of a dataset or model into checked files.

use super::cache::{CachedFile, CommitFolder, DatasetFolder, Record};
use super::client::{Client, RequestTarget, connect};
use super::download::Download;
use super::error::HubError;
use super::paths::{RepositoryName, check_revision, is_commit};
use super::repository::Repository;
use super::retry::RetryPolicy;
use super::select::select;
use super::source::{HubDataset, HubFile, HubFormat, HubProgress, HubSource};
use gage_core::{ResourceShortage, ensure_threads};
use std::io;

/// Returns the files of a dataset or a model in the cache, downloading the missing ones.
///
/// Blocks; `cancelled` is called at every chunk of a download and many times in every wait. Two calls for the same
/// commit run one after the other, even from different processes. Must not be called from asynchronous code.
///
/// # Errors
/// When the dataset lacks the requested files, the server fails, or the cache cannot be used. No wrong file then has
/// a final name, and the next call resumes from the bytes downloaded so far.
#[tracing::instrument(name = "hub_fetch", skip_all, fields(repository = source.name, revision = source.revision))]
pub fn fetch(
    source: &HubSource,
    progress: &dyn HubProgress,
    cancelled: &dyn Fn() -> bool,
) -> Result<HubDataset, HubError> {
    let name = RepositoryName::parse(source.kind, &source.name)?;
    check_revision(&source.revision)?;
    let retry = RetryPolicy { timings: source.timings, cancelled };
    retry.check()?;
    let folder = DatasetFolder::of(&source.cache, &source.endpoint, source.kind, &name);
    let fetch = Fetch { source, name, folder, progress, retry };
    if source.offline {
        return fetch.cached();
    }
    if is_commit(&source.revision) {
        match fetch.cached() {
            Err(HubError::Offline { .. }) => {}
            // A commit never changes, so no request is needed.
            done => return done,
        }
    }
    if tokio::runtime::Handle::try_current().is_ok() {
        return Err(HubError::Invalid("nothing can be fetched from asynchronous code".to_owned()));
    }
    let runtime = runtime()?;
    let fetched = runtime.block_on(fetch.online());
    // A pending address lookup is no longer needed.
    runtime.shutdown_background();
    fetched
}

/// Returns the runtime that drives downloads.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, HubError> {
    let failed = |error: io::Error| {
        ResourceShortage::report_in(&error);
        HubError::Invalid(format!("cannot start the downloads: {error}"))
    };
    // The runtime panics without the thread that looks up names.
    ensure_threads(1).map_err(|shortage| failed(shortage.into()))?;
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)
}

struct Fetch<'a> {
    source: &'a HubSource,
    name: RepositoryName,
    folder: DatasetFolder,
    progress: &'a dyn HubProgress,
    retry: RetryPolicy<'a>,
}

impl Fetch<'_> {
    /// Uses the cached files; writes nothing.
    fn cached(&self) -> Result<HubDataset, HubError> {
        let HubSource { kind, name, revision, .. } = self.source;
        let noun = kind.noun();
        let missing = |missing: String| HubError::Offline { missing };
        let commit = match is_commit(revision) {
            true => revision.clone(),
            false => self.folder.commit_of(revision)?.ok_or_else(|| {
                missing(format!("revision '{revision}' of {noun} '{name}' is not in the cache"))
            })?,
        };
        let folder = self.folder.commit(&commit);
        let record = folder
            .record(&self.name, &commit)?
            .ok_or_else(|| missing(format!("commit {commit} of {noun} '{name}' is not in the cache")))?;
        let choice = select(self.source, &record.listing)?;
        let mut files = Vec::new();
        for entry in choice.entries {
            let path = gage_core::printable_line(&entry.path);
            match folder.check(entry, record.files.get(&entry.path), self.retry)? {
                CachedFile::Good(file, _) => files.push(file),
                CachedFile::Missing => {
                    return Err(missing(format!("'{path}' of {noun} '{name}' is not in the cache")));
                }
                CachedFile::Wrong(reason) => {
                    return Err(missing(format!(
                        "'{path}' of {noun} '{name}' is damaged in the cache ({reason})"
                    )));
                }
            }
        }
        Ok(self.dataset(commit, files, choice.format))
    }

    fn dataset(&self, commit: String, files: Vec<HubFile>, format: HubFormat) -> HubDataset {
        let HubSource { name, revision, .. } = self.source;
        HubDataset { name: name.clone(), revision: revision.clone(), commit, files, format }
    }

    async fn online(&self) -> Result<HubDataset, HubError> {
        let HubSource { name, revision, endpoint, token, permissions, .. } = self.source;
        let http = connect(self.retry.timings)?;
        let client = Client::new(http, endpoint, token.as_ref(), permissions, self.retry)?;
        let asked = RequestTarget { kind: self.source.kind, name, revision, path: None };
        let repository = Repository { client: &client, kind: self.source.kind, name: &self.name, asked };
        let commit = repository.commit().await.map_err(|error| self.hint(error))?;
        if is_commit(revision) && *revision != commit {
            let reason = format!("the server answers for commit {commit}, not for {revision}");
            return Err(HubError::answer(endpoint, reason));
        }
        let folder = self.folder.commit(&commit);
        let _lock = folder.lock(self.retry).await?;
        let mut record = match folder.record(&self.name, &commit)? {
            Some(record) => record,
            None => {
                let record = Record::new(&self.name, &commit, repository.listing(&commit).await?);
                folder.write_record(&record)?;
                record
            }
        };
        let dataset = self.download(repository, &folder, &commit, &mut record).await?;
        if !is_commit(revision) {
            self.folder.remember(revision, &commit)?;
        }
        Ok(dataset)
    }

    async fn download(
        &self,
        repository: Repository<'_>,
        folder: &CommitFolder,
        commit: &str,
        record: &mut Record,
    ) -> Result<HubDataset, HubError> {
        let choice = select(self.source, &record.listing)?;
        let (format, mut files, mut stamps) = (choice.format, Vec::new(), record.files.clone());
        for entry in choice.entries {
            self.retry.check()?;
            let mut kept = folder.check(entry, stamps.get(&entry.path), self.retry)?;
            if let CachedFile::Wrong(reason) = &kept {
                let path = gage_core::printable_line(&entry.path);
                tracing::warn!("'{path}' is damaged in the cache ({reason}); it is downloaded again");
            }
            if !matches!(kept, CachedFile::Good(..)) {
                let progress = self.progress;
                Download { repository, folder, commit, entry, progress }.run().await?;
                kept = folder.check(entry, None, self.retry)?;
            }
            match kept {
                CachedFile::Good(file, stamp) => {
                    stamps.insert(entry.path.clone(), stamp);
                    files.push(file);
                }
                CachedFile::Missing | CachedFile::Wrong(_) => {
                    let path = folder.file(&entry.path)?;
                    let changed = io::Error::other("another program changed it meanwhile");
                    return Err(HubError::cache("keep", &path)(changed));
                }
            }
        }
        if stamps != record.files {
            record.files = stamps;
            folder.write_record(record)?;
        }
        Ok(self.dataset(commit.to_owned(), files, format))
    }

    /// Adds to an error that offline mode would succeed, if it would.
    fn hint(&self, error: HubError) -> HubError {
        match error {
            HubError::Unreachable { url, reason, attempts } if self.cached().is_ok() => {
                let reason = format!(
                    "{reason}; the cache has the last known content of '{}', which offline mode uses",
                    self.source.revision
                );
                HubError::Unreachable { url, reason, attempts }
            }
            other => other,
        }
    }
}
