//! Members of a Sample that follow from its options and its label.
//!
//! | member | value |
//! | --- | --- |
//! | `choices`, if it is `"options"` | each option as a message of the assistant |
//! | `metadata.option_map` | the texts of the options by their ids |
//! | `metadata.correct_choice` | the label, if it is the id of an option and the only reference |
//!
//! Preprocessors need not write the metadata, and write `"choices": "options"`; so do records. Paths, templates and plugins
//! find these members like any other. A row may still give other values, which then count.

use super::{ChoiceOption, Reference, Sample};
use crate::Object;
use crate::content::ContentPart;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Key of the texts of the options by their ids, in `metadata`.
pub(crate) const OPTION_MAP: &str = "option_map";
/// Key of the id of the right option, in `metadata`.
pub(crate) const CORRECT_CHOICE: &str = "correct_choice";

/// Value of `choices` that represents the options.
pub(crate) const OF_OPTIONS: &str = "options";

/// Structured candidates of a Sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Choices {
    /// There are none.
    #[default]
    None,
    /// The options as messages of the assistant.
    OfOptions,
    /// Other candidates.
    Listed(Vec<Value>),
}

/// Options as messages of the assistant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DerivedChoices<'s>(pub(crate) &'s [ChoiceOption]);

impl Serialize for DerivedChoices<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (index, option) in self.0.iter().enumerate() {
            list.serialize_element(&choice(index, &option.content))?;
        }
        list.end()
    }
}

/// Returns an option as a message of the assistant.
pub(super) fn choice(index: usize, text: &str) -> Value {
    json!({
        "index": index,
        "message": { "role": "assistant", "content": [{ "type": "text", "text": text }] },
    })
}

/// The texts of options by their ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionTexts<'s>(&'s [ChoiceOption]);

impl Serialize for OptionTexts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|option| (&option.id, &option.content)))
    }
}

/// A member of the metadata that follows from other members.
pub(crate) enum DerivedMetadata<'s> {
    OptionTexts(OptionTexts<'s>),
    CorrectChoice(&'s str),
}

/// The metadata of a Sample: its own, and then what follows from other members.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetadataMember<'s> {
    pub(crate) own: &'s Object,
    /// Empty if the map is among its own.
    options: &'s [ChoiceOption],
    /// `None` if it is among its own.
    correct_choice: Option<&'s str>,
}

impl<'s> MetadataMember<'s> {
    pub(crate) fn of(sample: &'s Sample) -> MetadataMember<'s> {
        let own = &sample.metadata;
        MetadataMember {
            own,
            options: if own.contains_key(OPTION_MAP) { &[] } else { &sample.options },
            correct_choice: correct_choice(sample).filter(|_| !own.contains_key(CORRECT_CHOICE)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.options.is_empty() && self.correct_choice.is_none()
    }

    /// Calls `visit` with the key and the text of each text, number and truth value.
    pub(crate) fn visit_scalars(&self, mut visit: impl FnMut(&str, &str)) {
        visit_scalars(self.own, &mut visit);
        if let Some(correct_choice) = self.correct_choice {
            visit(CORRECT_CHOICE, correct_choice);
        }
    }

    /// Returns a member that is not among its own.
    pub(crate) fn derived(&self, key: &str) -> Option<DerivedMetadata<'s>> {
        match key {
            OPTION_MAP if !self.options.is_empty() => {
                Some(DerivedMetadata::OptionTexts(OptionTexts(self.options)))
            }
            CORRECT_CHOICE => self.correct_choice.map(DerivedMetadata::CorrectChoice),
            _ => None,
        }
    }
}

impl Serialize for MetadataMember<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.own {
            map.serialize_entry(key, value)?;
        }
        if !self.options.is_empty() {
            map.serialize_entry(OPTION_MAP, &OptionTexts(self.options))?;
        }
        if let Some(correct_choice) = self.correct_choice {
            map.serialize_entry(CORRECT_CHOICE, correct_choice)?;
        }
        map.end()
    }
}

/// Calls `visit` with the key and the text of each member that is a text, a number or a truth value.
pub(crate) fn visit_scalars(object: &Object, visit: &mut impl FnMut(&str, &str)) {
    for (key, value) in object {
        match value {
            Value::String(text) => visit(key, text),
            Value::Number(_) | Value::Bool(_) => visit(key, &value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => {}
        }
    }
}

/// Returns the label, if it is the id of an option and the only reference.
fn correct_choice(sample: &Sample) -> Option<&str> {
    let label = sample.label.as_deref()?;
    let is_option = sample.options.iter().any(|option| option.id == label);
    let [reference] = sample.references.as_slice() else { return None };
    (is_option && is_text(reference, label)).then_some(label)
}

/// Returns whether the label implies the references of a Sample: they are a single text, which is the label.
pub(crate) fn are_references_implied(sample: &Sample) -> bool {
    match (sample.references.as_slice(), &sample.label) {
        ([], None) => true,
        ([reference], Some(label)) => {
            is_text(reference, label) && reference.meta.is_empty() && reference.extra.is_empty()
        }
        _ => false,
    }
}

fn is_text(reference: &Reference, text: &str) -> bool {
    match reference.answer.as_slice() {
        [ContentPart::Text { text: answer, extra }] => answer == text && extra.is_empty(),
        _ => false,
    }
}

/// Drops members that say what follows from the options and the label anyway.
pub(super) fn drop_implied(sample: &mut Sample) {
    sample.choices = match std::mem::take(&mut sample.choices) {
        Choices::Listed(choices) if choices.is_empty() => Choices::None,
        Choices::Listed(choices) if are_choices_of(&choices, &sample.options) => Choices::OfOptions,
        Choices::OfOptions if sample.options.is_empty() => Choices::None,
        choices => choices,
    };
    if let Some(Value::Object(map)) = sample.metadata.get(OPTION_MAP)
        && is_map_of(map, &sample.options)
    {
        sample.metadata.shift_remove(OPTION_MAP);
    }
    if let Some(Value::String(choice)) = sample.metadata.get(CORRECT_CHOICE)
        && correct_choice(sample) == Some(choice)
    {
        sample.metadata.shift_remove(CORRECT_CHOICE);
    }
}

fn are_choices_of(choices: &[Value], options: &[ChoiceOption]) -> bool {
    let expected = options.iter().enumerate().map(|(index, option)| choice(index, &option.content));
    choices.len() == options.len() && choices.iter().zip(expected).all(|(found, expected)| *found == expected)
}

fn is_map_of(map: &Object, options: &[ChoiceOption]) -> bool {
    let texts = options.iter().map(|option| (option.id.as_str(), option.content.as_str()));
    map.len() == options.len()
        && map.iter().zip(texts).all(|((id, text), (own_id, own_text))| id == own_id && text == own_text)
}
