//! Files of a repository that rows name, such as images, fetched on first use.

use super::cache::{CachedFile, DatasetFolder};
use super::client::{Client, RequestTarget, connect};
use super::download::Download;
use super::error::HubError;
use super::listing::HubEntry;
use super::paths::RepositoryName;
use super::repository::Repository;
use super::retry::RetryPolicy;
use super::source::{HubDataset, HubSource, NoProgress};
use futures::StreamExt as _;
use gage_core::{ResourceShortage, spawn_scoped};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of parallel downloads.
const MAX_PARALLEL_DOWNLOADS: usize = 8;

/// All files of one commit. A file is used only after its size and its digest match those of the hub. It is checked
/// once.
pub struct LazyHubFiles {
    source: HubSource,
    name: RepositoryName,
    commit: String,
    folder: DatasetFolder,
    /// Folder of the first file with rows in the repository, as its parts.
    base: Vec<String>,
    entries: BTreeMap<String, HubEntry>,
    state: Mutex<LazyFilesState>,
}

#[derive(Default)]
struct LazyFilesState {
    /// Checked files, each with the reason if it is unavailable.
    results: HashMap<String, Result<(), String>>,
    /// Reason why the hub can serve no further files.
    unreachable: Option<String>,
    connection: Option<Connection>,
}

/// State kept from one download to the next.
struct Connection {
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
}

impl std::fmt::Debug for LazyHubFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the files of {} at {}", self.source.name, self.commit)
    }
}

impl LazyHubFiles {
    /// Returns the files that accompany a fetched dataset, without fetching any.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn of(source: &HubSource, dataset: &HubDataset) -> Result<LazyHubFiles, HubError> {
        let name = RepositoryName::parse(source.kind, &source.name)?;
        let folder = DatasetFolder::of(&source.cache, &source.endpoint, source.kind, &name);
        let record = folder.commit(&dataset.commit).record(&name, &dataset.commit)?;
        let files = record.map(|record| record.listing.files).unwrap_or_default();
        let first = dataset.files.first().map(|file| file.path.as_str()).unwrap_or_default();
        let parts = first.rsplit_once('/').map(|(folder, _)| folder.split('/').map(str::to_owned));
        let base = parts.into_iter().flatten().collect();
        Ok(LazyHubFiles {
            source: source.clone(),
            name,
            commit: dataset.commit.clone(),
            folder,
            base,
            entries: files.into_iter().map(|entry| (entry.path.clone(), entry)).collect(),
            state: Mutex::default(),
        })
    }

    /// Returns the path in the repository that a row names. `None` if it leads out of the repository.
    fn path_of(&self, written: &str) -> Option<Vec<String>> {
        let mut path = self.base.clone();
        for part in written.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(path.pop()?),
                part => path.push(part.to_owned()),
            }
        }
        Some(path)
    }

    /// Returns the same path relative to the folder of the rows.
    fn reached(&self, path: &[String]) -> String {
        let common = self.base.iter().zip(path).take_while(|(one, other)| one == other).count();
        let up = std::iter::repeat_n("..", self.base.len() - common);
        let down = path.iter().skip(common).map(String::as_str);
        up.chain(down).collect::<Vec<_>>().join("/")
    }

    fn entry(&self, written: &str) -> Option<(&HubEntry, Vec<String>)> {
        let path = self.path_of(written)?;
        Some((self.entries.get(&path.join("/"))?, path))
    }

    /// Ensures that files are in the cache, or records why they are unavailable, unless it is stopped before.
    fn ensure(&self, state: &mut LazyFilesState, entries: &[&HubEntry], is_stopped: &dyn Fn() -> bool) {
        let retry = RetryPolicy { timings: self.source.timings, cancelled: is_stopped };
        let mut missing = Vec::new();
        for entry in entries.iter().copied() {
            if is_stopped() {
                return;
            }
            if state.results.contains_key(&entry.path) {
                continue;
            }
            match self.is_valid(entry, retry) {
                Ok(false) => missing.push(entry),
                // A stopped check proves nothing about the file.
                Err(_) if is_stopped() => return,
                checked => drop(state.results.insert(entry.path.clone(), checked.map(drop))),
            }
        }
        let Some(first) = missing.first().copied() else { return };
        let name = &self.source.name;
        if self.source.offline {
            for entry in missing {
                let shown = gage_core::printable_line(&entry.path);
                let text = format!(
                    "offline: '{shown}' of dataset '{name}' is not in the cache; fetch it once without offline mode"
                );
                state.results.insert(entry.path.clone(), Err(text));
            }
            return;
        }
        if state.unreachable.is_some() {
            return;
        }
        let fetched = self.download(&mut state.connection, &missing, retry);
        for (entry, done) in fetched.unwrap_or_else(|error| vec![(first, Err(error))]) {
            let shown = gage_core::printable_line(&entry.path);
            let result = match done {
                Ok(()) => match self.is_valid(entry, retry) {
                    Ok(true) => Ok(()),
                    Err(_) if is_stopped() => return,
                    Ok(false) => {
                        Err(format!("'{shown}' was changed by another program while it was fetched"))
                    }
                    Err(error) => Err(error),
                },
                Err(HubError::Cancelled) => continue,
                Err(error) => {
                    let text = format!("cannot fetch '{shown}' of dataset '{name}': {error}");
                    if is_of_all(&error) {
                        state.unreachable = Some(text);
                        continue;
                    }
                    Err(text)
                }
            };
            state.results.insert(entry.path.clone(), result);
        }
    }

    fn is_valid(&self, entry: &HubEntry, retry: RetryPolicy<'_>) -> Result<bool, String> {
        let folder = self.folder.commit(&self.commit);
        let kept = folder.check(entry, None, retry).map_err(|error| error.to_string())?;
        Ok(matches!(kept, CachedFile::Good(..)))
    }

    /// Downloads files, several at a time, until a failure shows that no more are available. Returns the result of
    /// each attempt.
    fn download<'e>(
        &self,
        kept: &mut Option<Connection>,
        entries: &[&'e HubEntry],
        retry: RetryPolicy<'_>,
    ) -> Result<Vec<(&'e HubEntry, Result<(), HubError>)>, HubError> {
        let HubSource { name, revision, endpoint, token, timings, kind, permissions, .. } = &self.source;
        let connection = match kept.take() {
            Some(connection) => connection,
            None => Connection { runtime: super::fetch::runtime()?, http: connect(*timings)? },
        };
        let folder = self.folder.commit(&self.commit);
        let fetching = async {
            let http = connection.http.clone();
            let client = Client::new(http, endpoint, token.as_ref(), permissions, retry)?;
            let asked = RequestTarget { kind: *kind, name, revision, path: None };
            let _lock = folder.lock(retry).await?;
            let one = async |entry: &'e HubEntry| {
                let repository = Repository { client: &client, kind: *kind, name: &self.name, asked };
                let download = Download {
                    repository,
                    folder: &folder,
                    commit: &self.commit,
                    entry,
                    progress: &NoProgress,
                };
                (entry, download.run().await)
            };
            let mut running = futures::stream::iter(entries.iter().copied())
                .map(one)
                .buffer_unordered(MAX_PARALLEL_DOWNLOADS);
            let mut done = Vec::with_capacity(entries.len());
            while let Some(next) = running.next().await {
                let is_last = next.1.as_ref().is_err_and(is_of_all);
                done.push(next);
                if is_last {
                    break;
                }
            }
            Ok(done)
        };
        let done = connection.runtime.block_on(fetching);
        *kept = Some(connection);
        done
    }

    /// Runs blocking work, in another thread if this one runs asynchronous code.
    ///
    /// # Errors
    /// If no thread can be started. The shortage is reported.
    fn run_blocking<T: Send>(
        &self,
        work: impl FnOnce(&mut LazyFilesState) -> T + Send,
    ) -> Result<T, ResourceShortage> {
        let work = || work(&mut self.state.lock());
        match tokio::runtime::Handle::try_current() {
            Err(_) => Ok(work()),
            Ok(_) => std::thread::scope(|threads| {
                let thread = spawn_scoped(threads, "fetch", work).map_err(ResourceShortage::report);
                thread.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }),
        }
    }
}

/// Returns whether an error affects the hub as a whole, not just one file.
fn is_of_all(error: &HubError) -> bool {
    matches!(
        error,
        HubError::Unreachable { .. } | HubError::Busy { .. } | HubError::Denied(_) | HubError::Cancelled
    )
}

impl LazyHubFiles {
    /// Fetches the file of a relative path unless it is cached. Returns its path relative to the folder of the rows,
    /// normalized. `None` if there is no such file.
    ///
    /// # Errors
    /// When the file exists but is unavailable; the text is the reason.
    pub(crate) fn fetch_named(&self, written: &str) -> Result<Option<String>, String> {
        let Some((entry, path)) = self.entry(written) else { return Ok(None) };
        let fetched = self.run_blocking(|state| {
            self.ensure(state, &[entry], &|| false);
            match (state.results.get(&entry.path), &state.unreachable) {
                (Some(Ok(())), _) => Ok(Some(self.reached(&path))),
                (Some(Err(error)), _) | (None, Some(error)) => Err(error.clone()),
                (None, None) => Ok(None),
            }
        });
        fetched.map_err(|shortage| shortage.to_string())?
    }

    /// Fetches the missing ones of these files, several at a time, until stopped. A failure is reported when its file
    /// is requested.
    pub(crate) fn prefetch(&self, written: &[&str], is_stopped: &dyn Fn() -> bool) {
        let entries = written.iter().filter_map(|path| Some(self.entry(path)?.0));
        // Many rows may name one file.
        let entries: BTreeMap<&str, &HubEntry> = entries.map(|entry| (entry.path.as_str(), entry)).collect();
        if !entries.is_empty() {
            let entries: Vec<&HubEntry> = entries.into_values().collect();
            let mut state = self.state.lock();
            self.ensure(&mut state, &entries, is_stopped);
        }
    }
}

impl Drop for LazyHubFiles {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(connection) = state.connection.take() {
            // Works even if asynchronous code drops the last reference.
            connection.runtime.shutdown_background();
        }
    }
}
