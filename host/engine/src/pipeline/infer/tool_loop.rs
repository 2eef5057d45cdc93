//! The tool loop of a model: answers its calls and asks it again, until it replies without calls or a bound is reached.

use super::support_role::{SupportInput, SupportOutput, SupportRole};
use super::tool_calls::{MAX_CALLS, ToolCall, choice_after, result_of};
use crate::limits::permits::RequestSlot;
use crate::pipeline::role_client::{RoleClient, RoleError, within};
use crate::pipeline::task_state::TaskState;
use crate::request::support_context::payload_of;
use crate::sample::answer_outcome::{milliseconds, outcome_of};
use crate::sample::failure::{SampleFailure, StepError};
use crate::sample::output_keys::TOOL_USAGE;
use crate::sample::result::SampleResult;
use crate::sample::usage::sum_of;
use futures::future::join_all;
use gage_backend::{GenerateRequest, RequestTiming};
use gage_config::ToolLoopSpec;
use gage_core::{ContentPart, FinishReason, Message, ModelOutput, Object, Outcome, OutputView, Role, Usage};
use gage_record::{ErrorNote, Stage};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Assumed bytes per token if the backend does not report token counts.
const BYTES_PER_TOKEN: u64 = 4;

/// Runs the turns of a model and the tools that it calls.
pub(crate) struct ToolLoop<'a> {
    pub(crate) task: &'a TaskState,
    /// Asks the model.
    pub(crate) client: &'a RoleClient,
    /// Answers the calls.
    pub(crate) support_role: &'a SupportRole,
    pub(crate) bounds: &'a ToolLoopSpec,
}

/// End of a conversation.
enum LoopExit {
    /// The model answered without calls, or was cut off by itself.
    Answered,
    /// A bound was reached: its name and a message.
    Bound(&'static str, String),
    /// The backend or the component failed.
    Failed(SampleFailure),
    /// The run is stopped, and nothing is recorded.
    Stopped,
}

/// The conversation so far.
#[derive(Default)]
struct Transcript {
    /// The messages after the prompt.
    trajectory: Vec<Value>,
    last: Option<ModelOutput>,
    turns: u32,
    usage: Option<Usage>,
    tool_usage: Option<Usage>,
    /// Tokens that count for the bound.
    tokens: u64,
    /// Time spent on requests and tools, excluding waits for a free slot.
    spent: Duration,
    latency: Duration,
    first_token: Option<Duration>,
    /// Calls of the model, including retries. `requests` excludes them.
    attempts: u32,
    requests: u32,
}

impl ToolLoop<'_> {
    /// Runs the conversation to its end, starting with the first request, which already has its slot.
    pub(crate) async fn run(
        &self,
        request: Box<GenerateRequest>,
        own_params: Option<Value>,
        slot: Arc<RequestSlot>,
        mut result: Box<SampleResult>,
    ) -> Option<Box<SampleResult>> {
        let mut transcript = Transcript::default();
        let end = self.converse(request, slot, &result, &mut transcript).await;
        let scored = &self.task.planned.spec.score_outcomes;
        match end {
            LoopExit::Stopped => return None,
            LoopExit::Answered => {
                let outcome = transcript.last.as_ref().map(|output| outcome_of(output, scored));
                result.outcome = outcome.unwrap_or(Outcome::EmptyOutput);
            }
            // If the task scores truncated answers, only `stopped_by` reports the bound.
            LoopExit::Bound(kind, _) if scored.contains(&Outcome::Truncated) => transcript.stopped_by(kind),
            LoopExit::Bound(kind, message) => {
                transcript.stopped_by(kind);
                result.outcome = Outcome::Truncated;
                let kind = kind.to_owned();
                result.error = Some(ErrorNote { stage: Stage::Inference, kind, message, pointer: None });
            }
            LoopExit::Failed(failure) => result.fail(Stage::Inference, failure),
        }
        result.timing.latency_ms = milliseconds(transcript.latency);
        result.timing.first_token_ms = transcript.first_token.map(milliseconds);
        result.timing.attempts = transcript.attempts;
        result.timing.requests = transcript.requests;
        if transcript.turns > 0 || result.outcome == Outcome::Truncated {
            result.model_output = OutputView::Read(Box::new(transcript.into_output(own_params)));
        }
        Some(result)
    }

    async fn converse(
        &self,
        mut request: Box<GenerateRequest>,
        first: Arc<RequestSlot>,
        result: &SampleResult,
        transcript: &mut Transcript,
    ) -> LoopExit {
        let mut history = history_of(result, &request);
        let mut first = Some(first);
        loop {
            let reply = match self.turn(&request, first.take(), transcript).await {
                Ok(reply) => reply,
                Err(end) => return end,
            };
            let calls = ToolCall::all(&reply, transcript.turns);
            let message = message_of(&reply, &calls);
            transcript.add_reply(&request, &message, reply);
            history.extend(transcript.trajectory.last().cloned());
            // Calls in a truncated reply may be incomplete.
            let is_whole = transcript.last.as_ref().is_some_and(|last| {
                !matches!(last.finish_reason, FinishReason::Length | FinishReason::ContentFilter)
            });
            if calls.is_empty() || !is_whole {
                return LoopExit::Answered;
            }
            if let Some((kind, message)) = self.turn_limit_reached(transcript, calls.len()) {
                return LoopExit::Bound(kind, message);
            }
            let results = match self.run_tools(&calls, &history, result, transcript).await {
                Ok(results) => results,
                Err(end) => return end,
            };
            request.messages.to_mut().push(message);
            for result in results {
                let value = result.to_value();
                history.push(value.clone());
                transcript.trajectory.push(value);
                request.messages.to_mut().push(result);
            }
            request.tool_choice = choice_after(request.tool_choice.take());
        }
    }

    /// Sends one request and returns its reply.
    async fn turn(
        &self,
        request: &GenerateRequest,
        slot: Option<Arc<RequestSlot>>,
        transcript: &mut Transcript,
    ) -> Result<ModelOutput, LoopExit> {
        let remaining = self.time_left(transcript)?;
        let sent = self.client.backend().generate(Box::new(request.clone()));
        match self.client.ask_within(self.task, slot, remaining, sent).await {
            Ok(Some(reply)) => {
                transcript.spent += reply.spent;
                transcript.add_timing(reply.timing);
                Ok(reply.output)
            }
            Ok(None) => Err(self.time_limit_error()),
            Err(RoleError::Stopped) => Err(LoopExit::Stopped),
            Err(RoleError::Failed(error)) => {
                transcript.attempts = transcript.attempts.saturating_add(error.attempts);
                transcript.requests = transcript.requests.saturating_add(error.attempts.min(1));
                Err(LoopExit::Failed(error.into()))
            }
        }
    }

    /// Returns the results of a reply's calls, in order.
    async fn run_tools(
        &self,
        calls: &[ToolCall],
        history: &[Value],
        result: &SampleResult,
        transcript: &mut Transcript,
    ) -> Result<Vec<Message>, LoopExit> {
        let (remaining, began) = (self.time_left(transcript)?, Instant::now());
        let (found, sample) = (payload_of(&result.support_output), result.sample.value());
        let results = calls.iter().map(|call| async {
            let Ok(named) = &call.named else {
                return Ok((call.refused(), None));
            };
            let payload = SupportInput {
                sample: &sample,
                found: &found,
                history: Some(history),
                tool_call: Some(named),
            };
            let SupportOutput { output, usage } =
                self.support_role.ask(self.task, &result.sample_id, &payload).await?;
            Ok::<_, StepError>((result_of(&call.id, output), usage))
        });
        let results = within(remaining, join_all(results)).await;
        transcript.spent += began.elapsed();
        let mut messages = Vec::with_capacity(calls.len());
        let mut failed = None;
        // Successful calls used tokens even if another call failed.
        for result in results.ok_or_else(|| self.time_limit_error())? {
            match result {
                Ok((message, usage)) => {
                    transcript.tool_usage = sum_of(transcript.tool_usage, usage);
                    messages.push(message);
                }
                Err(StepError::Stopped) => return Err(LoopExit::Stopped),
                Err(StepError::Failed(failure)) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        match failed {
            None => Ok(messages),
            Some(failure) => Err(LoopExit::Failed(failure.named(self.support_role.name()))),
        }
    }

    /// Returns the bound that forbids a further turn, if any.
    fn turn_limit_reached(&self, transcript: &Transcript, calls: usize) -> Option<(&'static str, String)> {
        let ToolLoopSpec { max_turns, max_tokens, .. } = self.bounds;
        if transcript.turns >= *max_turns {
            return Some((
                "max_turns",
                format!("the model still called tools in turn {max_turns}, the last one"),
            ));
        }
        if let Some(most) = max_tokens.filter(|most| transcript.tokens >= *most) {
            let message = format!("{} tokens are used, of {most} that are allowed", transcript.tokens);
            return Some(("max_tokens", message));
        }
        let message = || format!("the model called {calls} tools at once; at most {MAX_CALLS} are answered");
        (calls > MAX_CALLS).then(|| ("max_calls", message()))
    }

    /// Returns the time left, or `None` if it is unbounded.
    fn time_left(&self, transcript: &Transcript) -> Result<Option<Duration>, LoopExit> {
        let Some(most) = self.bounds.max_time else { return Ok(None) };
        match most.saturating_sub(transcript.spent) {
            Duration::ZERO => Err(self.time_limit_error()),
            remaining => Ok(Some(remaining)),
        }
    }

    fn time_limit_error(&self) -> LoopExit {
        let seconds = self.bounds.max_time.unwrap_or_default().as_secs_f64();
        LoopExit::Bound(
            "max_time",
            format!("the limit of {seconds} s for a conversation with tools is reached"),
        )
    }
}

/// Returns the prompt messages as JSON, for components. If there are media, returns the Sample's own messages, so that
/// embedded files are not copied into every call.
fn history_of(result: &SampleResult, request: &GenerateRequest) -> Vec<Value> {
    let has_media = request.messages.iter().any(Message::has_media);
    let own = if has_media { result.sample.value().get("messages").cloned() } else { None };
    match own {
        Some(Value::Array(own)) => own,
        _ => request.messages.iter().map(|message| message.to_value()).collect(),
    }
}

/// Returns the model's reply as a message of the conversation.
fn message_of(reply: &ModelOutput, calls: &[ToolCall]) -> Message {
    let mut message = Message::text(Role::Assistant, reply.answer.as_str());
    if reply.answer.is_empty() {
        message.content.clear();
    }
    message.tool_calls = calls.iter().map(|call| call.value.clone()).collect();
    message
}

impl Transcript {
    fn add_timing(&mut self, timing: RequestTiming) {
        self.latency += timing.latency;
        self.attempts = self.attempts.saturating_add(timing.attempts);
        self.requests = self.requests.saturating_add(timing.attempts.min(1));
        if self.turns == 0 {
            self.first_token = timing.first_token;
        }
    }

    /// Adds a reply.
    fn add_reply(&mut self, request: &GenerateRequest, message: &Message, reply: ModelOutput) {
        self.turns += 1;
        let tokens = match reply.usage {
            Some(usage) => usage.prompt_tokens.saturating_add(usage.completion_tokens),
            None => estimate_tokens(request.messages.iter().chain([message])),
        };
        self.tokens = self.tokens.saturating_add(tokens);
        self.usage = sum_of(self.usage, reply.usage);
        let mut step = message.to_value();
        if let (Some(reasoning), Value::Object(step)) = (reply.extra.get("reasoning"), &mut step) {
            step.insert("reasoning".to_owned(), reasoning.clone());
        }
        self.trajectory.push(step);
        self.last = Some(reply);
    }

    fn stopped_by(&mut self, bound: &str) {
        let ended = || ModelOutput::generated(String::new(), FinishReason::Other, None);
        let last = self.last.get_or_insert_with(ended);
        last.extra.insert("stopped_by".to_owned(), bound.into());
    }

    /// Returns the output for metrics: the last reply, with the whole trajectory and the total usage.
    fn into_output(self, own_params: Option<Value>) -> ModelOutput {
        let ended = || ModelOutput::generated(String::new(), FinishReason::Other, None);
        let last = self.last.unwrap_or_else(ended);
        let further = [
            ("turns", Some(self.turns.into())),
            ("trajectory", Some(Value::Array(self.trajectory))),
            (TOOL_USAGE, self.tool_usage.map(|usage| json!(usage))),
            ("sampling_params", own_params),
        ];
        let further = further.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        let mut output = ModelOutput { usage: self.usage, ..last };
        output.extra.extend(further.collect::<Object>());
        output
    }
}

/// Estimates the number of tokens in messages.
fn estimate_tokens<'m>(messages: impl Iterator<Item = &'m Message>) -> u64 {
    let bytes = |message: &Message| -> u64 {
        let texts = message.content.iter().map(|part| match part {
            ContentPart::Text { text, .. } => text.len() as u64,
            ContentPart::Media { .. } => 0,
        });
        let calls = message.tool_calls.iter().map(|call| call.to_string().len() as u64);
        texts.chain(calls).sum()
    };
    messages.map(bytes).sum::<u64>().div_ceil(BYTES_PER_TOKEN)
}
