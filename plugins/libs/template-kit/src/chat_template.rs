//! Chat templates: how a conversation becomes the single text that a model reads.
//!
//! Templates are Jinja, as in model files, and are rendered like Hugging Face's `apply_chat_template`. This
//! includes `trim_blocks` and `lstrip_blocks`, Python's methods on strings and dictionaries, `tojson` in Python's
//! format, `raise_exception`, and the variables `messages`, `tools`, `add_generation_prompt`, `bos_token` and
//! `eos_token`.

use crate::bounded_writer::BoundedWriter;
use crate::conversation_message::ConversationMessage;
use crate::json;
use crate::lint::{UnknownName, unknown_names};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::borrow::Cow;

const NAME: &str = "chat_template";

/// Maximum size of a rendered conversation.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// Maximum depth of nested blocks; a macro counts more than once. Deeper templates would overflow the stack, which
/// has no error message of its own.
const RECURSION_LIMIT: usize = 300;

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template. `bos_token` and `eos_token` are the texts of the tokens that begin and end a sequence,
    /// empty if the model has none.
    ///
    /// `strftime_now` returns a fixed date, 26 July 2024, so that a prompt does not depend on the day of the run.
    /// Templates that support a missing `strftime_now` fall back to the same date.
    ///
    /// # Errors
    /// Fails if the template is invalid.
    pub fn compile(text: &str, bos_token: &str, eos_token: &str) -> Result<ChatTemplate, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| chain(&error))?);
        environment.set_recursion_limit(RECURSION_LIMIT);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_filter("tojson", json::tojson);
        environment.add_global("bos_token", bos_token);
        environment.add_global("eos_token", eos_token);
        let text = without_generation_blocks(text).into_owned();
        environment.add_template_owned(NAME, text).map_err(|error| chain(&error))?;
        Ok(ChatTemplate { environment })
    }

    /// Returns the names in the template that do not exist.
    pub fn unknown_names(&self) -> Vec<UnknownName> {
        unknown_names(&self.environment, NAME)
    }

    /// Renders a conversation up to the start of the model's answer. `tools` is a list in the form that templates expect,
    /// or null.
    ///
    /// # Errors
    /// Fails if the template rejects the conversation, for example because of an unknown role.
    pub fn render(&self, messages: Vec<ConversationMessage>, tools: Value) -> Result<String, String> {
        let mut text = BoundedWriter::new(MAX_TEXT_BYTES);
        let values = context! {
            messages => messages.into_iter().map(Value::from_object).collect::<Value>(),
            tools,
            documents => Value::from(()),
            add_generation_prompt => true,
        };
        let template = self.environment.get_template(NAME);
        let rendered = template.and_then(|template| template.render_captured_to(values, &mut text));
        rendered.map(drop).map_err(|error| chain(&error))?;
        Ok(text.into_text())
    }
}

/// Removes `{% generation %}` tags, which mark assistant text for Hugging Face and render as their content.
fn without_generation_blocks(text: &str) -> Cow<'_, str> {
    if !text.contains("generation ") {
        return Cow::Borrowed(text);
    }
    let mut text = text.to_owned();
    for open in ["{%", "{%-", "{%+"] {
        for (name, replacement) in [("generation", "if true"), ("endgeneration", "endif")] {
            for close in ["%}", "-%}", "+%}"] {
                text =
                    text.replace(&format!("{open} {name} {close}"), &format!("{open} {replacement} {close}"));
            }
        }
    }
    Cow::Owned(text)
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
    use gage_sdk::{json, serde_json};

    const CHATML: &str = r"{{ bos_token }}
        {%- for message in messages %}
            {{- '<|im_start|>' + message['role'] + '\n' + message['content'] | trim + '<|im_end|>\n' }}
        {%- endfor %}
        {%- if add_generation_prompt %}
            {{- '<|im_start|>assistant\n' }}
        {%- endif %}
";

    fn render(template: &str, messages: &serde_json::Value) -> Result<String, String> {
        let messages = serde_json::from_str(&messages.to_string()).map_err(|error| error.to_string())?;
        ChatTemplate::compile(template, "<s>", "</s>")?.render(messages, Value::from(()))
    }

    #[test]
    fn chatml_renders_as_hugging_face_does() {
        let messages = json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": " 2 + 2? Now."},
        ]);
        let expected = "<s><|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n2 + 2? Now.<|im_end|>\n\
                        <|im_start|>assistant\n";
        assert_eq!(render(CHATML, &messages).as_deref(), Ok(expected));
    }

    #[test]
    fn templates_use_python_and_the_extensions_of_hugging_face() {
        let messages = json!([{"role": "user", "content": "Hi there"}]);
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
            ("{{ messages | tojson }}", r#"[{"role": "user", "content": "Hi there"}]"#),
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
    fn an_exception_raised_by_a_template_is_an_error() {
        let messages = json!([{"role": "system", "content": "x"}]);
        let refused = render("{{ raise_exception('System role not supported') }}", &messages);
        assert!(refused.is_err_and(|error| error.contains("System role not supported")));
        assert!(render("{% if %}", &messages).is_err_and(|error| error.contains("syntax error")));
        let unreached = "{% if false %}{{ of_another_program() }}{{ 'a'|tojsn }}{% endif %}a";
        let template = ChatTemplate::compile(unreached, "", "").expect("a template");
        let kinds: Vec<&str> = template.unknown_names().iter().map(|unknown| unknown.kind).collect();
        assert_eq!(kinds, ["function", "filter"]);
    }

    #[test]
    fn recursion_ends_with_an_error() {
        let template = "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}";
        let error = render(template, &json!([])).expect_err("endless");
        assert!(error.contains("recursion"), "{error}");
    }
}
