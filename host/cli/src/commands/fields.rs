//! Messages and other texts, each beside its name.

use crate::terminal::{self, Style};
use gage_core::{ContentPart, Message, Role, shortened};
use gage_engine::SentRequest;
use std::borrow::Cow;

/// Width of the names in columns.
const NAME_COLUMNS: usize = 10;

/// Maximum number of characters for each column of a line. Characters without a width take no column.
const MAX_CHARS_PER_COLUMN: usize = 4;

/// Maximum width of a text in columns. Longer lines are hard to read, and a few of them would hold any text.
const MAX_TEXT_COLUMNS: usize = 250;

/// Prints a message beside its role.
pub(super) fn show_message(message: &Message, most: Option<usize>, style: &Style) -> anyhow::Result<()> {
    field(message.role.name(), &text_of(message), most, style)
}

/// Prints the messages of a sample that no model was asked.
pub(super) fn show_question(messages: &[Message], style: &Style) -> anyhow::Result<()> {
    for message in messages {
        let name = if message.role == Role::User { "question" } else { message.role.name() };
        field(name, &text_of(message), None, style)?;
    }
    Ok(())
}

/// Prints a request in full and to the last blank.
pub(super) fn show_request(request: &SentRequest, style: &Style) -> anyhow::Result<()> {
    for message in &request.messages {
        whole_field(message.role.name(), &text_of(message), style)?;
    }
    if let Some(text) = &request.text {
        whole_field("text", text, style)?;
    }
    if let Some(rendered) = &request.rendered {
        whole_field("rendered", rendered, style)?;
    }
    for text in &request.continuations {
        whole_field("option", text, style)?;
    }
    Ok(())
}

/// Formats a message as one text, with a placeholder for each non-text part.
fn text_of(message: &Message) -> String {
    let parts: Vec<String> = message
        .content
        .iter()
        .map(|part| match part {
            ContentPart::Text { text, .. } => text.clone(),
            ContentPart::Media { kind, url, .. } => {
                let shown: String = url.chars().take(80).collect();
                let rest = if shown.len() < url.len() { "…" } else { "" };
                format!("[{} {shown}{rest}]", kind.type_name().trim_end_matches("_url"))
            }
        })
        .collect();
    let calls: Vec<String> = message.tool_calls.iter().map(|call| format!("[call {call}]")).collect();
    parts.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

/// Prints a name and a text. At most `most` lines of the text are shown, and the beginning of those that have many
/// characters without a width.
pub(super) fn field(name: &str, text: &str, most: Option<usize>, style: &Style) -> anyhow::Result<()> {
    let width = terminal::width().saturating_sub(NAME_COLUMNS + 3).clamp(20, MAX_TEXT_COLUMNS);
    // A secret that is broken over two lines would not be found.
    let text = gage_secrets::redact(text);
    let text = gage_core::printable(&text);
    let mut lines: Vec<String> = text.lines().flat_map(|line| terminal::wrap(line, width)).collect();
    if lines.is_empty() {
        lines.push(String::new());
    }
    if let Some(most) = most {
        keep_first_lines(&mut lines, most, width);
    }
    print_lines(name, lines.iter().map(|line| line.trim_end()), style)
}

/// Prints a name and a text whose lines are not wrapped. Blanks at their ends, and empty lines at the end of the text, are
/// kept.
fn whole_field(name: &str, text: &str, style: &Style) -> anyhow::Result<()> {
    let text = gage_secrets::redact(text);
    let text = gage_core::printable(&text);
    print_lines(name, text.split('\n'), style)
}

/// Prints a name beside the first of some lines.
fn print_lines<'l>(name: &str, lines: impl Iterator<Item = &'l str>, style: &Style) -> anyhow::Result<()> {
    for (number, line) in lines.enumerate() {
        let name = if number == 0 { name } else { "" };
        let name = style.dim(&format!("{name:<NAME_COLUMNS$}"));
        terminal::print_line(format_args!("  {name} {line}"))?;
    }
    Ok(())
}

/// Keeps at most `most` lines for a terminal of a width, and says how many others there are.
fn keep_first_lines(lines: &mut Vec<String>, most: usize, width: usize) {
    let left_out = lines.len().saturating_sub(most);
    if left_out > 1 {
        lines.truncate(most);
        lines.push(format!("… {left_out} more lines"));
    }
    for line in lines {
        if let Cow::Owned(beginning) = shortened(line, width * MAX_CHARS_PER_COLUMN) {
            *line = beginning;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_have_few_characters() {
        let wide = "\u{300}".repeat(1_000);
        let mut lines = vec!["a".to_owned(), wide.clone(), "b".to_owned(), "c".to_owned()];
        keep_first_lines(&mut lines, 2, 20);
        assert_eq!(lines.len(), 3);
        assert_eq!((lines[0].as_str(), lines[2].as_str()), ("a", "… 2 more lines"));
        assert_eq!(lines[1].chars().count(), 20 * MAX_CHARS_PER_COLUMN);
        assert!(lines[1].ends_with('…') && wide.starts_with(lines[1].trim_end_matches('…')));
        // One line more is shown in place of its number.
        let mut lines = vec!["a".to_owned(), "b".to_owned()];
        keep_first_lines(&mut lines, 1, 20);
        assert_eq!(lines, ["a", "b"]);
    }
}
