//! `gage-host runs repair`: a run with a damaged journal is repaired, and resumed to the same bytes.

use crate::server::Server;
use crate::support::{CommandOutput, RESULT_FILES, Workspace, rows, suite};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const JOURNAL: &str = "runs/r/journal/000001.jsonl";

/// A finished run `r`, with its server and a copy of its results under `runs/whole`.
struct FinishedRun {
    server: Server,
    workspace: Workspace,
}

impl FinishedRun {
    /// `filler` makes each question longer.
    fn new(count: usize, filler: &str) -> FinishedRun {
        let server = Server::answering();
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(count).replace("\"question ", &format!("\"{filler}question ")));
        workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match, contains]"));
        workspace.run(&["run", "suite.yaml", "--run-id", "r", "--quiet"]).expect_code(0);
        for file in RESULT_FILES {
            workspace.write(&format!("runs/whole/{file}"), workspace.read(&format!("runs/r/{file}")));
        }
        FinishedRun { server, workspace }
    }

    fn repair(&self) -> CommandOutput {
        self.workspace.run(&["runs", "repair", "r"]).expect_code(0)
    }

    /// Resumes the run, and checks that its results have the bytes of the whole run. Returns the numbers of the questions
    /// that were asked.
    fn resume(&self) -> Vec<usize> {
        let before = self.server.requests();
        self.workspace.run(&["run", "suite.yaml", "--run-id", "r", "--resume", "--quiet"]).expect_code(0);
        self.workspace.assert_equal_files("r", "whole", &RESULT_FILES);
        self.workspace.run(&["verify", "r"]).expect_code(0);
        let number = |body: &Value| body["messages"][0]["content"].as_str()?.rsplit(' ').next()?.parse().ok();
        let mut asked: Vec<usize> = self.server.bodies().iter().skip(before).filter_map(number).collect();
        asked.sort_unstable();
        asked
    }

    /// Flips a bit in the middle of the lines of the journal that contain some texts. Returns the numbers of these lines.
    fn flip_bits(&self, texts: &[[&str; 2]]) -> Vec<usize> {
        let journal = self.workspace.read(JOURNAL);
        let mut numbers = Vec::new();
        let mut bytes = Vec::with_capacity(journal.len());
        for (number, line) in journal.split_inclusive('\n').enumerate() {
            let mut line = line.as_bytes().to_vec();
            let text = String::from_utf8_lossy(&line).into_owned();
            if texts.iter().any(|parts| parts.iter().all(|part| text.contains(*part))) {
                numbers.push(number + 1);
                let end = line.len() - 20;
                line[end] ^= 1;
            }
            bytes.extend(line);
        }
        assert_eq!(numbers.len(), texts.len());
        fs::write(self.workspace.path(JOURNAL), bytes).expect("written");
        numbers
    }
}

const ANSWER: &str = r#""awaits_scores":true"#;
const SCORES: &str = r#""scored_together":"#;

#[test]
fn damaged_lines_of_a_finished_run_are_asked_again() {
    let run = FinishedRun::new(40, "");
    let FinishedRun { workspace, .. } = &run;
    let numbers = run.flip_bits(&[
        [r#""sample_id":"q3""#, ANSWER],
        [r#""sample_id":"q35""#, ANSWER],
        [r#""sample_id":"q10""#, SCORES],
    ]);
    let refused = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--resume"]).expect_code(2);
    assert!(refused.stderr.contains("repair it with `gage-host runs repair RUN`"), "{}", refused.stderr);
    workspace.run(&["verify", "r"]).expect_code(3);

    let repaired = run.repair().stdout;
    let places: Vec<String> = numbers.iter().map(|number| format!("000001.jsonl:{number}")).collect();
    for part in [
        "set aside 3 lines: the checksum does not match (",
        &places.join(", "),
        "scores whose answer is lost or may be lost",
        "samples   q3, q10, q35 of the task rows had damaged lines",
        "moved to  runs/r/journal/damaged",
        "next      gage-host run SUITE --run-id r --resume",
    ] {
        assert!(repaired.contains(part), "{part}\n{repaired}");
    }
    assert!(!repaired.contains("missing"), "{repaired}");
    // The run must be resumed before its figures count again.
    let verified = workspace.run(&["verify", "r"]).expect_code(2);
    assert!(verified.stderr.contains("the run r has not ended (status `running`)"), "{}", verified.stderr);
    let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
    assert!(shown.stdout.contains("killed; continue it with --resume"), "{}", shown.stdout);

    assert_eq!(run.resume(), [3, 35]);
    let again = run.repair().stdout;
    assert!(again.starts_with("nothing is damaged: the journal of r has "), "{again}");
    assert!(run.resume().is_empty());
}

#[test]
fn lost_scores_are_computed_again_without_a_request() {
    let run = FinishedRun::new(40, "");
    run.flip_bits(&[[r#""sample_id":"q39""#, SCORES]]);
    run.repair();
    assert!(run.resume().is_empty());
}

#[test]
fn json_of_a_repair_lists_what_was_set_aside() {
    let run = FinishedRun::new(5, "");
    let FinishedRun { workspace, .. } = &run;
    let intact = workspace.run(&["runs", "repair", "r", "--json"]).expect_code(0).stdout_json();
    assert_eq!((&intact["is_damaged"], &intact["next"]), (&false.into(), &Value::Null));
    let numbers = run.flip_bits(&[[r#""sample_id":"q2""#, ANSWER]]);
    let repaired = workspace.run(&["runs", "repair", "runs/r", "--json"]).expect_code(0).stdout_json();
    let line = &repaired["damaged_lines"][0];
    assert_eq!((&repaired["is_damaged"], &line["kind"]), (&true.into(), &"checksum".into()));
    assert_eq!((&line["line"], &line["sample"]["sample_id"]), (&numbers[0].into(), &"q2".into()));
    assert_eq!(repaired["next"], "gage-host run SUITE --run-id r --resume");
    // The same list is kept beside the bytes.
    let list = workspace.json("r", "journal/damaged/repair-1.json");
    assert_eq!(list["damaged_lines"], repaired["damaged_lines"]);
    let bytes = fs::read(workspace.path("runs/r/journal/damaged/repair-1-000001")).expect("the bytes");
    let lines = repaired["damaged_lines"].as_array().expect("lines");
    let total: u64 = lines.iter().filter_map(|line| line["bytes"].as_u64()).sum();
    assert_eq!(bytes.len() as u64, total);
    assert_eq!(run.resume(), [2]);
}

/// Lines can be missing without any damage.
#[test]
fn missing_lines_and_a_lost_count_are_reported() {
    let run = FinishedRun::new(10, "");
    let FinishedRun { workspace, .. } = &run;
    let journal = workspace.read(JOURNAL);
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    let cut = lines.len() - 4;
    workspace.write(JOURNAL, lines[..cut].concat());
    let repaired = run.repair().stdout;
    assert!(repaired.contains("missing   at least 4 lines: no file has them"), "{repaired}");
    assert!(run.resume().is_empty(), "only scores were missing");

    fs::remove_file(workspace.path("runs/r/journal/recorded")).expect("removed");
    let repaired = run.repair().stdout;
    assert!(repaired.contains("count     journal/recorded was unreadable"), "{repaired}");
    assert!(run.resume().is_empty());

    fs::remove_file(workspace.path(JOURNAL)).expect("removed");
    let repaired = run.repair().stdout;
    assert!(repaired.contains("missing   the files 000001.jsonl"), "{repaired}");
    assert_eq!(run.resume(), (0..10).collect::<Vec<_>>());
}

/// The other slot counts, so nothing is lost. `verify` and `runs repair` agree on that.
#[test]
fn damaged_slot_of_the_count_needs_no_repair() {
    let run = FinishedRun::new(5, "");
    let FinishedRun { workspace, .. } = &run;
    let path = workspace.path("runs/r/journal/recorded");
    let whole = fs::read(&path).expect("a count");
    for place in [0, whole.len() - 2] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(&path, damaged).expect("written");
        let verified = workspace.run(&["verify", "r"]).expect_code(0).stdout;
        assert!(verified.contains("journal/recorded: changed, but its count is valid"), "{verified}");
        let repaired = run.repair().stdout;
        assert!(repaired.starts_with("nothing is damaged: the journal of r has "), "{repaired}");
    }
}

#[test]
fn damaged_frame_of_a_sealed_journal_costs_only_its_lines() {
    const ROWS: usize = 120;
    let run = FinishedRun::new(ROWS, &format!("{} ", "x".repeat(20_000)));
    let FinishedRun { workspace, .. } = &run;
    let sealed = workspace.path(&format!("{JOURNAL}.zst"));
    let mut bytes = fs::read(&sealed).expect("a sealed journal");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0);
    fs::write(&sealed, bytes).expect("written");
    let refused = workspace.run(&["run", "suite.yaml", "--run-id", "r", "--resume"]).expect_code(2);
    assert!(refused.stderr.contains("gage-host runs repair RUN"), "{}", refused.stderr);

    let repaired = run.repair().stdout;
    assert!(repaired.contains("the compressed bytes are damaged (000001.jsonl.zst:"), "{repaired}");
    assert!(!sealed.exists());
    let journal = workspace.read(JOURNAL);
    let answered: BTreeSet<usize> = journal
        .lines()
        .filter(|line| line.contains(ANSWER))
        .filter_map(|line| serde_json::from_str::<Value>(&line[9..]).ok()?["index"].as_u64())
        .filter_map(|index| usize::try_from(index).ok())
        .collect();
    let lost: Vec<usize> = (0..ROWS).filter(|index| !answered.contains(index)).collect();
    assert!(!lost.is_empty() && lost.len() < 20, "{lost:?}");
    assert_eq!(run.resume(), lost);
    assert!(sealed.is_file());
}

#[test]
fn rescored_run_is_not_repaired() {
    let run = FinishedRun::new(5, "");
    let FinishedRun { workspace, .. } = &run;
    workspace.run(&["score", "r", "--run-id", "again", "--quiet"]).expect_code(0);
    let path = workspace.path("runs/again/journal/000001.jsonl");
    let mut bytes = fs::read(&path).expect("a journal");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).expect("written");
    let refused = workspace.run(&["runs", "repair", "again"]).expect_code(2);
    assert!(refused.stderr.contains("`gage-host score r --run-id again`"), "{}", refused.stderr);
    let missing = workspace.run(&["runs", "repair", "none"]).expect_code(2);
    assert!(missing.stderr.contains("runs in runs are: again, r"), "{}", missing.stderr);
}
