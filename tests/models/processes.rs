//! The process of a model: killed, hung, or taken over by its file.

use crate::started_runs::{model_of, rest_of, signal, tiny, under_way_with};
#[cfg(target_os = "linux")]
use crate::started_runs::{under_way, under_way_as, wait_until_gone};
use crate::support::Workspace;
#[cfg(target_os = "linux")]
use crate::support::program_file;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sends a signal to every further model of a run, and returns the log of the run.
fn signal_each_model(mut log: BufReader<ChildStderr>, name: &'static str) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut rest, mut line) = (String::new(), String::new());
        while log.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            let pid = line.split("pid=").nth(1).and_then(|rest| rest.split_whitespace().next());
            if let Some(pid) = pid.filter(|_| line.contains("in a process of its own")) {
                signal(pid.parse().expect("a number"), name);
            }
            rest.push_str(&line);
            line.clear();
        }
        rest
    })
}

/// Sends a signal to the model once, or to each further one too, and waits for the end of the run. Its log has the parts.
fn run_with_signals(
    workspace: &Workspace,
    set: &[&str],
    name: &'static str,
    is_repeated: bool,
    parts: &[&str],
) {
    let (child, model, log) = under_way_with(workspace, "disturbed", set);
    signal(model, name);
    let rest = if is_repeated { signal_each_model(log, name) } else { rest_of(log) };
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(if is_repeated { 4 } else { 0 }), "{log}");
    for part in parts {
        assert!(log.contains(part), "{part}: {log}");
    }
}

/// Checks that the disturbed run has the results of an undisturbed one.
fn assert_same_results(workspace: &Workspace) {
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    for file in ["samples.jsonl", "summary.json"] {
        assert_eq!(
            workspace.read(&format!("runs/disturbed/{file}")),
            workspace.read(&format!("runs/whole/{file}")),
            "{file}"
        );
    }
}

#[test]
fn a_model_that_is_killed_costs_a_run_nothing() {
    let workspace = Workspace::new();
    run_with_signals(&workspace, &[], "KILL", false, &["ended by the signal 9 (SIGKILL"]);
    assert_same_results(&workspace);
}

/// The other replica goes on.
#[test]
fn a_replica_that_is_killed_costs_a_run_nothing() {
    let workspace = Workspace::new();
    let set = ["--set", "backends.tiny.config.replicas=2"];
    let parts = ["ended by the signal 9 (SIGKILL", "a model runs in a process of its own"];
    run_with_signals(&workspace, &set, "KILL", false, &parts);
    assert_eq!(workspace.json("disturbed", "manifest.json")["facts"]["tiny"]["replicas"], 2);
    assert_same_results(&workspace);
}

/// A stopped process computes nothing, as if its GPU hung.
#[test]
fn a_model_that_hangs_costs_a_run_nothing() {
    let workspace = Workspace::new();
    let set = ["--set", "backends.tiny.config.hang_timeout=2"];
    let parts = ["the model hung: it computed nothing for ", "more than `hang_timeout` allows"];
    run_with_signals(&workspace, &set, "STOP", false, &parts);
    // The time limit changes no figure.
    assert_same_results(&workspace);
}

/// Log lines of a model that is given up.
const LOST: [&str; 2] = ["without an answer between them", "the model of the backend `tiny` is lost"];

/// A model that crashes at every start is given up, and no earlier answer is lost.
#[test]
fn model_that_keeps_crashing_ends_the_run_incomplete() {
    let workspace = Workspace::new();
    run_with_signals(&workspace, &[], "KILL", true, &LOST);
    // The model is back, and questions that it answered before are not repeated.
    workspace.run(&["run", &tiny(), "--resume", "disturbed", "--quiet"]).expect_code(0);
    assert_same_results(&workspace);
}

/// A model that hangs at every start is given up like one that crashes.
#[test]
fn model_that_keeps_hanging_ends_the_run_incomplete() {
    let workspace = Workspace::new();
    let set = ["--set", "backends.tiny.config.hang_timeout=1"];
    let parts = [LOST[0], LOST[1], "the model hung: it computed nothing for "];
    run_with_signals(&workspace, &set, "STOP", true, &parts);
    workspace.run(&["run", &tiny(), "--resume", "disturbed", "--quiet"]).expect_code(0);
    assert_same_results(&workspace);
}

/// Runs a suite whose model hangs, until the run ends by itself or by a signal. With the default of `hang_timeout`, the
/// model is not restarted before.
fn run_with_hung_model(workspace: &Workspace, further: &[&str], interrupt: Option<&str>, code: i32) {
    let (child, model, log) = under_way_with(workspace, "r", further);
    signal(model, "STOP");
    let began = Instant::now();
    if let Some(name) = interrupt {
        signal(child.id(), name);
    }
    let rest = rest_of(log);
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(code), "{log}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!(!log.contains("the model hung"), "{log}");
    #[cfg(target_os = "linux")]
    wait_until_gone(model);
}

#[test]
fn time_budget_does_not_wait_for_a_hung_model() {
    let workspace = Workspace::new();
    run_with_hung_model(&workspace, &["--max-time", "6"], None, 4);
    assert_eq!(workspace.json("r", "manifest.json")["ended_by"], "budget: max_time 6 s is over");
    // Requests without an answer have no record, and are sent again.
    workspace.run(&["run", &tiny(), "--resume", "r", "--quiet"]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/r/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

#[test]
fn first_interrupt_does_not_wait_for_a_hung_model() {
    let workspace = Workspace::new();
    run_with_hung_model(&workspace, &[], Some("INT"), 130);
    assert_eq!(workspace.json("r", "manifest.json")["status"], "interrupted");
    workspace.run(&["run", &tiny(), "--resume", "r", "--quiet"]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/r/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

/// Starts a run whose grammar llama.cpp prepares for years, and returns it with the process of its model.
fn loading_without_end(workspace: &Workspace, further: &[&str]) -> (Child, u32, JoinHandle<String>) {
    let optional = |rule: u32| [format!("a{rule}?").as_str(); 10].join(" ");
    let rules: Vec<String> = (0..5).map(|rule| format!("a{rule} ::= {}\\n", optional(rule + 1))).collect();
    let set = format!("backends.tiny.config.grammar=\"root ::= a0\\n{}a5 ::= [x]\"", rules.concat());
    let mut command = workspace.program();
    command.args(["run", &tiny(), "--run-id", "r", "--quiet", "--log", "info", "--set", &set]).args(further);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let model = model_of(&mut log);
    (child, model, rest_of(log))
}

#[test]
fn load_that_hangs_is_an_error() {
    let workspace = Workspace::new();
    let set = ["--set", "backends.tiny.config.hang_timeout=1"];
    let (child, _, log) = loading_without_end(&workspace, &set);
    let ended = child.wait_with_output().expect("the program ends");
    let log = log.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(2), "{log}");
    assert!(log.contains("the model hung") && log.contains("while it loaded the model"), "{log}");
    assert!(!workspace.path("runs/r").exists());
}

#[test]
fn load_ends_at_a_signal_and_at_the_time_limit() {
    for (further, interrupts, code, part) in [
        (&["--max-time", "1"] as &[&str], false, 4, "max_time 1 s was over while the models were loaded"),
        (&[], true, 130, "stopped while the models were loaded; no request was sent"),
    ] {
        let workspace = Workspace::new();
        let (child, model, log) = loading_without_end(&workspace, further);
        if interrupts {
            signal(child.id(), "INT");
        }
        let ended = child.wait_with_output().expect("the program ends");
        let log = log.join().expect("no panic");
        gage_recorded_messages::record_output(&log);
        assert_eq!(ended.status.code(), Some(code), "{log}");
        assert!(log.contains(part), "{log}");
        assert!(!workspace.path("runs/r").exists());
        #[cfg(target_os = "linux")]
        wait_until_gone(model);
    }
}

/// A model does not outlive its run, regardless of how the run ends.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_killed_takes_its_model_along() {
    let workspace = Workspace::new();
    let (mut child, model, _log) = under_way(&workspace, "gone");
    child.kill().expect("killed");
    child.wait().expect("gone");
    wait_until_gone(model);
}

/// A model file that takes over llama.cpp finds neither variables nor open files of gage-host, and gains no privileges.
#[cfg(target_os = "linux")]
#[test]
fn model_process_has_nothing_to_steal() {
    let workspace = Workspace::new();
    workspace.write("secret", "of a parent of gage-host");
    let mut command = workspace.program_in_shell("exec 7<secret; exec \"$0\" \"$@\"");
    command
        .arg(program_file("gage-host"))
        .env("OPENAI_API_KEY", "sk-steal-me")
        .env("CUDA_TEST_TOKEN", "steal-me");
    let (mut child, model, _log) = under_way_as(command, &workspace, "r", &[]);
    let of_process = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).expect("read");
    let text = |pid: u32, file: &str| String::from_utf8(of_process(pid, file)).expect("UTF-8");
    let has_secret = |pid: u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("read").filter_map(|entry| {
            // A descriptor may be closed in the meantime.
            std::fs::read_link(entry.expect("an entry").path()).ok()
        });
        files.into_iter().any(|file| file.ends_with("secret"))
    };
    let environment = text(model, "environ");
    let mut names: Vec<&str> = environment
        .split_terminator('\0')
        .map(|variable| variable.split('=').next().unwrap_or(variable))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["GGML_NO_BACKTRACE", "OMP_WAIT_POLICY"]);
    assert!(has_secret(child.id()) && !has_secret(model), "open files");
    let status = text(model, "status");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.lines().any(|found| found == line), "{line}: {status}");
    }
    let privileges = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).expect("a line");
    let privileges = u64::from_str_radix(privileges, 16).expect("a number");
    // CAP_DAC_READ_SEARCH, with which root reads the models of others.
    assert_eq!(privileges & !(1 << 2), 0, "{privileges:x}");
    child.kill().expect("killed");
    child.wait().expect("gone");
}
