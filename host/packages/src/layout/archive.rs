//! A tar archive whose files are read by name.

use crate::StoreError;
use crate::manifest::Descriptor;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, shown_name};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use tar::EntryType;

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 100_000;

/// An archive, whose files were found but not read.
pub(super) struct LayoutArchive {
    path: PathBuf,
    file: File,
    /// Places and sizes of the files.
    files: BTreeMap<String, (u64, u64)>,
}

impl LayoutArchive {
    /// Finds the files of an archive. Nothing is extracted.
    pub(super) fn open(path: &Path) -> Result<LayoutArchive, StoreError> {
        let fail = || StoreError::file("read", path);
        let file = foreign_file::open_named(path, FileLimit::NONE).map_err(fail())?;
        let length = file.metadata().map_err(fail())?.len();
        let mut opened = LayoutArchive { path: path.to_owned(), file, files: BTreeMap::new() };
        let reader = opened.file.try_clone().map_err(fail())?;
        let mut archive = tar::Archive::new(BufReader::new(reader));
        // Extensions are not interpreted: their sizes are unbounded, and nothing here needs them.
        let entries = archive.entries().map_err(fail())?.raw(true);
        for (count, entry) in entries.enumerate() {
            let entry = entry.map_err(|error| opened.refuse(format!("it is damaged: {error}")))?;
            if count >= MAX_ENTRIES {
                return Err(opened.refuse(format!("it has more than {MAX_ENTRIES} entries")));
            }
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let (place, size) = (entry.raw_file_position(), entry.size());
            if place.checked_add(size).is_none_or(|end| end > length) {
                let shown = shown_name(&name);
                return Err(opened.refuse(format!(
                    "it is damaged: '{shown}' has {size} bytes, more than the archive holds"
                )));
            }
            opened.add(&name, entry.header().entry_type(), (place, size))?;
        }
        Ok(opened)
    }

    fn add(&mut self, name: &str, kind: EntryType, place: (u64, u64)) -> Result<(), StoreError> {
        let shown = shown_name(name);
        let is_inside =
            !name.starts_with('/') && !name.contains('\\') && name.split('/').all(|part| part != "..");
        if !is_inside {
            return Err(self.refuse(format!("the name '{shown}' leads out of it")));
        }
        match kind {
            EntryType::Directory | EntryType::XHeader | EntryType::XGlobalHeader => Ok(()),
            EntryType::Regular => {
                let name = name.strip_prefix("./").unwrap_or(name).to_owned();
                match self.files.insert(name, place) {
                    None => Ok(()),
                    Some(_) => Err(self.refuse(format!("it has two files with the name '{shown}'"))),
                }
            }
            EntryType::Link | EntryType::Symlink => {
                Err(self.refuse(format!("'{shown}' is a link, and only files are allowed")))
            }
            _ => Err(self.refuse(format!("'{shown}' is neither a file nor a folder"))),
        }
    }

    /// Reads a file.
    pub(super) fn document(&mut self, name: &str, limit: FileLimit) -> Result<Vec<u8>, StoreError> {
        let Some(&(place, size)) = self.files.get(name) else {
            return Err(self.refuse(format!("it has no '{name}'")));
        };
        if size > limit.max_bytes() {
            let max_bytes = limit.max_bytes();
            return Err(
                self.refuse(format!("'{name}' has {size} bytes, and at most {max_bytes} are allowed"))
            );
        }
        let mut bytes = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(place))
            .and_then(|_| (&self.file).take(size).read_to_end(&mut bytes));
        read.map_err(StoreError::file("read", &self.path))?;
        Ok(bytes)
    }

    /// Reads a blob, which must be what a descriptor says.
    pub(super) fn blob(&mut self, described: &Descriptor, limit: FileLimit) -> Result<Vec<u8>, StoreError> {
        let Descriptor { digest, size, .. } = described;
        let name = format!("blobs/sha256/{}", digest.hex());
        let bytes = self.document(&name, limit)?;
        let found = Digest::of_bytes(&bytes);
        match found == *digest && bytes.len() as u64 == *size {
            true => Ok(bytes),
            false => Err(self.refuse(format!(
                "the blob {digest} is damaged: expected {size} bytes, found {} bytes with {found}",
                bytes.len()
            ))),
        }
    }

    pub(super) fn refuse(&self, reason: impl AsRef<str>) -> StoreError {
        StoreError::archive(&self.path, reason)
    }
}
