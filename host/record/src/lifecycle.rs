//! Creating, resuming and opening a run folder.

use crate::atomic_file::sync_folder;
use crate::error::{JOURNAL_REMEDY, manifest_remedy};
use crate::format::{JOURNAL_FOLDER, MANIFEST_FILE, MEDIA_FOLDER, RECORDED_FILE, RESAMPLES_FILE};
use crate::journal::{DurableCount, durable_lines, segment_paths};
use crate::missing_manifest::is_never_started;
use crate::writer_lock::WriterLock;
use crate::{FileDigest, JournalIndex, Manifest, RecordError, RunFolder, RunStatus};
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
        let folder = begin_journal(path, run_id, writer_lock)?;
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
        // The manifest stays until it is replaced, so that this can be repeated if the process is killed. Other files
        // are replaced at the end. Media may be links to those of the other run, so they are not written to.
        for folder in [MEDIA_FOLDER, JOURNAL_FOLDER].map(|name| path.join(name)) {
            accept_missing(&folder, fs::remove_dir_all(&folder))?;
        }
        let resamples = path.join(RESAMPLES_FILE);
        accept_missing(&resamples, fs::remove_file(&resamples))?;
        begin_journal(path, run_id, writer_lock)
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
        let run_id = manifest.run_id.clone();
        let folder = RunFolder { path, run_id, writer_lock: Some(writer_lock) };
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
        let run_id = manifest.run_id.clone();
        Ok((RunFolder { path: path.to_owned(), run_id, writer_lock: Some(writer_lock) }, manifest))
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
        Ok(RunFolder { path: path.to_owned(), run_id: manifest.run_id, writer_lock: None })
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

/// Creates the empty journal of a new run in a locked folder. If that fails, nothing of the run stays.
fn begin_journal(path: PathBuf, run_id: &str, mut writer_lock: WriterLock) -> Result<RunFolder, RecordError> {
    // The count comes before the manifest, which implies that it exists.
    let begun = create_journal_folder(&path)
        .and_then(|()| DurableCount::begin(&path, run_id, 0).map(drop))
        .and_then(|()| writer_lock.take_recorded(&path));
    match begun {
        Ok(()) => Ok(RunFolder { path, run_id: run_id.to_owned(), writer_lock: Some(writer_lock) }),
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
mod tests {
    use super::*;
    use crate::{JournalWriter, RunIdentity};
    use gage_recorded_messages::RecordedError as _;

    fn begin(root: &Path, run_id: &str) -> RunFolder {
        let folder = RunFolder::create(root, run_id).unwrap();
        Manifest::new(run_id, "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        folder
    }

    #[test]
    fn answers_that_were_scored_again_are_no_run_to_go_on_with() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path(), "again");
        let mut manifest = Manifest::read(folder.path()).unwrap();
        manifest.parent_run = Some("first".to_owned());
        manifest.write(&folder).unwrap();
        drop(folder);
        let error = RunFolder::resume(root.path(), "again").unwrap_err().recorded("run_folders");
        assert!(error.contains("answers of the run 'first', scored again"), "{error}");
        let folder = begin(root.path(), "judged");
        manifest = Manifest { run_id: "judged".to_owned(), is_rejudged: true, ..manifest };
        manifest.write(&folder).unwrap();
        JournalWriter::open(&folder).unwrap();
        drop(folder);
        RunFolder::resume(root.path(), "judged").unwrap();
    }

    /// A folder without a manifest could be taken for a run that lost it.
    #[test]
    fn only_a_run_that_never_started_is_deleted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run");
        RunFolder::create(root.path(), "run").unwrap().delete_unstarted();
        assert!(!path.exists());
        begin(root.path(), "run").delete_unstarted();
        assert!(RunFolder::has_manifest(&path));
    }

    #[test]
    fn only_an_unfinished_scoring_is_begun_again() {
        let root = tempfile::tempdir().unwrap();
        let write = |status, parent_run: Option<&str>, is_rejudged| {
            let _ = fs::remove_dir_all(root.path().join("again"));
            let folder = begin(root.path(), "again");
            let mut manifest = Manifest::read(folder.path()).unwrap();
            manifest =
                Manifest { parent_run: parent_run.map(str::to_owned), is_rejudged, status, ..manifest };
            manifest.write(&folder).unwrap();
            JournalWriter::open(&folder).unwrap();
            fs::write(folder.path_of("samples.jsonl"), "").unwrap();
        };
        for (status, parent_run, is_rejudged, is_begun) in [
            (RunStatus::Running, Some("first"), false, true),
            (RunStatus::Interrupted, Some("first"), false, true),
            (RunStatus::Complete, Some("first"), false, false),
            (RunStatus::Incomplete, Some("first"), false, false),
            // Judges were paid for.
            (RunStatus::Running, Some("first"), true, false),
            (RunStatus::Running, Some("other"), false, false),
            // Its answers were paid for.
            (RunStatus::Running, None, false, false),
        ] {
            write(status, parent_run, is_rejudged);
            let segment = root.path().join("again/journal/000001.jsonl");
            match RunFolder::create_scoring(root.path(), "again", "first") {
                Ok(folder) => assert!(folder.writer_lock.is_some() && !segment.exists()),
                Err(error) => {
                    assert!(matches!(error, RecordError::RunExists { .. }), "{error}");
                    assert!(segment.exists());
                }
            }
            let was_begun = !segment.exists();
            assert_eq!(was_begun, is_begun, "{status:?} {parent_run:?} {is_rejudged}");
        }
        write(RunStatus::Running, Some("first"), false);
        let error = RunFolder::resume(root.path(), "again").unwrap_err().recorded("run_folders");
        assert!(error.contains("`gage-host score first --run-id again`"), "{error}");
    }

    #[test]
    fn ended_run_resumes_only_with_its_own_journal_and_manifest() {
        let root = tempfile::tempdir().unwrap();
        let folder = begin(root.path(), "one");
        let journal = folder.path_of("journal/000001.jsonl");
        JournalWriter::open(&folder).unwrap();
        let whole = fs::read(&journal).unwrap();
        let mut manifest = Manifest::read(folder.path()).unwrap();
        let digest = folder.digest_of("journal/000001.jsonl").unwrap().unwrap();
        manifest.files.insert("journal/000001.jsonl".to_owned(), digest);
        manifest.finish(RunStatus::Complete);
        manifest.write(&folder).unwrap();
        drop(folder);
        let length = whole.len();
        let had = format!("and had {length} when the run ended");
        for (bytes, part) in [
            (Some(&whole[..length / 2]), had.as_str()),
            (Some(&[]), had.as_str()),
            (Some(&[&whole[..], b"\0\0\n"].concat()[..]), had.as_str()),
            (Some(&whole.to_ascii_uppercase()[..]), "line 1: "),
            (None, "is gone"),
        ] {
            match bytes {
                Some(bytes) => fs::write(&journal, bytes).unwrap(),
                None => fs::remove_file(&journal).unwrap(),
            }
            let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
            assert!(error.contains("000001.jsonl") && error.contains(part), "{error}");
        }
        fs::write(&journal, &whole).unwrap();
        let foreign = root.path().join("one/journal/000002.jsonl");
        fs::write(&foreign, whole).unwrap();
        let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
        assert!(error.contains("000002.jsonl") && error.contains("has not written it"), "{error}");
        fs::remove_file(foreign).unwrap();
        RunFolder::resume(root.path(), "one").unwrap();
        let path = root.path().join("one/manifest.json");
        let edited = fs::read_to_string(&path).unwrap().replace("0.1.0", "0.1.1");
        fs::write(&path, edited).unwrap();
        let error = RunFolder::resume(root.path(), "one").unwrap_err().recorded("run_folders");
        assert!(error.contains("it was edited"), "{error}");
    }

    #[test]
    fn a_run_has_one_writer_and_its_id_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let writer = begin(root.path(), "one");
        let error = RunFolder::resume(root.path(), "one").unwrap_err();
        assert!(matches!(&error, RecordError::Locked { path } if path == writer.path()), "{error}");
        assert!(error.to_string().contains(&writer.path().display().to_string()), "{error}");

        drop(writer);
        let error = RunFolder::create(root.path(), "one").unwrap_err().recorded("run_folders");
        assert!(error.contains("--resume") && error.contains("--run-id"), "{error}");
        assert_eq!(RunFolder::resume(root.path(), "one").unwrap().run_id(), "one");
    }

    #[test]
    fn an_id_that_leaves_the_root_is_refused() {
        let root = tempfile::tempdir().unwrap();
        for run_id in ["../x", "a/b", "", ".hidden"] {
            let error = RunFolder::create(root.path(), run_id).unwrap_err().recorded("run_folders");
            assert!(error.starts_with("run id '"), "{error}");
            assert!(matches!(RunFolder::resume(root.path(), run_id), Err(RecordError::InvalidRunId(_))));
        }
    }

    #[test]
    fn only_a_folder_in_which_nothing_was_begun_is_taken_over() {
        let root = tempfile::tempdir().unwrap();
        drop(RunFolder::create(root.path(), "killed").unwrap());
        drop(RunFolder::create(root.path(), "killed").unwrap());

        fs::create_dir(root.path().join("mine")).unwrap();
        fs::write(root.path().join("mine/notes.txt"), "keep").unwrap();
        assert!(matches!(RunFolder::create(root.path(), "mine"), Err(RecordError::RunExists { .. })));
        assert_eq!(fs::read_dir(root.path().join("mine")).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_there_cannot_be_resumed_or_read() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(RunFolder::resume(root.path(), "none"), Err(RecordError::RunMissing { .. })));
        assert!(matches!(RunFolder::open_read(root.path()), Err(RecordError::NotARunFolder { .. })));
    }

    #[test]
    fn a_run_that_is_written_is_not_deleted() {
        let root = tempfile::tempdir().unwrap();
        let writer = begin(root.path(), "one");
        let path = writer.path().to_owned();
        assert!(RunFolder::is_being_written(&path));
        assert!(matches!(RunFolder::delete(&path), Err(RecordError::Locked { .. })));
        drop(writer);
        assert!(!RunFolder::is_being_written(&path));
        RunFolder::delete(&path).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        assert!(matches!(RunFolder::delete(root.path()), Err(RecordError::NotARunFolder { .. })));
    }

    #[test]
    fn those_who_look_keep_nobody_from_going_on() {
        let root = tempfile::tempdir().unwrap();
        let path = begin(root.path(), "one").path().to_owned();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for _ in 0..2_000 {
                    RunFolder::is_being_written(&path);
                }
            });
            (0..200).for_each(|_| drop(RunFolder::resume(root.path(), "one").unwrap()));
        });
    }

    #[test]
    fn a_reader_does_not_write() {
        let root = tempfile::tempdir().unwrap();
        let writer = begin(root.path(), "one");
        let reader = RunFolder::open_read(writer.path()).unwrap();
        let error = reader.write_atomically("a", b"").unwrap_err().recorded("run_folders");
        assert!(error.ends_with("was opened for reading only"), "{error}");
    }

    #[test]
    fn a_renamed_folder_is_not_resumed_as_another_run() {
        let root = tempfile::tempdir().unwrap();
        drop(begin(root.path(), "one"));
        fs::rename(root.path().join("one"), root.path().join("two")).unwrap();
        let error = RunFolder::resume(root.path(), "two").unwrap_err().recorded("run_folders");
        assert!(error.contains("run 'one'"), "{error}");
    }
}
