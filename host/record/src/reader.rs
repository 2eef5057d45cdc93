//! Reader for existing runs, used by everything that inspects runs.

use crate::format::{MAX_JSON_VALUES, RESAMPLES_FILE, SAMPLES_FILE, SUMMARY_FILE, TIMINGS_FILE};
use crate::run_files::{MAX_LINE_BYTES, open_run_file};
use crate::sample_search::find_sample;
use crate::{JournalIndex, Manifest, ManifestIntegrity, RecordError, RunFolder, RunStatus, SampleLine};
use gage_core::{foreign_file, parse_json};
use serde::de::DeserializeOwned;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A run folder that is only read.
#[derive(Debug)]
pub struct RunReader {
    folder: RunFolder,
    manifest: Manifest,
    integrity: ManifestIntegrity,
}

/// An edited part of a run, which makes it untrustworthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TamperedPart {
    /// `manifest` or `figures`.
    pub part: &'static str,
    /// The problem.
    pub problem: &'static str,
}

impl TamperedPart {
    /// Formats the problem for a run with this name:
    /// `the manifest of nightly cannot be trusted: it was edited`.
    pub fn of(self, name: &str) -> String {
        format!("the {} of {name} cannot be trusted: {}", self.part, self.problem)
    }
}

impl fmt::Display for TamperedPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the {} cannot be trusted: {}", self.part, self.problem)
    }
}

impl RunReader {
    /// Opens a run folder.
    ///
    /// # Errors
    /// If it is not a run folder, or its manifest cannot be read.
    pub fn open(path: &Path) -> Result<RunReader, RecordError> {
        let folder = RunFolder::open_read(path)?;
        let integrity = Manifest::integrity(path)?;
        let manifest = Manifest::read(path)?;
        Ok(RunReader { folder, manifest, integrity })
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the result of checking the manifest against its digest.
    pub fn integrity(&self) -> ManifestIntegrity {
        self.integrity
    }

    /// Returns the edited part of the run, if any: its manifest, or its figures if the run has written some.
    /// Other files are checked only by a full verification.
    pub fn edited(&self) -> Option<TamperedPart> {
        if let Some(problem) = self.integrity.problem() {
            return Some(TamperedPart { part: "manifest", problem });
        }
        // A run in progress or killed has no figures yet, or its earlier figures no longer count.
        let files = [
            (SUMMARY_FILE, "summary.json is not the one that the run wrote", "summary.json is gone"),
            (RESAMPLES_FILE, "resamples.json is not the one that the run wrote", "resamples.json is gone"),
        ];
        files.into_iter().find_map(|(file, changed, gone)| {
            let written = self.manifest.files.get(file)?;
            let problem = match self.folder.digest_of(file) {
                Ok(Some(found)) if found == *written => return None,
                Ok(Some(_)) => changed,
                Ok(None) => gone,
                // The later read of the file reports the cause.
                Err(_) => return None,
            };
            Some(TamperedPart { part: "figures", problem })
        })
    }

    /// Returns whether `samples.jsonl` is not the file that the run wrote. A file of up to `max_read_bytes` is read as a whole;
    /// of a larger one, only the size is compared.
    pub fn has_changed_samples(&self, max_read_bytes: u64) -> bool {
        let Some(written) = self.manifest.files.get(SAMPLES_FILE) else { return false };
        let file = open_run_file(self.path(), SAMPLES_FILE);
        match file.and_then(|file| file.metadata()) {
            Ok(found) if found.len() != written.bytes => true,
            Ok(found) if found.len() > max_read_bytes => false,
            Ok(_) => self.folder.digest_of(SAMPLES_FILE).ok().flatten() != Some(*written),
            Err(_) => true,
        }
    }

    /// Returns the figures, as the type that the caller wants or as a JSON value. `None` if the run has none: it is in
    /// progress, or was killed. If it had ended before and was resumed, the folder still holds its earlier figures.
    ///
    /// # Errors
    /// If `summary.json` cannot be read or does not have that type.
    pub fn summary<T: DeserializeOwned>(&self) -> Result<Option<T>, RecordError> {
        self.json_of_end(SUMMARY_FILE)
    }

    /// Returns the bootstrap replicates, as the type that the caller wants; `None` if the run has none.
    ///
    /// # Errors
    /// If `resamples.json` cannot be read or does not have that type.
    pub fn resamples<T: DeserializeOwned>(&self) -> Result<Option<T>, RecordError> {
        match self.manifest.files.contains_key(RESAMPLES_FILE) {
            true => self.json_of_end(RESAMPLES_FILE),
            false => Ok(None),
        }
    }

    /// Returns everything that varies, as the type that the caller wants or as a JSON value. `None` if the run has no
    /// figures.
    ///
    /// # Errors
    /// If `timings.json` cannot be read or does not have that type.
    pub fn timings<T: DeserializeOwned>(&self) -> Result<Option<T>, RecordError> {
        self.json_of_end(TIMINGS_FILE)
    }

    /// Returns the samples in dataset order, one at a time.
    ///
    /// # Errors
    /// If `samples.jsonl` does not exist: the run has not ended.
    pub fn samples(&self) -> Result<SampleLines, RecordError> {
        let path = self.folder.path_of(SAMPLES_FILE);
        let file = open_run_file(self.path(), SAMPLES_FILE);
        let file = file.map_err(|source| RecordError::io("open", &path, source))?;
        Ok(SampleLines { path, reader: BufReader::with_capacity(1 << 16, file), line: Vec::new(), number: 0 })
    }

    /// Returns the line of a sample in `samples.jsonl`, for tasks in this order. Only a few lines are read. `None` if it is not
    /// found, or the file cannot be read.
    pub fn find_sample(&self, task_order: &[&str], task_id: &str, index: u64) -> Option<SampleLine> {
        find_sample(self.path(), task_order, task_id, index).ok().flatten()
    }

    /// Returns the journal, which exists from the start of the run.
    ///
    /// # Errors
    /// Same as for [`JournalIndex::read`].
    pub fn journal(&self) -> Result<JournalIndex, RecordError> {
        JournalIndex::read(&self.folder)
    }

    /// Checks that the journal of an ended run has the files that the run wrote, and no others.
    ///
    /// # Errors
    /// If one was changed, added or removed, or cannot be read.
    pub fn check_journal(&self) -> Result<(), RecordError> {
        self.folder.check_journal(&self.manifest)
    }

    /// Reads a file that a run writes at its end.
    fn json_of_end<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RecordError> {
        match self.manifest.status {
            RunStatus::Running => Ok(None),
            _ => self.folder.read_json(name),
        }
    }
}

/// The lines of `samples.jsonl`. Holds one line in memory.
#[derive(Debug)]
pub struct SampleLines {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

impl Iterator for SampleLines {
    type Item = Result<SampleLine, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line.clear();
        self.number += 1;
        match foreign_file::read_line(&mut self.reader, &mut self.line, MAX_LINE_BYTES) {
            Ok(0) => None,
            Ok(_) => Some(parse_json(&self.line, MAX_JSON_VALUES).map_err(|error| {
                RecordError::invalid(&self.path, format!("line {} is not a sample: {error}", self.number))
            })),
            Err(source) => Some(Err(RecordError::io("read", &self.path, source))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::samples::tests::write_samples;
    use crate::{JournalWriter, RunIdentity};
    use serde_json::{Value, json};
    use std::fs;

    #[test]
    fn what_was_written_is_read() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        let mut manifest = Manifest::new("run", "0.1.0", RunIdentity::default());
        manifest.write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        writer.append_whole(&[record("t", 1, "b"), record("t", 0, "a")]).unwrap();
        let index = JournalIndex::read(&folder).unwrap();
        let samples = write_samples(&folder, &index, &["t"]);
        let summary = folder.write_atomically(SUMMARY_FILE, b"{\"a\": 1}\n").unwrap();
        manifest.files.insert(SAMPLES_FILE.to_owned(), samples);
        manifest.files.insert(SUMMARY_FILE.to_owned(), summary);
        manifest.finish(RunStatus::Complete);
        manifest.write(&folder).unwrap();

        let reader = RunReader::open(folder.path()).unwrap();
        manifest.journal_id = folder.journal_id();
        assert_eq!(reader.manifest(), &manifest);
        assert_eq!(reader.summary::<Value>().unwrap(), Some(json!({"a": 1})));
        let mut lines: Vec<SampleLine> = reader.samples().unwrap().map(Result::unwrap).collect();
        let answers = lines.iter_mut().map(|line| {
            let score = line.take_results()[0].score();
            let output = line.model_output.as_ref().unwrap();
            (line.sample_id.as_str(), output["answer"].as_str().unwrap(), score)
        });
        assert_eq!(answers.collect::<Vec<_>>(), [("s-0", "a", Some(0.1)), ("s-1", "b", Some(0.1))]);
        assert_eq!(reader.journal().unwrap().len(), 2);

        assert_eq!((reader.edited(), reader.has_changed_samples(u64::MAX)), (None, false));
        let text = fs::read_to_string(folder.path_of(SAMPLES_FILE)).unwrap();
        for (text, max_read_bytes, has_changed) in [
            (text.as_str(), 0, false),
            // A change of a large file that keeps its size is not seen.
            (text.replace("s-1", "s-2").as_str(), 0, false),
            (text.replace("s-1", "s-2").as_str(), u64::MAX, true),
            ("{}", 0, true),
            ("{}", u64::MAX, true),
        ] {
            fs::write(folder.path_of(SAMPLES_FILE), text).unwrap();
            let found = (reader.edited(), reader.has_changed_samples(max_read_bytes));
            assert_eq!(found, (None, has_changed), "{max_read_bytes} {text}");
        }
        fs::write(folder.path_of(SUMMARY_FILE), "{}").unwrap();
        let changed = "summary.json is not the one that the run wrote";
        let edited = Some(TamperedPart { part: "figures", problem: changed });
        for (status, edited) in [(RunStatus::Complete, edited), (RunStatus::Interrupted, edited)] {
            manifest.finish(status);
            manifest.write(&folder).unwrap();
            assert_eq!(RunReader::open(folder.path()).unwrap().edited(), edited, "{status:?}");
        }
        // A run that is resumed rewrites them. Until then it has none.
        let mut goes_on = manifest.clone();
        goes_on.reopen();
        goes_on.write(&folder).unwrap();
        let resumed = RunReader::open(folder.path()).unwrap();
        assert_eq!((resumed.edited(), resumed.summary::<Value>().unwrap()), (None, None));
    }

    #[test]
    fn a_run_that_goes_on_has_a_journal_and_no_summary() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        writer.append_whole(&[record("t", 0, "a")]).unwrap();
        let reader = RunReader::open(folder.path()).unwrap();
        assert_eq!(reader.journal().unwrap().len(), 1);
        assert_eq!(reader.summary::<Value>().unwrap(), None);
        assert!(reader.samples().is_err());
    }
}
