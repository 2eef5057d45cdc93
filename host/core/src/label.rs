//! Labels: values as the names of slices, clusters and categories.

use crate::{Digest, canonical_json};
use serde_json::Value;
use std::borrow::Cow;

/// Label for values beyond the limit of distinct ones.
pub const OTHER_LABEL: &str = "(other)";
/// Label of the slice of samples that have no value at the path.
pub const NONE_LABEL: &str = "(none)";

/// Maximum length of a label in characters; a longer text is cut, and distinguished by its digest.
const MAX_LABEL_CHARS: usize = 120;

/// Returns a value as a label: trimmed text, a number by its value (1.0 is 1), anything else as JSON.
///
/// `None` for null and for empty values: text of white space, a list or an object without members. A text that equals one
/// of the two labels above is put in quotes.
pub fn label(value: &Value) -> Option<Cow<'_, str>> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => Cow::Borrowed(text.trim()),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => number_label(number),
            None => Cow::Owned(number.to_string()),
        },
        Value::Array(items) if items.is_empty() => return None,
        Value::Object(members) if members.is_empty() => return None,
        value => Cow::Owned(canonical_json(value)),
    };
    (!text.is_empty()).then(|| reserved_quoted(shortened(text)))
}

/// Quotes a name that would collide with [`NONE_LABEL`], [`OTHER_LABEL`] or their quoted forms.
fn reserved_quoted(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.trim_matches('"') {
        NONE_LABEL | OTHER_LABEL => Cow::Owned(format!("\"{name}\"")),
        _ => name,
    }
}

/// Returns a number as a label: whole numbers without a decimal point.
pub fn number_label(number: f64) -> Cow<'static, str> {
    // Every whole number up to 2^53 is exact.
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        Cow::Owned((number as i64).to_string())
    } else {
        Cow::Owned(Value::from(number).to_string())
    }
}

fn shortened(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_LABEL_CHARS) {
        None => text,
        Some(_) => {
            let beginning: String = text.chars().take(MAX_LABEL_CHARS).collect();
            Cow::Owned(format!("{beginning}… {}", Digest::of_bytes(text.as_bytes()).short()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_names() {
        let cases = [
            (json!(" math "), Some("math")),
            (json!("文"), Some("文")),
            (json!(1), Some("1")),
            (json!(1.0), Some("1")),
            (json!(-0.0), Some("0")),
            (json!(0.5), Some("0.5")),
            (json!(1e300), Some("1e+300")),
            (json!(u64::MAX), Some("18446744073709551615")),
            (json!(true), Some("true")),
            (json!(["b", 1]), Some("[\"b\",1]")),
            (json!({"b": 1, "a": 2}), Some("{\"a\":2,\"b\":1}")),
            (json!(" (none)"), Some("\"(none)\"")),
            (json!("(other)"), Some("\"(other)\"")),
            (json!("\"(none)\""), Some("\"\"(none)\"\"")),
            (json!("(None)"), Some("(None)")),
            (json!(null), None),
            (json!(" \n"), None),
            (json!([]), None),
            (json!({}), None),
        ];
        for (value, expected) in cases {
            assert_eq!(label(&value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn long_texts_are_cut_and_still_told_apart() {
        let (one, two) = (json!(format!("{}a", "é".repeat(1_000))), json!(format!("{}b", "é".repeat(1_000))));
        let (one, two) = (label(&one).unwrap(), label(&two).unwrap());
        assert!(one != two && one.chars().count() < MAX_LABEL_CHARS + 80, "{one}");
        let fits = json!("é".repeat(MAX_LABEL_CHARS));
        assert_eq!(label(&fits).unwrap(), "é".repeat(MAX_LABEL_CHARS));
    }
}
