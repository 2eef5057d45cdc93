//! The options of a row, from `options` or `choices`.

use super::Fields;
use crate::one_pass::field::Field;
use crate::one_pass::text::{Text, known_member, member, write_text};
use crate::openai_choices::is_openai;
use crate::options::{self, Choice, Labels};
use crate::sample::Origin;
use crate::slots::is_standard;
use gage_sdk::serde_json;

/// Options as they were read.
pub(super) struct Options<'row> {
    pub(super) read: Vec<Choice>,
    /// Options that are passed on unchanged.
    standard: Option<&'row Field<'row>>,
}

/// Takes the options of a row. The inner value is `None` if it has no options, the outer one if the row needs the
/// ordinary path.
pub(super) fn take<'row>(fields: &mut Fields<'row>, origin: Origin) -> Option<Option<Options<'row>>> {
    let is_empty = |field: &Field<'_>| origin == Origin::Sample && field.as_list() == Some("[]");
    let given = fields.options.take().filter(|field| !is_empty(field));
    match (given, fields.choices.take()) {
        (None, None) => Some(None),
        (None, Some(choices)) => {
            let texts = choices.as_list().and_then(|list| serde_json::from_str::<Vec<Text<'_>>>(list).ok());
            let read = match texts {
                Some(texts) => options::lettered(texts.iter().map(Text::as_str))?,
                None => read_choices(choices)?,
            };
            Some(Some(Options { read, standard: None }))
        }
        (Some(given), None) => {
            let value = given.to_value()?;
            let read = options::read(&value, Labels::Own).ok()?;
            Some(Some(Options { read, standard: is_standard(&value).then_some(given) }))
        }
        (Some(_), Some(_)) => None,
    }
}

/// Reads choices that are not a plain list of texts.
fn read_choices(choices: &Field<'_>) -> Option<Vec<Choice>> {
    let value = choices.to_value().filter(|value| value.is_array() || value.is_object())?;
    if is_openai(&value) { None } else { options::read(&value, Labels::Letters).ok() }
}

impl Options<'_> {
    /// Writes the options in the Sample's format.
    pub(super) fn write(&self, json: &mut String) {
        if let Some(standard) = self.standard {
            return standard.write(json);
        }
        json.push('[');
        for (index, option) in self.read.iter().enumerate() {
            json.push_str(if index == 0 { "{" } else { ",{" });
            known_member!(json, "id");
            write_text(json, &option.label);
            known_member!(json, "content");
            write_text(json, &option.text);
            json.push('}');
        }
        json.push(']');
    }

    /// Writes the map from labels to texts.
    pub(super) fn write_map(&self, json: &mut String) {
        json.push('{');
        for option in &self.read {
            member(json, &Text::made(&option.label));
            write_text(json, &option.text);
        }
        json.push('}');
    }
}
