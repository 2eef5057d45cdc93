//! The items of the journal.

use super::ordered_records::FinishedRecord;
use crate::pipeline::lockstep::LockstepMark;
use crate::pipeline::task_state::TaskState;
use crate::plan::PlannedTask;
use crate::progress::FinishedSample;
use crate::sample::result::SampleResult;
use gage_config::BackendKind;
use gage_record::{AnswerEntry, JournalEntry, SampleRecord, ScoresEntry};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A request to record an item.
pub(crate) struct RecordRequest {
    pub(crate) task: Arc<TaskState>,
    pub(crate) item: JournalItem,
    /// The `in_flight`, `unsynced` or `unscored` permit that is released when the item is on disk. `None` if the sample keeps
    /// its permits.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// True if another sample can start only after this item is recorded.
    pub(crate) is_awaited: bool,
    /// True if a shortage of the machine was reported before the request was made.
    pub(crate) follows_shortage: bool,
    /// Ends the wait of a sender in lockstep.
    pub(crate) mark: Option<LockstepMark>,
}

impl RecordRequest {
    /// Returns whether a shortage of the machine may have changed the item. Whatever a shortage changes is sent after its
    /// report.
    pub(super) fn may_follow_from_shortage(&self) -> bool {
        self.follows_shortage && !self.item.is_of_model_alone(&self.task.planned)
    }
}

pub(crate) enum JournalItem {
    /// An answer for the post-inference steps.
    AnswerAwaitingPostInference(Arc<SampleResult>),
    /// An answer that awaits its scores.
    Answer(Arc<SampleResult>),
    /// The scores of an answer that is already recorded.
    Scores(Arc<SampleResult>, Box<ScoresEntry>),
    /// A sample that is finished without scores.
    FinishedWithoutScores {
        record: Box<SampleRecord>,
        /// True if the model answered in an earlier process.
        was_resumed: bool,
    },
}

/// Length of an answer for which it takes one more `unsynced` permit, in bytes. So the answers that wait for the disk take
/// bounded memory, however long they are.
const ANSWER_BYTES_PER_PERMIT: usize = 8 << 10;

impl JournalItem {
    /// Returns the number of `unsynced` permits that it takes.
    pub(crate) fn permit_count(&self) -> usize {
        match self {
            JournalItem::AnswerAwaitingPostInference(result) | JournalItem::Answer(result) => {
                1 + result.model_output.answer_bytes() / ANSWER_BYTES_PER_PERMIT
            }
            JournalItem::Scores(..) | JournalItem::FinishedWithoutScores { .. } => 1,
        }
    }

    /// Returns whether the item holds an answer that only a model took part in. A request that the machine could not send
    /// has no answer, so no shortage has changed the item. A component can turn the failure of its request into an answer.
    fn is_of_model_alone(&self, task: &PlannedTask) -> bool {
        let has_other_steps = !task.follow_ups.is_empty() || task.embed.is_some() || task.judges.is_some();
        let is_answer = match self {
            JournalItem::AnswerAwaitingPostInference(_) => true,
            JournalItem::Answer(_) => !has_other_steps,
            JournalItem::Scores(..) => false,
            JournalItem::FinishedWithoutScores { record, .. } => {
                !has_other_steps && record.model_output.is_some() && record.error.is_none()
            }
        };
        let is_component = matches!(task.backend.kind, BackendKind::CustomScript(_));
        is_answer && !is_component && task.support.is_empty() && task.tools.is_none()
    }

    pub(super) fn entry<'a>(&'a self, task_id: &'a str) -> JournalEntry<'a> {
        match self {
            JournalItem::AnswerAwaitingPostInference(result) => {
                JournalEntry::Answer(AnswerEntry { awaits_judges: true, ..result.entry(task_id) })
            }
            JournalItem::Answer(result) => JournalEntry::Answer(result.entry(task_id)),
            JournalItem::Scores(_, entry) => JournalEntry::Scores(entry),
            JournalItem::FinishedWithoutScores { record, .. } => JournalEntry::FinishedWithoutScores(record),
        }
    }

    /// Returns the record of the sample with its index, if this item finishes it.
    pub(super) fn into_record(self) -> Option<(u64, FinishedRecord)> {
        match self {
            JournalItem::AnswerAwaitingPostInference(_) | JournalItem::Answer(_) => None,
            JournalItem::Scores(answer, entry) => Some((entry.index, FinishedRecord::Scored(answer, entry))),
            JournalItem::FinishedWithoutScores { record, .. } => {
                Some((record.index, FinishedRecord::Whole(record)))
            }
        }
    }

    /// Returns the sample, if this item finishes it.
    pub(super) fn finished_sample(&self) -> Option<FinishedSample<'_>> {
        match self {
            JournalItem::AnswerAwaitingPostInference(_) | JournalItem::Answer(_) => None,
            JournalItem::Scores(_, entry) => Some(FinishedSample::of_scores(entry)),
            JournalItem::FinishedWithoutScores { record, .. } => Some(FinishedSample::of_record(record)),
        }
    }
}
