//! The steps between an answer and its scores that ask further models: embedding and judging.

pub(crate) mod embedding;
pub(crate) mod judging;

use crate::limits::budget;
use crate::pipeline::post_process::embedding::EmbeddingStep;
use crate::pipeline::post_process::judging::JudgeStep;
use crate::pipeline::task_state::TaskState;
use crate::sample::answer_outcome::milliseconds;
use crate::sample::output_keys::SEMANTIC;
use crate::sample::result::SampleResult;
use gage_core::Outcome;
use std::sync::Arc;
use std::time::Instant;

/// The steps of a task between the answer and its scores that ask further models. Has at least one step.
pub(crate) struct PostInferenceSteps {
    embedding: Option<EmbeddingStep>,
    judging: Option<JudgeStep>,
}

impl PostInferenceSteps {
    /// Creates the steps. `None` if there are none.
    pub(crate) fn new(
        embedding: Option<EmbeddingStep>,
        judging: Option<JudgeStep>,
    ) -> Option<PostInferenceSteps> {
        (embedding.is_some() || judging.is_some()).then_some(PostInferenceSteps { embedding, judging })
    }

    /// Runs the steps on an answer. `None` if the run is stopped before all have replied. A failed step ends the sample.
    pub(crate) async fn run(&self, task: &TaskState, result: Arc<SampleResult>) -> Option<SampleResult> {
        // Unwrapped only after a reply arrives, because the journal writer shares the result until then.
        let compared = match &self.embedding {
            // The answer is judged again.
            Some(_) if result.model_output.document().get(SEMANTIC).is_some() => result,
            Some(embedding) => {
                let mark = budget::pending_usage();
                let began = Instant::now();
                let compared = embedding.compare(task, &result).await?;
                let embed_ms = milliseconds(began.elapsed());
                if !compared.holds_usage() {
                    task.budget.keep_pending_usage_since(mark);
                }
                let mut result = compared.apply_to(Arc::unwrap_or_clone(result));
                result.timing.stages.embed_ms = embed_ms;
                Arc::new(result)
            }
            None => result,
        };
        match &self.judging {
            Some(judging) if compared.outcome == Outcome::Scored => {
                let mark = budget::pending_usage();
                let began = Instant::now();
                let judged = judging.judge(task, &compared).await?;
                let judge_ms = milliseconds(began.elapsed());
                if !judged.holds_usage() {
                    task.budget.keep_pending_usage_since(mark);
                }
                let mut result = judged.apply_to(Arc::unwrap_or_clone(compared));
                result.timing.stages.judge_ms = judge_ms;
                Some(result)
            }
            _ => Some(Arc::unwrap_or_clone(compared)),
        }
    }
}
