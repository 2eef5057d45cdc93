//! Folders and files of the cache.

use gage_core::Digest;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;

/// Creates a folder and its parents, and closes it to other users, who could replace files in it. It may not
/// be a link, and must belong to this user.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)?;
    gage_core::foreign_file::close_folder(folder)
}

/// Writes a file atomically: it is whole or absent. A file or a link of that name is replaced.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |mut file| file.write_all(bytes))
}

/// Writes a file atomically, as [`write_whole`] does, from a reader whose bytes must have a digest.
pub(super) fn copy_whole(path: &Path, content: impl Read, digest: Digest) -> io::Result<()> {
    write_with(path, |file| match Digest::of_reader(Copying { content, file })? {
        found if found == digest => Ok(()),
        found => Err(io::Error::other(format!("its digest is {found} now, not {digest}"))),
    })
}

fn write_with(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    write(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// A reader that copies what is read to a file.
struct Copying<'f, R> {
    content: R,
    file: &'f File,
}

impl<R: Read> Read for Copying<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.content.read(buffer)?;
        self.file.write_all(&buffer[..length])?;
        Ok(length)
    }
}

/// Makes a rename in a folder durable.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Does nothing: folders cannot be opened here, and the system keeps the order itself.
#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
