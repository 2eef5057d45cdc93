//! The roles that support a model: what they find is put before it, or answers its calls of tools.

use crate::limits::permits::{RequestLimits, RequestSlot};
use crate::pipeline::infer::call_coalescer::CallCoalescer;
use crate::pipeline::post_process::judging::RolePermits;
use crate::pipeline::task_state::TaskState;
use crate::plan::PlannedHelper;
use crate::session::Session;
use gage_backend::{Backend, DrawIndex, GenerateRequest, cancellable, output_to_guest, with_slot};
use gage_core::{Message, ModelOutput, Object, Outcome, SampleView, SamplingParams, Usage};
use gage_plugin::{AdapterReply, ItemError, PreparedCall, RoleAdapter, message_from_guest};
use gage_template::PromptContext;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// What payloads hold beside what support steps found; an adapter of such a name is found under `support`
/// alone.
const RESERVED: [&str; 6] = ["sample", "support", "history", "tool_call", "model_output", "judge_output"];

/// A role that supports a model, with all that it needs to be asked.
pub(crate) struct SupportRole {
    planned: Arc<PlannedHelper>,
    calls: Option<AdapterCalls>,
    /// Its model, where it has one, and what bounds the requests of the role.
    model: Option<(Arc<dyn Backend>, Arc<RequestLimits>)>,
}

/// The functions of its component.
struct AdapterCalls {
    prepare: CallCoalescer<String, Result<PreparedCall, ItemError>>,
    parse: CallCoalescer<AdapterReply, Result<Object, ItemError>>,
}

/// What is found for a sample.
pub(crate) struct SupportOutput {
    pub(crate) output: Object,
    /// What its model took, where it was asked and says it.
    pub(crate) usage: Option<Usage>,
}

/// Why there is nothing.
pub(crate) enum SupportError {
    Failure(SupportFailure),
    /// The run is stopped.
    Stopped,
}

/// How the sample ends for it.
pub(crate) struct SupportFailure {
    pub(crate) outcome: Outcome,
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// What a component is given, as JSON.
#[derive(Serialize)]
pub(crate) struct SupportInput<'p> {
    pub(crate) sample: &'p Value,
    /// What earlier steps found, under their names and under `support`.
    #[serde(flatten)]
    pub(crate) found: &'p Object,
    /// For a call of a tool: the conversation so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<&'p [Value]>,
    /// For a call of a tool: its `id`, `name` and `arguments`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call: Option<&'p Value>,
}

/// What support steps found, as payloads hold it: each by the name of its adapter, and all under `support`.
pub(crate) fn payload_of(support_output: &Value) -> Object {
    let Value::Object(found) = support_output else { return Object::new() };
    let named = found.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    let mut payload: Object = named.map(|(name, output)| (name.clone(), output.clone())).collect();
    payload.insert("support".to_owned(), support_output.clone());
    payload
}

impl SupportRole {
    /// Opens a role; `workers` bounds the calls of its component at the same time.
    pub(crate) fn new(
        planned: &Arc<PlannedHelper>,
        session: &Session,
        permits: &RolePermits,
        workers: usize,
    ) -> SupportRole {
        let role = &planned.role;
        let model = session.backend(&role.backend_id).map(|backend| {
            (Arc::clone(backend), RequestLimits::for_role(permits.semaphore_of(role, backend.as_ref())))
        });
        let calls = planned.adapter.as_ref().map(|adapter| AdapterCalls::new(adapter, workers));
        SupportRole { planned: Arc::clone(planned), calls, model }
    }

    /// The name of the role.
    pub(crate) fn name(&self) -> &str {
        &self.planned.role.adapter_id
    }

    /// Asks the role about a payload.
    pub(crate) async fn ask(
        &self,
        task: &TaskState,
        sample_id: &str,
        payload: &SupportInput<'_>,
    ) -> Result<SupportOutput, SupportError> {
        let own = &self.planned.role.sampling_params;
        let Some(calls) = &self.calls else {
            let reply = self.generate(task, sample_id, self.rendered(payload)?, own.clone()).await?;
            let usage = reply.usage;
            return Ok(SupportOutput {
                output: Object::from_iter([("context".to_owned(), reply.answer.into())]),
                usage,
            });
        };
        let payload =
            serde_json::to_string(payload).map_err(|error| support_failure("internal", error.to_string()))?;
        let (messages, params) = match adapter_result(calls.prepare.call(payload.clone()).await)? {
            PreparedCall::Output(output) => return Ok(SupportOutput { output, usage: None }),
            PreparedCall::Ask(prompt) => {
                let messages = prompt.messages.into_iter().map(message_from_guest).collect::<Result<_, _>>();
                let params = SamplingParams::from_object(prompt.params).map_err(|problems| {
                    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
                });
                let read = messages.and_then(|messages: Vec<Message>| Ok((messages, params?.over(own))));
                read.map_err(|message| support_failure("invalid_result", message))?
            }
        };
        let reply = self.generate(task, sample_id, messages, params).await?;
        let usage = reply.usage;
        let answered = AdapterReply { payload, reply: output_to_guest(reply) };
        Ok(SupportOutput { output: adapter_result(calls.parse.call(answered).await)?, usage })
    }

    /// The messages of a role without a component.
    fn rendered(&self, payload: &SupportInput<'_>) -> Result<Vec<Message>, SupportFailure> {
        let role = &self.planned.role;
        let Some(prompt) = &self.planned.prompt else {
            return Err(support_failure(
                "no_prompt",
                "the role has neither an adapter nor a prompt".to_owned(),
            ));
        };
        let context = PromptContext {
            sample: payload.sample,
            payload: payload.found,
            history: payload.history.unwrap_or_default(),
            adapter_id: &role.adapter_id,
            role_type: role.role_type.name(),
        };
        prompt.render(&context).map_err(|error| SupportFailure {
            outcome: Outcome::InvalidSample,
            kind: "prompt".to_owned(),
            message: error.to_string(),
        })
    }

    async fn generate(
        &self,
        task: &TaskState,
        sample_id: &str,
        messages: Vec<Message>,
        params: SamplingParams,
    ) -> Result<ModelOutput, SupportError> {
        let Some((backend, rooms)) = &self.model else {
            let message = "its component asks for a model, and the role has no `backend_id`".to_owned();
            return Err(support_failure("no_backend", message).into());
        };
        // Which repeat asks is not known here, so what is left to chance is answered anew each time.
        let is_repeatable = params.seed.is_some() || params.temperature == Some(0.0);
        let request = Box::new(GenerateRequest {
            draw: is_repeatable.then(DrawIndex::default),
            id: format!("support:{}:{sample_id}", self.name()),
            messages: messages.into(),
            prompt: None,
            params,
            tools: Vec::new(),
            tool_choice: None,
        });
        let backend_id = &self.planned.role.backend_id;
        let asked = async {
            let place = task.unless_budget_exhausted(RequestSlot::acquire_new(rooms, None)).await?;
            let reply = with_slot(Arc::clone(&place) as _, backend.generate(request)).await;
            Some((reply, place))
        };
        let asked = cancellable(asked, task.stop.cancelled(), task.stop.aborted()).await.flatten();
        // Its place is free when it is known what it took, so that nobody begins behind a budget.
        let (reply, _place) = asked.unzip();
        match reply {
            None => Err(SupportError::Stopped),
            Some(Ok(reply)) => {
                // What was kept costs nothing.
                if reply.timing.attempts > 0 {
                    task.spending.add_usage(backend_id, reply.output.usage, &task.run_stop);
                }
                Ok(reply.output)
            }
            Some(Err(error)) if task.stops_on(backend_id, &error) => Err(SupportError::Stopped),
            Some(Err(error)) => Err(SupportError::Failure(SupportFailure {
                outcome: Outcome::BackendError,
                kind: error.kind.name().to_owned(),
                message: error.message,
            })),
        }
    }
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

impl From<SupportFailure> for SupportError {
    fn from(failure: SupportFailure) -> SupportError {
        SupportError::Failure(failure)
    }
}

/// A failure of the component.
fn support_failure(kind: &str, message: String) -> SupportFailure {
    SupportFailure { outcome: Outcome::PluginError, kind: kind.to_owned(), message }
}

/// What came of a call of a component.
fn adapter_result<T>(result: Option<Result<T, ItemError>>) -> Result<T, SupportFailure> {
    match result {
        Some(Ok(result)) => Ok(result),
        Some(Err(error)) => Err(SupportFailure {
            outcome: error.outcome,
            kind: error.kind.to_owned(),
            message: error.message,
        }),
        None => Err(support_failure("internal", "the call of the component failed".to_owned())),
    }
}

/// What the support steps of a sample found so far.
#[derive(Default)]
pub(crate) struct SupportStepsResult {
    /// Each by the name of its adapter; null where there are no such steps.
    pub(crate) output: Value,
    pub(crate) failure: Option<SupportFailure>,
}

/// Runs the support steps of a sample, each with what those before it found. Nothing where the run is
/// stopped.
pub(crate) async fn run_steps(
    helpers: &[SupportRole],
    task: &TaskState,
    sample_id: &str,
    sample: &SampleView,
) -> Option<SupportStepsResult> {
    let mut supported = SupportStepsResult::default();
    let sample = &sample.value();
    for helper in helpers {
        let found = payload_of(&supported.output);
        let payload = SupportInput { sample, found: &found, history: None, tool_call: None };
        match helper.ask(task, sample_id, &payload).await {
            Ok(SupportOutput { mut output, usage }) => {
                if let Some(usage) = usage {
                    output.insert("usage".to_owned(), json!(usage));
                }
                if supported.output.is_null() {
                    supported.output = Value::Object(Object::new());
                }
                supported.output[helper.name()] = Value::Object(output);
            }
            Err(SupportError::Stopped) => return None,
            Err(SupportError::Failure(failure)) => {
                let message = format!("{}: {}", helper.name(), failure.message);
                supported.failure = Some(SupportFailure { message, ..failure });
                break;
            }
        }
    }
    Some(supported)
}

/// The texts that support steps found under `context`, as one; nothing where there are none.
pub(crate) fn context_of(support_output: &Value) -> Option<String> {
    let outputs = support_output.as_object().into_iter().flat_map(Object::values);
    let texts: Vec<String> = outputs.filter_map(|output| output.get("context")).flat_map(texts_of).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The texts of a context: of a text itself, of a list those of its items, of an object that in `text` or
/// `content`. What is none of them is shown as JSON.
fn texts_of(context: &Value) -> Vec<String> {
    match context {
        Value::Null => Vec::new(),
        Value::String(text) if text.trim().is_empty() => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts_of).collect(),
        Value::Object(object) => {
            match object.get("text").or_else(|| object.get("content")).and_then(Value::as_str) {
                Some(text) => vec![text.to_owned()],
                None => vec![context.to_string()],
            }
        }
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_one_text() {
        for (support, expected) in [
            (json!(null), None),
            (json!({"a": {"other": 1}}), None),
            (json!({"a": {"context": [" ", null]}}), None),
            (
                json!({"a": {"context": "one"}, "b": {"context": ["two", {"text": "three"}]}}),
                Some("one\n\ntwo\n\nthree"),
            ),
            (
                json!({"a": {"context": [{"content": "c", "score": 1}, {"k": 2}, 3]}}),
                Some("c\n\n{\"k\":2}\n\n3"),
            ),
        ] {
            assert_eq!(context_of(&support).as_deref(), expected, "{support}");
        }
    }

    #[test]
    fn payloads_hold_what_was_found_twice_but_for_names_that_are_taken() {
        let found = json!({"retriever": {"context": "c"}, "sample": {"x": 1}});
        let payload = payload_of(&found);
        assert_eq!(Value::Object(payload), json!({"retriever": {"context": "c"}, "support": found}));
        assert!(payload_of(&Value::Null).is_empty());
    }
}
