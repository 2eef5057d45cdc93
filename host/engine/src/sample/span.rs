//! The spans that tie a log line to a batch of samples. They have level `error`, so that every line that passes the filter
//! has them. Work on one sample has a `SampleScope` instead.

use super::result::SampleResult;
use tracing::{Span, error_span};

/// Creates the span of a scored batch: its task, its first and last samples, and their number.
pub(crate) fn of_batch(task_id: &str, batch: &[&SampleResult]) -> Span {
    let first = batch.first().map_or("", |answer| answer.sample_id.as_str());
    let last = batch.last().map_or("", |answer| answer.sample_id.as_str());
    error_span!("score", task = task_id, first, last, samples = batch.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::io::Write;
    use std::sync::Arc;
    use tracing_subscriber::filter::LevelFilter;

    #[derive(Clone, Default)]
    struct LogLines(Arc<Mutex<Vec<u8>>>);

    impl Write for LogLines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines that pass a filter while `work` runs.
    fn lines_of(level: LevelFilter, work: impl FnOnce()) -> String {
        let lines = LogLines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        String::from_utf8(lines.0.lock().clone()).expect("text")
    }

    #[test]
    fn log_lines_name_the_task_and_the_batch() {
        let [mut first, mut second] = [SampleResult::for_test(0), SampleResult::for_test(1)];
        (first.sample_id, second.sample_id) = ("q1".to_owned(), "q2".to_owned());
        let lines = lines_of(LevelFilter::WARN, || {
            of_batch("math", &[&first, &second]).in_scope(|| tracing::warn!("scored"));
        });
        let lines: Vec<&str> = lines.lines().map(str::trim).collect();
        assert!(lines[0].contains("score{task=\"math\" first=\"q1\" last=\"q2\" samples=2}"), "{lines:?}");
    }
}
