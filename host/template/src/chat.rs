//! Chat templates: how a conversation becomes the single text that a model reads. The component `template` renders them
//! as Hugging Face's `apply_chat_template` does.

use crate::sandbox::{CallFailure, TemplateSandbox, call, call_once};
use crate::unknown_name::UnknownName;
use gage_core::{ContentPart, DEFAULT_MAX_JSON_VALUES, Digest, Message, Object, parse_json, text_of};
use gage_plugin::RoleAdapter;
use serde::Serialize;
use serde_json::{Value, json};

/// Name of the component's member.
const MEMBER: &str = "chat_template";

/// Error of a chat template. `origin` says where the template is from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// The template is not valid Jinja, or uses unsupported features.
    #[error("the chat template of {origin} cannot be compiled: {reason}")]
    Compile {
        /// The origin of the template.
        origin: String,
        /// The cause.
        reason: String,
    },
    /// The template rejects the conversation, or fails on it.
    #[error(
        "the chat template of {origin} cannot render the conversation: {reason}; give another template, or messages that it accepts"
    )]
    Render {
        /// The origin of the template.
        origin: String,
        /// The cause.
        reason: String,
    },
    /// The template needs more time, memory or stack than it may use.
    #[error(
        "the chat template of {origin} was stopped: it {reason}; give another template, or fewer messages"
    )]
    Stopped {
        /// The origin of the template.
        origin: String,
        /// What it did, after the word `it`.
        reason: String,
    },
}

/// The form in which a template gets the content of messages without media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentForm {
    /// One text, with the text parts joined.
    Text,
    /// A list of parts, even if it is only one text.
    Parts,
}

/// A conversation in the form that chat templates expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation(String);

impl Conversation {
    /// Converts a conversation. If a message contains media, its content is a list of `{type: text, text}` and
    /// `{type: image}` in either form. Tool call arguments that are JSON in a string are parsed into an object.
    pub fn new(messages: &[Message], tools: &[Value], form: ContentForm) -> Conversation {
        let payload = ConversationPayload {
            messages: messages.iter().map(|message| message_value(message, form)).collect(),
            tools: if tools.is_empty() { None } else { Some(tools) },
        };
        // Values always have a JSON text.
        Conversation(serde_json::to_string(&payload).unwrap_or_default())
    }
}

/// A conversation as the component gets it.
#[derive(Serialize)]
struct ConversationPayload<'c> {
    messages: Vec<Value>,
    tools: Option<&'c [Value]>,
}

/// A compiled chat template.
pub struct ChatTemplate {
    member: RoleAdapter,
    origin: String,
    digest: Digest,
}

impl ChatTemplate {
    /// Compiles a template. `bos_token` and `eos_token` are the texts of the tokens that begin and end a sequence,
    /// empty if the model has none. Errors name the `origin`, such as the model's file.
    ///
    /// # Errors
    /// Fails if the template is invalid, or names a filter or a test that does not exist.
    pub fn compile(
        sandbox: &TemplateSandbox,
        origin: &str,
        text: &str,
        bos_token: &str,
        eos_token: &str,
    ) -> Result<ChatTemplate, ChatTemplateError> {
        let fail = |failure: CallFailure| error_of(origin, failure);
        let params = json!({"template": text, "bos_token": bos_token, "eos_token": eos_token});
        let member = sandbox.member(MEMBER, params).map_err(fail)?;
        let output = call_once(&member, json!({"inspect": true}).to_string()).map_err(fail)?;
        // As in transformers, filters and tests are resolved at compile time, and functions when they are called.
        if let Some(unknown) = unknown_of(&output).into_iter().find(|unknown| unknown.kind != "function") {
            let text = unknown.text();
            let reason = unknown.line.map_or_else(|| text.clone(), |line| format!("line {line}: {text}"));
            return Err(ChatTemplateError::Compile { origin: origin.to_owned(), reason });
        }
        Ok(ChatTemplate { member, origin: origin.to_owned(), digest: Digest::of_bytes(text.as_bytes()) })
    }

    /// Returns the digest of the template's text.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the digest of the component that renders the template.
    pub fn renderer_digest(&self) -> Digest {
        self.member.identity().digest
    }

    /// Renders conversations up to the start of the model's answer, with one result for each, in order. A conversation
    /// that fails does not affect the others. Blocks.
    pub fn render_batch(&self, conversations: &[Conversation]) -> Vec<Result<String, ChatTemplateError>> {
        let payloads: Vec<String> = conversations.iter().map(|conversation| conversation.0.clone()).collect();
        let outputs = call(&self.member, &payloads).into_iter();
        let fail = |failure: CallFailure| error_of(&self.origin, failure);
        outputs.map(|output| output.and_then(text_in).map_err(fail)).collect()
    }

    /// Renders one conversation. Blocks.
    ///
    /// # Errors
    /// Fails if the template rejects the conversation, for example because of an unknown role.
    pub fn render(&self, conversation: &Conversation) -> Result<String, ChatTemplateError> {
        let missing = || Err(error_of(&self.origin, CallFailure::Stopped("returned no result".to_owned())));
        let results = self.render_batch(std::slice::from_ref(conversation));
        results.into_iter().next().unwrap_or_else(missing)
    }
}

/// Returns the text that stands for a conversation if no template applies: the texts of all messages, joined by line
/// breaks.
pub fn joined_texts(messages: &[Message]) -> String {
    let texts: Vec<String> = messages.iter().map(|message| text_of(&message.content)).collect();
    texts.join("\n")
}

fn error_of(origin: &str, failure: CallFailure) -> ChatTemplateError {
    let origin = origin.to_owned();
    match failure {
        CallFailure::InvalidTemplate(reason) => ChatTemplateError::Compile { origin, reason },
        CallFailure::Rejected { message, .. } => ChatTemplateError::Render { origin, reason: message },
        CallFailure::Stopped(reason) => ChatTemplateError::Stopped { origin, reason },
    }
}

fn text_in(mut output: Object) -> Result<String, CallFailure> {
    match output.swap_remove("text") {
        Some(Value::String(text)) => Ok(text),
        _ => Err(CallFailure::Stopped("returned no text".to_owned())),
    }
}

/// Returns the unknown names of an inspection.
fn unknown_of(output: &Object) -> Vec<UnknownName> {
    let unknown = output.get("unknown").and_then(Value::as_array).into_iter().flatten();
    unknown.filter_map(|name| serde_json::from_value(name.clone()).ok()).collect()
}

/// Returns the message in the form that templates expect.
fn message_value(message: &Message, form: ContentForm) -> Value {
    let content = match form {
        ContentForm::Text if !message.has_media() => Value::from(text_of(&message.content)),
        _ => message.content.iter().map(part_value).collect(),
    };
    let mut fields = Object::new();
    fields.insert("role".to_owned(), message.role.name().into());
    fields.insert("content".to_owned(), content);
    if let Some(name) = &message.name {
        fields.insert("name".to_owned(), name.as_str().into());
    }
    if !message.tool_calls.is_empty() {
        fields.insert("tool_calls".to_owned(), message.tool_calls.iter().map(tool_call_value).collect());
    }
    if let Some(id) = &message.tool_call_id {
        fields.insert("tool_call_id".to_owned(), id.as_str().into());
    }
    fields.extend(message.extra.iter().map(|(key, value)| (key.clone(), value.clone())));
    Value::Object(fields)
}

/// Returns a part of a message: a text, or the kind of a medium, as in `{"type": "image"}`.
fn part_value(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text, .. } => json!({"type": "text", "text": text}),
        ContentPart::Media { kind, .. } => json!({"type": kind.type_name().trim_end_matches("_url")}),
    }
}

fn tool_call_value(call: &Value) -> Value {
    let mut call = call.clone();
    if let Some(arguments) = call.pointer_mut("/function/arguments")
        && let Some(parsed) =
            arguments.as_str().and_then(|text| parse_json(text.as_bytes(), DEFAULT_MAX_JSON_VALUES).ok())
        && matches!(parsed, Value::Object(_))
    {
        *arguments = parsed;
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_sandbox::sandbox;
    use gage_core::Role;
    use gage_recorded_messages::RecordedError as _;

    fn compiled(template: &str) -> Result<ChatTemplate, ChatTemplateError> {
        ChatTemplate::compile(sandbox(), "model.gguf", template, "<s>", "</s>")
    }

    fn render(template: &str, messages: &[Message]) -> Result<String, String> {
        let conversation = Conversation::new(messages, &[], ContentForm::Text);
        let rendered = compiled(template).and_then(|template| template.render(&conversation));
        rendered.map_err(|error| error.recorded("data"))
    }

    #[test]
    fn the_texts_of_a_message_are_joined() {
        let mut question = Message::text(Role::User, " 2 + 2? ");
        question.content.push(ContentPart::text("Now."));
        let messages = [Message::text(Role::System, "Be brief."), question];
        let template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}: {{ m.content }}]{% endfor %}";
        assert_eq!(render(template, &messages).as_deref(), Ok("<s>[system: Be brief.][user:  2 + 2? Now.]"));
    }

    #[test]
    fn templates_of_parts_get_parts() {
        let template = "{% for part in messages[0].content %}[{{ part.type }}:{{ part.text }}]{% endfor %}";
        let mut message = Message::text(Role::User, "a");
        message.content.push(ContentPart::text("b"));
        let conversation = Conversation::new(&[message], &[], ContentForm::Parts);
        let rendered = compiled(template).and_then(|template| template.render(&conversation));
        assert_eq!(rendered.as_deref(), Ok("[text:a][text:b]"));
    }

    #[test]
    fn errors_name_the_origin_of_the_template() {
        let messages = [Message::text(Role::System, "x")];
        for (template, expected) in [
            (
                "{{ raise_exception('System role not supported') }}",
                "the chat template of model.gguf cannot render the conversation: invalid operation: System role not \
                 supported (in chat_template:1); give another template, or messages that it accepts",
            ),
            (
                "{% if tools %}\n{{ tools|tojsn }}{% endif %}",
                "the chat template of model.gguf cannot be compiled: line 2: there is no filter `tojsn`; did you mean \
                 `tojson`?",
            ),
        ] {
            assert_eq!(render(template, &messages).err().as_deref(), Some(expected));
        }
        let endless = "{% for a in range(9000) %}{% for b in range(9000) %}{% endfor %}{% endfor %}";
        let expected = "the chat template of model.gguf was stopped: it ";
        assert!(render(endless, &messages).is_err_and(|error| error.starts_with(expected)));
        assert!(
            render("{% if %}", &messages).is_err_and(|error| error.contains("cannot be compiled: syntax"))
        );
        let unreached = "{% if false %}{{ of_another_program() }}{% endif %}a";
        assert_eq!(render(unreached, &messages).as_deref(), Ok("a"));
    }

    #[test]
    fn a_conversation_that_fails_leaves_the_others_as_they_are() {
        let template = "{% if messages[0].content == 'loop' %}{% for a in range(9000) %}{% for b in range(9000) %}\
                        {% endfor %}{% endfor %}{% elif messages[0].content == 'no' %}{{ raise_exception('no') }}\
                        {% endif %}{{ messages[0].content }}";
        let template = compiled(template).expect("a template");
        let texts = ["a", "loop", "b", "no", "c"];
        let conversation =
            |text: &&str| Conversation::new(&[Message::text(Role::User, *text)], &[], ContentForm::Text);
        let conversations: Vec<Conversation> = texts.iter().map(conversation).collect();
        let rendered = template.render_batch(&conversations);
        let is_stopped = matches!(rendered[1], Err(ChatTemplateError::Stopped { .. }));
        let is_rejected = matches!(rendered[3], Err(ChatTemplateError::Render { .. }));
        assert!(is_stopped && is_rejected, "{rendered:?}");
        let rest: Vec<&str> = rendered.iter().filter_map(|one| one.as_deref().ok()).collect();
        assert_eq!(rest, ["a", "b", "c"]);
    }

    #[test]
    fn arguments_of_tool_calls_become_objects() {
        let mut message = Message::text(Role::Assistant, "");
        message.tool_calls = vec![
            json!({"type": "function", "function": {"name": "add", "arguments": "{\"b\": 1, \"a\": 2}"}}),
        ];
        let template = "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
        assert_eq!(render(template, &[message]).as_deref(), Ok(r#"{"b": 1, "a": 2}"#));
    }

    #[test]
    fn without_a_template_texts_stand_as_they_are() {
        let two = [Message::text(Role::System, "a"), Message::text(Role::User, "b")];
        assert_eq!(joined_texts(&two[..1]), "a");
        assert_eq!(joined_texts(&two), "a\nb");
    }
}
