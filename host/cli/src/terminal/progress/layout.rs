//! Formats each task as one line. Parts that do not fit are omitted, least important first.

use super::pace::{Pace, clock};
use super::tally::Snapshot;
use anstyle::{AnsiColor, Style};
use console::truncate_str;
use gage_core::printable_line;
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// Minimum width of the bar in columns. It grows by this width where there is room.
const MIN_BAR: usize = 10;
/// Maximum width of the bar in columns.
const MAX_BAR: usize = 40;
/// Maximum width of a task's name if other parts follow.
const NAME: usize = 24;

const NAMED: Style = Style::new().bold();
const FILLED: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();
const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// Parts of a task's line, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Name,
    Bar,
    Done,
    Rate,
    InFlight,
    Left,
    Metric,
    Score,
    Interval,
    Failed,
    Kinds,
}

/// Layout of a part.
struct PartLayout {
    part: Part,
    /// Priority for omission: the highest is omitted first; 0 is always shown.
    rank: u8,
    style: Style,
    /// True to right-align the text in its column.
    is_number: bool,
}

const fn layout(part: Part, rank: u8, style: Style, is_number: bool) -> PartLayout {
    PartLayout { part, rank, style, is_number }
}

const PARTS: [PartLayout; 11] = [
    layout(Part::Name, 0, NAMED, false),
    layout(Part::Bar, 7, FILLED, false),
    layout(Part::Done, 0, Style::new(), true),
    layout(Part::Rate, 1, FAINT, true),
    layout(Part::InFlight, 5, FAINT, true),
    layout(Part::Left, 2, FAINT, true),
    layout(Part::Metric, 8, FAINT, false),
    layout(Part::Score, 3, Style::new(), true),
    layout(Part::Interval, 6, FAINT, false),
    layout(Part::Failed, 3, ATTENTION, false),
    layout(Part::Kinds, 4, ATTENTION, false),
];

/// Text of a part in a line.
struct Piece {
    part: Part,
    text: String,
}

/// Formats a task as a line of a maximum width in columns, with a short bar.
pub(super) fn line(task: &Snapshot, pace: &Pace, columns: usize, has_colour: bool) -> String {
    formatted([(task, pace)], columns, MIN_BAR, has_colour).concat()
}

/// Formats several tasks as lines with aligned parts. The bars take the room that is left.
pub(super) fn lines<'t>(
    tasks: impl IntoIterator<Item = (&'t Snapshot, &'t Pace)>,
    columns: usize,
    has_colour: bool,
) -> Vec<String> {
    formatted(tasks, columns, MAX_BAR, has_colour)
}

fn formatted<'t>(
    tasks: impl IntoIterator<Item = (&'t Snapshot, &'t Pace)>,
    columns: usize,
    max_bar: usize,
    has_colour: bool,
) -> Vec<String> {
    let tasks: Vec<(&Snapshot, &Pace)> = tasks.into_iter().collect();
    let mut rows: Vec<Vec<Piece>> = tasks.iter().map(|(task, pace)| pieces(task, pace)).collect();
    let width_of = |part: Part| {
        let all = rows.iter().flatten().filter(|piece| piece.part == part);
        all.map(|piece| piece.text.width()).max()
    };
    let shown = PARTS.iter().filter_map(|layout| Some((layout, width_of(layout.part)?)));
    let mut parts: Vec<(&PartLayout, usize)> = shown.collect();
    let width = |parts: &[(&PartLayout, usize)]| {
        parts.iter().map(|(_, width)| width).sum::<usize>() + parts.len().saturating_sub(1)
    };
    while width(&parts) > columns {
        let worst = parts.iter().enumerate().max_by_key(|(_, (part, _))| part.rank);
        let Some((place, _)) = worst.filter(|(_, (part, _))| part.rank > 0) else { break };
        parts.remove(place);
    }
    let left = columns.saturating_sub(width(&parts));
    // Steps keep the bar steady while the numbers beside it change.
    let bar = (MIN_BAR + left / MIN_BAR * MIN_BAR).min(max_bar);
    if let Some((_, width)) = parts.iter_mut().find(|(part, _)| part.part == Part::Bar) {
        *width = bar;
    }
    for ((task, _), row) in tasks.iter().zip(&mut rows) {
        if let Some(piece) = row.iter_mut().find(|piece| piece.part == Part::Bar) {
            piece.text = bar_of(task, bar);
        }
    }
    rows.iter().map(|row| painted(row, &parts, has_colour)).collect()
}

/// Formats the limits of the suite that hold tasks back, each once.
pub(super) fn limit_lines<'t>(
    tasks: impl IntoIterator<Item = &'t Snapshot>,
    columns: usize,
    has_colour: bool,
) -> Vec<String> {
    let held: BTreeSet<&str> = tasks.into_iter().flat_map(|task| &task.held).map(String::as_str).collect();
    let lines = held.into_iter().map(|text| {
        let text = printable_line(text);
        let text = truncate_str(&text, columns, "…");
        if has_colour { format!("{ATTENTION}{text}{ATTENTION:#}") } else { text.into_owned() }
    });
    lines.collect()
}

/// Formats a line from parts with their widths.
fn painted(row: &[Piece], parts: &[(&PartLayout, usize)], has_colour: bool) -> String {
    let mut line = String::new();
    // Trailing parts are not padded.
    let mut owed = 0;
    for (place, (part, width)) in parts.iter().enumerate() {
        owed += usize::from(place > 0);
        let Some(piece) = row.iter().find(|piece| piece.part == part.part) else {
            owed += width;
            continue;
        };
        let missing = width.saturating_sub(piece.text.width());
        owed += if part.is_number { missing } else { 0 };
        line.push_str(&" ".repeat(std::mem::take(&mut owed)));
        let (style, text) = (part.style, &piece.text);
        if has_colour {
            line.push_str(&format!("{style}{text}{style:#}"));
        } else {
            line.push_str(text);
        }
        owed += if part.is_number { 0 } else { missing };
    }
    line
}

fn pieces(task: &Snapshot, pace: &Pace) -> Vec<Piece> {
    let piece = |part, text: String| Piece { part, text };
    let mut pieces =
        vec![piece(Part::Name, truncate_str(&printable_line(&task.task_id), NAME, "…").into_owned())];
    match task.total.filter(|total| *total > 0) {
        Some(total) => {
            pieces.push(piece(Part::Bar, bar_of(task, MIN_BAR)));
            pieces.push(piece(Part::Done, format!("{}/{total}", task.done)));
        }
        None => pieces.push(piece(Part::Done, task.done.to_string())),
    }
    if let Some(rate) = pace.rate() {
        pieces.push(piece(Part::Rate, format!("{rate:.1}/s")));
    }
    pieces.push(piece(Part::InFlight, format!("{} in flight", task.in_flight)));
    match pace.left(task.total) {
        Some(left) => pieces.push(piece(Part::Left, format!("eta {}", clock(left)))),
        None => pieces.push(piece(Part::Left, clock(task.elapsed))),
    }
    if let Some((metric_id, score)) = &task.score {
        pieces.push(piece(Part::Metric, truncate_str(&printable_line(metric_id), NAME, "…").into_owned()));
        pieces.push(piece(Part::Score, number(score.mean)));
        if let Some((low, high)) = score.interval {
            pieces.push(piece(Part::Interval, format!("[{}, {}]", number(low), number(high))));
        }
    }
    if !task.failures.is_empty() {
        let all: u64 = task.failures.iter().map(|(_, count)| count).sum();
        pieces.push(piece(Part::Failed, format!("{all} failed")));
        pieces.push(piece(Part::Kinds, kinds_of(&task.failures)));
    }
    pieces
}

/// Formats the done part of a task as a bar of a width.
fn bar_of(task: &Snapshot, width: usize) -> String {
    // A task may have more samples than its dataset announced.
    let part = task.total.map_or(0.0, |total| (task.done as f64 / total as f64).min(1.0));
    let filled = (part * width as f64) as usize;
    format!("{}{}", "━".repeat(filled), "╌".repeat(width.saturating_sub(filled)))
}

/// Lists the kinds of failures, with counts if there are several.
fn kinds_of(failures: &[(String, u64)]) -> String {
    if let [(kind, _)] = failures {
        return format!("({})", printable_line(kind));
    }
    let shown = failures.iter().take(3).map(|(kind, count)| format!("{count} {}", printable_line(kind)));
    let rest = if failures.len() > 3 { ", …" } else { "" };
    format!("({}{rest})", shown.collect::<Vec<_>>().join(", "))
}

/// Formats four decimals between -10 and 10, or else one.
fn number(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.4}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::snapshot;
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn pace() -> Pace {
        let mut pace = Pace::default();
        pace.note(Duration::ZERO, 0);
        pace.note(Duration::from_secs(3), 120);
        pace
    }

    #[test]
    fn what_there_is_no_room_for_is_left_out() {
        let cases = [
            (
                122,
                "piqa ━━╌╌╌╌╌╌╌╌ 120/500 40.0/s 16 in flight eta 0:09 exact_match 0.7333 [0.6896, 0.7744] 4 failed (3 timeout, 1 truncated)",
            ),
            (
                110,
                "piqa ━━╌╌╌╌╌╌╌╌ 120/500 40.0/s 16 in flight eta 0:09 0.7333 [0.6896, 0.7744] 4 failed (3 timeout, 1 truncated)",
            ),
            (
                100,
                "piqa 120/500 40.0/s 16 in flight eta 0:09 0.7333 [0.6896, 0.7744] 4 failed (3 timeout, 1 truncated)",
            ),
            (80, "piqa 120/500 40.0/s eta 0:09 0.7333 4 failed (3 timeout, 1 truncated)"),
            (60, "piqa 120/500 40.0/s eta 0:09 0.7333 4 failed"),
            (40, "piqa 120/500 40.0/s eta 0:09 0.7333"),
            (10, "piqa 120/500"),
        ];
        for (columns, expected) in cases {
            assert_eq!(line(&snapshot("piqa"), &pace(), columns, false), expected, "in {columns} columns");
        }
    }

    #[test]
    fn bars_of_fixed_lines_take_the_room_that_is_left() {
        let task = || Snapshot { score: None, failures: Vec::new(), ..snapshot("piqa") };
        let half = Snapshot { done: 45, total: Some(90), ..task() };
        let (stream, pace) = (Snapshot { total: None, ..task() }, pace());
        let shown = |columns| lines([(&half, &pace), (&stream, &pace)], columns, false).join("\n");
        for (columns, bar) in [(59, 10), (60, 20), (70, 30), (110, 40), (200, 40)] {
            let text = shown(columns);
            let expected = format!("piqa {}{} 45/90", "━".repeat(bar / 2), "╌".repeat(bar / 2));
            assert!(text.starts_with(&expected), "in {columns} columns:\n{text}");
            assert!(text.lines().all(|line| line.width() <= columns), "{text}");
            let place =
                |line: &str| line.find(" 40.0/s").map(|end| line.get(..end).map(UnicodeWidthStr::width));
            let places: Vec<_> = text.lines().map(place).collect();
            assert!(places.first() == places.last(), "{text}");
        }
    }

    #[test]
    fn several_tasks_stand_in_columns() {
        let short =
            Snapshot { done: 7, total: Some(90), in_flight: 2, failures: Vec::new(), ..snapshot("a") };
        let long = Snapshot { failures: vec![("timeout".to_owned(), 4)], ..snapshot("a_long_name") };
        let pace = pace();
        let shown = |columns| lines([(&short, &pace), (&long, &pace)], columns, false).join("\n");
        assert_eq!(
            shown(100),
            "a              7/90 40.0/s  2 in flight eta 0:00 0.7333 [0.6896, 0.7744]\n\
             a_long_name 120/500 40.0/s 16 in flight eta 0:09 0.7333 [0.6896, 0.7744] 4 failed (timeout)"
        );
        assert_eq!(
            shown(50),
            "a              7/90 40.0/s eta 0:00 0.7333\na_long_name 120/500 40.0/s eta 0:09 0.7333"
        );
    }

    #[test]
    fn without_a_total_there_is_a_clock() {
        let task = Snapshot { total: None, score: None, failures: Vec::new(), ..snapshot("stream") };
        assert_eq!(line(&task, &pace(), 80, false), "stream 120 40.0/s 16 in flight 0:03");
    }

    #[test]
    fn a_limit_of_several_tasks_has_one_line() {
        let text = "held at 64 by `max_concurrency` of the backend `server`";
        let held = |name: &str| Snapshot { held: vec![text.to_owned()], ..snapshot(name) };
        let tasks = [held("a"), snapshot("b"), held("c")];
        assert_eq!(limit_lines(&tasks, 80, false), [text]);
        assert_eq!(limit_lines(&tasks, 12, false), ["held at 64 …"]);
        assert!(limit_lines([&snapshot("b")], 80, false).is_empty());
    }

    #[test]
    fn names_from_outside_cannot_steer_the_terminal() {
        let task = Snapshot { failures: vec![("a\x1b[2J\n".to_owned(), 1)], ..snapshot("\x1b]0;evil\x07") };
        let text = line(&task, &pace(), 200, false);
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let coloured = line(&task, &pace(), 200, true);
        assert!(coloured.contains("\x1b[1m") && !coloured.contains("\x1b]"), "{coloured:?}");
    }

    proptest! {
        #[test]
        fn a_line_keeps_to_its_columns(
            name in ".{0,40}", done in 0_u64..1_000_000, total in proptest::option::of(0_u64..1_000_000), columns in 44_usize..200
        ) {
            let task = Snapshot { done, total, ..snapshot(&name) };
            let text = line(&task, &pace(), columns, false);
            prop_assert!(text.width() <= columns, "{text}");
            prop_assert!(text.contains(&done.to_string()));
        }
    }
}
