//! Prompts: templates of the configuration, rendered for a sample.

use crate::held;
use crate::unknown::{Unknown, unknown_names};
use gage_config::PromptSpec;
use gage_core::{Digest, Message, Object, Role};
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, context};
use serde_json::{Value, json};

/// Steps that a template may take, which ends endless ones.
const FUEL: u64 = 1_000_000;

/// A message may not be longer than this.
const MOST_BYTES: usize = 8 << 20;

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptError {
    /// Which of the prompt's messages, counted from 0.
    pub message: usize,
    /// The name of the template: the prompt's id, and the number of the message where it has several.
    pub template: String,
    /// The line within the template, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for PromptError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line} of the template `{}`: {}", self.template, self.text),
            None => write!(formatter, "the template `{}`: {}", self.template, self.text),
        }
    }
}

impl std::error::Error for PromptError {}

/// What a prompt is rendered for.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'c> {
    /// The Sample.
    pub sample: &'c Value,
    /// What earlier steps gave, by their names, such as `model_output`; templates see it under
    /// `payload`, together with the sample.
    pub payload: &'c Object,
    /// The conversation so far.
    pub history: &'c [Value],
    /// The role that asks.
    pub adapter_id: &'c str,
    /// What the role does, as in `dut_model`.
    pub role_type: &'c str,
}

/// The compiled templates of one prompt. A template sees `sample`, `payload`, `history`, `params`,
/// `adapter_id` and `role_type`; a variable that does not exist is an error, not an empty text.
pub struct PromptRenderer {
    environment: Environment<'static>,
    prompt_id: String,
    roles: Vec<Role>,
    params: minijinja::Value,
    digest: Digest,
}

impl PromptRenderer {
    /// Compiles a prompt; `params` win over those of the prompt itself.
    ///
    /// # Errors
    /// Every template that is not valid; where all are, every filter, test, function and other template that
    /// one names and that does not exist.
    pub fn new(spec: &PromptSpec, params: &Object) -> Result<PromptRenderer, Vec<PromptError>> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        // Errors then know which expression they are of.
        environment.set_debug(true);
        environment.add_filter("indent", held::indent);
        // Its widths have no limit, and a prompt has no use for them.
        environment.remove_filter("format");
        let mut errors = Vec::new();
        let count = spec.messages.len();
        for (number, message) in spec.messages.iter().enumerate() {
            let name = name_of(&spec.prompt_id, number, count);
            if let Err(error) = environment.add_template_owned(name.clone(), message.template.clone()) {
                errors.push(describe(number, name, &error));
            }
        }
        if errors.is_empty() {
            errors.extend((0..count).flat_map(|number| {
                let template = name_of(&spec.prompt_id, number, count);
                let unknown = unknown_names(&environment, &template).into_iter();
                unknown.map(move |Unknown { line, text, .. }| PromptError {
                    message: number,
                    template: template.clone(),
                    line,
                    text,
                })
            }));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut merged = spec.params.clone();
        merged.extend(params.clone());
        let messages: Vec<Value> = spec
            .messages
            .iter()
            .map(|message| json!({"role": message.role.name(), "template": message.template}))
            .collect();
        let digest = Digest::of_json(&json!({"messages": messages, "params": merged}));
        let roles = spec.messages.iter().map(|message| message.role).collect();
        let params = minijinja::Value::from(Serde(&merged));
        Ok(PromptRenderer { environment, prompt_id: spec.prompt_id.clone(), roles, params, digest })
    }

    /// The prompt's id.
    pub fn prompt_id(&self) -> &str {
        &self.prompt_id
    }

    /// The digest of the templates, their roles and the parameters: all that a prompt is beside the
    /// sample.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Renders the messages for a sample; those that come out empty are left out, unless all
    /// do.
    ///
    /// # Errors
    /// When a variable does not exist or the template does not end.
    pub fn render(&self, context: &PromptContext<'_>) -> Result<Vec<Message>, PromptError> {
        let sample = minijinja::Value::from(Serde(context.sample));
        let payload =
            context.payload.iter().map(|(key, value)| (key.as_str(), minijinja::Value::from(Serde(value))));
        let payload = minijinja::Value::from_pairs(payload.chain([("sample", sample.clone())]));
        let values = context! {
            sample,
            payload,
            history => minijinja::Value::from(Serde(context.history)),
            params => self.params.clone(),
            adapter_id => context.adapter_id,
            role_type => context.role_type,
        };
        let mut messages = Vec::with_capacity(self.roles.len());
        for (number, role) in self.roles.iter().enumerate() {
            let mut text = Bounded(Vec::new());
            let name = name_of(&self.prompt_id, number, self.roles.len());
            self.environment
                .get_template(&name)
                .and_then(|template| template.render_captured_to(values.clone(), &mut text).map(drop))
                .map_err(|error| describe(number, name, &error))?;
            let text = String::from_utf8_lossy(&text.0).into_owned();
            if !text.trim().is_empty() {
                messages.push(Message::text(*role, text));
            }
        }
        if messages.is_empty() {
            return Err(PromptError {
                message: 0,
                template: self.prompt_id.clone(),
                line: None,
                text: "the prompt came out empty".to_owned(),
            });
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

/// `piqa`, or `piqa, message 2` where the prompt has several.
fn name_of(prompt_id: &str, number: usize, count: usize) -> String {
    match count {
        1 => prompt_id.to_owned(),
        _ => format!("{prompt_id}, message {}", number + 1),
    }
}

fn describe(message: usize, template: String, error: &minijinja::Error) -> PromptError {
    let mut text = match (error.kind(), error.detail()) {
        // Names the variable, and says that it is undefined.
        (ErrorKind::UndefinedError, Some(detail)) => detail.to_owned(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
        (kind, None) => kind.to_string(),
    };
    if let Some(source) = std::error::Error::source(error) {
        text = format!("{text}: {source}");
    }
    PromptError { message, template, line: error.line(), text }
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
        let payload = Object::from_iter([("model_output".to_owned(), json!({"answer": "five"}))]);
        let context = PromptContext {
            sample: &sample,
            payload: &payload,
            history: &[json!({"role": "user"})],
            adapter_id: "dut",
            role_type: "dut_model",
        };
        let messages = renderer.render(&context).map_err(|error| error.to_string())?;
        Ok(gage_core::text_of(&messages[0].content))
    }

    #[test]
    fn a_template_sees_the_sample_and_the_params() {
        let template = "{{ params.subject.upper() }}:{% for id, text in sample.metadata.option_map.items() %} {{ id }}={{ text }}{% endfor %}";
        assert_eq!(rendered(template).as_deref(), Ok("MATHS: B=two A=one"));
    }

    #[test]
    fn a_template_sees_what_came_before() {
        let template = "{{ payload.model_output.answer }} {{ payload.sample.metadata.option_map.A }} {{ history[0].role }} {{ adapter_id }} {{ role_type }}";
        assert_eq!(rendered(template).as_deref(), Ok("five one user dut dut_model"));
    }

    #[test]
    fn the_digest_is_that_of_templates_and_params() {
        let digest = |template, params| {
            PromptRenderer::new(&prompt(template), &params).map(|renderer| renderer.digest()).ok()
        };
        let other = Object::from_iter([("subject".to_owned(), json!("law"))]);
        assert_eq!(digest("a", Object::new()), digest("a", Object::new()));
        assert_ne!(digest("a", Object::new()), digest("b", Object::new()));
        assert_ne!(digest("a", Object::new()), digest("a", other));
    }

    #[test]
    fn what_no_sample_could_make_right_is_an_error_before_any() {
        let errors_of =
            |template| PromptRenderer::new(&prompt(template), &Object::new()).err().unwrap_or_default();
        let errors = errors_of("{% if false %}\n{{ sample.a|uper }}{% endif %}\n{% include 'b' %}");
        let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert_eq!(said[0], "line 2 of the template `p`: there is no filter `uper`; did you mean `upper`?");
        assert!(said[1].starts_with("line 3 of the template `p`: there is no template `b`"), "{}", said[1]);
        assert_eq!(errors_of("{{ sample.nothing|upper|indent(2) }}"), []);
    }

    #[test]
    fn what_does_not_exist_or_does_not_end_is_an_error() {
        for (template, expected) in [
            ("a\n{{ sample.nothing }}", "line 2 of the template `p`: `sample.nothing` is undefined"),
            ("{% if nothing %}{% endif %}", "`nothing` is undefined"),
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
