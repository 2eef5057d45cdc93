//! The folder in which answers are kept.
//!
//! `v1/ab/ab….answer`: a file for each answer, in a folder for each of the 256 beginnings of its key. Its first line is
//! `gage-answer 1 <key> <SHA-256 of the rest>`, so that a file which is torn, or lies under another name, is as good as
//! none. Files appear by renaming, so that processes may share the folder. Each of the 256 folders has its share of the
//! allowed size; what was read least lately leaves it first.
//!
//! | version | change |
//! | --- | --- |
//! | 1 | first |

use gage_core::Digest;
use parking_lot::Mutex;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The version of the folder, of its files, and of how keys are made.
pub(super) const FORMAT: u32 = 1;

/// How many folders there are.
const SHARDS: usize = 256;

/// What a small file takes of most file systems.
const BLOCK: u64 = 4096;

/// How full a folder is after some of its files had to go, in tenths of its share.
const TENTHS_LEFT: u64 = 9;

/// A file that was not renamed within this time was abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// What the names of files begin with until they are whole.
const UNFINISHED: &str = ".new-";

/// Whether answers that are there are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerReading {
    /// They are.
    Use,
    /// Every request is made again, and its answer replaces the one in the cache.
    Replace,
}

/// A cache that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the cache of answers {folder}: {message}")]
pub struct AnswerCacheError {
    folder: String,
    message: String,
}

/// Answers that are kept in a folder, which several processes may share.
#[derive(Debug)]
pub struct AnswerCache {
    folder: PathBuf,
    /// Most bytes of one of its folders.
    share: u64,
    reading: AnswerReading,
    /// How many bytes are in each, once somebody counted them.
    sizes: Vec<Mutex<Option<u64>>>,
}

/// The result of a lookup.
pub(super) enum Lookup<T> {
    Answer(T),
    Nothing,
    /// A file that is no whole answer.
    Damaged,
}

impl AnswerCache {
    /// Opens a folder, which is made where it is not there. What lies in it can be read by this user alone.
    ///
    /// # Errors
    /// When it cannot be made, or belongs to another user.
    pub fn open(
        folder: &Path,
        most_bytes: u64,
        reading: AnswerReading,
    ) -> Result<AnswerCache, AnswerCacheError> {
        let wrong = |message: String| AnswerCacheError { folder: folder.display().to_string(), message };
        make_private(folder, true).map_err(|error| wrong(format!("cannot be made: {error}")))?;
        let inner = folder.join(format!("v{FORMAT}"));
        make_private(&inner, false).map_err(|error| wrong(format!("cannot be made: {error}")))?;
        restrict(&inner).map_err(wrong)?;
        let sizes = std::iter::repeat_with(Mutex::default).take(SHARDS).collect();
        Ok(AnswerCache { folder: inner, share: most_bytes / SHARDS as u64, reading, sizes })
    }

    /// The text under a key.
    pub(super) fn get(&self, key: Digest) -> Lookup<String> {
        if self.reading == AnswerReading::Replace {
            return Lookup::Nothing;
        }
        let path = self.path_of(key);
        let mut file = match File::options().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Lookup::Nothing,
            // A read-only folder can still be read from.
            Err(_) => match File::open(&path) {
                Ok(file) => file,
                Err(_) => return Lookup::Nothing,
            },
        };
        let mut text = String::new();
        if file.read_to_string(&mut text).is_err() {
            return Lookup::Damaged;
        }
        match text.split_once('\n') {
            Some((head, answer)) if head == head_of(key, answer) => {
                // It was used now. Where that cannot be said, it only goes sooner.
                let _ = file.set_modified(SystemTime::now());
                text.drain(..=head.len());
                Lookup::Answer(text)
            }
            // It is written again when there is an answer.
            _ => Lookup::Damaged,
        }
    }

    /// Keeps a text under a key; whether there is room for it at all.
    pub(super) fn put(&self, key: Digest, answer: &str) -> Result<bool, AnswerCacheError> {
        let text = format!("{}\n{answer}", head_of(key, answer));
        let size = size_on_disk(text.len() as u64);
        if size > self.share {
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

    /// Counts a file that was written, and lets others go where its folder has become too large.
    fn make_room(&self, key: Digest, written: &Path, size: u64) {
        let hex = key.hex();
        let place = hex.get(..2).and_then(|digits| usize::from_str_radix(digits, 16).ok()).unwrap_or(0);
        let Some(known) = self.sizes.get(place) else { return };
        let mut known = known.lock();
        let total = known.map_or(u64::MAX, |known| known.saturating_add(size));
        *known = Some(if total <= self.share {
            total
        } else {
            // Other processes write too, so what is there counts rather than what was counted.
            thin_out(written.parent().unwrap_or(&self.folder), self.share)
        });
    }

    fn path_of(&self, key: Digest) -> PathBuf {
        let hex = key.hex();
        self.folder.join(hex.get(..2).unwrap_or_default()).join(format!("{hex}.answer"))
    }
}

fn head_of(key: Digest, answer: &str) -> String {
    format!("gage-answer {FORMAT} {} {}", key.hex(), Digest::of_bytes(answer.as_bytes()).hex())
}

fn size_on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Lets those files of a folder go that were used least lately, where they are more than its share. Returns how many
/// bytes are left.
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
        // Another process may have been faster.
        let _ = std::fs::remove_file(path);
        total -= size;
    }
    total
}

/// Makes a folder that this user alone may look into; one that is there stays as it is.
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

/// Makes sure that a folder belongs to this user, who alone may look into it: whoever could write to it could give
/// answers in the place of a model.
#[cfg(unix)]
fn restrict(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = std::fs::metadata(folder).map_err(|error| error.to_string())?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user, who could put answers into it".to_owned());
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_folder: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests;
