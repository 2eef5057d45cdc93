//! Creating, resuming, opening and deleting a run folder.

use crate::atomic_file::sync_folder;
use crate::error::{JOURNAL_REMEDY, manifest_remedy};
use crate::format::{JOURNAL_FOLDER, MANIFEST_FILE, MEDIA_FOLDER, RECORDED_FILE, RESAMPLES_FILE};
use crate::journal::{DurableCount, durable_lines, segment_paths};
use crate::missing_manifest::is_never_started;
use crate::shards::shard_folders;
use crate::shards_folder::has_shards;
use crate::writer_lock::WriterLock;
use crate::{FileDigest, JournalId, JournalIndex, Manifest, RecordError, RunFolder, RunStatus};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

impl RunFolder {
    /// Creates `<root>/<run_id>/` for a new run. Takes over a folder whose run never started because its
    /// process was killed immediately.
    ///
    /// # Errors
    /// If the id is not a valid folder name, the run already exists, another process holds its lock, or the
    /// file system refuses.
    pub fn create(root: &Path, run_id: &str) -> Result<RunFolder, RecordError> {
        gage_core::check_name(run_id).map_err(RecordError::InvalidRunId)?;
        let path = root.join(run_id);
        let exists = || run_exists(run_id, &path);
        fs::create_dir_all(root).map_err(|source| RecordError::io("create", root, source))?;
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !is_never_started(&path) {
                    return Err(exists());
                }
            }
            other => other.map_err(|source| RecordError::io("create", &path, source))?,
        }
        let writer_lock = WriterLock::take(&path)?;
        // Another process may have started and ended between the first check and the lock.
        if !is_never_started(&path) {
            return Err(exists());
        }
        let folder = begin_journal(path, run_id, JournalId::random(), writer_lock)?;
        sync_folder(root)?;
        Ok(folder)
    }

    /// Creates the folder of a run that scores the answers of the run `parent_run`. Takes over a folder in which the same
    /// was begun and not finished.
    ///
    /// # Errors
    /// Same as for [`RunFolder::create`].
    pub fn create_scoring(root: &Path, run_id: &str, parent_run: &str) -> Result<RunFolder, RecordError> {
        let path = root.join(run_id);
        if !RunFolder::is_unfinished_scoring(&path, parent_run) {
            return RunFolder::create(root, run_id);
        }
        let writer_lock = WriterLock::take(&path)?;
        // Another process may have finished it between the first check and the lock.
        if !RunFolder::is_unfinished_scoring(&path, parent_run) {
            return Err(run_exists(run_id, &path));
        }
        let journal_id = unedited_manifest(&path)?.journal_id;
        clear_results(&path)?;
        begin_journal(path, run_id, journal_id, writer_lock)
    }

    /// Returns whether a folder holds an unfinished run that scores the answers of the run `parent_run`, and has asked no
    /// model. Then nothing in it was paid for, and it can be written again.
    pub fn is_unfinished_scoring(path: &Path, parent_run: &str) -> bool {
        path.join(MANIFEST_FILE).is_file()
            && unedited_manifest(path).is_ok_and(|manifest| {
                manifest.parent_run.as_deref() == Some(parent_run)
                    // It would be its own source.
                    && manifest.run_id != parent_run
                    && !manifest.is_rejudged
                    && matches!(manifest.status, RunStatus::Running | RunStatus::Interrupted)
            })
    }

    /// Creates the run in a folder that has its shards, or the run that was merged from them before. The shards stay.
    ///
    /// # Errors
    /// If the id is not a valid folder name, the folder has another run or no shards, another process holds its lock, or the
    /// file system refuses.
    pub fn create_merged(root: &Path, run_id: &str) -> Result<RunFolder, RecordError> {
        gage_core::check_name(run_id).map_err(RecordError::InvalidRunId)?;
        let path = root.join(run_id);
        let writer_lock = WriterLock::take(&path)?;
        let before = RunFolder::has_manifest(&path).then(|| unedited_manifest(&path)).transpose()?;
        if !has_shards(&path) || before.as_ref().is_some_and(|manifest| manifest.shards.is_empty()) {
            return Err(run_exists(run_id, &path));
        }
        let journal_id = before.map_or_else(JournalId::random, |manifest| manifest.journal_id);
        clear_results(&path)?;
        begin_journal(path, run_id, journal_id, writer_lock)
    }

    /// Deletes the folder if its run never started, because its first manifest could not be written.
    pub fn delete_unstarted(self) {
        delete_unstarted(&self.path);
    }

    /// Opens the folder of an existing run to continue it.
    ///
    /// # Errors
    /// If the run does not exist, or another process holds its lock. If its manifest cannot be read, was
    /// edited, or belongs to another run. If it is a rescoring of another run. If its journal has changed
    /// since the run ended, or the count of recorded lines is missing.
    pub fn resume(root: &Path, run_id: &str) -> Result<RunFolder, RecordError> {
        gage_core::check_name(run_id).map_err(RecordError::InvalidRunId)?;
        let path = root.join(run_id);
        if !RunFolder::has_manifest(&path) {
            return Err(RecordError::RunMissing { run_id: run_id.to_owned(), path });
        }
        let writer_lock = WriterLock::take(&path)?;
        let manifest = unedited_manifest(&path)?;
        let refuse = |reason: String| Err(RecordError::invalid(&path.join(MANIFEST_FILE), reason));
        if manifest.run_id != run_id {
            return refuse(format!("it belongs to run '{}'; give the folder its name back", manifest.run_id));
        }
        if !manifest.shards.is_empty() {
            return refuse(format!(
                "it was merged from shards, and is not resumed as a whole; continue each shard with the command that started it, \
                 and merge them again with `gage-host merge {}`",
                path.display()
            ));
        }
        if let Some(parent) = manifest.parent_run.as_ref().filter(|_| !manifest.is_rejudged) {
            return refuse(match RunFolder::is_unfinished_scoring(&path, parent) {
                true => format!(
                    "it holds answers of the run '{parent}', scored again, and was stopped; such a run is not resumed: start it \
                     again with `gage-host score {parent} --run-id {run_id}`"
                ),
                false => format!(
                    "it holds answers of the run '{parent}', scored again, and has nothing left to ask; resume that run, and \
                     score it again"
                ),
            });
        }
        let folder = RunFolder::of_manifest(path, &manifest, Some(writer_lock));
        folder.check_journal(&manifest)?;
        durable_lines(&folder)?;
        create_journal_folder(&folder.path)?;
        Ok(folder)
    }

    /// Opens the folder of an existing run to repair its journal, which may have any damage.
    ///
    /// # Errors
    /// If there is no run, or another process holds its lock. If its manifest cannot be read or was edited.
    pub(crate) fn open_for_repair(path: &Path) -> Result<(RunFolder, Manifest), RecordError> {
        if !RunFolder::has_manifest(path) {
            return Err(RecordError::NotARunFolder { path: path.to_owned() });
        }
        let writer_lock = WriterLock::take(path)?;
        let manifest = unedited_manifest(path)?;
        create_journal_folder(path)?;
        Ok((RunFolder::of_manifest(path.to_owned(), &manifest, Some(writer_lock)), manifest))
    }

    /// Opens the folder of any run for reading, without a lock. The run may still be in progress.
    ///
    /// # Errors
    /// If the folder has no manifest, or the manifest cannot be read.
    pub fn open_read(path: &Path) -> Result<RunFolder, RecordError> {
        if !RunFolder::has_manifest(path) {
            return Err(RecordError::NotARunFolder { path: path.to_owned() });
        }
        let manifest = Manifest::read(path)?;
        Ok(RunFolder::of_manifest(path.to_owned(), &manifest, None))
    }

    /// Returns the folder of a run that has a manifest, which names the run and its journal.
    fn of_manifest(path: PathBuf, manifest: &Manifest, writer_lock: Option<WriterLock>) -> RunFolder {
        RunFolder { path, run_id: manifest.run_id.clone(), journal_id: manifest.journal_id, writer_lock }
    }

    /// Deletes the folder of a run with its shards, unless a process is writing to it or to one of them. The folder stops
    /// being a run before the first of its files is deleted.
    ///
    /// # Errors
    /// If a process is writing to it, or the file system refuses.
    pub fn delete(path: &Path) -> Result<(), RecordError> {
        if !RunFolder::has_manifest(path) {
            return Err(RecordError::NotARunFolder { path: path.to_owned() });
        }
        let _lock = WriterLock::take(path)?;
        if let Some(shard) = shard_folders(path)?.into_iter().find(|shard| WriterLock::is_held(&shard.path)) {
            return Err(RecordError::Locked { path: shard.path });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let aside = path.with_file_name(format!(".{name}.deleted"));
        fs::rename(path, &aside).map_err(|source| RecordError::io("move aside", path, source))?;
        fs::remove_dir_all(&aside).map_err(|source| RecordError::io("delete", &aside, source))
    }

    /// Rejects an ended run whose journal has changed. Removed answers would be requested again, and inserted
    /// ones would count as answers.
    pub(crate) fn check_journal(&self, manifest: &Manifest) -> Result<(), RecordError> {
        for (name, written) in pinned_segments(manifest) {
            if self.has_digest(name, written)? {
                continue;
            }
            let is = match self.size_of(name)? {
                Some(now) => {
                    // Its own checksums may reveal the damaged line.
                    JournalIndex::read_lines(self)?;
                    let then = written.bytes;
                    match now == then {
                        true => "it changed after the run ended".to_owned(),
                        false => format!("it has {now} bytes, and had {then} when the run ended"),
                    }
                }
                None => "it is gone, and what the run has answered with it".to_owned(),
            };
            return Err(RecordError::invalid(&self.path_of(name), format!("{is}; {JOURNAL_REMEDY}")));
        }
        self.check_foreign_segments(manifest)
    }

    /// Rejects an ended run whose journal has files that the run has not written.
    pub(crate) fn check_foreign_segments(&self, manifest: &Manifest) -> Result<(), RecordError> {
        let is_pinned = manifest.files.keys().any(|name| name.starts_with(JOURNAL_FOLDER));
        if is_pinned && manifest.status != RunStatus::Running {
            for path in segment_paths(&self.path)? {
                let name =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if !manifest.files.contains_key(&format!("{JOURNAL_FOLDER}/{name}")) {
                    let reason = "the run has not written it; move it away";
                    return Err(RecordError::invalid(&path, reason));
                }
            }
        }
        Ok(())
    }
}

/// Returns the journal files that an ended run has pinned, with their digests. `recorded` checks itself, and an older
/// copy of it is still a lower bound.
pub(crate) fn pinned_segments(manifest: &Manifest) -> impl Iterator<Item = (&String, &FileDigest)> {
    let ended = (manifest.status != RunStatus::Running).then_some(&manifest.files).into_iter().flatten();
    let recorded = format!("{JOURNAL_FOLDER}/{RECORDED_FILE}");
    ended.filter(move |(name, _)| name.starts_with(JOURNAL_FOLDER) && **name != recorded)
}

/// Reads a manifest, and rejects it if it was edited.
fn unedited_manifest(path: &Path) -> Result<Manifest, RecordError> {
    let manifest = Manifest::read(path)?;
    match Manifest::integrity(path)?.problem() {
        None => Ok(manifest),
        Some(problem) => {
            let reason = format!("{problem}; {}", manifest_remedy(path));
            Err(RecordError::invalid(&path.join(MANIFEST_FILE), reason))
        }
    }
}

fn run_exists(run_id: &str, path: &Path) -> RecordError {
    RecordError::RunExists { run_id: run_id.to_owned(), path: path.to_owned() }
}

/// Creates the empty journal of a new run in a locked folder. If that fails, nothing of the run stays. If the process is killed
/// before there is a manifest with the id, the run never started, and the next process begins a journal with another id. A run
/// that is written again keeps the id that its manifest has.
fn begin_journal(
    path: PathBuf,
    run_id: &str,
    journal_id: JournalId,
    mut writer_lock: WriterLock,
) -> Result<RunFolder, RecordError> {
    // The count comes before the manifest, which implies that it exists.
    let begun = create_journal_folder(&path)
        .and_then(|()| DurableCount::begin(&path, journal_id, 0).map(drop))
        .and_then(|()| writer_lock.take_recorded(&path));
    match begun {
        Ok(()) => {
            let writer_lock = Some(writer_lock);
            Ok(RunFolder { path, run_id: run_id.to_owned(), journal_id, writer_lock })
        }
        Err(error) => {
            delete_unstarted(&path);
            Err(error)
        }
    }
}

/// Deletes a locked folder whose run never started. If that fails, the next run of this id takes the folder over.
fn delete_unstarted(path: &Path) {
    if is_never_started(path) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Deletes what a run has written before, so that it can be written again. The manifest stays until it is replaced, so that this
/// can be repeated if the process is killed; most other files are replaced at the end. Media may be links to those of another
/// run, so they are not written to.
fn clear_results(path: &Path) -> Result<(), RecordError> {
    for folder in [MEDIA_FOLDER, JOURNAL_FOLDER].map(|name| path.join(name)) {
        accept_missing(&folder, fs::remove_dir_all(&folder))?;
    }
    let resamples = path.join(RESAMPLES_FILE);
    accept_missing(&resamples, fs::remove_file(&resamples))
}

/// Accepts that a file or a folder to be deleted is missing.
fn accept_missing(path: &Path, deleted: io::Result<()>) -> Result<(), RecordError> {
    match deleted {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        deleted => deleted.map_err(|source| RecordError::io("delete", path, source)),
    }
}

fn create_journal_folder(path: &Path) -> Result<(), RecordError> {
    let journal = path.join(JOURNAL_FOLDER);
    fs::create_dir_all(&journal).map_err(|source| RecordError::io("create", &journal, source))?;
    sync_folder(path)
}

#[cfg(test)]
mod tests;
