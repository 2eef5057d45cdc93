//! Logs: on standard error, in a file, and among the events of a run.

use crate::sample_scope::{SampleScope, with_current};
use crate::{Event, Level, Trace};
use gage_core::{Object, printable_line, system_message};
use gage_secrets::{redact, redact_value};
use parking_lot::RwLock;
use serde_json::{Value, json};
use std::fmt;
use std::fs::File;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_log::NormalizeEvent as _;
use tracing_serde::fields::AsMap as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::{self, Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For human readers.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Selection and destinations of logs.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// Filter of the logs to show: `warn`, or `info,llama-cpp-2=debug`.
    pub filter: String,
    /// Format of the lines.
    pub format: LogFormat,
    /// File that the logs are also appended to; `filter` applies to it too.
    pub file: Option<PathBuf>,
    /// Minimum level of the logs to include in the events of the run, regardless of `filter`. `None` includes none.
    pub sink: Option<Level>,
}

/// Failure to set up the logs.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is invalid.
    #[error("the log filter '{text}' is not valid: {source}")]
    Filter {
        /// Filter as given.
        text: String,
        /// Cause of the failure.
        source: ParseError,
    },
    /// The file cannot be opened.
    #[error("cannot write logs to {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
}

/// Sets up the logs; `writer` is the standard error stream. Only the first call has an effect.
///
/// # Errors
/// When the filter is invalid, or the file cannot be opened.
pub fn init_logs<W: Write + 'static>(
    settings: &LogSettings,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> Result<(), LogError> {
    let colour =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let writer = Arc::new(writer);
    let errors = Arc::clone(&writer);
    let shown = lines(settings.format, colour, move || writer()).with_filter(filter_of(&settings.filter)?);
    let file = match &settings.file {
        None => None,
        Some(path) => {
            let file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|source| LogError::File { path: path.clone(), source })?;
            let log = Arc::new(LogFile::new(file, path, move || errors()));
            let file = lines(settings.format, false, move || LogFileWriter(Arc::clone(&log)));
            Some(file.with_filter(filter_of(&settings.filter)?))
        }
    };
    let sink = match settings.sink {
        None => None,
        // The warnings of llama.cpp about a model file, which its process forwards, are not events of a run.
        Some(level) => Some(LogSink.with_filter(filter_of(&format!("{},llama-cpp-2=error", level.name()))?)),
    };
    // Fails only if a subscriber is already set.
    let _ = tracing_subscriber::registry().with(shown).with(file).with(sink).try_init();
    Ok(())
}

/// Parses the levels of targets. Unlike `EnvFilter`, they cost nothing when a span is entered.
fn filter_of(text: &str) -> Result<Targets, LogError> {
    text.parse::<Targets>().map_err(|source| LogError::Filter { text: text.to_owned(), source })
}

fn lines<S, W: Write + 'static>(
    format: LogFormat,
    colour: bool,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(move || RedactingWriter(writer()))
        .with_ansi(colour)
        .log_internal_errors(false);
    match format {
        LogFormat::Text => Box::new(layer.event_format(MessageFormat)),
        LogFormat::Json => Box::new(layer.json().event_format(JsonFormat(format::format().json()))),
    }
}

/// Format of a line for people, as other messages of the program have it: `warning: message key=value (task="t")`. Lines
/// below warnings also name the module. A message of several lines stays on one line, because it may hold text of a server
/// or a plugin, which could imitate other messages.
struct MessageFormat;

impl<S, N> FormatEvent<S, N> for MessageFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        let level = *metadata.level();
        let (name, colour) = match level {
            tracing::Level::ERROR => ("error", 31),
            tracing::Level::WARN => ("warning", 33),
            tracing::Level::INFO => ("info", 32),
            tracing::Level::DEBUG => ("debug", 34),
            tracing::Level::TRACE => ("trace", 35),
        };
        match writer.has_ansi_escapes() {
            true => write!(writer, "\x1b[1;{colour}m{name}\x1b[0m: ")?,
            false => write!(writer, "{name}: ")?,
        }
        if level > tracing::Level::WARN {
            write!(writer, "{}: ", metadata.target())?;
        }
        let mut fields = String::new();
        context.format_fields(Writer::new(&mut fields), event)?;
        writer.write_str(&printable_line(&fields))?;
        let mut spans = Vec::new();
        for span in context.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.trim().to_owned());
            spans.extend(fields.filter(|fields| !fields.is_empty()));
        }
        spans.extend(with_current(|SampleScope { task_id, sample_id }| {
            format!("task={task_id:?} sample={sample_id:?}")
        }));
        if !spans.is_empty() {
            write!(writer, " ({})", spans.join(" "))?;
        }
        writeln!(writer)
    }
}

/// Format of a line of JSON: that of `tracing`, and the sample that the line is about.
struct JsonFormat(Format<Json>);

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let about =
            with_current(|scope| json!({ "task": *scope.task_id, "sample": *scope.sample_id }).to_string());
        match (about, line.trim_end().strip_suffix('}')) {
            (Some(about), Some(object)) => writeln!(writer, "{object},{}", &about[1..]),
            _ => writer.write_str(&line),
        }
    }
}

/// A file of logs. The first line that it does not take is reported on the standard error stream.
struct LogFile<F> {
    file: File,
    path: PathBuf,
    /// Opens the standard error stream.
    errors: F,
    has_failed: AtomicBool,
}

impl<F> LogFile<F> {
    fn new(file: File, path: &Path, errors: F) -> LogFile<F> {
        LogFile { file, path: path.to_owned(), errors, has_failed: AtomicBool::new(false) }
    }
}

/// Writes lines to a file of logs.
struct LogFileWriter<F>(Arc<LogFile<F>>);

impl<W: Write, F: Fn() -> W> Write for LogFileWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let log = &*self.0;
        let written = (&log.file).write_all(bytes);
        if let Err(error) = &written
            && !log.has_failed.swap(true, Ordering::Relaxed)
        {
            let (path, error) = (log.path.display().to_string(), system_message(error));
            let warning = format!("cannot write logs to {path}: {error}; the file lacks lines");
            // Without the stream, there is nowhere to report it.
            let _ = writeln!((log.errors)(), "warning: {}", printable_line(&warning));
        }
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        (&self.0.file).flush()
    }
}

/// Writes lines with secrets redacted. Each line must arrive in one piece.
struct RedactingWriter<W>(W);

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(redact(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Trace of the current run, which receives logs as events.
static SINK: RwLock<Option<Trace>> = RwLock::new(None);

/// Sends logs to the events of a run from now on, or stops doing so if there is no trace.
pub(crate) fn send_logs_to(trace: Option<Trace>) {
    *SINK.write() = trace;
}

struct LogSink;

/// Text fields of a span: its task and its sample.
#[derive(Default)]
struct SpanTexts(Vec<(&'static str, String)>);

impl Visit for SpanTexts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for LogSink {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut texts = SpanTexts::default();
        attributes.record(&mut texts);
        span.extensions_mut().insert(texts);
    }

    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        // A log written while the sink changes belongs to no run.
        let Some(sink) = SINK.try_read() else { return };
        let Some(trace) = &*sink else { return };
        // Events of the crate `log` have their target among their fields, with source paths of their crate.
        let normalized = event.normalized_metadata();
        let metadata = normalized.as_ref().unwrap_or_else(|| event.metadata());
        let mut fields = Object::from_iter([("target".to_owned(), metadata.target().into())]);
        if let Ok(Value::Object(own)) = serde_json::to_value(event.field_map()) {
            fields.extend(own.into_iter().filter(|(name, _)| !name.starts_with("log.")));
        }
        let about = |scope: &SampleScope| {
            [&*scope.task_id, &*scope.sample_id].map(|text| Some(redact(text).into_owned()))
        };
        let [mut task_id, mut sample_id] = with_current(about).unwrap_or_default();
        for span in context.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            for (name, text) in extensions.get::<SpanTexts>().into_iter().flat_map(|texts| &texts.0) {
                match *name {
                    "task" => drop(task_id.get_or_insert_with(|| redact(text).into_owned())),
                    "sample" => drop(sample_id.get_or_insert_with(|| redact(text).into_owned())),
                    name => drop(fields.entry(name).or_insert_with(|| text.as_str().into())),
                }
            }
        }
        // Events have no level `trace`.
        let level = metadata.level().as_str().parse().unwrap_or(Level::Debug);
        let mut fields = Value::Object(fields);
        redact_value(&mut fields);
        let event = Event { task_id, sample_id, ..Event::new("log", level, fields) };
        if level >= Level::Warn { trace.emit(event) } else { trace.emit_best_effort(event) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryRecorder, in_sample_scope};

    #[test]
    fn a_filter_names_the_target_of_llama_cpp() {
        for (filter, expected) in
            [("warn", [true, true]), ("warn,llama-cpp-2=off", [true, false]), ("error", [false, true])]
        {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let layer = lines(LogFormat::Text, false, move || writer.try_clone().expect("a writer"))
                .with_filter(filter_of(filter).expect("a filter"));
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                tracing::warn!("a warning");
                tracing::error!(target: "llama-cpp-2", "of llama.cpp");
            });
            let text = std::io::read_to_string(reader).expect("a text");
            assert_eq!(["a warning", "of llama.cpp"].map(|line| text.contains(line)), expected, "{filter}");
        }
        assert!(filter_of("=====").is_err());
    }

    #[test]
    fn a_file_that_takes_no_lines_is_reported_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, "").expect("written");
        // It is only open for reading.
        let file = File::open(&path).expect("a file");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let log = Arc::new(LogFile::new(file, &path, move || writer.try_clone().expect("a writer")));
        let layer = lines(LogFormat::Text, false, move || LogFileWriter(Arc::clone(&log)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!("one");
            tracing::warn!("two");
        });
        let text = std::io::read_to_string(reader).expect("a text");
        let begin = format!("warning: cannot write logs to {}: ", path.display());
        assert!(text.starts_with(&begin) && text.ends_with("; the file lacks lines\n"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn a_message_with_line_breaks_stays_on_one_line() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let layer = lines(format, true, move || writer.try_clone().expect("a writer"));
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                let reason = "c\u{202e}\n::error::d";
                tracing::warn!(%reason, "a\n::error::b\rc");
            });
            let text = std::io::read_to_string(reader).expect("a text");
            assert_eq!(text.lines().count(), 1, "{text}");
            if format == LogFormat::Text {
                let expected = ": a\\n::error::b\\rc reason=c\\u{202e}\\n::error::d\n";
                assert!(text.ends_with(expected), "{text}");
            }
        }
    }

    #[test]
    fn a_line_about_a_sample_names_it() {
        for (format, expected) in [
            (LogFormat::Text, "warning: slow count=3 (task=\"math\" sample=\"q\\\"7\")\n"),
            (LogFormat::Json, ",\"task\":\"math\",\"sample\":\"q\\\"7\"}\n"),
        ] {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            let layer = lines(format, false, move || writer.try_clone().expect("a writer"));
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                let sample = SampleScope::new(&"math".into(), "q\"7");
                in_sample_scope(Some(sample), || tracing::warn!(count = 3, "slow"));
                tracing::warn!("of no sample");
            });
            let text = std::io::read_to_string(reader).expect("a text");
            let (first, second) = text.split_at(text.find('\n').map_or(0, |end| end + 1));
            assert!(first.ends_with(expected), "{text}");
            assert!(second.contains("of no sample") && !second.contains("math"), "{text}");
            if format == LogFormat::Json {
                let line: Value = serde_json::from_str(first).expect("JSON");
                assert_eq!((&line["fields"]["message"], &line["sample"]), (&json!("slow"), &json!("q\"7")));
            }
        }
    }

    #[test]
    fn logs_are_among_the_events_of_the_run_that_goes_on() {
        let subscriber = tracing_subscriber::registry().with(LogSink);
        let memory = MemoryRecorder::default();
        let trace = Trace::start(vec![Box::new(memory.clone())], 0).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!("before the run");
            send_logs_to(Some(trace.clone()));
            tracing::warn!(count = 3, name = "a", "something {}", "happened");
            tracing::debug!("small");
            tracing::error_span!("task", task = "math").in_scope(|| {
                let sample = SampleScope::new(&"math".into(), "q7");
                in_sample_scope(Some(sample), || tracing::warn!("slow"));
                tracing::error_span!("score", first = "q1", last = "q8").in_scope(|| tracing::warn!("odd"));
            });
            send_logs_to(None);
            tracing::warn!("after it");
        });
        trace.finish(std::time::Instant::now());
        let events = memory.events();
        assert_eq!(events.len(), 4, "{events:?}");
        assert_eq!((events[0].kind.as_ref(), events[0].level), ("log", Level::Warn));
        assert_eq!(events[0].payload["message"], "something happened");
        assert_eq!((&events[0].payload["count"], &events[0].payload["name"]), (&3.into(), &"a".into()));
        assert_eq!((events[1].level, &events[1].task_id), (Level::Debug, &None));
        let about = |number: usize| (events[number].task_id.as_deref(), events[number].sample_id.as_deref());
        assert_eq!((about(2), about(3)), ((Some("math"), Some("q7")), (Some("math"), None)));
        assert_eq!((&events[3].payload["first"], &events[3].payload["last"]), (&"q1".into(), &"q8".into()));
    }
}
