//! Runs with too few file descriptors, too little address space or too few threads. Each ends, says what is short, and records
//! nothing that depends on it. Resumed without the limit, it has the bytes of an undisturbed run.

use crate::judged_runs;
use crate::scripted_backend::constant_backend;
use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace, program_file, rows, suite};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// More than one batch of rows and of scores.
const ROWS: usize = 150;
/// Time after which a run is taken to hang. Runs take a second or two.
const MAX_RUN_TIME: Duration = Duration::from_secs(180);
/// A user without processes, whose threads can be limited.
const LIMITED_USER: u32 = 61_234;

/// A workspace, and how the program is started in it.
struct LimitedRuns {
    workspace: Workspace,
    concurrency: &'static str,
    /// The user and its compiled components, if it is not the one of the test.
    user: Option<(u32, PathBuf)>,
}

impl LimitedRuns {
    /// Writes the suite and its rows.
    fn new(backend: impl FnOnce(&Workspace) -> String, concurrency: &'static str) -> LimitedRuns {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(ROWS));
        let backend = backend(&workspace);
        workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
        LimitedRuns { workspace, concurrency, user: None }
    }

    /// Starts the program as another user.
    fn for_user(self, user: u32) -> LimitedRuns {
        let folder = self.workspace.path(".");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).expect("the owner may");
        let cache = self.workspace.path("cache");
        LimitedRuns { user: Some((user, cache)), ..self }
    }

    /// Runs the suite under limits of the shell, such as `ulimit -n 20;`.
    #[track_caller]
    fn run(&self, limits: &str, run_id: &str, resume: bool) -> CommandOutput {
        let mut command = self.workspace.program_in_shell(&format!("{limits} exec \"$0\" \"$@\""));
        command.arg(program_file("gage-host")).args(["run", "suite.yaml", "--quiet", "--run-id", run_id]);
        command.args(["--concurrency", self.concurrency]).args(resume.then_some("--resume"));
        if let Some((user, cache)) = &self.user {
            command.uid(*user).env("GAGE_CACHE_DIR", cache);
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the shell starts");
        let process = child.id();
        let (sender, ended) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        match ended.recv_timeout(MAX_RUN_TIME) {
            Ok(output) => output_of(&output.expect("its output")),
            Err(_) => {
                let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
                panic!("the run hangs with {limits}");
            }
        }
    }

    /// Does the undisturbed run `whole`.
    fn run_whole(self) -> LimitedRuns {
        self.run("", "whole", false).expect_code(0);
        self
    }

    /// Runs the suite under limits, and then without them. Returns the exit code of the limited run.
    #[track_caller]
    fn check(&self, limits: &str, run_id: &str, sentence: &str) -> Option<i32> {
        let limited = self.run(limits, run_id, false);
        let shown = format!("{limits}\n{}", limited.transcript());
        assert!(matches!(limited.code, Some(0 | 1)), "{shown}");
        assert!(!limited.stderr.contains("panicked"), "{shown}");
        if limited.code == Some(1) {
            assert!(limited.stderr.contains(sentence), "{shown}");
            assert!(limited.stderr.contains("help: remove the cause, then "), "{shown}");
        }
        let folder = format!("runs/{run_id}");
        let journal = self.workspace.path(&format!("{folder}/journal/000001.jsonl"));
        let recorded = std::fs::read_to_string(journal).unwrap_or_default();
        for failure in ["plugin_error", "backend_error", "invalid_sample"] {
            assert!(!recorded.contains(failure), "{failure} is recorded: {shown}");
        }
        let has_begun = self.workspace.path(&format!("{folder}/manifest.json")).is_file();
        self.run("", run_id, has_begun).expect_code(0);
        self.workspace.assert_equal_files("whole", run_id, &["samples.jsonl"]);
        limited.code
    }
}

/// Returns the output without recording its messages, which depend on the machine.
fn output_of(output: &Output) -> CommandOutput {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandOutput { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Returns a server that takes a moment for each answer, so that requests are in flight at the same time.
fn slow_server() -> Server {
    Server::start(|request| {
        completion(&format!("answer {}", question_number(request))).set_delay(Duration::from_millis(20))
    })
}

#[test]
fn too_few_file_descriptors_end_the_run() {
    let server = slow_server();
    let runs = LimitedRuns::new(|_| server.backend(""), "4").run_whole();
    for (limit, expected) in [
        (12, Some(1)),
        (16, Some(1)),
        (20, Some(1)),
        (24, Some(1)),
        // A program that starts the tests may leave files open.
        (32, None),
        (48, None),
        (64, Some(0)),
    ] {
        let code =
            runs.check(&format!("ulimit -n {limit};"), &format!("n{limit}"), "out of file descriptors; ");
        assert!(expected.is_none() || code == expected, "{limit}: {code:?}");
    }
}

#[test]
fn too_few_file_descriptors_for_connections_end_the_run() {
    let server = slow_server();
    let runs = LimitedRuns::new(|_| server.backend(""), "64").run_whole();
    let code = runs.check("ulimit -n 44;", "connections", "out of file descriptors; ");
    assert_eq!(code, Some(1));
}

/// A judge is asked only after the answer was sent to the journal. The connections to the judge need the files that are short.
#[test]
fn shortage_loses_no_answer_that_was_paid_for() {
    const JUDGE: &str = "{step: judge, attempts: 1}";
    let model = slow_server();
    for limit in [40, 44, 48, 52] {
        let judge = Server::start(|_| {
            completion("Fine.\nCORRECT: yes\nSCORE: 1.0").set_delay(Duration::from_millis(20))
        });
        let runs = LimitedRuns::new(|_| model.backend(""), "16");
        runs.workspace.write("suite.yaml", judged_runs::suite(&model, &judge, JUDGE, ""));
        let limited = runs.run(&format!("ulimit -n {limit};"), "r", false);
        let shown = format!("{limit}\n{}", limited.transcript());
        assert!(matches!(limited.code, Some(0 | 1)), "{shown}");
        let journal = runs.workspace.path("runs/r/journal/000001.jsonl");
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        let answers = journal.matches(r#""awaits_judges":true"#).count();
        assert!(answers >= judge.requests(), "{answers} of {} answers: {shown}", judge.requests());
        let has_begun = runs.workspace.path("runs/r/manifest.json").is_file();
        runs.run("", "r", has_begun).expect_code(0);
    }
}

#[test]
fn too_little_address_space_ends_the_run() {
    let runs = LimitedRuns::new(|workspace| constant_backend(workspace, "answer 7"), "4").run_whole();
    for (gibibytes, expected) in [(1, Some(1)), (2, Some(1)), (4, Some(1)), (6, None), (8, None), (12, None)]
    {
        let limits = format!("ulimit -v {};", gibibytes << 20);
        let code = runs.check(&limits, &format!("v{gibibytes}"), "out of memory; ");
        assert!(expected.is_none() || code == expected, "{gibibytes} GiB: {code:?}");
    }
}

#[test]
fn too_few_threads_end_the_run() {
    let runs = LimitedRuns::new(|workspace| constant_backend(workspace, "answer 7"), "4");
    let owner = std::fs::metadata(runs.workspace.path("suite.yaml")).expect("the suite").uid();
    if owner != 0 {
        eprintln!(
            "skipped: the limit counts all threads of a user, and only root can start another user's program"
        );
        return;
    }
    let runs = runs.for_user(LIMITED_USER);
    let is_reachable = Command::new(program_file("gage-host")).arg("--version").uid(LIMITED_USER).output();
    if is_reachable.is_err() {
        eprintln!("skipped: another user cannot start the program in this folder");
        return;
    }
    let runs = runs.run_whole();
    for limit in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24, 32] {
        // Shells differ in the name of the limit.
        let limits = format!("(ulimit -u {limit}) 2>/dev/null && ulimit -u {limit} || ulimit -p {limit};");
        let code = runs.check(&limits, &format!("u{limit}"), "out of threads; ");
        assert!(limit > 6 || code == Some(1), "{limit}: {code:?}");
    }
    let code = runs.check("(ulimit -u 4096) 2>/dev/null && ulimit -u 4096 || ulimit -p 4096;", "u4096", "");
    assert_eq!(code, Some(0));
}
