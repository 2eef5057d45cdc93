//! Chat templates: how a conversation becomes the single text that a model reads.
//!
//! Templates are Jinja, as in model files, and are rendered like Hugging Face's `apply_chat_template`. This
//! includes `trim_blocks` and `lstrip_blocks`, Python's methods on strings and dictionaries, `tojson` in Python's
//! format, `raise_exception`, and the variables `messages`, `tools`, `add_generation_prompt`, `bos_token` and
//! `eos_token`.

mod json;

use crate::template_lint::{UnknownName, unknown_names};
use gage_core::{ContentPart, DEFAULT_MAX_JSON_VALUES, Digest, Message, parse_json, text_of};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;

const NAME: &str = "chat_template";

/// Maximum number of instructions per rendering; a conversation takes some thousands.
const FUEL: u64 = 5_000_000;

/// Maximum depth of nested blocks; a macro counts more than once.
const RECURSION_LIMIT: usize = 300;

/// Error when a conversation is rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// The template is not valid Jinja, or uses unsupported features.
    #[error("the chat template cannot be compiled: {0}")]
    Compile(String),
    /// The template rejects the conversation, or fails on it.
    #[error(
        "the chat template cannot render the conversation: {0}; give another template, or messages that it accepts"
    )]
    Render(String),
}

/// A compiled chat template, or none.
#[derive(Debug)]
pub struct ChatTemplate {
    compiled: Option<(Environment<'static>, Digest)>,
}

impl ChatTemplate {
    /// Compiles a template. `bos_token` and `eos_token` are the texts of the tokens that begin and end a sequence,
    /// empty if the model has none.
    ///
    /// `strftime_now` returns a fixed date, 26 July 2024, so that a prompt does not depend on the day of the run.
    /// Templates that support a missing `strftime_now` fall back to the same date.
    ///
    /// # Errors
    /// Fails if the template is invalid, or names a filter or a test that does not exist.
    pub fn compile(text: &str, bos_token: &str, eos_token: &str) -> Result<ChatTemplate, ChatTemplateError> {
        let compile = |error: Error| ChatTemplateError::Compile(chain(&error));
        let mut environment = Environment::new();
        let syntax =
            SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(compile)?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(RECURSION_LIMIT);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_filter("tojson", json::tojson);
        environment.add_global("bos_token", bos_token);
        environment.add_global("eos_token", eos_token);
        environment.add_template_owned(NAME, without_generation_blocks(text)).map_err(compile)?;
        // As in transformers, filters and tests are resolved at compile time, and functions when they are called.
        let unknown = unknown_names(&environment, NAME).into_iter().find(|unknown| !unknown.is_function);
        if let Some(UnknownName { line, text, .. }) = unknown {
            let text = line.map_or_else(|| text.clone(), |line| format!("line {line}: {text}"));
            return Err(ChatTemplateError::Compile(text));
        }
        Ok(ChatTemplate { compiled: Some((environment, Digest::of_bytes(text.as_bytes()))) })
    }

    /// Returns a template-free renderer for base models: the unchanged text of a single message, or the texts of
    /// several messages joined by `"\n"`. Roles and tools are ignored.
    pub fn none() -> ChatTemplate {
        ChatTemplate { compiled: None }
    }

    /// Returns true if this is [`ChatTemplate::none`].
    pub fn is_none(&self) -> bool {
        self.compiled.is_none()
    }

    /// Returns the digest of the template's text.
    pub fn digest(&self) -> Option<Digest> {
        self.compiled.as_ref().map(|(_, digest)| *digest)
    }

    /// Renders a conversation up to the start of the model's answer.
    ///
    /// A template receives the content of a message as one string, with its text parts joined. If the message
    /// contains media, it receives a list of `{type: text, text}` and `{type: image}`. Tool call arguments that are
    /// JSON in a string are parsed into an object.
    ///
    /// # Errors
    /// Fails if the template rejects the conversation, for example because of an unknown role.
    pub fn render(
        &self,
        messages: &[Message],
        tools: &[serde_json::Value],
    ) -> Result<String, ChatTemplateError> {
        self.render_as(messages, tools, message_content)
    }

    /// Renders a conversation for templates that expect the content of every message as a list of parts, even if it
    /// is only text.
    ///
    /// # Errors
    /// As for [`ChatTemplate::render`].
    pub fn render_parts(
        &self,
        messages: &[Message],
        tools: &[serde_json::Value],
    ) -> Result<String, ChatTemplateError> {
        self.render_as(messages, tools, |message| message.content.iter().map(part_value).collect())
    }

    fn render_as(
        &self,
        messages: &[Message],
        tools: &[serde_json::Value],
        content: impl Fn(&Message) -> Value,
    ) -> Result<String, ChatTemplateError> {
        let Some((environment, _)) = &self.compiled else {
            let texts: Vec<String> = messages.iter().map(|message| text_of(&message.content)).collect();
            return Ok(texts.join("\n"));
        };
        let render = |error: Error| ChatTemplateError::Render(chain(&error));
        let tools =
            if tools.is_empty() { Value::from(()) } else { tools.iter().map(json::from_json).collect() };
        environment
            .get_template(NAME)
            .map_err(render)?
            .render(context! {
                messages => messages
                    .iter()
                    .map(|message| message_value(message, content(message)))
                    .collect::<Value>(),
                tools => tools,
                documents => Value::from(()),
                add_generation_prompt => true,
            })
            .map_err(render)
    }
}

/// Returns the content of a message: one text, or a list of parts if it contains media.
fn message_content(message: &Message) -> Value {
    match message.has_media() {
        false => Value::from(text_of(&message.content)),
        true => message.content.iter().map(part_value).collect(),
    }
}

/// Returns the message in the form that templates expect.
fn message_value(message: &Message, content: Value) -> Value {
    let mut fields: Vec<(&str, Value)> =
        vec![("role", Value::from(message.role.name())), ("content", content)];
    if let Some(name) = &message.name {
        fields.push(("name", Value::from(name)));
    }
    if !message.tool_calls.is_empty() {
        fields.push(("tool_calls", message.tool_calls.iter().map(tool_call_value).collect()));
    }
    if let Some(id) = &message.tool_call_id {
        fields.push(("tool_call_id", Value::from(id)));
    }
    fields.extend(message.extra.iter().map(|(key, value)| (key.as_str(), json::from_json(value))));
    Value::from_pairs(fields)
}

/// Returns a part of a message with media: `{"type": "image"}`, or a text.
fn part_value(part: &ContentPart) -> Value {
    match part {
        ContentPart::Text { text, .. } => Value::from_pairs([("type", "text"), ("text", text.as_str())]),
        ContentPart::Media { kind, .. } => {
            Value::from_pairs([("type", kind.type_name().trim_end_matches("_url"))])
        }
    }
}

fn tool_call_value(call: &serde_json::Value) -> Value {
    let mut call = call.clone();
    if let Some(arguments) = call.pointer_mut("/function/arguments")
        && let Some(parsed) =
            arguments.as_str().and_then(|text| parse_json(text.as_bytes(), DEFAULT_MAX_JSON_VALUES).ok())
        && matches!(parsed, serde_json::Value::Object(_))
    {
        *arguments = parsed;
    }
    json::from_json(&call)
}

/// Removes `{% generation %}` tags, which mark assistant text for Hugging Face and render as their content.
fn without_generation_blocks(text: &str) -> String {
    let mut text = text.to_owned();
    for open in ["{%", "{%-", "{%+"] {
        for (name, replacement) in [("generation", "if true"), ("endgeneration", "endif")] {
            for close in ["%}", "-%}", "+%}"] {
                text =
                    text.replace(&format!("{open} {name} {close}"), &format!("{open} {replacement} {close}"));
            }
        }
    }
    text
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// Python's `strftime` for the fixed date; unknown directives stay as they are.
fn strftime_now(format: String) -> String {
    let mut text = String::with_capacity(format.len());
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('Y') => text.push_str("2024"),
            Some('y') => text.push_str("24"),
            Some('m') => text.push_str("07"),
            Some('d') => text.push_str("26"),
            Some('b') => text.push_str("Jul"),
            Some('B') => text.push_str("July"),
            Some('a') => text.push_str("Fri"),
            Some('A') => text.push_str("Friday"),
            Some('j') => text.push_str("208"),
            Some('H' | 'M' | 'S') => text.push_str("00"),
            Some('F') => text.push_str("2024-07-26"),
            Some('T') => text.push_str("00:00:00"),
            Some('%') => text.push('%'),
            Some(other) => text.extend(['%', other]),
            None => text.push('%'),
        }
    }
    text
}

/// Formats the error with its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Role;
    use gage_recorded_messages::RecordedError as _;
    use serde_json::json;

    const CHATML: &str = r"{{ bos_token }}
        {%- for message in messages %}
            {{- '<|im_start|>' + message['role'] + '\n' + message['content'] | trim + '<|im_end|>\n' }}
        {%- endfor %}
        {%- if add_generation_prompt %}
            {{- '<|im_start|>assistant\n' }}
        {%- endif %}
";

    fn render(template: &str, messages: &[Message]) -> Result<String, String> {
        let template = ChatTemplate::compile(template, "<s>", "</s>").map_err(|error| error.to_string())?;
        template.render(messages, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn chatml_renders_as_hugging_face_does() {
        let mut question = Message::text(Role::User, " 2 + 2? ");
        question.content.push(ContentPart::text("Now."));
        let messages = [Message::text(Role::System, "Be brief."), question];
        let expected = "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2 + 2? Now.<|im_end|>\n\
                        <|im_start|>assistant\n";
        assert_eq!(render(CHATML, &messages).as_deref(), Ok(expected));
    }

    #[test]
    fn templates_use_python_and_the_extensions_of_hugging_face() {
        let messages = [Message::text(Role::User, "Hi there")];
        let cases = [
            ("{% if messages[0].content.startswith('Hi') %}yes{% endif %}", "yes"),
            ("{{ messages[0].content.split(' ')[-1].upper() }}", "THERE"),
            ("{{ messages[0].get('name', 'nobody') }}", "nobody"),
            (
                "{{ {'a': '<&>', 'b': [1, 2.5, true, none]} | tojson }}",
                r#"{"a": "<&>", "b": [1, 2.5, true, null]}"#,
            ),
            ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
            ("{{ {'a': 1} | tojson(separators=(',', ':')) }}", r#"{"a":1}"#),
            ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
            ("{%- generation %}\na{%- endgeneration %}b", "ab"),
            ("{% if tools %}tools{% else %}none{% endif %}", "none"),
            ("{% for m in messages %}x{% break %}{% endfor %}", "x"),
            ("{% set ns = namespace(n=0) %}{% set ns.n = 2 %}{{ ns.n }}", "2"),
            ("a\n    {% if true %}\nb\n    {% endif %}\n", "a\nb\n"),
        ];
        for (template, expected) in cases {
            assert_eq!(render(template, &messages).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn templates_of_parts_get_parts() {
        let template = "{% for part in messages[0].content %}[{{ part.type }}:{{ part.text }}]{% endfor %}";
        let template = ChatTemplate::compile(template, "", "").expect("a template");
        let mut message = Message::text(Role::User, "a");
        message.content.push(ContentPart::text("b"));
        assert_eq!(template.render_parts(&[message], &[]).ok().as_deref(), Some("[text:a][text:b]"));
    }

    #[test]
    fn an_exception_raised_by_a_template_is_an_error() {
        let messages = [Message::text(Role::System, "x")];
        let refused = render("{{ raise_exception('System role not supported') }}", &messages);
        assert!(refused.is_err_and(|error| error.recorded("data").contains("System role not supported")));
        let endless =
            "{% for a in range(9000) %}{% for b in range(9000) %}{% set x = a * b %}{% endfor %}{% endfor %}";
        assert!(render(endless, &messages).is_err(), "fuel");
        assert!(render("{% if %}", &messages).is_err_and(|error| error.contains("compiled")));
        let unknown = "{% if tools %}\n{{ tools|tojsn }}{% endif %}";
        let expected = "the chat template cannot be compiled: line 2: there is no filter `tojsn`; did you mean `tojson`?";
        assert_eq!(render(unknown, &messages).err().as_deref(), Some(expected));
        let unreached = "{% if false %}{{ of_another_program() }}{% endif %}a";
        assert_eq!(render(unreached, &messages).as_deref(), Ok("a"));
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
        let one = [Message::text(Role::User, "Once upon ")];
        let two = [Message::text(Role::System, "a"), Message::text(Role::User, "b")];
        assert_eq!(ChatTemplate::none().render(&one, &[]).ok().as_deref(), Some("Once upon "));
        assert_eq!(ChatTemplate::none().render(&two, &[]).ok().as_deref(), Some("a\nb"));
    }
}
