//! Fields that a filter names and that no row has: most likely slips, of which the filter itself says nothing.

use crate::filter::{Filter, find};
use serde_json::Value;

/// So many rows are looked at for the names of fields.
const ROWS: u64 = 100;
/// So many names are kept to be proposed.
const NAMES: usize = 200;
/// So many of them are shown where none is near.
const SHOWN: usize = 20;

/// A field that a filter names and that no row had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// The key of the dataset: `filter` or `exclude`.
    pub key: &'static str,
    /// The path, as it was written.
    pub path: String,
    /// How many rows were looked at.
    pub rows: u64,
    /// The field that was meant, most likely.
    pub nearest: Option<String>,
    /// Fields that there are.
    pub known: Vec<String>,
}

impl std::fmt::Display for MissingField {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MissingField { key, path, rows, nearest, known } = self;
        let effect = match *key {
            "exclude" => "it leaves out nothing",
            _ => "it keeps nothing",
        };
        let read = if *rows == 1 { "the one row".to_owned() } else { format!("none of the {rows} rows") };
        let has = if *rows == 1 { "that was read has no" } else { "that were read has a" };
        write!(formatter, "{read} {has} field `{path}`, which `{key}` names: {effect}")?;
        match nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None if known.is_empty() => Ok(()),
            None => {
                let more = if known.len() > SHOWN { ", …" } else { "" };
                let known: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
                write!(formatter, "; there are: {}{more}", known.join(", "))
            }
        }
    }
}

/// Watches out for the fields of a filter while rows go by.
#[derive(Debug)]
pub(crate) struct FieldWatch {
    /// Those that no row had until now. A filter for null also means rows without the field.
    unseen: Vec<(&'static str, String)>,
    names: Vec<String>,
    rows: u64,
}

impl FieldWatch {
    pub(crate) fn new(filter: &Filter) -> FieldWatch {
        let named = |key, conditions: &[(String, Vec<Value>)]| -> Vec<(&'static str, String)> {
            let named = conditions.iter().filter(|(_, values)| !values.contains(&Value::Null));
            named.map(|(path, _)| (key, path.clone())).collect()
        };
        let unseen = [named("filter", &filter.include), named("exclude", &filter.exclude)].concat();
        FieldWatch { unseen, names: Vec::new(), rows: 0 }
    }

    /// Looks at a row.
    pub(crate) fn look_at(&mut self, row: &Value) {
        if self.unseen.is_empty() {
            return;
        }
        self.rows += 1;
        self.unseen.retain(|(_, path)| find(row, path).is_none());
        if self.rows <= ROWS && !self.unseen.is_empty() {
            self.learn(row, "", 2);
        }
    }

    /// What no row had.
    pub(crate) fn missing(&self) -> Vec<MissingField> {
        if self.rows == 0 {
            return Vec::new();
        }
        let missing = self.unseen.iter().map(|(key, path)| MissingField {
            key,
            path: path.clone(),
            rows: self.rows,
            nearest: gage_core::nearest(path, self.names.iter().map(String::as_str)).map(str::to_owned),
            known: self.names.clone(),
        });
        missing.collect()
    }

    /// Keeps the names of a row's fields, and of those within them.
    fn learn(&mut self, value: &Value, before: &str, depth: u32) {
        let Value::Object(object) = value else { return };
        for (name, inner) in object {
            let path = format!("{before}{name}");
            if depth > 1 {
                self.learn(inner, &format!("{path}."), depth - 1);
            }
            if self.names.len() < NAMES && !self.names.contains(&path) {
                self.names.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_fields_that_no_row_has_are_missing_and_the_nearest_is_proposed() {
        let condition = |path: &str, value: Value| (path.to_owned(), vec![value]);
        let filter = Filter {
            include: vec![condition("level", json!(1)), condition("metadata.subjct", json!("law"))],
            exclude: vec![
                condition("flaged", json!(true)),
                condition("never", json!(null)),
                condition("q", json!(1)),
            ],
        };
        let mut watch = FieldWatch::new(&filter);
        assert_eq!(watch.missing(), [], "nothing was read");
        watch.look_at(&json!({"level": 1, "metadata": {"subject": "law"}}));
        watch.look_at(&json!({"flagged": false, "metadata": {}}));
        let said: Vec<String> = watch.missing().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "none of the 2 rows that were read has a field `metadata.subjct`, which `filter` names: it keeps nothing; did you mean `metadata.subject`?",
                "none of the 2 rows that were read has a field `flaged`, which `exclude` names: it leaves out nothing; did you mean `flagged`?",
                "none of the 2 rows that were read has a field `q`, which `exclude` names: it leaves out nothing; there are: level, metadata.subject, metadata, flagged",
            ]
        );
    }
}
