//! Files of datasets. Their content is pinned before a run, and compared with the pin while rows are read.
//!
//! A run names a dataset by its digest, but reads it for as long as it asks the model. The file may be edited in that
//! time, and even be restored before the end. A digest at the end therefore proves nothing about rows that were read in
//! between, and the times of the file do not tell a restored file from one that was only touched. So each block has a
//! checksum, computed together with the digest, and is compared when it is read: no row comes from other content, and
//! a file with its first content never disturbs a run. A block costs one pass of BLAKE3, at several gigabytes a second.

use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, FileUse, PinnedFile, SeenFile};
use lru::LruCache;
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Size of a block. Every block of a file has it, except for the last one.
const BLOCK_BYTES: usize = 1 << 16;
/// Number of blocks of an open file that are kept, for formats that are read at several places in turn.
const MAX_KEPT_BLOCKS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

/// Content of a file when its digest was computed.
#[derive(Debug)]
pub(crate) struct FilePin {
    file: PinnedFile,
    bytes: u64,
    /// Checksums of the blocks.
    blocks: Vec<u64>,
    /// Position of the first content that was read and differs.
    changed_at: OnceLock<u64>,
}

impl FilePin {
    /// Reads a file in full, and pins it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read(path: &Path) -> io::Result<FilePin> {
        let opened = foreign_file::open_named(path, FileLimit::NONE)?;
        let seen = SeenFile::of(&opened.metadata()?);
        let mut blocks = BlockReader::new(opened);
        let digest = Digest::of_reader(&mut blocks)?;
        let file = PinnedFile::new(path, seen, digest);
        let (blocks, bytes) = blocks.finish();
        Ok(FilePin { file, bytes, blocks, changed_at: OnceLock::new() })
    }

    /// Returns the digest of the content.
    pub(crate) fn digest(&self) -> Digest {
        self.file.digest()
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Checks that the file still has its content, and that nothing else was read.
    ///
    /// # Errors
    /// When the content differs; the cause is a [`gage_core::ChangedFile`], or [`FilePin::change`] describes it.
    pub(crate) fn check(&self, used: FileUse) -> io::Result<()> {
        match self.changed_at.get() {
            None => self.file.check(used).map_err(io::Error::other),
            Some(_) => Err(other_content()),
        }
    }

    /// Describes the change, if other content was read.
    pub(crate) fn change(&self) -> Option<String> {
        let position = self.changed_at.get()?;
        Some(match self.file.check_content() {
            Err(changed) => changed.to_string(),
            Ok(()) => format!(
                "from byte {position} on, it had other content than that of its digest, which it has again"
            ),
        })
    }

    fn check_block(&self, number: u64, block: &[u8]) -> io::Result<()> {
        let pinned = usize::try_from(number).ok().and_then(|number| self.blocks.get(number)).copied();
        let found = (!block.is_empty()).then(|| checksum_of(block));
        match found == pinned {
            true => Ok(()),
            false => Err(self.reject(number.saturating_mul(BLOCK_BYTES as u64))),
        }
    }

    /// Notes that other content was read at a position.
    fn reject(&self, position: u64) -> io::Error {
        // Later positions are not needed.
        let _ = self.changed_at.set(position);
        other_content()
    }
}

fn other_content() -> io::Error {
    io::Error::other("its content changed while it was read")
}

/// Returns the checksum of a block or a row.
pub(crate) fn checksum_of(bytes: &[u8]) -> u64 {
    shortened(blake3::hash(bytes))
}

fn shortened(hash: blake3::Hash) -> u64 {
    hash.as_bytes().first_chunk().copied().map_or(0, u64::from_le_bytes)
}

/// Computes a checksum piece by piece.
#[derive(Default)]
pub(crate) struct ChecksumBuilder(blake3::Hasher);

impl ChecksumBuilder {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// Returns the checksum of all pieces, and begins again.
    pub(crate) fn finish(&mut self) -> u64 {
        let checksum = shortened(self.0.finalize());
        self.0.reset();
        checksum
    }
}

/// Computes the checksums of blocks while a file is read.
struct BlockReader {
    file: File,
    block: ChecksumBuilder,
    /// Bytes of the current block so far.
    filled: usize,
    blocks: Vec<u64>,
    bytes: u64,
}

impl BlockReader {
    fn new(file: File) -> BlockReader {
        BlockReader { file, block: ChecksumBuilder::default(), filled: 0, blocks: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.filled));
            self.block.add(piece);
            self.filled += piece.len();
            if self.filled == BLOCK_BYTES {
                self.end_block();
            }
            bytes = rest;
        }
    }

    fn end_block(&mut self) {
        self.blocks.push(self.block.finish());
        self.filled = 0;
    }

    /// Returns the checksums, and the number of bytes.
    fn finish(mut self) -> (Vec<u64>, u64) {
        if self.filled > 0 {
            self.end_block();
        }
        (self.blocks, self.bytes)
    }
}

impl Read for BlockReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.add(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// An open file that is read in blocks. Other content than that of its pin, if it has one, is an error. Clones share
/// the blocks, and have positions of their own.
#[derive(Clone)]
pub(crate) struct CheckedFile {
    shared: Arc<SharedFile>,
    position: u64,
    /// Block that was read last, and its number.
    block: Option<(u64, Arc<Vec<u8>>)>,
}

struct SharedFile {
    pin: Option<Arc<FilePin>>,
    bytes: u64,
    blocks: Mutex<BlockCache>,
}

struct BlockCache {
    file: File,
    blocks: LruCache<u64, Arc<Vec<u8>>>,
}

impl CheckedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn open(path: &Path, pin: Option<Arc<FilePin>>) -> io::Result<CheckedFile> {
        let file = foreign_file::open_named(path, FileLimit::NONE)?;
        let bytes = match &pin {
            Some(pin) => pin.bytes,
            None => file.metadata()?.len(),
        };
        let blocks = Mutex::new(BlockCache { file, blocks: LruCache::new(MAX_KEPT_BLOCKS) });
        Ok(CheckedFile { shared: Arc::new(SharedFile { pin, bytes, blocks }), position: 0, block: None })
    }

    /// Returns the number of bytes.
    #[cfg(feature = "parquet")]
    pub(crate) fn byte_count(&self) -> u64 {
        self.shared.bytes
    }

    /// Returns the same file at another position.
    #[cfg(feature = "parquet")]
    pub(crate) fn at(&self, position: u64) -> CheckedFile {
        CheckedFile { position, ..self.clone() }
    }

    /// Opens the file for reading without checks.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn unchecked(&self) -> io::Result<File> {
        self.shared.blocks.lock().file.try_clone()
    }

    /// Returns the error of content that was read without checks and differs.
    pub(crate) fn reject(&self, position: u64) -> io::Error {
        self.shared.pin.as_ref().map_or_else(other_content, |pin| pin.reject(position))
    }
}

impl SharedFile {
    fn block(&self, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let mut cache = self.blocks.lock();
        if let Some(block) = cache.blocks.get(&number) {
            return Ok(Arc::clone(block));
        }
        let block = read_block(&mut cache.file, number)?;
        if let Some(pin) = &self.pin {
            pin.check_block(number, &block)?;
        }
        let block = Arc::new(block);
        cache.blocks.put(number, Arc::clone(&block));
        Ok(block)
    }
}

/// Reads a block; empty beyond the end of the file.
fn read_block(file: &mut File, number: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(number.saturating_mul(BLOCK_BYTES as u64)))?;
    let (mut block, mut filled) = (vec![0; BLOCK_BYTES], 0);
    while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    block.truncate(filled);
    Ok(block)
}

impl BufRead for CheckedFile {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let number = self.position / BLOCK_BYTES as u64;
        let block = match self.block.take() {
            Some((known, block)) if known == number => block,
            _ => self.shared.block(number)?,
        };
        let (_, block) = self.block.insert((number, block));
        let start = usize::try_from(self.position % BLOCK_BYTES as u64).unwrap_or_default();
        Ok(block.get(start..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.position = self.position.saturating_add(bytes as u64);
    }
}

impl Read for CheckedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

impl Seek for CheckedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, offset) = match to {
            SeekFrom::Start(position) => (position, 0),
            SeekFrom::Current(offset) => (self.position, offset),
            SeekFrom::End(offset) => (self.shared.bytes, offset),
        };
        self.position = base.checked_add_signed(offset).ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Writes a file of three blocks, the last of which is short, and pins it.
    fn pinned() -> (tempfile::NamedTempFile, Vec<u8>, Arc<FilePin>) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let content: Vec<u8> = (0..BLOCK_BYTES * 2 + 100).map(|place| (place % 251) as u8).collect();
        fs::write(file.path(), &content).expect("written");
        let pin = FilePin::read(file.path()).expect("read");
        (file, content, Arc::new(pin))
    }

    fn opened(file: &tempfile::NamedTempFile, pin: &Arc<FilePin>) -> CheckedFile {
        CheckedFile::open(file.path(), Some(Arc::clone(pin))).expect("opened")
    }

    #[test]
    fn pinned_content_is_read_as_it_is() {
        let (file, content, pin) = pinned();
        assert_eq!((pin.bytes(), pin.digest()), (content.len() as u64, Digest::of_bytes(&content)));
        let mut found = Vec::new();
        opened(&file, &pin).read_to_end(&mut found).expect("read");
        assert!(found == content);
        let mut end = Vec::new();
        let mut at_end = opened(&file, &pin);
        at_end.seek(SeekFrom::End(-3)).expect("within the file");
        at_end.read_to_end(&mut end).expect("read");
        assert_eq!(end, content[content.len() - 3..]);
        assert!(at_end.seek(SeekFrom::Current(-1_000_000)).is_err());
    }

    #[test]
    fn other_content_is_never_read() {
        let longer = |content: &[u8]| [content, &b"more"[..]].concat();
        let shorter = |content: &[u8]| content[..BLOCK_BYTES].to_vec();
        let flipped = |content: &[u8]| {
            let mut flipped = content.to_vec();
            flipped[BLOCK_BYTES] ^= 1;
            flipped
        };
        let changes: [(&dyn Fn(&[u8]) -> Vec<u8>, usize); 3] =
            [(&longer, BLOCK_BYTES * 2), (&shorter, BLOCK_BYTES), (&flipped, BLOCK_BYTES)];
        for (change, good) in changes {
            let (file, content, pin) = pinned();
            let mut reader = opened(&file, &pin);
            fs::write(file.path(), change(&content)).expect("written in place");
            let mut found = Vec::new();
            reader.read_to_end(&mut found).expect_err("it changed");
            assert!(found == content[..good], "{} bytes instead of {good}", found.len());
            assert!(pin.change().is_some_and(|change| change.starts_with("its digest is sha256:")));
            assert!(pin.check(FileUse::Open).is_err());
        }
    }

    #[test]
    fn content_that_was_restored_is_still_a_change() {
        let (file, content, pin) = pinned();
        let mut reader = opened(&file, &pin);
        fs::write(file.path(), vec![0; content.len()]).expect("written in place");
        assert!(reader.fill_buf().is_err());
        fs::write(file.path(), &content).expect("restored");
        let change = pin.change().expect("it was read");
        assert!(change.starts_with("from byte 0 on, it had other content"), "{change}");
        assert!(pin.check(FileUse::Open).is_err());
        // Content that was not read in between does no harm.
        let pin = Arc::new(FilePin::read(file.path()).expect("read"));
        let mut reader = opened(&file, &pin);
        fs::write(file.path(), vec![0; content.len()]).expect("written in place");
        fs::write(file.path(), &content).expect("restored");
        assert!(io::copy(&mut reader, &mut io::sink()).is_ok() && pin.check(FileUse::Open).is_ok());
    }

    #[test]
    fn file_without_a_pin_is_read_as_it_is_now() {
        let (file, content, _) = pinned();
        let mut reader = CheckedFile::open(file.path(), None).expect("opened");
        let mut clone = reader.at(content.len() as u64 - 1);
        fs::write(file.path(), vec![7; content.len()]).expect("written in place");
        assert_eq!(reader.fill_buf().expect("read").first(), Some(&7));
        assert_eq!(clone.fill_buf().expect("read"), [7]);
    }
}
