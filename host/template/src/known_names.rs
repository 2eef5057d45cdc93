//! Check of the variables of a prompt against the names that exist.

use crate::name_uses::{NameUse, Need};
use gage_core::Object;
use serde_json::Value;
use std::collections::BTreeMap;

/// Key of a Sample that holds the row as read from the dataset. Only Samples of prompts that read `row` have it.
pub const ROW_KEY: &str = "_row";

/// Variables of every prompt.
pub(crate) const VARIABLES: [&str; 8] =
    ["sample", "row", "raw", "params", "payload", "history", "adapter_id", "role_type"];

/// Maximum number of names in a message.
const MAX_SHOWN_NAMES: usize = 20;

/// The fields of a value, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum KnownFields {
    /// Nothing is known; every field may exist.
    #[default]
    Any,
    /// The value is null.
    Null,
    /// The value is an object with these fields, and no others.
    Object(BTreeMap<String, KnownFields>),
}

impl KnownFields {
    /// Returns the fields of a value.
    pub fn of(value: &Value) -> KnownFields {
        match value {
            Value::Null => KnownFields::Null,
            Value::Object(members) => KnownFields::of_object(members),
            _ => KnownFields::Any,
        }
    }

    fn of_object(members: &Object) -> KnownFields {
        KnownFields::Object(
            members.iter().map(|(name, value)| (name.clone(), KnownFields::of(value))).collect(),
        )
    }

    /// Returns an object with these fields, whose values are not known.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> KnownFields {
        KnownFields::Object(names.into_iter().map(|name| (name.to_owned(), KnownFields::Any)).collect())
    }

    /// Returns the fields that one of two values has.
    pub fn union(self, other: KnownFields) -> KnownFields {
        match (self, other) {
            (KnownFields::Null, other) | (other, KnownFields::Null) => other,
            (KnownFields::Object(mut all), KnownFields::Object(further)) => {
                for (name, fields) in further {
                    let merged = match all.remove(&name) {
                        Some(known) => known.union(fields),
                        None => fields,
                    };
                    all.insert(name, merged);
                }
                KnownFields::Object(all)
            }
            _ => KnownFields::Any,
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            KnownFields::Object(known) => known.contains_key(name),
            KnownFields::Any | KnownFields::Null => false,
        }
    }
}

/// Names that exist while a prompt is rendered.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'n> {
    /// Fields of the rows; `None` if no row was read.
    pub row: Option<&'n KnownFields>,
    /// Fields of the Samples; `None` if none was made.
    pub sample: Option<&'n KnownFields>,
    /// Fields of the payload.
    pub payload: &'n KnownFields,
}

/// The reason why a variable cannot be used as it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameFault {
    pub(crate) text: String,
    /// False if Samples may be rendered nevertheless.
    pub(crate) is_error: bool,
}

/// A member that an object does not have.
struct Absence<'f> {
    /// Its place in the path.
    place: usize,
    /// The members of the object.
    known: &'f BTreeMap<String, KnownFields>,
}

impl KnownNames<'_> {
    /// Returns the reason why a variable is undefined, null or ambiguous, if it is. `params` are those of the prompt.
    pub(crate) fn fault_of(&self, name: &NameUse, params: &Object) -> Option<NameFault> {
        let error = |text: String| Some(NameFault { text, is_error: true });
        if let Some(text) = self.ambiguity_of(&name.root, params) {
            return error(text);
        }
        if name.need == Need::Checked {
            return None;
        }
        if let Some(text) = self.absence_of(name, params) {
            let is_error = match name.need {
                Need::Always => true,
                // These names are the same for all rows.
                Need::Sometimes => match (name.root.as_str(), name.path.first()) {
                    ("params", _) => true,
                    ("payload", first) => first.is_some_and(|first| first != "sample"),
                    _ => false,
                },
                Need::Tested | Need::Checked => false,
            };
            return Some(NameFault { text, is_error });
        }
        if name.is_written && self.is_null(name, params) {
            return error(format!(
                "`{}` has no text: the value is null in all of the first rows; check it with `is not none`, or give it \
                 a `default('…', true)`",
                shown(&name.root, &name.path)
            ));
        }
        None
    }

    /// Returns the problem of a plain name that is both a parameter and a field of the rows.
    fn ambiguity_of(&self, root: &str, params: &Object) -> Option<String> {
        let is_ambiguous = !VARIABLES.contains(&root)
            && params.contains_key(root)
            && self.row.is_some_and(|row| row.has(root));
        is_ambiguous.then(|| {
            format!(
                "`{root}` is both a parameter and a field of the rows; write `params.{root}` or `row.{root}`"
            )
        })
    }

    /// Returns the problem of a name that does not exist.
    fn absence_of(&self, name: &NameUse, params: &Object) -> Option<String> {
        let (root, path) = (name.root.as_str(), name.path.as_slice());
        let own = KnownFields::of_object(params);
        if !VARIABLES.contains(&root) {
            let (KnownFields::Object(row), KnownFields::Object(params)) = (self.row?, &own) else {
                return None;
            };
            let Some(fields) = params.get(root).or_else(|| row.get(root)) else {
                return Some(unknown_plain_name(root, params, row));
            };
            return find(fields, path).err().map(|absence| absence_text(root, path, &absence, None));
        }
        let fields = match root {
            "params" => &own,
            "payload" => self.payload,
            "row" | "raw" => self.row?,
            "sample" => self.sample?,
            _ => return None,
        };
        let absence = find(fields, path).err()?;
        let advice = match (root, absence.place, path.first()) {
            ("params", 0, _) => {
                Some("add it to the `params` of the prompt, or to `prompt_params` of the role".to_owned())
            }
            ("sample", 0, Some(member)) if self.row.is_some_and(|row| row.has(member)) => {
                Some(format!("write `row.{member}` for the field of the row"))
            }
            _ => None,
        };
        Some(absence_text(root, path, &absence, advice))
    }

    /// Returns whether a field of the rows is null in all of them.
    fn is_null(&self, name: &NameUse, params: &Object) -> bool {
        let plain: Vec<String>;
        let path = match name.root.as_str() {
            "row" | "raw" => &name.path,
            root if VARIABLES.contains(&root) || params.contains_key(root) => return false,
            root => {
                plain = std::iter::once(root.to_owned()).chain(name.path.iter().cloned()).collect();
                &plain
            }
        };
        let found = self.row.and_then(|row| find(row, path).ok().flatten());
        found.is_some_and(|fields| *fields == KnownFields::Null)
    }
}

/// Returns the fields at a path. `None` if they are not known.
fn find<'f>(fields: &'f KnownFields, path: &[String]) -> Result<Option<&'f KnownFields>, Absence<'f>> {
    let mut here = fields;
    for (place, member) in path.iter().enumerate() {
        let KnownFields::Object(known) = here else { return Ok(None) };
        here = known.get(member).ok_or(Absence { place, known })?;
    }
    Ok(Some(here))
}

/// Returns the message for a plain name that is neither a parameter nor a field of the rows.
fn unknown_plain_name(
    name: &str,
    params: &BTreeMap<String, KnownFields>,
    row: &BTreeMap<String, KnownFields>,
) -> String {
    let all = VARIABLES.iter().copied().map(str::to_owned);
    let of_params = params.keys().map(|name| format!("params.{name}"));
    let of_row = row.keys().map(|name| format!("row.{name}"));
    let known: Vec<String> = all.chain(of_params).chain(of_row).collect();
    let plain = known.iter().map(|known| known.rsplit('.').next().unwrap_or(known));
    match gage_core::nearest(name, plain.collect::<Vec<_>>()) {
        Some(nearest) => format!("there is no variable `{name}`; did you mean `{nearest}`?"),
        None => format!("there is no variable `{name}`; expected one of: {}", listed(known.iter())),
    }
}

/// Returns the message for a member that does not exist.
fn absence_text(root: &str, path: &[String], absence: &Absence<'_>, advice: Option<String>) -> String {
    let (holders, rest) = path.split_at(absence.place);
    let holder = shown(root, holders);
    let member = rest.first().map(String::as_str).unwrap_or_default();
    let nearest = gage_core::nearest(member, absence.known.keys().map(String::as_str));
    let hint = match (advice, nearest) {
        (Some(advice), _) => advice,
        (None, Some(nearest)) => format!("did you mean `{holder}.{nearest}`?"),
        (None, None) if absence.known.is_empty() => format!("`{holder}` is empty"),
        (None, None) => format!("`{holder}` has: {}", listed(absence.known.keys())),
    };
    format!("`{holder}.{member}` is undefined; {hint}")
}

/// Returns a variable as templates name it.
fn shown(root: &str, path: &[String]) -> String {
    std::iter::once(root).chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(".")
}

fn listed<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    let left_out = names.len().saturating_sub(MAX_SHOWN_NAMES);
    let shown: Vec<&str> = names.take(MAX_SHOWN_NAMES).map(String::as_str).collect();
    let rest = if left_out > 0 { format!(", and {left_out} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fault(root: &str, path: &[&str], need: Need) -> Option<(String, bool)> {
        let rows = [
            json!({"meta": {"level": 1}, "note": null, "both": 1}),
            json!({"meta": {"source": null}, "note": null}),
        ];
        let rows = rows.iter().map(KnownFields::of).reduce(KnownFields::union).unwrap_or_default();
        let output = KnownFields::named(["answer", "reasoning"]);
        let support = KnownFields::named([]);
        let payload = BTreeMap::from([("model_output".to_owned(), output), ("support".to_owned(), support)]);
        let payload = KnownFields::Object(payload);
        let names = KnownNames { row: Some(&rows), sample: None, payload: &payload };
        let name = NameUse {
            root: root.to_owned(),
            path: path.iter().map(|&member| member.to_owned()).collect(),
            line: None,
            need,
            is_written: need == Need::Always,
        };
        let params = Object::from_iter([("both".to_owned(), json!(2)), ("tone".to_owned(), json!("dry"))]);
        names.fault_of(&name, &params).map(|fault| (fault.text, fault.is_error))
    }

    #[test]
    fn members_are_checked_at_every_depth() {
        for (root, path, expected) in [
            ("row", &["meta", "rubric"][..], "`row.meta.rubric` is undefined; `row.meta` has: level, source"),
            ("meta", &["rubric"], "`meta.rubric` is undefined; `meta` has: level, source"),
            (
                "payload",
                &["model_output", "ansewr"],
                "`payload.model_output.ansewr` is undefined; did you mean `payload.model_output.answer`?",
            ),
            (
                "payload",
                &["model_output", "parsed", "value"],
                "`payload.model_output.parsed` is undefined; `payload.model_output` has: answer, reasoning",
            ),
            ("payload", &["support", "x"], "`payload.support.x` is undefined; `payload.support` is empty"),
            (
                "row",
                &["note"],
                "`row.note` has no text: the value is null in all of the first rows; check it with `is not none`, or give it a \
                 `default('…', true)`",
            ),
            (
                "both",
                &[],
                "`both` is both a parameter and a field of the rows; write `params.both` or `row.both`",
            ),
        ] {
            assert_eq!(fault(root, path, Need::Always), Some((expected.to_owned(), true)), "{root} {path:?}");
        }
        for (root, path) in [
            ("row", &["meta", "level"][..]),
            ("row", &["note", "x"]),
            ("payload", &["model_output", "reasoning", "x"]),
            ("sample", &["x"]),
            ("tone", &[]),
            ("history", &["x"]),
        ] {
            assert_eq!(fault(root, path, Need::Always), None, "{root} {path:?}");
        }
    }

    #[test]
    fn severity_depends_on_the_need() {
        for (root, path, need, is_error) in [
            ("row", &["x"][..], Need::Always, Some(true)),
            ("row", &["x"], Need::Sometimes, Some(false)),
            ("row", &["x"], Need::Tested, Some(false)),
            ("row", &["x"], Need::Checked, None),
            ("params", &["x"], Need::Sometimes, Some(true)),
            ("params", &["x"], Need::Tested, Some(false)),
            ("payload", &["model_output", "x"], Need::Sometimes, Some(true)),
            ("both", &[], Need::Checked, Some(true)),
            ("both", &[], Need::Tested, Some(true)),
        ] {
            let found = fault(root, path, need).map(|(_, is_error)| is_error);
            assert_eq!(found, is_error, "{root} {path:?} {need:?}");
        }
    }
}
