//! Folder of cached answers.
//!
//! Each answer is a file `v1/ab/ab….answer`, in one of 256 folders named after the beginning of its key. Its first line
//! is `gage-answer 1 <key> <SHA-256 of the rest>`, so that a torn or misnamed file is ignored. Files are created by
//! renaming, so that processes may share the folder. Each of the 256 folders has an equal share of the allowed size and
//! evicts its least recently used files first. Links among the folders are not followed, and other files are left alone.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

use super::shard::Shard;
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit, FileRefusal};
use parking_lot::Mutex;
use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, RandomState};
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

/// Prefix of the names of incomplete files. 16 hexadecimal digits follow.
const UNFINISHED: &str = ".new-";

/// Extension of the names of answers, after the 64 hexadecimal digits of the key.
const ANSWER: &str = ".answer";

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
        let (folder, name) = names_of(key);
        let name = Path::new(&folder).join(name);
        let file = match foreign_file::open_below(&self.folder, name, MAX_ANSWER_SIZE) {
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
        let (folder, name) = names_of(key);
        let written = Shard::open(&self.folder, &folder).and_then(|shard| {
            write(&shard, &name, &text)?;
            Ok(shard)
        });
        let shard = written.map_err(|error| AnswerCacheError {
            folder: self.folder.display().to_string(),
            message: format!("an answer cannot be written: {error}"),
        })?;
        self.make_room(&folder, &shard, size);
        Ok(true)
    }

    /// Counts a written file, and evicts others if its folder has become too large.
    fn make_room(&self, folder: &str, shard: &Shard, size: u64) {
        let place = usize::from_str_radix(folder, 16).unwrap_or(0);
        let Some(known) = self.sizes.get(place) else { return };
        let mut known = known.lock();
        let total = known.map_or(u64::MAX, |known| known.saturating_add(size));
        *known = Some(if total <= self.share {
            total
        } else {
            // Other processes write too, so use the actual size rather than the counted one.
            thin_out(shard, self.share)
        });
    }
}

/// Returns the name of the folder for a key, and the name of the file in it.
fn names_of(key: Digest) -> (String, String) {
    let hex = key.hex();
    (hex.get(..2).unwrap_or_default().to_owned(), format!("{hex}{ANSWER}"))
}

/// Returns true for the names of `names_of`.
fn is_answer(name: &str) -> bool {
    name.strip_suffix(ANSWER).is_some_and(|key| is_hexadecimal(key, 64))
}

/// Returns true for the names of incomplete files.
fn is_unfinished(name: &str) -> bool {
    name.strip_prefix(UNFINISHED).is_some_and(|number| is_hexadecimal(number, 16))
}

fn is_hexadecimal(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Writes a file under another name first, so that it is never seen incomplete.
fn write(shard: &Shard, name: &str, text: &str) -> std::io::Result<()> {
    let unfinished = format!("{UNFINISHED}{:016x}", RandomState::new().hash_one(name));
    let mut file = shard.create(&unfinished)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| shard.rename(&unfinished, name));
    if written.is_err() {
        let _ = shard.remove(&unfinished);
    }
    written
}

fn head_of(key: Digest, answer: &str) -> String {
    format!("gage-answer {FORMAT} {} {}", key.hex(), Digest::of_bytes(answer.as_bytes()).hex())
}

fn size_on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Deletes the least recently used answers of a folder until it is within its share. Returns the number of bytes left.
fn thin_out(shard: &Shard, share: u64) -> u64 {
    let Ok(files) = shard.files() else { return 0 };
    let mut total = 0_u64;
    let mut answers = Vec::new();
    for file in files {
        if is_unfinished(&file.name) {
            if file.modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = shard.remove(&file.name);
            }
        } else if is_answer(&file.name) {
            let size = size_on_disk(file.size);
            total = total.saturating_add(size);
            answers.push((file.modified, size, file.name));
        }
    }
    if total <= share {
        return total;
    }
    answers.sort_unstable();
    for (_, size, name) in answers {
        if total <= share / 10 * TENTHS_LEFT {
            break;
        }
        // Another process may already have deleted it.
        let _ = shard.remove(&name);
        total = total.saturating_sub(size);
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
