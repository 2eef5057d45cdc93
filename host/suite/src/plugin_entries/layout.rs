//! Where an entry of `plugins` is in the text, and in which style a new one is written.

use super::yaml_text::{
    TextEdit, begins_line, column, flow_end, indentation, line_break, line_end, line_start, next_line,
    scalar, value_end,
};
use super::{ID, PLUGINS, PluginPin, SHA256, SOURCE, is_at, no_entry, spelled_digest, values_of};
use gage_config::{Entry, Node, NodeValue};

/// Spaces before the dash of an entry, if the suite has no other list.
const DEFAULT_INDENT: usize = 2;

/// Columns from the dash to the keys, if the list has no entry.
const DEFAULT_GAP: usize = 2;

const ALIAS: &str = "`plugins` or its last entry is an alias";

/// Returns the edits that add an entry. An error is the reason why there are none.
pub(super) fn edits_of_new_entry(text: &str, root: &Node, new: &PluginPin) -> Result<Vec<TextEdit>, String> {
    let entries = root.as_map().ok_or("the document is not a mapping")?;
    let Some(section) = entries.iter().find(|entry| entry.key == PLUGINS) else {
        return new_section(text, root, entries, new);
    };
    let style = SectionStyle { is_quoted: is_quoted(text, entries), is_flow_root: is_flow(text, root), new };
    let (value_start, has_properties) = value_start(text, section.key_span.end).ok_or(ALIAS)?;
    let items = match &section.node.value {
        NodeValue::List(items) => items.as_slice(),
        NodeValue::Null => &[],
        _ => return Err("`plugins` is not a list".to_owned()),
    };
    match (text.as_bytes().get(value_start), items.last()) {
        (Some(b'*'), _) => Err(ALIAS.to_owned()),
        (Some(b'['), last) => style.in_flow(text, section, value_start, last, has_properties),
        (_, Some(last)) => style.in_block(text, section, last),
        (_, None) if style.is_flow_root || has_properties => {
            Err("`plugins` has no value that can be edited".to_owned())
        }
        (_, None) => {
            let end = value_end(text, value_start, line_end(text, value_start)).filter(|_| {
                let rest = &text[value_start..line_end(text, value_start)];
                !rest.is_empty() && !rest.starts_with('#')
            });
            // A null after the key: `~` or `null`, up to a comment.
            let end = end.map(|end| text[value_start..end].find(" #").map_or(end, |at| value_start + at));
            Ok(style.below_key(text, section, end))
        }
    }
}

/// Returns the position of a value behind its key, and whether it has an anchor or a tag.
fn value_start(text: &str, key_end: usize) -> Option<(usize, bool)> {
    let colon = key_end + text.get(key_end..)?.find(':')?;
    let mut position = colon + 1;
    let mut has_properties = false;
    loop {
        let rest = &text[position..];
        position += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if !text[position..].starts_with(['&', '!']) {
            return Some((position, has_properties));
        }
        has_properties = true;
        let rest = &text[position..];
        position += rest.find(char::is_whitespace).unwrap_or(rest.len());
    }
}

/// The style of a new entry in a section that exists.
struct SectionStyle<'s> {
    is_quoted: bool,
    is_flow_root: bool,
    new: &'s PluginPin,
}

impl SectionStyle<'_> {
    /// Adds an entry to a list in brackets.
    fn in_flow(
        &self,
        text: &str,
        section: &Entry,
        start: usize,
        last: Option<&Node>,
        has_properties: bool,
    ) -> Result<Vec<TextEdit>, String> {
        let close = flow_end(text, start).ok_or("the end of `plugins` was not found")? - 1;
        let Some(last) = last else {
            let is_blank = text[start + 1..close].trim_matches([' ', '\t']).is_empty();
            if is_blank && !self.is_flow_root && !has_properties {
                return Ok(self.below_key(text, section, Some(close + 1)));
            }
            return Ok(vec![TextEdit::insert(start + 1, flow_entry(self.new, self.is_quoted))]);
        };
        let item_start = last.span.start;
        if !is_at(last.span, start) {
            return Err(ALIAS.to_owned());
        }
        let end = value_end(text, item_start, last.span.end).ok_or("the last entry is not plain text")?;
        let entry = flow_entry(self.new, is_quoted(text, last.as_map().unwrap_or_default()));
        let rest = text.get(end..close).ok_or("the end of the last entry was not found")?;
        if !(begins_line(text, item_start) && rest.contains('\n')) {
            return Ok(vec![TextEdit::insert(end, format!(", {entry}"))]);
        }
        let line = format!("{}{}{entry}", line_break(text), indentation(text, item_start));
        let at = line_end(text, end);
        Ok(match rest.trim_start().starts_with(',') {
            true => vec![TextEdit::insert(at, format!("{line},"))],
            false => vec![TextEdit::insert(end, ",".to_owned()), TextEdit::insert(at, line)],
        })
    }

    /// Adds an entry after the last one of a list with dashes.
    fn in_block(&self, text: &str, section: &Entry, last: &Node) -> Result<Vec<TextEdit>, String> {
        let item_start = last.span.start;
        if !is_at(last.span, section.key_span.end) {
            return Err(ALIAS.to_owned());
        }
        let dash = dash_of(text, section.key_span.start, item_start).ok_or("no dash was found")?;
        let is_same_line = line_start(text, dash) == line_start(text, item_start);
        let gap = match text.as_bytes().get(item_start) {
            Some(b'&' | b'!') => DEFAULT_GAP,
            _ if is_same_line => item_start - dash,
            _ => DEFAULT_GAP,
        };
        let indent = column(text, dash);
        let is_quoted = is_quoted(text, last.as_map().unwrap_or_default());
        let lines = match is_flow(text, last) {
            true => {
                let (indent, gap) = (" ".repeat(indent), " ".repeat(gap.saturating_sub(1)));
                format!("{indent}-{gap}{}", flow_entry(self.new, is_quoted))
            }
            false => entry_lines(self.new, indent, gap, is_quoted, line_break(text)),
        };
        let end = block_end(text, dash, indent);
        Ok(vec![TextEdit::insert(end, format!("{}{lines}", line_break(text)))])
    }

    /// Adds the first entry below the key. An empty value between the colon and `value_end` is removed.
    fn below_key(&self, text: &str, section: &Entry, value_end: Option<usize>) -> Vec<TextEdit> {
        let key_end = section.key_span.end;
        let colon = text[key_end..].find(':').map_or(key_end, |colon| key_end + colon + 1);
        let indent = column(text, section.key_span.start) + DEFAULT_INDENT;
        let lines = entry_lines(self.new, indent, DEFAULT_GAP, self.is_quoted, line_break(text));
        let empty = TextEdit { start: colon, end: value_end.unwrap_or(colon), text: String::new() };
        let at = line_end(text, value_end.unwrap_or(colon));
        vec![empty, TextEdit::insert(at, format!("{}{lines}", line_break(text)))]
    }
}

/// Adds the section at the end of the document.
fn new_section(text: &str, root: &Node, entries: &[Entry], new: &PluginPin) -> Result<Vec<TextEdit>, String> {
    let is_quoted = is_quoted(text, entries);
    let first = entries.first().ok_or("the document is empty")?;
    let wrap = line_break(text);
    if is_flow(text, root) {
        let last = entries.last().filter(|last| is_at(last.node.span, last.key_span.end));
        let last = last.ok_or("the last value is an alias")?;
        let end = value_end(text, last.node.span.start, last.node.span.end);
        let end = end.ok_or("the last value is not plain text")?;
        let separator = match begins_line(text, first.key_span.start) {
            true => format!(",{wrap}{}", indentation(text, first.key_span.start)),
            false => ", ".to_owned(),
        };
        let (key, entry) = (scalar(PLUGINS, true, is_quoted), flow_entry(new, is_quoted));
        return Ok(vec![TextEdit::insert(end, format!("{separator}{key}: [{entry}]"))]);
    }
    let end = document_end(text);
    let (before, is_last) = (&text[..end], end == text.len());
    let key_column = column(text, first.key_span.start);
    let indent = key_column + list_indent(text, entries).unwrap_or(DEFAULT_INDENT);
    let lines = entry_lines(new, indent, DEFAULT_GAP, is_quoted, wrap);
    let blank_line = format!("{wrap}{wrap}");
    let mut section = String::new();
    if !before.ends_with('\n') {
        section += wrap;
    }
    if before.trim_end().contains(blank_line.as_str()) && !before.ends_with(blank_line.as_str()) {
        section += wrap;
    }
    let key = scalar(PLUGINS, false, is_quoted);
    section += &format!("{}{key}:{wrap}{lines}", " ".repeat(key_column));
    if !is_last || before.ends_with('\n') {
        section += wrap;
    }
    Ok(vec![TextEdit::insert(end, section)])
}

/// Returns the position of the marker `...` that ends the document, or the end of the text.
fn document_end(text: &str) -> usize {
    let mut position = 0;
    while position < text.len() {
        let line = &text[position..line_end(text, position)];
        if line == "..." || line.starts_with("... ") {
            return position;
        }
        position = next_line(text, position);
    }
    text.len()
}

/// Returns the columns from a key to the dashes of its list, for the first such list.
fn list_indent(text: &str, entries: &[Entry]) -> Option<usize> {
    entries.iter().find_map(|entry| {
        let (start, _) = value_start(text, entry.key_span.end)?;
        let item = entry.node.as_list()?.first()?;
        if text.as_bytes().get(start) == Some(&b'[') || !is_at(item.span, entry.key_span.end) {
            return None;
        }
        let dash = dash_of(text, entry.key_span.start, item.span.start)?;
        column(text, dash).checked_sub(column(text, entry.key_span.start))
    })
}

/// Returns the position of the dash before an item: on its line, or on one above.
fn dash_of(text: &str, key_start: usize, item_start: usize) -> Option<usize> {
    let mut start = line_start(text, item_start);
    while start > key_start {
        let line = &text[start..line_end(text, start)];
        let content = line.trim_start_matches(' ');
        if content == "-" || content.starts_with("- ") || content.starts_with("-\t") {
            return Some(start + line.len() - content.len());
        }
        start = line_start(text, start - 1);
    }
    None
}

/// Returns the end of the last line of an item: those below it that are indented more than its dash belong to it.
fn block_end(text: &str, dash: usize, indent: usize) -> usize {
    let mut end = line_end(text, dash);
    let mut position = next_line(text, dash);
    while position < text.len() {
        let is_blank = text[position..line_end(text, position)].trim().is_empty();
        if !is_blank {
            if indentation(text, position).len() <= indent {
                break;
            }
            end = line_end(text, position);
        }
        position = next_line(text, position);
    }
    end
}

/// Formats an entry with one key per line, without a line break at its end. `gap` is the number of columns from the dash to
/// the keys.
pub(super) fn entry_lines(
    pin: &PluginPin,
    indent: usize,
    gap: usize,
    is_quoted: bool,
    line_break: &str,
) -> String {
    let line = |(number, (key, value)): (usize, (&str, String))| {
        let dash = if number == 0 { "-" } else { " " };
        let (key, value) = (scalar(key, false, is_quoted), scalar(&value, false, is_quoted));
        format!("{}{dash:gap$}{key}: {value}", " ".repeat(indent))
    };
    values_of(pin).into_iter().enumerate().map(line).collect::<Vec<_>>().join(line_break)
}

/// Formats an entry in braces.
fn flow_entry(pin: &PluginPin, is_quoted: bool) -> String {
    let pair = |(key, value): (&str, String)| {
        format!("{}: {}", scalar(key, true, is_quoted), scalar(&value, true, is_quoted))
    };
    format!("{{{}}}", values_of(pin).into_iter().map(pair).collect::<Vec<_>>().join(", "))
}

/// Returns whether the first key of a mapping has double quotes.
fn is_quoted(text: &str, entries: &[Entry]) -> bool {
    let first = entries.first().and_then(|entry| text.as_bytes().get(entry.key_span.start));
    first == Some(&b'"')
}

/// Returns whether a value is in brackets or braces.
fn is_flow(text: &str, node: &Node) -> bool {
    matches!(text.as_bytes().get(node.span.start), Some(b'{' | b'['))
}

/// Returns the edits that change the source and the digest of an entry. An error is the reason why there are none.
pub(super) fn edits_of_update(text: &str, root: &Node, pin: &PluginPin) -> Result<Vec<TextEdit>, String> {
    let items = root.get(PLUGINS).and_then(Node::as_list).unwrap_or_default();
    let item = items.iter().find(|item| item.text_of(ID) == Some(pin.id.as_str()));
    let item = item.ok_or_else(|| no_entry(&pin.id))?;
    let find = |key: &str| item.as_map().unwrap_or_default().iter().find(|entry| entry.key == key);
    let source = find(SOURCE).ok_or_else(|| no_entry(&pin.id))?;
    let mut edits = vec![replace(text, source, &pin.source)?];
    let Some(digest) = pin.sha256 else { return Ok(edits) };
    match find(SHA256) {
        Some(entry) => edits.push(replace(text, entry, &spelled_digest(entry.node.as_text(), digest))?),
        None => {
            let end = edits[0].end;
            let key = scalar(SHA256, true, text.as_bytes().get(source.key_span.start) == Some(&b'"'));
            let value = scalar(&digest.hex(), true, key.starts_with('"'));
            edits.push(match is_flow(text, item) {
                true => TextEdit::insert(end, format!(", {key}: {value}")),
                false => {
                    let indent = " ".repeat(column(text, source.key_span.start));
                    let line = format!("{}{indent}{key}: {value}", line_break(text));
                    TextEdit::insert(line_end(text, end), line)
                }
            });
        }
    }
    Ok(edits)
}

/// Replaces the text of a value, with its quotes if it has some.
fn replace(text: &str, entry: &Entry, value: &str) -> Result<TextEdit, String> {
    let span = entry.node.span;
    let key = &entry.key;
    if entry.node.as_text().is_some_and(|text| text.contains("${")) {
        return Err(format!("`{key}` has a variable"));
    }
    let is_own = is_at(span, entry.key_span.end) && !entry.node.is_null();
    let end = value_end(text, span.start, span.end).filter(|_| is_own);
    let end = end.ok_or_else(|| format!("`{key}` is not a text at its place"))?;
    let written = match text.as_bytes().get(span.start) {
        Some(b'"') => scalar(value, true, true),
        Some(b'\'') => format!("'{}'", value.replace('\'', "''")),
        _ => scalar(value, true, false),
    };
    Ok(TextEdit { start: span.start, end, text: written })
}
