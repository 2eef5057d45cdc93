//! Runs that are killed at any point, or whose disk fills up, and are resumed.
//!
//! `GAGE_TEST_KILLS=5000 cargo test -p gage-host --test end_to_end killed_runs` kills more often than the default of 200 times.

use crate::scripted_backend::constant_backend;
use crate::support::{RESULT_FILES, Workspace, rows, suite};
use std::collections::HashMap;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two scoring batches, the second of them not full.
const ROWS: usize = 40;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    let backend = constant_backend(&workspace, "answer 7");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    workspace
}

fn arguments(run_id: &str) -> Vec<&str> {
    vec!["run", "suite.yaml", "--run-id", run_id, "--concurrency", "4", "--quiet"]
}

fn journal(workspace: &Workspace, run_id: &str) -> Vec<u8> {
    std::fs::read(workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"))).unwrap_or_default()
}

/// Numbers that look random and are the same in every test run.
pub(crate) fn pseudo_random(seed: usize) -> usize {
    let mut state = (seed as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ (state >> 31)) as usize
}

/// Kills a process once a file has a length. Returns false if the process ended before.
fn kill_at_length(child: &mut Child, file: &Path, length: usize) -> bool {
    loop {
        if let Some(status) = child.try_wait().expect("its state") {
            return !status.success();
        }
        if std::fs::metadata(file).is_ok_and(|data| data.len() as usize >= length) {
            child.kill().expect("killed");
            return !child.wait().expect("gone").success();
        }
        std::thread::yield_now();
    }
}

/// Returns the whole lines of a journal. All of them were acknowledged, except possibly the last.
fn whole_lines(journal: &[u8]) -> &[u8] {
    &journal[..journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

/// Returns the number of times that each row's answer was recorded.
fn answer_counts(journal: &[u8]) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for line in
        String::from_utf8_lossy(journal).lines().filter(|line| line.contains(r#""awaits_scores":true"#))
    {
        let json: serde_json::Value = serde_json::from_str(&line[9..]).expect("JSON");
        *counts.entry(json["index"].as_u64().expect("a row")).or_default() += 1;
    }
    counts
}

/// Resumes a run after a failure. Checks that nothing is lost or repeated, and that its files have the bytes of an undisturbed
/// run.
fn check_resumed(workspace: &Workspace, run_id: &str, before: &[u8]) {
    let resume: Vec<&str> = match workspace.path(&format!("runs/{run_id}/manifest.json")).exists() {
        true => [&arguments(run_id)[..], &["--resume"]].concat(),
        // It was killed before it had a manifest, so it starts again.
        false => arguments(run_id),
    };
    workspace.run(&resume).expect_code(0);
    let after = journal(workspace, run_id);
    assert!(after.starts_with(whole_lines(before)), "{run_id}: what was acknowledged is gone");
    let counts = answer_counts(&after);
    assert_eq!(counts.len(), ROWS, "{run_id}: {counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{run_id}: an answer was asked for twice: {counts:?}");
    workspace.assert_equal_files(run_id, "whole", &RESULT_FILES);
    let fuel = |run_id: &str| workspace.scoring_fuel(run_id, 0);
    assert_eq!(fuel(run_id), fuel("whole"), "{run_id}: the work of the scorers");
}

#[test]
fn run_killed_anywhere_resumes_to_the_same_bytes() {
    let kills: usize =
        std::env::var("GAGE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let length = journal(&workspace, "whole").len();
    let (next, killed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                // A run can end before it is killed if the length is near that of the whole journal.
                while killed.load(Ordering::SeqCst) < kills && next.load(Ordering::SeqCst) < 4 * kills {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let run_id = format!("killed-{number}");
                    let mut child = workspace.start_silent(&arguments(&run_id));
                    let file = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
                    if kill_at_length(&mut child, &file, pseudo_random(number) % length) {
                        killed.fetch_add(1, Ordering::SeqCst);
                        check_resumed(&workspace, &run_id, &journal(&workspace, &run_id));
                    }
                    std::fs::remove_dir_all(workspace.path(&format!("runs/{run_id}"))).expect("removed");
                }
            });
        }
    });
    assert!(killed.into_inner() >= kills, "{next:?} runs");
}

#[test]
fn journal_cut_at_any_byte_resumes_to_the_same_bytes() {
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let whole = journal(&workspace, "whole");
    let header = whole.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
    let records = &whole[header..];
    for number in 0..20 {
        let run_id = format!("torn-{number}");
        // Its manifest names the same journal.
        let mut bytes = journal_header(&run_id, &journal_id(&workspace, "whole"));
        bytes.extend_from_slice(&records[..pseudo_random(number) % records.len()]);
        workspace.write(&format!("runs/{run_id}/journal/000001.jsonl"), &bytes);
        write_running_manifest(&workspace, "whole", &run_id);
        check_resumed(&workspace, &run_id, &bytes);
    }
}

/// Returns the id of a run's journal.
pub(crate) fn journal_id(workspace: &Workspace, run_id: &str) -> String {
    workspace.json(run_id, "manifest.json")["journal_id"].as_str().expect("an id").to_owned()
}

/// Writes the manifest of a run that was started like a whole run and has not ended, and a durable count of 0. It names the
/// journal of the whole run.
pub(crate) fn write_running_manifest(workspace: &Workspace, whole: &str, run_id: &str) {
    let mut manifest = workspace.json(whole, "manifest.json");
    manifest["run_id"] = run_id.into();
    manifest["status"] = "running".into();
    let keys = manifest.as_object_mut().expect("a manifest");
    keys.shift_remove("finished_at");
    keys.insert("files".to_owned(), serde_json::json!({}));
    let id = journal_id(workspace, whole);
    let recorded = journal_line(&format!(r#"{{"journal_id":"{id}","lines":{:>20}}}"#, 0));
    workspace.write(&format!("runs/{run_id}/journal/recorded"), recorded);
    workspace.write(&format!("runs/{run_id}/manifest.json"), crate::verifying::with_digest(manifest));
}

pub(crate) fn journal_header(run_id: &str, journal_id: &str) -> Vec<u8> {
    let of_run = format!(r#""run_id":"{run_id}","journal_id":"{journal_id}""#);
    journal_line(&format!(r#"{{"format":"gage-journal","format_version":1,{of_run}}}"#))
}

/// Returns the line of a record in a journal.
pub(crate) fn journal_record(journal_id: &str, json: &str) -> String {
    let mut checksum = crc32fast::Hasher::new_with_initial(crc32fast::hash(journal_id.as_bytes()));
    checksum.update(json.as_bytes());
    format!("{:08x} {json}\n", checksum.finalize())
}

/// Returns a line that holds the id of its journal.
pub(crate) fn journal_line(json: &str) -> Vec<u8> {
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes()
}

#[test]
fn journal_of_another_run_is_an_error_with_its_position() {
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let whole = journal(&workspace, "whole");
    let text = String::from_utf8(whole.clone()).expect("UTF-8");
    let second = text.find('\n').expect("a header") + 1;
    let flipped = {
        let mut bytes = whole.clone();
        bytes[second + 40] ^= 1;
        bytes
    };
    let newer = text[9..second].trim_end().replace("\"format_version\":1,", "\"format_version\":99,");
    let newer = [journal_line(&newer), whole[second..].to_vec()].concat();
    // The run of another folder has the same id, and another journal.
    let other = "0123456789abcdef".repeat(2);
    for (case, bytes, expected) in [
        ("a flipped bit in the middle", flipped, "line 2: the checksum does not match"),
        (
            "the journal of another run",
            [journal_header("whole", &other), whole[second..].to_vec()].concat(),
            "000001.jsonl belongs to another journal: it has the journal id 0123456789abcdef0123456789abcdef, and",
        ),
        (
            "a record of another run",
            [&whole[..second], journal_record(&other, "{}").as_bytes(), &whole[second..]].concat(),
            "line 2: the checksum does not match",
        ),
        ("a newer version", newer, "format version 99"),
    ] {
        workspace.write("runs/whole/journal/000001.jsonl", &bytes);
        let ended = workspace.run(&[&arguments("whole")[..], &["--resume"]].concat());
        assert!(matches!(ended.code, Some(1 | 2)), "{case}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{case}: {}", ended.stderr);
        assert_eq!(journal(&workspace, "whole"), bytes, "{case}: the journal was written to");
    }
}

/// Returns the durable count of a journal: the larger number of the two slots.
fn recorded_lines(file: &Path) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let count = |slot: &str| {
        let (_, json) = slot.split_once(' ')?;
        serde_json::from_str::<serde_json::Value>(json).ok()?["lines"].as_u64()
    };
    text.lines().filter_map(count).max().unwrap_or(0)
}

/// Lost records are not requested again silently.
#[test]
fn killed_run_with_lost_records_is_not_resumed() {
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let length = journal(&workspace, "whole").len();
    let number = (0..50).find(|number| {
        let run_id = format!("r-{number}");
        let mut child = workspace.start_silent(&arguments(&run_id));
        let file = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
        // If the first lines were only just written, none of them counts as recorded yet.
        kill_at_length(&mut child, &file, length / 2) && recorded_lines(&file.with_file_name("recorded")) > 4
    });
    let run_id = format!("r-{}", number.expect("one of them was killed"));
    let file = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
    let whole = journal(&workspace, &run_id);
    let lines: Vec<&[u8]> = whole_lines(&whole).split_inclusive(|byte| *byte == b'\n').collect();
    assert!(lines.len() > 4, "{} lines", lines.len());
    let resume = [&arguments(&run_id)[..], &["--resume"]].concat();
    for (case, left, part) in [
        (
            "a line in the middle",
            Some([&lines[..2], &lines[3..]].concat().concat()),
            "line 3: it was written as line 4",
        ),
        ("most of its lines", Some(lines[..2].concat()), "it has 2 whole lines, and the run had recorded "),
        ("all of it", Some(Vec::new()), "it has 0 whole lines, and the run had recorded "),
        ("the file", None, "it has 0 whole lines, and the run had recorded "),
    ] {
        match &left {
            Some(bytes) => std::fs::write(&file, bytes).expect("written"),
            None => std::fs::remove_file(&file).expect("removed"),
        }
        let ended = workspace.run(&resume);
        assert!(matches!(ended.code, Some(1 | 2)), "{case}: {}", ended.transcript());
        assert!(ended.stderr.contains(part), "{case}: {}", ended.stderr);
        assert_eq!(std::fs::read(&file).ok(), left, "{case}: it was written to");
    }
    std::fs::write(&file, &whole).expect("written");
    let folder = file.parent().expect("its folder");
    std::fs::rename(folder, workspace.path("aside")).expect("moved");
    let ended = workspace.run(&resume);
    assert!(ended.stderr.contains("recorded cannot be used: it is gone"), "{}", ended.stderr);
    std::fs::rename(workspace.path("aside"), folder).expect("moved back");
    check_resumed(&workspace, &run_id, &whole);
}

/// A limit on the size of files acts like a full disk: a write fails half-way.
#[cfg(unix)]
#[test]
fn full_disk_loses_no_recorded_sample() {
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let blocks = journal(&workspace, "whole").len() / 512;
    // The file `recorded` of a new journal needs 9 blocks.
    const MIN_BLOCKS: usize = 10;
    for (number, share) in [10, 35, 60, 90].into_iter().enumerate() {
        let run_id = format!("full-{number}");
        let program = workspace.program();
        let mut command = workspace.program_in_shell(&format!(
            "ulimit -f {}; exec \"$0\" \"$@\"",
            (blocks * share / 100).max(MIN_BLOCKS)
        ));
        command.arg(program.get_program()).args(arguments(&run_id));
        let ended = crate::support::CommandOutput::of(command.output().expect("the shell runs"));
        assert_eq!(ended.code, Some(1), "{}", ended.transcript());
        for part in ["(`ulimit -f`)", "; no recorded", &format!("--run-id {run_id} --resume\n")] {
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
        }
        check_resumed(&workspace, &run_id, &journal(&workspace, &run_id));
    }
}

/// The first files of a run do not fit. A folder without a manifest could be taken for a run that lost it.
#[cfg(unix)]
#[test]
fn run_that_cannot_begin_leaves_no_folder() {
    let workspace = workspace();
    workspace.run(&arguments("whole")).expect_code(0);
    let program = workspace.program();
    let mut command = workspace.program_in_shell("ulimit -f 2; exec \"$0\" \"$@\"");
    command.arg(program.get_program()).args(arguments("r"));
    let ended = crate::support::CommandOutput::of(command.output().expect("the shell runs"));
    assert_eq!(ended.code, Some(1), "{}", ended.transcript());
    for part in
        ["journal/recorded: ", "(`ulimit -f`)", "help: remove the cause, then start the command again"]
    {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!workspace.path("runs/r").exists());
    workspace.run(&arguments("r")).expect_code(0);
}

#[test]
fn unwritable_output_folder_is_refused_before_any_request() {
    let workspace = workspace();
    for folder in ["suite.yaml", "suite.yaml/runs"] {
        let ended = workspace.run(&[&arguments("r")[..], &["--output-dir", folder]].concat()).expect_code(2);
        assert!(ended.stderr.contains("cannot write to the folder"), "{folder}: {}", ended.stderr);
    }
}
