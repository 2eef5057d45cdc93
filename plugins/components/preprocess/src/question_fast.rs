//! The fast path from a row with a question to its Sample: see [`crate::one_pass`].

use crate::layout::Layout;
use crate::one_pass::field::{Field, Row};
use crate::one_pass::row;
use crate::one_pass::text::{Text, known_member, member, write_text, write_text_parts};
use crate::options::{self, Choice};
use crate::question::{CHOICES_OF_OPTIONS, QuestionFields};
use crate::sample::{Origin, SCHEMA_VERSION, is_of_sample};
use gage_sdk::serde_json;

/// Room for the parts of a Sample that its row lacks, not counting the prompt.
const MADE_BYTES: usize = 512;

/// Names in `metadata` that are made here. A row that has one takes the ordinary path.
const MADE: [&str; 7] = [
    "metadata",
    "option_map",
    "correct_choice",
    "question_field",
    "choices_field",
    "answer_field",
    "question_text",
];

/// Where the options of a row are.
pub(crate) enum OptionSource<'a> {
    /// A list of texts.
    List(&'a str),
    /// A field for each.
    Each(&'a [String]),
}

/// Returns the Sample of a raw row as JSON text; `None` if the row needs the ordinary path.
pub(crate) fn sample(
    text: &str,
    fields: &QuestionFields,
    source: &OptionSource<'_>,
    layout: &Layout,
) -> Option<String> {
    let row = row::read(text)?;
    if Origin::told_by(|name| find(&row, name).is_some()) != Origin::Raw
        || MADE.iter().any(|name| find(&row, name).is_some())
    {
        return None;
    }
    let question =
        text_of(&row, &fields.question).filter(|question| !question.stripped().as_str().is_empty())?;
    let listed: Vec<Text<'_>> = match source {
        OptionSource::List(name) => serde_json::from_str(find(&row, name)?.as_list()?).ok()?,
        OptionSource::Each(names) => {
            names.iter().map(|name| text_of(&row, name)).collect::<Option<Vec<Text<'_>>>>()?
        }
    };
    let texts: Vec<Text<'_>> = match fields.trims_options {
        true => listed.iter().map(Text::stripped).collect(),
        false => listed,
    };
    let choices = options::lettered(texts.iter().map(Text::as_str))?;
    let answer = find(&row, &fields.answer).filter(|answer| answer.as_list().is_none())?;
    let correct = options::resolve(&answer.to_value()?, &choices, fields.places).ok()??;
    let question = question.stripped();

    let mut json = String::with_capacity(2 * text.len() + MADE_BYTES);
    json.push('{');
    known_member!(&mut json, "schema_version");
    write_text(&mut json, SCHEMA_VERSION);
    match find(&row, "id") {
        None | Some(Field::Null) => {}
        Some(id @ (Field::Text(_) | Field::Number(_))) => {
            known_member!(&mut json, "id");
            id.as_text()?.write(&mut json);
        }
        Some(Field::Bool(_) | Field::Nested(_)) => return None,
    }
    json.push_str(r#","task_type":"multiple-choice","#);
    json.push_str(r#""messages":"#);
    layout.write_messages(
        &mut json,
        &question,
        choices.iter().map(|choice| choice.label.as_str()).zip(&texts),
    );
    write_options(&mut json, &choices, &texts);
    known_member!(&mut json, "references");
    json.push_str(r#"[{"answer":"#);
    write_text_parts(&mut json, &[Text::made(&correct.label)]);
    json.push_str("}]");
    known_member!(&mut json, "label");
    write_text(&mut json, &correct.label);
    known_member!(&mut json, "choices");
    write_text(&mut json, CHOICES_OF_OPTIONS);
    write_rest(&mut json, &row, fields, source, &question);
    json.push('}');
    Some(json)
}

fn find<'row>(row: &'row Row<'row>, name: &str) -> Option<&'row Field<'row>> {
    row.iter().find(|(other, _)| other.as_str() == name).map(|(_, field)| field)
}

fn text_of<'row>(row: &'row Row<'row>, name: &str) -> Option<Text<'row>> {
    find(row, name)?.as_text()
}

fn write_options(json: &mut String, choices: &[Choice], texts: &[Text<'_>]) {
    known_member!(json, "options");
    for (index, (choice, text)) in choices.iter().zip(texts).enumerate() {
        json.push_str(if index == 0 { "[{" } else { ",{" });
        known_member!(json, "id");
        write_text(json, &choice.label);
        known_member!(json, "content");
        text.write(json);
        json.push('}');
    }
    json.push(']');
}

/// Writes the other fields of the row, each in its place, and what the metadata says about the question.
fn write_rest(
    json: &mut String,
    row: &Row<'_>,
    fields: &QuestionFields,
    source: &OptionSource<'_>,
    question: &Text<'_>,
) {
    let is_option = |name: &str| match source {
        OptionSource::List(field) => name == *field,
        OptionSource::Each(fields) => fields.iter().any(|field| field == name),
    };
    let is_used =
        |name: &str| name == "id" || name == fields.question || name == fields.answer || is_option(name);
    let goes_on =
        |name: &str, field: &Field<'_>| is_of_sample(name, field.as_object().is_some(), Origin::Raw);
    let others = || {
        let fields = row.iter().filter(|(name, _)| !is_used(name.as_str()));
        fields.map(|(name, field)| (name, field, goes_on(name.as_str(), field)))
    };
    for (name, field, _) in others().filter(|(_, _, goes_on)| *goes_on) {
        member(json, name);
        field.write(json);
    }
    json.push_str(r#","metadata":{"#);
    for (name, field, _) in others().filter(|(_, _, goes_on)| !*goes_on) {
        member(json, name);
        field.write(json);
    }
    known_member!(json, "question_field");
    write_text(json, &fields.question);
    known_member!(json, "choices_field");
    write_text(json, &fields.choices);
    known_member!(json, "answer_field");
    write_text(json, &fields.answer);
    known_member!(json, "question_text");
    question.write(json);
    json.push('}');
}

#[cfg(test)]
mod tests;
