//! The standard Sample: the one shape that loaders, preprocessors, models, judges, metrics
//! and reports share.

use crate::content::{ContentPart, Message, Role, text_of};
use crate::fields::{Fields, Problem};
use crate::{Digest, Object};
use serde_json::{Value, json};

/// The version of the Sample's shape that this program reads and writes.
pub const SCHEMA_VERSION: &str = "v1";

/// What kind of task a sample is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskType {
    /// `multiple-choice`
    MultipleChoice,
    /// `short-answer`
    ShortAnswer,
    /// `dialogue`
    Dialogue,
    /// `audio-translation`
    AudioTranslation,
    /// `image-qa`
    ImageQa,
    /// `video-qa`
    VideoQa,
    /// `doc-qa`
    DocQa,
    /// `text-to-image`
    TextToImage,
    /// `image-to-image`
    ImageToImage,
    /// `text-to-audio`
    TextToAudio,
    /// `text-to-video`
    TextToVideo,
    /// `code-generation`
    CodeGeneration,
    /// `agent`
    Agent,
    /// A type that a team uses for itself.
    Other(String),
}

impl TaskType {
    const NAMED: [(TaskType, &'static str); 13] = [
        (TaskType::MultipleChoice, "multiple-choice"),
        (TaskType::ShortAnswer, "short-answer"),
        (TaskType::Dialogue, "dialogue"),
        (TaskType::AudioTranslation, "audio-translation"),
        (TaskType::ImageQa, "image-qa"),
        (TaskType::VideoQa, "video-qa"),
        (TaskType::DocQa, "doc-qa"),
        (TaskType::TextToImage, "text-to-image"),
        (TaskType::ImageToImage, "image-to-image"),
        (TaskType::TextToAudio, "text-to-audio"),
        (TaskType::TextToVideo, "text-to-video"),
        (TaskType::CodeGeneration, "code-generation"),
        (TaskType::Agent, "agent"),
    ];

    /// The name in a Sample.
    pub fn name(&self) -> &str {
        match self {
            TaskType::Other(name) => name,
            known => TaskType::NAMED.iter().find(|(kind, _)| kind == known).map_or("", |(_, name)| name),
        }
    }

    /// The task type with this name.
    pub fn from_name(name: &str) -> TaskType {
        TaskType::NAMED
            .iter()
            .find(|(_, known)| *known == name)
            .map_or_else(|| TaskType::Other(name.to_owned()), |(kind, _)| kind.clone())
    }
}

/// One candidate of a multiple-choice question. The order of the list is the order of display.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceOption {
    /// Its identifier, usually a letter.
    pub id: String,
    /// Its text.
    pub content: String,
    /// Keys that are not known.
    pub extra: Object,
}

/// A right answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The answer's parts.
    pub answer: Vec<ContentPart>,
    /// About the answer.
    pub meta: Object,
    /// Keys that are not known.
    pub extra: Object,
}

impl Reference {
    /// The answer as one string: its text, or the URL of its first media part.
    pub fn text(&self) -> String {
        match self.answer.first() {
            Some(ContentPart::Media { url, .. }) => url.clone(),
            _ => text_of(&self.answer),
        }
    }
}

/// An example in front of the question. It holds no example and no result of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct FewShotExample {
    /// The question.
    pub messages: Vec<Message>,
    /// Its candidates.
    pub options: Vec<ChoiceOption>,
    /// Its right answers.
    pub references: Vec<Reference>,
    /// The first right answer as a string.
    pub label: Option<String>,
    /// Tool definitions.
    pub tools: Vec<Value>,
    /// Which tool to use.
    pub tool_choice: Option<Value>,
    /// Keys that are not known.
    pub extra: Object,
}

/// The environment that a sample's code or agent runs in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxSpec {
    /// Container image.
    pub image: Option<String>,
    /// Relative target path to URI or local path.
    pub files: Object,
    /// Script to run first.
    pub setup: Option<String>,
    /// Environment variables.
    pub env: Object,
    /// Keys that are not known.
    pub extra: Object,
}

/// A standard Sample. Fields that are not known are kept in `extra`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Always [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// Unique within its dataset.
    pub id: String,
    /// What kind of task it is.
    pub task_type: Option<TaskType>,
    /// The question, as a conversation.
    pub messages: Vec<Message>,
    /// The candidates, in the order of display.
    pub options: Vec<ChoiceOption>,
    /// The right answers.
    pub references: Vec<Reference>,
    /// The first right answer as a string.
    pub label: Option<String>,
    /// Examples in front of the question.
    pub few_shot_examples: Vec<FewShotExample>,
    /// Reference trajectories, each a whole conversation.
    pub golden_trajectories: Vec<Vec<Message>>,
    /// The environment that code runs in.
    pub sandbox: Option<SandboxSpec>,
    /// About the task and the row.
    pub metadata: Object,
    /// Labels to slice results by.
    pub data_tag: Object,
    /// Large raw objects; never rendered into a prompt.
    pub raw_assets: Object,
    /// OpenAI tool definitions.
    pub tools: Vec<Value>,
    /// Which tool to use: a string or an object.
    pub tool_choice: Option<Value>,
    /// Sampling parameters of this sample; they win over every other place.
    pub sampling_params: Object,
    /// Generation parameters of this sample.
    pub generation_params: Object,
    /// Judge and metric settings of this sample.
    pub eval_config: Object,
    /// Input for debiasing: a string or a list.
    pub unconditioned_input: Option<Value>,
    /// What a model said, in the shape of the reference implementation.
    pub predict_result: Vec<Value>,
    /// What judges and metrics said.
    pub eval_result: Object,
    /// Structured candidates in the shape of the reference implementation.
    pub choices: Vec<Value>,
    /// The container of inference inputs: `prompt`, `multi_modal_data`.
    pub inputs: Object,
    /// Which dataset the row is from.
    pub dataset_id: Option<String>,
    /// About that dataset: its `path`.
    pub dataset_metadata: Object,
    /// Who applies the chat template.
    pub chat_template_mode: Option<String>,
    /// Who rendered the prompt.
    pub rendered_by: Option<String>,
    /// Where the chat template is from.
    pub template_source: Option<String>,
    /// Part of the key of caches.
    pub cache_suffix: Option<String>,
    /// The tokenizer that rendered the prompt.
    pub tokenizer_path: Option<String>,
    /// Indexes of media without duplicates.
    pub media_meta: Object,
    /// Fields that are not known.
    pub extra: Object,
}

/// What a few-shot example may not hold.
const NOT_IN_FEW_SHOT: [&str; 8] = [
    "few_shot_examples",
    "predict_result",
    "eval_result",
    "raw_assets",
    "sandbox",
    "golden_trajectories",
    "eval_config",
    "inputs",
];

impl Sample {
    /// Reads and validates a Sample. A missing `id` becomes a digest of the content, a missing
    /// `label` the text of the first reference.
    ///
    /// # Errors
    /// Everything that is wrong, each with its place.
    pub fn from_value(mut value: Value) -> Result<Sample, Vec<Problem>> {
        let mut problems = Vec::new();
        if let Value::Object(object) = &mut value
            && object.get("id").is_none_or(Value::is_null)
        {
            let id = Digest::of_json(&Value::Object(object.clone())).short();
            object.insert("id".to_owned(), id.into());
        }
        let sample = read_sample(value, &mut problems);
        match sample {
            Some(sample) if problems.is_empty() => Ok(sample),
            _ => Err(problems),
        }
    }

    /// The Sample as JSON. Fields that hold nothing are left out, except the required ones.
    pub fn into_value(self) -> Value {
        let mut object = Object::new();
        object.insert("schema_version".to_owned(), self.schema_version.into());
        object.insert("id".to_owned(), self.id.into());
        put_text(&mut object, "task_type", self.task_type.map(|kind| kind.name().to_owned()));
        object.insert("messages".to_owned(), messages_to_value(self.messages));
        put_list(&mut object, "options", self.options.into_iter().map(option_to_value).collect());
        let references = self.references.into_iter().map(reference_to_value).collect();
        object.insert("references".to_owned(), Value::Array(references));
        put_text(&mut object, "label", self.label);
        let few_shot = self.few_shot_examples.into_iter().map(few_shot_to_value).collect();
        put_list(&mut object, "few_shot_examples", few_shot);
        let golden = self.golden_trajectories.into_iter().map(messages_to_value).collect();
        put_list(&mut object, "golden_trajectories", golden);
        if let Some(sandbox) = self.sandbox {
            object.insert("sandbox".to_owned(), sandbox_to_value(sandbox));
        }
        put_object(&mut object, "metadata", self.metadata);
        put_object(&mut object, "data_tag", self.data_tag);
        put_object(&mut object, "raw_assets", self.raw_assets);
        put_list(&mut object, "tools", self.tools);
        put(&mut object, "tool_choice", self.tool_choice);
        put_object(&mut object, "sampling_params", self.sampling_params);
        put_object(&mut object, "generation_params", self.generation_params);
        put_object(&mut object, "eval_config", self.eval_config);
        put(&mut object, "unconditioned_input", self.unconditioned_input);
        put_list(&mut object, "predict_result", self.predict_result);
        put_object(&mut object, "eval_result", self.eval_result);
        put_list(&mut object, "choices", self.choices);
        put_object(&mut object, "inputs", self.inputs);
        put_text(&mut object, "_dataset_id", self.dataset_id);
        put_object(&mut object, "_dataset_metadata", self.dataset_metadata);
        put_text(&mut object, "chat_template_mode", self.chat_template_mode);
        put_text(&mut object, "rendered_by", self.rendered_by);
        put_text(&mut object, "template_source", self.template_source);
        put_text(&mut object, "cache_suffix", self.cache_suffix);
        put_text(&mut object, "_tokenizer_path", self.tokenizer_path);
        put_object(&mut object, "_media_meta", self.media_meta);
        object.extend(self.extra);
        Value::Object(object)
    }

    /// The conversation to send: the few-shot examples, each with its first right answer as the
    /// assistant's turn, between the system message and the question.
    pub fn conversation(&self) -> Vec<Message> {
        let leading = self.messages.iter().take_while(|message| message.role == Role::System).count();
        let mut messages = self.messages[..leading].to_vec();
        for example in &self.few_shot_examples {
            messages.extend(example.messages.iter().cloned());
            let answer = example.references.first().map_or_else(
                || vec![ContentPart::text(example.label.clone().unwrap_or_default())],
                |reference| reference.answer.clone(),
            );
            messages.push(Message { content: answer, ..Message::text(Role::Assistant, "") });
        }
        messages.extend_from_slice(&self.messages[leading..]);
        messages
    }
}

fn read_sample(value: Value, problems: &mut Vec<Problem>) -> Option<Sample> {
    let mut fields = Fields::of(value, String::new(), problems)?;
    let schema_version = fields.string("schema_version");
    if schema_version.as_deref() != Some(SCHEMA_VERSION) {
        let found = schema_version.as_deref().unwrap_or("nothing");
        fields.problem("schema_version", format!("expected '{SCHEMA_VERSION}', found '{found}'"));
    }
    let id = match fields.take("id") {
        Some(Value::String(id)) if !id.trim().is_empty() => id,
        Some(Value::Number(number)) => number.to_string(),
        _ => {
            fields.problem("id", "expected a string that is not empty");
            String::new()
        }
    };
    for key in ["messages", "references"] {
        if !fields.has(key) {
            fields.problem(key, "this field is required; it may be an empty list");
        }
    }
    let references = fields.items("references", read_reference);
    let label = read_label(&mut fields, &references);
    let sample = Sample {
        schema_version: SCHEMA_VERSION.to_owned(),
        id,
        task_type: fields.string("task_type").map(|name| TaskType::from_name(&name)),
        messages: fields.items("messages", Message::read),
        options: read_options(&mut fields),
        references,
        label,
        few_shot_examples: fields.items("few_shot_examples", read_few_shot),
        golden_trajectories: fields.items("golden_trajectories", read_trajectory),
        sandbox: read_sandbox(&mut fields),
        metadata: fields.object("metadata"),
        data_tag: fields.object("data_tag"),
        raw_assets: fields.object("raw_assets"),
        tools: fields.list("tools"),
        tool_choice: fields.take("tool_choice"),
        sampling_params: fields.object("sampling_params"),
        generation_params: fields.object("generation_params"),
        eval_config: fields.object("eval_config"),
        unconditioned_input: fields.take("unconditioned_input"),
        predict_result: fields.list("predict_result"),
        eval_result: fields.object("eval_result"),
        choices: fields.list("choices"),
        inputs: fields.object("inputs"),
        dataset_id: fields.string("_dataset_id"),
        dataset_metadata: fields.object("_dataset_metadata"),
        chat_template_mode: fields.string("chat_template_mode"),
        rendered_by: fields.string("rendered_by"),
        template_source: fields.string("template_source"),
        cache_suffix: fields.string("cache_suffix"),
        tokenizer_path: fields.string("_tokenizer_path"),
        media_meta: fields.object("_media_meta"),
        extra: Object::new(),
    };
    check_choice_of_tools(&mut fields, &sample);
    Some(Sample { extra: fields.rest(), ..sample })
}

fn check_choice_of_tools(fields: &mut Fields<'_>, sample: &Sample) {
    if !matches!(sample.tool_choice, None | Some(Value::String(_) | Value::Object(_))) {
        fields.problem("tool_choice", "expected a string or an object");
    }
    if !matches!(sample.unconditioned_input, None | Some(Value::String(_) | Value::Array(_))) {
        fields.problem("unconditioned_input", "expected a string or a list");
    }
}

/// The label, which must agree with the first reference where both are given.
fn read_label(fields: &mut Fields<'_>, references: &[Reference]) -> Option<String> {
    let first = references.first().map(Reference::text);
    let label = match fields.take("label") {
        None => return first,
        Some(Value::String(text)) => text,
        Some(scalar @ (Value::Number(_) | Value::Bool(_))) => scalar.to_string(),
        Some(_) => {
            fields.problem("label", "expected a string");
            return first;
        }
    };
    match first {
        Some(first) if first.trim() != label.trim() => {
            fields.problem("label", format!("'{label}' is not the text of references[0], '{first}'"));
        }
        _ => {}
    }
    Some(label)
}

fn read_options(fields: &mut Fields<'_>) -> Vec<ChoiceOption> {
    let options = fields.items("options", read_option);
    for (index, option) in options.iter().enumerate() {
        if options[..index].iter().any(|earlier| earlier.id == option.id) {
            fields.problem("options", format!("the id '{}' occurs twice", option.id));
        }
    }
    options
}

fn read_option(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<ChoiceOption> {
    let mut fields = Fields::of(value, pointer, problems)?;
    let id = fields.string("id");
    let content = fields.string("content");
    for (key, value) in [("id", &id), ("content", &content)] {
        if value.is_none() {
            fields.problem(key, "an option needs an 'id' and a 'content', both strings");
        }
    }
    Some(ChoiceOption { id: id?, content: content?, extra: fields.rest() })
}

fn read_reference(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<Reference> {
    if let Value::String(text) = value {
        let answer = vec![ContentPart::text(text)];
        return Some(Reference { answer, meta: Object::new(), extra: Object::new() });
    }
    let mut fields = Fields::of(value, pointer, problems)?;
    let answer = fields.required("answer")?;
    let pointer = fields.pointer_to("answer");
    let answer = ContentPart::read_all(answer, &pointer, fields.problems());
    Some(Reference { answer, meta: fields.object("meta"), extra: fields.rest() })
}

fn read_few_shot(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<FewShotExample> {
    let mut fields = Fields::of(value, pointer, problems)?;
    for key in NOT_IN_FEW_SHOT {
        if fields.has(key) {
            fields.problem(key, "a few-shot example may not hold this field");
        }
    }
    for key in ["messages", "references"] {
        if !fields.has(key) {
            fields.problem(key, "a few-shot example needs this field");
        }
    }
    let references = fields.items("references", read_reference);
    let label = read_label(&mut fields, &references);
    Some(FewShotExample {
        messages: fields.items("messages", Message::read),
        options: read_options(&mut fields),
        references,
        label,
        tools: fields.list("tools"),
        tool_choice: fields.take("tool_choice"),
        extra: fields.rest(),
    })
}

fn read_trajectory(value: Value, pointer: String, problems: &mut Vec<Problem>) -> Option<Vec<Message>> {
    let Value::Array(messages) = value else {
        problems.push(crate::fields::expected("a list of messages", &value, pointer));
        return None;
    };
    let read = |(index, message)| Message::read(message, format!("{pointer}/{index}"), problems);
    Some(messages.into_iter().enumerate().filter_map(read).collect())
}

fn read_sandbox(fields: &mut Fields<'_>) -> Option<SandboxSpec> {
    let value = fields.take("sandbox")?;
    let pointer = fields.pointer_to("sandbox");
    let mut sandbox = Fields::of(value, pointer, fields.problems())?;
    Some(SandboxSpec {
        image: sandbox.string("image"),
        files: sandbox.object("files"),
        setup: sandbox.string("setup"),
        env: sandbox.object("env"),
        extra: sandbox.rest(),
    })
}

fn messages_to_value(messages: Vec<Message>) -> Value {
    Value::Array(messages.into_iter().map(Message::into_value).collect())
}

fn option_to_value(option: ChoiceOption) -> Value {
    crate::content::with_extra(json!({"id": option.id, "content": option.content}), option.extra)
}

fn reference_to_value(reference: Reference) -> Value {
    let mut object = Object::new();
    let answer = reference.answer.into_iter().map(ContentPart::into_value).collect();
    object.insert("answer".to_owned(), Value::Array(answer));
    put_object(&mut object, "meta", reference.meta);
    object.extend(reference.extra);
    Value::Object(object)
}

fn few_shot_to_value(example: FewShotExample) -> Value {
    let mut object = Object::new();
    object.insert("messages".to_owned(), messages_to_value(example.messages));
    put_list(&mut object, "options", example.options.into_iter().map(option_to_value).collect());
    let references = example.references.into_iter().map(reference_to_value).collect();
    object.insert("references".to_owned(), Value::Array(references));
    put_text(&mut object, "label", example.label);
    put_list(&mut object, "tools", example.tools);
    put(&mut object, "tool_choice", example.tool_choice);
    object.extend(example.extra);
    Value::Object(object)
}

fn sandbox_to_value(sandbox: SandboxSpec) -> Value {
    let mut object = Object::new();
    put_text(&mut object, "image", sandbox.image);
    put_object(&mut object, "files", sandbox.files);
    put_text(&mut object, "setup", sandbox.setup);
    put_object(&mut object, "env", sandbox.env);
    object.extend(sandbox.extra);
    Value::Object(object)
}

fn put(object: &mut Object, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}

fn put_text(object: &mut Object, key: &str, text: Option<String>) {
    put(object, key, text.map(Value::String));
}

fn put_list(object: &mut Object, key: &str, items: Vec<Value>) {
    put(object, key, (!items.is_empty()).then_some(Value::Array(items)));
}

fn put_object(object: &mut Object, key: &str, inner: Object) {
    put(object, key, (!inner.is_empty()).then_some(Value::Object(inner)));
}

#[cfg(test)]
mod tests;
