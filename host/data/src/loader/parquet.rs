//! The `parquet` loader: row groups are streamed, and each row is written as a JSON object.
//!
//! The rows of the crate `parquet` lose information that JSON can represent (nanoseconds, time zones, identifiers),
//! and panic at unknown types. Therefore rows are assembled here from the columns, exactly and in bounded memory.

mod assemble;
mod calendar;
mod cell;
mod column;
mod decimal;
mod leaf;
mod page;
mod shape;

use super::{Content, Loader, LoaderError, MAX_ROW_BYTES, Record};
use crate::checked_file::CheckedFile;
use crate::row::RowPosition;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use assemble::{AssemblyError, assemble};
use bytes::Bytes;
use column::Column;
use shape::Shape;
use std::io::{Read as _, Seek as _, SeekFrom};

pub(crate) struct Parquet {
    /// A second handle to the file, for checking pages before they are decompressed.
    file: CheckedFile,
    reader: SerializedFileReader<CheckedFile>,
    shape: Shape,
    leaves: Vec<leaf::Leaf>,
    columns: Vec<Column>,
    /// Next row group to read, and the rest of the current one.
    group: usize,
    left: u64,
    row: u64,
}

impl Parquet {
    /// Reads the row information at the end of the file.
    pub(crate) fn open(mut file: CheckedFile) -> Result<Parquet, LoaderError> {
        check_end(&mut file)?;
        let same = file.clone();
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let shape = Shape::of(schema.root_schema())?;
        let leaves = schema.columns().iter().map(|column| leaf::Leaf::of(column)).collect();
        Ok(Parquet { file: same, reader, shape, leaves, columns: Vec::new(), group: 0, left: 0, row: 0 })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        let groups = self.reader.metadata().row_groups();
        groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// Advances to the next row group that has rows; `false` after the last.
    fn next_group(&mut self) -> Result<bool, LoaderError> {
        while self.left == 0 {
            if self.group >= self.reader.num_row_groups() {
                return Ok(false);
            }
            self.columns.clear();
            self.check_pages()?;
            let (reader, leaves, group) = (&self.reader, &self.leaves, self.group);
            let (rows, columns) = guarded(|| {
                let group = reader.get_row_group(group)?;
                let rows = u64::try_from(group.metadata().num_rows())?;
                if group.num_columns() != leaves.len() {
                    let message =
                        format!("a row group has {} columns, not {}", group.num_columns(), leaves.len());
                    return Err(ParquetError::General(message));
                }
                let columns = leaves.iter().enumerate();
                let columns =
                    columns.map(|(position, leaf)| Column::open(group.as_ref(), position, leaf.clone()));
                Ok((rows, columns.collect::<Result<Vec<_>, _>>()?))
            })?;
            self.columns = columns;
            self.left = rows;
            self.group += 1;
        }
        Ok(true)
    }

    /// Refuses columns of the next row group whose first pages are too large, because a page is decompressed as a
    /// whole.
    fn check_pages(&mut self) -> Result<(), LoaderError> {
        let Some(group) = self.reader.metadata().row_groups().get(self.group) else { return Ok(()) };
        for column in group.columns() {
            let pages = [column.dictionary_page_offset(), Some(column.data_page_offset())];
            for offset in pages.into_iter().flatten() {
                let Ok(offset) = u64::try_from(offset) else { continue };
                let bytes = page::unpacked_bytes(&mut self.file, offset).map_err(LoaderError::Unreadable)?;
                if let Some(bytes) = bytes.filter(|bytes| *bytes > page::MAX_PAGE_BYTES) {
                    let (name, row) = (column.column_path().parts().join("."), self.row + 1);
                    return Err(LoaderError::Unsuited(page::too_large(&name, row, bytes)));
                }
            }
        }
        Ok(())
    }
}

impl Loader for Parquet {
    fn next(&mut self) -> Result<Option<Record>, LoaderError> {
        if !self.next_group()? {
            return Ok(None);
        }
        let (shape, columns) = (&self.shape, &mut self.columns);
        let mut text = Vec::with_capacity(256);
        let problem = guarded(|| match assemble(shape, columns, &mut text) {
            Ok(()) => Ok(None),
            Err(AssemblyError::Value(message)) => Ok(Some(message)),
            Err(AssemblyError::File(error)) => Err(error),
        })?;
        self.left -= 1;
        self.row += 1;
        let too_long = || format!("the row is longer than {MAX_ROW_BYTES} bytes as JSON");
        let problem = problem.or_else(|| (text.len() >= MAX_ROW_BYTES).then(too_long));
        let content = match (problem, String::from_utf8(text)) {
            (None, Ok(text)) => Content::Made(text),
            (Some(message), text) => Content::Broken {
                message,
                bytes: text.map_or_else(|error| error.into_bytes(), String::into_bytes),
            },
            (None, Err(error)) => Content::Broken { message: error.to_string(), bytes: error.into_bytes() },
        };
        Ok(Some(Record { place: RowPosition::Row(self.row), begin: None, content }))
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.byte_count()
    }
}

impl ChunkReader for CheckedFile {
    type T = CheckedFile;

    fn get_read(&self, start: u64) -> Result<CheckedFile, ParquetError> {
        Ok(self.at(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A damaged file may ask for more than it has.
        let most = usize::try_from(self.byte_count()).unwrap_or(usize::MAX);
        let mut bytes = Vec::with_capacity(length.min(most));
        let read = self.at(start).take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("Expected to read {length} bytes, read only {read}"))),
        }
    }
}

/// Reports problems with the last bytes before a reader reports them less clearly.
fn check_end(file: &mut CheckedFile) -> Result<(), LoaderError> {
    let mut end = [0; 4];
    if file.byte_count() >= 12 {
        file.seek(SeekFrom::End(-4))
            .and_then(|_| file.read_exact(&mut end))
            .map_err(LoaderError::Unreadable)?;
    }
    match &end {
        b"PAR1" => Ok(()),
        b"PARE" => Err(LoaderError::Unsuited("the Parquet file is encrypted; decrypt it first".to_owned())),
        _ => Err(LoaderError::Damaged(
            "the file does not end as Parquet does; it is cut off or was not finished".to_owned(),
        )),
    }
}

/// Calls a decoder. Its error, or its panic at unexpected bytes, means that the file is damaged.
fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, LoaderError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(fault(error)),
        Err(_) => Err(LoaderError::Damaged("the decoder gave up on it".to_owned())),
    }
}

fn fault(error: ParquetError) -> LoaderError {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) if error.raw_os_error().is_some() => LoaderError::Unreadable(*error),
            Ok(error) => LoaderError::Damaged(error.to_string()),
            Err(source) => LoaderError::Damaged(source.to_string()),
        },
        ParquetError::General(message) => LoaderError::Damaged(message),
        ParquetError::EOF(message) => LoaderError::Damaged(format!("it ends too early: {message}")),
        ParquetError::NYI(message) => {
            LoaderError::Unsuited(format!("the Parquet file uses an unsupported feature: {message}"))
        }
        other => LoaderError::Damaged(other.to_string()),
    }
}
