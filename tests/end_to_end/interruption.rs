//! Runs that are killed, interrupted, resumed, or used by two processes.

use crate::files::texts_below;
use crate::killed_runs::pseudo_random;
use crate::server::{Server, completion, completion_with_reason, question_number};
use crate::support::{CommandOutput, RESULT_FILES, Workspace, rows, send_signal, suite};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// A server that answers the first samples and blocks the requests of all others until it is released.
pub(crate) struct BlockingServer {
    pub(crate) server: Server,
    /// Receives a message for each request that is blocked.
    blocked: mpsc::Receiver<()>,
    is_released: Arc<AtomicBool>,
}

impl BlockingServer {
    pub(crate) fn start(answered: usize) -> BlockingServer {
        let (sender, blocked) = mpsc::channel();
        let sender = Mutex::new(sender);
        let is_released = Arc::new(AtomicBool::new(false));
        let released = Arc::clone(&is_released);
        let server = Server::start(move |request| {
            let number = question_number(request);
            let reply = completion(&format!("answer {}", number % 7));
            if number < answered || released.load(Ordering::SeqCst) {
                return reply;
            }
            let _ = sender.lock().unwrap_or_else(PoisonError::into_inner).send(());
            reply.set_delay(Duration::from_secs(3_600))
        });
        BlockingServer { server, blocked, is_released }
    }

    pub(crate) fn wait_until_blocked(&self) {
        self.blocked.recv_timeout(Duration::from_secs(60)).expect("a request is blocked");
    }

    fn release(&self) {
        self.is_released.store(true, Ordering::SeqCst);
    }
}

pub(crate) const ARGUMENTS: [&str; 6] = ["run", "suite.yaml", "--run-id", "r", "--concurrency", "4"];

#[test]
fn a_killed_run_is_resumed_to_the_same_bytes() {
    let blocking = BlockingServer::start(150);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(200));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match, contains]"));
    let mut child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    let journal = workspace.path("runs/r/journal/000001.jsonl");
    let answers = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(r#""awaits_scores":true"#).count();
    // Before that, the journal might hold four whole batches and no answer that waits for its batch.
    while answers(&fs::read(&journal).unwrap_or_default()) <= 4 * 32 {
        assert!(child.try_wait().expect("a child").is_none(), "the run ended too early");
        std::thread::yield_now();
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    // Half a record at the end, as after a power failure.
    let mut bytes = fs::read(&journal).expect("a journal");
    let recorded = answers(&bytes);
    assert!(recorded > 0 && recorded < 200, "{recorded} answers");
    bytes.extend_from_slice(b"0123abcd {\"task_id\":\"ro");
    fs::write(&journal, bytes).expect("written");

    workspace.run(&ARGUMENTS).expect_code(2);
    blocking.release();
    let resumed = workspace.run(&[&ARGUMENTS[..], &["--resume", "--json"]].concat()).expect_code(0);
    let report = resumed.stdout_json();
    assert_eq!(report["summary"]["samples"]["total"], 200);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole", "--concurrency", "64"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    // The counts are those of the process that resumed.
    let timings = workspace.json("r", "timings.json");
    let count = |key: &str| timings[key].as_u64().expect("a count");
    assert_eq!((count("samples"), count("retries")), (count("requests"), 0));
    assert!(count("samples") < count("finished") && count("finished") <= 200, "{timings}");
    assert_eq!((count("samples_of_run"), &timings["tasks"][0]["model_calls"]), (200, &200.into()));
    let events = workspace.read("runs/r/events.jsonl");
    let finished = events.lines().rfind(|line| line.contains(r#""task_finished""#)).expect("an event");
    let finished: serde_json::Value = serde_json::from_str(finished).expect("JSON");
    let payload = &finished["payload"];
    assert_eq!(payload["outcomes"]["scored"], count("finished"));
    assert_eq!(payload["answered_before"], count("finished") - count("samples"));
    assert_eq!(workspace.scoring_fuel("r", 0), workspace.scoring_fuel("whole", 0));
    assert!(workspace.scoring_fuel("r", 0).as_u64().is_some_and(|fuel| fuel > 0));
}

/// The folder still has the figures of the ten samples that were complete. No command shows them.
#[test]
fn extended_run_that_was_killed_shows_no_older_figures() {
    let blocking = BlockingServer::start(12);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
    workspace.run(&[&ARGUMENTS[..], &["--max-samples", "10"]].concat()).expect_code(0);
    let mut child = workspace.start(&[&ARGUMENTS[..], &["--resume"]].concat());
    blocking.wait_until_blocked();
    assert!(workspace.path("runs/r/summary.json").is_file());
    let export = ["export", "r", "--format", "csv", "--partial"];
    let refused = workspace.run(&export).expect_code(2);
    assert!(refused.stderr.contains("is being written by another process"), "{}", refused.stderr);
    child.kill().expect("killed");
    child.wait().expect("gone");
    let listed = workspace.run(&["runs", "list", "--json"]).expect_code(0).stdout_json();
    let run = &listed["runs"][0];
    assert_eq!((&run["status"], &run["samples"]), (&json!("killed"), &json!(null)));
    assert_eq!((&run["figures"], &run["headline"]), (&json!([]), &json!(null)));
    let shown = workspace.run(&["runs", "show", "r"]).expect_code(0);
    assert!(!shown.stdout.contains("figure  "), "{}", shown.stdout);
    let refused = workspace.run(&export).expect_code(2);
    assert!(refused.stderr.contains("has no figures: it was killed"), "{}", refused.stderr);
    blocking.release();
    workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
}

#[test]
fn parallel_tasks_resumed_in_order_give_the_same_bytes() {
    let blocking = BlockingServer::start(60);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(80));
    let tasks = "tasks: [{task_id: a, dataset_id: rows}, {task_id: b, dataset_id: rows, shuffle: true}]\n";
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]") + tasks);
    let mut child = workspace.start(&[&ARGUMENTS[..], &["--task-parallelism", "2"]].concat());
    blocking.wait_until_blocked();
    child.kill().expect("killed");
    child.wait().expect("gone");
    blocking.release();
    workspace.run(&[&ARGUMENTS[..], &["--resume", "--task-parallelism", "1"]].concat()).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    assert_eq!(workspace.scoring_fuel("r", 1), workspace.scoring_fuel("whole", 1));
}

#[test]
fn a_second_process_is_refused_while_the_first_runs() {
    let blocking = BlockingServer::start(5);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(20));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
    let mut child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    let second = workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(2);
    assert!(second.stderr.contains("another process"), "{}", second.stderr);
    let third = workspace.run(&ARGUMENTS).expect_code(2);
    assert!(third.stderr.contains("--resume"), "{}", third.stderr);
    child.kill().expect("killed");
    child.wait().expect("gone");
}

#[cfg(unix)]
#[test]
#[expect(clippy::too_many_lines, reason = "one run, checked step by step")]
fn interrupted_run_finishes_requests_and_can_be_resumed() {
    let blocking = BlockingServer::start(10);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    // The requests in flight time out soon, and are repeated by the resumed run.
    let backend = blocking.server.backend(", timeout: 2, max_retries: 0");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    let ended = CommandOutput::interrupt(child).expect_code(130);
    assert!(ended.stderr.contains("--run-id r --resume"), "{}", ended.stderr);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "interrupted");
    // The coverage counts all forty samples everywhere.
    let done = workspace.samples("r").len();
    let scored = workspace.samples("r").iter().filter(|sample| sample["outcome"] == "scored").count();
    let expect_part = |run: &str| {
        let summary = workspace.json(run, "summary.json");
        for samples in [&summary["samples"], &summary["tasks"][0]["samples"]] {
            assert_eq!(
                (&samples["total"], &samples["not_reached"]),
                (&json!(40), &json!(40 - done)),
                "{run}"
            );
            assert_eq!(samples["coverage"].as_f64(), Some(scored as f64 / 40.0), "{run}");
        }
        let figure = &summary["metrics"][0];
        assert_eq!((&figure["n"], &figure["total"]), (&json!(scored), &json!(40)), "{run}");
        assert_eq!(figure["coverage"].as_f64(), Some(scored as f64 / 40.0), "{run}");
    };
    expect_part("r");
    assert!(ended.stdout.contains(&format!("{} not reached", 40 - done)), "{}", ended.stdout);
    assert!(ended.stdout.contains(&format!("{scored}/40")), "{}", ended.stdout);
    let listed = workspace.run(&["runs", "list"]).expect_code(0);
    assert!(listed.stdout.contains(&format!("{done} of 40")), "{}", listed.stdout);
    // The interrupted run can be rescored; the result is not complete either.
    let again = workspace.run(&["score", "runs/r", "--run-id", "scored"]).expect_code(4);
    assert!(again.stderr.contains("the run r has not ended (status `interrupted`)"), "{}", again.stderr);
    expect_part("scored");
    workspace.run(&["verify", "scored"]).expect_code(0);
    // The interrupted run can be verified, and edited files are found.
    let verified = workspace.run(&["verify", "r"]).expect_code(0);
    for part in ["scored again: 1 figure and every sample is the same", "r: verified, and not complete"] {
        assert!(verified.stdout.contains(part), "{}", verified.stdout);
    }
    assert!(verified.stdout.contains("the run is interrupted"), "{}", verified.stdout);
    for (file, from, to) in
        [("summary.json", "\"total\": 40", "\"total\": 41"), ("samples.jsonl", "scored", "storen")]
    {
        let path = format!("runs/r/{file}");
        let before = workspace.read(&path);
        let edited = before.replacen(from, to, 1);
        assert_ne!(before, edited, "{file}");
        // The file is replaced, as a program would.
        workspace.write("edited", edited);
        fs::rename(workspace.path("edited"), workspace.path(&path)).expect("edited");
        let ended = workspace.run(&["verify", "r"]).expect_code(3);
        assert!(ended.stdout.contains(&format!("{file}: CHANGED")), "{}", ended.stdout);
        if file == "summary.json" {
            for arguments in [
                ["runs", "list"].as_slice(),
                &["runs", "show", "r"],
                &["report", "r", "--output", "r.html"],
                &["export", "r", "--format", "csv", "--partial", "--force"],
            ] {
                let warnings = workspace.run(arguments).expect_code(0).stderr;
                assert!(
                    warnings.contains("figures") && warnings.contains("cannot be trusted"),
                    "{arguments:?}: {warnings}"
                );
            }
        }
        workspace.write("edited", before);
        fs::rename(workspace.path("edited"), workspace.path(&path)).expect("as it was");
    }
    workspace.run(&["verify", "r", "--quiet"]).expect_code(0);
    fs::remove_dir_all(workspace.path("runs/r/exports")).expect("not wanted any more");
    blocking.release();
    // Without an id, the newest unfinished run of the suite is resumed. After that there is none.
    let newest = ["run", "suite.yaml", "-j", "4", "--resume"];
    let resumed = workspace.run(&newest).expect_code(0);
    assert!(resumed.stderr.contains("resuming runs/r"), "{}", resumed.stderr);
    assert_eq!(workspace.samples("r").len(), 40);
    let none = workspace.run(&newest).expect_code(2);
    assert!(none.stderr.contains("has no run of this suite that can be resumed"), "{}", none.stderr);
    // Lost records are not requested again.
    let journal = workspace.path("runs/r/journal/000001.jsonl");
    fs::rename(&journal, workspace.path("aside")).expect("moved");
    let gone = workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat());
    assert_ne!(gone.code, Some(0), "{}", gone.transcript());
    assert!(gone.stderr.contains("000001.jsonl") && gone.stderr.contains("it is gone"), "{}", gone.stderr);
    assert!(!journal.exists());
}

/// The runs have an id in common, which the command that began them does not name.
#[cfg(unix)]
#[test]
fn interrupted_runs_of_two_models_continue_together() {
    let blocking = BlockingServer::start(10);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(20));
    let url = blocking.server.server.uri();
    let models =
        ["a", "b"].map(|model| format!("{{name: 'openai:{model}@{url}/v1', timeout: 2, max_retries: 0}}"));
    let suite = format!("datasets: [rows.jsonl]\nmodel: [{}]\nmetrics: [exact_match]\n", models.join(", "));
    workspace.write("suite.yaml", suite);
    let child = workspace.start(&["run", "suite.yaml", "-j", "4"]);
    blocking.wait_until_blocked();
    let ended = CommandOutput::interrupt(child).expect_code(130);
    let commands: Vec<&str> =
        ended.stderr.lines().filter_map(|line| line.strip_prefix("next: gage-host ")).collect();
    assert_eq!(commands.len(), 1, "{}", ended.stderr);
    blocking.release();
    let words: Vec<&str> = commands[0].split(' ').collect();
    workspace.run(&words).expect_code(0);
    let runs = fs::read_dir(workspace.path("runs")).expect("runs").map(|run| run.expect("a run").path());
    let begun: Vec<_> = runs.filter(|run| run.join("manifest.json").exists()).collect();
    assert_eq!(begun.len(), 2, "{begun:?}");
}

/// Returns a pipe that is full. A process that writes to it waits for as long as the reader exists.
#[cfg(target_os = "linux")]
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    /// O_NONBLOCK.
    const NON_BLOCKING: i32 = 0o4000;
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // Opened a second time, so that only this function does not wait.
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut filler = fs::File::options().write(true).custom_flags(NON_BLOCKING).open(path).expect("opened");
    while filler.write(&[b' '; 4096]).is_ok() {}
    (reader, writer)
}

/// The thread that handles the first signal waits for the full stream. The second signal needs no thread.
#[cfg(target_os = "linux")]
#[test]
fn second_signal_ends_a_run_whose_streams_are_full() {
    const MAX_SIGNALS: usize = 1_000;
    for second in ["INT", "TERM"] {
        let blocking = BlockingServer::start(10);
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(40));
        workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
        let (_reader, writer) = full_pipe();
        let mut command = workspace.program();
        command.args(ARGUMENTS).arg("--quiet");
        command.stdout(writer.try_clone().expect("a descriptor")).stderr(writer);
        let mut child = command.spawn().expect("it starts");
        blocking.wait_until_blocked();
        send_signal(&child, "INT");
        // Signals that come at the same moment count as one.
        let ended = (0..MAX_SIGNALS).find_map(|_| {
            send_signal(&child, second);
            child.try_wait().expect("a child")
        });
        if ended.is_none() {
            child.kill().expect("killed");
        }
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{second}");
        assert_eq!(workspace.json("r", "manifest.json")["status"], "running");
        blocking.release();
        workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(0);
        assert_eq!(workspace.samples("r").len(), 40);
    }
}

/// Changes the folder of a run while requests are in flight. Checks that the run ends with an error before more requests are
/// sent.
#[cfg(unix)]
fn expect_end_with_changed_folder(change: impl Fn(&Path), expected: &str) {
    let blocking = BlockingServer::start(10);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
    let child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    change(&workspace.path("runs/r"));
    let ended = CommandOutput::wait_for(child).expect_code(1);
    let message = format!("the run folder runs/r {expected} while the run was going on");
    assert!(ended.stderr.contains(&message), "{}", ended.stderr);
    // Four requests are in flight at a time.
    assert!(blocking.server.requests() <= 14, "{} requests", blocking.server.requests());
}

#[cfg(unix)]
#[test]
fn deleted_run_folder_ends_the_run_at_once() {
    expect_end_with_changed_folder(|run| fs::remove_dir_all(run).expect("deleted"), "was deleted");
}

#[cfg(unix)]
#[test]
fn replaced_run_folder_ends_the_run_at_once() {
    let replace = |run: &Path| {
        fs::rename(run, run.with_file_name("aside")).expect("moved");
        fs::create_dir(run).expect("another folder");
    };
    expect_end_with_changed_folder(replace, "was replaced by another folder");
}

#[cfg(unix)]
#[test]
fn replaced_journal_ends_the_run_at_once() {
    let replace = |run: &Path| {
        let (journal, copy) = (run.join("journal/000001.jsonl"), run.join("copy"));
        fs::copy(&journal, &copy).expect("copied");
        fs::rename(copy, journal).expect("replaced");
    };
    expect_end_with_changed_folder(replace, "has another journal (a file of it was replaced)");
}

#[cfg(unix)]
#[test]
fn shortened_journal_ends_the_run_at_once() {
    let shorten = |run: &Path| {
        let journal = fs::File::options().write(true).open(run.join("journal/000001.jsonl"));
        journal.and_then(|journal| journal.set_len(10)).expect("shortened");
    };
    expect_end_with_changed_folder(shorten, "has a damaged journal (a file of it was shortened)");
}

#[cfg(unix)]
#[test]
fn lost_count_of_records_ends_the_run_at_once() {
    let delete = |run: &Path| fs::remove_file(run.join("journal/recorded")).expect("deleted");
    expect_end_with_changed_folder(delete, "lost its file journal/recorded, which counts the records");
}

/// Only the reports at the end cannot be written.
#[cfg(unix)]
#[test]
fn moved_run_folder_receives_every_answer() {
    let blocking = BlockingServer::start(10);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    // The requests in flight time out after the folder was moved and checked, and are then answered.
    let backend = blocking.server.backend(", timeout: 2, max_retries: 5");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    let (run, aside) = (workspace.path("runs/r"), workspace.path("aside"));
    fs::rename(&run, &aside).expect("moved");
    blocking.release();
    let ended = CommandOutput::wait_for(child).expect_code(1);
    for part in ["the run folder runs/r was moved while the run was going on", "move the folder back"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("not compressed"), "{}", ended.stderr);
    assert!(!run.exists(), "half of a run is at the old place");
    // The folder of runs was empty at the end, and was removed.
    fs::create_dir_all(workspace.path("runs")).expect("a folder");
    fs::rename(aside, run).expect("moved back");
    let asked = blocking.server.requests();
    workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(blocking.server.requests(), asked, "an answer was not recorded");
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
}

/// Filtered rows must be read to be counted, which happens when the run is interrupted.
#[cfg(unix)]
#[test]
fn coverage_of_an_interrupted_run_counts_filtered_rows_only() {
    let blocking = BlockingServer::start(6);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let backend = blocking.server.backend(", timeout: 2, max_retries: 0");
    let text = suite(&backend, "[exact_match]").replace(
        "path: rows.jsonl}",
        "path: rows.jsonl, filter: {id: [q0, q1, q2, q3, q4, q5, q6, q7, q8, q30, q31, q32]}}",
    );
    workspace.write("suite.yaml", text);
    let child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    CommandOutput::interrupt(child).expect_code(130);
    let samples = workspace.json("r", "summary.json")["samples"].clone();
    assert_eq!(samples["total"], 12, "{samples}");
    // Four requests are sent at once, in any order, so some rows before a blocked one may be missing.
    assert!(samples["not_reached"].as_u64().is_some_and(|left| (1..=8).contains(&left)), "{samples}");
}

/// A hangup acts like Ctrl-C, unless the run was started with `nohup`.
#[cfg(target_os = "linux")]
#[test]
fn hangup_ends_a_run_cleanly_unless_it_is_ignored() {
    // The tests themselves may run with the signal ignored.
    for (before, code) in [("exec env --default-signal=HUP", 130), ("trap '' HUP; exec", 0)] {
        let blocking = BlockingServer::start(10);
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(40));
        // The requests in flight time out soon and wait for a retry, which an interrupted run drops.
        let backend = blocking.server.backend(", timeout: 2, max_retries: 3");
        workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
        let mut command = workspace.program_in_shell(&format!("{before} \"$0\" \"$@\""));
        command.arg(workspace.program().get_program()).args(ARGUMENTS);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        blocking.wait_until_blocked();
        send_signal(&child, "HUP");
        if code == 0 {
            blocking.release();
        }
        CommandOutput::wait_for(child).expect_code(code);
        let status = if code == 0 { "complete" } else { "interrupted" };
        assert_eq!(workspace.json("r", "manifest.json")["status"], status);
    }
}

#[test]
fn killed_run_that_records_resumes_to_a_whole_recording() {
    let blocking = BlockingServer::start(40);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(60));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
    let recording = [&ARGUMENTS[..], &["--record", "tape.zst"]].concat();
    let mut child = workspace.start(&recording);
    blocking.wait_until_blocked();
    child.kill().expect("killed");
    child.wait().expect("gone");
    // Half an exchange at the end.
    let mut bytes = fs::read(workspace.path("tape.zst")).expect("a tape");
    bytes.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 4]);
    fs::write(workspace.path("tape.zst"), bytes).expect("written");
    blocking.release();
    let resumed = workspace.run(&[&recording[..], &["--resume"]].concat()).expect_code(0);
    assert!(resumed.stderr.contains("the recording was torn at its end"), "{}", resumed.stderr);
    let before = blocking.server.requests();
    let played = ["run", "suite.yaml", "--run-id", "played", "--replay", "tape.zst"];
    workspace.run(&played).expect_code(0);
    assert_eq!(blocking.server.requests(), before);
    let read = |run: &str| workspace.read(&format!("runs/{run}/samples.jsonl"));
    assert_eq!(read("r"), read("played"));
}

/// A limit on the size of files acts like a full disk. Only the recording reaches it, because it has long answers of an
/// earlier run.
#[cfg(unix)]
#[test]
fn full_disk_under_a_recording_ends_the_run_at_once() {
    let server = Server::start(|request| {
        if !String::from_utf8_lossy(&request.body).contains("long question") {
            return completion(&format!("answer {}", question_number(request)));
        }
        let numbers = (0..1_000).map(|number| pseudo_random(number + 1_000 * question_number(request)));
        completion(&numbers.map(|number| number.to_string()).collect::<String>())
    });
    let workspace = Workspace::new();
    workspace.write("long.jsonl", rows(40).replace("\"question ", "\"long question "));
    workspace.write("rows.jsonl", rows(200));
    let text = suite(&server.backend(""), "[exact_match]");
    workspace.write("long.yaml", text.replace("rows.jsonl", "long.jsonl"));
    workspace.write("suite.yaml", text);
    workspace.run(&["run", "long.yaml", "--run-id", "long", "--record", "tape.zst"]).expect_code(0);
    let blocks = fs::metadata(workspace.path("tape.zst")).expect("a tape").len() / 512 + 1;
    let recording = [&ARGUMENTS[..], &["--record", "tape.zst"]].concat();
    let mut command = workspace.program_in_shell(&format!("ulimit -f {blocks}; exec \"$0\" \"$@\""));
    command.arg(workspace.program().get_program()).args(&recording);
    let ended = CommandOutput::of(command.output().expect("the shell runs")).expect_code(1);
    let message = "cannot write the recording tape.zst: ";
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    assert!(server.requests() < 40 + 100, "{} requests", server.requests());
    workspace.run(&[&recording[..], &["--resume"]].concat()).expect_code(0);
    let before = server.requests();
    workspace.run(&["run", "suite.yaml", "--run-id", "played", "--replay", "tape.zst"]).expect_code(0);
    assert_eq!(server.requests(), before);
    let read = |run: &str| workspace.read(&format!("runs/{run}/samples.jsonl"));
    assert_eq!(read("r"), read("played"));
}

#[test]
fn resume_refuses_a_recording_that_lacks_answers() {
    let server = Server::answering();
    let workspace = Workspace::new();
    // Long rows, so that the journal is sealed when the run ends, and a writer would begin another segment.
    let long = format!("\"{} question ", "x".repeat(120_000));
    workspace.write("rows.jsonl", rows(20).replace("\"question ", &long));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    let run = |run_id: &str, arguments: &[&str]| {
        workspace.run(&[&["run", "suite.yaml", "--run-id", run_id][..], arguments].concat())
    };
    run("live", &["--max-samples", "10"]).expect_code(0);
    run("taped", &["--max-samples", "10", "--record", "tape.zst"]).expect_code(0);
    assert!(workspace.path("runs/live/journal/000001.jsonl.zst").is_file());
    for (run_id, arguments, part) in [
        ("live", ["--record", "tape.zst"], "a part of which ran without --record (10 answers)"),
        ("taped", ["--record", "other.zst"], "other.zst has 0 exchanges, and the journal has 10 answers"),
        ("live", ["--max-samples", "5"], "at most 5 samples of each task"),
    ] {
        let files = || {
            let mut files = texts_below(&workspace.path(&format!("runs/{run_id}")));
            files.sort();
            files
        };
        let before = files();
        let refused = run(run_id, &[&["--resume"][..], &arguments].concat()).expect_code(2);
        assert!(refused.stderr.contains(part), "{run_id}: {}", refused.stderr);
        assert!(files() == before, "{arguments:?}: the run {run_id} was touched");
    }
    assert_eq!(server.requests(), 20);
    run("taped", &["--resume", "--record", "tape.zst"]).expect_code(0);
    run("live", &["--resume"]).expect_code(0);
}

#[test]
fn resume_refuses_another_suite_or_dataset() {
    let blocking = BlockingServer::start(1_000);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(5));
    let text = suite(&blocking.server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", &text);
    workspace.run(&ARGUMENTS).expect_code(0);
    workspace.write("suite.yaml", text.replace("[exact_match]", "[{exact_match: {case_sensitive: true}}]"));
    let other = workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(2);
    assert!(other.stderr.contains("config.metrics"), "{}", other.stderr);
    workspace.write("suite.yaml", text);
    workspace.write("rows.jsonl", rows(5).replace("question 3", "question 4"));
    let changed = workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(2);
    assert!(changed.stderr.contains("datasets.rows.digest"), "{}", changed.stderr);
    let missing = workspace.run(&["run", "suite.yaml", "--run-id", "other", "--resume"]).expect_code(2);
    assert!(missing.stderr.contains("there is no run 'other'"), "{}", missing.stderr);
}

#[test]
fn resume_refuses_fewer_samples_than_are_recorded() {
    let blocking = BlockingServer::start(1_000);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(30));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]") + "  repeat: 2\n");
    let most = |count: &'static str| [&ARGUMENTS[..], &["--max-samples", count]].concat();
    workspace.run(&most("12")).expect_code(0);
    let files = || {
        let names = ["manifest.json", "samples.jsonl", "summary.json", "journal/000001.jsonl"];
        names.map(|name| workspace.read(&format!("runs/r/{name}")))
    };
    let before = files();
    let refused = workspace.run(&[&most("11")[..], &["--resume"]].concat()).expect_code(2);
    assert!(
        refused.stderr.contains("at most 11 samples of each task: sample 12 of `rows` is recorded already")
            && refused.stderr.contains("give --max-samples 12 or more"),
        "{}",
        refused.stderr
    );
    assert_eq!(files(), before, "the run was touched");
    workspace.run(&[&most("12")[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 24);
    workspace.run(&[&ARGUMENTS[..], &["--resume"]].concat()).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 60);
}

#[test]
fn retry_repeats_only_the_named_outcomes() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let is_whole = Arc::new(AtomicBool::new(false));
    let (seen, whole) = (Arc::clone(&asked), Arc::clone(&is_whole));
    let server = Server::start(move |request| {
        let number = question_number(request);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        let is_cut_off = number % 10 == 3 && !whole.load(Ordering::SeqCst);
        completion_with_reason(&format!("answer {number}"), if is_cut_off { "length" } else { "stop" })
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace.run(&ARGUMENTS).expect_code(4);
    is_whole.store(true, Ordering::SeqCst);
    workspace.run(&["run", "suite.yaml", "--run-id", "whole"]).expect_code(0);
    let resume = |retry: &str, code: i32| {
        asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
        workspace.run(&[&ARGUMENTS[..], &["--resume", "--retry", retry]].concat()).expect_code(code);
        let mut numbers = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(resume("refused,plugin_timeout", 4), [] as [usize; 0]);
    assert_eq!(resume("truncated", 0), [3, 13, 23, 33]);
    assert_eq!(resume("truncated", 0), [] as [usize; 0]);
    workspace.assert_equal_files("r", "whole", &RESULT_FILES);
    let unknown =
        workspace.run(&[&ARGUMENTS[..], &["--resume", "--retry", "scored"]].concat()).expect_code(2);
    assert!(unknown.stderr.contains("expected one of: "), "{}", unknown.stderr);
    workspace.run(&["run", "suite.yaml", "--retry", "truncated"]).expect_code(2);
}
