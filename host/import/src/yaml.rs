//! Writes a document as YAML, with its comments.

use crate::tree::{Entry, Mapping, Tree};
use serde_json::Value;

/// Largest number of characters of a list that is written in one line.
const MAX_INLINE_CHARS: usize = 60;
/// Largest number of characters of a line of comments.
const MAX_COMMENT_CHARS: usize = 100;

/// Writes a document. `head` are the comments at its top.
pub(crate) fn write(head: &[String], document: &Mapping) -> String {
    let mut text = String::new();
    write_comments(head.iter().chain(&document.comments), 0, &mut text);
    for entry in &document.entries {
        text.push('\n');
        write_entry(entry, 0, &mut text);
    }
    text
}

fn write_comments<'c>(comments: impl Iterator<Item = &'c String>, indent: usize, text: &mut String) {
    for comment in comments {
        let mut line = String::new();
        for word in comment.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= MAX_COMMENT_CHARS {
                push_line(indent, &format!("# {line}"), text);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(word.chars().filter(|one| !one.is_control()));
        }
        push_line(indent, &format!("# {line}"), text);
    }
}

fn push_line(indent: usize, line: &str, text: &mut String) {
    text.push_str(&" ".repeat(indent));
    text.push_str(line);
    text.push('\n');
}

fn write_entry(entry: &Entry, indent: usize, text: &mut String) {
    write_comments(entry.comments.iter(), indent, text);
    if let Tree::Map(mapping) = &entry.value {
        write_comments(mapping.comments.iter(), indent, text);
    }
    text.push_str(&" ".repeat(indent));
    text.push_str(&scalar_text(&entry.key));
    text.push(':');
    write_value(&entry.value, indent, text);
}

/// Writes a value after its key, with the line break.
fn write_value(value: &Tree, indent: usize, text: &mut String) {
    match value {
        Tree::List(items) if !items.is_empty() => match inline_list(items) {
            Some(line) => {
                text.push(' ');
                text.push_str(&line);
                text.push('\n');
            }
            None => {
                text.push('\n');
                items.iter().for_each(|item| write_item(item, indent + 2, text));
            }
        },
        Tree::Map(mapping) if !mapping.entries.is_empty() => {
            text.push('\n');
            mapping.entries.iter().for_each(|entry| write_entry(entry, indent + 2, text));
        }
        scalar => {
            text.push(' ');
            write_scalar(scalar, indent + 2, text);
        }
    }
}

/// Writes an item of a list: a mapping begins in the line of its dash.
fn write_item(item: &Tree, indent: usize, text: &mut String) {
    match item {
        Tree::Map(mapping) if !mapping.entries.is_empty() => {
            write_comments(mapping.comments.iter(), indent, text);
            // Comments of the first key come before the dash.
            if let Some(first) = mapping.entries.first() {
                write_comments(first.comments.iter(), indent, text);
            }
            for (place, entry) in mapping.entries.iter().enumerate() {
                if place == 0 {
                    text.push_str(&" ".repeat(indent));
                    text.push_str("- ");
                    text.push_str(&scalar_text(&entry.key));
                    text.push(':');
                    if let Tree::Map(below) = &entry.value
                        && !below.comments.is_empty()
                    {
                        text.push('\n');
                        write_comments(below.comments.iter(), indent + 4, text);
                        write_below(&entry.value, indent + 4, text);
                        continue;
                    }
                    write_value(&entry.value, indent + 2, text);
                } else {
                    write_entry(entry, indent + 2, text);
                }
            }
        }
        Tree::List(items) if !items.is_empty() && inline_list(items).is_none() => {
            push_line(indent, "-", text);
            items.iter().for_each(|item| write_item(item, indent + 2, text));
        }
        Tree::List(items) if !items.is_empty() => {
            push_line(indent, &format!("- {}", inline_list(items).unwrap_or_default()), text);
        }
        scalar => {
            text.push_str(&" ".repeat(indent));
            text.push_str("- ");
            write_scalar(scalar, indent + 2, text);
        }
    }
}

/// Writes the entries of a mapping in lines of their own.
fn write_below(value: &Tree, indent: usize, text: &mut String) {
    match value {
        Tree::Map(mapping) if !mapping.entries.is_empty() => {
            mapping.entries.iter().for_each(|entry| write_entry(entry, indent, text));
        }
        _ => push_line(indent, "{}", text),
    }
}

fn inline_list(items: &[Tree]) -> Option<String> {
    let written: Option<Vec<String>> = items.iter().map(inline_item).collect();
    let line = format!("[{}]", written?.join(", "));
    (line.chars().count() <= MAX_INLINE_CHARS).then_some(line)
}

fn inline_item(item: &Tree) -> Option<String> {
    match item {
        Tree::Scalar(Value::String(text)) if text.contains('\n') => None,
        Tree::Scalar(Value::String(text)) => Some(scalar_text(text)),
        Tree::Scalar(value) => Some(value.to_string()),
        Tree::Variable(_) | Tree::List(_) | Tree::Map(_) => None,
    }
}

/// Writes a scalar or an empty collection, with the line break.
fn write_scalar(value: &Tree, indent: usize, text: &mut String) {
    match value {
        Tree::Scalar(Value::String(string)) if is_block(string) => {
            text.push_str(if string.ends_with('\n') { "|\n" } else { "|-\n" });
            for line in string.strip_suffix('\n').unwrap_or(string).split('\n') {
                if !line.is_empty() {
                    text.push_str(&" ".repeat(indent));
                    text.push_str(line);
                }
                text.push('\n');
            }
            return;
        }
        Tree::Scalar(Value::String(string)) => text.push_str(&scalar_text(string)),
        Tree::Scalar(value) => text.push_str(&value.to_string()),
        Tree::Variable(variable) => text.push_str(&variable_text(variable)),
        Tree::List(_) => text.push_str("[]"),
        Tree::Map(_) => text.push_str("{}"),
    }
    text.push('\n');
}

/// Returns true if a text of several lines can be written as a block.
fn is_block(text: &str) -> bool {
    let has_several = text.trim_end_matches('\n').contains('\n') || text.ends_with('\n');
    let is_plain = |one: char| one == '\n' || !one.is_control() && one != '\u{feff}';
    has_several
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(is_plain)
        && !text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
}

/// Writes a text in one line, with quotes if YAML would read it as something else.
fn scalar_text(text: &str) -> String {
    let is_first = |one: char| one.is_ascii_alphabetic() || one == '_' || one == '/';
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./".contains(one);
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = WORDS.contains(&text.to_ascii_lowercase().as_str());
    match text.starts_with(is_first) && text.chars().all(is_plain) && !is_word {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}

/// Writes an unquoted text with a variable; a text that YAML would break is quoted.
fn variable_text(text: &str) -> String {
    let is_safe = text.starts_with(|first: char| first.is_ascii_alphanumeric() || "$/._".contains(first))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([' ', ':'])
        && !text.chars().any(char::is_control);
    if is_safe { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn written_documents_read_back_alike() {
        let value = json!({
            "a": 1, "yes": "no", "text": "one: two # three", "lines": "a\n  b\n\nc\n", "open": "x\ny",
            "list": ["a b", "1", 2.5, null, true], "empty": {}, "none": [],
            "maps": [{"k": {"d": 1}, "l": ["x".repeat(70)]}, [["z".repeat(70)]], "s"],
            "- odd key": "\ttab\n", "é": "\u{1}", "blank": " lead\nx",
        });
        let Tree::Map(document) = Tree::of_json(value.clone()) else { panic!("not a mapping") };
        let text = write(&["head".to_owned()], &document);
        let mut problems = gage_config::Problems::default();
        let node = gage_config::parse_document("t", &text, None, &mut problems).expect(&text);
        assert_eq!(node.to_json(), value, "{text}");
    }
}
