//! `samples.jsonl`: one line per sample in dataset order. Runs with the same answers produce the same bytes.

use crate::format::{JOURNAL_FOLDER, SAMPLES_FILE};
use crate::{AtomicFile, ErrorNote, FileDigest, RecordError, RecordView, RunFolder};
use compact_str::CompactString;
use gage_core::{
    Digest, LazyJson, ListedCard, ListedForm, ListedOutput, MetricResult, Outcome, RecordedSample,
    RepeatedTexts, ScoreCard,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::io::{self, Write as _};
use std::iter;
use std::path::Path;

/// A line of `samples.jsonl` that was read: a [`SampleRecord`](crate::SampleRecord) without the parts that vary from run to run, and without
/// what the journal, the manifest and the summary say.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SampleLine {
    /// Task id.
    pub task_id: String,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// The Sample's id.
    pub sample_id: String,
    /// Outcome of the sample.
    pub outcome: Outcome,
    /// Cause of the failure, if the sample failed.
    #[serde(default)]
    pub error: Option<ErrorNote>,
    /// The Sample as it was sent; null for an invalid row.
    pub sample: RecordedSample,
    /// Beginning of the row, if it is invalid.
    #[serde(default)]
    pub row: Option<String>,
    /// Output of support steps, by adapter.
    #[serde(default)]
    pub support_output: Option<Value>,
    /// Output of the model; null if there is none.
    #[serde(default)]
    pub model_output: Option<LazyJson>,
    /// Output of the judge.
    #[serde(default)]
    pub judge_output: Option<Value>,
    metrics: Vec<LineResult>,
}

/// Result of a metric in a line. Without an outcome it is scored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct LineResult {
    metric_id: CompactString,
    outcome: Option<Outcome>,
    card: Option<ScoreCard>,
    error: Option<String>,
}

impl SampleLine {
    /// Takes the results of the metrics, in suite order, without their versions.
    pub fn take_results(&mut self) -> Vec<MetricResult> {
        let result = |LineResult { metric_id, outcome, card, error }| MetricResult {
            metric_id,
            schema_version: CompactString::default(),
            scorer_version: CompactString::default(),
            prompt_version: CompactString::default(),
            outcome: outcome.unwrap_or(Outcome::Scored),
            card,
            error,
        };
        std::mem::take(&mut self.metrics).into_iter().map(result).collect()
    }
}

/// A line of `samples.jsonl` to be written.
#[derive(Serialize)]
struct ListedSample<'a> {
    task_id: &'a str,
    index: u64,
    sample_id: &'a str,
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorNote>,
    sample: ListedForm<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    support_output: Option<&'a Value>,
    model_output: ListedOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge_output: Option<&'a Value>,
    metrics: ListedResults<'a>,
}

impl<'a> From<&RecordView<'a>> for ListedSample<'a> {
    fn from(record: &RecordView<'a>) -> ListedSample<'a> {
        ListedSample {
            task_id: record.task_id,
            index: record.index,
            sample_id: record.sample_id,
            outcome: record.outcome,
            error: record.error,
            sample: ListedForm { sample: record.sample, index: record.index },
            row: record.row,
            support_output: record.support_output,
            model_output: ListedOutput(record.model_output),
            judge_output: record.judge_output,
            metrics: ListedResults(*record),
        }
    }
}

/// The results of metrics. Their versions are those of the task, which `summary.json` holds.
struct ListedResults<'a>(RecordView<'a>);

#[derive(Serialize)]
struct ListedResult<'a> {
    metric_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    card: Option<ListedCard<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Serialize for ListedResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RecordView { sample, model_output, metrics, .. } = self.0;
        if metrics.is_empty() {
            return serializer.collect_seq(iter::empty::<ListedResult<'_>>());
        }
        let texts = RepeatedTexts::of(sample, model_output);
        serializer.collect_seq(metrics.iter().map(
            |MetricResult { metric_id, outcome, card, error, .. }| ListedResult {
                metric_id,
                outcome: Some(*outcome).filter(|outcome| *outcome != Outcome::Scored),
                card: card.as_ref().map(|card| ListedCard { card, texts: &texts }),
                error: error.as_deref(),
            },
        ))
    }
}

/// Writes `samples.jsonl` one sample at a time, for callers that also process each record while it is in
/// memory.
pub struct SamplesWriter {
    target: Target,
    line: Vec<u8>,
}

impl SamplesWriter {
    /// Starts the file, which is moved into place when it is finished.
    ///
    /// # Errors
    /// If the folder was opened for reading, or the file system refuses.
    pub fn create(folder: &RunFolder) -> Result<SamplesWriter, RecordError> {
        Ok(SamplesWriter { target: Target::File(folder.create_atomically(SAMPLES_FILE)?), line: Vec::new() })
    }

    /// Writes no file; only its digest is computed.
    pub fn digest_only() -> SamplesWriter {
        SamplesWriter { target: Target::Digest(Sha256::new(), 0), line: Vec::new() }
    }

    /// Writes the next sample. The caller is responsible for the order.
    ///
    /// # Errors
    /// If the record has a damaged part that was not read before, or if the disk is full or fails.
    pub fn write(&mut self, record: &RecordView<'_>) -> Result<(), RecordError> {
        self.line.clear();
        if let Err(error) = serde_json::to_writer(&mut self.line, &ListedSample::from(record)) {
            let journal = self.path().with_file_name(JOURNAL_FOLDER);
            return Err(RecordError::damaged_sample(&journal, record.task_id, record.sample_id, &error));
        }
        self.line.push(b'\n');
        let written = self.target.write(&self.line);
        written.map_err(|source| RecordError::io("write", self.path(), source))
    }

    fn path(&self) -> &Path {
        match &self.target {
            Target::File(file) => file.path(),
            Target::Digest(..) => Path::new(SAMPLES_FILE),
        }
    }

    /// Moves the file into place.
    ///
    /// # Errors
    /// If the disk is full or fails. The previous file is then unchanged.
    pub fn finish(self) -> Result<FileDigest, RecordError> {
        match self.target {
            Target::File(file) => file.commit(),
            Target::Digest(hasher, bytes) => Ok(FileDigest { digest: Digest::of_hasher(hasher), bytes }),
        }
    }
}

/// Where the lines go.
enum Target {
    File(AtomicFile),
    /// Nowhere: the digest so far and the number of bytes.
    Digest(Sha256, u64),
}

impl Target {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Target::File(file) => file.write_all(line),
            Target::Digest(hasher, bytes) => {
                hasher.update(line);
                *bytes += line.len() as u64;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{JournalIndex, JournalWriter, Manifest, RunIdentity, SampleRecord};
    use std::fs;

    /// Writes `samples.jsonl` from the journal.
    pub(crate) fn write_samples(folder: &RunFolder, index: &JournalIndex, task_order: &[&str]) -> FileDigest {
        let mut writer = SamplesWriter::create(folder).unwrap();
        index
            .records_in_order(task_order)
            .for_each(|record| writer.write(&(&record.unwrap()).into()).unwrap());
        writer.finish().unwrap()
    }

    fn samples_of(batches: &[&[SampleRecord]]) -> (Vec<u8>, FileDigest) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let mut writer = JournalWriter::open(&folder).unwrap().writer;
        batches.iter().for_each(|batch| writer.append_whole(batch).unwrap());
        let index = JournalIndex::read(&folder).unwrap();
        let digest = write_samples(&folder, &index, &["b", "a"]);
        (fs::read(folder.path_of(SAMPLES_FILE)).unwrap(), digest)
    }

    #[test]
    fn bytes_do_not_depend_on_order_batches_or_clocks() {
        let (a0, a1, b0) = (record("a", 0, "x"), record("a", 1, "y"), record("b", 0, "z"));
        let mut slow = a0.clone();
        slow.timing.latency_ms = 9_999.0;
        slow.timing_metrics.clear();
        let (one, digest) = samples_of(&[&[a0.clone(), a1.clone(), b0.clone()]]);
        let (two, _) = samples_of(&[&[b0], &[a1], &[a0], &[slow]]);
        assert_eq!(String::from_utf8(one.clone()).unwrap(), String::from_utf8(two).unwrap());
        assert_eq!(digest, FileDigest { digest: Digest::of_bytes(&one), bytes: one.len() as u64 });
    }

    #[test]
    fn damaged_texts_are_errors_that_name_their_sample() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        for text in [r#"{"prompt_tokens":1e400}"#, r#"{"answer":"\ud800"}"#] {
            let damaged =
                SampleRecord { model_output: Some(LazyJson::of_written(text)), ..record("t", 3, "x") };
            for mut writer in [SamplesWriter::create(&folder).unwrap(), SamplesWriter::digest_only()] {
                let error = writer.write(&(&damaged).into()).unwrap_err();
                assert!(matches!(error, RecordError::Invalid { .. }), "{error:?}");
                let message = error.to_string();
                assert!(message.contains("journal cannot be used: sample 's-3' of task 't': "), "{message}");
            }
        }
    }

    #[test]
    fn a_line_has_the_keys_of_the_format_in_their_order() {
        let (text, _) = samples_of(&[&[record("a", 0, "x")]]);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            concat!(
                r#"{"task_id":"a","index":0,"sample_id":"s-0","outcome":"scored","#,
                r#""sample":{"messages":[]},"model_output":{"answer":"x"},"#,
                r#""metrics":[{"metric_id":"exact_match","#,
                r#""card":{"primary_score":0.1,"pass":false}}]}"#,
                "\n"
            )
        );
    }
}
