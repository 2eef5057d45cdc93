//! Run folders with a pipe, a link to a device, a folder or a huge file in place of a file of the run. Each is an error of that
//! run alone.

use crate::scripted_backend::constant_backend;
use crate::support::{CommandOutput, Workspace, program_file, rows, suite};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Time after which a command is taken to hang. Each takes less than two seconds.
const MAX_TIME: Duration = Duration::from_secs(120);

/// Limit on the address space of commands that use no component. A command that reads a device to its end exceeds it.
const ADDRESS_SPACE: &str = "ulimit -v 8000000;";

/// A copy of a good run, with something else in place of one of its files.
struct HostileRun {
    name: &'static str,
    file: &'static str,
    make: fn(&Path),
    /// Beginning of the reason why the file is not read.
    reason: &'static str,
}

const fn hostile(
    name: &'static str,
    file: &'static str,
    make: fn(&Path),
    reason: &'static str,
) -> HostileRun {
    HostileRun { name, file, make, reason }
}

static MANIFESTS: [HostileRun; 4] = [
    hostile("manifest-pipe", "manifest.json", pipe, "it is a pipe"),
    hostile("manifest-zeros", "manifest.json", zeros, "it is a symbolic link"),
    hostile("manifest-folder", "manifest.json", folder, "it is a folder"),
    hostile("manifest-sparse", "manifest.json", sparse, "it has 300 MiB; at most 64 MiB are allowed"),
];
static SUMMARIES: [HostileRun; 4] = [
    hostile("summary-pipe", "summary.json", pipe, "it is a pipe"),
    hostile("summary-zeros", "summary.json", zeros, "it is a symbolic link"),
    hostile("summary-folder", "summary.json", folder, "it is a folder"),
    hostile("summary-sparse", "summary.json", sparse, "it has 300 MiB; at most 128 MiB are allowed"),
];
static LOCKS: [HostileRun; 2] = [
    hostile("lock-pipe", "gage.lock", pipe, "it is a pipe"),
    hostile("lock-sparse", "gage.lock", sparse, "it has 300 MiB; at most 64 MiB are allowed"),
];
static JOURNALS: [HostileRun; 8] = [
    hostile("journal-pipe", "journal/000001.jsonl", pipe, "it is a pipe"),
    hostile("journal-zeros", "journal/000001.jsonl", zeros, "it is a symbolic link"),
    hostile("journal-folder", "journal/000001.jsonl", folder, "it is a folder"),
    hostile("journal-sparse", "journal/000001.jsonl", sparse, "it has a line with more than 256 MiB"),
    hostile("journal-line", "journal/000001.jsonl", long_line, "it has 0 whole lines"),
    hostile("count-pipe", "journal/recorded", pipe, "it is a pipe"),
    hostile("count-sparse", "journal/recorded", sparse, "it has 300 MiB; at most 64 KiB are allowed"),
    hostile("journal-link", "journal", moved_aside, "its folder 'journal' is a symbolic link"),
];
static SAMPLES: [HostileRun; 5] = [
    hostile("samples-pipe", "samples.jsonl", pipe, "DAMAGED: it is a pipe"),
    hostile("samples-zeros", "samples.jsonl", zeros, "DAMAGED: it is a symbolic link"),
    hostile("samples-folder", "samples.jsonl", folder, "DAMAGED: it is a folder"),
    hostile("samples-sparse", "samples.jsonl", sparse, "CHANGED, it has 314572800 bytes, and the run wrote"),
    hostile("samples-line", "samples.jsonl", long_line, "CHANGED"),
];

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

fn pipe(path: &Path) {
    fs::remove_file(path).expect("removed");
    make_pipe(path);
}

fn zeros(path: &Path) {
    fs::remove_file(path).expect("removed");
    symlink("/dev/zero", path).expect("a link");
}

fn folder(path: &Path) {
    fs::remove_file(path).expect("removed");
    fs::create_dir(path).expect("a folder");
}

fn sparse(path: &Path) {
    File::create(path).and_then(|file| file.set_len(300 << 20)).expect("a file");
}

/// Makes a file of holes, which has the size that the manifest records.
fn recorded_sparse(path: &Path) {
    sparse(path);
    let manifest = path.with_file_name("manifest.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value["files"]["samples.jsonl"]["bytes"] = json!(300 << 20);
    fs::write(&manifest, value.to_string()).expect("written");
}

fn long_line(path: &Path) {
    let mut file = File::create(path).expect("a file");
    let part = vec![b'a'; 1 << 20];
    (0..100).for_each(|_| file.write_all(&part).expect("written"));
    file.write_all(b"\n").expect("written");
}

fn moved_aside(path: &Path) {
    let aside = path.with_file_name("exports");
    fs::rename(path, &aside).expect("renamed");
    symlink(&aside, path).expect("a link");
}

/// Returns a workspace with the run `good`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "answer 1"), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "good", "--quiet"]).expect_code(0);
    workspace
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Adds copies of the run `good` with hostile files.
fn add<'r>(workspace: &Workspace, runs: impl IntoIterator<Item = &'r HostileRun>) {
    for run in runs {
        let to = workspace.path(&format!("runs/{}", run.name));
        copy(&workspace.path("runs/good"), &to);
        (run.make)(&to.join(run.file));
    }
}

/// Returns whether a run takes little space on the disk.
fn is_small(run: &&HostileRun) -> bool {
    !run.name.ends_with("-line")
}

/// Waits for the end of a command, which is killed if it hangs.
#[track_caller]
fn end_of(mut command: Command, shown: &str) -> CommandOutput {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let process = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(MAX_TIME) {
        Ok(output) => CommandOutput::of(output.expect("its output")),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
            panic!("`{shown}` hangs");
        }
    }
}

/// Runs a command to its end.
#[track_caller]
fn execute(workspace: &Workspace, arguments: &str) -> CommandOutput {
    let mut command = workspace.program();
    command.args(arguments.split(' '));
    end_of(command, arguments)
}

/// Runs a command that uses no component to its end, with limited memory.
#[track_caller]
fn run_limited(workspace: &Workspace, arguments: &str) -> CommandOutput {
    let mut command = workspace.program_in_shell(&format!("{ADDRESS_SPACE} exec \"$0\" \"$@\""));
    command.arg(program_file("gage-host")).args(arguments.split(' '));
    end_of(command, arguments)
}

/// Checks that a command ends with this code, and names the file of a run and the reason.
#[track_caller]
fn assert_named(ended: CommandOutput, code: i32, run: &HostileRun) {
    let shown = format!("{}\n{}", run.name, ended.transcript());
    assert_eq!(ended.code, Some(code), "{shown}");
    let output = format!("{}{}", ended.stdout, ended.stderr);
    let folder = run.file.split('/').next().unwrap_or_default();
    assert!(output.contains(run.reason) && output.contains(folder), "{shown}");
}

#[test]
fn one_hostile_run_leaves_the_others_listed() {
    let workspace = workspace();
    let unreadable: Vec<&HostileRun> = MANIFESTS.iter().chain(&SUMMARIES).chain(&LOCKS).collect();
    let others: Vec<&HostileRun> = JOURNALS.iter().chain(&SAMPLES).filter(is_small).collect();
    add(&workspace, unreadable.iter().chain(&others).copied());
    let running = hostile("running", ".lock", make_running, "");
    add(&workspace, [&running]);
    let listed = run_limited(&workspace, "runs list --json").expect_code(0);
    let found = listed.stdout_json();
    let names = |key: &str| -> Vec<String> {
        let paths = found[key].as_array().expect("runs").iter().map(|run| run["path"].as_str());
        paths.map(|path| path.expect("a path").rsplit('/').next().unwrap_or_default().to_owned()).collect()
    };
    let mut readable: Vec<&str> = others.iter().map(|run| run.name).chain(["good", "running"]).collect();
    readable.sort_unstable();
    let mut shown = names("runs");
    shown.sort_unstable();
    assert_eq!(shown, readable, "{}", listed.transcript());
    for run in unreadable {
        let file = format!("runs/{}/{} cannot be used: {}", run.name, run.file, run.reason);
        assert!(listed.stderr.contains(&file), "{file}\n{}", listed.stderr);
    }
    let state = found["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|run| run["path"].as_str().is_some_and(|path| path.ends_with("/running")));
    assert_eq!(state.map(|run| &run["status"]), Some(&json!("killed")), "a pipe is no lock of a process");
}

/// Makes a run look as if a process is writing to it, and puts pipes in place of the files that it would have locked.
fn make_running(lock: &Path) {
    let run = lock.parent().expect("a run folder");
    let manifest = run.join("manifest.json");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    fs::write(&manifest, text.replace("\"complete\"", "\"running\"")).expect("written");
    let _ = fs::remove_file(lock);
    make_pipe(lock);
    pipe(&run.join("journal/recorded"));
}

#[test]
fn hostile_manifests_and_summaries_are_errors() {
    let workspace = workspace();
    add(&workspace, MANIFESTS.iter().chain(&SUMMARIES));
    for run in MANIFESTS.iter().chain(&SUMMARIES) {
        let name = run.name;
        for arguments in [
            format!("runs show {name}"),
            format!("compare good {name}"),
            format!("export {name} --format csv --out out.csv"),
        ] {
            assert_named(run_limited(&workspace, &arguments), 2, run);
        }
    }
    for name in ["manifest-pipe", "summary-pipe"] {
        let ended = execute(&workspace, &format!("report {name} --output report.html")).expect_code(2);
        assert!(ended.stderr.contains("it is a pipe"), "{}", ended.stderr);
    }
    for run in &MANIFESTS {
        for command in ["verify", "score --run-id again"] {
            assert_named(execute(&workspace, &format!("{command} runs/{}", run.name)), 2, run);
        }
    }
    for run in &SUMMARIES {
        assert_named(execute(&workspace, &format!("verify --files-only {}", run.name)), 3, run);
    }
    assert!(!workspace.path("out.csv").exists() && !workspace.path("runs/again").exists());
}

#[test]
fn hostile_journals_are_errors() {
    let workspace = workspace();
    add(&workspace, &JOURNALS);
    for run in &JOURNALS {
        let name = run.name;
        assert_named(run_limited(&workspace, &format!("compare good {name}")), 2, run);
        assert_named(run_limited(&workspace, &format!("export {name} --format csv --out out.csv")), 2, run);
        for command in ["report --output report.html", "score --run-id again"] {
            assert_named(execute(&workspace, &format!("{command} runs/{name}")), 2, run);
        }
        assert_named(execute(&workspace, &format!("verify --files-only {name}")), 3, run);
    }
    assert!(!workspace.path("report.html").exists() && !workspace.path("runs/again").exists());
}

#[test]
fn hostile_samples_are_reported_by_verify() {
    let workspace = workspace();
    add(&workspace, &SAMPLES);
    for run in &SAMPLES {
        assert_named(execute(&workspace, &format!("verify {}", run.name)), 3, run);
    }
    if cfg!(target_os = "linux") {
        let recorded = hostile("samples-recorded", "samples.jsonl", recorded_sparse, "DAMAGED: it has holes");
        add(&workspace, [&recorded]);
        let ended = execute(&workspace, "verify --files-only samples-recorded");
        assert_named(ended, 3, &recorded);
    }
}

/// The files that a command creates stay in the run folder, and existing files elsewhere stay as they are.
#[test]
fn links_in_a_run_folder_are_not_written_through() {
    let workspace = workspace();
    workspace.write("elsewhere/mine.txt", "mine");
    let (elsewhere, mine) = (workspace.path("elsewhere"), workspace.path("elsewhere/mine.txt"));
    type Change = fn(&Path, &Path, &Path);
    let cases: [(&str, Change, &str); 4] = [
        (
            "export RUN --format csv",
            |run, elsewhere, _| symlink(elsewhere, run.join("exports")).expect("a link"),
            "its folder 'exports' is a symbolic link",
        ),
        (
            "export RUN --format lm-eval",
            |run, elsewhere, _| {
                fs::create_dir(run.join("exports")).expect("a folder");
                symlink(elsewhere, run.join("exports/lm-eval")).expect("a link");
            },
            "its folder 'lm-eval' is a symbolic link",
        ),
        (
            "export RUN --format csv --force",
            |run, _, mine| {
                fs::create_dir(run.join("exports")).expect("a folder");
                symlink(mine, run.join("exports/figures.csv")).expect("a link");
            },
            "it is a symbolic link",
        ),
        (
            "report RUN",
            |run, _, mine| {
                let _ = fs::remove_file(run.join("report.html"));
                symlink(mine, run.join("report.html")).expect("a link");
            },
            "it is a symbolic link",
        ),
    ];
    for (number, (arguments, change, expected)) in cases.into_iter().enumerate() {
        let name = format!("links-{number}");
        let folder = workspace.path(&format!("runs/{name}"));
        copy(&workspace.path("runs/good"), &folder);
        change(&folder, &elsewhere, &mine);
        let ended = execute(&workspace, &arguments.replace("RUN", &name)).expect_code(2);
        assert!(ended.stderr.contains(expected), "{arguments}: {}", ended.stderr);
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 1, "{arguments}");
        assert_eq!(workspace.read("elsewhere/mine.txt"), "mine", "{arguments}");
    }
    // A temporary file has a name that can be known in advance.
    let exports = workspace.path("runs/good/exports");
    fs::create_dir_all(&exports).expect("a folder");
    symlink(&mine, exports.join(".figures.csv.tmp")).expect("a link");
    execute(&workspace, "export good --format csv").expect_code(0);
    assert_eq!(workspace.read("elsewhere/mine.txt"), "mine");
    assert!(workspace.read("runs/good/exports/figures.csv").contains("exact_match"));
}

#[test]
fn hostile_suites_and_their_files_are_errors() {
    let workspace = workspace();
    make_pipe(&workspace.path("pipe"));
    sparse(&workspace.path("sparse"));
    symlink("/dev/zero", workspace.path("zeros")).expect("a link");
    let text = workspace.read("suite.yaml");
    let http = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:1/v1', model: m, KEY: ./FILE}";
    for (file, reason) in [
        ("pipe", "it is a pipe"),
        ("zeros", "it is a device"),
        ("runs", "it is a folder"),
        ("sparse", "it has 300 MiB; at most"),
    ] {
        let ended = execute(&workspace, &format!("validate {file}")).expect_code(2);
        assert!(ended.stderr.contains(reason), "the suite {file}: {}", ended.stderr);
        for program in ["gage", "lm-eval", "promptfoo"] {
            let ended = execute(&workspace, &format!("import {program} {file}")).expect_code(2);
            assert!(ended.stderr.contains(reason), "import {program} of {file}: {}", ended.stderr);
        }
        for key in ["api_key_file", "ca_certificate"] {
            let backend = http.replace("KEY", key).replace("FILE", file);
            workspace.write("hostile.yaml", suite(&backend, "[exact_match]"));
            let ended = execute(&workspace, "validate hostile.yaml");
            assert!(ended.stderr.contains(reason), "{key} {file}: {}", ended.transcript());
        }
    }
    workspace.write("hostile.yaml", text.replace("path: rows.jsonl", "path: pipe"));
    let ended = execute(&workspace, "plan hostile.yaml");
    let is_named = ["a pipe or device", "it is a pipe"].iter().any(|part| ended.stderr.contains(part));
    assert!(ended.code == Some(2) && is_named, "{}", ended.transcript());
}

#[test]
fn hostile_gates_labels_plugins_and_recordings_are_errors() {
    let workspace = workspace();
    make_pipe(&workspace.path("pipe"));
    sparse(&workspace.path("sparse"));
    symlink("/dev/zero", workspace.path("zeros")).expect("a link");
    for (file, reason) in [
        ("pipe", "it is a pipe"),
        ("zeros", "it is a device"),
        ("runs", "it is a folder"),
        ("sparse", "it has 300 MiB; at most"),
    ] {
        for command in [
            "compare good good --gate",
            "judge calibrate good --labels",
            "plugin inspect",
            "run suite.yaml --replay",
        ] {
            // A recording has no maximum size.
            if file == "sparse" && command.starts_with("run ") {
                continue;
            }
            let ended = execute(&workspace, &format!("{command} {file}")).expect_code(2);
            // The folder of a project names its component.
            let reason = match (file, command) {
                ("runs", "plugin inspect") => "it has no gage-plugin.toml",
                _ => reason,
            };
            assert!(ended.stderr.contains(reason), "{command} {file}: {}", ended.stderr);
        }
    }
}

/// A viewer that is killed when it is dropped.
struct ViewerProcess {
    child: Child,
    address: String,
}

impl ViewerProcess {
    fn start(workspace: &Workspace) -> ViewerProcess {
        let mut command = workspace.program();
        command.args(["view", "runs", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a stream")).read_line(&mut line).expect("a line");
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        ViewerProcess { child, address }
    }

    /// Requests a path. Returns the status and the body of the reply.
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(MAX_TIME)).expect("a bound");
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap_or_else(|error| panic!("no reply to {path}: {error}"));
        let (head, body) = reply.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status"), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

impl Drop for ViewerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn viewer_shows_the_other_runs_and_why_one_is_unreadable() {
    let workspace = workspace();
    let all = || {
        let runs = MANIFESTS.iter().chain(&SUMMARIES).chain(&LOCKS).chain(&JOURNALS).chain(&SAMPLES);
        runs.filter(is_small)
    };
    add(&workspace, all());
    let viewer = ViewerProcess::start(&workspace);
    let listed = viewer.json("/data/runs");
    let lines = listed["runs"].as_array().expect("runs");
    let line_of = |name: &str| lines.iter().find(|line| line["name"] == name);
    assert_eq!(line_of("good").map(|line| &line["status"]), Some(&json!("complete")), "{listed:#}");
    for run in MANIFESTS.iter().chain(&SUMMARIES).chain(&LOCKS) {
        let problem = line_of(run.name).and_then(|line| line["problem"].as_str());
        let is_left_out = listed["left_out"].as_array().is_some_and(|names| names.contains(&json!(run.name)));
        let is_named = problem.is_some_and(|problem| problem.contains(run.reason));
        assert!(is_named || is_left_out, "{}: {listed:#}", run.name);
    }
    for run in all() {
        for path in [format!("/runs/{}", run.name), format!("/data/runs/{}", run.name)] {
            let (status, body) = viewer.get(&path);
            assert!([200, 404, 500].contains(&status), "{path}: {status} {body}");
        }
    }
    let (status, body) = viewer.get("/runs/journal-pipe");
    assert!(status == 500 && body.contains("it is a pipe"), "{status}: {body}");
    assert_eq!(viewer.json("/data/history")["trends"].as_array().map(Vec::is_empty), Some(false));
    assert_eq!(viewer.get("/runs/good").0, 200);
}

#[test]
fn hostile_projects_and_cases_of_plugins_are_errors() {
    let workspace = Workspace::new();
    let project = workspace.path("gage-plugin.toml");
    make_pipe(&project);
    for command in [vec!["plugin", "test"], vec!["plugin", "build"], vec!["plugin", "inspect"]] {
        let ended = workspace.run(&command).expect_code(2);
        assert!(ended.stderr.contains("gage-plugin.toml: it is a pipe"), "{command:?}\n{}", ended.stderr);
    }
    fs::remove_file(&project).expect("removed");
    sparse(&project);
    let ended = workspace.run(&["plugin", "test"]).expect_code(2);
    assert!(ended.stderr.contains("it has 300 MiB; at most 1 MiB are allowed"), "{}", ended.stderr);
    workspace.write("words.wasm", gage_test_guests::BARE_WORD_RECALL);
    make_pipe(&workspace.path("cases.jsonl"));
    let ended = workspace.run(&["plugin", "test", "words.wasm"]).expect_code(2);
    assert!(ended.stderr.contains("cases.jsonl: it is a pipe"), "{}", ended.stderr);
}
