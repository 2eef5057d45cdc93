//! A tar archive whose files are read by name.

use crate::StoreError;
use crate::manifest::Descriptor;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, shown_name};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use tar::EntryType;

/// Maximum number of entries of an archive.
const MAX_ENTRIES: usize = 100_000;

/// First bytes of compressed files, by the name of the compression.
const COMPRESSIONS: [(&str, &[u8]); 3] =
    [("gzip", b"\x1f\x8b"), ("xz", b"\xfd7zXZ\0"), ("zstd", b"\x28\xb5\x2f\xfd")];

/// Maximum number of first bytes in [`COMPRESSIONS`].
const MAX_FIRST_BYTES: u64 = 6;

/// A blob of an archive, as a descriptor says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blob {
    pub(super) digest: Digest,
    pub(super) size: u64,
}

/// An archive, whose files were found but not read.
pub(super) struct LayoutArchive {
    path: PathBuf,
    file: File,
    /// Places and sizes of the files.
    files: BTreeMap<String, (u64, u64)>,
    /// Blobs whose bytes have the digest in their name.
    checked: BTreeSet<Digest>,
    /// Number of bytes of files that were read, each as often as it was read.
    pub(super) read_bytes: u64,
}

impl Blob {
    pub(super) fn of(described: &Descriptor) -> Blob {
        Blob { digest: described.digest, size: described.size }
    }

    /// Returns the name of its file.
    pub(super) fn name(self) -> String {
        format!("blobs/sha256/{}", self.digest.hex())
    }
}

impl LayoutArchive {
    /// Finds the files of an archive. Nothing is extracted.
    pub(super) fn open(path: &Path) -> Result<LayoutArchive, StoreError> {
        let fail = || StoreError::file("read", path);
        let file = foreign_file::open_named(path, FileLimit::NONE).map_err(fail())?;
        let length = file.metadata().map_err(fail())?.len();
        let mut opened = LayoutArchive {
            path: path.to_owned(),
            file,
            files: BTreeMap::new(),
            checked: BTreeSet::new(),
            read_bytes: 0,
        };
        opened.check_compression()?;
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

    /// Rejects a compressed archive.
    fn check_compression(&mut self) -> Result<(), StoreError> {
        let mut start = Vec::new();
        let read = (&self.file).take(MAX_FIRST_BYTES).read_to_end(&mut start);
        read.and_then(|_| self.file.seek(SeekFrom::Start(0)))
            .map_err(StoreError::file("read", &self.path))?;
        match COMPRESSIONS.iter().find(|(_, bytes)| start.starts_with(bytes)) {
            Some((name, _)) => {
                Err(self.refuse(format!("it is compressed with {name}, and must be unpacked first")))
            }
            None => Ok(()),
        }
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

    /// Returns whether the archive has a file with this name.
    pub(super) fn has_file(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Reads a file.
    pub(super) fn document(&mut self, name: &str, limit: FileLimit) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        let read = self.content(name, limit)?.read_to_end(&mut bytes);
        read.map_err(StoreError::file("read", &self.path))?;
        Ok(bytes)
    }

    /// Reads a blob, which must be what its descriptor says.
    pub(super) fn blob(&mut self, blob: Blob, limit: FileLimit) -> Result<Vec<u8>, StoreError> {
        let bytes = self.document(&blob.name(), limit)?;
        self.check_found(blob, Blob { digest: Digest::of_bytes(&bytes), size: bytes.len() as u64 })?;
        Ok(bytes)
    }

    /// Checks that a blob is what its descriptor says. Its bytes are read once, however often this is called,
    /// and not kept.
    pub(super) fn check(&mut self, blob: Blob, limit: FileLimit) -> Result<(), StoreError> {
        let (_, size) = self.place(&blob.name(), limit)?;
        let digest = match self.checked.contains(&blob.digest) {
            true => blob.digest,
            false => {
                let found = Digest::of_reader(self.content(&blob.name(), limit)?);
                found.map_err(StoreError::file("read", &self.path))?
            }
        };
        self.check_found(blob, Blob { digest, size })
    }

    fn check_found(&mut self, described: Blob, found: Blob) -> Result<(), StoreError> {
        if found != described {
            return Err(self.refuse(format!(
                "the blob {} is damaged: expected {} bytes, found {} bytes with {}",
                described.digest, described.size, found.size, found.digest
            )));
        }
        self.checked.insert(found.digest);
        Ok(())
    }

    /// Returns the content of a file, which is read piece by piece.
    pub(super) fn content(&mut self, name: &str, limit: FileLimit) -> Result<io::Take<&File>, StoreError> {
        let (place, size) = self.place(name, limit)?;
        self.file.seek(SeekFrom::Start(place)).map_err(StoreError::file("read", &self.path))?;
        self.read_bytes = self.read_bytes.saturating_add(size);
        Ok((&self.file).take(size))
    }

    /// Returns the place and the size of a file.
    fn place(&self, name: &str, limit: FileLimit) -> Result<(u64, u64), StoreError> {
        let Some(&(place, size)) = self.files.get(name) else {
            return Err(self.refuse(format!("it has no '{name}'")));
        };
        match size > limit.max_bytes() {
            true => {
                let max_bytes = limit.max_bytes();
                Err(self.refuse(format!("'{name}' has {size} bytes, and at most {max_bytes} are allowed")))
            }
            false => Ok((place, size)),
        }
    }

    pub(super) fn refuse(&self, reason: impl AsRef<str>) -> StoreError {
        StoreError::archive(&self.path, reason)
    }
}
