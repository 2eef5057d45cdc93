//! Fields of a filter that no row has, or whose values in the rows have other types than the filter expects. These
//! are most likely mistakes, which the filter itself does not report.

use crate::filter::{Filter, FilterCondition};
use crate::row_fields::RowFields;
use serde_json::Value;

/// Number of rows examined for the names of fields.
const ROWS: u64 = 100;
/// Number of names kept for suggestions.
const NAMES: usize = 200;
/// Number of names shown if none is similar.
const MAX_SHOWN_FIELDS: usize = 20;

/// A condition of a filter that no row could meet: no row had its field, or none had a value of the expected type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// Key of the dataset: `filter` or `exclude`.
    pub key: &'static str,
    /// Path, as written.
    pub path: String,
    /// Number of rows examined.
    pub rows: u64,
    /// Field that was most likely meant.
    pub nearest: Option<String>,
    /// Existing fields.
    pub known: Vec<String>,
    /// Types of the field if rows had it, and types that the filter expects.
    pub types: Option<OtherTypes>,
}

/// Types of values that cannot be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherTypes {
    /// Types in the rows, as in `a text`.
    pub found: Vec<&'static str>,
    /// Types in the filter.
    pub sought: Vec<&'static str>,
}

impl std::fmt::Display for MissingField {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MissingField { key, path, rows, nearest, known, types } = self;
        let effect = match *key {
            "exclude" => "it leaves out nothing",
            _ => "it keeps nothing",
        };
        if let Some(OtherTypes { found, sought }) = types {
            let (found, sought) = (found.join(" or "), sought.join(" or "));
            let read = if *rows == 1 {
                "the one row that was read has".to_owned()
            } else {
                format!("the rows that have it, of {rows} that were read, have")
            };
            let help = match (sought.as_str(), found.as_str()) {
                ("a number", "a text") => {
                    " (write it in quotes; a whole number beyond 64 bits is read as a text, too)"
                }
                _ => "",
            };
            return write!(
                formatter,
                "`{key}` looks for {sought} in the field `{path}`, but {read} {found} in it: {effect}; write \
                 the value as the rows do{help}"
            );
        }
        let read = if *rows == 1 { "the one row".to_owned() } else { format!("none of the {rows} rows") };
        let has = if *rows == 1 { "that was read has no" } else { "that were read has a" };
        write!(formatter, "{read} {has} field `{path}`, which `{key}` names: {effect}")?;
        match nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None if known.is_empty() => Ok(()),
            None => {
                let more = if known.len() > MAX_SHOWN_FIELDS { ", …" } else { "" };
                let known: Vec<&str> = known.iter().take(MAX_SHOWN_FIELDS).map(String::as_str).collect();
                write!(formatter, "; there are: {}{more}", known.join(", "))
            }
        }
    }
}

/// Watches the rows for the fields of a filter.
#[derive(Debug)]
pub(crate) struct FieldWatch {
    /// Conditions that no row could meet so far. A filter for null also matches rows without the field.
    unmet: Vec<UnmatchedCondition>,
    names: Vec<String>,
    rows: u64,
}

/// A condition that no row could meet so far.
#[derive(Debug)]
struct UnmatchedCondition {
    /// Number of the condition in the filter.
    number: usize,
    key: &'static str,
    path: String,
    sought: Vec<&'static str>,
    /// Types of the field in the rows; empty if no row had it.
    found: Vec<&'static str>,
}

fn add(types: &mut Vec<&'static str>, name: &'static str) {
    if !types.contains(&name) {
        types.push(name);
    }
}

impl FieldWatch {
    pub(crate) fn new(filter: &Filter) -> FieldWatch {
        let named = filter.conditions().filter(|condition| !condition.values.contains(&Value::Null));
        let unmet = named.map(|FilterCondition { number, key, path, values, .. }| {
            let mut sought = Vec::new();
            values.iter().for_each(|value| add(&mut sought, gage_core::kind_of(value)));
            UnmatchedCondition { number, key, path: path.to_owned(), sought, found: Vec::new() }
        });
        FieldWatch { unmet: unmet.collect(), names: Vec::new(), rows: 0 }
    }

    /// Observes a row.
    pub(crate) fn observe(&mut self, fields: &mut RowFields<'_>) {
        if self.unmet.is_empty() {
            return;
        }
        self.rows += 1;
        self.unmet.retain_mut(|unmet| {
            let found = fields.get(unmet.number, &unmet.path).filter(|field| !field.is_null());
            let Some(field) = found else { return true };
            add(&mut unmet.found, field.kind());
            !unmet.sought.contains(&field.kind())
        });
        if self.rows <= ROWS && !self.unmet.is_empty() {
            fields.add_names(&mut self.names, NAMES);
        }
    }

    /// Returns the conditions that no row could meet.
    pub(crate) fn missing(&self) -> Vec<MissingField> {
        if self.rows == 0 {
            return Vec::new();
        }
        let missing = self.unmet.iter().map(|UnmatchedCondition { key, path, sought, found, .. }| {
            // A field that is null in all rows exists as well.
            let is_there = !found.is_empty() || self.names.contains(path);
            let found = if found.is_empty() { vec!["null"] } else { found.clone() };
            let types = is_there.then(|| OtherTypes { found, sought: sought.clone() });
            let names = self.names.iter().map(String::as_str).filter(|_| !is_there);
            MissingField {
                key,
                path: path.clone(),
                rows: self.rows,
                nearest: gage_core::nearest(path, names).map(str::to_owned),
                known: self.names.clone(),
                types,
            }
        });
        missing.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn observe(watch: &mut FieldWatch, row: &Value) {
        watch.observe(&mut RowFields::new(&row.to_string()));
    }

    #[test]
    fn values_of_another_type_are_told() {
        let condition = |path: &str, values: &[Value]| (path.to_owned(), values.to_vec());
        let filter = Filter {
            include: vec![condition("level", &[json!("1"), json!(2)]), condition("list", &[json!("a")])],
            exclude: vec![condition("year", &[json!(2019)]), condition("id", &[json!("1")])],
        };
        let mut watch = FieldWatch::new(&filter);
        observe(&mut watch, &json!({"year": "2019", "id": 1, "level": 3, "list": null}));
        let said: Vec<String> = watch.missing().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`filter` looks for a text in the field `list`, but the one row that was read has null in it: it keeps nothing; write the value as the rows do",
                "`exclude` looks for a number in the field `year`, but the one row that was read has a text in it: it leaves out nothing; write the value as the rows do (write it in quotes; a whole number beyond 64 bits is read as a text, too)",
                "`exclude` looks for a text in the field `id`, but the one row that was read has a number in it: it leaves out nothing; write the value as the rows do",
            ]
        );
        observe(&mut watch, &json!({"year": 2019, "id": true, "list": "a"}));
        let types: Vec<_> = watch.missing().into_iter().filter_map(|missing| missing.types).collect();
        assert_eq!(types, [OtherTypes { found: vec!["a number", "a boolean"], sought: vec!["a text"] }]);
    }

    #[test]
    fn missing_fields_are_in_no_row_and_propose_the_nearest_name() {
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
        observe(&mut watch, &json!({"level": 1, "metadata": {"subject": "law"}}));
        observe(&mut watch, &json!({"flagged": false, "metadata": {}}));
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
