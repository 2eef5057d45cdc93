//! Follows a journal while another process writes to it.

use super::line::ChecksumSeed;
use super::scan::scan;
use super::segment_names::unsealed_name;
use super::segments::{SegmentReader, segment_paths};
use super::{Header, Scores, check_number};
use crate::JournalId;
use crate::{RecordError, SampleTiming};
use gage_core::{MetricResult, Outcome};
use serde::Deserialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Reads what was added to a journal since the last read. Takes no lock and keeps no records.
#[derive(Debug)]
pub struct JournalTail {
    folder: PathBuf,
    journal_id: JournalId,
    /// End of the good part of the file that was read last.
    at: Option<TailPosition>,
}

/// A position in a journal file.
#[derive(Clone, Debug)]
struct TailPosition {
    /// Its name while it is not sealed.
    name: String,
    /// Number of bytes and of lines before it.
    bytes: u64,
    lines: u64,
}

/// A line of the journal, without the texts of its sample.
#[derive(Clone, Debug, PartialEq)]
pub struct TailEntry {
    /// Task id.
    pub task_id: String,
    /// The number of the row in the task's dataset order, counted from 0.
    pub index: u64,
    /// Outcome of the sample; `None` if it is answered and awaits scores.
    pub outcome: Option<Outcome>,
    /// Timing of the model call; `None` in lines of scores, whose answer came before.
    pub timing: Option<SampleTiming>,
    /// Token count of the answer; `None` if the line has no answer or its tokens were not counted.
    pub completion_tokens: Option<u64>,
    /// Results of the metrics.
    pub metrics: Vec<MetricResult>,
    /// Time at which the sample was done, in milliseconds since 1970, UTC; 0 if unknown.
    pub finished_unix_ms: u64,
}

/// Result of reading new lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailRead {
    /// All new lines were reported; this is their number.
    Added(u64),
    /// The journal is shorter than before. Nothing was reported, all earlier entries are void, and the next
    /// call starts from the beginning.
    Restarted,
}

impl JournalTail {
    /// Follows the journal of a run folder, from its start. The manifest of the run has its id.
    pub fn new(folder: &Path, journal_id: JournalId) -> JournalTail {
        JournalTail { folder: folder.to_owned(), journal_id, at: None }
    }

    /// Returns the id of the journal.
    pub fn journal_id(&self) -> JournalId {
        self.journal_id
    }

    /// Reports new lines in the order in which they were written. A torn end is left for the next call. If a
    /// sample has several lines, the last counts.
    ///
    /// # Errors
    /// Same as for [`JournalIndex::read`](crate::JournalIndex::read). The next call then starts where this
    /// one did.
    pub fn read_new(&mut self, mut on_entry: impl FnMut(TailEntry)) -> Result<TailRead, RecordError> {
        let mut count = 0;
        for path in segment_paths(&self.folder)? {
            let name = unsealed_name(&path);
            let (start, before) = match &self.at {
                Some(last) if name < last.name => continue,
                Some(last) if name == last.name => (last.bytes, last.lines),
                _ => (0, 0),
            };
            let seed = ChecksumSeed::of_journal(self.journal_id);
            let first = if before == 0 { ChecksumSeed::NONE } else { seed };
            let failed = |source| RecordError::unreadable_journal(&path, source);
            let mut reader = SegmentReader::open(&path).map_err(failed)?;
            let length = reader.length();
            if length < start {
                self.at = None;
                return Ok(TailRead::Restarted);
            }
            if length > start {
                reader.seek_to(start);
                let journal_id = self.journal_id;
                let mut lines = before;
                let scanned = scan(&path, reader, first, |line| {
                    lines = before + line.number;
                    if lines == 1 {
                        Header::check(&path, line.json, journal_id)?;
                        return Ok(seed);
                    }
                    let line: TailLine<'_> = serde_json::from_slice(line.json).map_err(|error| {
                        RecordError::invalid(&path, format!("not a sample record: {error}"))
                    })?;
                    check_number(lines, line.line)
                        .map_err(|reason| RecordError::damaged(&path, lines, reason))?;
                    on_entry(line.into());
                    count += 1;
                    Ok(seed)
                })?;
                let bytes = start + scanned.good_bytes;
                self.at = Some(TailPosition { name, bytes, lines });
            }
        }
        Ok(TailRead::Added(count))
    }
}

/// The reported parts of a line. Other parts are skipped without being built.
#[derive(Deserialize)]
struct TailLine<'a> {
    line: Option<u64>,
    #[serde(borrow)]
    task_id: Cow<'a, str>,
    index: u64,
    outcome: Outcome,
    #[serde(default)]
    awaits_scores: bool,
    scores: Option<Scores>,
    #[serde(default)]
    metrics: Vec<MetricResult>,
    timing: Option<SampleTiming>,
    model_output: Option<TailOutput>,
}

#[derive(Deserialize)]
struct TailOutput {
    usage: Option<TailUsage>,
}

#[derive(Deserialize)]
struct TailUsage {
    completion_tokens: Option<u64>,
}

impl From<TailLine<'_>> for TailEntry {
    fn from(line: TailLine<'_>) -> TailEntry {
        let usage = line.model_output.and_then(|output| output.usage);
        let (metrics, finished_unix_ms) = match line.scores {
            Some(scores) => (scores.metrics, scores.finished_unix_ms),
            None => (line.metrics, line.timing.map_or(0, |timing| timing.finished_unix_ms)),
        };
        TailEntry {
            task_id: line.task_id.into_owned(),
            index: line.index,
            outcome: (!line.awaits_scores).then_some(line.outcome),
            timing: line.timing,
            completion_tokens: usage.and_then(|usage| usage.completion_tokens),
            metrics,
            finished_unix_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_record::tests::record;
    use crate::{AnswerEntry, JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, ScoresEntry};
    use gage_core::RecordedForm;
    use gage_recorded_messages::RecordedError as _;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    fn begun() -> (tempfile::TempDir, RunFolder, JournalWriter) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "run").unwrap();
        Manifest::new("run", "0.1.0", RunIdentity::default()).write(&folder).unwrap();
        let writer = JournalWriter::open(&folder).unwrap().writer;
        (root, folder, writer)
    }

    fn seen(tail: &mut JournalTail) -> Vec<(u64, Option<Outcome>)> {
        let mut entries = Vec::new();
        let read = tail.read_new(|entry| entries.push((entry.index, entry.outcome))).unwrap();
        assert_eq!(read, TailRead::Added(entries.len() as u64));
        entries
    }

    #[test]
    fn each_line_is_told_of_once_when_it_is_whole() {
        let (_root, folder, mut writer) = begun();
        let mut tail = JournalTail::new(folder.path(), folder.journal_id());
        assert_eq!(seen(&mut tail), []);
        writer.append_whole(&[record("t", 1, "b"), record("t", 0, "a")]).unwrap();
        let scored = Some(Outcome::Scored);
        assert_eq!(seen(&mut tail), [(1, scored), (0, scored)]);
        assert_eq!(seen(&mut tail), []);
        writer.append_whole(&[record("t", 2, "c")]).unwrap();

        // A half-written line is reported once it is complete.
        let path = folder.path_of("journal/000001.jsonl");
        let whole = std::fs::read(&path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(whole.len() as u64 - 7).unwrap();
        assert_eq!(seen(&mut tail), []);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&whole[whole.len() - 7..]).unwrap();
        assert_eq!(seen(&mut tail), [(2, scored)]);
    }

    #[test]
    fn an_answer_awaits_its_scores() {
        let (_root, folder, mut writer) = begun();
        let whole = record("t", 0, "a");
        let output = whole.model_output.clone().unwrap();
        let answer = AnswerEntry {
            task_id: "t",
            index: 0,
            sample_id: "s",
            row_digest: "d",
            outcome: Outcome::Scored,
            sample: RecordedForm((&whole.sample).into()),
            support_output: None,
            model_output: (&output).into(),
            judge_output: None,
            timing: whole.timing,
            awaits_scores: true,
            awaits_judges: false,
        };
        let scores = ScoresEntry {
            task_id: "t".into(),
            index: 0,
            sample_id: "s".into(),
            row_digest: "d".into(),
            outcome: Outcome::Refused,
            scores: Scores { metrics: whole.metrics.clone(), finished_unix_ms: 7, ..Scores::default() },
        };
        writer.append_batch([JournalEntry::Answer(answer), JournalEntry::Scores(&scores)]).unwrap();
        let mut tail = JournalTail::new(folder.path(), folder.journal_id());
        let mut entries = Vec::new();
        tail.read_new(|entry| entries.push(entry)).unwrap();
        assert_eq!((entries[0].outcome, entries[0].timing), (None, Some(whole.timing)));
        assert_eq!((entries[1].outcome, entries[1].timing), (Some(Outcome::Refused), None));
        assert_eq!((&entries[1].metrics, entries[1].finished_unix_ms), (&whole.metrics, 7));
    }

    #[test]
    fn a_journal_that_became_shorter_is_read_anew() {
        let (_root, folder, mut writer) = begun();
        writer.append_whole(&[record("t", 0, "a")]).unwrap();
        let path = folder.path_of("journal/000001.jsonl");
        let one = std::fs::metadata(&path).unwrap().len();
        writer.append_whole(&[record("t", 1, "b")]).unwrap();
        let mut tail = JournalTail::new(folder.path(), folder.journal_id());
        assert_eq!(seen(&mut tail).len(), 2);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(one).unwrap();
        assert_eq!(tail.read_new(|_| panic!("nothing is told of")).unwrap(), TailRead::Restarted);
        assert_eq!(seen(&mut tail), [(0, Some(Outcome::Scored))]);
    }

    #[test]
    fn damage_and_another_journal_are_errors() {
        let (_root, folder, mut writer) = begun();
        writer.append_whole(&[record("t", 0, "a"), record("t", 1, "b")]).unwrap();
        let mut other = JournalTail::new(folder.path(), JournalId::default());
        let error = other.read_new(|_| ()).unwrap_err().recorded("run_folders");
        let id = folder.journal_id();
        assert!(
            error.contains(&format!("it has the journal id {id}, and the manifest of the run")),
            "{error}"
        );
        let path = folder.path_of("journal/000001.jsonl");
        let mut bytes = std::fs::read(&path).unwrap();
        let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
        bytes[second] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = JournalTail::new(folder.path(), folder.journal_id())
            .read_new(|_| ())
            .unwrap_err()
            .recorded("run_folders");
        assert!(error.contains("line 2: the checksum does not match, and the line is whole"), "{error}");
    }
}
