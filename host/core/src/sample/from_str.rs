//! Reads a Sample straight from its text, as `read` does from a [`Value`]. What is wrong or unusual
//! is given up, and left to `read`.

use super::from_value::{NOT_IN_FEW_SHOT, nothing, read_id, read_sandbox};
use super::{ChoiceOption, FewShotExample, Reference, Sample, TaskType, checks, label};
use crate::content::direct::ContentVisitor;
use crate::content::{ContentPart, read_tool};
use crate::json_decode::FieldReader;
use crate::json_decode::streaming::{StreamingDecode, TextVisitor, checked, give_up, next, next_checked};
use crate::schema::SCHEMA_VERSION;
use crate::{LazyObject, Object};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use std::fmt::{Formatter, Result as FormatResult};
use std::sync::Arc;

/// What a text holds that has an id, unless it is spelled oddly. An option has one too, so a Sample
/// without an id may still turn up later.
const ID_KEY: &str = "\"id\"";

/// The Sample that `read` would read, or nothing where only `read` can tell.
pub(super) fn sample(text: &str) -> Option<Arc<Sample>> {
    // A missing id is a digest of the whole value, which is not there.
    if !text.contains(ID_KEY) {
        return None;
    }
    let mut sample = Arc::new(nothing());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.deserialize_map(SampleBuilder(Arc::get_mut(&mut sample)?)).ok()?;
    deserializer.end().ok()?;
    Some(sample)
}

/// Fills a Sample of which nothing is read yet. A Sample is large, and moving it takes longer than
/// reading a field.
struct SampleBuilder<'s>(&'s mut Sample);

impl<'t> Visitor<'t> for SampleBuilder<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        let SampleBuilder(sample) = self;
        let (mut is_versioned, mut label) = (false, Value::Null);
        let (mut messages, mut references) = (None, None);
        while let Some(TextVisitor(key)) = members.next_key()? {
            let members = &mut members;
            match key.as_ref() {
                "schema_version" => {
                    let TextVisitor(version) = members.next_value()?;
                    if version != SCHEMA_VERSION {
                        return Err(give_up());
                    }
                    is_versioned = true;
                }
                "id" => sample.id = next_checked(members, read_id)?,
                "task_type" => {
                    let name: Option<TextVisitor> = members.next_value()?;
                    sample.task_type = name.map(|TextVisitor(name)| TaskType::from_name(&name));
                }
                "messages" => messages = Some(next(members)?),
                "options" => sample.options = options(members)?,
                "references" => references = Some(next(members)?),
                "label" => label = members.next_value()?,
                "few_shot_examples" => sample.few_shot_examples = list(members)?,
                "golden_trajectories" => sample.golden_trajectories = list(members)?,
                "sandbox" => sample.sandbox = next_checked(members, read_sandbox)?.map(Box::new),
                "metadata" => sample.metadata = object(members)?,
                "data_tag" => sample.data_tag = tags(members)?.into(),
                "raw_assets" => sample.raw_assets = object(members)?.into(),
                "tools" => sample.tools = tools(members)?,
                "tool_choice" => sample.tool_choice = next_checked(members, checks::tool_choice)?,
                "sampling_params" => sample.sampling_params = object(members)?.into(),
                "generation_params" => sample.generation_params = object(members)?.into(),
                "eval_config" => sample.eval_config = object(members)?.into(),
                "unconditioned_input" => {
                    sample.unconditioned_input = next_checked(members, checks::unconditioned_input)?;
                }
                "predict_result" => sample.predict_result = values(members)?,
                "eval_result" => sample.eval_result = object(members)?.into(),
                "choices" => sample.choices = values(members)?,
                "inputs" => sample.inputs = inputs(members)?.into(),
                "_dataset_id" => sample.dataset_id = next(members)?,
                "_dataset_metadata" => sample.dataset_metadata = object(members)?,
                "chat_template_mode" => sample.chat_template_mode = next(members)?,
                "rendered_by" => sample.rendered_by = next(members)?,
                "template_source" => sample.template_source = next(members)?,
                "cache_suffix" => sample.cache_suffix = next(members)?,
                "_tokenizer_path" => sample.tokenizer_path = next(members)?,
                "_media_meta" => sample.media_meta = object(members)?.into(),
                _ => {
                    sample.extra.insert(key.into_owned(), members.next_value()?);
                }
            }
        }
        if !is_versioned || sample.id.is_empty() {
            return Err(give_up());
        }
        sample.messages = messages.ok_or_else(give_up)?;
        sample.references = references.ok_or_else(give_up)?;
        sample.label = agreed(label, &sample.references, &sample.options)?;
        Ok(())
    }
}

impl<'t> StreamingDecode<'t> for FewShotExample {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut messages, mut references) = (None, None);
        let (mut all_options, mut all_tools) = (Vec::new(), Vec::new());
        let (mut label, mut tool_choice, mut extra) = (Value::Null, None, LazyObject::default());
        while let Some(TextVisitor(key)) = members.next_key()? {
            let members = &mut members;
            match key.as_ref() {
                "messages" => messages = Some(next(members)?),
                "options" => all_options = options(members)?,
                "references" => references = Some(next(members)?),
                "label" => label = members.next_value()?,
                "tools" => all_tools = tools(members)?,
                "tool_choice" => tool_choice = next_checked(members, checks::tool_choice)?,
                // Null may stand there: it counts as missing.
                forbidden if NOT_IN_FEW_SHOT.contains(&forbidden) => members.next_value::<()>()?,
                _ => {
                    extra.insert(key.into_owned(), members.next_value()?);
                }
            }
        }
        let references: Vec<Reference> = references.ok_or_else(give_up)?;
        let example = FewShotExample {
            messages: messages.ok_or_else(give_up)?,
            label: agreed(label, &references, &all_options)?,
            options: all_options,
            references,
            tools: all_tools,
            tool_choice,
            extra,
        };
        checked(|reading| checks::few_shot_answer(&example, reading))?;
        Ok(example)
    }
}

impl<'t> StreamingDecode<'t> for Reference {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut answer, mut meta, mut extra) = (None, LazyObject::default(), LazyObject::default());
        while let Some(TextVisitor(key)) = members.next_key()? {
            match key.as_ref() {
                "answer" => answer = Some(next(&mut members)?),
                "meta" => meta = object(&mut members)?.into(),
                _ => {
                    extra.insert(key.into_owned(), members.next_value()?);
                }
            }
        }
        let ContentVisitor(answer) = answer.ok_or_else(give_up)?;
        Ok(Reference { answer, meta, extra })
    }

    fn of_string(text: &str) -> Option<Self> {
        Some(Reference {
            answer: vec![ContentPart::text(text)],
            meta: LazyObject::default(),
            extra: LazyObject::default(),
        })
    }
}

impl<'t> StreamingDecode<'t> for ChoiceOption {
    fn of_members<A: MapAccess<'t>>(mut members: A) -> Result<Self, A::Error> {
        let (mut id, mut content, mut extra) = (None, None, LazyObject::default());
        while let Some(TextVisitor(key)) = members.next_key()? {
            match key.as_ref() {
                "id" => id = Some(next::<String, _>(&mut members)?),
                "content" => content = Some(next(&mut members)?),
                _ => {
                    extra.insert(key.into_owned(), members.next_value()?);
                }
            }
        }
        let (Some(id), Some(content)) = (id, content) else { return Err(give_up()) };
        checked(|reading| checks::id(&id, reading))?;
        Ok(ChoiceOption { id, content, extra })
    }
}

fn options<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Vec<ChoiceOption>, A::Error> {
    let options: Vec<ChoiceOption> = list(members)?;
    let ids = options.iter().map(|option| Some(option.id.as_str()));
    checked(|reading| checks::distinct_option_ids(ids, reading))?;
    Ok(options)
}

/// The label, which agrees with the first reference or is its text.
fn agreed<E: Error>(
    label: Value,
    references: &[Reference],
    options: &[ChoiceOption],
) -> Result<Option<String>, E> {
    checked(|reading| label::read(label, references, options, reading))
}

/// A list of what can be read this way; null counts as an empty one.
fn list<'t, T: StreamingDecode<'t>, A: MapAccess<'t>>(members: &mut A) -> Result<Vec<T>, A::Error> {
    next::<Option<Vec<T>>, A>(members).map(Option::unwrap_or_default)
}

fn values<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Vec<Value>, A::Error> {
    next_checked(members, |value, reading: &mut FieldReader<'_>| reading.list(value))
}

fn object<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Object, A::Error> {
    next_checked(members, |value, reading: &mut FieldReader<'_>| reading.object(value))
}

fn inputs<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Object, A::Error> {
    next_checked(members, |value, reading: &mut FieldReader<'_>| {
        checks::inputs(reading.object(value), reading)
    })
}

fn tags<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Object, A::Error> {
    next_checked(members, |value, reading: &mut FieldReader<'_>| checks::tags(reading.object(value), reading))
}

fn tools<'t, A: MapAccess<'t>>(members: &mut A) -> Result<Vec<Value>, A::Error> {
    next_checked(members, |value, reading: &mut FieldReader<'_>| reading.items(value, read_tool))
}

#[cfg(test)]
mod tests;
