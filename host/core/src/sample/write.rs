//! Writes a Sample in its standard form.

use super::{ChoiceOption, FewShotExample, Reference, Sample, SandboxSpec};
use crate::Object;
use crate::content::{ContentPart, Message};
use serde_json::Value;

/// Room for the members that most Samples have.
const USUAL_MEMBERS: usize = 8;

pub(super) fn sample(sample: Sample) -> Value {
    let mut object = Object::with_capacity(USUAL_MEMBERS + sample.extra.len());
    object.insert("schema_version".to_owned(), sample.schema_version.into());
    object.insert("id".to_owned(), sample.id.into());
    put_text(&mut object, "task_type", sample.task_type.map(|kind| kind.name().to_owned()));
    object.insert("messages".to_owned(), messages(sample.messages));
    put_list(&mut object, "options", each(sample.options, option));
    object.insert("references".to_owned(), Value::Array(each(sample.references, reference)));
    put_text(&mut object, "label", sample.label);
    put_list(&mut object, "few_shot_examples", each(sample.few_shot_examples, few_shot));
    put_list(&mut object, "golden_trajectories", each(sample.golden_trajectories, messages));
    put(&mut object, "sandbox", sample.sandbox.map(sandbox));
    put_object(&mut object, "metadata", sample.metadata);
    put_object(&mut object, "data_tag", sample.data_tag);
    put_object(&mut object, "raw_assets", sample.raw_assets);
    put_list(&mut object, "tools", sample.tools);
    put(&mut object, "tool_choice", sample.tool_choice);
    put_object(&mut object, "sampling_params", sample.sampling_params);
    put_object(&mut object, "generation_params", sample.generation_params);
    put_object(&mut object, "eval_config", sample.eval_config);
    put(&mut object, "unconditioned_input", sample.unconditioned_input);
    put_list(&mut object, "predict_result", sample.predict_result);
    put_object(&mut object, "eval_result", sample.eval_result);
    put_list(&mut object, "choices", sample.choices);
    put_object(&mut object, "inputs", sample.inputs);
    put_text(&mut object, "_dataset_id", sample.dataset_id);
    put_object(&mut object, "_dataset_metadata", sample.dataset_metadata);
    put_text(&mut object, "chat_template_mode", sample.chat_template_mode);
    put_text(&mut object, "rendered_by", sample.rendered_by);
    put_text(&mut object, "template_source", sample.template_source);
    put_text(&mut object, "cache_suffix", sample.cache_suffix);
    put_text(&mut object, "_tokenizer_path", sample.tokenizer_path);
    put_object(&mut object, "_media_meta", sample.media_meta);
    object.extend(sample.extra);
    Value::Object(object)
}

fn each<T>(items: Vec<T>, write: fn(T) -> Value) -> Vec<Value> {
    items.into_iter().map(write).collect()
}

fn messages(messages: Vec<Message>) -> Value {
    Value::Array(each(messages, Message::into_value))
}

fn option(option: ChoiceOption) -> Value {
    let mut object = Object::with_capacity(2 + option.extra.len());
    object.insert("id".to_owned(), option.id.into());
    object.insert("content".to_owned(), option.content.into());
    object.extend(option.extra);
    Value::Object(object)
}

fn reference(reference: Reference) -> Value {
    let mut object = Object::with_capacity(2 + reference.extra.len());
    object.insert("answer".to_owned(), Value::Array(each(reference.answer, ContentPart::into_value)));
    put_object(&mut object, "meta", reference.meta);
    object.extend(reference.extra);
    Value::Object(object)
}

fn few_shot(example: FewShotExample) -> Value {
    let mut object = Object::with_capacity(6 + example.extra.len());
    object.insert("messages".to_owned(), messages(example.messages));
    put_list(&mut object, "options", each(example.options, option));
    object.insert("references".to_owned(), Value::Array(each(example.references, reference)));
    put_text(&mut object, "label", example.label);
    put_list(&mut object, "tools", example.tools);
    put(&mut object, "tool_choice", example.tool_choice);
    object.extend(example.extra);
    Value::Object(object)
}

fn sandbox(sandbox: SandboxSpec) -> Value {
    let mut object = Object::with_capacity(4 + sandbox.extra.len());
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
