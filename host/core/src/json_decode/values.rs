//! Number of values in JSON text.
//!
//! A value of two bytes takes up to 300 bytes in a tree, so a limit on bytes does not limit the memory of a tree.

use serde::de::{Deserialize, Error as _};
use serde_json::{Error, Result, Value};

/// Maximum number of values in JSON text whose size has no limit that a user can raise. Their tree takes at most 20 MB.
pub const DEFAULT_MAX_JSON_VALUES: usize = 1 << 16;

/// Minimum average size of a value in JSON text. A tree then takes at most five times as much memory as the largest text.
const MIN_BYTES_PER_VALUE: usize = 64;

/// Returns the maximum number of values in JSON text of at most `max_bytes`: one for each 64 bytes, and at least
/// [`DEFAULT_MAX_JSON_VALUES`].
pub const fn max_json_values(max_bytes: usize) -> usize {
    let count = max_bytes / MIN_BYTES_PER_VALUE;
    if count > DEFAULT_MAX_JSON_VALUES { count } else { DEFAULT_MAX_JSON_VALUES }
}

/// Parses JSON text with at most `max_values` values. The count takes no memory, and little time: short texts are not
/// counted.
///
/// # Errors
/// If the text has more values, is not JSON, or does not have that type.
pub fn parse_json<'j, T: Deserialize<'j>>(json: &'j [u8], max_values: usize) -> Result<T> {
    if has_more_values(json, max_values) {
        return Err(Error::custom(format!("it has more than {max_values} JSON values")));
    }
    serde_json::from_slice(json)
}

/// Returns whether JSON text has more than `most` values. Lists, objects and their members count; keys do not.
pub fn has_more_values(json: &[u8], most: usize) -> bool {
    // Each value takes at least two bytes, its separator included.
    json.len() / 2 >= most && counts_more(json, most)
}

/// Returns the number of values of a tree.
pub fn count_json_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_json_values).sum(),
        Value::Object(members) => members.values().map(count_json_values).sum(),
        _ => 0,
    }
}

/// Counts the values one by one, up to one more than `most`. Text that begins like neither a list nor an object builds no
/// tree.
fn counts_more(json: &[u8], most: usize) -> bool {
    if !json.trim_ascii_start().starts_with(b"{") && !json.trim_ascii_start().starts_with(b"[") {
        return most == 0;
    }
    let (mut count, mut at, mut is_opened) = (1, 0, false);
    while let Some(byte) = json.get(at).filter(|_| count <= most) {
        at += 1;
        if byte.is_ascii_whitespace() {
            continue;
        }
        // The first value of a list or an object; each further one follows a comma.
        count += usize::from(is_opened && !matches!(byte, b']' | b'}'));
        is_opened = matches!(byte, b'[' | b'{');
        match byte {
            b',' => count += 1,
            b'"' => at += length_of_string(json.get(at..).unwrap_or_default()),
            _ => {}
        }
    }
    count > most
}

/// Returns the length of a string after its first quote, its last quote included.
fn length_of_string(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', rest.get(at..).unwrap_or_default()) {
        at += found + 1;
        if rest.get(at - 1) == Some(&b'"') {
            return at;
        }
        // The escaped byte.
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\,{}\\[\\]: é]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-z\",{]{0,3}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_count_is_that_of_the_tree(value in values(), is_pretty: bool) {
            let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
            let count = count_json_values(&value);
            prop_assert!(!has_more_values(text.as_bytes(), count), "{text}");
            if count > 1 {
                prop_assert!(counts_more(text.as_bytes(), count - 1), "{text}");
                prop_assert!(has_more_values(text.as_bytes(), count - 1), "{text}");
            }
        }

        #[test]
        fn damaged_text_is_counted_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), most in 0..9_usize) {
            has_more_values(&bytes, most);
        }
    }

    #[test]
    fn hostile_texts_are_refused_before_they_are_parsed() {
        for part in ["0,", "{},", "[0],", "[[[[]]]],", "{\"a\":{}},", " [ ] , "] {
            let text = format!("[{}0]", part.repeat(40_000));
            assert!(has_more_values(text.as_bytes(), 30_000), "{part}");
            let error = parse_json::<Value>(text.as_bytes(), 30_000).expect_err(part).to_string();
            assert_eq!(error, "it has more than 30000 JSON values", "{part}");
        }
        let in_strings = json!([",[{".repeat(100_000), "\\\",".repeat(100_000)]).to_string();
        assert!(!has_more_values(in_strings.as_bytes(), 3) && has_more_values(in_strings.as_bytes(), 2));
        assert!(!has_more_values("<p>, [1,2]".repeat(1_000).as_bytes(), 10), "a page is not counted");
    }

    #[test]
    fn a_larger_text_may_have_more_values() {
        assert_eq!(max_json_values(1 << 20), DEFAULT_MAX_JSON_VALUES);
        assert_eq!(max_json_values(8 << 20), 131_072);
    }
}
