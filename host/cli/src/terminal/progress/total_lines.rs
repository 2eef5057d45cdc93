//! Lines below those of the tasks: tokens, cost and rate of the run, the slowest task, the last failure, and the viewer.

use super::pace::{Pace, clock};
use super::tally::Snapshot;
use super::totals::TotalsSnapshot;
use anstyle::{AnsiColor, Style};
use console::truncate_str;
use gage_core::printable_line;
use indicatif::HumanCount;
use unicode_width::UnicodeWidthStr as _;

const FAINT: Style = Style::new().dimmed();
const ATTENTION: Style = AnsiColor::Yellow.on_default();
const SEPARATOR: &str = " · ";

/// Minimum width of a cost with the beginning of its note, in columns.
const MIN_NOTED_COST: usize = 22;

/// Formats the lines, each of a maximum width in columns. `tasks` are those that run, and `tokens` is the pace of the run
/// in tokens.
pub(super) fn total_lines(
    totals: &TotalsSnapshot,
    tasks: &[(&Snapshot, &Pace)],
    tokens: &Pace,
    columns: usize,
    has_colour: bool,
) -> Vec<String> {
    let painted = |text: String, style: Style| match has_colour {
        true => format!("{style}{text}{style:#}"),
        false => text,
    };
    let cut = |text: &str| truncate_str(&printable_line(text), columns, "…").into_owned();
    let mut lines = Vec::new();
    if let Some(line) = usage_line(totals, tasks, tokens, columns) {
        lines.push(painted(line, FAINT));
    }
    if let Some(line) = slowest(tasks) {
        lines.push(painted(cut(&line), FAINT));
    }
    if let Some(failure) = &totals.last_failure {
        lines.push(painted(cut(&format!("last failure: {failure}")), ATTENTION));
    }
    // Half an address or half a command is of no use.
    let view = format!("view: {}", printable_line(&totals.view));
    if !totals.view.is_empty() && view.width() <= columns {
        lines.push(painted(view, FAINT));
    }
    lines
}

/// Formats tokens, cost and rates. Parts that do not fit are left out, the last ones first.
fn usage_line(
    totals: &TotalsSnapshot,
    tasks: &[(&Snapshot, &Pace)],
    tokens: &Pace,
    columns: usize,
) -> Option<String> {
    let usage = &totals.usage;
    let mut parts = Vec::new();
    if usage.prompt_tokens > 0 || usage.completion_tokens > 0 {
        parts.push(format!("{} tokens in", HumanCount(usage.prompt_tokens)));
        parts.push(format!("{} out", HumanCount(usage.completion_tokens)));
    }
    let note = usage.missing_prices.as_ref().map(|missing| format!(" ({})", printable_line(missing)));
    let note = note.unwrap_or_default();
    let cost = usage.cost.map(|cost| format!("cost {cost:.4}{note}"));
    parts.extend(cost.clone());
    // The line of a single task has its rate.
    if tasks.len() > 1 {
        let rates: Vec<f64> = tasks.iter().filter_map(|(_, pace)| pace.rate()).collect();
        let all: f64 = rates.iter().sum();
        parts.extend((!rates.is_empty()).then(|| format!("{all:.1} samples/s")));
    }
    let rate = tokens.rate().filter(|rate| *rate > 0.0);
    parts.extend(rate.map(|rate| format!("{rate:.0} tokens/s")));
    while parts.join(SEPARATOR).width() > columns {
        let last = parts.pop();
        let room = columns.saturating_sub(parts.join(SEPARATOR).width() + SEPARATOR.width());
        // Part of the note is better than no cost, and than one that looks complete.
        if let Some(cost) = last.filter(|part| !note.is_empty() && Some(part) == cost.as_ref())
            && room >= MIN_NOTED_COST
        {
            parts.push(truncate_str(&cost, room, "…").into_owned());
            break;
        }
    }
    (!parts.is_empty()).then(|| parts.join(SEPARATOR))
}

/// Names the task with the longest estimate, if several run.
fn slowest(tasks: &[(&Snapshot, &Pace)]) -> Option<String> {
    let estimated = tasks.iter().filter_map(|(task, pace)| Some((pace.left(task.total)?, task)));
    let (left, task) = estimated.max_by_key(|(left, _)| *left).filter(|_| tasks.len() > 1)?;
    Some(format!("slowest: {}, about {} left", task.task_id, clock(left)))
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::snapshot;
    use super::*;
    use gage_runner::RunUsage;
    use proptest::prelude::*;
    use std::time::Duration;

    fn pace(done: u64) -> Pace {
        let mut pace = Pace::default();
        pace.note(Duration::ZERO, 0);
        pace.note(Duration::from_secs(3), done);
        pace
    }

    fn totals(failure: &str) -> TotalsSnapshot {
        TotalsSnapshot {
            usage: RunUsage {
                prompt_tokens: 12_345,
                completion_tokens: 4_567,
                cost: Some(0.01234),
                missing_prices: None,
                uncounted: 0,
            },
            last_failure: Some(failure.to_owned()),
            view: "http://127.0.0.1:7878/".to_owned(),
            elapsed: Duration::from_secs(3),
        }
    }

    #[test]
    fn totals_fit_60_80_and_110_columns() {
        let (quick, slow) = (snapshot("quick"), snapshot("slow"));
        let (fast, tardy) = (pace(120), pace(12));
        let tasks = [(&quick, &fast), (&slow, &tardy)];
        let failure = "slow q17: timeout: the server gave no answer within 60 s, after three attempts in all";
        let shown = |columns| total_lines(&totals(failure), &tasks, &pace(4_567), columns, false).join("\n");
        assert_eq!(
            shown(110),
            "12,345 tokens in · 4,567 out · cost 0.0123 · 44.0 samples/s · 1522 tokens/s\n\
             slowest: slow, about 2:02 left\n\
             last failure: slow q17: timeout: the server gave no answer within 60 s, after three attempts in all\n\
             view: http://127.0.0.1:7878/"
        );
        assert_eq!(
            shown(60),
            "12,345 tokens in · 4,567 out · cost 0.0123 · 44.0 samples/s\n\
             slowest: slow, about 2:02 left\n\
             last failure: slow q17: timeout: the server gave no answer …\n\
             view: http://127.0.0.1:7878/"
        );
        assert_eq!(shown(16), "12,345 tokens in\nslowest: slow, …\nlast failure: s…");
    }

    #[test]
    fn a_cost_names_the_models_without_a_price() {
        let usage =
            RunUsage { missing_prices: Some("no price for `judge-model`".to_owned()), ..totals("").usage };
        let totals = TotalsSnapshot { usage, ..totals("") };
        for (columns, expected) in [
            (71, "12,345 tokens in · 4,567 out · cost 0.0123 (no price for `judge-model`)"),
            (70, "12,345 tokens in · 4,567 out · cost 0.0123 (no price for `judge-model…"),
            (53, "12,345 tokens in · 4,567 out · cost 0.0123 (no price…"),
            (52, "12,345 tokens in · 4,567 out"),
        ] {
            let shown = usage_line(&totals, &[], &Pace::default(), columns);
            assert_eq!(shown.as_deref(), Some(expected), "in {columns} columns");
        }
    }

    #[test]
    fn what_is_unknown_has_no_line() {
        let one = snapshot("one");
        let tasks = [(&one, &pace(3))];
        let shown = total_lines(&TotalsSnapshot::default(), &tasks, &Pace::default(), 80, false);
        assert_eq!(shown, [""; 0]);
    }

    #[test]
    fn a_failure_cannot_steer_the_terminal() {
        let shown = total_lines(&totals("t \u{1b}[2J\n\u{202e}"), &[], &Pace::default(), 80, false);
        assert!(shown.iter().all(|line| !line.chars().any(char::is_control)), "{shown:?}");
        assert!(shown[1].contains("\\u{1b}[2J\\n\\u{202e}"), "{shown:?}");
    }

    proptest! {
        #[test]
        fn every_line_keeps_to_its_columns(
            name in ".{0,40}", failure in ".{0,200}", tokens in 0_u64..1_000_000_000, columns in 1_usize..120
        ) {
            let (one, other) = (snapshot(&name), snapshot("other"));
            let usage = RunUsage { prompt_tokens: tokens, ..totals("").usage };
            let totals = TotalsSnapshot { usage, ..totals(&failure) };
            let (fast, slow) = (pace(120), pace(12));
            let lines = total_lines(&totals, &[(&one, &fast), (&other, &slow)], &pace(tokens), columns, false);
            for line in lines {
                prop_assert!(line.width() <= columns, "{line}");
            }
        }
    }
}
