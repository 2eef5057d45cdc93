//! The fast path from a row to its Sample: see [`crate::one_pass`]. Fields that are passed on are written as text while
//! they are read. Values are created only if the ordinary steps, [`super::convert`], need them.

use super::{DefaultParams, TEXT};
use crate::media::kind_of;
use crate::one_pass::field::{Field, Row};
use crate::one_pass::row;
use crate::one_pass::text::{Text, known_member, member, write_text, write_text_parts};
use crate::sample::{Origin, SCHEMA_VERSION, is_of_sample};
use crate::slots::Slots;
use crate::task_type::known;
use answers::ResolvedAnswer;
use options::Options;

mod answers;
mod metadata;
mod options;

/// Extra room for the parts of a Sample that its row lacks, not counting the parameters.
const MADE_BYTES: usize = 256;

/// A row, split into fields.
type Fields<'row> = Slots<Text<'row>, &'row Field<'row>>;

/// Returns the Sample of a row as JSON text; `None` if the row needs the ordinary path.
pub(super) fn sample(text: &str, params: &DefaultParams, cache_suffix: Option<&str>) -> Option<String> {
    if params.question_field.is_some() || params.answer_field.is_some() {
        return None;
    }
    let row = row::read(text)?;
    let origin = Origin::told_by(|name| row.iter().any(|(other, _)| other.as_str() == name));
    let mut fields = take_apart(&row, params.media && origin != Origin::Sample)?;

    let mut json = String::with_capacity(text.len() + MADE_BYTES);
    json.push('{');
    known_member!(&mut json, "schema_version");
    match fields.schema_version {
        Some(version) => version.write(&mut json),
        None => write_text(&mut json, SCHEMA_VERSION),
    }
    let is_nested_label = origin == Origin::Sample && matches!(fields.label, Some(Field::Nested(_)));
    if is_nested_label || matches!(fields.id, Some(Field::Bool(_) | Field::Nested(_))) {
        return None;
    }
    if let Some(id) = fields.id.and_then(Field::as_text) {
        known_member!(&mut json, "id");
        id.write(&mut json);
    }
    write_task_type(&mut json, &mut fields);
    known_member!(&mut json, "messages");
    write_messages(&mut json, &mut fields, params, origin)?;

    let options = options::take(&mut fields, origin)?;
    let settled = answers::settle(&mut fields, options.as_ref().map(|options| options.read.as_slice()))?;
    write_answers(&mut json, options.as_ref(), &settled);
    for (name, field) in fields.take_unused(settled.unused_answer) {
        fields.rest.push((Text::Plain(name), field));
    }
    let mut others = fields.rest;
    let goes_on = |(name, field): &mut (Text<'_>, &Field<'_>)| {
        is_of_sample(name.as_str(), field.as_object().is_some(), origin)
    };
    // Most rows have none, and then nothing is moved.
    let passed_on: Vec<_> = others.extract_if(.., goes_on).collect();
    for (name, field) in &passed_on {
        member(&mut json, name);
        field.write(&mut json);
    }
    known_member!(&mut json, "metadata");
    metadata::write(&mut json, fields.metadata, &others, options.as_ref(), &settled, origin)?;
    if let Some(cache_suffix) = cache_suffix {
        if passed_on.iter().any(|(name, _)| name.as_str() == "cache_suffix") {
            return None;
        }
        known_member!(&mut json, "cache_suffix");
        write_text(&mut json, cache_suffix);
    }
    json.push('}');
    Some(json)
}

/// Splits a row into fields; `None` if a media field is to be placed.
fn take_apart<'row>(row: &'row Row<'row>, with_media: bool) -> Option<Fields<'row>> {
    let mut fields = Fields::default();
    fields.rest.reserve(row.len());
    for (name, field) in row {
        if let Some(slot) = fields.slot(name.as_str()) {
            *slot = Some(field).filter(|field| !field.is_null());
        } else if with_media && field.may_be_media() && kind_of(name.as_str()).is_some() {
            return None;
        } else {
            fields.rest.push((name.borrowed(), field));
        }
    }
    Some(fields)
}

fn write_task_type(json: &mut String, fields: &mut Fields<'_>) {
    if let Some(task_type) = fields.task_type {
        known_member!(json, "task_type");
        task_type.write(json);
    } else if let Some(question_type) = fields.question_type.take() {
        known_member!(json, "task_type");
        match question_type {
            Field::Text(text) => match known(text.as_str()) {
                Some(task_type) => write_text(json, task_type),
                None => text.write(json),
            },
            other => other.write(json),
        }
    }
}

/// Writes the messages of a row as they are, or a message with its question.
fn write_messages(
    json: &mut String,
    fields: &mut Fields<'_>,
    params: &DefaultParams,
    origin: Origin,
) -> Option<()> {
    let system_prompt = params.system_prompt.as_deref().filter(|text| !text.is_empty());
    let instruction = params.instruction.as_deref().filter(|text| !text.is_empty());
    if let Some(messages) = fields.messages {
        let messages = messages.as_list()?;
        let asks_elsewhere = messages == "[]" && origin != Origin::Sample;
        if asks_elsewhere || system_prompt.is_some() || instruction.is_some() {
            return None;
        }
        json.push_str(messages);
        return Some(());
    }
    let question =
        [("question", &mut fields.question), ("prompt", &mut fields.prompt), (TEXT, &mut fields.text)];
    let (name, question) = question.into_iter().find_map(|(name, field)| Some((name, field.take()?)))?;
    let question = question.as_text()?;
    if name != TEXT && question.stripped().as_str().is_empty() {
        return None;
    }
    let question = if params.trims(name) { question.stripped() } else { question.borrowed() };
    json.push('[');
    if let Some(system_prompt) = system_prompt {
        write_message(json, "system", &[Text::made(system_prompt)]);
        json.push(',');
    }
    match instruction {
        Some(instruction) => {
            let texts = [question, Text::made("\n\n"), Text::made(instruction)];
            write_message(json, "user", &texts);
        }
        None => write_message(json, "user", &[question]),
    }
    json.push(']');
    Some(())
}

/// Writes a message with one text, given in pieces.
fn write_message(json: &mut String, role: &str, texts: &[Text<'_>]) {
    json.push('{');
    known_member!(json, "role");
    write_text(json, role);
    known_member!(json, "content");
    write_text_parts(json, texts);
    json.push('}');
}

fn write_answers(json: &mut String, options: Option<&Options<'_>>, settled: &ResolvedAnswer<'_>) {
    if let Some(options) = options {
        known_member!(json, "options");
        options.write(json);
    }
    known_member!(json, "references");
    settled.references.write(json);
    if let Some(label) = &settled.label {
        known_member!(json, "label");
        label.write(json);
    }
}

#[cfg(test)]
mod tests;
