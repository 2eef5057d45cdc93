//! A task in one line. What there is no room for is left out, the least needed first.

use super::pace::{Pace, clock};
use super::tally::Snapshot;
use anstyle::{AnsiColor, Style};
use gage_core::printable_line;
use unicode_width::UnicodeWidthStr as _;

/// Columns of the bar.
const BAR: usize = 10;
/// Most columns of a task's name where more is to be said.
const NAME: usize = 24;

const NAMED: Style = Style::new().bold();
const FILLED: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();
const ATTENTION: Style = AnsiColor::Yellow.on_default();

/// A piece of a line: the higher its rank, the sooner it is left out.
struct Piece {
    rank: u8,
    style: Style,
    text: String,
}

/// The line of a task in so many columns.
pub(super) fn line(task: &Snapshot, pace: &Pace, columns: usize, has_colour: bool) -> String {
    let mut pieces = pieces(task, pace);
    let width = |pieces: &[Piece]| {
        pieces.iter().map(|piece| piece.text.width()).sum::<usize>() + pieces.len().saturating_sub(1)
    };
    while width(&pieces) > columns {
        let Some(worst) = (0..pieces.len()).max_by_key(|place| pieces[*place].rank) else { break };
        if pieces[worst].rank == 0 {
            break;
        }
        pieces.remove(worst);
    }
    let paint = |piece: &Piece| {
        let Piece { style, text, .. } = piece;
        if has_colour { format!("{style}{text}{style:#}") } else { text.clone() }
    };
    pieces.iter().map(paint).collect::<Vec<_>>().join(" ")
}

fn pieces(task: &Snapshot, pace: &Pace) -> Vec<Piece> {
    let piece = |rank, style, text: String| Piece { rank, style, text };
    let mut pieces = vec![piece(0, NAMED, shortened(&printable_line(&task.task_id), NAME))];
    match task.total.filter(|total| *total > 0) {
        Some(total) => {
            // A task may have more samples than its dataset said.
            let part = (task.done as f64 / total as f64).min(1.0);
            let filled = (part * BAR as f64) as usize;
            pieces.push(piece(7, FILLED, format!("{}{}", "━".repeat(filled), "╌".repeat(BAR - filled))));
            pieces.push(piece(0, Style::new(), format!("{}/{total}", task.done)));
        }
        None => pieces.push(piece(0, Style::new(), task.done.to_string())),
    }
    if let Some(rate) = pace.rate() {
        pieces.push(piece(1, FAINT, format!("{rate:.1}/s")));
    }
    pieces.push(piece(5, FAINT, format!("{} in flight", task.in_flight)));
    match pace.left(task.total) {
        Some(left) => pieces.push(piece(2, FAINT, format!("eta {}", clock(left)))),
        None => pieces.push(piece(2, FAINT, clock(task.elapsed))),
    }
    if let Some((metric_id, score)) = &task.score {
        pieces.push(piece(8, FAINT, shortened(&printable_line(metric_id), NAME)));
        pieces.push(piece(3, Style::new(), number(score.mean)));
        if let Some((low, high)) = score.interval {
            pieces.push(piece(6, FAINT, format!("[{}, {}]", number(low), number(high))));
        }
    }
    if !task.failures.is_empty() {
        let all: u64 = task.failures.iter().map(|(_, count)| count).sum();
        let kinds: Vec<String> = task
            .failures
            .iter()
            .take(3)
            .map(|(kind, count)| format!("{count} {}", printable_line(kind)))
            .collect();
        let rest = if task.failures.len() > 3 { ", …" } else { "" };
        pieces.push(piece(3, ATTENTION, format!("{all} failed")));
        pieces.push(piece(4, ATTENTION, format!("({}{rest})", kinds.join(", "))));
    }
    pieces
}

/// Four digits that matter between -10 and 10, else as few as a person reads.
fn number(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.4}") } else { format!("{value:.1}") }
}

fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        if short.width() + unicode_width::UnicodeWidthChar::width(character).unwrap_or(0) >= columns {
            break;
        }
        short.push(character);
    }
    short.push('…');
    short
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
    fn without_a_total_there_is_a_clock() {
        let task = Snapshot { total: None, score: None, failures: Vec::new(), ..snapshot("stream") };
        assert_eq!(line(&task, &pace(), 80, false), "stream 120 40.0/s 16 in flight 0:03");
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
