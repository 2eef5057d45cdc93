//! The requests about a sample, built from its Sample or from its record. They are the messages that a run sends, before
//! local media are embedded and before a chat template is applied.

use crate::pipeline::infer::support_role::{SupportInput, support_messages};
use crate::pipeline::post_process::follow_up::{ORIGINAL_ANSWER, set_answer};
use crate::pipeline::post_process::judging::{add_shown_media, judge_messages};
use crate::plan::{PlannedSupportRole, PlannedTask};
use crate::request::support_context::payload_of;
use crate::request::{PromptParts, Request, rendered_prompt};
use crate::sample::result::SampleResult;
use gage_backend::{ACCEPTED_MEDIA_FACT, CHAT_TEMPLATE_FACT};
use gage_config::{
    BackendKind, BackendSpec, ChatTemplate as TemplateSetting, HttpKind, RequestKind, ServerTemplate,
};
use gage_core::{
    FinishReason, MediaKind, Message, Messages, ModelOutput, Object, Outcome, Role, Sample, SampleView,
};
use gage_plugin::Registry;
use gage_record::{SampleRecord, SampleTiming};
use gage_template::{ChatTemplate, ContentForm, Conversation, TemplateSandbox, joined_texts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request about a sample.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// The role that sends it.
    pub adapter_id: String,
    /// The judge, for the request of one.
    pub judge_id: Option<String>,
    /// The conversation. Empty if a text is sent.
    pub messages: Vec<Message>,
    /// A text that is sent as it is: a prompt that a tokenizer's template rendered, the joined texts of messages for a model
    /// without a chat template, or a text to be scored.
    pub text: Option<String>,
    /// Texts whose likelihood is measured after the conversation.
    pub continuations: Vec<String>,
    /// The conversation as the model reads it, if this program applied the chat template.
    pub rendered: Option<String>,
}

impl SentRequest {
    fn of_messages(adapter_id: &str, messages: Vec<Message>) -> SentRequest {
        SentRequest {
            adapter_id: adapter_id.to_owned(),
            judge_id: None,
            messages,
            text: None,
            continuations: Vec::new(),
            rendered: None,
        }
    }

    /// Returns the request as JSON, without the keys that it does not have.
    pub fn to_json(&self) -> Value {
        let mut request = json!({"adapter_id": self.adapter_id});
        if let Some(judge_id) = &self.judge_id {
            request["judge_id"] = judge_id.as_str().into();
        }
        if let Some(text) = &self.text {
            request["text"] = text.as_str().into();
        } else {
            request["messages"] = self.messages.iter().map(Message::to_value).collect();
        }
        if !self.continuations.is_empty() {
            request["continuations"] = json!(self.continuations);
        }
        if let Some(rendered) = &self.rendered {
            request["rendered"] = rendered.as_str().into();
        }
        request
    }
}

/// Facts of a run's backends, by id, with the chat templates that this program applied for them.
pub struct BackendFacts {
    specs: Vec<Arc<BackendSpec>>,
    facts: BTreeMap<String, Object>,
    templates: BTreeMap<String, ChatTemplate>,
}

impl BackendFacts {
    /// Compiles the chat templates of the backends of a suite. Conversations for a template that cannot be compiled are not
    /// rendered.
    pub fn new(
        specs: &[Arc<BackendSpec>],
        facts: BTreeMap<String, Object>,
        registry: &Registry,
    ) -> BackendFacts {
        let compiled =
            |(id, facts): (&String, &Object)| Some((id.clone(), template_of(id, facts, registry)?));
        let templates = facts.iter().filter_map(compiled).collect();
        BackendFacts { specs: specs.to_vec(), templates, facts }
    }

    /// Returns the facts of a backend.
    fn of(&self, backend_id: &str) -> Option<&Object> {
        self.facts.get(backend_id)
    }

    /// Returns a request as it reaches the model of a backend, if that is known: with the texts of the messages in place of
    /// them, or with the chat template applied.
    fn as_read(
        &self,
        backend_id: &str,
        kind: RequestKind,
        tools: &[Value],
        request: SentRequest,
    ) -> SentRequest {
        match self.joined(backend_id, kind, &request.messages) {
            Some(text) => SentRequest { text: Some(text), messages: Vec::new(), ..request },
            None => SentRequest { rendered: self.rendered(backend_id, &request.messages, tools), ..request },
        }
    }

    /// Returns the joined texts of a conversation that is sent without a chat template. A single message of the user is
    /// already the text that is sent, and messages with media are refused.
    fn joined(&self, backend_id: &str, kind: RequestKind, messages: &[Message]) -> Option<String> {
        let is_one_text = matches!(messages, [only] if only.role == Role::User);
        if messages.is_empty() || is_one_text || messages.iter().any(Message::has_media) {
            return None;
        }
        let spec = self.specs.iter().find(|spec| spec.backend_id == backend_id)?;
        // A file of a base model may have no template.
        let has_no_template = matches!(spec.kind, BackendKind::LlamaCpp(_))
            && self.of(backend_id).is_some_and(|facts| !facts.contains_key(CHAT_TEMPLATE_FACT));
        (has_no_template || joins_texts(spec, kind)).then(|| joined_texts(messages))
    }

    /// Renders a conversation with the chat template of a backend, if it has one. Messages with media are not rendered: the
    /// places of media depend on the model.
    fn rendered(&self, backend_id: &str, messages: &[Message], tools: &[Value]) -> Option<String> {
        if messages.is_empty() || messages.iter().any(Message::has_media) {
            return None;
        }
        let conversation = Conversation::new(messages, tools, ContentForm::Text);
        self.templates.get(backend_id)?.render(&conversation).ok()
    }
}

/// Returns true if a backend sends conversations as a text without a chat template: the texts of their messages, joined by line
/// breaks.
fn joins_texts(backend: &BackendSpec, request: RequestKind) -> bool {
    match &backend.kind {
        BackendKind::Http(config) => match config.kind {
            HttpKind::OpenAi => {
                // Log-likelihoods are those of the API `completions`.
                request != RequestKind::Generate || config.openai.chat_template == ServerTemplate::None
            }
            HttpKind::Tgi | HttpKind::HfInferenceEndpoint => true,
            HttpKind::Anthropic | HttpKind::Gemini => false,
        },
        BackendKind::LlamaCpp(config) => matches!(config.chat_template, TemplateSetting::None),
        BackendKind::CustomScript(_) | BackendKind::Answers(_) => false,
    }
}

/// Compiles the chat template in the facts of a backend.
fn template_of(backend_id: &str, facts: &Object, registry: &Registry) -> Option<ChatTemplate> {
    let source = facts.get(CHAT_TEMPLATE_FACT)?;
    let text = |key: &str| source[key].as_str().unwrap_or_default();
    let sandbox = TemplateSandbox::load(registry).ok()?;
    let (bos_token, eos_token) = (text("bos_token"), text("eos_token"));
    ChatTemplate::compile(&sandbox, backend_id, text("text"), bos_token, eos_token).ok()
}

/// Returns the requests about a Sample to the model under test: one, or one per option if each ends the prompt.
///
/// # Errors
/// If the prompt cannot be rendered, or the Sample makes no request.
fn model_requests(
    task: &PlannedTask,
    sample: &Arc<Sample>,
    support_output: &Value,
) -> Result<Vec<SentRequest>, String> {
    let parts = PromptParts::of(task, sample);
    let view = SampleView::Read(Arc::clone(sample));
    let rendered = rendered_prompt(task, &view, support_output);
    let request =
        parts.request(task, &sample.id, rendered, support_output, 0).map_err(|note| note.message)?;
    let sent = |messages: Messages, text: Option<String>, continuations: Vec<String>| {
        // A rendered text is sent in place of the messages.
        let messages = if text.is_some() { Vec::new() } else { messages.into_vec() };
        SentRequest { text, continuations, ..SentRequest::of_messages(&task.role.adapter_id, messages) }
    };
    Ok(match request {
        Request::Generate(request) => vec![sent(request.messages, request.prompt, Vec::new())],
        Request::Loglikelihood { requests, .. } => {
            let requests = requests.into_iter().map(|request| {
                let texts = request.continuations.into_iter().map(|continuation| continuation.text);
                sent(request.messages, request.prompt, texts.collect())
            });
            requests.collect()
        }
        Request::Rolling(request) => vec![sent(Messages::default(), Some(request.text), Vec::new())],
    })
}

/// Returns the requests about a recorded sample, in the order in which they were sent: to support roles, to the model, to
/// the roles that work on its answer, and the first one to each judge that was asked. An answer that was given has no request
/// to the model. With the chat templates of the backends, the conversations are rendered as well.
///
/// # Errors
/// If a prompt cannot be rendered, or the record has no valid Sample.
pub fn recorded_requests(
    task: &PlannedTask,
    record: &SampleRecord,
    backends: &BackendFacts,
) -> Result<Vec<SentRequest>, String> {
    let sample = recorded_sample(record)?;
    let mut support = RecordedSupport::new(record, backends);
    let mut requests = support.requests(task.support.iter(), None)?;
    if support.has_ended {
        return Ok(requests);
    }
    requests.extend(rendered_model_requests(task, &sample, &support)?);
    let answered = as_answered(record);
    if answered.model_output.is_some() {
        requests.extend(follow_up_requests(task, &answered, &mut support)?);
    }
    if record.judge_output.is_some() {
        requests.extend(judge_requests(task, answered, backends)?);
    }
    Ok(requests)
}

/// Returns the requests about a recorded sample to the model under test, as [`recorded_requests`] does. Empty if no request was
/// sent to it.
///
/// # Errors
/// As for [`recorded_requests`].
pub fn recorded_model_requests(
    task: &PlannedTask,
    record: &SampleRecord,
    backends: &BackendFacts,
) -> Result<Vec<SentRequest>, String> {
    let sample = recorded_sample(record)?;
    let mut support = RecordedSupport::new(record, backends);
    support.requests(task.support.iter(), None)?;
    match support.has_ended {
        true => Ok(Vec::new()),
        false => rendered_model_requests(task, &sample, &support),
    }
}

/// Returns the Sample of a record.
fn recorded_sample(record: &SampleRecord) -> Result<Arc<Sample>, String> {
    Sample::from_value(record.sample.clone().into_value())
        .map(Arc::new)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Returns the requests to the model under test with the chat template applied. Empty if its answers were given.
fn rendered_model_requests(
    task: &PlannedTask,
    sample: &Arc<Sample>,
    support: &RecordedSupport<'_>,
) -> Result<Vec<SentRequest>, String> {
    if task.has_given_answers() {
        return Ok(Vec::new());
    }
    let kind = task.spec.steps.inference.request;
    let as_read = |request| support.backends.as_read(&task.role.backend_id, kind, &sample.tools, request);
    Ok(model_requests(task, sample, &support.found)?.into_iter().map(as_read).collect())
}

/// Returns the requests about a Sample that no run has asked yet, with a placeholder for each reply that a later request
/// shows. `backends` are as for [`recorded_requests`].
///
/// # Errors
/// As for [`recorded_requests`].
pub fn expected_requests(
    task: &PlannedTask,
    sample: &Arc<Sample>,
    backends: &BackendFacts,
) -> Result<Vec<SentRequest>, String> {
    let placeholder = |name: &str| json!({"context": format!("<reply of {name}>")});
    let roles = task.support.iter().chain(task.follow_ups.iter().map(|follow_up| &follow_up.support_role));
    let names = roles.map(|planned| planned.role.adapter_id.as_str());
    let support: Object = names.map(|name| (name.to_owned(), placeholder(name))).collect();
    let answer = format!("<reply of {}>", task.role.adapter_id);
    let output = ModelOutput::generated(answer, FinishReason::Stop, None);
    let record = SampleRecord {
        task_id: task.spec.task_id.clone(),
        index: 0,
        sample_id: sample.id.clone(),
        row_digest: String::new(),
        outcome: Outcome::Scored,
        error: None,
        sample: sample.to_value().into(),
        row: None,
        support_output: Some(Value::Object(support)),
        model_output: Some(output.to_value().into()),
        judge_output: Some(json!({})),
        metrics: Vec::new(),
        timing: SampleTiming::default(),
        timing_metrics: Vec::new(),
    };
    recorded_requests(task, &record, backends)
}

/// The recorded output of support roles, step by step.
struct RecordedSupport<'r> {
    record: &'r SampleRecord,
    backends: &'r BackendFacts,
    sample: Value,
    /// Output of the roles so far.
    found: Value,
    /// True after a role without a recorded output: nothing was sent after it.
    has_ended: bool,
}

impl<'r> RecordedSupport<'r> {
    fn new(record: &'r SampleRecord, backends: &'r BackendFacts) -> RecordedSupport<'r> {
        let sample = record.sample.clone().into_value();
        RecordedSupport { record, backends, sample, found: Value::Null, has_ended: false }
    }

    /// Returns the requests to roles, and adds their recorded output to that of earlier ones.
    fn requests<'p>(
        &mut self,
        roles: impl Iterator<Item = &'p Arc<PlannedSupportRole>>,
        model_output: Option<&Value>,
    ) -> Result<Vec<SentRequest>, String> {
        let mut requests = Vec::new();
        for planned in roles {
            if self.has_ended {
                break;
            }
            let name = &planned.role.adapter_id;
            let mut payload = payload_of(&self.found);
            payload.extend(model_output.map(|output| ("model_output".to_owned(), output.clone())));
            let input =
                SupportInput { sample: &self.sample, found: &payload, history: None, tool_call: None };
            if let Some(messages) = support_messages(planned, &input).map_err(|failure| failure.message)? {
                let (id, request) = (&planned.role.backend_id, SentRequest::of_messages(name, messages));
                requests.push(self.backends.as_read(id, RequestKind::Generate, &[], request));
            }
            match self.record.support_output.as_ref().and_then(|output| output.get(name)) {
                Some(output) => {
                    if self.found.is_null() {
                        self.found = json!({});
                    }
                    self.found[name] = output.clone();
                }
                None => self.has_ended = true,
            }
        }
        Ok(requests)
    }
}

/// Returns the requests to the roles that worked on a recorded answer.
fn follow_up_requests(
    task: &PlannedTask,
    answered: &SampleRecord,
    support: &mut RecordedSupport<'_>,
) -> Result<Vec<SentRequest>, String> {
    let mut output = answered.model_output.as_deref().cloned().unwrap_or_default();
    if let Value::Object(keys) = &mut output
        && let Some(original) = keys.shift_remove(ORIGINAL_ANSWER)
    {
        keys.insert("answer".to_owned(), original);
    }
    let mut requests = Vec::new();
    for follow_up in &task.follow_ups {
        let role = &follow_up.support_role;
        requests.extend(support.requests(std::iter::once(role), Some(&output))?);
        let reply = support.found.get(&role.role.adapter_id).and_then(Value::as_object);
        if let Some(reply) = reply.filter(|_| follow_up.sets_answer) {
            set_answer(&mut output, reply);
        }
    }
    Ok(requests)
}

/// Returns the first requests to the judges of a recorded answer.
fn judge_requests(
    task: &PlannedTask,
    answered: SampleRecord,
    backends: &BackendFacts,
) -> Result<Vec<SentRequest>, String> {
    let result = SampleResult::of_record(answered);
    let Some(judges) = &task.judges else { return Ok(Vec::new()) };
    let mut requests = Vec::new();
    for planned in &judges.judges {
        let backend_id = &planned.role.backend_id;
        let mut conversations = judge_messages(planned, &result).map_err(|failure| failure.message)?;
        if judges.sends_media {
            let facts = backends.of(backend_id);
            let accepted = facts.and_then(|facts| facts.get(ACCEPTED_MEDIA_FACT)).and_then(Value::as_array);
            let accepts = |kind: MediaKind| {
                accepted.is_some_and(|kinds| kinds.iter().any(|known| known == kind.type_name()))
            };
            add_shown_media(&mut conversations, &result, accepts);
        }
        requests.extend(conversations.into_iter().map(|messages| {
            let request = SentRequest {
                judge_id: Some(planned.judge_id.clone()),
                ..SentRequest::of_messages(&planned.role.adapter_id, messages)
            };
            backends.as_read(backend_id, RequestKind::Generate, &[], request)
        }));
    }
    Ok(requests)
}

/// Returns a record with the model's output as its judges saw it, before extractors changed it.
fn as_answered(record: &SampleRecord) -> SampleRecord {
    let mut record = record.clone();
    if let Some(output) = record.model_output.take() {
        let mut output = output.into_value();
        if let Value::Object(keys) = &mut output
            && let Some(written) = keys.shift_remove("written")
        {
            keys.insert("answer".to_owned(), written);
            keys.shift_remove("parsed");
            keys.shift_remove("extraction");
        }
        record.model_output = Some(output.into());
    }
    record
}
