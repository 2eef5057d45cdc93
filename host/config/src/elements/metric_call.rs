//! The short form of a metric as a call: `regex_match(pattern='\d+', ignore_case=true)`.

use crate::node::{Entry, Node, NodeValue};
use crate::source::Span;

/// Reads a name, or a name with parameters in parentheses. A text without a closing
/// parenthesis at its end is a name.
///
/// Commas, parentheses and equals signs within quotes are part of the value. The values
/// `true`, `false`, `none` and `null` (in any case) and numbers are what they say; `nan` and
/// `inf` become strings, for JSON has no such numbers; everything else is a string.
pub(crate) fn parse_call(text: &str, span: Span) -> Result<(String, Node), String> {
    let text = text.trim();
    let call = text.split_once('(').and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix(')')?)));
    let Some((name, arguments)) = call else {
        return Ok((text.to_owned(), Node::new(NodeValue::Map(Vec::new()), span)));
    };
    let mut entries: Vec<Entry> = Vec::new();
    for argument in split_arguments(arguments) {
        let argument = argument.trim();
        if argument.is_empty() {
            continue;
        }
        let Some((key, value)) = argument.split_once('=') else {
            return Err(format!("`{argument}` in `{text}` is not `name=value`"));
        };
        let key = key.trim().to_owned();
        if entries.iter().any(|entry| entry.key == key) {
            return Err(format!("the parameter `{key}` occurs twice in `{text}`"));
        }
        let node = Node::new(value_of(value.trim()), span);
        entries.push(Entry { key, key_span: span, node, written: None });
    }
    Ok((name.to_owned(), Node::new(NodeValue::Map(entries), span)))
}

/// Splits at commas that stand outside of quotes.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quote = None;
    for (place, character) in text.char_indices() {
        match (character, quote) {
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open => quote = None,
            (',', None) => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn value_of(text: &str) -> NodeValue {
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return NodeValue::Text(inner.to_owned());
        }
    }
    match text.to_lowercase().as_str() {
        "true" => return NodeValue::Bool(true),
        "false" => return NodeValue::Bool(false),
        "none" | "null" => return NodeValue::Null,
        "nan" => return NodeValue::Text("NaN".to_owned()),
        "inf" | "+inf" | "infinity" => return NodeValue::Text("Infinity".to_owned()),
        "-inf" | "-infinity" => return NodeValue::Text("-Infinity".to_owned()),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return NodeValue::Int(number);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => NodeValue::Float(number),
        _ => NodeValue::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(text: &str) -> Result<(String, Value), String> {
        let span = Span { source: 0, start: 0, end: 0 };
        parse_call(text, span).map(|(name, params)| (name, params.to_json()))
    }

    #[test]
    fn calls_are_read_like_the_reference_implementation_does() {
        let cases = [
            ("exact_match", "exact_match", json!({})),
            (r"regex_match(pattern='\d+')", "regex_match", json!({"pattern": r"\d+"})),
            ("regex_match(pattern='(a)')", "regex_match", json!({"pattern": "(a)"})),
            (
                "numeric_match(tolerance=1e-3, mode=ge)",
                "numeric_match",
                json!({"tolerance": 0.001, "mode": "ge"}),
            ),
            (
                "m(a=true,b=False,c=None,d=null,e=yes)",
                "m",
                json!({"a": true, "b": false, "c": null, "d": null, "e": "yes"}),
            ),
            ("m(a=nan,b=inf)", "m", json!({"a": "NaN", "b": "Infinity"})),
            ("m(a='1')", "m", json!({"a": "1"})),
            ("m(a=1,)", "m", json!({"a": 1})),
            ("m (a=1)", "m", json!({"a": 1})),
            ("m(a=1", "m(a=1", json!({})),
        ];
        for (text, name, params) in cases {
            assert_eq!(read(text), Ok((name.to_owned(), params)), "{text}");
        }
    }

    #[test]
    fn a_quoted_comma_is_part_of_the_value() {
        assert_eq!(
            read("regex_match(pattern='a,b')"),
            Ok(("regex_match".to_owned(), json!({"pattern": "a,b"})))
        );
    }

    #[test]
    fn what_is_no_parameter_is_an_error() {
        for text in ["m(a)", "m(a=[1,2])", "m(a=1,a=2)"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
