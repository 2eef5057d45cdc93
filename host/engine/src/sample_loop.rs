//! The sample loop: rows are taken one after the other, as many at once as are allowed, and each is asked about, judged and
//! handed on.

use crate::batches::Waiting;
use crate::behind::Behind;
use crate::hand::{Hand, RowEnd};
use crate::inference::{Asking, Inferred};
use crate::invalid::InvalidRows;
use crate::place::Lent;
use crate::plan::PlannedTask;
use crate::reader::{Next, Row};
use crate::room::Room;
use crate::run::RunError;
use crate::spending;
use gage_core::{Outcome, Sample};
use gage_data::{Rejection, RejectionStage};
use gage_record::{ErrorNote, SampleRecord, SampleTiming, Stage, unix_milliseconds};
use serde_json::Value;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;

/// Hands every row to the model, as many at once as are allowed.
pub(crate) struct SampleLoop {
    /// Bounds the samples between loading and the journal.
    pub(crate) inflight: Room,
    pub(crate) work: Arc<Work>,
}

/// What is done with each row of a task; its samples share it.
pub(crate) struct Work {
    /// Whoever has it takes the next row and begins it, so that rows begin in their order.
    pub(crate) rows: tokio::sync::Mutex<mpsc::Receiver<Next>>,
    /// Bounds the answers that wait for their neighbours, and with them the samples in flight.
    pub(crate) held: Room,
    pub(crate) asking: Asking,
    /// Who is asked about answers.
    pub(crate) behind: Option<Behind>,
    /// Counts what turns out to be no Sample when it is to be asked.
    pub(crate) invalid: Arc<InvalidRows>,
    pub(crate) hand: Hand,
}

/// What came of the sample loop.
pub(crate) struct Looped {
    pub(crate) spent: Duration,
    pub(crate) begun: u64,
    /// Those of them that an earlier process had asked the model about.
    pub(crate) earlier: u64,
    /// Whether it left a row that it was given.
    pub(crate) is_cut_off: bool,
}

/// A row that was begun, with the room that it takes up.
struct Begun {
    row: BegunRow,
    held: OwnedSemaphorePermit,
    permit: OwnedSemaphorePermit,
    /// The batch before it, where that only waited for this row.
    complete: Option<Vec<Waiting>>,
}

enum BegunRow {
    /// It is for the model.
    Sample(u64, String, Arc<Sample>),
    /// It is no Sample; counted already, so that nothing begins behind one that ends the run.
    Rejected(Box<SampleRecord>),
    /// The model has answered it in an earlier process.
    Answered(Box<SampleRecord>),
    /// The same, and its judges are to be asked.
    Unjudged(Box<SampleRecord>),
}

/// How rows ended that were done one after the other.
#[derive(Default)]
struct RowsEnd {
    begun: u64,
    earlier: u64,
    /// Those that have no record.
    left: u64,
}

impl RowsEnd {
    fn add(&mut self, other: RowsEnd) {
        self.begun += other.begun;
        self.earlier += other.earlier;
        self.left += other.left;
    }
}

impl SampleLoop {
    /// Runs until there are no more rows or the task is stopped, and what was begun is recorded.
    pub(crate) async fn run(self) -> Result<Looped, RunError> {
        let began = Instant::now();
        let mut ended = RowsEnd::default();
        let mut tasks: JoinSet<RowsEnd> = JoinSet::new();
        let spread = self.spread(&mut tasks, &mut ended).await;
        // What is prepared and has no turn any more is left.
        let is_cut_off = {
            let mut rows = self.work.rows.lock().await;
            rows.close();
            rows.recv().await.is_some()
        };
        spread?;
        while let Some(rows) = tasks.join_next().await {
            ended.add(rows.map_err(panicked)?);
        }
        self.work.hand.finish().await;
        let spent = began.elapsed();
        self.inflight.is_empty().await;
        if let Some(unsynced) = &self.work.hand.unsynced {
            unsynced.is_empty().await;
        }
        self.work.held.is_empty().await;
        let RowsEnd { begun, earlier, left } = ended;
        Ok(Looped { spent, begun, earlier, is_cut_off: is_cut_off || left > 0 })
    }

    /// Gives every row to a task of its own, but for those that tasks take themselves; until there are no more, or the task is
    /// stopped.
    async fn spread(&self, tasks: &mut JoinSet<RowsEnd>, ended: &mut RowsEnd) -> Result<(), RunError> {
        let mut next = pin!(self.next());
        loop {
            tokio::select! {
                biased;
                Some(rows) = tasks.join_next() => ended.add(rows.map_err(panicked)?),
                begun = &mut next => {
                    let Some(begun) = begun else { return Ok(()) };
                    // In a box, or the runtime would move all of it three times.
                    tasks.spawn(Box::pin(Arc::clone(&self.work).work(begun)));
                    next.set(self.next());
                }
            }
        }
    }

    /// The next row, with room for it; none when there is no more, the task is stopped, or too many were no Samples.
    async fn next(&self) -> Option<Begun> {
        let Work { rows, held, asking, invalid, .. } = &*self.work;
        // Room before the row: a row that was taken is not lost where the task is stopped.
        let next = async {
            let held = held.take().await?;
            let permit = self.inflight.take().await?;
            if invalid.ends_asking() {
                return None;
            }
            let mut rows = rows.lock().await;
            let next = rows.recv().await?;
            Some(self.work.begin(next, held, permit))
        };
        tokio::select! {
            biased;
            () = asking.task.stop.wait() => None,
            next = next => next,
        }
    }
}

impl Work {
    /// Does a row, and then others in the same room for as long as some are there. A task of the runtime for each would cost
    /// more, and find less of what it needs in the caches.
    async fn work(self: Arc<Work>, mut begun: Begun) -> RowsEnd {
        let mut ended = RowsEnd::default();
        loop {
            let RowEnd { is_recorded, is_earlier, room } = self.row(begun).await;
            *if is_recorded { &mut ended.begun } else { &mut ended.left } += 1;
            ended.earlier += u64::from(is_recorded && is_earlier);
            match room.and_then(|room| self.another(room)) {
                Some(next) => begun = next,
                None => return ended,
            }
        }
    }

    /// The next row, where nobody has to wait for it.
    fn another(&self, permit: OwnedSemaphorePermit) -> Option<Begun> {
        let held = self.held.try_take()?;
        let mut rows = self.rows.try_lock().ok()?;
        // The row before may have ended the run, of which its holder was the first to know.
        if self.asking.task.stop.is_set() || self.invalid.ends_asking() {
            return None;
        }
        let next = rows.try_recv().ok()?;
        Some(self.begin(next, held, permit))
    }

    /// Begins a row. Whoever does holds the rows, so that they begin in their order.
    fn begin(&self, next: Next, held: OwnedSemaphorePermit, permit: OwnedSemaphorePermit) -> Begun {
        let task = &self.hand.task;
        let (index, row) = match next {
            Next::Row(Row { index, row_digest, result: Ok(sample) }) => {
                (index, BegunRow::Sample(index, row_digest, sample))
            }
            Next::Row(Row { index, row_digest, result: Err(rejection) }) => {
                let record = record_of(&task.planned, index, row_digest, *rejection);
                task.finished(record.outcome, &record.sample_id);
                (index, BegunRow::Rejected(Box::new(record)))
            }
            Next::Answered(record) => (record.index, BegunRow::Answered(record)),
            Next::Unjudged(record) => (record.index, BegunRow::Unjudged(record)),
        };
        Begun { row, held, permit, complete: self.hand.begin(index) }
    }

    /// Does a row.
    async fn row(&self, begun: Begun) -> RowEnd {
        let Begun { row, held, permit, complete } = begun;
        // What waits here has its room, as all that is begun.
        if !self.hand.score(complete, &mut None).await {
            // Nobody scores any more: the run ends.
            return RowEnd { is_recorded: false, is_earlier: false, room: None };
        }
        match row {
            BegunRow::Sample(index, row_digest, sample) => {
                spending::noting(self.ask(index, row_digest, sample, permit, held)).await
            }
            BegunRow::Rejected(record) => self.hand.finished(record, false, Some(permit)).await,
            BegunRow::Answered(record) => {
                let inferred = Arc::new(Inferred::of_record(*record));
                let (index, mut room) = (inferred.index, Some(permit));
                // It is in the journal already.
                let is_recorded = self.hand.end(index, Some(Waiting { inferred, held }), &mut room).await;
                RowEnd { is_recorded, is_earlier: true, room }
            }
            BegunRow::Unjudged(record) => {
                let inferred = Box::new(Inferred::unjudged(*record));
                Box::pin(spending::noting(self.judge(inferred, permit, held))).await
            }
        }
    }

    /// Asks the model about a sample, has it judged, and hands it on.
    async fn ask(
        &self,
        index: u64,
        row_digest: String,
        sample: Arc<Sample>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        let hand = &self.hand;
        let permit: Lent = Arc::new(Mutex::new(Some(permit)));
        // Where the task bounds its samples, one that waits is among them.
        let lent = hand.unsynced.is_some().then(|| Arc::clone(&permit));
        let inferred = self.asking.infer(index, row_digest, sample, lent).await;
        let inferred = inferred.map(|inferred| hand.without_secrets(inferred));
        let permit = permit.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_first = index.is_multiple_of(hand.task.planned.spec.repeat.max(1));
        if let Some(wrong) = inferred.as_ref().filter(|_| is_first).and_then(|inferred| inferred.wrong()) {
            self.invalid.found_late(wrong);
        }
        let judged = match inferred {
            Some(inferred) => self.judged(inferred).await,
            None => None,
        };
        hand.ended(index, judged, permit, held).await
    }

    /// The same of a sample that the model answered in an earlier process.
    async fn judge(
        &self,
        inferred: Box<Inferred>,
        permit: OwnedSemaphorePermit,
        held: OwnedSemaphorePermit,
    ) -> RowEnd {
        let index = inferred.index;
        let judged = self.judged(inferred).await;
        RowEnd { is_earlier: true, ..self.hand.ended(index, judged, Some(permit), held).await }
    }

    /// Has further models asked about an answer, where the task has some. In a box, so that a sample without such steps has
    /// no room for them.
    async fn judged(&self, inferred: Box<Inferred>) -> Option<Box<Inferred>> {
        match &self.behind {
            Some(behind) if inferred.outcome == Outcome::Scored => {
                Box::pin(self.hand.asked(behind, inferred)).await
            }
            _ => Some(inferred),
        }
    }
}

/// What a task ended by that has no end of its own.
fn panicked(_: tokio::task::JoinError) -> RunError {
    RunError::Panicked("request")
}

/// The record of a row that did not become a Sample.
fn record_of(task: &PlannedTask, index: u64, row_digest: String, rejection: Rejection) -> SampleRecord {
    let stage = match rejection.stage {
        RejectionStage::Load => Stage::Load,
        RejectionStage::Preprocess => Stage::Preprocess,
    };
    let clean = |text: String| match task.scoring.blanks_secrets {
        true => gage_core::without_secrets(&text).into_owned(),
        false => text,
    };
    SampleRecord {
        task_id: task.spec.task_id.clone(),
        index,
        sample_id: clean(rejection.id),
        row_digest,
        outcome: rejection.outcome,
        error: Some(ErrorNote {
            stage,
            kind: rejection.kind,
            message: rejection.message,
            pointer: rejection.pointer,
        }),
        sample: Value::Null,
        row: Some(clean(rejection.row.into_string())),
        support_output: None,
        model_output: None,
        judge_output: None,
        metrics: Vec::new(),
        timing: SampleTiming { finished_unix_ms: unix_milliseconds(), ..SampleTiming::default() },
        timing_metrics: Vec::new(),
    }
}
