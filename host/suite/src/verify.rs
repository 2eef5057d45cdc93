//! Whether a run folder holds what its run has written.

use gage_core::Digest;
use gage_record::format::{CONFIG_FILE, MANIFEST_FILE, SAMPLES_FILE, SUMMARY_FILE};
use gage_record::{FileDigest, Manifest, RecordError, RunReader};
use std::fs::File;
use std::path::Path;

/// What every run that has ended has written.
const ALWAYS: [&str; 3] = [CONFIG_FILE, SAMPLES_FILE, SUMMARY_FILE];

/// How a file was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// As it was written.
    Intact,
    /// It is not there.
    Missing,
    /// It has another digest.
    Changed {
        /// What is there.
        found: Digest,
    },
    /// It cannot be read, or its checksums do not fit.
    Damaged(String),
}

/// A file of a run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFinding {
    /// Its name.
    pub name: String,
    /// What was written, where the manifest says so.
    pub written: Option<FileDigest>,
    /// How it was found.
    pub state: FileState,
}

/// What was found in a run folder.
#[derive(Debug)]
pub struct Checked {
    /// The run.
    pub run: RunReader,
    /// Its files, and the journal with its checksums.
    pub files: Vec<FileFinding>,
}

impl Checked {
    /// Whether everything is as it was written.
    pub fn is_intact(&self) -> bool {
        self.files.iter().all(|file| file.state == FileState::Intact)
    }
}

/// Checks the files of a run against the digests in its manifest, and the checksums of its journal.
///
/// # Errors
/// When it is no run folder, or its manifest cannot be read.
pub fn check_run(path: &Path) -> Result<Checked, RecordError> {
    let run = RunReader::open(path)?;
    let manifest = match Manifest::fits_its_digest(path)? {
        Some(false) => {
            FileState::Damaged("it was edited: the digest at its end is that of another".to_owned())
        }
        Some(true) | None => FileState::Intact,
    };
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
        state: state_of(path, name, written),
    }));
    let journal = match run.journal() {
        Ok(index) if index.torn_bytes() > 0 && !run.manifest().files.is_empty() => {
            FileState::Damaged("it ends in the middle of a record".to_owned())
        }
        Ok(_) => FileState::Intact,
        Err(error) => FileState::Damaged(error.to_string()),
    };
    files.push(FileFinding { name: "journal/ (checksums)".to_owned(), written: None, state: journal });
    Ok(Checked { run, files })
}

fn state_of(folder: &Path, name: &str, written: &FileDigest) -> FileState {
    if let Some(reason) = name.split('/').find_map(|part| gage_core::check_name(part).err()) {
        return FileState::Damaged(format!("its name {reason}"));
    }
    match File::open(folder.join(name)).and_then(Digest::of_reader) {
        Ok(found) if found == written.digest => FileState::Intact,
        Ok(found) => FileState::Changed { found },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FileState::Missing,
        Err(error) => FileState::Damaged(error.to_string()),
    }
}
