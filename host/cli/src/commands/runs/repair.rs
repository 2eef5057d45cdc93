//! `gage-host runs repair`: sets damaged lines of a journal aside.

use super::super::compare::refuse_run;
use super::super::setup;
use crate::arguments::RunsRepairArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::format::{DAMAGED_FOLDER, JOURNAL_FOLDER};
use gage_record::{DamageKind, DamagedLine, JournalRepair, Manifest, RepairReport, ShardOfRun};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum number of damaged lines of a kind that the text names.
const MAX_LINES: usize = 5;

/// Maximum number of samples of a task that the text names.
const MAX_SAMPLES: usize = 10;

/// Width of the labels of the text, in columns.
const LABEL_WIDTH: usize = 10;

pub(super) fn execute(arguments: &RunsRepairArguments) -> anyhow::Result<ExitCode> {
    let named = &arguments.named;
    let folder = setup::run_folder(&named.run, &named.output_dir);
    let report =
        JournalRepair::run(&folder).map_err(|error| refuse_run(error, &named.run, &named.output_dir))?;
    // The repair has read it.
    let shard = Manifest::read(&folder).ok().and_then(|manifest| manifest.shard);
    let next = next_command(&report.run_id, &folder, shard.as_ref());
    if arguments.json {
        let mut json = serde_json::to_value(&report)?;
        json["next"] = report.is_damaged.then_some(next).into();
        terminal::print_json(format_args!("{json:#}"))?;
    } else {
        let text = match report.is_damaged {
            true => repaired_text(&report, &folder, next),
            false => format!(
                "nothing is damaged: the journal of {} has {}, and nothing was changed",
                report.run_id,
                terminal::count_of(report.kept_lines, "line")
            ),
        };
        terminal::print_line(terminal::wrapped(&gage_core::printable(&text), LABEL_WIDTH))?;
    }
    Ok(ExitCode::Done)
}

/// Formats what a repair has found and done: a line for each kind.
fn repaired_text(report: &RepairReport, folder: &Path, next: String) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |label: &str, text: String| lines.push(format!("{label:<LABEL_WIDTH$}{text}"));
    add("kept", format!("{} of the journal", terminal::count_of(report.kept_lines, "line")));
    let mut kinds: BTreeMap<DamageKind, Vec<&DamagedLine>> = BTreeMap::new();
    for line in &report.damaged_lines {
        kinds.entry(line.kind).or_default().push(line);
    }
    for (kind, damaged) in &kinds {
        let what = if matches!(kind, DamageKind::Frame | DamageKind::FrameTable) { "part" } else { "line" };
        let count = terminal::count_of(damaged.len() as u64, what);
        let places = damaged.iter().map(|line| format!("{}:{}", line.segment, line.line));
        add("set aside", format!("{count}: {} ({})", kind.text(), listed(places, MAX_LINES)));
    }
    for (task_id, samples) in samples_of(report) {
        let samples = listed(samples.into_values().map(str::to_owned), MAX_SAMPLES);
        add("samples", format!("{samples} of the task {task_id} had damaged lines"));
    }
    if report.missing_lines > 0 {
        let count = terminal::count_of(report.missing_lines, "line");
        add("missing", format!("at least {count}: no file has them"));
    }
    if !report.missing_segments.is_empty() {
        add("missing", format!("the files {}", listed(report.missing_segments.iter().cloned(), MAX_LINES)));
    }
    if !report.changed_files.is_empty() {
        let files = listed(report.changed_files.iter().cloned(), MAX_LINES);
        add("changed", format!("{files}: not as the run had written it, but no line is damaged"));
    }
    if report.is_count_lost {
        add(
            "count",
            "journal/recorded was unreadable and is written again; whether lines are missing from the end is unknown"
                .to_owned(),
        );
    }
    if !report.damaged_lines.is_empty() {
        add("moved to", folder.join(JOURNAL_FOLDER).join(DAMAGED_FOLDER).display().to_string());
    }
    add("next", next);
    lines.join("\n")
}

/// Formats the first names of a list, and the number of the others.
fn listed(names: impl Iterator<Item = String>, most: usize) -> String {
    let names: Vec<String> = names.collect();
    let left_out = names.len().saturating_sub(most);
    let shown = names.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    if left_out > 0 { format!("{shown} and {left_out} more") } else { shown }
}

/// Returns the ids of the samples that damaged lines name, by task and by the number of the row. Lines that are whole are
/// left out.
fn samples_of(report: &RepairReport) -> BTreeMap<&str, BTreeMap<u64, &str>> {
    let mut samples: BTreeMap<&str, BTreeMap<u64, &str>> = BTreeMap::new();
    for line in &report.damaged_lines {
        let is_whole = matches!(line.kind, DamageKind::OrphanedScores | DamageKind::Duplicate);
        if let Some(sample) = line.sample.as_ref().filter(|_| !is_whole) {
            samples.entry(&sample.task_id).or_default().insert(sample.index, &sample.sample_id);
        }
    }
    samples
}

/// Returns the command that continues a run, or a shard.
fn next_command(run_id: &str, folder: &Path, shard: Option<&ShardOfRun>) -> String {
    // The folder of a shard is two folders below that of its run.
    let depth = if shard.is_some() { 3 } else { 1 };
    let root_of = |folder: &Path| folder.ancestors().nth(depth).map(Path::to_owned);
    // The folder may be given as `.`, or from within the run.
    let named = folder.file_name().and_then(|_| root_of(folder));
    let root = named.or_else(|| root_of(&folder.canonicalize().ok()?)).unwrap_or_default();
    let place = match root.to_str() {
        Some("runs") => String::new(),
        Some("") => " --output-dir .".to_owned(),
        _ => format!(" --output-dir {}", terminal::shell_word(root.display())),
    };
    match shard {
        Some(ShardOfRun { run_id, number, count, .. }) => {
            let run_id = terminal::shell_word(run_id);
            format!("gage-host run SUITE --run-id {run_id} --shard {number}/{count}{place}")
        }
        None => format!("gage-host run SUITE --run-id {}{place} --resume", terminal::shell_word(run_id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::ROWS_PER_BATCH;

    #[test]
    fn the_next_command_names_the_run_and_its_place() {
        for (folder, place) in
            [("runs/r", ""), ("r", " --output-dir ."), ("/data/my runs/r", " --output-dir '/data/my runs'")]
        {
            let expected = format!("gage-host run SUITE --run-id r{place} --resume");
            assert_eq!(next_command("r", Path::new(folder), None), expected);
        }
    }

    #[test]
    fn the_next_command_of_a_shard_names_its_run() {
        let shard = ShardOfRun {
            run_id: "nightly".to_owned(),
            number: 3,
            count: 16,
            rows_per_batch: ROWS_PER_BATCH,
            max_samples: None,
            tasks: Vec::new(),
        };
        for (folder, place) in [
            ("runs/nightly/shards/03-of-16", ""),
            ("nightly/shards/03-of-16", " --output-dir ."),
            ("/my runs/nightly/shards/03-of-16", " --output-dir '/my runs'"),
        ] {
            let expected = format!("gage-host run SUITE --run-id nightly --shard 3/16{place}");
            assert_eq!(next_command("03-of-16", Path::new(folder), Some(&shard)), expected);
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let names = |count: usize| (0..count).map(|number| number.to_string());
        assert_eq!(listed(names(2), 2), "0, 1");
        assert_eq!(listed(names(5), 2), "0, 1 and 3 more");
        assert_eq!(listed(names(0), 2), "");
    }
}
