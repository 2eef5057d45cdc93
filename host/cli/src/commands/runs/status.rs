//! `gage-host runs status`: shows how far the shards of a run are.

use super::super::compare::refuse_run;
use super::super::{merge, next_command, setup};
use crate::arguments::RunsStatusArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::{
    Manifest, RecordError, RunFolder, ShardRow, ShardState, ShardStatus, ShardedRun, ShardedRunFollower,
    has_shards, unix_milliseconds,
};
use gage_storage::ObjectUrl;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// Minimum number of equal neighbours that are one row.
const MIN_FOLDED_SHARDS: usize = 8;

/// Maximum number of shards whose reasons are printed.
const MAX_NOTES: usize = 10;

/// Interval at which the shards are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum time between two lines about samples without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Number of lines of a terminal that are not rows of the table: headings, notes, the summary and the prompt.
const OTHER_LINES: usize = 12;

const TABLE: terminal::Table<6> = terminal::Table {
    headings: ["shard", "state", "samples", "failed", "samples/s", "last change"],
    flexible: &[2],
    // The rate, the failures and the time.
    spare: &[4, 3, 5],
};

pub(super) fn execute(arguments: &RunsStatusArguments) -> anyhow::Result<ExitCode> {
    let (run, output_dir) = (&arguments.named.run, &arguments.named.output_dir);
    if let Some(url) = run.to_str().filter(|name| ObjectUrl::is_url(name)) {
        let message = format!("runs status reads only folders of this machine, and not {url}");
        let help = format!(
            "`gage-host merge {}` fetches the shards that are there, and names those that are missing",
            terminal::shell_word(url)
        );
        return Ok(terminal::usage_error(&message, Some(&help)));
    }
    let folder = merge::sharded_folder(run, output_dir);
    if !has_shards(&folder) {
        let folder = setup::run_folder(run, output_dir);
        // All folders of its shards may be deleted.
        if Manifest::read(&folder).is_ok_and(|manifest| !manifest.shards.is_empty()) {
            return show(&folder, arguments.json);
        }
        if RunFolder::has_manifest(&folder) {
            let message = format!("{} is a run without shards", folder.display());
            let help =
                format!("see it with `gage-host runs show {}`", terminal::shell_word(folder.display()));
            return Ok(terminal::usage_error(&message, Some(&help)));
        }
        return Ok(refuse_run(RecordError::NotARunFolder { path: folder }, run, output_dir));
    }
    if !arguments.watch {
        return show(&folder, arguments.json);
    }
    let run = watch(&folder)?;
    print_next(&folder, &run, true);
    Ok(ExitCode::Done)
}

/// Shows how far the shards in a folder are.
pub(super) fn show(folder: &Path, is_json: bool) -> anyhow::Result<ExitCode> {
    let run = ShardedRunFollower::new(folder).read().map_err(refuse)?;
    if is_json {
        let mut json = serde_json::to_value(&run)?;
        json["path"] = folder.display().to_string().into();
        json["totals"] = json!(run.totals());
        json["next"] = next_command::after_status(folder, &run, false).into();
        terminal::print_json(format_args!("{json:#}"))?;
        return Ok(ExitCode::Done);
    }
    terminal::print_line(text_of(&run, usize::MAX))?;
    print_next(folder, &run, false);
    Ok(ExitCode::Done)
}

fn print_next(folder: &Path, run: &ShardedRun, is_watched: bool) {
    if let Some(command) = next_command::after_status(folder, run, is_watched) {
        next_command::print(&command);
    }
}

fn refuse(error: RecordError) -> ExitCode {
    terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), None)
}

/// Shows the shards until all have ended: in place on a terminal, otherwise a line after a change.
fn watch(folder: &Path) -> anyhow::Result<ShardedRun> {
    let mut follower = ShardedRunFollower::new(folder);
    let mut display = WatchDisplay::default();
    loop {
        let run = follower.read().map_err(refuse)?;
        display.update(&run)?;
        if run.has_ended() {
            return Ok(run);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// The state that was printed last.
#[derive(Default)]
struct WatchDisplay {
    text: String,
    states: Vec<ShardState>,
    printed: Option<Instant>,
}

impl WatchDisplay {
    fn update(&mut self, run: &ShardedRun) -> anyhow::Result<()> {
        let states: Vec<ShardState> = run.shards.iter().map(|shard| shard.state).collect();
        let is_in_place = terminal::can_replace_lines();
        let text = if is_in_place { text_of(run, max_rows()) } else { run.summary() };
        let is_due = is_in_place || self.printed.is_none_or(|printed| printed.elapsed() >= LINE_INTERVAL);
        if text == self.text || !(is_due || states != self.states) {
            return Ok(());
        }
        if is_in_place {
            terminal::delete_lines(self.text.lines().count());
        }
        terminal::print_line(&text)?;
        *self = WatchDisplay { text, states, printed: Some(Instant::now()) };
        Ok(())
    }
}

fn max_rows() -> usize {
    terminal::terminal_height().unwrap_or(usize::MAX).saturating_sub(OTHER_LINES).max(1)
}

/// Formats the table, the reasons of shards that are not done, and the summary.
fn text_of(run: &ShardedRun, max_rows: usize) -> String {
    let rows = run.rows(MIN_FOLDED_SHARDS);
    let now = unix_milliseconds();
    let cells: Vec<[String; 6]> = rows.iter().take(max_rows).map(|row| cells(row, now)).collect();
    let mut parts = vec![TABLE.draw(&cells)];
    if rows.len() > cells.len() {
        parts.push(format!("  … and {}", terminal::count_of((rows.len() - cells.len()) as u64, "more row")));
    }
    let mut lines = notes(&rows, if max_rows == usize::MAX { MAX_NOTES } else { 3 });
    lines.extend([run.summary(), run.merge_summary()]);
    let lines = lines.iter().map(|line| terminal::wrapped(&gage_core::printable_line(line), 2));
    parts.extend(lines);
    parts.join("\n")
}

fn cells(row: &ShardRow, now: u64) -> [String; 6] {
    let ShardRow { last, shard } = row;
    let nothing = || "-".to_owned();
    let is_started = shard.state != ShardState::NotStarted;
    let number = if shard.number == *last { last.to_string() } else { format!("{}-{last}", shard.number) };
    [
        number,
        shard.state.name().to_owned(),
        shard.samples().filter(|_| is_started).unwrap_or_else(nothing),
        shard.failed.filter(|_| is_started).map_or_else(nothing, |failed| failed.to_string()),
        shard.samples_per_s.map_or_else(nothing, |rate| format!("{rate:.1}")),
        shard.age(now).map_or_else(nothing, |age| format!("{age} ago")),
    ]
}

/// Formats the reasons why shards stopped or cannot be read.
fn notes(rows: &[ShardRow], max_notes: usize) -> Vec<String> {
    let with_reasons: Vec<String> = rows.iter().filter_map(note).collect();
    let mut notes: Vec<String> = with_reasons.iter().take(max_notes).cloned().collect();
    if with_reasons.len() > max_notes {
        notes.push(format!("and {} more with a reason; see --json", with_reasons.len() - max_notes));
    }
    notes
}

fn note(row: &ShardRow) -> Option<String> {
    let ShardRow { last, shard: ShardStatus { number, state, reason, .. } } = row;
    let reason = reason.as_ref()?;
    let shards = match number == last {
        true => format!("shard {number}"),
        false => format!("shards {number} to {last}"),
    };
    Some(format!("{shards}, {}: {reason}", state.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::MergeState;

    fn shard(number: u64, state: ShardState, reason: Option<&str>) -> ShardStatus {
        ShardStatus {
            number,
            state,
            reason: reason.map(str::to_owned),
            recorded: Some(if state == ShardState::Done { 8_000 } else { 0 }),
            planned: Some(8_000),
            failed: Some(0),
            samples_per_s: (state == ShardState::Running).then_some(12.5),
            changed_unix_ms: None,
        }
    }

    #[test]
    fn many_equal_shards_are_one_row_and_reasons_follow() {
        let mut shards: Vec<ShardStatus> =
            (1..=9).map(|number| shard(number, ShardState::Done, None)).collect();
        shards.push(shard(10, ShardState::Running, None));
        shards.push(shard(11, ShardState::Stopped, Some("it was killed")));
        shards.extend((12..=30).map(|number| shard(number, ShardState::NotStarted, None)));
        let run = ShardedRun {
            run_id: "nightly".to_owned(),
            suite: None,
            models: Vec::new(),
            created_at: None,
            merge: MergeState::NotMerged,
            shards,
        };
        let rows = run.rows(MIN_FOLDED_SHARDS);
        let table: Vec<[String; 6]> = rows.iter().map(|row| cells(row, 0)).collect();
        let expected = "  shard  state        samples           failed  samples/s  last change
  1-9    done         72,000 of 72,000  0       -          -
  10     running      0 of 8,000        0       12.5       -
  11     stopped      0 of 8,000        0       -          -
  12-30  not started  -                 -       -          -";
        assert_eq!(terminal::columns(TABLE.headings, &table), expected);
        assert_eq!(notes(&rows, MAX_NOTES), ["shard 11, stopped: it was killed"]);
        assert_eq!(notes(&rows, 0), ["and 1 more with a reason; see --json"]);
        let expected = "9 of 30 shards are done, 1 runs, 1 was stopped, 19 were not started: 72,000 of 240,000 samples; \
                        13 samples/s; about 4 h left";
        assert_eq!(run.summary(), expected);
        let (text, short) = (text_of(&run, usize::MAX), text_of(&run, 2));
        assert!(text.ends_with("\nthe shards are not merged") && !text.contains('…'), "{text}");
        assert!(short.contains("  10     running") && short.contains("\n  … and 2 more rows\n"), "{short}");
    }
}
