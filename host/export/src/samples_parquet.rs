//! All samples in one Parquet file: columns for filtering, and each full sample as JSON.

use super::files::{ExportFile, Files};
use super::run::ExportedRun;
use super::{ExportError, ExportReport, text};
use gage_core::Outcome;
use gage_record::SampleRecord;
use itertools::Itertools as _;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{AsBytes as _, BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A row group is written once it reaches this number of rows, or of bytes of text.
const MAX_BATCH_ROWS: usize = 8_192;
const MAX_BATCH_BYTES: usize = 32 << 20;

/// A column, and its values not yet written to a row group.
struct SamplesColumn<D: DataType> {
    name: String,
    converted: ConvertedType,
    read: Box<ReadValue<D::T>>,
    values: Vec<Option<D::T>>,
}

type ReadValue<T> = dyn Fn(&Row<'_>) -> Option<T>;

/// A column of any type.
trait AnyColumn {
    fn field(&self) -> Result<Type, ParquetError>;

    /// Adds the value of a record. Returns its approximate size in bytes.
    fn add(&mut self, row: &Row<'_>) -> usize;

    /// Writes the pending values.
    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, &mut ExportFile>,
    ) -> Result<(), ParquetError>;
}

/// A record, and the number of repeats in its task.
struct Row<'r> {
    record: &'r SampleRecord,
    repeat: u64,
}

pub(super) fn write(
    run: &ExportedRun<'_>,
    path: &Path,
    files: &mut Files,
) -> Result<ExportReport, ExportError> {
    let mut file = files.create(path)?;
    let failed = |error: ParquetError| ExportError::write(path, std::io::Error::other(error));
    let mut columns = columns(run);
    let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<Vec<_>, _>>();
    let schema = fields.and_then(|fields| Type::group_type_builder("samples").with_fields(fields).build());
    let facts = [
        ("gage_host.run_id", run.source.run_id()),
        ("gage_host.version", run.source.manifest().host_version.as_str()),
    ];
    let facts = facts.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("gage-host {}", run.source.manifest().host_version))
        .set_key_value_metadata(Some(facts.into()))
        .build();
    let writer = schema
        .and_then(|schema| SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)));
    let mut writer = writer.map_err(failed)?;
    let mut exported = ExportReport::default();
    let (mut rows, mut bytes) = (0, 0);
    for record in run.records()? {
        let record = record?;
        let row = Row { record: &record, repeat: run.source.repeat(&record.task_id) };
        bytes += columns.iter_mut().map(|column| column.add(&row)).sum::<usize>();
        rows += 1;
        exported.samples += 1;
        if rows == MAX_BATCH_ROWS || bytes >= MAX_BATCH_BYTES {
            write_group(&mut writer, &mut columns).map_err(failed)?;
            (rows, bytes) = (0, 0);
        }
    }
    if rows > 0 {
        write_group(&mut writer, &mut columns).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    file.finish()?;
    Ok(exported)
}

fn write_group(
    writer: &mut SerializedFileWriter<&mut ExportFile>,
    columns: &mut [Box<dyn AnyColumn>],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close().map(|_| ())
}

fn column<D: DataType>(
    name: &str,
    converted: ConvertedType,
    read: impl Fn(&Row<'_>) -> Option<D::T> + 'static,
) -> Box<dyn AnyColumn> {
    let (name, read) = (name.to_owned(), Box::new(read));
    Box::new(SamplesColumn::<D> { name, converted, read, values: Vec::new() })
}

fn bytes(
    name: &str,
    converted: ConvertedType,
    read: impl Fn(&Row<'_>) -> Option<String> + 'static,
) -> Box<dyn AnyColumn> {
    let read = move |row: &Row<'_>| read(row).map(|text| ByteArray::from(text.into_bytes()));
    column::<ByteArrayType>(name, converted, read)
}

/// Returns the columns of a run: three for each metric of any task.
fn columns(run: &ExportedRun<'_>) -> Vec<Box<dyn AnyColumn>> {
    let text = |name: &str, read: fn(&Row<'_>) -> Option<String>| bytes(name, ConvertedType::UTF8, read);
    let json = |name: &str, read: fn(&Row<'_>) -> Option<String>| bytes(name, ConvertedType::JSON, read);
    let whole =
        |name: &str, read: fn(&Row<'_>) -> Option<i64>| column::<Int64Type>(name, ConvertedType::NONE, read);
    let number =
        |name: &str, read: fn(&Row<'_>) -> Option<f64>| column::<DoubleType>(name, ConvertedType::NONE, read);
    let mut columns = vec![
        text("task_id", |row| Some(row.record.task_id.clone())),
        whole("index", |row| signed(row.record.index)),
        whole("repeat", |row| signed(row.record.index % row.repeat)),
        text("sample_id", |row| Some(row.record.sample_id.clone())),
        text("outcome", |row| Some(row.record.outcome.name().to_owned())),
        text("error_stage", |row| Some(row.record.error.as_ref()?.stage.name().to_owned())),
        text("error_kind", |row| Some(row.record.error.as_ref()?.kind.clone())),
        text("error_message", |row| {
            text::failure(row.record).filter(|_| row.record.outcome != Outcome::Scored)
        }),
        text("prompt", |row| {
            Some(text::prompt(&row.record.sample)).filter(|_| row.record.sample.is_object())
        }),
        text("target", |row| {
            Some(text::target(&row.record.sample)).filter(|_| row.record.sample.is_object())
        }),
        text("answer", |row| text::answer(row.record).map(str::to_owned)),
        text("written", |row| text::written(row.record).map(str::to_owned)),
        text("finish_reason", |row| text::output(row.record, "finish_reason").as_str().map(str::to_owned)),
        whole("prompt_tokens", |row| signed(text::tokens(row.record)?.0)),
        whole("completion_tokens", |row| signed(text::tokens(row.record)?.1)),
        number("latency_ms", |row| row.timed(|row| row.record.timing.latency_ms)),
        number("queue_ms", |row| row.timed(|row| row.record.timing.queue_ms)),
        number("first_token_ms", |row| row.record.timing.first_token_ms),
        number("scoring_ms", |row| row.timed(|row| row.record.timing.scoring_ms)),
        // Milliseconds since 1970 in UTC.
        column::<Int64Type>("finished_at", ConvertedType::TIMESTAMP_MILLIS, |row| {
            signed(row.record.timing.finished_unix_ms).filter(|moment| *moment > 0)
        }),
    ];
    let figures = run.tasks().iter().flat_map(|task| run.figures(&task.task_id));
    for id in figures.map(|figure| figure.metric_id).unique() {
        let [score, pass, outcome] = [id.clone(), id.clone(), id.clone()];
        columns.push(column::<DoubleType>(&format!("score.{id}"), ConvertedType::NONE, move |row| {
            row.metric(&score)?.score()
        }));
        columns.push(column::<BoolType>(&format!("pass.{id}"), ConvertedType::NONE, move |row| {
            let result = row.metric(&pass).filter(|result| result.outcome == Outcome::Scored)?;
            result.card.as_ref()?.pass
        }));
        columns.push(bytes(&format!("outcome.{id}"), ConvertedType::UTF8, move |row| {
            Some(row.metric(&outcome)?.outcome.name().to_owned())
        }));
    }
    columns.extend([
        json("sample", |row| {
            Some(&row.record.sample).filter(|sample| !sample.is_null()).map(|sample| sample.to_string())
        }),
        text("row", |row| row.record.row.clone()),
        json("support_output", |row| row.record.support_output.as_ref().map(Value::to_string)),
        json("model_output", |row| row.record.model_output.as_deref().map(Value::to_string)),
        json("judge_output", |row| row.record.judge_output.as_ref().map(Value::to_string)),
        json("metrics", |row| serde_json::to_string(&row.record.metrics).ok()),
    ]);
    columns
}

fn signed(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

impl Row<'_> {
    /// Returns `None` if the run recorded no times.
    fn timed(&self, time: impl FnOnce(&Self) -> f64) -> Option<f64> {
        (self.record.timing.finished_unix_ms > 0).then(|| time(self))
    }

    fn metric(&self, metric_id: &str) -> Option<&gage_core::MetricResult> {
        text::results(self.record).find(|result| result.metric_id == metric_id)
    }
}

impl<D: DataType> AnyColumn for SamplesColumn<D> {
    fn field(&self) -> Result<Type, ParquetError> {
        let builder = Type::primitive_type_builder(&self.name, D::get_physical_type());
        builder.with_repetition(Repetition::OPTIONAL).with_converted_type(self.converted).build()
    }

    fn add(&mut self, row: &Row<'_>) -> usize {
        let value = (self.read)(row);
        let is_text = D::get_physical_type() == Physical::BYTE_ARRAY;
        let size = value.as_ref().filter(|_| is_text).map_or(8, |text| text.as_bytes().len());
        self.values.push(value);
        size
    }

    fn write(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, &mut ExportFile>,
    ) -> Result<(), ParquetError> {
        let missing = || ParquetError::General(format!("no column {}", self.name));
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        let levels: Vec<i16> = self.values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<D::T> = self.values.drain(..).flatten().collect();
        writer.typed::<D>().write_batch(&values, Some(&levels), None)?;
        writer.close()
    }
}
