//! Writes documents as human-readable YAML: block style, with multi-line texts as they are. The output parses to
//! the same values.

use gage_config::{Node, NodeValue};
use serde_json::Value;
use std::fmt::Write as _;

/// Writes a parsed document, without its comments. An unquoted value that contains a variable stays unquoted, since
/// it may become a number.
pub(crate) fn of_node(node: &Node) -> String {
    let mut text = String::new();
    write(&mut text, &YamlTree::of_node(node), 0, YamlPosition::Document);
    text
}

/// Writes a JSON value.
pub(crate) fn of_json(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, &YamlTree::of_json(value), 0, YamlPosition::Document);
    text
}

/// A document to be written.
enum YamlTree<'t> {
    /// Written as it is: numbers, `null`, and values that must not be quoted.
    Plain(String),
    Text(&'t str),
    List(Vec<YamlTree<'t>>),
    Map(Vec<(&'t str, YamlTree<'t>)>),
}

impl<'t> YamlTree<'t> {
    fn of_node(node: &'t Node) -> YamlTree<'t> {
        match (&node.value, &node.plain) {
            (NodeValue::Text(text), Some(plain)) if plain == text && is_writable_plain(text) => {
                YamlTree::Plain(text.clone())
            }
            (NodeValue::Text(text), _) => YamlTree::Text(text),
            (NodeValue::List(items), _) => YamlTree::List(items.iter().map(YamlTree::of_node).collect()),
            (NodeValue::Map(entries), _) => YamlTree::Map(
                entries.iter().map(|entry| (entry.key.as_str(), YamlTree::of_node(&entry.node))).collect(),
            ),
            // The original spelling: `4.10` is a text for a key that expects one.
            (NodeValue::Int(_) | NodeValue::Float(_) | NodeValue::Bool(_), Some(plain)) => {
                YamlTree::Plain(plain.clone())
            }
            _ => YamlTree::Plain(node.to_json().to_string()),
        }
    }

    fn of_json(value: &'t Value) -> YamlTree<'t> {
        match value {
            Value::String(text) => YamlTree::Text(text),
            Value::Array(items) => YamlTree::List(items.iter().map(YamlTree::of_json).collect()),
            Value::Object(entries) => YamlTree::Map(
                entries.iter().map(|(key, value)| (key.as_str(), YamlTree::of_json(value))).collect(),
            ),
            plain => YamlTree::Plain(plain.to_string()),
        }
    }
}

/// The syntax that a value follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum YamlPosition {
    Document,
    Key,
    Dash,
}

fn write(out: &mut String, tree: &YamlTree<'_>, level: usize, place: YamlPosition) {
    let pad = "  ".repeat(level);
    match tree {
        YamlTree::Plain(text) => line(out, text, place),
        YamlTree::Text(text) => match block(text, &pad) {
            Some(block) => line(out, &block, place),
            None => line(out, &scalar(text), place),
        },
        YamlTree::List(items) if items.is_empty() => line(out, "[]", place),
        YamlTree::Map(entries) if entries.is_empty() => line(out, "{}", place),
        YamlTree::List(items) => {
            if place == YamlPosition::Key {
                out.push('\n');
            }
            for (index, item) in items.iter().enumerate() {
                // The first item of a nested list follows the dash of the outer one.
                match place == YamlPosition::Dash && index == 0 {
                    true => out.push_str(" -"),
                    false => {
                        let _ = write!(out, "{pad}-");
                    }
                }
                write(out, item, level + 1, YamlPosition::Dash);
            }
        }
        YamlTree::Map(entries) => {
            if place == YamlPosition::Key {
                out.push('\n');
            }
            for (index, (key, value)) in entries.iter().enumerate() {
                match place == YamlPosition::Dash && index == 0 {
                    true => out.push(' '),
                    false => out.push_str(&pad),
                }
                let _ = write!(out, "{}:", scalar(key));
                write(out, value, level + 1, YamlPosition::Key);
            }
        }
    }
}

fn line(out: &mut String, text: &str, place: YamlPosition) {
    if place != YamlPosition::Document {
        out.push(' ');
    }
    out.push_str(text);
    out.push('\n');
}

/// Returns a multi-line text as a block scalar, if YAML can represent it without escapes.
fn block(text: &str, pad: &str) -> Option<String> {
    let (body, indicator) = match text.strip_suffix('\n') {
        Some(body) => (body, "|"),
        None => (text, "|-"),
    };
    let first = body.lines().next()?;
    let is_plain = |character: char| character == '\n' || character == '\t' || is_printable(character);
    let is_block = body.contains('\n')
        && !body.ends_with('\n')
        && !first.is_empty()
        && !body.contains('\r')
        && !body.split('\n').any(|line| line.starts_with([' ', '\t']) && line.trim().is_empty())
        && !first.starts_with([' ', '\t'])
        && body.chars().all(is_plain);
    if !is_block {
        return None;
    }
    let pad = if pad.is_empty() { "  " } else { pad };
    let lines =
        body.split('\n').map(|line| if line.is_empty() { String::new() } else { format!("{pad}{line}") });
    Some(format!("{indicator}\n{}", lines.collect::<Vec<_>>().join("\n")))
}

/// Returns a text on one line, without quotes if it is unambiguous.
fn scalar(text: &str) -> String {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_-./#".contains(character);
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|character| is_word(character) || character == ' ')
        && !text.ends_with(' ')
        && !text.contains(" #")
        && !is_reserved(text);
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// Returns true for words that some YAML parser does not read as text.
fn is_reserved(text: &str) -> bool {
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other if is_printable(other) => out.push(other),
            other => {
                let _ = match u32::from(other) {
                    code @ 0..=0xff => write!(out, "\\x{code:02x}"),
                    code @ 0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    code => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
    out
}

/// Returns true if YAML accepts a character unescaped, and no parser breaks a line there.
fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns true if an unquoted text with a variable can be written without quotes again.
fn is_writable_plain(text: &str) -> bool {
    text.chars().all(is_printable)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !text.starts_with(|first: char| " -?:,[]{}#&*!|>'\"%@`".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{Problems, parse_document};
    use proptest::prelude::*;
    use serde_json::json;

    fn read(text: &str) -> Node {
        let mut problems = Problems::default();
        let node = parse_document("test", text, None, &mut problems);
        node.unwrap_or_else(|| panic!("{}\n{text}", problems.render(false)))
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            any::<String>(),
            "[ a-z:#\\-\n\t'\"]{0,12}",
            "(true|no|1e3|0x1f|-|~|null|\\.5|1\\.0|2024-01-01|<<|=|\\? a|\\$\\{A:-b\\})"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e12..1e12_f64).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            // `<<` merges, with any quotes.
            let key = text.clone().prop_filter("a key", |key| key != "<<");
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in values()) {
            let text = of_json(&value);
            let node = read(&text);
            prop_assert_eq!(node.to_json(), value, "{}", text);
            let again = of_node(&node);
            prop_assert_eq!(read(&again).to_json(), node.to_json(), "{}", again);
        }
    }

    #[test]
    fn a_document_is_written_for_people() {
        let value = json!({
            "name": "a suite", "empty": {}, "none": [], "version": "1",
            "prompt": "Question: x\n\nAnswer:", "ends": "a\nb\n",
            "list": [{"a": 1, "b": [true, null]}, [1.5, "x: y"]],
        });
        let expected = "name: a suite\nempty: {}\nnone: []\nversion: \"1\"\n\
            prompt: |-\n  Question: x\n\n  Answer:\nends: |\n  a\n  b\n\
            list:\n  - a: 1\n    b:\n      - true\n      - null\n  - - 1.5\n    - \"x: y\"\n";
        assert_eq!(of_json(&value), expected);
    }

    #[test]
    fn a_variable_stays_with_or_without_its_quotes() {
        let text = "limit: ${N:-5}\nmodel: \"${M:-4.10}\"\nversion: 4.10\nescaped: $${x}\n";
        assert_eq!(of_node(&read(text)), text);
    }
}
