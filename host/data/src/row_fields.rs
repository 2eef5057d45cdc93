//! Fields of a row, read from its text. The row itself is never built: what a filter does not name takes no memory.

use gage_core::kind_of;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt::{Formatter, Result as FormatResult};

/// Maximum number of JSON values in a field that is compared.
const MAX_FIELD_VALUES: usize = 10_000;
/// Maximum nesting depth of a field that is compared.
const MAX_FIELD_DEPTH: usize = 64;

/// Maximum length of a field's name that is kept for suggestions, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RowField {
    /// Its value.
    Value(Value),
    /// A list or an object with more values, or more levels, than a filter can name. Only its kind is known.
    Large(&'static str),
}

impl RowField {
    /// Returns whether the field is null.
    pub(crate) fn is_null(&self) -> bool {
        *self == RowField::Value(Value::Null)
    }

    /// Returns the kind of its value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            RowField::Value(value) => kind_of(value),
            RowField::Large(kind) => kind,
        }
    }
}

/// The fields of a row, each read when it is first needed.
pub(crate) struct RowFields<'r> {
    row: &'r str,
    /// Fields by the number of their condition.
    found: Vec<Option<Option<RowField>>>,
}

impl<'r> RowFields<'r> {
    /// Creates the fields of a row, whose text must be a JSON object.
    pub(crate) fn new(row: &'r str) -> RowFields<'r> {
        RowFields { row, found: Vec::new() }
    }

    /// Returns the field at the path of a condition, which always has the same number.
    pub(crate) fn get(&mut self, number: usize, path: &str) -> Option<&RowField> {
        if self.found.len() <= number {
            self.found.resize(number + 1, None);
        }
        let row = self.row;
        self.found.get_mut(number)?.get_or_insert_with(|| field_of(row, path)).as_ref()
    }

    /// Adds the names of the row's fields, and of their inner fields, to a list of at most `most` names.
    pub(crate) fn add_names(&self, names: &mut Vec<String>, most: usize) {
        let seed = NamesSeed { names, most, before: "", levels: 2 };
        // The text was checked before.
        let _ = seed.deserialize(&mut serde_json::Deserializer::from_str(self.row));
    }
}

/// Returns the field at a path. If its dots can be read in several ways, the longest name wins. If several members have the
/// same name, the last counts.
fn field_of(row: &str, path: &str) -> Option<RowField> {
    PathSeed { path }.deserialize(&mut serde_json::Deserializer::from_str(row)).ok().flatten()
}

/// Skips the rest of a list.
fn skip_items<'de, A: SeqAccess<'de>>(items: &mut A) -> Result<(), A::Error> {
    while items.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Skips the rest of an object.
fn skip_members<'de, A: MapAccess<'de>>(members: &mut A) -> Result<(), A::Error> {
    while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Reads the value at a path below a value.
struct PathSeed<'p> {
    path: &'p str,
}

impl<'de> DeserializeSeed<'de> for PathSeed<'_> {
    type Value = Option<RowField>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<RowField>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PathSeed<'_> {
    type Value = Option<RowField>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<RowField>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<RowField>, A::Error> {
        let (index, rest) =
            self.path.split_once('.').map_or((self.path, None), |(index, rest)| (index, Some(rest)));
        let Ok(index) = index.parse::<usize>() else {
            skip_items(&mut items)?;
            return Ok(None);
        };
        for _ in 0..index {
            if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = items.next_element_seed(RestSeed { rest })?.flatten();
        skip_items(&mut items)?;
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<RowField>, A::Error> {
        // The ways to split the path into a name and the rest, the longest name first.
        let dots = self.path.char_indices().rev().filter(|(_, character)| *character == '.');
        let splits = dots.filter_map(|(dot, _)| Some((self.path.get(..dot)?, self.path.get(dot + 1..))));
        let splits: Vec<(&str, Option<&str>)> = std::iter::once((self.path, None)).chain(splits).collect();
        let mut found: Vec<Option<RowField>> = vec![None; splits.len()];
        while let Some(place) = members.next_key_seed(NameSeed { splits: &splits })? {
            let Some(place) = place else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let rest = splits.get(place).and_then(|(_, rest)| *rest);
            let value = members.next_value_seed(RestSeed { rest })?;
            if let Some(field) = found.get_mut(place) {
                *field = value;
            }
        }
        Ok(found.into_iter().flatten().next())
    }
}

/// Reads the value at the rest of a path; the whole value if there is no rest.
struct RestSeed<'p> {
    rest: Option<&'p str>,
}

impl<'de> DeserializeSeed<'de> for RestSeed<'_> {
    type Value = Option<RowField>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<RowField>, D::Error> {
        match self.rest {
            Some(path) => PathSeed { path }.deserialize(deserializer),
            None => {
                let left = Cell::new(MAX_FIELD_VALUES);
                FieldSeed { left: &left, levels: MAX_FIELD_DEPTH }.deserialize(deserializer).map(Some)
            }
        }
    }
}

/// Compares a key with the names of a path, without keeping it. Returns the position of its name.
struct NameSeed<'s, 'p> {
    splits: &'s [(&'p str, Option<&'p str>)],
}

impl<'de> DeserializeSeed<'de> for NameSeed<'_, '_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameSeed<'_, '_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.splits.iter().position(|(name, _)| *name == key))
    }
}

/// Builds a value with a limited number of values and levels.
struct FieldSeed<'b> {
    /// Number of values that may still be built.
    left: &'b Cell<usize>,
    levels: usize,
}

impl FieldSeed<'_> {
    /// Counts a value, which is dropped if there are too many.
    fn count(&self, value: Value) -> RowField {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                RowField::Value(value)
            }
            None => RowField::Large(kind_of(&value)),
        }
    }

    /// Returns the seed of an inner value, if the field is not too large yet.
    fn inner(&self) -> Option<FieldSeed<'_>> {
        let levels = self.levels.checked_sub(1)?;
        (self.left.get() > 0).then_some(FieldSeed { left: self.left, levels })
    }
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = RowField;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RowField, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldSeed<'_> {
    type Value = RowField;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<RowField, E> {
        Ok(self.count(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<RowField, E> {
        Ok(self.count(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RowField, E> {
        Ok(self.count(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RowField, E> {
        Ok(self.count(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<RowField, E> {
        Ok(self.count(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<RowField, E> {
        Ok(self.count(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RowField, A::Error> {
        let mut list = Vec::new();
        while let Some(seed) = self.inner() {
            match items.next_element_seed(seed)? {
                Some(RowField::Value(item)) => list.push(item),
                Some(RowField::Large(_)) => break,
                None => return Ok(self.count(Value::Array(list))),
            }
        }
        skip_items(&mut items)?;
        Ok(RowField::Large(kind_of(&Value::Array(Vec::new()))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<RowField, A::Error> {
        let mut object = Map::new();
        while let Some(seed) = self.inner() {
            let Some(key) = members.next_key::<String>()? else {
                return Ok(self.count(Value::Object(object)));
            };
            match members.next_value_seed(seed)? {
                RowField::Value(value) => drop(object.insert(key, value)),
                RowField::Large(_) => break,
            }
        }
        skip_members(&mut members)?;
        Ok(RowField::Large(kind_of(&Value::Object(Map::new()))))
    }
}

/// Collects the names of fields.
struct NamesSeed<'n> {
    names: &'n mut Vec<String>,
    most: usize,
    /// Path of the object, with a dot behind it.
    before: &'n str,
    /// Number of levels of objects whose names are collected.
    levels: u32,
}

impl<'de> DeserializeSeed<'de> for NamesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NamesSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        skip_items(&mut items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let NamesSeed { names, most, before, levels } = self;
        while names.len() < most {
            let Some(name) = members.next_key::<String>()? else { return Ok(()) };
            let path = format!("{before}{name}");
            if path.len() > MAX_NAME_BYTES {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            match levels {
                0 | 1 => drop(members.next_value::<IgnoredAny>()?),
                _ => {
                    let before = format!("{path}.");
                    let seed = NamesSeed { names: &mut *names, most, before: &before, levels: levels - 1 };
                    members.next_value_seed(seed)?;
                }
            }
            if names.len() < most && !names.contains(&path) {
                names.push(path);
            }
        }
        skip_members(&mut members)
    }
}

#[cfg(test)]
mod tests;
