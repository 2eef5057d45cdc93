//! Runs the program in its own folder with its own environment.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns a program of this project. Cargo names those of the package under test; the others are in the same folder.
pub(crate) fn program_file(name: &str) -> PathBuf {
    let own = option_env!("CARGO_BIN_EXE_gage-host").or(option_env!("CARGO_BIN_EXE_gage-model"));
    let file =
        Path::new(own.expect("a program")).with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(file.is_file(), "{} does not exist: `cargo test --workspace` builds it", file.display());
    file
}

/// Files of a run that depend only on its answers.
pub(crate) const RESULT_FILES: [&str; 2] = ["samples.jsonl", "summary.json"];

/// A folder for the files of one test, deleted when it is dropped.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

/// Result of a command.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace { folder: tempfile::tempdir().expect("a folder") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder");
        }
        std::fs::write(&path, content).expect("written");
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the program, to be run in this folder. It inherits no environment variable except PATH, and shares the
    /// compiled components with the other tests.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(program_file("gage-host"));
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        command
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("GAGE_CACHE_DIR", cache)
            .env("OMP_WAIT_POLICY", "passive")
            .stdin(Stdio::null());
        command
    }

    /// Returns a shell with the environment of the program; further arguments become those of the script.
    #[cfg(unix)]
    pub(crate) fn program_in_shell(&self, script: &str) -> Command {
        let program = self.program();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.folder.path()).env_clear().stdin(Stdio::null());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.program().args(arguments).output().expect("the program runs"))
    }

    /// Runs the program to its end with additional environment variables.
    pub(crate) fn run_with_env<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        &self,
        variables: impl IntoIterator<Item = (N, V)>,
        arguments: &[&str],
    ) -> CommandOutput {
        let output = self.program().args(arguments).envs(variables).output();
        CommandOutput::of(output.expect("the program runs"))
    }

    /// Starts the program; its output is piped.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.program();
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Starts the program; its output is discarded.
    pub(crate) fn start_silent(&self, arguments: &[&str]) -> Child {
        let mut command = self.program();
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    }

    /// Fails the test unless two runs have the same bytes in each of some files.
    #[track_caller]
    pub(crate) fn assert_equal_files(&self, run_id: &str, other: &str, files: &[&str]) {
        for file in files {
            let read = |run_id: &str| self.read(&format!("runs/{run_id}/{file}"));
            assert_eq!(read(run_id), read(other), "{file} of {run_id} and {other}");
        }
    }

    /// Returns the fuel used for scoring a task of a run.
    pub(crate) fn scoring_fuel(&self, run_id: &str, task: usize) -> Value {
        self.json(run_id, "timings.json")["tasks"][task]["scoring_fuel"].clone()
    }

    /// Returns a file of a run folder below `runs`, as JSON.
    pub(crate) fn json(&self, run_id: &str, file: &str) -> Value {
        serde_json::from_str(&self.read(&format!("runs/{run_id}/{file}"))).expect("JSON")
    }

    /// Exports a run for lm-evaluation-harness without a note, and returns the `arguments` of each sample of its first task.
    pub(crate) fn lm_eval_arguments(&self, run_id: &str) -> Vec<Value> {
        let words = ["export", run_id, "--format", "lm-eval", "--json"];
        let exported = self.run(&words).expect_code(0).stdout_json();
        assert_eq!(exported["notes"], serde_json::json!([]));
        let text = self.read(exported["files"][0].as_str().expect("a file"));
        let line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["arguments"].clone();
        text.lines().map(line).collect()
    }

    /// Returns the lines of `samples.jsonl`.
    pub(crate) fn samples(&self, run_id: &str) -> Vec<Value> {
        let text = self.read(&format!("runs/{run_id}/samples.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// Sends a signal such as `INT` to a process.
#[cfg(unix)]
pub(crate) fn send_signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

impl CommandOutput {
    /// Returns the output without the lines that appear once per machine: those about compiling a component.
    pub(crate) fn of(output: Output) -> CommandOutput {
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        gage_recorded_messages::record_output(&stderr);
        let is_kept = |line: &&str| !line.starts_with("compiling the plugin ");
        CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: stderr.split_inclusive('\n').filter(is_kept).collect(),
        }
    }

    /// Waits for the end of a process that [`Workspace::start`] started.
    pub(crate) fn wait_for(child: Child) -> CommandOutput {
        CommandOutput::of(child.wait_with_output().expect("the program ends"))
    }

    /// Interrupts a process as Ctrl-C does, and waits for its end.
    #[cfg(unix)]
    pub(crate) fn interrupt(child: Child) -> CommandOutput {
        send_signal(&child, "INT");
        CommandOutput::wait_for(child)
    }

    /// Returns the standard output as JSON.
    #[track_caller]
    pub(crate) fn stdout_json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect("JSON")
    }

    /// Fails the test unless the command ended with this code.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Returns the whole output and the exit code, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        format!("exit {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

/// Returns a suite that asks one backend about `rows.jsonl` and scores with some metrics.
pub(crate) fn suite(backend: &str, metrics: &str) -> String {
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - dataset_id: rows
    loader: jsonl
    params: {{path: rows.jsonl}}
backends:
  - backend_id: model
    {backend}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
metrics: {metrics}
custom:
  steps: [{{step: inference}}, {{step: auto_eval}}]
"
    )
}

/// Returns a suite whose answers are judged: `model` and `judge` are backends, `dut` has additional keys of the role
/// that asks the model, and `extra` follows the steps.
pub(crate) fn judged_suite(
    model: &str,
    judge: &str,
    dut: &str,
    metrics: &str,
    steps: &str,
    extra: &str,
) -> String {
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: rows.jsonl}}}}
backends:
  - backend_id: model
    {model}
  - backend_id: judges
    {judge}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model{dut}}}
  - {{adapter_id: judge, role_type: judge_model, backend_id: judges}}
metrics: {metrics}
custom:
  steps: {steps}
{extra}"
    )
}

/// Returns rows `q0`, `q1`, … with the question `question 0` and the answer `answer 0`.
pub(crate) fn rows(count: usize) -> String {
    (0..count)
        .map(|number| {
            format!(
                "{{\"id\":\"q{number}\",\"question\":\"question {number}\",\"answer\":\"answer {number}\"}}\n"
            )
        })
        .collect()
}
