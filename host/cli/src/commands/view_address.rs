//! The address of a running `gage-host view`, by its folder. `view` keeps it in a locked file of the cache, and the live view
//! of a run shows it.

use crate::environment::cache_folder;
use crate::terminal::shell_word;
use gage_core::Digest;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Maximum length of an address.
const MAX_ADDRESS_BYTES: u64 = 200;

/// The address of this process in the cache. It is valid for as long as this value exists.
pub(super) struct KeptAddress {
    path: PathBuf,
    _locked: File,
}

impl Drop for KeptAddress {
    fn drop(&mut self) {
        // Without its lock, the file means nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps the address of a viewer of a folder. Returns `None` if another viewer of the folder keeps its own, or if there is no
/// cache.
pub(super) fn keep(folder: &Path, address: &str) -> Option<KeptAddress> {
    keep_in(&cache_folder()?, folder, address)
}

/// Returns the address of a running viewer of a folder, or else the command that starts one.
pub(super) fn address_or_command(folder: &Path) -> String {
    let running = cache_folder().and_then(|cache| running_in(&cache, folder));
    running.unwrap_or_else(|| format!("gage-host view {}", shell_word(folder.display())))
}

fn keep_in(cache: &Path, folder: &Path, address: &str) -> Option<KeptAddress> {
    let path = file_of(cache, folder)?;
    let kept = |path: &Path| -> io::Result<Option<File>> {
        fs::create_dir_all(path.parent().unwrap_or(cache))?;
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        if file.try_lock().is_err() {
            return Ok(None);
        }
        file.set_len(0)?;
        file.write_all(address.as_bytes())?;
        Ok(Some(file))
    };
    let locked =
        kept(&path).inspect_err(|error| tracing::debug!(%error, "the address is not kept")).ok()??;
    Some(KeptAddress { path, _locked: locked })
}

fn running_in(cache: &Path, folder: &Path) -> Option<String> {
    let file = File::open(file_of(cache, folder)?).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut address = String::new();
    file.take(MAX_ADDRESS_BYTES).read_to_string(&mut address).ok()?;
    address.starts_with("http://").then_some(address)
}

/// Returns the file for the viewer of a folder.
fn file_of(cache: &Path, folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let name = Digest::of_bytes(folder.as_os_str().as_encoded_bytes()).hex();
    Some(cache.join("viewers").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_valid_while_its_viewer_runs() {
        let place = tempfile::tempdir().expect("a folder");
        let (cache, runs) = (place.path().join("cache"), place.path().join("runs"));
        assert!(keep_in(&cache, &runs, "http://127.0.0.1:1/").is_none(), "there is no such folder");
        fs::create_dir(&runs).expect("a folder");
        assert_eq!(running_in(&cache, &runs), None);
        let kept = keep_in(&cache, &runs, "http://127.0.0.1:1/");
        assert!(kept.is_some());
        assert_eq!(running_in(&cache, &runs).as_deref(), Some("http://127.0.0.1:1/"));
        assert_eq!(running_in(&cache, place.path()), None, "of another folder");
        assert!(keep_in(&cache, &runs, "http://127.0.0.1:2/").is_none(), "the first one stays");
        drop(kept);
        assert_eq!(running_in(&cache, &runs), None);
        assert!(keep_in(&cache, &runs, "http://127.0.0.1:3/").is_some());
    }

    #[test]
    fn an_address_without_a_viewer_is_not_shown() {
        let place = tempfile::tempdir().expect("a folder");
        let left = file_of(place.path(), place.path()).expect("a name");
        fs::create_dir_all(left.parent().expect("a folder")).expect("a folder");
        fs::write(&left, "http://127.0.0.1:1/").expect("written");
        assert_eq!(running_in(place.path(), place.path()), None);
    }
}
