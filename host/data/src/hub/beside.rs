//! Files of a repository that rows name, such as images: fetched when they are first asked for.

use super::cache::{DatasetFolder, Kept};
use super::client::{Asked, Client, connect};
use super::download::Download;
use super::error::HubError;
use super::listing::Entry;
use super::paths::RepositoryName;
use super::repository::Repository;
use super::source::{HubDataset, HubSource, NoProgress};
use super::wait::Patience;
use crate::media::MediaFiles;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// All files of one commit. A file is used only after its size and its digest were those that the hub names; it is
/// looked at once in the life of this.
pub struct HubFiles {
    source: HubSource,
    name: RepositoryName,
    commit: String,
    folder: DatasetFolder,
    /// The folder of the first file with rows, in the repository; its parts.
    base: Vec<String>,
    entries: BTreeMap<String, Entry>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Files that were looked at, and are what they should be.
    sound: HashSet<String>,
    /// Why nothing more can be had from the hub.
    gone: Option<String>,
    connection: Option<Connection>,
}

/// What is kept from one download to the next.
struct Connection {
    runtime: tokio::runtime::Runtime,
    http: reqwest::Client,
}

impl std::fmt::Debug for HubFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the files of {} at {}", self.source.name, self.commit)
    }
}

impl HubFiles {
    /// The files beside those of a dataset that was fetched. Nothing is fetched yet.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn of(source: &HubSource, dataset: &HubDataset) -> Result<HubFiles, HubError> {
        let name = RepositoryName::parse(&source.name)?;
        let folder = DatasetFolder::of(&source.cache, &source.endpoint, source.kind, &name);
        let record = folder.commit(&dataset.commit).record(&name, &dataset.commit)?;
        let files = record.map(|record| record.listing.files).unwrap_or_default();
        let first = dataset.files.first().map(|file| file.path.as_str()).unwrap_or_default();
        let base = first.rsplit_once('/').map_or_else(Vec::new, |(folder, _)| parts_of(folder));
        Ok(HubFiles {
            source: source.clone(),
            name,
            commit: dataset.commit.clone(),
            folder,
            base,
            entries: files.into_iter().map(|entry| (entry.path.clone(), entry)).collect(),
            state: Mutex::default(),
        })
    }

    /// The path in the repository that a row means; none where it leads out of it.
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

    /// The same path from the folder of the rows.
    fn reached(&self, path: &[String]) -> String {
        let common = self.base.iter().zip(path).take_while(|(one, other)| one == other).count();
        let up = std::iter::repeat_n("..", self.base.len() - common);
        let down = path.iter().skip(common).map(String::as_str);
        up.chain(down).collect::<Vec<_>>().join("/")
    }

    fn have(&self, entry: &Entry) -> Result<(), String> {
        // One after the other: each has the whole connection.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.sound.contains(&entry.path) {
            return Ok(());
        }
        let patience = Patience { timings: self.source.timings, cancelled: &|| false };
        let folder = self.folder.commit(&self.commit);
        let is_sound = || {
            let kept = folder.check(entry, None, patience).map_err(|error| error.to_string())?;
            Ok::<bool, String>(matches!(kept, Kept::Good(..)))
        };
        if !is_sound()? {
            let shown = gage_core::printable_line(&entry.path);
            if self.source.offline {
                return Err(format!(
                    "offline: '{shown}' of dataset '{}' is not in the cache; fetch it once without offline mode",
                    self.source.name
                ));
            }
            if let Some(gone) = &state.gone {
                return Err(gone.clone());
            }
            if let Err(error) = self.download(&mut state, entry, patience) {
                let text = format!("cannot fetch '{shown}' of dataset '{}': {error}", self.source.name);
                if matches!(error, HubError::Unreachable { .. } | HubError::Busy { .. } | HubError::Denied(_))
                {
                    state.gone = Some(text.clone());
                }
                return Err(text);
            }
            if !is_sound()? {
                return Err(format!("'{shown}' was changed by another program while it was fetched"));
            }
        }
        state.sound.insert(entry.path.clone());
        Ok(())
    }

    fn download(&self, state: &mut State, entry: &Entry, patience: Patience<'_>) -> Result<(), HubError> {
        let HubSource { name, revision, endpoint, token, timings, kind, .. } = &self.source;
        let connection = match state.connection.take() {
            Some(connection) => connection,
            None => Connection { runtime: super::fetch::runtime()?, http: connect(*timings)? },
        };
        let folder = self.folder.commit(&self.commit);
        let fetching = async {
            let client = Client::over(connection.http.clone(), endpoint, token.as_ref(), patience)?;
            let asked = Asked { name, revision, path: None };
            let repository = Repository { client: &client, kind: *kind, name: &self.name, asked };
            let _lock = folder.lock(patience).await?;
            Download { repository, folder: &folder, commit: &self.commit, entry, progress: &NoProgress }
                .run()
                .await
        };
        let done = connection.runtime.block_on(fetching);
        state.connection = Some(connection);
        done
    }
}

impl MediaFiles for HubFiles {
    fn provide(&self, written: &str) -> Result<Option<String>, String> {
        let Some(path) = self.path_of(written) else { return Ok(None) };
        let Some(entry) = self.entries.get(&path.join("/")) else { return Ok(None) };
        // From asynchronous code nothing can be waited for but in another thread.
        match tokio::runtime::Handle::try_current() {
            Err(_) => self.have(entry)?,
            Ok(_) => std::thread::scope(|threads| {
                let having = threads.spawn(|| self.have(entry));
                having.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })?,
        }
        Ok(Some(self.reached(&path)))
    }
}

impl Drop for HubFiles {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = state.connection.take() {
            // Also where asynchronous code is the last to have it.
            connection.runtime.shutdown_background();
        }
    }
}

fn parts_of(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::{HubFormat, HubKind, HubTimings};

    #[test]
    fn rows_name_files_from_their_own_folder_and_never_out_of_the_repository() {
        let cache = tempfile::tempdir().expect("a folder");
        let source = HubSource {
            kind: HubKind::Dataset,
            name: "owner/data".to_owned(),
            revision: "main".to_owned(),
            subset: None,
            split: None,
            data_files: Vec::new(),
            endpoint: "https://hub.test".parse().expect("a URL"),
            token: None,
            offline: true,
            cache: cache.path().to_owned(),
            timings: HubTimings::default(),
        };
        let rows = crate::hub::HubFile {
            path: "data/en/train.jsonl".to_owned(),
            local: cache.path().join("train.jsonl"),
            bytes: 0,
            digest: gage_core::Digest::of_bytes(b""),
        };
        let dataset = HubDataset {
            name: source.name.clone(),
            revision: source.revision.clone(),
            commit: "0".repeat(40),
            files: vec![rows],
            format: HubFormat::Jsonl,
        };
        let files = HubFiles::of(&source, &dataset).expect("files");
        for (written, path, reached) in [
            ("a.png", "data/en/a.png", "a.png"),
            ("./x/../a.png", "data/en/a.png", "a.png"),
            ("../a.png", "data/a.png", "../a.png"),
            ("../../images/a.png", "images/a.png", "../../images/a.png"),
            ("../en/b/a.png", "data/en/b/a.png", "b/a.png"),
        ] {
            let found = files.path_of(written).expect("a path");
            assert_eq!(
                (found.join("/").as_str(), files.reached(&found).as_str()),
                (path, reached),
                "{written}"
            );
        }
        assert_eq!(files.path_of("../../../etc/passwd"), None);
    }
}
