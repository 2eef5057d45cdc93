//! Conversion of a row's answer fields, like [`crate::answers::settle`]. This module handles one answer and references
//! in their standard form; `settle` handles the rest.

use super::Fields;
use crate::answers::{self, GivenAnswer};
use crate::one_pass::field::Field;
use crate::one_pass::text::{Text, known_member, write_text_parts};
use crate::options::{self, Choice, Places};
use crate::references::reference_text;
use gage_sdk::serde_json::{self, Value};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Answer fields in standard form.
pub(super) struct ResolvedAnswer<'row> {
    pub(super) references: References<'row>,
    pub(super) label: Option<Text<'row>>,
    /// Label of the right option.
    pub(super) correct_choice: Option<String>,
    pub(super) unused_answer: Option<&'row Field<'row>>,
    pub(super) unused_label: Option<&'row Field<'row>>,
}

/// The references of a Sample.
pub(super) enum References<'row> {
    /// JSON text.
    Written(Cow<'row, str>),
    /// One text.
    Single(Text<'row>),
}

/// Answer fields of a row.
#[derive(Clone, Copy)]
struct AnswerFields<'row> {
    references: Option<&'row Field<'row>>,
    answer: Option<&'row Field<'row>>,
    label: Option<&'row Field<'row>>,
}

/// Takes the answer fields of a row; `None` if they are unreadable.
pub(super) fn settle<'row>(
    fields: &mut Fields<'row>,
    options: Option<&[Choice]>,
) -> Option<ResolvedAnswer<'row>> {
    let said = AnswerFields {
        references: fields.references.take().filter(|references| references.as_list() != Some("[]")),
        answer: fields.answer.take().or_else(|| fields.answers.take()),
        label: fields.label.take(),
    };
    said.plainly(options).or_else(|| said.ordinarily(options))
}

impl<'row> AnswerFields<'row> {
    fn plainly(self, options: Option<&[Choice]>) -> Option<ResolvedAnswer<'row>> {
        match (self.references, self.answer, self.label) {
            (Some(_), ..) if options.is_some() => None,
            (Some(references), ..) => self.listed(references.as_list()?),
            (None, Some(answer), label) => answered(answer, label, options),
            (None, None, Some(label)) => answered(label, None, options),
            (None, None, None) => Some(ResolvedAnswer::new(References::Written("[]".into()), None)),
        }
    }

    fn listed(self, references: &'row str) -> Option<ResolvedAnswer<'row>> {
        if !are_standard(references) {
            return None;
        }
        let label = match self.label {
            Some(label) => Some(label.as_text()?),
            None => first_text(references)?,
        };
        let settled = ResolvedAnswer::new(References::Written(references.into()), label);
        Some(ResolvedAnswer { unused_answer: self.answer, ..settled })
    }

    /// Converts to values and uses the ordinary steps.
    fn ordinarily(self, options: Option<&[Choice]>) -> Option<ResolvedAnswer<'row>> {
        let value = |field: Option<&Field<'_>>| field.map(Field::to_value);
        let given = GivenAnswer {
            references: transpose(value(self.references))?,
            answer: transpose(value(self.answer))?,
            label: transpose(value(self.label))?,
            instead: None,
        };
        let answers = answers::settle(given, options, None).ok()?;
        Some(ResolvedAnswer {
            references: References::Written(Value::from(answers.references).to_string().into()),
            label: answers.label.map(|label| Text::Any(label.into())),
            correct_choice: answers.correct_choice,
            unused_answer: self.answer.filter(|_| answers.unused_answer.is_some()),
            unused_label: self.label.filter(|_| answers.unused_label.is_some()),
        })
    }
}

/// Converts one answer that is not a list.
fn answered<'row>(
    answer: &'row Field<'row>,
    label: Option<&'row Field<'row>>,
    options: Option<&[Choice]>,
) -> Option<ResolvedAnswer<'row>> {
    // The outer `None` means that only the ordinary steps can resolve the answer.
    let chosen = |value: &Value| match options {
        Some(options) => {
            let option = options::resolve(value, options, Places::OrTexts(0)).ok()?;
            Some(option.map(|option| option.label.as_str()))
        }
        None => Some(None),
    };
    let choice_of =
        |field: &Field<'_>| if options.is_none() { Some(None) } else { chosen(&field.to_value()?) };
    let said = answer.as_text()?;
    let said_of_label = match label {
        Some(label) => Some(label.as_text()?),
        None => None,
    };
    let by_label = label.map_or(Some(None), choice_of)?;
    let by_text = || if options.is_none() { Some(None) } else { chosen(&said.as_str().into()) };
    let named = match choice_of(answer)? {
        Some(choice) => Some(choice),
        None => by_text()?,
    };
    let correct_choice = named.or(by_label);
    let first = || match correct_choice {
        Some(choice) => Some(Text::Any(Cow::Owned(choice.to_owned()))),
        None => answer.as_text(),
    };
    let settled = ResolvedAnswer::new(References::Single(first()?), first());
    let says_the_same = (by_label.is_some() && by_label == correct_choice)
        || said_of_label
            .is_some_and(|said| first().is_some_and(|first| first.as_str().trim() == said.as_str().trim()));
    Some(ResolvedAnswer {
        correct_choice: correct_choice.map(str::to_owned),
        unused_label: label.filter(|_| !says_the_same),
        ..settled
    })
}

impl<'row> ResolvedAnswer<'row> {
    fn new(references: References<'row>, label: Option<Text<'row>>) -> ResolvedAnswer<'row> {
        ResolvedAnswer { references, label, correct_choice: None, unused_answer: None, unused_label: None }
    }
}

impl References<'_> {
    pub(super) fn write(&self, json: &mut String) {
        match self {
            References::Written(text) => json.push_str(text),
            References::Single(text) => {
                json.push_str("[{");
                known_member!(json, "answer");
                write_text_parts(json, &[text.borrowed()]);
                json.push_str("}]");
            }
        }
    }
}

/// Returns whether each reference is an object with a list of parts as its answer, and is not a part itself.
fn are_standard(references: &str) -> bool {
    #[derive(Deserialize)]
    struct Reference {
        #[serde(rename = "answer")]
        _answer: Vec<IgnoredAny>,
        r#type: Option<IgnoredAny>,
    }
    serde_json::from_str::<Vec<Reference>>(references)
        .is_ok_and(|references| references.iter().all(|reference| reference.r#type.is_none()))
}

/// Returns the text of the first reference, which may have none; the outer `None` means that they are unreadable.
fn first_text<'row>(references: &str) -> Option<Option<Text<'row>>> {
    let references: Vec<Value> = serde_json::from_str(references).ok()?;
    let text = references.first().and_then(reference_text);
    Some(text.map(|text| Text::Any(Cow::Owned(text.into_owned()))))
}

/// Turns an unreadable optional value into `None`.
fn transpose(value: Option<Option<Value>>) -> Option<Option<Value>> {
    value.map_or(Some(None), |value| value.map(Some))
}
