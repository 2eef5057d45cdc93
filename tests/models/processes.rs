//! The process of a model: killed, hung, replaced, missing, or from another build.

use crate::hub_server::HubServer;
use crate::support::{CommandOutput, Workspace, program_file, repository};
use gage_model_protocol::{BuildInfo, Confinement, Greeting, KernelBuild, PROTOCOL_VERSION, write_frame};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

fn tiny() -> String {
    repository().join("config/custom/tiny.yaml").display().to_string()
}

fn model() -> String {
    repository().join("config/models/gage-tiny.gguf").display().to_string()
}

/// Starts a run and returns it after some answers, with the process of its model and the rest of its log.
#[cfg(unix)]
fn under_way(workspace: &Workspace, run_id: &str) -> (Child, u32, BufReader<std::process::ChildStderr>) {
    under_way_with(workspace, run_id, &[])
}

#[cfg(unix)]
fn under_way_with(
    workspace: &Workspace,
    run_id: &str,
    further: &[&str],
) -> (Child, u32, BufReader<std::process::ChildStderr>) {
    under_way_as(workspace.program(), workspace, run_id, further)
}

/// Does the same with a command that runs the program.
#[cfg(unix)]
fn under_way_as(
    mut command: std::process::Command,
    workspace: &Workspace,
    run_id: &str,
    further: &[&str],
) -> (Child, u32, BufReader<std::process::ChildStderr>) {
    command.args(["run", &tiny(), "--run-id", run_id, "--quiet", "--json", "--log", "info"]).args(further);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let model = model_of(&mut log);
    let journal = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
    while std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 10 {
        assert!(child.try_wait().expect("a child").is_none(), "the run ended too early");
        std::thread::yield_now();
    }
    (child, model, log)
}

/// Reads a log until the line with the process of the model, and returns its id.
#[cfg(unix)]
fn model_of(log: &mut impl BufRead) -> u32 {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(log.read_line(&mut line).expect("UTF-8") > 0, "the run ended without a model");
        let pid = line.split("pid=").nth(1).and_then(|rest| rest.split_whitespace().next());
        if let Some(pid) = pid.filter(|_| line.contains("in a process of its own")) {
            return pid.parse().expect("a number");
        }
    }
}

#[cfg(unix)]
fn signal(pid: u32, name: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[cfg(unix)]
fn kill(pid: u32) {
    signal(pid, "KILL");
}

/// Reads the rest of a log.
#[cfg(unix)]
fn rest_of(mut log: BufReader<std::process::ChildStderr>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).expect("UTF-8");
        rest
    })
}

/// Sends a signal to every further model of a run, and returns the log of the run.
#[cfg(unix)]
fn signal_each_model(
    mut log: BufReader<std::process::ChildStderr>,
    name: &'static str,
) -> JoinHandle<String> {
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

/// Waits until a process is gone, or a zombie whose exit status has not been collected yet.
#[cfg(target_os = "linux")]
fn wait_until_gone(pid: u32) {
    loop {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        if state.is_err() || state.is_ok_and(|state| state.contains(") Z ")) {
            return;
        }
        std::thread::yield_now();
    }
}

/// Sends a signal to the model once, or to each further one too, and waits for the end of the run. Its log has the parts.
#[cfg(unix)]
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
#[cfg(unix)]
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

#[cfg(unix)]
#[test]
fn a_model_that_is_killed_costs_a_run_nothing() {
    let workspace = Workspace::new();
    run_with_signals(&workspace, &[], "KILL", false, &["ended by the signal 9 (SIGKILL"]);
    assert_same_results(&workspace);
}

/// A stopped process computes nothing, as if its GPU hung.
#[cfg(unix)]
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
#[cfg(unix)]
const LOST: [&str; 2] = ["without an answer between them", "the model of the backend `tiny` is lost"];

/// A model that crashes at every start is given up, and no earlier answer is lost.
#[cfg(unix)]
#[test]
fn model_that_keeps_crashing_ends_the_run_incomplete() {
    let workspace = Workspace::new();
    run_with_signals(&workspace, &[], "KILL", true, &LOST);
    // The model is back, and questions that it answered before are not repeated.
    workspace.run(&["run", &tiny(), "--resume", "disturbed", "--quiet"]).expect_code(0);
    assert_same_results(&workspace);
}

/// A model that hangs at every start is given up like one that crashes.
#[cfg(unix)]
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
#[cfg(unix)]
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

#[cfg(unix)]
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

#[cfg(unix)]
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
#[cfg(unix)]
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

#[cfg(unix)]
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

#[cfg(unix)]
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

/// llama.cpp opens the other parts by itself, and would wait for a pipe.
#[cfg(unix)]
#[test]
fn parts_of_a_split_model_are_regular_files() {
    let workspace = Workspace::new();
    let first = workspace.path("m-00001-of-00002.gguf");
    std::fs::copy(model(), &first).expect("copied");
    let set = format!("backends.tiny.config.model_path={}", first.display());
    let run = || workspace.run(&["run", &tiny(), "--quiet", "--set", &set]);
    let missing = run().expect_code(2).stderr;
    assert!(missing.contains("m-00002-of-00002.gguf: No such file"), "{missing}");
    let made = std::process::Command::new("mkfifo").arg(workspace.path("m-00002-of-00002.gguf")).status();
    assert!(made.expect("mkfifo runs").success());
    let pipe = run().expect_code(2).stderr;
    assert!(pipe.contains("m-00002-of-00002.gguf: it is a pipe"), "{pipe}");
}

/// Starts a run with a copy of the model, and stops the model before it has answered everything. Returns the run with the
/// copy, the process of the model and the rest of the log.
#[cfg(unix)]
fn under_way_with_copy(workspace: &Workspace, run_id: &str) -> (Child, u32, PathBuf, JoinHandle<String>) {
    /// Fewer lines than the journal of a whole run has.
    const MAX_LINES: usize = 600;
    let copy = workspace.path("copy.gguf");
    std::fs::copy(model(), &copy).expect("copied");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    loop {
        let (mut child, pid, log) = under_way_with(workspace, run_id, &["--set", &set]);
        signal(pid, "STOP");
        let journal = workspace.read(&format!("runs/{run_id}/journal/000001.jsonl"));
        if journal.lines().count() < MAX_LINES {
            return (child, pid, copy, rest_of(log));
        }
        // A busy machine ran this test too late.
        kill(pid);
        child.kill().and_then(|()| child.wait()).expect("ended");
        std::fs::remove_dir_all(workspace.path(&format!("runs/{run_id}"))).expect("removed");
    }
}

#[cfg(unix)]
#[test]
fn replaced_model_is_not_loaded_after_a_crash() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace, "replaced");
    std::fs::copy(model().replace("gage-tiny.gguf", "gage-tiny-early.gguf"), workspace.path("other"))
        .and_then(|_| std::fs::rename(workspace.path("other"), &copy))
        .expect("replaced");
    kill(pid);
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(3), "{log}");
    assert!(log.contains("copy.gguf changed after the model was loaded: its digest is sha256:"), "{log}");
    assert!(!workspace.path("runs/replaced/summary.json").exists());
    // With the first model back, its answers are kept.
    std::fs::copy(model(), &copy).expect("restored");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    workspace.run(&["run", &tiny(), "--resume", "replaced", "--quiet", "--set", &set]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/replaced/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

#[cfg(unix)]
#[test]
fn overwritten_model_ends_the_run_without_figures() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace, "overwritten");
    // The last byte belongs to a weight: the model still works, with a different number in it.
    let mut bytes = std::fs::read(&copy).expect("read");
    *bytes.last_mut().expect("a byte") ^= 1;
    std::fs::OpenOptions::new()
        .write(true)
        .open(&copy)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
        .expect("written in place");
    signal(pid, "CONT");
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(3), "{log}");
    assert!(log.contains("copy.gguf changed after the model was loaded"), "{log}");
    assert!(!workspace.path("runs/overwritten/summary.json").exists());

    // No answer of the other weights was recorded, so the run is completed as an undisturbed one.
    std::fs::copy(model(), &copy).expect("restored");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    workspace.run(&["run", &tiny(), "--resume", "overwritten", "--quiet", "--set", &set]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/overwritten/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

/// Creates a folder with a copy of the program, and files under some names next to it.
fn program_folder(workspace: &Workspace, beside: &[(&str, &Path)]) -> PathBuf {
    let folder = workspace.path("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let program = program_file("gage-host");
    for (name, original) in beside.iter().chain(&[("gage-host", program.as_path())]) {
        let file = folder.join(name);
        std::fs::hard_link(original, &file)
            .or_else(|_| std::fs::copy(original, &file).map(|_| ()))
            .expect("the program once more");
    }
    folder
}

/// Runs one sample with the program in a folder.
fn run_from(workspace: &Workspace, folder: &Path, further: &[&str]) -> CommandOutput {
    run_whole_from(workspace, folder, &[&["--max-samples", "1"], further].concat())
}

/// Runs the whole suite with the program in a folder.
fn run_whole_from(workspace: &Workspace, folder: &Path, further: &[&str]) -> CommandOutput {
    let mut command = std::process::Command::new(folder.join("gage-host"));
    let environment = workspace.program();
    command.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/nowhere").current_dir(workspace.path("")).stdin(Stdio::null());
    command.args(["run", &tiny(), "--quiet", "--log", "info"]).args(further);
    CommandOutput::of(command.output().expect("the program runs"))
}

/// A variant named for a processor must be built for it, and `kernels` sets whether it may be used.
#[cfg(target_arch = "x86_64")]
#[test]
fn variant_beside_the_program_is_used_where_the_machine_can() {
    let workspace = Workspace::new();
    let model = program_file("gage-model");
    let folder = program_folder(&workspace, &[("gage-model", &model), ("gage-model-avx512", &model)]);
    let flags = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"];
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let runs_here = flags.iter().all(|flag| cpu.contains(flag));
    let baseline =
        run_from(&workspace, &folder, &["--set", "backends.tiny.config.kernels=baseline"]).expect_code(0);
    let line = baseline.stderr.lines().find(|line| line.contains("in a process of its own")).expect("a line");
    assert!(!line.contains("gage-model-avx512"), "{line}");
    // The file is a copy of the baseline, which is detected before it runs a model.
    let auto = run_from(&workspace, &folder, &["--set", "backends.tiny.config.kernels=auto"]);
    assert_eq!(auto.code, Some(if runs_here { 2 } else { 0 }), "{}", auto.transcript());
    assert_eq!(
        auto.stderr.contains("gage-model-avx512 is not what its name says"),
        runs_here,
        "{}",
        auto.stderr
    );
}

#[cfg(unix)]
#[test]
fn missing_or_wrong_model_program_is_named_with_the_remedy() {
    let workspace = Workspace::new();
    let folder = program_folder(&workspace, &[]);
    let missing = run_from(&workspace, &folder, &[]).expect_code(2);
    assert!(
        missing.stderr.contains("is neither in ") && missing.stderr.contains("make release"),
        "{}",
        missing.stderr
    );
    let other = workspace.write("bin/gage-model", "#!/bin/sh\necho 'what is this?'\nread answer\n");
    std::fs::set_permissions(other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let wrong = run_from(&workspace, &folder, &[]).expect_code(2);
    assert!(wrong.stderr.contains("gage-model is not gage-model"), "{}", wrong.stderr);
    let named = workspace
        .program()
        .env("GAGE_HOST_MODEL_PROGRAM", program_file("gage-model"))
        .args(["run", &tiny(), "--quiet", "--max-samples", "1"])
        .output();
    CommandOutput::of(named.expect("the program runs")).expect_code(0);
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

/// The tests use a build without GPU kernels.
#[test]
fn layers_for_a_gpu_that_is_not_there_are_told_once() {
    let workspace = Workspace::new();
    let set = "backends.tiny.config.gpu_layers=99";
    let arguments = ["run", &tiny(), "--run-id", "r", "--max-samples", "1", "--set", set];
    let ended = workspace.run(&arguments).expect_code(0);
    assert_eq!(ended.stderr.matches("`gpu_layers` has no effect").count(), 1, "{}", ended.stderr);
    let manifest = workspace.json("r", "manifest.json");
    assert_eq!(manifest["identity"]["backends"]["tiny"]["details"]["gpu_layers"], 0);
}

/// A suite names its model files on a hub: they are fetched once, locked by their digests, and suffice without a
/// network.
#[test]
fn a_suite_takes_its_model_from_a_hub() {
    let workspace = Workspace::new();
    let server = HubServer::start();
    let first = "0123456789abcdef0123456789abcdef01234567";
    let read = |name: &str| std::fs::read(repository().join("config/models").join(name)).expect("a model");
    server.commit("owner/tiny", "main", first);
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let suite = std::fs::read_to_string(repository().join("config/custom/tiny_pictures.yaml"))
        .expect("a suite")
        .replace("${config_dir}/../models/gage-tiny.gguf", "hub:owner/tiny/deeper/tiny.gguf")
        .replace(
            "${config_dir}/../models/gage-tiny-mmproj.gguf",
            &format!("{}/owner/tiny/resolve/main/mmproj.gguf", server.endpoint()),
        )
        .replace("${config_dir}/..", &repository().join("config").display().to_string());
    workspace.write("suite.yaml", suite);
    let run = |arguments: &[&str]| {
        let mut command = workspace.program();
        command.args(arguments).arg("--quiet");
        command.env("HF_ENDPOINT", server.endpoint()).env("GAGE_CACHE_DIR", workspace.path("cache"));
        CommandOutput::of(command.output().expect("the program runs"))
    };
    // Validation fetches nothing, and without a network nothing is available.
    run(&["validate", "suite.yaml"]).expect_code(0);
    let offline = run(&["run", "suite.yaml", "--offline", "--run-id", "none"]).expect_code(2);
    assert!(offline.stderr.contains("model 'owner/tiny'"), "{}", offline.stderr);
    assert!(server.seen().is_empty(), "{:?}", server.seen().len());
    run(&["lock", "suite.yaml"]).expect_code(0);
    run(&["run", "suite.yaml", "--locked", "--run-id", "locked"]).expect_code(0);
    let fetched = server.seen_of("deeper/tiny.gguf").len();
    assert_eq!((fetched, server.seen_of("mmproj.gguf").len()), (1, 1));
    // The hub receives no request at all.
    let asked = server.seen().len();
    run(&["run", "suite.yaml", "--frozen", "--run-id", "frozen"]).expect_code(0);
    assert_eq!(server.seen().len(), asked);
    assert_eq!(workspace.read("runs/frozen/samples.jsonl"), workspace.read("runs/locked/samples.jsonl"));
    // The branch now points to another model.
    server.commit("owner/tiny", "main", "1123456789abcdef0123456789abcdef01234567");
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny-early.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let other = run(&["run", "suite.yaml", "--locked", "--run-id", "other"]).expect_code(3);
    assert!(other.stderr.contains("file_digest"), "{}", other.stderr);
    let text = workspace.read("suite.yaml");
    workspace.write("suite.yaml", text.replace("hub:owner/tiny/deeper/tiny.gguf", "hub:owner/tiny"));
    let wrong = run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(
        wrong.stderr.contains("names no file") && wrong.stderr.contains("hub:owner/name"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_model_is_measured() {
    let workspace = Workspace::new();
    let arguments = [
        "model",
        "bench",
        &model(),
        "--prompt-tokens",
        "16",
        "--answer-tokens",
        "4",
        "--repeats",
        "1",
        "--json",
    ];
    let json = workspace.run(&arguments).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let figures = json["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 10, "{json}");
    assert!(
        figures.iter().all(|figure| figure["gage_host"].as_f64().is_some_and(|value| value > 0.0)),
        "{json}"
    );
}

/// A locked run uses the kernels that its lock pins. If they cannot run, no model is loaded.
#[cfg(unix)]
#[test]
fn locked_run_uses_the_kernels_of_its_lock() {
    let workspace = Workspace::new();
    let model = program_file("gage-model");
    let folder = program_folder(&workspace, &[("gage-model", &model)]);
    let lock = workspace.path("tiny.gage.lock");
    let lock = lock.to_str().expect("a path");
    workspace.run(&["lock", &tiny(), "--lock", lock]).expect_code(0);
    let locked = ["--locked", "--lock", lock];
    // The copy under the better name is never started: it would be refused.
    let file = workspace.path("bin/gage-model-avx512");
    std::fs::copy(&model, file).expect("a copy");
    run_whole_from(&workspace, &folder, &locked).expect_code(0);
    let check = workspace.read("tiny.gage.lock");
    assert!(check.contains("kernel_variant: baseline"), "{check}");

    // A program with other kernels: it sends a greeting, but cannot run a model.
    let mut greeting = Vec::new();
    let build = BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL_VERSION,
        variant: KernelBuild::Cuda.into(),
        llama_cpp_2: String::new(),
        llama_cpp_sys_2: String::new(),
    };
    let confinement =
        Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: true };
    write_frame(&mut greeting, &Greeting { build, confinement }).expect("a frame");
    std::fs::write(workspace.path("other-greeting"), greeting).expect("written");
    let other = workspace.write("other", "#!/bin/sh\ncat \"$0-greeting\"\n");
    std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let mut command = workspace.program();
    command.env("GAGE_HOST_MODEL_PROGRAM", &other).args(["run", &tiny(), "--log", "info"]).args(locked);
    let refused = CommandOutput::of(command.output().expect("the program runs")).expect_code(3);
    assert!(
        refused.stderr.contains("the kernel variant `baseline`")
            && refused.stderr.contains("built for `cuda`"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("in a process of its own"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(workspace.path("runs")).expect("the first run").count(), 1);
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

/// A kernel may lack Landlock. The others are part of every kernel that a distribution supports.
#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_the_confinement_of_the_model_process() {
    let workspace = Workspace::new();
    let json = workspace.run(&["doctor", "--json"]).expect_code(0).stdout_json();
    let parts = json["model_program"]["confinement"].as_array().expect("parts");
    let is_in_force = |name: &str| {
        let part = parts.iter().find(|part| part["name"] == name).expect("a part");
        part["is_in_force"].as_bool().expect("a truth value")
    };
    assert!(is_in_force("privileges") && is_in_force("system calls"), "{json:#}");
    let text = workspace.run(&["doctor"]).expect_code(0).stdout;
    for (name, part) in [("model program", "gage-model"), ("environment", "only variables of OpenMP")] {
        assert!(text.lines().any(|line| line.starts_with(name) && line.contains(part)), "{name}: {text}");
    }
    let landlock = if is_in_force("files") { "(Landlock " } else { "not limited: " };
    assert!(text.lines().any(|line| line.starts_with("files") && line.contains(landlock)), "{text}");
    let variables = [("GAGE_HOST_MODEL_PROGRAM", "/nowhere/gage-model")];
    let missing = workspace.run_with_env(variables, &["doctor"]).expect_code(0).stdout;
    assert!(missing.contains("cannot be used: /nowhere/gage-model cannot be started"), "{missing}");
}
