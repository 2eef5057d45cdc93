//! The request of a sample: its messages, parameters and size.

mod likelihood;
pub(crate) mod support_context;

use crate::plan::PlannedTask;
use gage_backend::{Continuation, DrawIndex, GenerateRequest, LoglikelihoodRequest, RollingRequest};
use gage_config::{BackendSpec, RequestKind};
use gage_core::{ContentPart, Message, Messages, Object, Role, Sample, SampleView, SamplingParams};
use gage_record::{ErrorNote, Stage};
use gage_template::{PromptContext, PromptInput, PromptRenderer};
use likelihood::{continuations_of, prompt_endings, unconditioned_requests, with_endings};
use serde_json::Value;
use std::sync::Arc;

/// The request of a sample to its model.
pub(crate) enum Request {
    Generate(Box<GenerateRequest>),
    Loglikelihood {
        /// At least one. Several if each option ends a prompt of its own.
        requests: Vec<LoglikelihoodRequest>,
        /// Further requests for the same continuations after the Sample's `unconditioned_input`.
        unconditioned: Vec<LoglikelihoodRequest>,
    },
    Rolling(RollingRequest),
}

impl Request {
    /// Returns the conversation: the first one, if each option ends its own. Empty for a whole text.
    pub(crate) fn messages(&self) -> &[Message] {
        match self {
            Request::Generate(request) => &request.messages,
            Request::Loglikelihood { requests, .. } => {
                requests.first().map(|request| &*request.messages).unwrap_or_default()
            }
            Request::Rolling(_) => &[],
        }
    }

    /// Returns all conversations for modification.
    pub(crate) fn conversations(&mut self) -> Vec<&mut Messages> {
        match self {
            Request::Generate(request) => vec![&mut request.messages],
            Request::Loglikelihood { requests, .. } => {
                requests.iter_mut().map(|request| &mut request.messages).collect()
            }
            Request::Rolling(_) => Vec::new(),
        }
    }

    pub(crate) fn has_media(&self) -> bool {
        self.messages().iter().any(Message::has_media)
    }

    /// Returns the sampling parameters that a backend sends with it, as JSON.
    pub(crate) fn sent_params(&self, backend: &BackendSpec) -> Option<Value> {
        match self {
            Request::Generate(request) => serde_json::to_value(backend.sent(request.params.clone())).ok(),
            Request::Loglikelihood { .. } | Request::Rolling(_) => None,
        }
    }
}

/// Builds the error for a sample that cannot be asked.
pub(crate) fn prompt_note(kind: &str, message: impl Into<String>, pointer: Option<&str>) -> ErrorNote {
    ErrorNote {
        stage: Stage::Prompt,
        kind: kind.to_owned(),
        message: message.into(),
        pointer: pointer.map(str::to_owned),
    }
}

/// Size of a sample's request.
pub(crate) struct PromptSize {
    /// Number of tokens of its texts.
    pub(crate) tokens: f64,
    pub(crate) has_media: bool,
}

/// Returns the size of a sample's request, with `count` as the token counter. `None` if no request can be built from
/// it.
pub(crate) fn prompt_size(
    task: &PlannedTask,
    sample: Arc<Sample>,
    count: &dyn Fn(&str) -> f64,
) -> Option<PromptSize> {
    let parts = PromptParts::of(task, &sample);
    let texts = |messages: &[Message]| -> f64 {
        messages.iter().flat_map(|message| &message.content).map(|part| of_part(part, count)).sum()
    };
    let own = texts(&sample.messages);
    let id = sample.id.clone();
    let sample = SampleView::Read(sample);
    // The output of support steps is not known yet. A prompt that needs it is counted as the question alone.
    let fallback = if task.support.is_empty() { None } else { Some(own) };
    let rendered = rendered_prompt(task, &sample, &Value::Null);
    let request = match (parts.request(task, &id, rendered, &Value::Null, 0), fallback) {
        (Ok(request), _) => request,
        (Err(_), Some(tokens)) if tokens > 0.0 => return Some(PromptSize { tokens, has_media: false }),
        (Err(_), _) => return None,
    };
    let has_media = request.has_media();
    let of_prompt = |prompt: Option<&str>, messages: &[Message]| match prompt {
        Some(prompt) => count(prompt),
        None => texts(messages),
    };
    let tokens: f64 = match request {
        Request::Generate(request) => of_prompt(request.prompt.as_deref(), &request.messages),
        Request::Loglikelihood { requests, unconditioned } => {
            let scored = |request: &LoglikelihoodRequest| -> f64 {
                let texts: f64 = request.continuations.iter().map(|one| count(&one.text)).sum();
                of_prompt(request.prompt.as_deref(), &request.messages) + texts
            };
            requests.iter().chain(&unconditioned).map(scored).sum()
        }
        Request::Rolling(request) => count(&request.text),
    };
    Some(PromptSize { tokens, has_media })
}

fn of_part(part: &ContentPart, count: &dyn Fn(&str) -> f64) -> f64 {
    match part {
        ContentPart::Text { text, .. } => count(text),
        _ => 0.0,
    }
}

/// Parts of a request that need the Sample itself, rather than its JSON.
pub(crate) struct PromptParts {
    params: Result<SamplingParams, ErrorNote>,
    /// True if the Sample sets sampling parameters of its own.
    pub(crate) has_own_params: bool,
    continuations: Result<Vec<Continuation>, ErrorNote>,
    /// Texts that end the prompt, one for each continuation. Empty if the continuations share the prompt.
    prompt_endings: Vec<String>,
    /// The Sample's `unconditioned_input`, if continuations are scored.
    unconditioned_input: Option<Value>,
    messages: Messages,
    /// The media of the Sample, which go into the last user message.
    prompt_media: Vec<ContentPart>,
    rendered: Option<String>,
    tools: Vec<Value>,
    tool_choice: Option<Value>,
}

impl PromptParts {
    pub(crate) fn of(task: &PlannedTask, sample: &Arc<Sample>) -> PromptParts {
        let own = sample.own_sampling();
        let has_own_params = !own.is_empty();
        let params = match has_own_params {
            true => SamplingParams::from_object(own).map(|params| params.over(&task.sampling_params)),
            false => Ok(task.sampling_params.clone()),
        };
        let params = params.map_err(|problems| {
            let message = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            prompt_note("sampling_params", message, Some("/sampling_params"))
        });
        let is_given = task.has_given_answers();
        let messages = match &task.prompt {
            None if !is_given => Messages::of(sample, task.dataset.option_display),
            _ => Messages::default(),
        };
        let has_media = messages.iter().any(Message::has_media);
        // A server's template has to place media and tool results, so such conversations are sent as messages.
        let is_rendered = task.prompt.is_none() && task.tools.is_none() && !has_media;
        let rendered = sample.rendered_prompt().filter(|_| is_rendered);
        PromptParts {
            has_own_params,
            params,
            continuations: continuations_of(task, sample),
            prompt_endings: prompt_endings(task, sample),
            unconditioned_input: match task.spec.steps.inference.request {
                RequestKind::Loglikelihood => sample.unconditioned_input.clone(),
                RequestKind::Generate | RequestKind::RollingLoglikelihood => None,
            },
            prompt_media: if task.prompt.is_some() && !is_given { media_of(sample) } else { Vec::new() },
            rendered: rendered.map(str::to_owned),
            tools: sample.tools.clone(),
            tool_choice: sample.tool_choice.clone(),
            messages,
        }
    }

    /// Builds the request for this repeat. `rendered` are the messages of the role's prompt, which shows the support output.
    /// If the role has no prompt, the context of the support steps goes before the conversation.
    pub(crate) fn request(
        self,
        task: &PlannedTask,
        id: &str,
        rendered: Option<Result<Vec<Message>, ErrorNote>>,
        support_output: &Value,
        repeat: u64,
    ) -> Result<Request, ErrorNote> {
        let mut params = self.params?;
        // With the same seed for all repeats, each would get the same answer.
        params.seed = params.seed.map(|seed| seed.wrapping_add(repeat));
        let mut rendered_prompt = self.rendered;
        let messages = match rendered {
            None => match support_context::context_of(support_output) {
                None => self.messages,
                Some(context) => {
                    if self.messages.is_empty() && rendered_prompt.is_some() {
                        let message = "the sample has only a text that was rendered already, so no context \
                            can be added";
                        return Err(prompt_note("no_messages", message, Some("/messages")));
                    }
                    rendered_prompt = None;
                    Messages::from(with_context(self.messages.into_vec(), &context))
                }
            },
            Some(rendered) => Messages::from(rendered?),
        };
        let messages = with_media(messages, self.prompt_media);
        let note = |kind: &str, message: &str, pointer: &str| Err(prompt_note(kind, message, Some(pointer)));
        if messages.is_empty() && rendered_prompt.is_none() && !task.has_given_answers() {
            let message = "the sample has no messages, and the role has no prompt";
            return note("no_messages", message, "/messages");
        }
        let (id, prompt, continuations) = (id.to_owned(), rendered_prompt, self.continuations?);
        match task.spec.steps.inference.request {
            RequestKind::Generate => {
                let (tools, tool_choice) = (self.tools, self.tool_choice);
                let draw = Some(DrawIndex { repeat, ..DrawIndex::default() });
                let place = None;
                let request =
                    GenerateRequest { id, messages, prompt, params, tools, tool_choice, draw, place };
                Ok(Request::Generate(Box::new(request)))
            }
            RequestKind::Loglikelihood if continuations.is_empty() => {
                note("no_options", "log-likelihood needs options, but the sample has none", "/options")
            }
            RequestKind::Loglikelihood if continuations.iter().any(|one| one.text.trim().is_empty()) => {
                let message = "log-likelihood needs a text for each option, and one is empty";
                note("empty_option", message, "/options")
            }
            RequestKind::Loglikelihood => {
                let unconditioned = match self.unconditioned_input {
                    Some(input) => unconditioned_requests(&id, &input, &continuations)?,
                    None => Vec::new(),
                };
                let request = LoglikelihoodRequest { id, messages, prompt, continuations };
                let requests = with_endings(request, &self.prompt_endings);
                Ok(Request::Loglikelihood { requests, unconditioned })
            }
            RequestKind::RollingLoglikelihood => rolling_request(id, &messages, prompt),
        }
    }
}

/// Builds the request for the log-likelihood of a whole text.
fn rolling_request(id: String, messages: &[Message], prompt: Option<String>) -> Result<Request, ErrorNote> {
    let note = |kind: &str, message: &str| Err(prompt_note(kind, message, Some("/messages")));
    if messages.iter().any(Message::has_media) {
        return note(
            "media_unsupported",
            "log-likelihood needs a text, but a message of the sample contains media",
        );
    }
    let has_special_tokens = prompt.is_some();
    let text = prompt.unwrap_or_else(|| whole_text(messages));
    if text.is_empty() {
        return note("empty_text", "the text to score is empty");
    }
    Ok(Request::Rolling(RollingRequest { id, text, has_special_tokens }))
}

/// Returns the texts of messages, joined by line breaks: the whole text of a sample, without a chat template.
fn whole_text(messages: &[Message]) -> String {
    let texts: Vec<String> = messages.iter().map(|message| gage_core::text_of(&message.content)).collect();
    texts.join("\n")
}

/// Returns the media of a Sample's messages, which a prompt's text cannot hold.
fn media_of(sample: &Sample) -> Vec<ContentPart> {
    let parts = sample.messages.iter().flat_map(|message| &message.content);
    parts.filter(|part| matches!(part, ContentPart::Media { .. })).cloned().collect()
}

/// Puts media before the text of the last user message.
fn with_media(mut messages: Messages, prompt_media: Vec<ContentPart>) -> Messages {
    if prompt_media.is_empty() {
        return messages;
    }
    if let Some(last) = messages.to_mut().iter_mut().rfind(|message| message.role == Role::User) {
        last.content.splice(0..0, prompt_media);
    }
    messages
}

/// Heading above a context.
const CONTEXT_TITLE: &str = "Context:";

/// Puts a context before a conversation. Appends it to the leading system message, because many models accept only one,
/// or else inserts it as a system message of its own.
fn with_context(mut messages: Vec<Message>, context: &str) -> Vec<Message> {
    let context = format!("{CONTEXT_TITLE}\n\n{context}");
    match messages.first_mut().filter(|first| first.role == Role::System) {
        Some(first) => first.content.push(ContentPart::text(format!("\n\n{context}"))),
        None => messages.insert(0, Message::text(Role::System, context)),
    }
    messages
}

/// Returns the input of the prompt of the model under test.
pub(crate) fn prompt_input(
    task: &PlannedTask,
    prompt: &PromptRenderer,
    sample: &SampleView,
    support_output: &Value,
) -> PromptInput {
    let payload = support_context::payload_of(support_output);
    prompt.input(&prompt_context(task, &sample.value(), &payload))
}

/// Renders the prompt of the model under test, if the suite has one. Blocks.
pub(crate) fn rendered_prompt(
    task: &PlannedTask,
    sample: &SampleView,
    support_output: &Value,
) -> Option<Result<Vec<Message>, ErrorNote>> {
    let prompt = task.prompt.as_ref()?;
    let rendered = prompt.render(&prompt_input(task, prompt, sample, support_output));
    Some(rendered.map_err(|error| prompt_note("prompt", error.to_string(), None)))
}

/// Returns the context in which the prompt of the model under test is rendered.
pub(crate) fn prompt_context<'c>(
    task: &'c PlannedTask,
    sample: &'c Value,
    payload: &'c Object,
) -> PromptContext<'c> {
    PromptContext {
        sample,
        payload,
        history: &[],
        adapter_id: &task.role.adapter_id,
        role_type: task.role.role_type.name(),
    }
}
