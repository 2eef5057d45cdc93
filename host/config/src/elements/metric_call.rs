//! The short form of a metric as a call: `regex_match(pattern='\d+', ignore_case=true)`.

use crate::node::{Entry, Node, NodeValue};
use crate::source::Span;
use std::collections::HashSet;

/// Maximum number of parameters of a call.
const MAX_PARAMETERS: usize = 1_000;

/// Reads a name, or a name with parameters in parentheses.
///
/// Commas, parentheses and equals signs within quotes are part of the value. The values `true`, `false`, `none` and
/// `null` (in any case) and numbers keep their meaning. `nan` and `inf` become strings, because JSON has no such
/// numbers; everything else is a string. This form has no lists.
///
/// # Errors
/// Description of what is wrong with the text.
pub fn parse_call(text: &str, span: Span) -> Result<(String, Node), String> {
    let text = text.trim();
    let call = text.split_once('(').and_then(|(name, rest)| Some((name.trim(), rest.strip_suffix(')')?)));
    let Some((name, arguments)) = call else {
        if let Some(problem) = unclosed(text) {
            return Err(problem);
        }
        return Ok((text.to_owned(), Node::empty_map(span)));
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut keys: HashSet<&str> = HashSet::new();
    for argument in split_arguments(arguments) {
        let argument = argument.trim();
        if argument.is_empty() {
            continue;
        }
        let Some((key, value)) = argument.split_once('=') else {
            let list =
                entries.last().filter(|entry| entry.node.as_text().is_some_and(|text| text.starts_with('[')));
            return Err(match list {
                None => format!("`{argument}` in `{text}` is not `name=value`"),
                Some(Entry { key, .. }) => format!(
                    "a call cannot hold a list, as `{key}` of `{text}` is; write the parameters as a mapping: {{{name}: \
                     {{{key}: […]}}}}"
                ),
            });
        };
        let key = key.trim();
        if !keys.insert(key) {
            return Err(format!("the parameter `{key}` occurs twice in `{text}`"));
        }
        if keys.len() > MAX_PARAMETERS {
            return Err(format!("a call has more than {MAX_PARAMETERS} parameters"));
        }
        let node = Node::new(value_of(value.trim()), span);
        entries.push(Entry { key: key.to_owned(), key_span: span, node, written: None });
    }
    Ok((name.to_owned(), Node::new(NodeValue::Map(entries), span)))
}

/// Returns the error for a text with an opening parenthesis and no closing one at its end. A path may contain any.
fn unclosed(text: &str) -> Option<String> {
    let open = text.find('(').filter(|_| !text.contains('/'))?;
    let place = |byte: usize| text[..byte].chars().count() + 1;
    Some(match text.rfind(')').filter(|close| *close > open) {
        None => format!("the parenthesis at character {} of `{text}` is never closed; add `)`", place(open)),
        Some(close) => format!(
            "unexpected `{}` after the closing parenthesis at character {} of `{text}`",
            text[close + 1..].trim(),
            place(close)
        ),
    })
}

/// Splits at commas outside quotes.
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
            ("./of (me)/m.wasm", "./of (me)/m.wasm", json!({})),
            ("m(pattern=[0-9]+)", "m", json!({"pattern": "[0-9]+"})),
            ("m(pattern=[1])", "m", json!({"pattern": "[1]"})),
            ("m(pattern=[,b=2)", "m", json!({"pattern": "[", "b": 2})),
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
        for (text, message) in [
            ("m(a)", "`a` in `m(a)` is not `name=value`"),
            (
                "pass_at_k(k=[1,2])",
                "a call cannot hold a list, as `k` of `pass_at_k(k=[1,2])` is; write the parameters as a mapping: \
                 {pass_at_k: {k: […]}}",
            ),
            ("m(a=1,a=2)", "the parameter `a` occurs twice in `m(a=1,a=2)`"),
            ("m(a=1", "the parenthesis at character 2 of `m(a=1` is never closed; add `)`"),
            ("m(a=1) x", "unexpected `x` after the closing parenthesis at character 6 of `m(a=1) x`"),
        ] {
            assert_eq!(read(text), Err(message.to_owned()), "{text}");
        }
    }
}
