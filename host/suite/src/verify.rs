//! Verifies that a run folder contains what its run wrote.

use gage_config::{Problems, parse_document};
use gage_core::Digest;
use gage_core::foreign_file::check_holes;
use gage_record::format::{
    CONFIG_FILE, DAMAGED_FOLDER, EXPORTS_FOLDER, JOURNAL_FOLDER, MANIFEST_FILE, MEDIA_FOLDER, NOTES_FILE,
    PAGE_FOLDER, RECORDED_PATH, REPORT_FILE, SAMPLES_FILE, SET_ASIDE_BEGIN, SHARDS_FOLDER, SUMMARY_FILE,
};
use gage_record::{
    FileDigest, JournalIndex, MediaFolder, RecordError, RunReader, compare, open_run_file, read_run_file,
    without_limits,
};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// Files that every completed run has written.
const ALWAYS: [&str; 3] = [CONFIG_FILE, SAMPLES_FILE, SUMMARY_FILE];

/// Name of the finding for the journal's own checksums, which is the last one.
pub const CHECKSUMS: &str = "journal/ (checksums)";

/// State of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The file is unchanged.
    Intact,
    /// The file is missing.
    Missing,
    /// `journal/recorded` has a different digest, but a valid count: one of its two slots is damaged, or an older copy
    /// was restored. The run needs nothing else from it.
    Readable,
    /// The file has a different digest.
    Changed {
        /// Digest of the file.
        found: Digest,
    },
    /// The file has a different size, and was not read.
    Resized {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The file cannot be read, or its checksums do not match.
    Damaged(String),
    /// The run did not write a file of this name.
    Foreign,
}

/// A file of a run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// The name.
    pub name: String,
    /// The digest from the manifest, if it has one.
    pub written: Option<FileDigest>,
    /// State of the file.
    pub state: FileState,
}

impl FileFinding {
    /// Returns true if the file is as it was written, or says the same.
    pub fn is_good(&self) -> bool {
        matches!(self.state, FileState::Intact | FileState::Readable)
    }
}

/// Result of the verification.
#[derive(Debug)]
pub struct VerifyReport {
    /// The run.
    pub run: RunReader,
    /// The files, and the journal with its checksums.
    pub files: Vec<FileFinding>,
    /// The journal, if it can be read.
    pub journal: Option<JournalIndex>,
}

impl VerifyReport {
    /// Returns true if everything is as it was written, or says the same.
    pub fn is_intact(&self) -> bool {
        self.files.iter().all(FileFinding::is_good)
    }

    /// Returns the state of a file, if the run has it or should have it.
    pub fn state_of(&self, name: &str) -> Option<&FileState> {
        self.files.iter().find(|file| file.name == name).map(|file| &file.state)
    }
}

/// Checks the files of a run against the digests in its manifest, and the checksums of its journal.
///
/// # Errors
/// Fails if it is not a run folder, or its manifest cannot be read.
pub fn check_run(path: &Path) -> Result<VerifyReport, RecordError> {
    let run = RunReader::open(path)?;
    let problem = run.integrity().problem();
    let manifest = problem.map_or(FileState::Intact, |problem| FileState::Damaged(problem.to_owned()));
    let journal = run.journal();
    let mut files = vec![FileFinding { name: MANIFEST_FILE.to_owned(), written: None, state: manifest }];
    let lacking = ALWAYS.iter().filter(|name| !run.manifest().files.contains_key(**name));
    files.extend(lacking.map(|name| FileFinding {
        name: (*name).to_owned(),
        written: None,
        state: FileState::Damaged("the manifest does not name it".to_owned()),
    }));
    files.extend(run.manifest().files.iter().map(|(name, written)| FileFinding {
        name: name.clone(),
        written: Some(*written),
        state: match state_of(path, name, written) {
            FileState::Intact if name == CONFIG_FILE => {
                state_of_config(path, &run.manifest().identity.config)
            }
            FileState::Changed { .. } | FileState::Resized { .. }
                if name == RECORDED_PATH && journal.is_ok() =>
            {
                FileState::Readable
            }
            state => state,
        },
    }));
    let known: BTreeSet<String> = run.manifest().files.keys().cloned().collect();
    let is_merged = !run.manifest().shards.is_empty();
    let others = files_below(path)?.into_iter().filter(|name| {
        let is_medium = known.contains(MEDIA_FOLDER)
            && name.split_once('/').is_some_and(|(first, _)| first == MEDIA_FOLDER);
        // Each shard is a run of its own, with its own manifest.
        let is_of_shard = is_merged && name.split_once('/').is_some_and(|(first, _)| first == SHARDS_FOLDER);
        !known.contains(name) && !is_medium && !is_of_shard && !is_made_later(name)
    });
    files.extend(others.map(|name| FileFinding { name, written: None, state: FileState::Foreign }));
    let state = match &journal {
        Ok(index) if index.torn_bytes() > 0 && !run.manifest().files.is_empty() => {
            FileState::Damaged("it ends in the middle of a record".to_owned())
        }
        Ok(_) => FileState::Intact,
        Err(error) => FileState::Damaged(error.to_string()),
    };
    files.push(FileFinding { name: CHECKSUMS.to_owned(), written: None, state });
    Ok(VerifyReport { run, files, journal: journal.ok() })
}

/// Checks that `config.yaml` holds the configuration in the manifest, which comparisons and scoring use.
fn state_of_config(folder: &Path, identity: &Value) -> FileState {
    let bytes = match read_run_file(folder, CONFIG_FILE) {
        Ok(bytes) => bytes,
        Err(error) => return FileState::Damaged(error.to_string()),
    };
    let mut problems = Problems::default();
    let node = std::str::from_utf8(&bytes).ok();
    let node = node.and_then(|text| parse_document(CONFIG_FILE, text, None, &mut problems));
    let Some(node) = node.filter(|_| !problems.has_errors()) else {
        return FileState::Damaged("it is not YAML".to_owned());
    };
    let differing = compare("", &without_limits(identity.clone()), &without_limits(node.to_json()));
    match differing.first() {
        None => FileState::Intact,
        Some(first) => {
            let place = if first.place.is_empty() { "the whole" } else { &first.place };
            let more = if differing.len() > 1 {
                format!(" and {} more places", differing.len() - 1)
            } else {
                String::new()
            };
            FileState::Damaged(format!("it is not the configuration of the manifest: {place}{more} differs"))
        }
    }
}

/// Returns true if a file is the manifest, or belongs to no figure: it was created from the run after it ended, or people
/// wrote it.
fn is_made_later(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    // Temporary file of a killed process.
    let is_temporary = name.starts_with('.') && name.ends_with(".tmp");
    // Bytes of the journal that were not records.
    let in_journal = name.strip_prefix(JOURNAL_FOLDER).and_then(|name| name.strip_prefix('/'));
    let is_set_aside = in_journal.is_some_and(|name| {
        let folder = name.split_once('/').map(|(folder, _)| folder);
        name.starts_with(SET_ASIDE_BEGIN) || folder == Some(DAMAGED_FOLDER)
    });
    let is_own = [MANIFEST_FILE, NOTES_FILE, REPORT_FILE].contains(&name);
    is_own || [EXPORTS_FOLDER, PAGE_FOLDER].contains(&first) || is_temporary || is_set_aside
}

/// Returns the names of all files below a folder, with `/` between the parts, sorted. Anything that is not a
/// folder counts as a file.
fn files_below(folder: &Path) -> Result<BTreeSet<String>, RecordError> {
    let mut names = BTreeSet::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((path, prefix)) = folders.pop() {
        let failed = |source| RecordError::io("list", &path, source);
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push((entry.path(), format!("{name}/")));
            } else {
                names.insert(name);
            }
        }
    }
    Ok(names)
}

fn state_of(folder: &Path, name: &str, written: &FileDigest) -> FileState {
    if let Some(reason) = name.split('/').find_map(|part| gage_core::check_name(part).err()) {
        return FileState::Damaged(format!("its name {reason}"));
    }
    if name == MEDIA_FOLDER {
        return match MediaFolder::digest(folder) {
            Ok(Some(found)) if found.digest == written.digest => FileState::Intact,
            Ok(Some(found)) => FileState::Changed { found: found.digest },
            Ok(None) => FileState::Missing,
            Err(error) => FileState::Damaged(error.to_string()),
        };
    }
    match open_run_file(folder, name).and_then(|file| state_of_content(file, written)) {
        Ok(state) => state,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
        Err(error) => FileState::Damaged(error.to_string()),
    }
}

/// Compares the content of a file with its digest. A file of another size or with holes is not read, however large it is.
fn state_of_content(file: File, written: &FileDigest) -> std::io::Result<FileState> {
    let bytes = file.metadata()?.len();
    if bytes != written.bytes {
        return Ok(FileState::Resized { bytes });
    }
    check_holes(&file)?;
    let found = Digest::of_reader(file)?;
    Ok(if found == written.digest { FileState::Intact } else { FileState::Changed { found } })
}
