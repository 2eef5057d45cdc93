//! Folder of cached answers.
//!
//! Each answer is a file `v1/ab/ab….answer`, in one of 256 folders named after the beginning of its key. Its first line
//! is `gage-answer 1 <key> <SHA-256 of the rest>`, so that a torn or misnamed file is ignored. Files are created by
//! renaming, so that processes may share the folder. Each of the 256 folders has an equal share of the allowed size and
//! evicts its least recently used files first.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit, FileRefusal};
use parking_lot::Mutex;
use std::fs::DirBuilder;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Version of the folder layout, the file format, and the keys.
pub(super) const FORMAT: u32 = 1;

/// Number of folders.
const SHARDS: usize = 256;

/// Space that a small file takes on most file systems, in bytes.
const BLOCK: u64 = 4096;

/// Maximum size of an answer. Larger ones are not cached.
const MAX_ANSWER_SIZE: FileLimit = FileLimit::new("a cached answer", 64 << 20);

/// Target size of a folder after eviction, in tenths of its share.
const TENTHS_LEFT: u64 = 9;

/// Age after which a file that was never renamed counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Prefix of the names of incomplete files.
const UNFINISHED: &str = ".new-";

/// Use of existing answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerReading {
    /// Existing answers are used.
    Use,
    /// Every request is sent again, and its answer replaces the one in the cache.
    Replace,
}

/// Error of a cache that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("answer cache {folder}: {message}")]
pub struct AnswerCacheError {
    folder: String,
    message: String,
}

/// A folder of cached answers, which several processes may share.
#[derive(Debug)]
pub struct AnswerCache {
    folder: PathBuf,
    /// Maximum number of bytes in one of its folders.
    share: u64,
    reading: AnswerReading,
    /// Number of bytes in each folder; `None` until counted.
    sizes: Vec<Mutex<Option<u64>>>,
}

/// Result of a lookup.
pub(super) enum Lookup<T> {
    Answer(T),
    Nothing,
    /// A file without a complete answer.
    Damaged,
}

impl AnswerCache {
    /// Opens a folder, and creates it if needed. Only this user can read its contents.
    ///
    /// # Errors
    /// If it cannot be created, or belongs to another user.
    pub fn open(
        folder: &Path,
        most_bytes: u64,
        reading: AnswerReading,
    ) -> Result<AnswerCache, AnswerCacheError> {
        let wrong = |message: String| AnswerCacheError { folder: folder.display().to_string(), message };
        make_private(folder, true).map_err(|error| wrong(format!("cannot be created: {error}")))?;
        let inner = folder.join(format!("v{FORMAT}"));
        make_private(&inner, false).map_err(|error| wrong(format!("cannot be created: {error}")))?;
        // Anyone able to write to it could supply answers in place of a model.
        foreign_file::close_folder(&inner).map_err(|error| wrong(error.to_string()))?;
        let sizes = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Ok(AnswerCache { folder: inner, share: most_bytes / SHARDS as u64, reading, sizes })
    }

    /// Looks up the text under a key.
    pub(super) fn get(&self, key: Digest) -> Lookup<String> {
        if self.reading == AnswerReading::Replace {
            return Lookup::Nothing;
        }
        let file = match foreign_file::open_below(&self.folder, name_of(key), MAX_ANSWER_SIZE) {
            Ok(file) => file,
            Err(error) if FileRefusal::find(&error).is_some() => return Lookup::Damaged,
            Err(_) => return Lookup::Nothing,
        };
        let is_private = file.metadata().and_then(|found| foreign_file::check_private(&found)).is_ok();
        let mut text = String::new();
        // The file may grow meanwhile.
        let read = (&file).take(MAX_ANSWER_SIZE.max_bytes()).read_to_string(&mut text);
        if !is_private || read.is_err() {
            return Lookup::Damaged;
        }
        match text.split_once('\n') {
            Some((head, answer)) if head == head_of(key, answer) => {
                // Mark as recently used. If that fails, the file is only evicted sooner.
                let _ = file.set_modified(SystemTime::now());
                text.drain(..=head.len());
                Lookup::Answer(text)
            }
            // It is rewritten when there is an answer.
            _ => Lookup::Damaged,
        }
    }

    /// Stores a text under a key. Returns false if there is no room for it at all.
    pub(super) fn put(&self, key: Digest, answer: &str) -> Result<bool, AnswerCacheError> {
        let text = format!("{}\n{answer}", head_of(key, answer));
        let size = size_on_disk(text.len() as u64);
        if size > self.share || text.len() as u64 > MAX_ANSWER_SIZE.max_bytes() {
            return Ok(false);
        }
        let path = self.path_of(key);
        let written = self.write(&path, &text);
        written.map_err(|error| AnswerCacheError {
            folder: self.folder.display().to_string(),
            message: format!("an answer cannot be written: {error}"),
        })?;
        self.make_room(key, &path, size);
        Ok(true)
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        let shard = path.parent().unwrap_or(&self.folder);
        let new = |shard: &Path| tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(shard);
        let mut file = match new(shard) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_private(shard, false)?;
                new(shard)?
            }
            made => made?,
        };
        file.write_all(text.as_bytes())?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Counts a written file, and evicts others if its folder has become too large.
    fn make_room(&self, key: Digest, written: &Path, size: u64) {
        let hex = key.hex();
        let place = hex.get(..2).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0);
        let Some(known) = self.sizes.get(place) else { return };
        let mut known = known.lock();
        let total = known.map_or(u64::MAX, |known| known.saturating_add(size));
        *known = Some(if total <= self.share {
            total
        } else {
            // Other processes write too, so use the actual size rather than the counted one.
            thin_out(written.parent().unwrap_or(&self.folder), self.share)
        });
    }

    fn path_of(&self, key: Digest) -> PathBuf {
        self.folder.join(name_of(key))
    }
}

/// Returns the path of the file for a key, in the folder of answers.
fn name_of(key: Digest) -> PathBuf {
    let hex = key.hex();
    Path::new(hex.get(..2).unwrap_or_default()).join(format!("{hex}.answer"))
}

fn head_of(key: Digest, answer: &str) -> String {
    format!("gage-answer {FORMAT} {} {}", key.hex(), Digest::of_bytes(answer.as_bytes()).hex())
}

fn size_on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Deletes the least recently used files of a folder until it is within its share. Returns the number of bytes left.
fn thin_out(folder: &Path, share: u64) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let mut total = 0;
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = std::fs::remove_file(entry.path());
            }
            continue;
        }
        let size = size_on_disk(metadata.len());
        total += size;
        files.push((used, size, entry.path()));
    }
    if total <= share {
        return total;
    }
    files.sort_unstable();
    for (_, size, path) in files {
        if total <= share / 10 * TENTHS_LEFT {
            break;
        }
        // Another process may already have deleted it.
        let _ = std::fs::remove_file(path);
        total -= size;
    }
    total
}

/// Creates a folder that only this user can access. An existing folder is left as it is.
fn make_private(folder: &Path, recursive: bool) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(recursive);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests;
