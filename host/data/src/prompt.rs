//! Prompts: templates of the configuration, rendered for a sample.

use gage_config::PromptSpec;
use gage_core::{Message, Object, Role};
use minijinja::value::{Kwargs, Serde, StringInput};
use minijinja::{Environment, UndefinedBehavior, context};
use serde_json::Value;

/// Steps that a template may take, which ends endless ones.
const FUEL: u64 = 1_000_000;

/// A message may not be longer than this.
const MOST_BYTES: usize = 8 << 20;

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptError {
    /// Which of the prompt's messages, counted from 0.
    pub message: usize,
    /// The line within the template, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for PromptError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line} of the template: {}", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}

impl std::error::Error for PromptError {}

/// The compiled templates of one prompt. A template sees `sample` and `params`; a variable
/// that does not exist is an error, not an empty text.
pub struct PromptRenderer {
    environment: Environment<'static>,
    roles: Vec<Role>,
    params: minijinja::Value,
}

impl PromptRenderer {
    /// Compiles a prompt; `params` win over those of the prompt itself.
    ///
    /// # Errors
    /// Every template that is not valid.
    pub fn new(spec: &PromptSpec, params: &Object) -> Result<PromptRenderer, Vec<PromptError>> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        environment.add_filter("indent", indent);
        // Its widths have no limit, and a prompt has no use for them.
        environment.remove_filter("format");
        let mut errors = Vec::new();
        for (number, message) in spec.messages.iter().enumerate() {
            if let Err(error) = environment.add_template_owned(name_of(number), message.template.clone()) {
                errors.push(describe(number, &error));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut merged = spec.params.clone();
        merged.extend(params.clone());
        let roles = spec.messages.iter().map(|message| message.role).collect();
        Ok(PromptRenderer { environment, roles, params: minijinja::Value::from(Serde(&merged)) })
    }

    /// Renders the messages for a sample; those that come out empty are left out, unless all
    /// do.
    ///
    /// # Errors
    /// When a variable does not exist or the template does not end.
    pub fn render(&self, sample: &Value) -> Result<Vec<Message>, PromptError> {
        let sample = minijinja::Value::from(Serde(sample));
        let mut messages = Vec::with_capacity(self.roles.len());
        for (number, role) in self.roles.iter().enumerate() {
            let mut text = Bounded(Vec::new());
            self.environment
                .get_template(&name_of(number))
                .and_then(|template| {
                    let values = context! { sample => sample.clone(), params => self.params.clone() };
                    template.render_captured_to(values, &mut text).map(drop)
                })
                .map_err(|error| describe(number, &error))?;
            let text = String::from_utf8_lossy(&text.0).into_owned();
            if !text.trim().is_empty() {
                messages.push(Message::text(*role, text));
            }
        }
        if messages.is_empty() {
            return Err(PromptError { message: 0, line: None, text: "the prompt came out empty".to_owned() });
        }
        Ok(messages)
    }
}

/// Takes what a template writes, up to a limit.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MOST_BYTES {
            return Err(std::io::Error::other(format!("the prompt is longer than {MOST_BYTES} bytes")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The filter `indent` with a width that cannot exhaust the memory.
fn indent(
    value: StringInput<'_>,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    further: Kwargs,
) -> Result<minijinja::Value, minijinja::Error> {
    let named: Option<usize> = further.peek("width")?;
    if width.or(named).is_some_and(|width| width > 1_000) {
        let kind = minijinja::ErrorKind::InvalidOperation;
        return Err(minijinja::Error::new(kind, "`indent` takes a width of at most 1000"));
    }
    minijinja::filters::indent(value, width, first, blank, further)
}

fn name_of(number: usize) -> String {
    format!("message {number}")
}

fn describe(message: usize, error: &minijinja::Error) -> PromptError {
    let mut text = error.kind().to_string();
    if let Some(detail) = error.detail() {
        text = format!("{text}: {detail}");
    }
    if let Some(source) = std::error::Error::source(error) {
        text = format!("{text}: {source}");
    }
    PromptError { message, line: error.line(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{PromptMessage, Span};
    use serde_json::json;

    fn prompt(template: &str) -> PromptSpec {
        let span = Span { source: 0, start: 0, end: 0 };
        PromptSpec {
            prompt_id: "p".to_owned(),
            messages: vec![PromptMessage { role: Role::User, template: template.to_owned(), span }],
            params: Object::from_iter([("subject".to_owned(), json!("maths"))]),
            span,
        }
    }

    fn rendered(template: &str) -> Result<String, String> {
        let renderer = PromptRenderer::new(&prompt(template), &Object::new())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        let sample = json!({"metadata": {"option_map": {"B": "two", "A": "one"}}});
        let messages = renderer.render(&sample).map_err(|error| error.to_string())?;
        Ok(gage_core::text_of(&messages[0].content))
    }

    #[test]
    fn a_template_sees_the_sample_and_the_params() {
        let template = "{{ params.subject.upper() }}:{% for id, text in sample.metadata.option_map.items() %} {{ id }}={{ text }}{% endfor %}";
        assert_eq!(rendered(template).as_deref(), Ok("MATHS: B=two A=one"));
    }

    #[test]
    fn what_does_not_exist_or_does_not_end_is_an_error() {
        for (template, expected) in [
            ("{{ sample.nothing }}", "undefined value"),
            ("\n{{ sample. }}", "line 2"),
            (
                "{% for i in range(100000) %}{% for j in range(100000) %}{{ i }}{% endfor %}{% endfor %}",
                "fuel",
            ),
            ("   ", "empty"),
            ("{% for i in range(99) %}{{ 'x' * 100000 }}{% endfor %}", "longer than"),
            ("{{ 'a'|indent(3000000000, true) }}", "at most 1000"),
        ] {
            let error = rendered(template).expect_err(template);
            assert!(error.contains(expected), "{template}: {error}");
        }
    }
}
