//! The roles that support a model: their output becomes context for the model, or answers its tool calls.

use crate::limits::permits::RolePermits;
use crate::pipeline::guest_prompt;
use crate::pipeline::prompt_calls::PromptCalls;
use crate::pipeline::role_client::RoleClient;
use crate::pipeline::task_state::TaskState;
use crate::plan::PlannedSupportRole;
use crate::request::support_context::payload_of;
use crate::sample::failure::{SampleFailure, StepError};
use crate::session::Session;
use gage_backend::{DrawIndex, GenerateRequest, output_to_guest};
use gage_core::{Message, ModelOutput, Object, Outcome, SampleView, SamplingParams, Usage};
use gage_plugin::{AdapterReply, CallCoalescer, ItemError, PreparedCall, RoleAdapter};
use gage_template::{PromptContext, PromptInput, PromptRenderer};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A role that supports a model, ready to be asked.
pub(crate) struct SupportRole {
    planned: Arc<PlannedSupportRole>,
    calls: Option<AdapterCalls>,
    /// The prompt of the role, if it has one.
    prompt: Option<PromptCalls>,
    /// Client of the role's model, if it has one.
    client: Option<RoleClient>,
}

/// The functions of a role's component.
struct AdapterCalls {
    prepare: CallCoalescer<String, Result<PreparedCall, ItemError>>,
    parse: CallCoalescer<AdapterReply, Result<Object, ItemError>>,
}

/// Output of a support role for a sample.
pub(crate) struct SupportOutput {
    pub(crate) output: Object,
    /// Usage of the role's model, if it was asked and reports it.
    pub(crate) usage: Option<Usage>,
}

/// Input of a component, as JSON.
#[derive(Serialize)]
pub(crate) struct SupportInput<'p> {
    pub(crate) sample: &'p Value,
    /// Output of earlier steps, under their names and under `support`.
    #[serde(flatten)]
    pub(crate) found: &'p Object,
    /// For a tool call: the conversation so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<&'p [Value]>,
    /// For a tool call: its `id`, `name` and `arguments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call: Option<&'p Value>,
}

impl SupportRole {
    /// Opens a role. `workers` bounds the concurrent calls of its component, and those of its prompt.
    pub(crate) fn new(
        planned: &Arc<PlannedSupportRole>,
        session: &Session,
        permits: &RolePermits,
        workers: usize,
    ) -> SupportRole {
        let calls = planned.adapter.as_ref().map(|adapter| AdapterCalls::new(adapter, workers));
        SupportRole {
            planned: Arc::clone(planned),
            calls,
            prompt: planned.prompt.as_ref().map(|prompt| PromptCalls::new(prompt, workers)),
            client: RoleClient::for_role(&planned.role, session, permits),
        }
    }

    /// Returns the name of the role.
    pub(crate) fn name(&self) -> &str {
        &self.planned.role.adapter_id
    }

    /// Asks the role about a payload.
    pub(crate) async fn ask(
        &self,
        task: &TaskState,
        sample_id: &str,
        payload: &SupportInput<'_>,
    ) -> Result<SupportOutput, StepError> {
        let own = &self.planned.role.sampling_params;
        let Some(calls) = &self.calls else {
            let messages = self.render(payload).await?;
            let reply = self.generate(task, sample_id, messages, own.clone()).await?;
            let usage = reply.usage;
            return Ok(SupportOutput {
                output: Object::from_iter([("context".to_owned(), reply.answer.into())]),
                usage,
            });
        };
        let payload = serde_json::to_string(payload)
            .map_err(|error| SampleFailure::of_plugin("internal", error.to_string()))?;
        let (messages, params) = match adapter_result(calls.prepare.call(payload.clone()).await)? {
            PreparedCall::Output(output) => return Ok(SupportOutput { output, usage: None }),
            PreparedCall::Ask(prompt) => guest_prompt::messages_and_params(prompt, own)?,
        };
        let reply = self.generate(task, sample_id, messages, params).await?;
        let usage = reply.usage;
        let answered = AdapterReply { payload, reply: output_to_guest(reply) };
        Ok(SupportOutput { output: adapter_result(calls.parse.call(answered).await)?, usage })
    }

    /// Renders the messages of a role without a component.
    async fn render(&self, payload: &SupportInput<'_>) -> Result<Vec<Message>, SampleFailure> {
        let prompt = self.prompt.as_ref().ok_or_else(no_prompt)?;
        let input = prompt_input(&self.planned, prompt.renderer(), payload);
        prompt.render(input).await.map_err(prompt_failure)
    }

    async fn generate(
        &self,
        task: &TaskState,
        sample_id: &str,
        messages: Vec<Message>,
        params: SamplingParams,
    ) -> Result<ModelOutput, StepError> {
        let Some(client) = &self.client else {
            let message = "its component asks for a model, but the role has no `backend_id`";
            return Err(SampleFailure::of_plugin("no_backend", message).into());
        };
        // The repeat number is unknown here, so a nondeterministic reply is drawn again each time.
        let is_repeatable = params.seed.is_some() || params.temperature == Some(0.0);
        let request = Box::new(GenerateRequest {
            draw: is_repeatable.then(DrawIndex::default),
            id: format!("support:{}:{sample_id}", self.name()),
            messages: messages.into(),
            prompt: None,
            params,
            tools: Vec::new(),
            tool_choice: None,
            place: None,
        });
        Ok(client.ask(task, None, client.backend().generate(request)).await?.output)
    }
}

/// Returns the conversation that a role gets about a payload. `None` if its component needs no model, or if the role has
/// neither a component nor a prompt. Blocks.
pub(crate) fn support_messages(
    planned: &PlannedSupportRole,
    payload: &SupportInput<'_>,
) -> Result<Option<Vec<Message>>, SampleFailure> {
    let Some(adapter) = &planned.adapter else {
        let rendered = planned.prompt.as_ref().map(|prompt| {
            let input = prompt_input(planned, prompt, payload);
            prompt.render(&input).map_err(|error| prompt_failure(error.to_string()))
        });
        return rendered.transpose();
    };
    let payload = serde_json::to_string(payload)
        .map_err(|error| SampleFailure::of_plugin("internal", error.to_string()))?;
    match adapter_result(adapter.prepare(&[payload]).into_iter().next())? {
        PreparedCall::Output(_) => Ok(None),
        PreparedCall::Ask(prompt) => {
            let (messages, _) = guest_prompt::messages_and_params(prompt, &planned.role.sampling_params)?;
            Ok(Some(messages))
        }
    }
}

/// Returns the input of a role's prompt.
fn prompt_input(
    planned: &PlannedSupportRole,
    prompt: &PromptRenderer,
    payload: &SupportInput<'_>,
) -> PromptInput {
    let role = &planned.role;
    prompt.input(&PromptContext {
        sample: payload.sample,
        payload: payload.found,
        history: payload.history.unwrap_or_default(),
        adapter_id: &role.adapter_id,
        role_type: role.role_type.name(),
    })
}

fn no_prompt() -> SampleFailure {
    SampleFailure::of_plugin("no_prompt", "the role has neither an adapter nor a prompt")
}

fn prompt_failure(message: String) -> SampleFailure {
    SampleFailure::new(Outcome::InvalidSample, "prompt", message)
}

impl AdapterCalls {
    fn new(adapter: &Arc<RoleAdapter>, workers: usize) -> AdapterCalls {
        let (preparing, parsing) = (Arc::clone(adapter), Arc::clone(adapter));
        AdapterCalls {
            prepare: CallCoalescer::new(workers, move |payloads: &[String]| preparing.prepare(payloads)),
            parse: CallCoalescer::new(workers, move |replies: &[AdapterReply]| parsing.parse(replies)),
        }
    }
}

/// Converts the result of a component call.
fn adapter_result<T>(result: Option<Result<T, ItemError>>) -> Result<T, SampleFailure> {
    let Some(result) = result else {
        return Err(SampleFailure::of_plugin("internal", "the call of the component failed"));
    };
    Ok(result?)
}

/// Output of a sample's support steps so far.
#[derive(Default)]
pub(crate) struct SupportStepsResult {
    /// Output of each step, keyed by adapter name. Null if there are no such steps.
    pub(crate) output: Value,
    pub(crate) failure: Option<SampleFailure>,
}

/// Runs the support steps of a sample, passing each step the output of earlier ones. `None` if the run is stopped.
pub(crate) async fn run_steps(
    support_roles: &[SupportRole],
    task: &TaskState,
    sample_id: &str,
    sample: &SampleView,
) -> Option<SupportStepsResult> {
    let mut supported = SupportStepsResult::default();
    let sample = &sample.value();
    for support_role in support_roles {
        let found = payload_of(&supported.output);
        let payload = SupportInput { sample, found: &found, history: None, tool_call: None };
        match support_role.ask(task, sample_id, &payload).await {
            Ok(SupportOutput { mut output, usage }) => {
                if let Some(usage) = usage {
                    output.insert("usage".to_owned(), json!(usage));
                }
                if supported.output.is_null() {
                    supported.output = Value::Object(Object::new());
                }
                supported.output[support_role.name()] = Value::Object(output);
            }
            Err(StepError::Stopped) => return None,
            Err(StepError::Failed(failure)) => {
                supported.failure = Some(failure.named(support_role.name()));
                break;
            }
        }
    }
    Some(supported)
}
