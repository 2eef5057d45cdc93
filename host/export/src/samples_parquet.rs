//! All samples as one Parquet file: columns for what people filter by, and the whole of each sample as JSON.

use super::files::Files;
use super::run::ExportedRun;
use super::{ExportError, ExportReport, text};
use gage_core::Outcome;
use gage_record::SampleRecord;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// A group of rows is written when it has so many rows, or so many bytes of text.
const MAX_BATCH_ROWS: usize = 8_192;
const MAX_BATCH_BYTES: usize = 32 << 20;

/// The values of a column that wait for their group to be written.
enum Values {
    Text(Vec<Option<ByteArray>>),
    Json(Vec<Option<ByteArray>>),
    Whole(Vec<Option<i64>>),
    /// Milliseconds since 1970 in UTC.
    Moment(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Flag(Vec<Option<bool>>),
}

struct Column {
    name: String,
    values: Values,
    read: ReadRow,
}

/// Where the value of a column is from.
enum ReadRow {
    Text(fn(&Row<'_>) -> Option<String>),
    Whole(fn(&Row<'_>) -> Option<i64>),
    Number(fn(&Row<'_>) -> Option<f64>),
    /// Of the metric of this name.
    Score(String),
    Pass(String),
    End(String),
}

/// A record, and how often its task asks each sample.
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
    let facts = [("gage_host.run_id", run.id()), ("gage_host.version", run.manifest().host_version.as_str())];
    let facts = facts.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("gage-host {}", run.manifest().host_version))
        .set_key_value_metadata(Some(facts.into()))
        .build();
    let writer = schema
        .and_then(|schema| SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)));
    let mut writer = writer.map_err(failed)?;
    let mut exported = ExportReport::default();
    let (mut rows, mut bytes) = (0, 0);
    for record in run.records()? {
        let record = record?;
        let row = Row { record: &record, repeat: run.repeat(&record.task_id) };
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

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close().map(|_| ())
}

/// The columns of a run: three for each metric that any of its tasks has.
fn columns(run: &ExportedRun<'_>) -> Vec<Column> {
    let text = |name: &str, read| Column::new(name, Values::Text(Vec::new()), ReadRow::Text(read));
    let json = |name: &str, read| Column::new(name, Values::Json(Vec::new()), ReadRow::Text(read));
    let whole = |name: &str, read| Column::new(name, Values::Whole(Vec::new()), ReadRow::Whole(read));
    let number = |name: &str, read| Column::new(name, Values::Number(Vec::new()), ReadRow::Number(read));
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
        Column::new(
            "finished_at",
            Values::Moment(Vec::new()),
            ReadRow::Whole(|row| signed(row.record.timing.finished_unix_ms).filter(|moment| *moment > 0)),
        ),
    ];
    let mut known: Vec<String> = Vec::new();
    for figure in run.tasks().iter().flat_map(|task| run.figures(&task.task_id)) {
        let id = figure.metric_id;
        if known.contains(&id) {
            continue;
        }
        columns.push(Column::new(
            &format!("score.{id}"),
            Values::Number(Vec::new()),
            ReadRow::Score(id.clone()),
        ));
        columns.push(Column::new(&format!("pass.{id}"), Values::Flag(Vec::new()), ReadRow::Pass(id.clone())));
        columns.push(Column::new(
            &format!("outcome.{id}"),
            Values::Text(Vec::new()),
            ReadRow::End(id.clone()),
        ));
        known.push(id);
    }
    columns.extend([
        json("sample", |row| {
            Some(&row.record.sample).filter(|sample| !sample.is_null()).map(Value::to_string)
        }),
        text("row", |row| row.record.row.clone()),
        json("support_output", |row| row.record.support_output.as_ref().map(Value::to_string)),
        json("model_output", |row| row.record.model_output.as_ref().map(Value::to_string)),
        json("judge_output", |row| row.record.judge_output.as_ref().map(Value::to_string)),
        json("metrics", |row| serde_json::to_string(&row.record.metrics).ok()),
    ]);
    columns
}

fn signed(count: u64) -> Option<i64> {
    i64::try_from(count).ok()
}

impl Row<'_> {
    /// Nothing where the run kept no times.
    fn timed(&self, time: impl FnOnce(&Self) -> f64) -> Option<f64> {
        (self.record.timing.finished_unix_ms > 0).then(|| time(self))
    }

    fn metric(&self, metric_id: &str) -> Option<&gage_core::MetricResult> {
        text::results(self.record).find(|result| result.metric_id == metric_id)
    }
}

impl Column {
    fn new(name: &str, values: Values, read: ReadRow) -> Column {
        Column { name: name.to_owned(), values, read }
    }

    fn field(&self) -> Result<Type, ParquetError> {
        let (physical, converted) = match &self.values {
            Values::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Values::Json(_) => (Physical::BYTE_ARRAY, ConvertedType::JSON),
            Values::Whole(_) => (Physical::INT64, ConvertedType::NONE),
            Values::Moment(_) => (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS),
            Values::Number(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Values::Flag(_) => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let builder =
            Type::primitive_type_builder(&self.name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_converted_type(converted).build()
    }

    /// Adds the value of a record; gives about how many bytes it takes.
    fn add(&mut self, row: &Row<'_>) -> usize {
        let text = match &self.read {
            ReadRow::Text(read) => read(row),
            ReadRow::End(id) => row.metric(id).map(|result| result.outcome.name().to_owned()),
            _ => None,
        };
        let size = text.as_ref().map_or(8, String::len);
        match (&mut self.values, &self.read) {
            (Values::Text(values) | Values::Json(values), _) => {
                values.push(text.map(|text| ByteArray::from(text.into_bytes())));
            }
            (Values::Whole(values) | Values::Moment(values), ReadRow::Whole(read)) => values.push(read(row)),
            (Values::Number(values), ReadRow::Number(read)) => values.push(read(row)),
            (Values::Number(values), ReadRow::Score(id)) => {
                values.push(row.metric(id).and_then(|result| result.score()))
            }
            (Values::Flag(values), ReadRow::Pass(id)) => {
                let scored = row.metric(id).filter(|result| result.outcome == Outcome::Scored);
                values.push(scored.and_then(|result| result.card.as_ref()?.pass));
            }
            // No column is read as another kind than it is.
            (Values::Whole(values) | Values::Moment(values), _) => values.push(None),
            (Values::Number(values), _) => values.push(None),
            (Values::Flag(values), _) => values.push(None),
        }
        size
    }

    /// Writes the values that wait.
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let missing = || ParquetError::General(format!("no column {}", self.name));
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        match &mut self.values {
            Values::Text(values) | Values::Json(values) => {
                let (levels, values) = split(values);
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Whole(values) | Values::Moment(values) => {
                let (levels, values) = split(values);
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Number(values) => {
                let (levels, values) = split(values);
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Values::Flag(values) => {
                let (levels, values) = split(values);
                writer.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()
    }
}

/// Which values are there, and those that are. Leaves nothing behind.
fn split<T>(values: &mut Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.drain(..).flatten().collect())
}
