//! Rows of a dataset, filtered, shuffled and limited.

use crate::examples::{ExamplePicker, ExamplePool};
use crate::labels::Labels;
use crate::loader::{self, Chain, FileKind, NumberedRecord, Offsets, Spool};
use crate::missing_fields::{FieldWatch, MissingField};
use crate::row::{DataError, Row};
use crate::row_builder::{PickExamples, RowBuilder};
use crate::source::{DataFile, RowSource};
use gage_config::{ExamplePick, FileFormat};
use gage_core::Shard;
use std::sync::Arc;

/// Number of filtered rows after which [`Rows::advance`] returns without a row.
const MAX_FILTERED_ROWS: u64 = 4096;

/// Maximum total size of files that are counted beforehand, in bytes.
const MAX_COUNTED_BYTES: u64 = 256 << 20;

/// Rows of a dataset. Ends after an error.
pub struct Rows {
    feed: RowFeed,
    builder: RowBuilder,
    /// The rows that examples are picked from.
    pool: Option<Arc<ExamplePool>>,
    given: u64,
    most: u64,
    total: Option<u64>,
    filtered: u64,
    is_over: bool,
    /// The shard whose rows are given, and the number of records of each row. `None` for all rows.
    shard: Option<(Shard, u64)>,
    /// Number of rows that have records in other shards only.
    skipped: u64,
    /// Files being read, including the labels and the examples; checked for changes at the end.
    files: Vec<DataFile>,
}

enum NextRow {
    Row(Row),
    /// Many rows were filtered.
    LeftOut,
    End,
}

enum RowFeed {
    /// In file order.
    Chain(Chain),
    /// One plain JSONL file, shuffled.
    Offsets(Offsets, DataFile),
    /// Anything else, shuffled.
    Spool(Spool),
}

/// Opens a dataset; returns at most `most` of its rows, and no more than its own limit.
///
/// # Errors
/// When a file cannot be read by its loader, or when all files together contain no row. If rows are shuffled or
/// counted, also errors found at their end.
#[tracing::instrument(name = "open_rows", skip_all)]
pub fn open(source: &RowSource, most: Option<u64>) -> Result<Rows, DataError> {
    let most = most.unwrap_or(u64::MAX).min(source.limit.unwrap_or(u64::MAX));
    let labels = source.labels.as_ref().map(Labels::read).transpose()?;
    let picker = ExamplePicker::read(source)?;
    let pool = picker.as_ref().map(|picker| Arc::clone(picker.pool()));
    let builder = RowBuilder {
        files: source.files.iter().map(|file| file.shown.clone()).collect(),
        labels,
        filter: source.filter.clone(),
        watch: FieldWatch::new(&source.filter),
        subsets: source.subsets.clone(),
        examples: picker.map(|picker| Box::new(picker) as Box<dyn PickExamples>),
    };
    let chain = Chain::open(source)?;
    let mut rows = Rows {
        feed: RowFeed::Chain(chain),
        builder,
        pool,
        given: 0,
        most,
        total: None,
        filtered: 0,
        is_over: false,
        shard: None,
        skipped: 0,
        files: source.files.iter().chain(source.files_beside()).cloned().collect(),
    };
    match source.shuffle {
        Some(seed) => rows.shuffle(source, seed)?,
        None if source.labels.is_some() || most > 1 && source.filter.is_empty() => {
            let total = total(source)?;
            if let Some(total) = total {
                rows.check_labels(total)?;
            }
            if source.filter.is_empty() {
                rows.total = total.map(|total| total.min(most));
            }
        }
        None => {}
    }
    Ok(rows)
}

impl Rows {
    /// Gives only rows with records in a shard. A row has `repeat` records. The others are read and counted, and then dropped.
    #[must_use]
    pub fn of_shard(self, shard: Option<Shard>, repeat: u64) -> Rows {
        Rows { shard: shard.map(|shard| (shard, repeat)), ..self }
    }

    /// Returns the rows that examples are picked from.
    pub(crate) fn example_pool(&self) -> Option<Arc<ExamplePool>> {
        self.pool.clone()
    }

    /// Returns whether only rows of a shard are given.
    pub(crate) fn is_sharded(&self) -> bool {
        self.shard.is_some()
    }

    /// Returns the number of rows so far that have records in other shards only.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns whether a row has records in the shard whose rows are given.
    fn is_wanted(&self, index: u64) -> bool {
        self.shard.is_none_or(|(shard, repeat)| {
            let first = index.saturating_mul(repeat);
            shard.has_any(first..first.saturating_add(repeat))
        })
    }

    /// Counts the rows by reading them. `None` if there are more than `most`, or if one cannot be read.
    pub fn count_up_to(mut self, most: u64) -> Option<u64> {
        while let Some(next) = self.advance() {
            next.ok()?;
            if self.given > most || self.filtered > most {
                return None;
            }
        }
        Some(self.given)
    }

    /// Returns the number of rows, including those of other shards. `None` if it is unknown without reading all of them first.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns the number of rows filtered so far.
    pub fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Returns the fields that the filter names but no row so far had.
    pub fn missing_fields(&self) -> Vec<MissingField> {
        self.builder.watch.missing()
    }

    fn shuffle(&mut self, source: &RowSource, seed: u64) -> Result<(), DataError> {
        // Random examples are drawn for the rows in the order of the file.
        let draws = source.few_shot.as_ref().is_some_and(|few_shot| few_shot.pick == ExamplePick::Random);
        let single = match source.files.as_slice() {
            [file] if source.format == FileFormat::Jsonl && source.filter.is_empty() && !draws => Some(file),
            _ => None,
        };
        let kind = single.map(kind_of).transpose()?;
        if let (Some(file), Some(FileKind::Plain)) = (single, kind) {
            let opened = file.open().map_err(|error| DataError::unreadable(file, error))?;
            let offsets = Offsets::open(opened, seed).map_err(|error| DataError::unreadable(file, error))?;
            let rows = offsets.rows();
            self.feed = RowFeed::Offsets(offsets, file.clone());
            return self.know_total(rows, rows);
        }
        let spool = Spool::fill(source.spool_folder.as_deref(), seed, || {
            loop {
                match self.next_row()? {
                    NextRow::Row(row) => return Ok(Some(row)),
                    NextRow::LeftOut => {}
                    NextRow::End => return Ok(None),
                }
            }
        })?;
        let (kept, all) = (spool.rows(), spool.rows() + self.filtered);
        self.feed = RowFeed::Spool(spool);
        self.know_total(kept, all)
    }

    /// Records the totals once all rows are counted: the rows kept, and all rows.
    fn know_total(&mut self, kept: u64, all: u64) -> Result<(), DataError> {
        self.total = Some(kept.min(self.most));
        self.check_labels(all)
    }

    fn check_labels(&self, rows: u64) -> Result<(), DataError> {
        self.builder.labels.as_ref().map_or(Ok(()), |labels| labels.check(rows))
    }

    fn next_row(&mut self) -> Result<NextRow, DataError> {
        let next = match &mut self.feed {
            RowFeed::Spool(spool) => spool.next()?,
            RowFeed::Offsets(offsets, file) => {
                let next = offsets.next();
                let next = next.map_err(|error| DataError::unreadable(file, error))?;
                let numbered = next.map(|(number, record)| NumberedRecord { number, file: 0, record });
                numbered.and_then(|numbered| self.builder.build(numbered))
            }
            RowFeed::Chain(chain) => {
                for _ in 0..MAX_FILTERED_ROWS {
                    let Some(numbered) = chain.next()? else { return Ok(NextRow::End) };
                    if let Some(labels) = &self.builder.labels {
                        labels.check_row(numbered.number)?;
                    }
                    match self.builder.build(numbered) {
                        Some(row) => return Ok(NextRow::Row(row)),
                        None => self.filtered += 1,
                    }
                }
                return Ok(NextRow::LeftOut);
            }
        };
        Ok(next.map_or(NextRow::End, NextRow::Row))
    }

    /// Returns the next row, or `Some(Ok(None))` if many rows were filtered or one was skipped, and there may be more. After an error,
    /// and after the end, returns `None`.
    pub(crate) fn advance(&mut self) -> Option<Result<Option<Row>, DataError>> {
        if self.is_over {
            return None;
        }
        let next = match self.given >= self.most {
            true => self.check_files().map(|()| NextRow::End),
            false => self.next_row().and_then(|next| match next {
                NextRow::End => self.end().map(|()| NextRow::End),
                next => Ok(next),
            }),
        };
        match next {
            Ok(NextRow::Row(row)) => {
                let index = self.given;
                self.given += 1;
                if self.is_wanted(index) {
                    Some(Ok(Some(Row { index, ..row })))
                } else {
                    self.skipped += 1;
                    Some(Ok(None))
                }
            }
            Ok(NextRow::LeftOut) => Some(Ok(None)),
            Ok(NextRow::End) => {
                self.is_over = true;
                None
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(error))
            }
        }
    }

    /// Checks after the last row that every label belongs to a row, no counted row is missing, and the files are
    /// unchanged.
    fn end(&self) -> Result<(), DataError> {
        self.check_files()?;
        match &self.feed {
            RowFeed::Chain(chain) => self.check_labels(chain.number())?,
            RowFeed::Offsets(..) | RowFeed::Spool(_) => {}
        }
        match (self.total, self.files.first()) {
            (Some(counted), Some(file)) if self.given != counted => Err(DataError::Changed {
                file: file.named(),
                message: format!("{counted} rows were counted before, and {} were read", self.given),
            }),
            _ => Ok(()),
        }
    }

    fn check_files(&self) -> Result<(), DataError> {
        check_unchanged(&self.files)
    }
}

/// Checks that no file changed since its digest was computed.
///
/// # Errors
/// [`DataError::Changed`] for the first one that did.
pub(crate) fn check_unchanged<'f>(files: impl IntoIterator<Item = &'f DataFile>) -> Result<(), DataError> {
    files
        .into_iter()
        .try_for_each(|file| file.check_unchanged().map_err(|error| DataError::unreadable(file, error)))
}

impl Iterator for Rows {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Result<Row, DataError>> {
        loop {
            match self.advance()? {
                Ok(Some(row)) => return Some(Ok(row)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns the number of rows in the files, if it is cheap to determine.
fn total(source: &RowSource) -> Result<Option<u64>, DataError> {
    match source.format {
        FileFormat::Parquet => {
            let rows = source
                .files
                .iter()
                .map(|file| loader::parquet_rows(file).map_err(|fault| loader::error(file, 0, fault)));
            rows.sum::<Result<u64, DataError>>().map(Some)
        }
        FileFormat::Jsonl if is_countable(&source.files)? => {
            let rows = source.files.iter().map(|file| {
                let counted = file.open().and_then(loader::count);
                counted.map_err(|error| DataError::unreadable(file, error))
            });
            rows.sum::<Result<u64, DataError>>().map(Some)
        }
        FileFormat::Csv | FileFormat::Tsv if is_countable(&source.files)? => {
            // A file that cannot be read to its end still gives the rows before the broken place.
            let rows = source
                .files
                .iter()
                .map(|file| loader::count_delimited(file, source.format, &source.options).ok());
            Ok(rows.sum())
        }
        FileFormat::Jsonl | FileFormat::Json | FileFormat::Csv | FileFormat::Tsv => Ok(None),
    }
}

/// Returns whether the files are plain, and small enough to be read twice.
fn is_countable(files: &[DataFile]) -> Result<bool, DataError> {
    let mut bytes = 0;
    for file in files {
        let metadata = std::fs::metadata(&file.path);
        bytes += metadata.map_err(|error| DataError::unreadable(file, error))?.len();
        if bytes > MAX_COUNTED_BYTES || kind_of(file)? != FileKind::Plain {
            return Ok(false);
        }
    }
    Ok(true)
}

fn kind_of(file: &DataFile) -> Result<FileKind, DataError> {
    loader::kind_of(file).map_err(|fault| loader::error(file, 0, fault))
}

#[cfg(test)]
mod tests;
