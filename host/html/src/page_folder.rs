//! The page folder of a run with many samples: blocks of columns and excerpts, which a server sends to the page of the run.
//!
//! The folder is made from the records of the run and can be made again at any time. It belongs to the `samples.jsonl` whose
//! digest its index names. The index is written last, so a folder without one is not complete.

use super::columns::Columns;
use super::error::HtmlError;
use super::excerpts::Excerpts;
use super::packed::pack;
use flate2::Compression;
use flate2::write::GzEncoder;
use gage_core::Digest;
use gage_core::foreign_file::{self, FileLimit};
use gage_record::format::PAGE_FOLDER;
use gage_record::{RecordView, SampleStage, TemporaryFile};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Minimum number of samples of a run with a page folder.
pub const MIN_PAGED_SAMPLES: u64 = COLUMN_ROWS as u64;

/// Number of samples in a block of columns. A multiple of [`EXCERPT_ROWS`].
const COLUMN_ROWS: usize = 16_384;
/// Number of samples in a block of excerpts. The script of the page has the same number.
const EXCERPT_ROWS: usize = 4_096;

/// Version of the folder's format. Folders of other versions are made again.
const PAGE_FOLDER_VERSION: u32 = 2;

const INDEX_FILE: &str = "index.json";
const MAX_INDEX_SIZE: FileLimit = FileLimit::new("an index of a page", 4 << 20);
const MAX_BLOCK_SIZE: FileLimit = FileLimit::new("a block of a page", 16 << 20);

/// Kind of a block in a page folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageBlock {
    /// Numbers of the samples, for lists, filters and plots.
    Columns,
    /// Ids and the beginnings of texts, for the rows that are seen.
    Excerpts,
}

impl PageBlock {
    /// Returns the name of a block in the run folder.
    fn file_name(self, number: usize) -> String {
        let kind = match self {
            PageBlock::Columns => "columns",
            PageBlock::Excerpts => "excerpts",
        };
        format!("{PAGE_FOLDER}/{kind}-{number}.gz")
    }

    /// Reads a block of a run. It is gzip.
    ///
    /// # Errors
    /// If there is no such block, or it cannot be read or is too large.
    pub fn read(self, run: &Path, number: usize) -> io::Result<Vec<u8>> {
        foreign_file::read_below(run, self.file_name(number), MAX_BLOCK_SIZE)
    }
}

/// The index of a page folder.
#[derive(Debug, Serialize, Deserialize)]
struct PageIndex {
    format_version: u32,
    /// Digest of the `samples.jsonl` that has the same samples.
    samples: Digest,
    rows: u64,
    /// Sizes of the blocks of columns, in bytes. After a loss of power, a block may be shorter.
    columns: Vec<u64>,
    /// Sizes of the blocks of excerpts, in bytes.
    excerpts: Vec<u64>,
}

impl PageIndex {
    /// Returns whether there are as many blocks as the rows need. A page reserves memory for all rows.
    fn has_blocks_of_rows(&self) -> bool {
        let are_enough = |blocks: &[u64], rows: usize| blocks.len() as u64 == self.rows.div_ceil(rows as u64);
        are_enough(&self.columns, COLUMN_ROWS) && are_enough(&self.excerpts, EXCERPT_ROWS)
    }

    /// Returns whether all blocks are in the folder of a run.
    fn is_whole(&self, run: &Path) -> bool {
        let is_there = |kind: PageBlock, (number, bytes): (usize, &u64)| {
            let file = foreign_file::open_below(run, kind.file_name(number), MAX_BLOCK_SIZE);
            file.and_then(|file| file.metadata()).is_ok_and(|found| found.len() == *bytes)
        };
        self.columns.iter().enumerate().all(|block| is_there(PageBlock::Columns, block))
            && self.excerpts.iter().enumerate().all(|block| is_there(PageBlock::Excerpts, block))
    }
}

/// A complete page folder.
#[derive(Debug)]
pub struct PageFolder(PageIndex);

impl PageFolder {
    /// Opens the page folder of a run. `None` if it is absent, incomplete, or of other samples.
    pub fn open(run: &Path, samples: &Digest) -> Option<PageFolder> {
        let name = format!("{PAGE_FOLDER}/{INDEX_FILE}");
        let text = foreign_file::read_below(run, name, MAX_INDEX_SIZE).ok()?;
        let index: PageIndex = serde_json::from_slice(&text).ok()?;
        let is_current = index.format_version == PAGE_FOLDER_VERSION && index.samples == *samples;
        (is_current && index.has_blocks_of_rows() && index.is_whole(run)).then_some(PageFolder(index))
    }

    /// Returns the number of samples.
    pub fn rows(&self) -> u64 {
        self.0.rows
    }

    /// Returns the number of blocks of columns.
    pub fn column_blocks(&self) -> usize {
        self.0.columns.len()
    }
}

/// Ids and excerpts of the samples of a block.
#[derive(Serialize)]
struct ExcerptBlock<'a> {
    id: &'a [String],
    #[serde(flatten)]
    texts: &'a Excerpts,
}

/// Writes the page folder of a run. Nothing is written for a run of fewer than [`MIN_PAGED_SAMPLES`].
#[derive(Debug)]
pub struct PageFolderWriter {
    run: PathBuf,
    columns: Columns,
    excerpts: Excerpts,
    /// Blocks of excerpts that precede the next block of columns.
    waiting: Vec<Vec<u8>>,
    rows: u64,
    column_sizes: Vec<u64>,
    excerpt_sizes: Vec<u64>,
    failure: Option<HtmlError>,
}

impl PageFolderWriter {
    /// Begins the page folder of a run.
    pub fn new(run: &Path) -> PageFolderWriter {
        PageFolderWriter {
            run: run.to_owned(),
            columns: Columns::new(0, 1),
            excerpts: Excerpts::default(),
            waiting: Vec::new(),
            rows: 0,
            column_sizes: Vec::new(),
            excerpt_sizes: Vec::new(),
            failure: None,
        }
    }

    /// Adds the next sample, in the order of `samples.jsonl`. An error ends the writing, and [`PageFolderWriter::finish`]
    /// returns it.
    pub fn add(&mut self, record: &RecordView<'_>) {
        if self.failure.is_none() {
            self.failure = self.try_add(record).err();
        }
    }

    /// Returns the number of blocks of columns that were written. The excerpts of their samples were written as well.
    pub fn column_blocks(&self) -> usize {
        self.column_sizes.len()
    }

    /// Returns whether an error ended the writing.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Completes the folder, which belongs to the `samples.jsonl` with this digest. Returns false if the run has too few
    /// samples.
    ///
    /// # Errors
    /// If a block is too large or could not be written.
    pub fn finish(mut self, samples: &Digest) -> Result<bool, HtmlError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.rows < MIN_PAGED_SAMPLES {
            return Ok(false);
        }
        if self.excerpts.len() > 0 {
            self.end_excerpts()?;
        }
        if self.columns.len() > 0 {
            self.end_columns()?;
        }
        let index = PageIndex {
            format_version: PAGE_FOLDER_VERSION,
            samples: *samples,
            rows: self.rows,
            columns: self.column_sizes,
            excerpts: self.excerpt_sizes,
        };
        let name = format!("{PAGE_FOLDER}/{INDEX_FILE}");
        write_file(&self.run, &name, &serde_json::to_vec(&index)?, MAX_INDEX_SIZE, true)?;
        Ok(true)
    }

    fn try_add(&mut self, record: &RecordView<'_>) -> Result<(), HtmlError> {
        self.columns.add(record, SampleStage::Ended, None);
        self.excerpts.add(record);
        self.rows += 1;
        if self.excerpts.len() >= EXCERPT_ROWS {
            self.end_excerpts()?;
        }
        if self.columns.len() >= COLUMN_ROWS {
            self.end_columns()?;
        }
        Ok(())
    }

    /// Packs the excerpts so far as a block.
    fn end_excerpts(&mut self) -> Result<(), HtmlError> {
        let texts = std::mem::take(&mut self.excerpts);
        let start = self.columns.len() - texts.len();
        let id = self.columns.id.get(start..).unwrap_or_default();
        self.waiting.push(gzip(&serde_json::to_vec(&ExcerptBlock { id, texts: &texts })?)?);
        Ok(())
    }

    /// Writes the columns so far as a block, after the excerpts of the same samples.
    fn end_columns(&mut self) -> Result<(), HtmlError> {
        if self.column_sizes.is_empty() {
            let folder = self.run.join(PAGE_FOLDER);
            match fs::create_dir(&folder) {
                Err(source) if source.kind() != ErrorKind::AlreadyExists => {
                    return Err(HtmlError::Write { path: folder, source });
                }
                Ok(()) | Err(_) => {}
            }
        }
        for block in std::mem::take(&mut self.waiting) {
            let name = PageBlock::Excerpts.file_name(self.excerpt_sizes.len());
            write_file(&self.run, &name, &block, MAX_BLOCK_SIZE, false)?;
            self.excerpt_sizes.push(block.len() as u64);
        }
        let block = gzip(&pack(&self.columns)?)?;
        let name = PageBlock::Columns.file_name(self.column_sizes.len());
        write_file(&self.run, &name, &block, MAX_BLOCK_SIZE, false)?;
        self.column_sizes.push(block.len() as u64);
        self.columns = Columns::new(0, 1);
        Ok(())
    }
}

/// Compresses a block. The fastest level takes a quarter of the time of the usual one.
fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Writes a file of a run folder, and replaces the existing one. Only the index is synced: its sizes show which blocks a loss
/// of power cut off.
fn write_file(
    run: &Path,
    name: &str,
    bytes: &[u8],
    limit: FileLimit,
    is_synced: bool,
) -> Result<(), HtmlError> {
    let path = run.join(name);
    let failed = |source: io::Error| HtmlError::Write { path: path.clone(), source };
    if bytes.len() as u64 > limit.max_bytes() {
        let most = limit.max_bytes();
        let message = format!("it would have {} bytes, and {most} are allowed", bytes.len());
        return Err(failed(io::Error::new(ErrorKind::FileTooLarge, message)));
    }
    foreign_file::check_target(run, name).map_err(failed)?;
    let (mut temporary, mut file) = TemporaryFile::create(&path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    if !is_synced {
        temporary.release();
    }
    temporary.put_in_place().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use gage_figures::test_records::sample;
    use serde_json::Value;
    use std::io::Read as _;

    fn written(run: &Path, rows: u64, samples: &Digest) -> Result<bool, HtmlError> {
        let mut writer = PageFolderWriter::new(run);
        for index in 0..rows {
            writer.add(&(&sample("t", index, 1.0, 12.0)).into());
        }
        writer.finish(samples)
    }

    fn unpacked(run: &Path, kind: PageBlock, number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        GzDecoder::new(&kind.read(run, number).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn folder_has_every_sample_and_belongs_to_its_samples() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let [samples, other] = [b"one", b"two"].map(|text| Digest::of_bytes(text));
        let rows = MIN_PAGED_SAMPLES + 10;
        assert!(written(run, rows, &samples).unwrap());
        let page = PageFolder::open(run, &samples).unwrap();
        assert_eq!((page.rows(), page.column_blocks()), (rows, 2));
        assert!(PageFolder::open(run, &other).is_none());
        let last: Value = serde_json::from_slice(&unpacked(run, PageBlock::Excerpts, 4)).unwrap();
        assert_eq!(last["id"][9], format!("s-{}", rows - 1));
        assert_eq!(last["answer"][9], "a");
        assert_eq!(last["id"].as_array().unwrap().len(), 10);
        assert!(unpacked(run, PageBlock::Columns, 1).len() > 10 * 8 * 5);
        assert!(PageBlock::Columns.read(run, 2).is_err());
        // A block that a loss of power cut off.
        fs::write(run.join(PageBlock::Columns.file_name(0)), "").unwrap();
        assert!(PageFolder::open(run, &samples).is_none());
        assert!(written(run, rows, &other).unwrap());
        assert!(PageFolder::open(run, &other).is_some());
    }

    #[test]
    fn an_index_with_other_rows_than_its_blocks_is_not_used() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let samples = Digest::of_bytes(b"one");
        let rows = MIN_PAGED_SAMPLES + 10;
        assert!(written(run, rows, &samples).unwrap());
        let path = run.join(PAGE_FOLDER).join(INDEX_FILE);
        let index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for (rows, is_used) in
            [(rows, true), (u64::MAX, false), (2 * MIN_PAGED_SAMPLES + 1, false), (1, false)]
        {
            let mut index = index.clone();
            index["rows"] = rows.into();
            fs::write(&path, index.to_string()).unwrap();
            assert_eq!(PageFolder::open(run, &samples).is_some(), is_used, "{rows}");
        }
    }

    #[test]
    fn few_samples_have_no_page_folder() {
        let run = tempfile::tempdir().unwrap();
        assert!(!written(run.path(), MIN_PAGED_SAMPLES - 1, &Digest::of_bytes(b"")).unwrap());
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_place_of_the_folder_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let [run, outside] = ["run", "outside"].map(|name| root.path().join(name));
        fs::create_dir(&run).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, run.join(PAGE_FOLDER)).unwrap();
        let error = written(&run, MIN_PAGED_SAMPLES, &Digest::of_bytes(b"")).unwrap_err();
        assert!(matches!(error, HtmlError::Write { .. }), "{error}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
