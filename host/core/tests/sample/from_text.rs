//! A text is read as its value is, however it is spelled and whatever is wrong with it.

use crate::generated;
use gage_core::{FieldError, Sample};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use std::sync::Arc;

/// Spells a value as no careful writer would: with white space, escapes in keys, and members that
/// occur twice. Each choice is one of some numbers.
struct Speller<'c> {
    choices: std::iter::Cycle<std::slice::Iter<'c, u8>>,
    other: &'c Value,
}

impl Speller<'_> {
    /// Whether to do what is done once in so many times.
    fn once_in(&mut self, times: u8) -> bool {
        self.choices.next().is_some_and(|choice| choice % times == 0)
    }

    fn value(&mut self, value: &Value, text: &mut String) {
        if self.once_in(7) {
            text.push_str("\n ");
        }
        match value {
            Value::Object(members) => {
                text.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    text.push_str(if index > 0 { "," } else { "" });
                    if self.once_in(13) {
                        let earlier = match (self.once_in(2), self.once_in(2)) {
                            (true, true) => &Value::Null,
                            (true, false) => value,
                            (false, _) => self.other,
                        };
                        text.push_str(&format!("{}:{earlier},", Value::from(key.as_str())));
                    }
                    self.member(key, value, text);
                }
                text.push('}');
            }
            Value::Array(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    text.push_str(if index > 0 { " ," } else { "" });
                    self.value(item, text);
                }
                text.push(']');
            }
            other => text.push_str(&other.to_string()),
        }
    }

    fn member(&mut self, key: &str, value: &Value, text: &mut String) {
        match key.chars().next() {
            Some(first) if self.once_in(11) => {
                let rest = Value::from(&key[first.len_utf8()..]).to_string();
                text.push_str(&format!("\"\\u{:04x}{}", u32::from(first), &rest[1..]));
            }
            _ => text.push_str(&Value::from(key).to_string()),
        }
        text.push(':');
        self.value(value, text);
    }
}

fn values() -> impl Strategy<Value = Value> {
    let identified = generated::sample().prop_map(|mut sample| {
        sample["id"] = json!("q1");
        sample
    });
    prop_oneof![2 => identified, 1 => generated::sample(), 2 => generated::damaged(), 1 => generated::any_json()]
}

/// What reading the text as a value comes to.
fn by_way_of_a_value(text: &str) -> Result<Sample, Vec<FieldError>> {
    match serde_json::from_str(text) {
        Ok(value) => Sample::from_value(value),
        Err(error) => Err(vec![FieldError {
            pointer: String::new(),
            message: format!("the Sample is not JSON: {error}"),
        }]),
    }
}

/// Both must be the same down to the order of members, which `==` of objects does not see.
fn is_read_as_its_value(text: &str) -> Result<(), TestCaseError> {
    let (read, expected) = (Sample::from_text(text).map(Arc::unwrap_or_clone), by_way_of_a_value(text));
    prop_assert_eq!(format!("{:?}", read), format!("{:?}", expected));
    prop_assert_eq!(read, expected);
    Ok(())
}

proptest! {
    #[test]
    fn a_text_is_read_as_its_value(value in values()) {
        is_read_as_its_value(&value.to_string())?;
    }

    #[test]
    fn an_odd_spelling_is_read_as_its_value(
        value in values(),
        other in generated::any_json(),
        choices in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut text = String::new();
        Speller { choices: choices.iter().cycle(), other: &other }.value(&value, &mut text);
        is_read_as_its_value(&text)?;
    }

    #[test]
    fn a_damaged_text_is_read_as_its_value(
        value in values(),
        place in any::<Index>(),
        length in 0_usize..3,
        other in select(vec!["", "\"", "{", "}", "[", "]", ",", ":", "\\", "null", "1e999", "\\ud800", "-0.0", "\u{0}"]),
    ) {
        let text = value.to_string();
        let starts: Vec<usize> = text.char_indices().map(|(start, _)| start).chain([text.len()]).collect();
        let first = place.index(starts.len());
        let end = starts[(first + length).min(starts.len() - 1)];
        is_read_as_its_value(&format!("{}{other}{}", &text[..starts[first]], &text[end..]))?;
    }
}

#[test]
fn what_is_no_json_is_one_problem_of_the_document() {
    let problems = Sample::from_text(r#"{"id":"#).expect_err("refused");
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["the document: the Sample is not JSON: EOF while parsing a value at line 1 column 6"]);
}

#[test]
fn nesting_ends_where_it_ends_for_a_value() {
    for depth in 120..135 {
        let text = format!(
            r#"{{"schema_version":"v1","id":"a","messages":[],"references":[],"x":{}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        );
        is_read_as_its_value(&text).expect("the same");
    }
}
