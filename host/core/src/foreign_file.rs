//! Files that others may have written: those of run folders, caches, indexes and suites.
//!
//! Such a file is opened only here. It must be a regular file of limited size, and opening it never waits for another
//! process. A refusal is an [`io::Error`] that contains a [`FileRefusal`].
//!
//! - Below a folder, no link is followed, so that no file of a run folder leads out of it. The path of the folder itself may
//!   have links, because the user chose it.
//! - A file that the user or a suite names may be a link.
//!
//! Systems other than Unix look for links before they open a file. There, a file that is replaced meanwhile is not noticed.

mod ownership;
mod refusal;

pub use ownership::{check_private, close_folder};
pub use refusal::{FileLimit, FileRefusal};

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Read as _};
use std::path::{Component, Path};

/// Opens a file below a folder for reading. `name` may have several parts; none of them may be a link.
///
/// # Errors
/// If there is no such file, or the system refuses. If it is not a regular file, or is too large.
pub fn open_below(folder: &Path, name: impl AsRef<Path>, limit: FileLimit) -> io::Result<File> {
    let parts = parts_of(name.as_ref())?;
    check_parts(folder, &parts)?;
    check_opened(open_parts(folder, &parts)?, limit)
}

/// Reads a whole file below a folder, as [`open_below`] opens it.
///
/// # Errors
/// Same as for [`open_below`].
pub fn read_below(folder: &Path, name: impl AsRef<Path>, limit: FileLimit) -> io::Result<Vec<u8>> {
    read_all(open_below(folder, name, limit)?, limit)
}

/// Checks a file below a folder before it is created or replaced: neither it nor a part of its path may be a link, and it must
/// be a regular file if it exists.
///
/// # Errors
/// If it is something else, or the system refuses.
pub fn check_target(folder: &Path, name: impl AsRef<Path>) -> io::Result<()> {
    match check_parts(folder, &parts_of(name.as_ref())?) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        checked => checked,
    }
}

/// Checks the metadata of a file that other code opens: it must be a regular file, and not too large.
///
/// # Errors
/// A [`FileRefusal`].
pub fn check(found: &Metadata, limit: FileLimit) -> io::Result<()> {
    check_kind(found)?;
    limit.check(found.len())
}

/// Size up to which the holes of a file do not matter: it is read in a moment.
#[cfg(target_os = "linux")]
const MAX_SPARSE_BYTES: u64 = 1 << 20;

/// Checks that a large file has no holes: ranges that were never written. They take no space on the disk, but as much time to
/// read as other ranges. Large files of a run are written from start to end, so they have none.
///
/// Holes are found only on Linux, and only if the file system reports them.
///
/// # Errors
/// A [`FileRefusal`], or if the system refuses.
#[cfg(target_os = "linux")]
pub fn check_holes(file: &File) -> io::Result<()> {
    use rustix::fs::{SeekFrom, seek};
    let bytes = file.metadata()?.len();
    if bytes <= MAX_SPARSE_BYTES {
        return Ok(());
    }
    // The end of a file counts as a hole.
    let hole = seek(file, SeekFrom::Hole(0));
    seek(file, SeekFrom::Start(0))?;
    match hole {
        Ok(begin) if begin < bytes => Err(FileRefusal::Holes.into()),
        _ => Ok(()),
    }
}

/// Holes are found only on Linux.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn check_holes(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Opens a file for reading that the user or a suite names. Links are followed.
///
/// # Errors
/// If there is no such file, or the system refuses. If it is not a regular file, or is too large.
pub fn open_named(path: &Path, limit: FileLimit) -> io::Result<File> {
    // Before it is opened, which has effects on some devices.
    check_kind(&fs::metadata(path)?)?;
    check_opened(open_at_once(path)?, limit)
}

/// Reads a whole file that the user or a suite names.
///
/// # Errors
/// Same as for [`open_named`].
pub fn read_named(path: &Path, limit: FileLimit) -> io::Result<Vec<u8>> {
    read_all(open_named(path, limit)?, limit)
}

/// Reads a whole text file that the user or a suite names.
///
/// # Errors
/// Same as for [`open_named`], and `InvalidData` if it is not UTF-8.
pub fn read_named_text(path: &Path, limit: FileLimit) -> io::Result<String> {
    let bytes = read_named(path, limit)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Opens a file for writing. If it is a link, it is not followed; if it is a pipe, nothing is waited for.
///
/// # Errors
/// If it is not a regular file, or the system refuses.
pub fn open_to_write(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) => check_kind(&found)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

/// Creates an empty file for writing, in place of any file or link of that name. The target of a link stays as it is.
///
/// # Errors
/// If the system refuses.
pub fn create_anew(path: &Path) -> io::Result<File> {
    let create = || File::options().write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}

/// Reads a line with its end, and appends it to `line`. Returns the number of its bytes; 0 at the end of the file.
///
/// # Errors
/// If the reader fails, or the line is longer than `max_bytes`. `line` then holds at most one byte more.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, max_bytes: u64) -> io::Result<usize> {
    let length = reader.by_ref().take(max_bytes.saturating_add(1)).read_until(b'\n', line)?;
    match length as u64 > max_bytes {
        true => Err(FileRefusal::LongLine { max_bytes }.into()),
        false => Ok(length),
    }
}

/// Splits a name into its parts.
fn parts_of(name: &Path) -> io::Result<Vec<&OsStr>> {
    let part = |component| match component {
        Component::Normal(part) => Ok(part),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "its name leads out of its folder")),
    };
    name.components().map(part).collect()
}

/// Checks that no part of a name below a folder is a link, and that the last one is a regular file.
fn check_parts(folder: &Path, parts: &[&OsStr]) -> io::Result<()> {
    let mut path = folder.to_owned();
    for (place, part) in parts.iter().enumerate() {
        path.push(part);
        let found = fs::symlink_metadata(&path)?;
        if place + 1 == parts.len() {
            check_kind(&found)?;
        } else if found.is_symlink() {
            return Err(FileRefusal::LinkedFolder(part.to_string_lossy().into_owned()).into());
        }
    }
    Ok(())
}

fn check_kind(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let refusal = if kind.is_symlink() { FileRefusal::Link } else { FileRefusal::NoFile(name_of_kind(kind)) };
    Err(refusal.into())
}

#[cfg(unix)]
fn name_of_kind(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn name_of_kind(kind: fs::FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "a device" }
}

/// Checks a file again that was opened: another may have been in its place.
fn check_opened(file: File, limit: FileLimit) -> io::Result<File> {
    check(&file.metadata()?, limit)?;
    Ok(file)
}

/// Opens a file without following links in its name, one part after another.
#[cfg(unix)]
fn open_parts(folder: &Path, parts: &[&OsStr]) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Names are only looked up in a folder, so that it need not be readable where the system knows that kind of opening.
    #[cfg(target_os = "linux")]
    let of_folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let of_folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let of_file = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut opened = openat(CWD, folder, of_folder, Mode::empty())?;
    for (place, part) in parts.iter().enumerate() {
        let flags = if place + 1 < parts.len() { of_folder } else { of_file };
        opened = openat(&opened, *part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(File::from(opened))
}

#[cfg(not(unix))]
fn open_parts(folder: &Path, parts: &[&OsStr]) -> io::Result<File> {
    File::open(parts.iter().fold(folder.to_owned(), |path, part| path.join(part)))
}

#[cfg(unix)]
fn open_at_once(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn read_all(file: File, limit: FileLimit) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    let mut bytes = Vec::with_capacity(length);
    // The file may grow meanwhile.
    file.take(limit.max_bytes().saturating_add(1)).read_to_end(&mut bytes)?;
    limit.check(bytes.len() as u64)?;
    Ok(bytes)
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
