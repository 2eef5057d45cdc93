//! Owners and permissions of files and folders. Systems other than Unix have none of this kind.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// Checks that no other user can have written to a file or folder, or can write to it later: it belongs to this user, and its
/// permissions keep others out. A file must have only one name, since others may have given it a further one.
///
/// # Errors
/// A [`FileRefusal`](super::FileRefusal).
#[cfg(unix)]
pub fn check_private(found: &Metadata) -> io::Result<()> {
    use super::FileRefusal;
    use std::os::unix::fs::MetadataExt as _;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    check_owner(found)?;
    if found.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(FileRefusal::WritableByOthers.into());
    }
    // A folder is named by each folder in it as well.
    if !found.is_dir() && found.nlink() > 1 {
        return Err(FileRefusal::SeveralNames.into());
    }
    Ok(())
}

/// Closes a folder to other users. It must belong to this user. It must not be a link, which could lead to a folder that is
/// meant for others.
///
/// # Errors
/// If it is a link or belongs to another user, or the system refuses.
#[cfg(unix)]
pub fn close_folder(folder: &Path) -> io::Result<()> {
    use super::FileRefusal;
    use rustix::fs::OFlags;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    const OPEN_TO_OTHERS: u32 = 0o077;
    if folder.symlink_metadata()?.is_symlink() {
        return Err(FileRefusal::Link.into());
    }
    let flags = (OFlags::NOFOLLOW | OFlags::DIRECTORY).bits().cast_signed();
    let opened = File::options().read(true).custom_flags(flags).open(folder)?;
    let found = opened.metadata()?;
    check_owner(&found)?;
    match found.permissions().mode() & OPEN_TO_OTHERS {
        0 => Ok(()),
        _ => opened.set_permissions(Permissions::from_mode(0o700)),
    }
}

#[cfg(unix)]
fn check_owner(found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    match found.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(super::FileRefusal::OtherOwner.into()),
    }
}

/// Returns no error.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn check_private(_found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Returns no error.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn close_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
