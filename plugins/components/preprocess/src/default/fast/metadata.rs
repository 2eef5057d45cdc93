//! The `metadata` of a Sample: that of the row, and all fields without their own place.

use super::answers::ResolvedAnswer;
use super::options::Options;
use crate::one_pass::field::Field;
use crate::one_pass::text::{Text, known_member, member, write_text};
use crate::sample::Origin;
use gage_sdk::serde_json;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// Writes the metadata; `None` if a generated value would replace one of the row.
pub(super) fn write(
    json: &mut String,
    own: Option<&Field<'_>>,
    others: &[(Text<'_>, &Field<'_>)],
    options: Option<&Options<'_>>,
    settled: &ResolvedAnswer<'_>,
    origin: Origin,
) -> Option<()> {
    let (own, names) = match own {
        Some(own) => (own.as_object()?, serde_json::from_str::<Names<'_>>(own.as_object()?).ok()?.0),
        None => ("{}", Vec::new()),
    };
    let is_own = |name: &str| names.iter().any(|own| own.as_str() == name);
    json.push_str(own.strip_suffix('}')?);
    if let Some(label) = settled.unused_label {
        if is_own("label") {
            return None;
        }
        known_member!(json, "label");
        label.write(json);
    }
    for (name, field) in others {
        if !is_own(name.as_str()) {
            member(json, name);
            field.write(json);
        }
    }
    // A Sample says itself what its options are.
    let is_new = |name: &str| {
        let is_there = is_own(name) || others.iter().any(|(other, _)| other.as_str() == name);
        if is_there && origin != Origin::Sample { None } else { Some(!is_there) }
    };
    let is_sample = origin == Origin::Sample;
    if let Some(options) = options
        && is_new("option_map")?
        && !is_sample
    {
        known_member!(json, "option_map");
        options.write_map(json);
    }
    if let Some(correct_choice) = &settled.correct_choice
        && is_new("correct_choice")?
        && !(is_sample && settled.label.as_ref().is_some_and(|label| label.as_str() == correct_choice))
    {
        known_member!(json, "correct_choice");
        write_text(json, correct_choice);
    }
    json.push('}');
    Some(())
}

/// The names of an object's members.
struct Names<'json>(Vec<Text<'json>>);

impl<'json> Deserialize<'json> for Names<'json> {
    fn deserialize<D: Deserializer<'json>>(deserializer: D) -> Result<Names<'json>, D::Error> {
        deserializer.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'json> Visitor<'json> for NamesVisitor {
    type Value = Names<'json>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'json>>(self, mut access: A) -> Result<Names<'json>, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = access.next_entry()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}
