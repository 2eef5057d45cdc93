//! Row filter by the values of fields.

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

    /// Returns whether a row is kept.
    pub fn keeps(&self, row: &Value) -> bool {
        let holds = |(path, values): &(String, Vec<Value>)| {
            let found = find(row, path).unwrap_or(&Value::Null);
            values.iter().any(|value| is_same(found, value))
        };
        self.include.iter().all(holds) && !self.exclude.iter().any(holds)
    }
}

/// Returns the value at a path. If its dots can be read in several ways, the longest name wins.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(path).or_else(|| {
            let dots = path.char_indices().rev().filter(|(_, character)| *character == '.');
            dots.filter_map(|(dot, _)| Some((path.get(..dot)?, path.get(dot + 1..)?)))
                .find_map(|(name, rest)| find(object.get(name)?, rest))
        }),
        Value::Array(items) => {
            let (index, rest) =
                path.split_once('.').map_or((path, None), |(index, rest)| (index, Some(rest)));
            let item = items.get(index.parse::<usize>().ok()?)?;
            rest.map_or(Some(item), |rest| find(item, rest))
        }
        _ => None,
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
            assert_eq!(include.keeps(&row), holds, "{path} {value}");
            assert_eq!(exclude.keeps(&row), !holds, "{path} {value}");
        }
        assert!(Filter::default().keeps(&row) && Filter::default().is_empty());
    }

    #[test]
    fn all_of_include_and_none_of_exclude() {
        let filter = Filter {
            include: vec![("a".into(), vec![json!(1), json!(2)]), ("b".into(), vec![json!("x")])],
            exclude: vec![("c".into(), vec![json!(0)]), ("d".into(), vec![json!(0)])],
        };
        assert!(filter.keeps(&json!({"a": 2, "b": "x"})));
        assert!(!filter.keeps(&json!({"a": 3, "b": "x"})));
        assert!(!filter.keeps(&json!({"a": 1, "b": "y"})));
        assert!(!filter.keeps(&json!({"a": 1, "b": "x", "d": 0})));
    }
}
