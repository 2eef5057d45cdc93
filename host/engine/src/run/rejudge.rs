//! Judging recorded answers again: they are written as answers that await their judges.

use crate::plan::PlannedTask;
use crate::resume::failed_after_inference;
use crate::sample::result::SampleResult;
use gage_core::Outcome;
use gage_record::{
    AnswerEntry, AnswerReader, JournalEntry, JournalIndex, JournalWriter, RecordError, SampleRecord,
};
use serde_json::Value;
use std::sync::Arc;

/// Number of answers written together.
const BATCH: usize = 256;

/// Appends the recorded answers of tasks with judges as answers that await them. `judges` are those to be asked again;
/// all if it is empty. Verdicts of other judges are kept. If `is_copy`, answers of tasks without judges and samples that
/// failed before their judges are copied.
pub(super) fn await_judges(
    tasks: &[Arc<PlannedTask>],
    index: &JournalIndex,
    judges: &[String],
    is_copy: bool,
    writer: &mut JournalWriter,
) -> Result<(), RecordError> {
    let mut answers = index.answers();
    for task in tasks {
        let task_id = task.spec.task_id.as_str();
        let has_judges = task.judges.is_some();
        if !has_judges && !is_copy {
            continue;
        }
        let mut batch: Vec<SampleResult> = Vec::with_capacity(BATCH);
        let mut failed: Vec<SampleRecord> = Vec::new();
        for (row, _) in index.samples(task_id) {
            match recorded(&mut answers, task_id, row)? {
                Some(JournalSample::Answer(record)) => batch.push(with_kept_verdicts(*record, judges)),
                Some(JournalSample::Failed(record)) if is_copy => failed.push(*record),
                Some(JournalSample::Failed(_)) | None => {}
            }
            if batch.len() + failed.len() >= BATCH {
                write(task_id, &mut batch, &mut failed, has_judges, writer)?;
            }
        }
        write(task_id, &mut batch, &mut failed, has_judges, writer)?;
    }
    Ok(())
}

/// A recorded sample.
enum JournalSample {
    /// The model answered, and judges may read the answer.
    Answer(Box<SampleRecord>),
    /// The sample ended without an answer to judge: its request failed, or the reply was empty, truncated or refused.
    Failed(Box<SampleRecord>),
}

fn recorded(
    answers: &mut AnswerReader<'_>,
    task_id: &str,
    row: u64,
) -> Result<Option<JournalSample>, RecordError> {
    if let Some(record) = answers.read(task_id, row)? {
        return Ok(Some(JournalSample::Answer(Box::new(record))));
    }
    let whole = answers.read_whole(task_id, row)?;
    Ok(whole.map(|record| match failed_after_inference(&record) {
        true => JournalSample::Answer(Box::new(record)),
        false => JournalSample::Failed(Box::new(record)),
    }))
}

fn write(
    task_id: &str,
    batch: &mut Vec<SampleResult>,
    failed: &mut Vec<SampleRecord>,
    awaits_judges: bool,
    writer: &mut JournalWriter,
) -> Result<(), RecordError> {
    let entry =
        |result| JournalEntry::Answer(AnswerEntry { awaits_judges, ..SampleResult::entry(result, task_id) });
    let failures = failed.iter().map(JournalEntry::FinishedWithoutScores);
    writer.append_batch(batch.iter().map(entry).chain(failures))?;
    batch.clear();
    failed.clear();
    Ok(())
}

/// Returns an answer without the verdicts of the judges to be asked again.
fn with_kept_verdicts(record: SampleRecord, judges: &[String]) -> SampleResult {
    let kept = record.judge_output.clone().filter(|_| !judges.is_empty()).and_then(|mut output| {
        let of_judges = output.get_mut("judges").and_then(Value::as_object_mut)?;
        of_judges.retain(|id, _| !judges.contains(id));
        Some(output)
    });
    SampleResult::of_record(SampleRecord { outcome: Outcome::Scored, judge_output: kept, ..record })
}
