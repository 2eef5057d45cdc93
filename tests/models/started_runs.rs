//! Runs that are under way, and the processes of their models.

#[cfg(unix)]
use crate::support::Workspace;
use crate::support::repository;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Read as _};
#[cfg(unix)]
use std::process::{Child, ChildStderr, Command, Stdio};
#[cfg(unix)]
use std::thread::JoinHandle;

pub(crate) fn tiny() -> String {
    repository().join("config/custom/tiny.yaml").display().to_string()
}

pub(crate) fn model() -> String {
    repository().join("config/models/gage-tiny.gguf").display().to_string()
}

/// Starts a run and returns it after some answers, with the process of its model and the rest of its log.
#[cfg(unix)]
pub(crate) fn under_way(workspace: &Workspace, run_id: &str) -> (Child, u32, BufReader<ChildStderr>) {
    under_way_with(workspace, run_id, &[])
}

#[cfg(unix)]
pub(crate) fn under_way_with(
    workspace: &Workspace,
    run_id: &str,
    further: &[&str],
) -> (Child, u32, BufReader<ChildStderr>) {
    under_way_as(workspace.program(), workspace, run_id, further)
}

/// Does the same with a command that runs the program.
#[cfg(unix)]
pub(crate) fn under_way_as(
    mut command: Command,
    workspace: &Workspace,
    run_id: &str,
    further: &[&str],
) -> (Child, u32, BufReader<ChildStderr>) {
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
pub(crate) fn model_of(log: &mut impl BufRead) -> u32 {
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
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[cfg(unix)]
pub(crate) fn kill(pid: u32) {
    signal(pid, "KILL");
}

/// Reads the rest of a log.
#[cfg(unix)]
pub(crate) fn rest_of(mut log: BufReader<ChildStderr>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).expect("UTF-8");
        rest
    })
}

/// Waits until a process is gone, or a zombie whose exit status has not been collected yet.
#[cfg(target_os = "linux")]
pub(crate) fn wait_until_gone(pid: u32) {
    loop {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        if state.is_err() || state.is_ok_and(|state| state.contains(") Z ")) {
            return;
        }
        std::thread::yield_now();
    }
}
