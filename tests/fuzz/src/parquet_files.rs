//! Rows in Parquet.

use crate::datasets::{DatasetFile, check_rows, rows_of};
use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_config::FileFormat;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::strategy::BoxedStrategy;
use std::sync::Arc;

/// Parquet files.
pub const TARGET: Target = Target { name: "parquet_files", cases: 400, seeds, inputs, check };

const TOKENS: &[&str] = &[
    "PAR1",
    "PARE",
    "\u{15}\u{0}\u{15}",
    "\u{19}",
    "\u{1c}",
    "\u{0}",
    "UTF8",
    "LIST",
    "element",
    "n",
    "created_by",
    "text 1",
    "(\u{b5}/\u{fd}",
];

const SCHEMA: &str = "message rows {
    required int32 day (DATE); required int64 ms (TIMESTAMP(MILLIS,true)); required int32 price (DECIMAL(9,2));
    optional boolean b; required double d; optional binary t (UTF8);
    optional group l (LIST) { repeated group list { optional binary element (UTF8); } } }";

/// Number of rows.
const ROWS: usize = 10;

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) -> ParquetResult<()> {
    let missing = || ParquetError::General("there is no further column".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, definitions, repetitions)?;
    column.close()
}

fn file(compression: Compression) -> ParquetResult<Vec<u8>> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties)?;
    let mut group = writer.next_row_group()?;
    let texts = |count: usize| -> Vec<ByteArray> {
        (0..count).map(|number| ByteArray::from(format!("text {}", number % 3).into_bytes())).collect()
    };
    write_column::<Int32Type>(&mut group, &[19_782; ROWS], None, None)?;
    write_column::<Int64Type>(&mut group, &[1_700_000_000_123; ROWS], None, None)?;
    write_column::<Int32Type>(&mut group, &[-1_234; ROWS], None, None)?;
    write_column::<BoolType>(&mut group, &[true; ROWS], Some(&[1; ROWS]), None)?;
    write_column::<DoubleType>(&mut group, &[0.5; ROWS], None, None)?;
    write_column::<ByteArrayType>(&mut group, &texts(ROWS), Some(&[1; ROWS]), None)?;
    let repetitions: Vec<i16> = [0, 1].repeat(ROWS);
    let definitions = [3_i16; 2 * ROWS];
    write_column::<ByteArrayType>(&mut group, &texts(2 * ROWS), Some(&definitions), Some(&repetitions))?;
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn seeds() -> Vec<Vec<u8>> {
    let compressions =
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())];
    compressions.into_iter().filter_map(|compression| file(compression).ok()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let file = DatasetFile::write(input)?;
    let rows = rows_of(&file.dataset(FileFormat::Parquet)?);
    if let Ok(rows) = &rows {
        check_rows(rows)?;
    }
    Ok(Verdict::of(&rows))
}
