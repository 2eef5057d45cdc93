//! The steps between an answer and its scores that ask further models: helpers, embedding and judging.

pub(crate) mod embedding;
pub(crate) mod follow_up;
pub(crate) mod judging;

use crate::limits::budget;
use crate::pipeline::post_process::embedding::EmbeddingStep;
use crate::pipeline::post_process::follow_up::FollowUp;
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
    follow_ups: Vec<FollowUp>,
    embedding: Option<EmbeddingStep>,
    judging: Option<JudgeStep>,
}

impl PostInferenceSteps {
    /// Creates the steps. `None` if there are none.
    pub(crate) fn new(
        follow_ups: Vec<FollowUp>,
        embedding: Option<EmbeddingStep>,
        judging: Option<JudgeStep>,
    ) -> Option<PostInferenceSteps> {
        let has_steps = !follow_ups.is_empty() || embedding.is_some() || judging.is_some();
        has_steps.then_some(PostInferenceSteps { follow_ups, embedding, judging })
    }

    /// Runs the steps on an answer. `None` if the run is stopped before all have replied. A failed step ends the sample.
    pub(crate) async fn run(&self, task: &TaskState, result: Arc<SampleResult>) -> Option<SampleResult> {
        let result = match self.follow_ups.is_empty() {
            true => result,
            false => {
                let began = Instant::now();
                let followed = follow_up::run(&self.follow_ups, task, SampleResult::clone(&result));
                // Boxed, because most tasks have no such steps.
                let mut followed = Box::pin(followed).await?;
                followed.timing.stages.support_ms += milliseconds(began.elapsed());
                Arc::new(followed)
            }
        };
        if result.outcome != Outcome::Scored {
            return Some(Arc::unwrap_or_clone(result));
        }
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
