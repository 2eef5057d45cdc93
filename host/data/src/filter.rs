//! Row filter by the values of fields.

use crate::row_fields::{RowField, RowFields};
use serde_json::{Number, Value};

/// Conditions on fields. A row is kept if all of `include` hold and none of `exclude`. The empty filter, which is the
/// default, keeps every row.
///
/// A condition is a path and its accepted values. A path consists of names separated by dots, and list indexes from
/// 0; a name that itself contains dots takes precedence. Numbers are compared by value (`1` and `1.0` are equal),
/// texts exactly, and null also matches a missing field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// A row must have one of the values, at each of these paths.
    pub include: Vec<(String, Vec<Value>)>,
    /// A row must have none of the values, at any of these paths.
    pub exclude: Vec<(String, Vec<Value>)>,
}

impl Filter {
    /// Returns whether the filter keeps every row.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Returns whether a row is kept. Reads only the fields that decide it.
    pub(crate) fn keeps(&self, fields: &mut RowFields<'_>) -> bool {
        self.conditions().all(|FilterCondition { number, path, values, must_hold, .. }| {
            let found = fields.get(number, path);
            values.iter().any(|value| is_sought(found, value)) == must_hold
        })
    }

    /// Returns all conditions.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = FilterCondition<'_>> {
        let include = self.include.iter().map(|condition| ("filter", condition, true));
        let exclude = self.exclude.iter().map(|condition| ("exclude", condition, false));
        include.chain(exclude).enumerate().map(|(number, (key, (path, values), must_hold))| FilterCondition {
            number,
            key,
            path,
            values,
            must_hold,
        })
    }
}

/// A condition on a field.
pub(crate) struct FilterCondition<'f> {
    /// Number of the condition, counted from 0.
    pub(crate) number: usize,
    /// Key of the dataset: `filter` or `exclude`.
    pub(crate) key: &'static str,
    pub(crate) path: &'f str,
    pub(crate) values: &'f [Value],
    /// True if a row is kept only if it has one of the values; false if only without them.
    must_hold: bool,
}

fn is_sought(found: Option<&RowField>, value: &Value) -> bool {
    match found {
        None => value.is_null(),
        Some(RowField::Value(found)) => is_same(found, value),
        Some(RowField::Large(_)) => false,
    }
}

fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => is_same_number(one, two),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len()
                && one.iter().all(|(key, value)| two.get(key).is_some_and(|other| is_same(value, other)))
        }
        _ => one == two,
    }
}

fn is_same_number(one: &Number, two: &Number) -> bool {
    match (whole(one), whole(two)) {
        (Some(one), Some(two)) => one == two,
        (None, None) => one.as_f64() == two.as_f64(),
        _ => false,
    }
}

/// Returns the number as an integer, if it is one that fits.
fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i128() {
        return Some(number);
    }
    // Powers of two are exact as floats.
    const BOUND: f64 = (1_u128 << 100) as f64;
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < BOUND).then_some(float as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keeps(filter: &Filter, row: &Value) -> bool {
        filter.keeps(&mut RowFields::new(&row.to_string()))
    }

    #[test]
    fn a_condition_holds_where_the_value_is_one_of_those_sought() {
        let row = json!({"n": 1, "f": 0.5, "s": "1", "z": null, "a.b": 2, "a": {"b": 3, "c.d": {"e": 4}},
            "l": [{"x": true}, [7, 8]], "big": 9_007_199_254_740_993_u64});
        for (path, value, holds) in [
            ("n", json!(1.0), true),
            ("n", json!(true), false),
            ("n", json!("1"), false),
            ("s", json!("1"), true),
            ("s", json!(1), false),
            ("f", json!(0.5), true),
            ("z", json!(null), true),
            ("missing", json!(null), true),
            ("n", json!(null), false),
            ("a.b", json!(2), true),
            ("a.b", json!(3), false),
            ("a.c.d.e", json!(4), true),
            ("l.0.x", json!(true), true),
            ("l.1.1", json!(8), true),
            ("l.1", json!([7.0, 8]), true),
            ("l.2", json!(null), true),
            ("l.-1", json!(null), true),
            ("a.c.d", json!({"e": 4.0}), true),
            // As floats, these two would be equal.
            ("big", json!(9_007_199_254_740_992_u64), false),
            ("big", json!(9_007_199_254_740_993_u64), true),
        ] {
            let include = Filter {
                include: vec![(path.to_owned(), vec![json!("no"), value.clone()])],
                exclude: vec![],
            };
            let exclude = Filter { include: vec![], exclude: include.include.clone() };
            assert_eq!(keeps(&include, &row), holds, "{path} {value}");
            assert_eq!(keeps(&exclude, &row), !holds, "{path} {value}");
        }
        assert!(keeps(&Filter::default(), &row) && Filter::default().is_empty());
    }

    #[test]
    fn all_of_include_and_none_of_exclude() {
        let filter = Filter {
            include: vec![("a".into(), vec![json!(1), json!(2)]), ("b".into(), vec![json!("x")])],
            exclude: vec![("c".into(), vec![json!(0)]), ("d".into(), vec![json!(0)])],
        };
        assert!(keeps(&filter, &json!({"a": 2, "b": "x"})));
        assert!(!keeps(&filter, &json!({"a": 3, "b": "x"})));
        assert!(!keeps(&filter, &json!({"a": 1, "b": "y"})));
        assert!(!keeps(&filter, &json!({"a": 1, "b": "x", "d": 0})));
    }
}
