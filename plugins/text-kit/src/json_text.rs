//! JSON that stands in other text: after a sentence, inside a code fence, before a remark.

use gage_sdk::serde_json::{self, Value};

/// What begins the JSON that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

/// A stretch of a text that begins like JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundJson<'text> {
    /// Where it begins, in bytes.
    pub start: usize,
    /// The stretch up to its closing bracket, or to the end of the text where that is missing.
    pub text: &'text str,
    /// Its value, or what is wrong with it.
    pub value: Result<Value, String>,
}

/// The stretches of a text that begin like JSON of a shape, in order; none stands inside another.
///
/// A brace begins an object where a key or the closing brace follows; so `\frac{1}{2}` is none, and
/// `{'a': 1}` is one with an error. A bracket begins an array where a value or the closing bracket
/// follows. What is never closed lasts to the end of the text: what stands inside a truncated
/// object is a part of it and no answer of its own. Takes time in proportion to the text.
pub fn find_json(text: &str, shape: Shape) -> Vec<FoundJson<'_>> {
    let opening = match shape {
        Shape::Object => '{',
        Shape::Array => '[',
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(opening)) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        if !begins(rest, shape) {
            at = start + 1;
            continue;
        }
        let (stretch, value) = match length(rest).and_then(|length| rest.get(..length)) {
            Some(stretch) => (stretch, serde_json::from_str(stretch).map_err(|error| error.to_string())),
            None => (rest, Err("it ends before its closing bracket".to_owned())),
        };
        at = start + stretch.len();
        found.push(FoundJson { start, text: stretch, value });
    }
    found
}

/// Whether what follows an opening bracket could follow it in JSON, or in what was meant to be JSON.
fn begins(text: &str, shape: Shape) -> bool {
    /// White space before the first key; more is no JSON that a model writes.
    const MOST_SPACE: usize = 256;
    let mut characters =
        text.chars().skip(1).take(MOST_SPACE).skip_while(|character| character.is_whitespace());
    match (characters.next(), shape) {
        (Some('"' | '\''), _) | (Some('}'), Shape::Object) => true,
        (Some(first), Shape::Object) if first == '_' || first.is_alphabetic() => {
            // A key that lacks its quotes.
            let is_key = |character: &char| *character == '_' || character.is_alphanumeric();
            let mut after_key = characters.skip_while(is_key);
            after_key.find(|character| !character.is_whitespace()) == Some(':')
        }
        (Some(first), Shape::Array) => {
            let rest = text.get(1..).unwrap_or_default().trim_start();
            let is_name = ["true", "false", "null"].iter().any(|name| rest.starts_with(name));
            is_name || matches!(first, ']' | '[' | '{' | '-') || first.is_ascii_digit()
        }
        _ => false,
    }
}

/// How many bytes there are up to the bracket that closes the first one; strings are passed over.
fn length(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => open += 1,
            b'}' | b']' => {
                open -= 1;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn objects(text: &str) -> Vec<Option<Value>> {
        find_json(text, Shape::Object).into_iter().map(|found| found.value.ok()).collect()
    }

    #[test]
    fn objects_in_text() {
        for (text, expected) in [
            (
                r#"so {"a": 1} and {"a": {"b": 2}}."#,
                vec![Some(json!({"a": 1})), Some(json!({"a": {"b": 2}}))],
            ),
            ("```json\n{\n  \"a\": \"}\\\"{\"\n}\n``` done", vec![Some(json!({"a": "}\"{"}))]),
            (r"\frac{1}{2} of \boxed{x} {}", vec![Some(json!({}))]),
            (r#"{"a": NaN, "b": {"c": 1}} {"d": 1}"#, vec![None, Some(json!({"d": 1}))]),
            (r#"{'a': 1} {a: 1} {ä_1 : 1}"#, vec![None, None, None]),
            (r#"{"a": {"b": 1}, "c": "#, vec![None]),
            (r#"{"a": 1e400}"#, vec![None]),
            ("{ set of x }", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(objects(text), expected, "{text}");
        }
    }

    #[test]
    fn arrays_in_text() {
        let found = find_json(r#"see [note] and ["a", [1]] or [1 2] or [2"#, Shape::Array);
        let texts: Vec<_> = found.iter().map(|found| (found.text, found.value.is_ok())).collect();
        assert_eq!(texts, [(r#"["a", [1]]"#, true), ("[1 2]", false), ("[2", false)]);
        assert_eq!(found.first().map(|found| found.start), Some(15));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
        assert_eq!(objects(&deep), [None]);
    }

    #[test]
    fn long_texts_take_linear_time() {
        for text in
            ["{\"a\": [".repeat(130_000), "{a".repeat(500_000), format!("{{{}", " ".repeat(1_000_000))]
        {
            assert!(objects(&text).len() <= 1);
        }
    }
}
