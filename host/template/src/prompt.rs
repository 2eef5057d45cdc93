//! Prompts: templates of the configuration, rendered for a sample by the component `template`.

use crate::InjectionFence;
use crate::known_names::{KnownNames, NameFault, ROW_KEY, VARIABLES};
use crate::name_uses::NameUse;
use crate::sandbox::{CallFailure, TemplateSandbox, call, call_once};
use crate::taint::{TaintedTexts, unmarked};
use crate::unknown_name::UnknownName;
use gage_config::PromptSpec;
use gage_core::{Digest, Message, Object, Role};
use gage_plugin::RoleAdapter;
use gage_taint_marks::{TextSource, with_marked};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Name of the component's member.
const MEMBER: &str = "prompt";

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

/// The templates of one prompt. A template sees `sample`, `row`, `params`, `payload`, `history`, `adapter_id` and
/// `role_type`, and `raw`, which is the same as `row`. A plain name is a parameter or a field of the row. An undefined
/// variable is an error, not an empty text, and so is a null value that would become a text. A condition may test an
/// undefined variable, which is false.
pub struct PromptRenderer {
    member: RoleAdapter,
    prompt_id: String,
    roles: Vec<Role>,
    params: Object,
    /// Plain names in the templates, which are parameters or fields of the row.
    plain_names: Vec<String>,
    reads_row: bool,
    reads_samples: bool,
    /// Variables that the templates read, with the index of their message.
    names: Vec<(usize, NameUse)>,
    digest: Digest,
}

/// A prompt with the values of a sample, ready to be rendered.
#[derive(Clone, Debug)]
pub struct PromptInput {
    payload: String,
    /// The fence around text of models.
    fence: Option<InjectionFence>,
}

/// A prompt's values as the component gets them.
#[derive(Serialize)]
struct PromptPayload<'p> {
    values: BTreeMap<&'p str, Variable<'p>>,
    model_output: Option<&'p Object>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Variable<'v> {
    Value(&'v Value),
    Object(&'v Object),
    List(&'v [Value]),
    Text(&'v str),
}

/// What the component knows about templates without rendering them.
#[derive(Deserialize)]
struct Inspection {
    faults: Vec<TemplateFault>,
    unknown: Vec<(usize, UnknownName)>,
    uses: Vec<(usize, NameUse)>,
    /// The names of all variables that the templates read and do not set.
    reads: BTreeSet<String>,
}

/// An invalid template.
#[derive(Deserialize)]
struct TemplateFault {
    template: usize,
    line: Option<usize>,
    text: String,
}

impl PromptRenderer {
    /// Compiles a prompt; `params` override the prompt's own.
    ///
    /// # Errors
    /// Returns every invalid template. If all are valid, returns every unknown filter, test, function and other
    /// template that they name.
    pub fn new(
        sandbox: &TemplateSandbox,
        spec: &PromptSpec,
        params: &Object,
    ) -> Result<PromptRenderer, Vec<PromptError>> {
        let count = spec.messages.len();
        let name = |number: usize| name_of(&spec.prompt_id, number, count);
        let error = |message: usize, line: Option<usize>, text: String| PromptError {
            message,
            template: name(message),
            line,
            text,
        };
        let templates = spec.messages.iter().enumerate();
        let templates: Vec<Value> = templates
            .map(|(number, message)| json!({"name": name(number), "text": message.template}))
            .collect();
        let (member, found) = inspected(sandbox, &templates)
            .map_err(|failure| vec![error_of(&spec.prompt_id, count, failure)])?;
        let mut errors: Vec<PromptError> =
            found.faults.into_iter().map(|fault| error(fault.template, fault.line, fault.text)).collect();
        errors.extend(
            found.unknown.into_iter().map(|(number, unknown)| error(number, unknown.line, unknown.text())),
        );
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
        let is_plain = |name: &&String| !VARIABLES.contains(&name.as_str());
        let plain_names: Vec<String> = found.reads.iter().filter(is_plain).cloned().collect();
        let reads_row = found.reads.iter().any(|name| name == "row" || name == "raw")
            || plain_names.iter().any(|name| !merged.contains_key(name));
        let varies = |name: &String| ["sample", "payload", "history"].contains(&name.as_str());
        let reads_samples = reads_row || found.reads.iter().any(varies);
        Ok(PromptRenderer {
            member,
            prompt_id: spec.prompt_id.clone(),
            roles: spec.messages.iter().map(|message| message.role).collect(),
            params: merged,
            plain_names,
            reads_row,
            reads_samples,
            names: found.uses,
            digest,
        })
    }

    /// Returns whether a template reads the row, so that Samples must hold it under [`ROW_KEY`].
    pub fn reads_row(&self) -> bool {
        self.reads_row
    }

    /// Returns whether a template reads something that differs between Samples. Otherwise all of them give the same messages.
    pub fn reads_samples(&self) -> bool {
        self.reads_samples
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

    /// Returns the input of a sample.
    pub fn input(&self, context: &PromptContext<'_>) -> PromptInput {
        PromptInput { payload: self.payload_of(context, None), fence: None }
    }

    /// Returns the input for a judge of a model's output, which templates see as `payload.model_output`. `labels` are for
    /// the model's text, and for the text of support steps, which is the rest of `payload`. Each stretch of such text is
    /// fenced, even if it was cut, joined with other text or filtered. Words of the program (roles and types of messages,
    /// finish reasons), and names of functions in the Sample, are not fenced.
    pub fn fenced_input(
        &self,
        context: &PromptContext<'_>,
        model_output: &Object,
        labels: [&str; 2],
    ) -> (PromptInput, InjectionFence) {
        let mut marked = TaintedTexts::about(context.sample);
        let model_output = marked.answer(model_output);
        let payload = marked.support(context.payload);
        let fence = InjectionFence::around(&labels, &marked.text);
        let sample = unmarked(context.sample);
        let context = PromptContext { sample: &sample, payload: &payload, ..*context };
        let payload = self.payload_of(&context, Some(&model_output));
        (PromptInput { payload, fence: Some(fence.clone()) }, fence)
    }

    /// Renders the messages of each input, with one result for each, in order. Empty messages are omitted. An input that
    /// fails does not affect the others. Blocks.
    pub fn render_batch(&self, inputs: &[PromptInput]) -> Vec<Result<Vec<Message>, PromptError>> {
        let payloads: Vec<String> = inputs.iter().map(|input| input.payload.clone()).collect();
        let outputs = call(&self.member, &payloads).into_iter();
        let messages = |(output, input): (Result<Object, CallFailure>, &PromptInput)| {
            let texts = output.and_then(texts_in);
            let texts = texts.map_err(|failure| error_of(&self.prompt_id, self.roles.len(), failure))?;
            self.messages_of(texts, input.fence.as_ref())
        };
        outputs.zip(inputs).map(messages).collect()
    }

    /// Renders the messages of one input. Blocks.
    ///
    /// # Errors
    /// Fails if a variable is undefined, the sandbox ends the template, or all messages are empty.
    pub fn render(&self, input: &PromptInput) -> Result<Vec<Message>, PromptError> {
        let missing = || {
            let failure = CallFailure::Stopped("returned no result".to_owned());
            Err(error_of(&self.prompt_id, self.roles.len(), failure))
        };
        self.render_batch(std::slice::from_ref(input)).into_iter().next().unwrap_or_else(missing)
    }

    /// Returns the variables as JSON.
    fn payload_of(&self, context: &PromptContext<'_>, model_output: Option<&Object>) -> String {
        let row = context.sample.get(ROW_KEY);
        let sample = shown_sample(context.sample);
        let mut values = BTreeMap::from([
            ("sample", Variable::Value(&sample)),
            ("payload", Variable::Object(context.payload)),
            ("history", Variable::List(context.history)),
            ("params", Variable::Object(&self.params)),
            ("adapter_id", Variable::Text(context.adapter_id)),
            ("role_type", Variable::Text(context.role_type)),
        ]);
        for name in &self.plain_names {
            let of_row = || row?.get(name);
            if let Some(value) = self.params.get(name).or_else(of_row) {
                values.insert(name, Variable::Value(value));
            }
        }
        if let Some(row) = row {
            values.insert("row", Variable::Value(row));
        }
        // Values always have a JSON text.
        serde_json::to_string(&PromptPayload { values, model_output }).unwrap_or_default()
    }

    /// Returns the messages with rendered texts, one for each template.
    fn messages_of(
        &self,
        texts: Vec<String>,
        fence: Option<&InjectionFence>,
    ) -> Result<Vec<Message>, PromptError> {
        let mut messages = Vec::with_capacity(self.roles.len());
        for ((number, role), text) in self.roles.iter().enumerate().zip(texts) {
            let text = match fence {
                None => text,
                Some(fence) => with_marked(&text, |source, stretch| match source {
                    TextSource::Answer => fence.enclose(0, stretch),
                    TextSource::Support => fence.enclose(1, stretch),
                }),
            };
            if text.len() > MAX_PROMPT_BYTES {
                let template = name_of(&self.prompt_id, number, self.roles.len());
                let text = format!("the prompt is longer than {MAX_PROMPT_BYTES} bytes");
                return Err(PromptError { message: number, template, line: None, text });
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

/// Compiles templates, and returns what is known about them.
fn inspected(
    sandbox: &TemplateSandbox,
    templates: &[Value],
) -> Result<(RoleAdapter, Inspection), CallFailure> {
    let member = sandbox.member(MEMBER, json!({ "templates": templates }))?;
    let output = call_once(&member, json!({"inspect": true}).to_string())?;
    let found = serde_json::from_value(Value::Object(output));
    let found = found.map_err(|error| CallFailure::Stopped(format!("returned no inspection: {error}")))?;
    Ok((member, found))
}

fn texts_in(mut output: Object) -> Result<Vec<String>, CallFailure> {
    let texts = output.swap_remove("texts").map(serde_json::from_value);
    match texts {
        Some(Ok(texts)) => Ok(texts),
        _ => Err(CallFailure::Stopped("returned no texts".to_owned())),
    }
}

/// Returns `piqa`, or `piqa, message 2` if the prompt has several messages.
fn name_of(prompt_id: &str, number: usize, count: usize) -> String {
    match count {
        1 => prompt_id.to_owned(),
        _ => format!("{prompt_id}, message {}", number + 1),
    }
}

/// Returns the error of a prompt with a number of templates. The pointer of a rejection has the number of the template and
/// the line: `/0/3`.
fn error_of(prompt_id: &str, count: usize, failure: CallFailure) -> PromptError {
    let whole = |text: String| PromptError { message: 0, template: prompt_id.to_owned(), line: None, text };
    match failure {
        CallFailure::InvalidTemplate(reason) => whole(reason),
        CallFailure::Stopped(reason) => whole(format!("it {reason}")),
        CallFailure::Rejected { message: text, pointer } => {
            let mut numbers = pointer.iter().flat_map(|pointer| pointer.split('/')).skip(1);
            let mut next = || numbers.next().and_then(|number| number.parse::<usize>().ok());
            let (number, line) = (next(), next());
            match number.filter(|number| *number < count) {
                Some(message) => {
                    PromptError { message, template: name_of(prompt_id, message, count), line, text }
                }
                None => whole(text),
            }
        }
    }
}

#[cfg(test)]
mod tests;
