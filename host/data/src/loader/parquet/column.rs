//! One column of a row group, read in batches of rows.

use super::cell::Cell;
use super::leaf::Leaf;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::RowGroupReader;

/// Maximum number of rows per batch.
const MAX_BATCH_ROWS: u64 = 1_024;
/// Target size of a batch's values in one column, in bytes.
const BATCH_BYTES: u64 = 1 << 20;

pub(crate) struct Column {
    leaf: Leaf,
    values: Box<dyn Values>,
    batch: usize,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// Number of levels, index of the next level, and index of the next value.
    levels: usize,
    level: usize,
    value: usize,
}

impl Column {
    pub(crate) fn open(
        group: &dyn RowGroupReader,
        position: usize,
        leaf: Leaf,
    ) -> Result<Column, ParquetError> {
        let metadata = group.metadata().column(position);
        let start = metadata.dictionary_page_offset().unwrap_or_else(|| metadata.data_page_offset());
        if start < 0 || metadata.compressed_size() < 0 {
            return Err(ParquetError::General(format!("column '{}' lies nowhere in the file", leaf.name)));
        }
        let rows = u64::try_from(group.metadata().num_rows())?.max(1);
        let row_bytes = u64::try_from(metadata.uncompressed_size())? / rows;
        let batch = (BATCH_BYTES / row_bytes.max(1)).clamp(1, MAX_BATCH_ROWS);
        Ok(Column {
            values: values_of(group.get_column_reader(position)?),
            leaf,
            batch: usize::try_from(batch)?,
            definitions: Vec::new(),
            repetitions: Vec::new(),
            levels: 0,
            level: 0,
            value: 0,
        })
    }

    /// Returns its full name.
    pub(crate) fn name(&self) -> &str {
        &self.leaf.name
    }

    /// Advances to the first value of the next row.
    pub(crate) fn begin_row(&mut self) -> Result<(), ParquetError> {
        if self.level >= self.levels {
            self.definitions.clear();
            self.repetitions.clear();
            self.levels = self.values.refill(self.batch, &mut self.definitions, &mut self.repetitions)?;
            self.level = 0;
            self.value = 0;
            let fits = |levels: &[i16], most: i16| most == 0 || levels.len() == self.levels;
            if !fits(&self.definitions, self.leaf.most_definition)
                || !fits(&self.repetitions, self.leaf.most_repetition)
            {
                return Err(self.error("has levels that do not fit its values"));
            }
        }
        match self.level < self.levels && self.repetition() == 0 {
            true => Ok(()),
            false => Err(self.error("does not fit the others: it has fewer or more values than they")),
        }
    }

    /// Returns the next definition level in this row.
    pub(crate) fn definition(&self) -> Result<i16, ParquetError> {
        match self.level < self.levels {
            true => Ok(self.definitions.get(self.level).copied().unwrap_or(self.leaf.most_definition)),
            false => Err(self.error("does not fit the others: it has fewer values than they")),
        }
    }

    /// Returns the next repetition level; 0 at the start of the next row.
    pub(crate) fn repetition(&self) -> i16 {
        // A batch ends where a row does.
        self.repetitions.get(self.level).copied().unwrap_or(0)
    }

    /// Writes the next value as JSON.
    pub(crate) fn write(&self, text: &mut Vec<u8>) -> Result<(), String> {
        self.values.write(self.value, &self.leaf, text)
    }

    /// Advances by one level.
    pub(crate) fn advance(&mut self) {
        let is_value = self
            .definitions
            .get(self.level)
            .is_none_or(|definition| *definition == self.leaf.most_definition);
        self.value += usize::from(is_value);
        self.level += 1;
    }

    fn error(&self, message: &str) -> ParquetError {
        ParquetError::General(format!("column '{}' {message}", self.leaf.name))
    }
}

/// Values of a batch, independent of their type.
trait Values: Send {
    /// Reads a batch of rows, and returns its number of levels.
    fn refill(
        &mut self,
        rows: usize,
        definitions: &mut Vec<i16>,
        repetitions: &mut Vec<i16>,
    ) -> Result<usize, ParquetError>;

    /// Writes a value as JSON.
    fn write(&self, value: usize, leaf: &Leaf, text: &mut Vec<u8>) -> Result<(), String>;
}

struct TypedColumn<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl<T: DataType> Values for TypedColumn<T>
where
    T::T: Cell,
{
    fn refill(
        &mut self,
        rows: usize,
        definitions: &mut Vec<i16>,
        repetitions: &mut Vec<i16>,
    ) -> Result<usize, ParquetError> {
        self.values.clear();
        let (_, _, levels) =
            self.reader.read_records(rows, Some(definitions), Some(repetitions), &mut self.values)?;
        Ok(levels)
    }

    fn write(&self, value: usize, leaf: &Leaf, text: &mut Vec<u8>) -> Result<(), String> {
        let value = self.values.get(value).ok_or("a value is missing")?;
        value.write(&leaf.kind, text)
    }
}

fn values_of(reader: ColumnReader) -> Box<dyn Values> {
    fn boxed<T: DataType>(reader: ColumnReaderImpl<T>) -> Box<dyn Values>
    where
        T::T: Cell,
    {
        Box::new(TypedColumn { reader, values: Vec::new() })
    }
    match reader {
        ColumnReader::BoolColumnReader(reader) => boxed(reader),
        ColumnReader::Int32ColumnReader(reader) => boxed(reader),
        ColumnReader::Int64ColumnReader(reader) => boxed(reader),
        ColumnReader::Int96ColumnReader(reader) => boxed(reader),
        ColumnReader::FloatColumnReader(reader) => boxed(reader),
        ColumnReader::DoubleColumnReader(reader) => boxed(reader),
        ColumnReader::ByteArrayColumnReader(reader) => boxed(reader),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => boxed(reader),
    }
}
