//! Texts wrapped between words. A word is never broken: a path stays whole, even if it is longer than the line.

use gage_secrets::redact;
use std::io::IsTerminal as _;
use unicode_width::UnicodeWidthStr as _;

/// Minimum width of a text beside a name. In less, the text is below the name.
const MIN_BESIDE_COLUMNS: usize = 30;
/// Indentation of a text below its name.
const BELOW_INDENT: usize = 4;

/// Width of the standard error stream in columns.
pub(super) fn stderr_columns() -> usize {
    console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns))
}

/// Wraps the lines of a message if the standard error stream is a terminal.
pub(super) fn for_stderr(text: &str) -> String {
    match std::io::stderr().is_terminal() {
        true => message_within(text, stderr_columns()),
        false => text.to_owned(),
    }
}

/// Wraps the lines of a message, except for those that must stay whole.
fn message_within(text: &str, columns: usize) -> String {
    let one = |line: &str| match is_whole(line) {
        true => line.to_owned(),
        false => wrap_words(line, columns, spaces_before(line) + 2),
    };
    text.split('\n').map(one).collect::<Vec<_>>().join("\n")
}

/// Returns true for a line of an excerpt of a file, whose marks are below its text, and for one that is copied or read by a
/// program: a command, JSON, an annotation of GitHub.
fn is_whole(line: &str) -> bool {
    let text = without_styles(line);
    let text = text.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
    ["|", "-->", "::", "next: ", "{"].iter().any(|begin| text.starts_with(begin))
}

/// Wraps a line between words. Continuation lines are indented.
pub(crate) fn wrap_words(line: &str, columns: usize, indent: usize) -> String {
    let mut used = spaces_before(line);
    let mut wrapped = " ".repeat(used);
    for (place, word) in line.trim_start_matches(' ').split(' ').enumerate() {
        let width = without_styles(word).width();
        // A word that begins where the next line would begin stays.
        if place > 0 && used + 1 + width > columns && used + 1 > indent {
            wrapped.truncate(wrapped.trim_end_matches(' ').len());
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            used = indent;
        } else if place > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += width;
    }
    wrapped
}

/// Formats a text beside a name of a fixed width, or below it if there is little room. Without a terminal of `columns`,
/// the text is one line.
pub(super) fn beside(name: &str, text: &str, columns: Option<usize>) -> String {
    // A secret that is broken over two lines would not be found.
    let text = redact(text);
    let Some(columns) = columns else { return format!("{name}{text}") };
    let indent = name.width();
    if columns >= indent + MIN_BESIDE_COLUMNS {
        return wrap_words(&format!("{name}{text}"), columns, indent);
    }
    let below = wrap_words(&format!("{}{text}", " ".repeat(BELOW_INDENT)), columns, BELOW_INDENT);
    match name.trim_end() {
        "" => below,
        name => format!("{name}\n{below}"),
    }
}

/// Returns the number of spaces at the beginning of a line.
fn spaces_before(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns a text without its styles.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_and_words_stay_whole() {
        for (line, columns, indent, expected) in [
            ("one two three", 7, 2, "one two\n  three"),
            ("one two", 7, 2, "one two"),
            ("  one two three", 9, 4, "  one two\n    three"),
            ("see /a/very/long/path now", 10, 2, "see\n  /a/very/long/path\n  now"),
            ("name  long_word_here", 10, 6, "name  long_word_here"),
            ("a   b", 3, 0, "a\nb"),
            ("\u{1b}[1mone\u{1b}[0m two", 7, 2, "\u{1b}[1mone\u{1b}[0m two"),
            ("模型 模型", 8, 2, "模型\n  模型"),
            ("", 5, 2, ""),
        ] {
            assert_eq!(wrap_words(line, columns, indent), expected, "{line:?} in {columns} columns");
        }
    }

    #[test]
    fn excerpts_and_commands_are_not_wrapped() {
        let whole = "\u{1b}[1m --> \u{1b}[0ma long name of a suite.yaml:3:1\n  |\n\u{1b}[94m3 |\u{1b}[0m metric: [a, b, c, d]\n  \
                     | ^^^^^^ here is the key\nnext: gage-host run suite.yaml --resume\n{\"event\": \"progress\", \"n\": 1}";
        assert_eq!(message_within(whole, 10), whole);
        let text = "error: unknown key\n  |\n  = help: did you mean `metrics`?";
        let expected = "error: unknown\n  key\n  |\n  = help: did\n    you mean\n    `metrics`?";
        assert_eq!(message_within(text, 14), expected);
    }

    #[test]
    fn a_text_is_beside_its_name_or_below_it() {
        let text = "a text of several words about the name";
        assert_eq!(beside("  name  ", text, None), format!("  name  {text}"));
        let beside_name = beside("  name  ", text, Some(40));
        assert_eq!(beside_name, "  name  a text of several words about\n        the name");
        let below = beside("  name  ", text, Some(30));
        assert_eq!(below, "  name\n    a text of several words\n    about the name");
        assert_eq!(beside("        ", "= value", Some(30)), "    = value");
    }
}
