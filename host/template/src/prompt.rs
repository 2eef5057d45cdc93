//! Prompts: templates of the configuration, rendered for a sample.

use crate::InjectionFence;
use crate::known_names::{KnownNames, NameFault, ROW_KEY, VARIABLES};
use crate::name_uses::{NameUse, name_uses};
use crate::null_values;
use crate::taint::{IS_FENCED, TaintedTexts, TextSource, see_through, unmarked, with_marked, write_value};
use crate::template_lint::{UnknownName, unknown_names};
use gage_config::PromptSpec;
use gage_core::{Digest, Message, Object, Role};
use minijinja::value::{Kwargs, Serde, StringInput};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Maximum number of steps of a template, which stops endless loops.
const FUEL: u64 = 1_000_000;

/// Maximum size of a message.
const MAX_PROMPT_BYTES: usize = 8 << 20;

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptError {
    /// Index of the prompt's message, counted from 0.
    pub message: usize,
    /// The name of the template: the prompt's id, and the message number if it has several.
    pub template: String,
    /// The line within the template, if known.
    pub line: Option<usize>,
    /// The error message.
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

/// A problem with a variable of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct NameProblem {
    /// The problem.
    pub error: PromptError,
    /// False if Samples may be rendered nevertheless, because the variable is only read under a condition.
    pub is_error: bool,
}

/// Inputs for rendering a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptContext<'c> {
    /// The Sample.
    pub sample: &'c Value,
    /// Results of earlier steps, by name, such as `model_output`. Templates see them under `payload`, together with
    /// the sample.
    pub payload: &'c Object,
    /// The conversation so far.
    pub history: &'c [Value],
    /// The role that sends the request.
    pub adapter_id: &'c str,
    /// The type of the role, such as `dut_model`.
    pub role_type: &'c str,
}

/// The compiled templates of one prompt. A template sees `sample`, `row`, `params`, `payload`, `history`, `adapter_id`
/// and `role_type`, and `raw`, which is the same as `row`. A plain name is a parameter or a field of the row. An
/// undefined variable is an error, not an empty text, and so is a null value that would become a text. A condition may
/// test an undefined variable, which is false.
pub struct PromptRenderer {
    environment: Environment<'static>,
    prompt_id: String,
    roles: Vec<Role>,
    params: Object,
    /// Plain names in the templates, which are parameters or fields of the row.
    plain_names: Vec<String>,
    reads_row: bool,
    /// Variables that the templates read, with the index of their message.
    names: Vec<(usize, NameUse)>,
    digest: Digest,
}

impl PromptRenderer {
    /// Compiles a prompt; `params` override the prompt's own.
    ///
    /// # Errors
    /// Returns every invalid template. If all are valid, returns every unknown filter, test, function and other
    /// template that they name.
    pub fn new(spec: &PromptSpec, params: &Object) -> Result<PromptRenderer, Vec<PromptError>> {
        let mut environment = Environment::new();
        // Strict, except that a condition may test a variable that is missing.
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment.set_fuel(Some(FUEL));
        // Required for errors that name the failing expression.
        environment.set_debug(true);
        environment.add_filter("indent", indent);
        // Its widths are unlimited, and prompts do not need it.
        environment.remove_filter("format");
        // Prompts are not HTML, regardless of the prompt id's suffix.
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_formatter(write_value);
        see_through(&mut environment);
        null_values::add_operators(&mut environment);
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
                unknown.map(move |UnknownName { line, text, .. }| PromptError {
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
        let names = (0..count).map(|number| name_of(&spec.prompt_id, number, count));
        let uses = names.clone().enumerate().flat_map(|(number, name)| {
            name_uses(&environment, &name).into_iter().map(move |one| (number, one))
        });
        let uses = uses.collect();
        let read = read_names(&environment, names);
        let is_plain = |name: &&String| !VARIABLES.contains(&name.as_str());
        let plain_names: Vec<String> = read.iter().filter(is_plain).cloned().collect();
        let reads_row = read.iter().any(|name| name == "row" || name == "raw")
            || plain_names.iter().any(|name| !merged.contains_key(name));
        Ok(PromptRenderer {
            environment,
            prompt_id: spec.prompt_id.clone(),
            roles,
            params: merged,
            plain_names,
            reads_row,
            names: uses,
            digest,
        })
    }

    /// Returns whether a template reads the row, so that Samples must hold it under [`ROW_KEY`].
    pub fn reads_row(&self) -> bool {
        self.reads_row
    }

    /// Returns the variables that Samples do not define, that are null in all of them, or that may mean two things.
    pub fn name_problems(&self, known: &KnownNames<'_>) -> Vec<NameProblem> {
        let problem = |(message, name): &(usize, NameUse)| {
            let NameFault { text, is_error } = known.fault_of(name, &self.params)?;
            let template = name_of(&self.prompt_id, *message, self.roles.len());
            let error = PromptError { message: *message, template, line: name.line, text };
            Some(NameProblem { error, is_error })
        };
        self.names.iter().filter_map(problem).collect()
    }

    /// Returns the prompt's id.
    pub fn prompt_id(&self) -> &str {
        &self.prompt_id
    }

    /// Returns the digest of the templates, their roles and the parameters, which is everything in a prompt except
    /// the sample.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Renders the messages for a sample. Empty messages are omitted.
    ///
    /// # Errors
    /// Fails if a variable is undefined, the template does not terminate, or all messages are empty.
    pub fn render(&self, context: &PromptContext<'_>) -> Result<Vec<Message>, PromptError> {
        self.render_with(context, None, MAX_PROMPT_BYTES, |text| text)
    }

    /// Renders the messages for a judge of a model's output, which templates see as `payload.model_output`.
    /// `labels` are for the model's text, and for the text of support steps, which is the rest of `payload`. Each
    /// stretch of such text is fenced, even if it was cut, joined with other text or filtered. The fence is
    /// returned with the messages. Words of the program (roles and types of messages, finish reasons), and names of
    /// functions in the Sample, are not fenced.
    ///
    /// # Errors
    /// As for [`render`](PromptRenderer::render).
    pub fn render_fenced(
        &self,
        context: &PromptContext<'_>,
        model_output: &Object,
        labels: [&str; 2],
    ) -> Result<(Vec<Message>, InjectionFence), PromptError> {
        let mut marked = TaintedTexts::about(context.sample);
        let model_output = marked.answer(model_output);
        let payload = marked.support(context.payload);
        let fence = InjectionFence::around(&labels, &marked.text);
        let sample = unmarked(context.sample);
        let context = PromptContext { sample: &sample, payload: &payload, ..*context };
        // A marked character takes four bytes.
        let messages = self.render_with(&context, Some(model_output), 4 * MAX_PROMPT_BYTES, |text| {
            with_marked(&text, |source, stretch| match source {
                TextSource::Answer => fence.enclose(0, stretch),
                TextSource::Support => fence.enclose(1, stretch),
            })
        })?;
        Ok((messages, fence))
    }

    /// Renders the messages, with marks in the text of a model's output; `most` is the maximum length of a message
    /// before `finished` is applied.
    fn render_with(
        &self,
        context: &PromptContext<'_>,
        model_output: Option<minijinja::Value>,
        most: usize,
        finished: impl Fn(String) -> String,
    ) -> Result<Vec<Message>, PromptError> {
        let row = context.sample.get(ROW_KEY).map(|row| minijinja::Value::from(Serde(row)));
        let sample = minijinja::Value::from(Serde(&shown_sample(context.sample)));
        let payload =
            context.payload.iter().map(|(key, value)| (key.as_str(), minijinja::Value::from(Serde(value))));
        let is_fenced = model_output.is_some();
        let model_output = model_output.map(|output| ("model_output", output));
        let payload =
            minijinja::Value::from_pairs(payload.chain([("sample", sample.clone())]).chain(model_output));
        let mut values = vec![
            ("sample", sample),
            ("payload", payload),
            ("history", minijinja::Value::from(Serde(context.history))),
            ("params", minijinja::Value::from(Serde(&self.params))),
            ("adapter_id", context.adapter_id.into()),
            ("role_type", context.role_type.into()),
        ];
        if is_fenced {
            values.push((IS_FENCED, true.into()));
        }
        for name in &self.plain_names {
            let of_row = || context.sample.get(ROW_KEY)?.get(name);
            if let Some(value) = self.params.get(name).or_else(of_row) {
                values.push((name.as_str(), minijinja::Value::from(Serde(value))));
            }
        }
        if let Some(row) = row {
            values.extend([("row", row.clone()), ("raw", row)]);
        }
        let values = minijinja::Value::from_pairs(values);
        let mut messages = Vec::with_capacity(self.roles.len());
        for (number, role) in self.roles.iter().enumerate() {
            let mut text = BoundedWriter { bytes: Vec::new(), most };
            let name = name_of(&self.prompt_id, number, self.roles.len());
            self.environment
                .get_template(&name)
                .and_then(|template| {
                    null_values::render(&self.environment, &template, values.clone(), &mut text)
                })
                .map_err(|error| describe(number, name.clone(), &error))?;
            let text = finished(String::from_utf8_lossy(&text.bytes).into_owned());
            if text.len() > MAX_PROMPT_BYTES {
                return Err(PromptError { message: number, template: name, line: None, text: too_long() });
            }
            if !text.trim().is_empty() {
                messages.push(Message::text(*role, text));
            }
        }
        if messages.is_empty() {
            return Err(PromptError {
                message: 0,
                template: self.prompt_id.clone(),
                line: None,
                text: "the rendered prompt is empty".to_owned(),
            });
        }
        Ok(messages)
    }
}

/// Fields of a Sample that its `sample` does not show: the row has a name of its own, and assets are never rendered.
const NOT_SHOWN: [&str; 2] = [ROW_KEY, "raw_assets"];

/// Returns a Sample without the fields that templates do not see.
fn shown_sample(sample: &Value) -> Cow<'_, Value> {
    match sample {
        Value::Object(fields) if NOT_SHOWN.iter().any(|name| fields.contains_key(*name)) => {
            let shown = fields.iter().filter(|(name, _)| !NOT_SHOWN.contains(&name.as_str()));
            Cow::Owned(Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        _ => Cow::Borrowed(sample),
    }
}

/// Returns the variables that templates read and do not set, each once.
fn read_names(environment: &Environment<'_>, templates: impl Iterator<Item = String>) -> BTreeSet<String> {
    let mut read = BTreeSet::new();
    for name in templates {
        if let Ok(template) = environment.get_template(&name) {
            read.extend(template.undeclared_variables(false));
        }
    }
    read.retain(|name| !environment.globals().any(|(global, _)| global == name));
    read
}

/// Collects a template's output, up to a limit.
struct BoundedWriter {
    bytes: Vec<u8>,
    most: usize,
}

impl std::io::Write for BoundedWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(std::io::Error::other(too_long()));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn too_long() -> String {
    format!("the prompt is longer than {MAX_PROMPT_BYTES} bytes")
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
        let kind = ErrorKind::InvalidOperation;
        return Err(minijinja::Error::new(kind, "`indent` takes a width of at most 1000"));
    }
    minijinja::filters::indent(value, width, first, blank, further)
}

/// Returns `piqa`, or `piqa, message 2` if the prompt has several messages.
fn name_of(prompt_id: &str, number: usize, count: usize) -> String {
    match count {
        1 => prompt_id.to_owned(),
        _ => format!("{prompt_id}, message {}", number + 1),
    }
}

fn describe(message: usize, template: String, error: &minijinja::Error) -> PromptError {
    let mut text = match (error.kind(), error.detail()) {
        // The detail names the variable, and says that it is undefined.
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
mod tests;
