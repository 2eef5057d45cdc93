//! Inference: builds and sends the request of a sample, and turns the reply into its result.

pub(crate) mod support_role;
pub(crate) mod tool_calls;
pub(crate) mod tool_loop;

use super::prompt_calls::PromptCalls;
use super::role_client::{RoleClient, RoleError, RoleReply};
use super::task_state::TaskState;
use crate::limits::permits::{RequestSlot, SampleSlot};
use crate::request::{PromptParts, Request, prompt_input, prompt_note};
use crate::sample::answer_outcome::{milliseconds, outcome_of};
use crate::sample::result::SampleResult;
use futures::future::try_join_all;
use gage_backend::{
    Backend, BackendError, BackendErrorKind, Continuation, LoglikelihoodOutput, LoglikelihoodRequest, Reply,
    RollingOutput, SamplePlace,
};
use gage_core::{Message, ModelOutput, Outcome, OutputView, RollingScore, Sample, SampleView, Usage};
use gage_data::MediaStore;
use gage_observe::{SampleScope, in_sample_scope};
use gage_record::{ErrorNote, SampleTiming, Stage, StageTimes};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use support_role::{SupportRole, SupportStepsResult};
use tool_loop::ToolLoop;

/// Asks the model about the samples of a task.
pub(crate) struct InferenceStep {
    pub(crate) task: Arc<TaskState>,
    pub(crate) client: RoleClient,
    /// The prompt of the suite for the model, if it has one.
    pub(crate) prompt: Option<PromptCalls>,
    pub(crate) media: Arc<MediaStore>,
    /// The roles that supply context for the model, in order.
    pub(crate) support: Vec<SupportRole>,
    /// The role that answers the model's tool calls.
    pub(crate) tools: Option<SupportRole>,
}

/// A sample that the model is asked about.
pub(crate) struct SampleRequest {
    /// The number of the row in the task, counting repeats.
    pub(crate) index: u64,
    pub(crate) row_digest: String,
    /// Time to prepare its row, in milliseconds.
    pub(crate) preprocess_ms: f64,
    /// True if an earlier process recorded that the backend failed on it.
    pub(crate) has_failed_before: bool,
    pub(crate) sample: Arc<Sample>,
    /// The permit that the request releases at its first wait.
    pub(crate) sample_slot: Option<SampleSlot>,
}

/// A request that is ready to be sent.
struct PreparedRequest {
    request: Request,
    /// The sampling parameters sent, if the sample has some of its own.
    own_params: Option<Value>,
    slot: Arc<RequestSlot>,
    result: Box<SampleResult>,
}

impl InferenceStep {
    /// Asks the model about a sample. `None` if the run stops before the sample has its permits or while its request
    /// awaits a retry. Also `None` if the backend refuses every request.
    pub(crate) async fn infer(&self, sample: SampleRequest) -> Option<Box<SampleResult>> {
        let SampleRequest { index, row_digest, preprocess_ms, has_failed_before, sample, sample_slot } =
            sample;
        let mut stages = StageTimes { preprocess_ms, ..StageTimes::default() };
        let (task, planned) = (&self.task, &self.task.planned);
        let ready = Instant::now();
        let (read, sample) = (Arc::clone(&sample), SampleView::Read(sample));
        // Support steps are boxed, so that samples of tasks without them reserve no space for them.
        let SupportStepsResult { output: support_output, failure } = match self.support.is_empty() {
            true => SupportStepsResult::default(),
            false => {
                let supported =
                    Box::pin(support_role::run_steps(&self.support, task, &read.id, &sample)).await?;
                stages.support_ms = milliseconds(ready.elapsed());
                supported
            }
        };
        let building = Instant::now();
        let parts = PromptParts::of(planned, &read);
        let has_own_params = parts.has_own_params;
        let rendered = match &self.prompt {
            None => None,
            // Boxed, so that samples without a prompt reserve no space for it.
            Some(prompt) => Some(Box::pin(self.render(prompt, &sample, &support_output)).await),
        };
        let repeat = index % planned.spec.repeat;
        let request = parts.request(planned, &read.id, rendered, &support_output, repeat);
        let request = request.map(|request| self.with_place(request, index));
        // Boxed, because every function that it passes through would move it.
        let mut result = Box::new(SampleResult {
            index,
            row_digest,
            sample_id: read.id.clone(),
            sample,
            support_output,
            model_output: OutputView::default(),
            judge_output: Value::Null,
            outcome: Outcome::Scored,
            error: None,
            timing: SampleTiming { stages, ..SampleTiming::default() },
            was_resumed: false,
        });
        drop(read);
        if let Some(failure) = failure {
            result.fail(Stage::Support, failure);
            return Some(result);
        }
        let request = match request.and_then(|request| self.check_media(request)) {
            Ok(request) => request,
            Err(error) => return Some(result.into_invalid(error)),
        };
        let own_params = if has_own_params { request.sent_params(&planned.backend) } else { None };
        result.timing.stages.prompt_ms = milliseconds(building.elapsed());
        let slot = self.client.first_slot(task, sample_slot, has_failed_before).await?;
        result.timing.queue_ms = milliseconds(ready.elapsed());
        let embedding = Instant::now();
        let request = self.with_media(request).await;
        result.timing.stages.prompt_ms += milliseconds(embedding.elapsed());
        match request {
            Ok(request) => self.send(PreparedRequest { request, own_params, slot, result }).await,
            Err(error) => Some(result.into_invalid(error)),
        }
    }

    /// Names the sample in its request. A conversation with tools has several requests, so none of them is named.
    fn with_place(&self, mut request: Request, index: u64) -> Request {
        if let Request::Generate(request) = &mut request
            && self.tools.is_none()
        {
            let repeats = self.task.planned.spec.repeat;
            let task_id = Arc::clone(&self.task.marker.id);
            request.place = Some(SamplePlace { task_id, row: index / repeats, repeat: index % repeats });
        }
        request
    }

    /// Renders the prompt of the suite.
    async fn render(
        &self,
        prompt: &PromptCalls,
        sample: &SampleView,
        support_output: &Value,
    ) -> Result<Vec<Message>, ErrorNote> {
        let input = prompt_input(&self.task.planned, prompt.renderer(), sample, support_output);
        prompt.render(input).await.map_err(|message| prompt_note("prompt", message, None))
    }

    /// Sends a request: once, or turn by turn if the task has tools.
    async fn send(&self, prepared: PreparedRequest) -> Option<Box<SampleResult>> {
        let planned = &self.task.planned;
        match (prepared, self.tools.as_ref().zip(planned.tools.as_ref())) {
            (
                PreparedRequest { request: Request::Generate(request), own_params, slot, result },
                Some((support_role, tools)),
            ) => {
                let turns =
                    ToolLoop { task: &self.task, client: &self.client, support_role, bounds: &tools.bounds };
                // Boxed, because most samples have no tools and would otherwise move the space for a conversation.
                Box::pin(turns.run(request, own_params, slot, result)).await
            }
            (prepared, _) => self.answer(prepared).await,
        }
    }

    /// Sends a request once and returns the result with the answer.
    async fn answer(&self, prepared: PreparedRequest) -> Option<Box<SampleResult>> {
        let PreparedRequest { request, own_params, slot, mut result } = prepared;
        let planned = &self.task.planned;
        let prefix = &planned.spec.steps.inference.continuation_prefix;
        let sent = send(self.client.backend(), request, prefix);
        match self.client.ask(&self.task, Some(slot), sent).await {
            Ok(RoleReply { mut output, timing, .. }) => {
                result.timing.latency_ms = milliseconds(timing.latency);
                result.timing.attempts = timing.attempts;
                result.timing.first_token_ms = timing.first_token.map(milliseconds);
                result.outcome = outcome_of(&output, &planned.spec.score_outcomes);
                if let Some(note) = planned.unanswered_calls(&output) {
                    result.outcome = Outcome::EmptyOutput;
                    result.error = Some(note);
                }
                if let Some(params) = own_params {
                    output.extra.insert("sampling_params".to_owned(), params);
                }
                result.model_output = OutputView::Read(Box::new(output));
            }
            Err(RoleError::Stopped) => return None,
            Err(RoleError::Failed(error)) => {
                result.timing.attempts = error.attempts;
                result.fail(Stage::Inference, error.into());
            }
        }
        Some(result)
    }

    /// Rejects media that the backend does not accept, before reading them.
    fn check_media(&self, request: Request) -> Result<Request, ErrorNote> {
        let info = self.client.backend().info();
        let Some(kind) = info.capabilities.media.refuses(request.messages()) else { return Ok(request) };
        let backend_id = &self.task.planned.role.backend_id;
        let message = format!(
            "the backend `{backend_id}` ({}) accepts {}, but a message of the sample contains media ({})",
            info.kind,
            info.capabilities.media.described(),
            kind.type_name()
        );
        Err(prompt_note("media_unsupported", message, Some("/messages")))
    }

    /// Embeds local media files into the request.
    async fn with_media(&self, mut request: Request) -> Result<Request, ErrorNote> {
        if !request.has_media() {
            return Ok(request);
        }
        for messages in request.conversations() {
            let mut owned = std::mem::take(messages).into_vec();
            let media = Arc::clone(&self.media);
            let scope = SampleScope::current();
            let embed = move || in_sample_scope(scope, || media.embed(&mut owned).map(|()| owned));
            *messages = match tokio::task::spawn_blocking(embed).await {
                Ok(Ok(embedded)) => embedded.into(),
                Ok(Err(error)) => {
                    return Err(prompt_note(error.kind.name(), error.message, error.pointer.as_deref()));
                }
                Err(error) => {
                    let message = format!("the media could not be made ready: {error}");
                    return Err(prompt_note("internal", message, None));
                }
            };
        }
        Ok(request)
    }
}

async fn send(
    backend: &dyn Backend,
    request: Request,
    continuation_prefix: &str,
) -> Result<Reply<ModelOutput>, BackendError> {
    match request {
        Request::Generate(request) => backend.generate(request).await,
        Request::Loglikelihood { requests, unconditioned } => {
            let continuations = requests.iter().flat_map(|request| &request.continuations);
            let characters = character_counts(continuations, continuation_prefix);
            let Reply { mut output, mut timing } = scored(backend, requests).await?;
            for request in unconditioned {
                let reply = backend.loglikelihood(request).await?;
                timing.latency += reply.timing.latency;
                add_unconditioned(&mut output, reply.output);
            }
            Ok(Reply { output: chosen_option(output, continuation_prefix, &characters), timing })
        }
        Request::Rolling(request) => {
            let word_count = gage_core::word_count(&request.text);
            let Reply { output, timing } = backend.rolling_loglikelihood(request).await?;
            let RollingOutput { logprob, token_count, byte_count } = output;
            let score = RollingScore { loglikelihood: logprob, token_count, byte_count, word_count };
            let usage = Usage { prompt_tokens: token_count, completion_tokens: 0 };
            Ok(Reply { output: ModelOutput::of_text(score, Some(usage)), timing })
        }
    }
}

/// Scores the continuations of one or several prompts at once.
async fn scored(
    backend: &dyn Backend,
    requests: Vec<LoglikelihoodRequest>,
) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
    let replies = try_join_all(requests.into_iter().map(|request| backend.loglikelihood(request))).await?;
    let joined = replies.into_iter().reduce(|mut all, one| {
        all.output.scores.extend(one.output.scores);
        all.output.usage = sum_of(all.output.usage, one.output.usage);
        all.timing.latency = all.timing.latency.max(one.timing.latency);
        all.timing.attempts = all.timing.attempts.max(one.timing.attempts);
        all
    });
    joined.ok_or_else(|| BackendError::new(BackendErrorKind::Internal, "nothing is to be scored"))
}

/// Returns the sum of two usages, if both are known.
fn sum_of(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    one.zip(other).map(|(one, other)| Usage {
        prompt_tokens: one.prompt_tokens.saturating_add(other.prompt_tokens),
        completion_tokens: one.completion_tokens.saturating_add(other.completion_tokens),
    })
}

/// Adds the likelihoods without the prompt to those with it.
fn add_unconditioned(output: &mut LoglikelihoodOutput, unconditioned: LoglikelihoodOutput) {
    for other in unconditioned.scores {
        let same = output.scores.iter_mut().find(|score| score.id == other.id);
        if let Some(score) = same {
            score.unconditioned_logprob = Some(other.logprob);
        }
    }
    output.usage = sum_of(output.usage, unconditioned.usage);
}

/// Returns the ids of the continuations with other characters than ASCII, and the number of characters of each, without the
/// prefix.
fn character_counts<'c>(
    continuations: impl Iterator<Item = &'c Continuation>,
    continuation_prefix: &str,
) -> Vec<(String, u32)> {
    let prefix = continuation_prefix.chars().count();
    let others = continuations.filter(|continuation| !continuation.text.is_ascii());
    let count = |text: &str| u32::try_from(text.chars().count().saturating_sub(prefix)).unwrap_or(u32::MAX);
    others.map(|continuation| (continuation.id.clone(), count(&continuation.text))).collect()
}

/// Returns the choice among the options. Subtracts the prefix from the backend's byte counts, which cover both prefix
/// and option.
fn chosen_option(
    output: LoglikelihoodOutput,
    continuation_prefix: &str,
    characters: &[(String, u32)],
) -> ModelOutput {
    let LoglikelihoodOutput { mut scores, usage } = output;
    let prefix_bytes = u32::try_from(continuation_prefix.len()).unwrap_or(u32::MAX);
    for score in &mut scores {
        score.byte_count = score.byte_count.saturating_sub(prefix_bytes);
        score.character_count = characters.iter().find(|(id, _)| *id == score.id).map(|(_, count)| *count);
    }
    ModelOutput::chosen(scores, usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::ContinuationScore;

    #[test]
    fn byte_counts_leave_out_the_continuation_prefix() {
        let option = |(text, logprob): (&str, f64)| ContinuationScore {
            id: text.to_owned(),
            logprob,
            unconditioned_logprob: None,
            character_count: None,
            token_count: 1,
            byte_count: u32::try_from(format!(" {text}").len()).unwrap_or_default(),
            is_greedy: false,
        };
        let options =
            [("fruit", -22.24), ("vegetable", -13.66), ("tree", -13.83), ("instrument", -15.12)].map(option);
        let output = LoglikelihoodOutput { scores: options.to_vec(), usage: None };
        let with_prefix = chosen_option(output.clone(), " ", &[]);
        let bytes: Vec<u32> = with_prefix.continuations.iter().map(|score| score.byte_count).collect();
        assert_eq!(bytes, [5, 9, 4, 10]);
        assert_eq!(with_prefix.answer, "vegetable");
        assert_eq!(with_prefix.answer_normalized.as_deref(), Some("instrument"));
        // A space that belongs to the text itself counts.
        assert_eq!(chosen_option(output, "", &[]).answer_normalized.as_deref(), Some("vegetable"));
    }

    /// Six Cyrillic letters have twelve bytes, so the option is less likely per character than the longer one.
    #[test]
    fn characters_are_counted_for_normalization() {
        let option = |(text, logprob): (&str, f64)| ContinuationScore {
            id: text.to_owned(),
            logprob,
            unconditioned_logprob: None,
            character_count: None,
            token_count: 1,
            byte_count: u32::try_from(text.len() + 1).unwrap_or_default(),
            is_greedy: false,
        };
        let options = [("дерево", -6.0), ("evergreen", -6.0)];
        let continuations =
            options.map(|(text, _)| Continuation { id: text.to_owned(), text: format!(" {text}") });
        let counts = character_counts(continuations.iter(), " ");
        assert_eq!(counts, [("дерево".to_owned(), 6)]);
        let output = LoglikelihoodOutput { scores: options.map(option).to_vec(), usage: None };
        let chosen = chosen_option(output, " ", &counts);
        assert_eq!(chosen.answer_normalized.as_deref(), Some("evergreen"));
    }
}
