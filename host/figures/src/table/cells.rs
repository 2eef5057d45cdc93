//! Cells of a table, in columns that fit their content.

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Minimum width of a column of names while there are less important columns.
pub(super) const MIN_NAME_COLUMNS: usize = 12;
/// Minimum width of a column of names in a narrow terminal.
pub(super) const MIN_SHORT_NAME_COLUMNS: usize = 8;

/// Minimum width at which a slice's path is shown, including the ellipsis.
const MIN_PATH_CHARS: usize = 3;

/// Alignment of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Returns the width of a text in terminal columns.
pub(super) fn width_of(text: &str) -> usize {
    text.width()
}

/// Fits a text to a column: cuts it to the width, or pads it with blanks.
pub(super) fn fitted(text: &str, width: usize, align: Align) -> String {
    let text = if width_of(text) > width { Cow::Owned(cut_to(text, width)) } else { Cow::Borrowed(text) };
    let blanks = " ".repeat(width.saturating_sub(width_of(&text)));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}

/// Returns the width of a table with columns of these widths.
pub(super) fn total_width(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

/// Narrows the first `names` columns, the widest first, until the table fits a width or they have their minimum width.
pub(super) fn narrow(widths: &mut [usize], names: usize, width: usize, gap: usize, least: usize) {
    for _ in width..total_width(widths, gap) {
        match widths.iter_mut().take(names).max() {
            Some(widest) if *widest > least => *widest -= 1,
            _ => break,
        }
    }
}

/// Breaks a text into lines between words, and words that are wider than a line. The first line may have another width than
/// the others.
pub(super) fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let room = |lines: &[String]| if lines.is_empty() { first } else { others };
    for word in text.split(' ') {
        let is_begun = !line.is_empty();
        if is_begun && width_of(&line) + 1 + width_of(word) > room(&lines) {
            lines.push(std::mem::take(&mut line));
        } else if is_begun {
            line.push(' ');
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or(0);
            if !line.is_empty() && width_of(&line) + wide > room(&lines) {
                lines.push(std::mem::take(&mut line));
            }
            line.push(character);
        }
    }
    lines.push(line);
    lines
}

/// Cuts a text to a width. The keys distinguish the slices, so the key of `path=key` is kept if there is room for it and
/// the end of the path.
fn cut_to(text: &str, width: usize) -> String {
    let name = text.trim_start();
    let indent = text.len() - name.len();
    if let Some((path, key)) = name.split_once('=') {
        let left = width.checked_sub(indent + 1 + width_of(key)).filter(|left| *left >= MIN_PATH_CHARS);
        if let Some(left) = left {
            return format!("{}{}={key}", &text[..indent], end_of(path, left));
        }
    }
    shortened(text, width)
}

/// Returns the end of a text that fits a width, after an ellipsis.
fn end_of(text: &str, width: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    shortened(&reversed, width).chars().rev().collect()
}

/// Returns the beginning of a text that fits a width, with an ellipsis.
fn shortened(text: &str, width: usize) -> String {
    let mut left = width.saturating_sub(1);
    let mut short = String::new();
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        short.push(character);
    }
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_the_room_that_they_take() {
        let cases = [("abcdef", 4, "abc…"), ("中文字", 4, "中…"), ("中文字", 5, "中文…"), ("é", 0, "…")];
        for (text, width, expected) in cases {
            assert_eq!(shortened(text, width), expected);
        }
        assert_eq!(fitted("中", 4, Align::Right), "  中");
        assert_eq!(fitted("中文字", 4, Align::Left), "中… ");
    }

    #[test]
    fn slices_keep_their_keys() {
        let cases = [
            ("  sample.metadata.level=easy", 15, "  …a.level=easy"),
            ("  level=a key that is longer than its path", 15, "  level=a key …"),
            ("  level=中文", 11, "  …vel=中文"),
            ("  a name", 6, "  a n…"),
        ];
        for (text, width, expected) in cases {
            assert_eq!(cut_to(text, width), expected);
        }
    }

    #[test]
    fn the_widest_column_gives_way_first() {
        let mut widths = [30, 20, 4];
        narrow(&mut widths, 2, 44, 2, 12);
        assert_eq!(widths, [18, 18, 4]);
        assert_eq!(fitted(&"a".repeat(30), 18, Align::Left), format!("{}…", "a".repeat(17)));

        narrow(&mut widths, 2, 0, 2, 12);
        assert_eq!(widths, [12, 12, 4]);
    }

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, 5), ["one two", "three"]);
        assert_eq!(wrapped("a verylongword b", 6, 4), ["a", "very", "long", "word", "b"]);
        assert_eq!(wrapped("中文字", 4, 4), ["中文", "字"]);
        assert_eq!(wrapped("", 4, 4), [""]);
    }
}
