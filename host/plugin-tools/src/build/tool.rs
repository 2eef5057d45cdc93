//! Running external programs.

use crate::ToolError;
use std::io;
use std::process::{Command, Output, Stdio};

/// Maximum number of output lines shown.
const LINES: usize = 60;

/// Runs a program to completion and captures its output. Its input is empty, and a terminal interrupt stops
/// it together with this process. `help` explains how to install it.
pub(super) fn run(command: &mut Command, help: &str) -> Result<Output, ToolError> {
    tracing::debug!(?command, "running");
    command.stdin(Stdio::null()).output().map_err(|error| {
        let name = command.get_program().display();
        match error.kind() {
            io::ErrorKind::NotFound => ToolError::with_help(format!("there is no program '{name}'"), help),
            _ => ToolError::with_help(format!("cannot run '{name}': {error}"), help),
        }
    })
}

/// Runs a program, and returns an error with its last output if it fails.
pub(super) fn succeed(command: &mut Command, doing: &str, help: &str) -> Result<Output, ToolError> {
    let output = run(command, help)?;
    if output.status.success() {
        return Ok(output);
    }
    Err(failure(&output, doing))
}

/// Creates the error of a failed program.
pub(super) fn failure(output: &Output, doing: &str) -> ToolError {
    let said = said(output);
    let said = if said.is_empty() { "it wrote nothing".to_owned() } else { said };
    ToolError::new(format!("{doing} failed ({}):\n{said}", output.status))
}

/// Returns the last lines of a program's output.
pub(super) fn said(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let lines: Vec<&str> = text
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let left_out = lines.len().saturating_sub(LINES);
    let mut shown = lines[left_out..].join("\n");
    if left_out > 0 {
        shown.insert_str(0, &format!("… {left_out} lines before\n"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failure_shows_the_last_lines() {
        let error = succeed(&mut shell("seq 100; echo why >&2; exit 3"), "counting", "").unwrap_err();
        assert!(error.message.starts_with("counting failed (exit status: 3):\n… 41 lines before\n42\n"));
        assert!(error.message.ends_with("\n100\nwhy"));
        let error = succeed(&mut shell("exit 1"), "counting", "").unwrap_err();
        assert!(error.message.ends_with("it wrote nothing"));
    }

    #[test]
    fn a_program_has_nothing_to_read() {
        assert_eq!(said(&succeed(&mut shell("cat; echo done"), "reading", "").unwrap()), "done");
    }

    #[test]
    fn a_program_that_is_not_there() {
        let error = run(&mut Command::new("no-such-program"), "install it").unwrap_err();
        assert_eq!(error.message, "there is no program 'no-such-program'");
        assert_eq!(error.help.as_deref(), Some("install it"));
    }
}
