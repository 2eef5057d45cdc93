//! Targets of a ranked list.

use crate::PluginError;
use crate::text::text_of;
use crate::value::number_to_json;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Keys that may hold the text of an object, followed by the keys for the grade of a target.
const TEXT_KEYS: [&str; 3] = ["text", "id", "label"];
const GRADE_KEYS: [&str; 3] = ["grade", "relevance", "gain"];

/// Name that identifies a candidate or target: one text, or the spellings of a boolean.
pub(super) enum Name {
    Text(String),
    Boolean(bool),
}

impl Name {
    fn spellings(self) -> Vec<String> {
        match self {
            Name::Text(text) => vec![text],
            Name::Boolean(true) => ["true", "True", "TRUE"].map(str::to_owned).to_vec(),
            Name::Boolean(false) => ["false", "False", "FALSE"].map(str::to_owned).to_vec(),
        }
    }
}

/// Returns the name of a value; for an object, the name under a key. `None` if there is no name to match.
pub(super) fn text_under(value: &Value, key: Option<&str>) -> Option<Name> {
    let value = match value {
        Value::Object(object) => match key {
            Some(key) => object.get(key)?,
            None => TEXT_KEYS.iter().find_map(|key| object.get(*key))?,
        },
        other => other,
    };
    match value {
        Value::Null => None,
        Value::Bool(boolean) => Some(Name::Boolean(*boolean)),
        Value::Number(number) if number.is_f64() => {
            Some(Name::Text(number_to_json(number.as_f64()?).to_string()))
        }
        other => Some(Name::Text(text_of(other))),
    }
}

/// Targets of a sample with their grades, or 1 if they have none.
pub(super) struct Targets {
    by_text: HashMap<String, (usize, f64)>,
    grades: Vec<f64>,
    is_graded: bool,
}

impl Targets {
    /// Reads a text, a list of texts or of objects, or an object of grades.
    pub(super) fn read(value: &Value) -> Result<Targets, PluginError> {
        let mut targets = Targets { by_text: HashMap::new(), grades: Vec::new(), is_graded: false };
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| targets.add_item(item))?,
            Value::Object(object) if !object.is_empty() && object.values().all(Value::is_number) => {
                // A single target may be `{"id": 7}`.
                match object.keys().all(|key| TEXT_KEYS.contains(&key.as_str())) {
                    true => targets.add_item(value)?,
                    false => object
                        .iter()
                        .try_for_each(|(text, grade)| targets.add(Name::Text(text.clone()), Some(grade)))?,
                }
            }
            single => targets.add_item(single)?,
        }
        Ok(targets)
    }

    fn add_item(&mut self, item: &Value) -> Result<(), PluginError> {
        let grade = GRADE_KEYS.iter().find_map(|key| item.get(*key));
        match text_under(item, None) {
            Some(name) => self.add(name, grade),
            // An object without any of the keys is represented by its JSON.
            None if item.is_object() => self.add(Name::Text(item.to_string()), None),
            None => Ok(()),
        }
    }

    fn add(&mut self, name: Name, grade: Option<&Value>) -> Result<(), PluginError> {
        self.is_graded |= grade.is_some();
        let number = match grade {
            None => 1.0,
            Some(grade) => grade.as_f64().filter(|grade| *grade >= 0.0).ok_or_else(|| {
                PluginError::invalid_input(format!(
                    "the grade of a target must be a number from 0 up, not {grade}"
                ))
            })?,
        };
        let place = self.grades.len();
        let mut is_new = false;
        for text in name.spellings() {
            // A repeated target has its first grade.
            self.by_text.entry(text).or_insert_with(|| {
                is_new = true;
                (place, number)
            });
        }
        if is_new {
            self.grades.push(number);
        }
        Ok(())
    }

    /// Returns the grade of each candidate: 0 if it is not a target or occurred earlier.
    pub(super) fn grades_of(&self, candidates: impl Iterator<Item = Option<Name>>) -> Vec<f64> {
        let mut seen = HashSet::new();
        candidates
            .map(|candidate| {
                let mut spellings = candidate.map(Name::spellings).into_iter().flatten();
                let found = spellings.find_map(|text| self.by_text.get(&text));
                found.filter(|(place, _)| seen.insert(*place)).map_or(0.0, |(_, grade)| *grade)
            })
            .collect()
    }

    /// Returns the grades of the ideal order, if the targets have grades.
    pub(super) fn ideal(&self) -> Option<Vec<f64>> {
        let mut ideal: Vec<f64> = self.grades.iter().copied().filter(|grade| *grade > 0.0).collect();
        ideal.sort_by(|left, right| right.total_cmp(left));
        self.is_graded.then_some(ideal)
    }

    /// Returns whether there are no targets.
    pub(super) fn is_empty(&self) -> bool {
        !self.grades.iter().any(|grade| *grade > 0.0)
    }
}
