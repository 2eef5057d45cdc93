//! The cells of the tables of a plan.

use gage_engine::Range;
use unicode_width::UnicodeWidthStr as _;

/// Number of spaces between columns.
pub(super) const GAP: usize = 2;
/// Minimum width of a shortened name column.
const MIN_FIRST_COLUMN_WIDTH: usize = 8;

/// Formats some columns of rows in a width, with names on the left and figures on the right. Spare columns are left out if
/// there is no room for them, then names are cut.
pub(super) fn aligned<const N: usize>(
    rows: &[[String; N]],
    mut shown: Vec<usize>,
    spare: &[usize],
    width: usize,
) -> Vec<String> {
    let mut widths: [usize; N] =
        std::array::from_fn(|place| rows.iter().map(|row| row[place].width()).max().unwrap_or(0));
    let total = |widths: &[usize; N], shown: &[usize]| {
        shown.iter().map(|place| widths[*place]).sum::<usize>() + GAP * shown.len().saturating_sub(1)
    };
    let name = widths[0];
    let least = MIN_FIRST_COLUMN_WIDTH.min(name);
    for column in spare {
        if total(&widths, &shown).saturating_sub(name - least) > width {
            shown.retain(|place| place != column);
        }
    }
    widths[0] = name.saturating_sub(total(&widths, &shown).saturating_sub(width)).max(least);
    let line = |row: &[String; N]| {
        let cells = shown.iter().map(|place| {
            let cell = console::truncate_str(&row[*place], widths[*place], "…");
            let blanks = " ".repeat(widths[*place].saturating_sub(cell.width()));
            if *place == 0 { cell.into_owned() + &blanks } else { blanks + &cell }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

pub(super) fn cost(range: Option<Range>) -> String {
    let amount = |amount: f64| match amount {
        0.0 => "0".to_owned(),
        small if small < 0.01 => format!("{small:.4}"),
        amount if amount < 1_000.0 => format!("{amount:.2}"),
        large => count(large),
    };
    range.map_or_else(|| "–".to_owned(), |range| spread(range, amount))
}

/// Formats a count in at most five columns.
pub(super) fn count(number: f64) -> String {
    match number {
        small if small < 10_000.0 => format!("{small:.0}"),
        number if number < 999_500.0 => format!("{:.0}k", number / 1e3),
        number if number < 9.95e6 => format!("{:.1}M", number / 1e6),
        number if number < 9.995e8 => format!("{:.0}M", number / 1e6),
        number => format!("{:.1}G", number / 1e9),
    }
}

pub(super) fn duration(seconds: f64) -> String {
    // Durations stay far below 2^53 seconds, and are not negative.
    let whole = seconds.ceil() as u64;
    match whole {
        0..60 => format!("{whole}s"),
        60..3_600 => format!("{}m{:02}s", whole / 60, whole % 60),
        3_600..172_800 => format!("{}h{:02}m", whole / 3_600, whole % 3_600 / 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3_600),
    }
}

/// Formats a range, or its only value.
pub(super) fn spread(range: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(range.low), show(range.high));
    if low == high { low } else { format!("{low}–{high}") }
}

pub(super) fn whole(range: Range) -> String {
    spread(range, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (number, shown) in
            [(0.0, "0"), (9_999.0, "9999"), (14_042.0, "14k"), (1.23e6, "1.2M"), (5e7, "50M"), (2e9, "2.0G")]
        {
            assert_eq!(count(number), shown);
        }
        for (seconds, shown) in [(0.2, "1s"), (61.0, "1m01s"), (7_260.0, "2h01m"), (200_000.0, "2d07h")] {
            assert_eq!(duration(seconds), shown);
        }
    }

    #[test]
    fn spare_columns_are_left_out_before_names_are_cut() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        let rows = [row(["a long name of a task", "30", "1234–5678", "5s"]), row(["b", "4", "9", "7m10s"])];
        for (width, expected) in [
            (80, "a long name of a task  30  1234–5678     5s"),
            (40, "a long name of a …  30  1234–5678     5s"),
            (24, "a long name …  30     5s"),
            (10, "a long …  30     5s"),
        ] {
            let lines = aligned(&rows, vec![0, 1, 2, 3], &[2], width);
            assert_eq!(lines.first().map(String::as_str), Some(expected), "in {width} columns");
        }
    }
}
