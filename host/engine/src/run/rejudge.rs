//! Judging recorded answers again: they are written as answers that await their judges.

use crate::plan::PlannedTask;
use crate::sample::result::SampleResult;
use gage_core::Outcome;
use gage_record::{AnswerEntry, JournalEntry, JournalIndex, JournalWriter, RecordError, SampleRecord};
use serde_json::Value;
use std::sync::Arc;

/// Number of answers written together.
const BATCH: usize = 256;

/// Appends the recorded answers of tasks with judges as answers that await them. `judges` are those to be asked again;
/// all if it is empty. Verdicts of other judges are kept. Answers of tasks without judges are copied if `is_copy`.
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
        for (row, _) in index.samples(task_id) {
            let record = match answers.read(task_id, row)? {
                Some(record) => Some(record),
                None => answers.read_whole(task_id, row)?.filter(|record| record.model_output.is_some()),
            };
            batch.extend(record.map(|record| with_kept_verdicts(record, judges)));
            if batch.len() == BATCH {
                write(task_id, &mut batch, has_judges, writer)?;
            }
        }
        write(task_id, &mut batch, has_judges, writer)?;
    }
    Ok(())
}

fn write(
    task_id: &str,
    batch: &mut Vec<SampleResult>,
    awaits_judges: bool,
    writer: &mut JournalWriter,
) -> Result<(), RecordError> {
    let entry =
        |result| JournalEntry::Answer(AnswerEntry { awaits_judges, ..SampleResult::entry(result, task_id) });
    writer.append_batch(batch.iter().map(entry))?;
    batch.clear();
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
