//! The requests about a sample, built from its Sample or from its record. They are the messages that a run sends, before
//! local media are embedded and before a chat template is applied.

use crate::pipeline::post_process::judging::judge_messages;
use crate::plan::PlannedTask;
use crate::request::{PromptParts, Request};
use crate::sample::result::SampleResult;
use gage_backend::CHAT_TEMPLATE_FACT;
use gage_core::{Message, Object, Sample, SampleView};
use gage_record::SampleRecord;
use gage_template::ChatTemplate;
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
    /// A text that is sent as it is: a prompt that a tokenizer's template rendered, or a text to be scored.
    pub text: Option<String>,
    /// Texts whose likelihood is measured after the conversation.
    pub continuations: Vec<String>,
    /// The conversation as the model reads it, if this program applied the chat template.
    pub rendered: Option<String>,
}

impl SentRequest {
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

/// Returns the request about a Sample to the model under test.
///
/// # Errors
/// If the prompt cannot be rendered, or the Sample makes no request.
pub fn model_request(
    task: &PlannedTask,
    sample: &Arc<Sample>,
    support_output: &Value,
) -> Result<SentRequest, String> {
    let parts = PromptParts::of(task, sample);
    let view = SampleView::Read(Arc::clone(sample));
    let request = parts.request(task, &sample.id, &view, support_output, 0).map_err(|note| note.message)?;
    let (messages, text, continuations) = match request {
        Request::Generate(request) => (request.messages, request.prompt, Vec::new()),
        Request::Loglikelihood { request, .. } => {
            let texts = request.continuations.into_iter().map(|continuation| continuation.text);
            (request.messages, request.prompt, texts.collect())
        }
        Request::Rolling(request) => (Vec::new().into(), Some(request.text), Vec::new()),
    };
    // A rendered text is sent in place of the messages.
    let messages = if text.is_some() { Vec::new() } else { messages.into_vec() };
    let adapter_id = task.role.adapter_id.clone();
    Ok(SentRequest { adapter_id, judge_id: None, messages, text, continuations, rendered: None })
}

/// Returns the requests about a recorded sample: to the model, and the first one to each judge that was asked. `facts` are
/// those of the run's backends; with their chat templates the conversations are rendered as well.
///
/// # Errors
/// If a prompt cannot be rendered, or the record has no valid Sample.
pub fn recorded_requests(
    task: &PlannedTask,
    record: &SampleRecord,
    facts: &BTreeMap<String, Object>,
) -> Result<Vec<SentRequest>, String> {
    let sample = Sample::from_value(record.sample.clone().into_value())
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let support_output = record.support_output.clone().unwrap_or_default();
    let sample = Arc::new(sample);
    let mut request = model_request(task, &sample, &support_output)?;
    request.rendered = rendered(facts.get(&task.role.backend_id), &request.messages, &sample.tools);
    let mut requests = vec![request];
    if record.judge_output.is_none() {
        return Ok(requests);
    }
    let result = SampleResult::of_record(as_answered(record));
    for planned in task.judges.iter().flat_map(|judges| &judges.judges) {
        let conversations = judge_messages(planned, &result).map_err(|failure| failure.message)?;
        requests.extend(conversations.into_iter().map(|messages| SentRequest {
            adapter_id: planned.role.adapter_id.clone(),
            judge_id: Some(planned.judge_id.clone()),
            text: None,
            continuations: Vec::new(),
            rendered: rendered(facts.get(&planned.role.backend_id), &messages, &[]),
            messages,
        }));
    }
    Ok(requests)
}

/// Renders a conversation with the chat template that a backend applied, if its facts have one. Messages with media are
/// not rendered: the places of media depend on the model.
fn rendered(facts: Option<&Object>, messages: &[Message], tools: &[Value]) -> Option<String> {
    let source = facts?.get(CHAT_TEMPLATE_FACT)?;
    let text = |key: &str| source[key].as_str().unwrap_or_default();
    if messages.is_empty() || messages.iter().any(Message::has_media) {
        return None;
    }
    let template = ChatTemplate::compile(text("text"), text("bos_token"), text("eos_token")).ok()?;
    template.render(messages, tools).ok()
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
