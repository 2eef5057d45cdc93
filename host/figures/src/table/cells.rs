//! Cells of a table, in columns as wide as what they hold.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Narrowest that a column of names becomes.
const NARROWEST: usize = 12;

/// Fewest columns that are worth showing of the path of a slice, its ellipsis among them.
const MIN_PATH_CHARS: usize = 3;

/// To which side the cells of a column go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) align: Align,
    /// Of the title and all cells the widest.
    pub(super) width: usize,
    pub(super) cells: Vec<String>,
}

impl Column {
    pub(super) fn new(title: &'static str, align: Align) -> Column {
        Column { title, align, width: width_of(title), cells: Vec::new() }
    }

    pub(super) fn push(&mut self, cell: String) {
        self.width = self.width.max(width_of(&cell));
        self.cells.push(cell);
    }

    /// Cuts all cells to a width.
    fn cut(&mut self, width: usize) {
        self.width = width;
        for cell in &mut self.cells {
            if width_of(cell) > width {
                *cell = cut_to(cell, width);
            }
        }
    }
}

/// How many columns of a terminal a text takes.
pub(super) fn width_of(text: &str) -> usize {
    text.width()
}

/// A text with blanks up to a width.
pub(super) fn pad(text: &str, width: usize, align: Align) -> String {
    let blanks = " ".repeat(width.saturating_sub(width_of(text)));
    match align {
        Align::Left => format!("{text}{blanks}"),
        Align::Right => format!("{blanks}{text}"),
    }
}

/// Narrows columns, the widest first, until the table has a width, or they are as narrow as
/// they may be.
pub(super) fn fit(columns: &mut [Column], may_shrink: &[usize], width: usize, gap: usize) {
    let total =
        columns.iter().map(|column| column.width).sum::<usize>() + gap * columns.len().saturating_sub(1);
    for _ in width..total {
        let shrinkable = columns.iter_mut().enumerate().filter(|(position, _)| may_shrink.contains(position));
        match shrinkable.map(|(_, column)| column).max_by_key(|column| column.width) {
            Some(column) if column.width > NARROWEST => column.width -= 1,
            _ => break,
        }
    }
    for column in columns {
        column.cut(column.width);
    }
}

/// A text cut to a width. Of `path=key`, as slices are named, the key stays where there is room for it and for the end of
/// the path: the keys tell one slice from the next.
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

/// The end of a text that fits a width, behind an ellipsis.
fn end_of(text: &str, width: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    shortened(&reversed, width).chars().rev().collect()
}

/// The beginning of a text that fits a width, with an ellipsis.
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
        assert_eq!(pad("中", 4, Align::Right), "  中");
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
        let column = |cell: &str| {
            let mut column = Column::new("t", Align::Left);
            column.push(cell.to_owned());
            column
        };
        let mut columns = [column(&"a".repeat(30)), column(&"b".repeat(20)), column("1234")];
        fit(&mut columns, &[0, 1], 44, 2);
        assert_eq!(columns.each_ref().map(|column| column.width), [18, 18, 4]);
        assert_eq!(columns[0].cells[0], format!("{}…", "a".repeat(17)));

        fit(&mut columns, &[0, 1], 0, 2);
        assert_eq!(columns.each_ref().map(|column| column.width), [12, 12, 4]);
        assert_eq!(columns[2].cells[0], "1234");
    }
}
