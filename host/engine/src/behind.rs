//! Who is asked about an answer when the model has given it: a model that makes vectors, and judges.

use crate::active::ActiveTask;
use crate::embedding::Embedding;
use crate::inference::Inferred;
use crate::judging::Judging;
use crate::spending;
use gage_core::Outcome;
use std::sync::Arc;

/// The steps of a task between the answer and its scores that ask further models; at least one.
pub(crate) struct Behind {
    embedding: Option<Embedding>,
    judging: Option<Judging>,
}

impl Behind {
    /// The steps; nothing where there are none.
    pub(crate) fn new(embedding: Option<Embedding>, judging: Option<Judging>) -> Option<Behind> {
        (embedding.is_some() || judging.is_some()).then_some(Behind { embedding, judging })
    }

    /// Asks about an answer; nothing where the run is stopped before all have replied. What fails ends the sample.
    pub(crate) async fn ask(&self, task: &ActiveTask, inferred: Arc<Inferred>) -> Option<Inferred> {
        // Taken apart only when an answer has come: whoever writes it into the journal has it until then.
        let compared = match &self.embedding {
            Some(embedding) => {
                let open = spending::open();
                let compared = embedding.compare(task, &inferred).await?;
                if !compared.holds_usage() {
                    task.spending.unrecorded_since(open);
                }
                Arc::new(compared.of(Arc::unwrap_or_clone(inferred)))
            }
            None => inferred,
        };
        match &self.judging {
            Some(judging) if compared.outcome == Outcome::Scored => {
                let open = spending::open();
                let judged = judging.judge(task, &compared).await?;
                if !judged.holds_usage() {
                    task.spending.unrecorded_since(open);
                }
                Some(judged.of(Arc::unwrap_or_clone(compared)))
            }
            _ => Some(Arc::unwrap_or_clone(compared)),
        }
    }
}
