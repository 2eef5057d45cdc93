//! A process of `gage-model`: its streams and its end.

use super::log_forwarding::LogForwarder;
use super::process_handle::ProcessHandle;
use gage_model_protocol::{Command as ModelCommand, read_frame, write_frame};
use serde::de::DeserializeOwned;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::time::Duration;

/// Time that a killed process may take to exit. It takes longer only if it waits for a device that hangs.
pub(super) const MAX_EXIT_TIME: Duration = Duration::from_secs(10);

/// A started process and its streams. It is killed on drop.
pub(super) struct ModelProcess {
    pub(super) handle: ProcessHandle,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: BufReader<ChildStdout>,
    log: Option<LogForwarder>,
    is_ended: bool,
}

/// End of a process.
pub(super) struct ProcessEnd {
    /// `None` if it does not exit.
    status: Option<ExitStatus>,
    /// Its last warnings and errors.
    log: Vec<String>,
}

impl ModelProcess {
    /// Takes over a process that was just started with three pipes, and sends it a command.
    ///
    /// # Errors
    /// If it lacks a stream, or no thread can be created for its log.
    pub(super) fn new(mut child: Child, command: Option<&ModelCommand>) -> io::Result<ModelProcess> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let Some((mut stdin, stdout)) = stdin.zip(stdout) else {
            return Err(io::Error::other("it has no standard streams"));
        };
        // If the program has already exited, the missing greeting will show it.
        let stdin = command.is_some_and(|command| write_frame(&mut stdin, command).is_ok()).then_some(stdin);
        let (handle, stdout) = (ProcessHandle::new(child), BufReader::new(stdout));
        let mut process = ModelProcess { handle, stdin, stdout, log: None, is_ended: false };
        process.log = stderr.map(LogForwarder::start).transpose()?;
        Ok(process)
    }

    /// Sends a text and reads the answer to it.
    ///
    /// # Errors
    /// Returns how the process ended.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, String> {
        let sent = self.stdin.as_mut().is_some_and(|stdin| write_frame(stdin, &text).is_ok());
        let answer = if sent { self.read() } else { Err(self.end()) };
        answer.map_err(|end| end.described())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Returns how the process ended.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, ProcessEnd> {
        match read_frame::<T>(&mut self.stdout) {
            Ok(Some(message)) => Ok(message),
            Ok(None) | Err(_) => Err(self.end()),
        }
    }

    /// Ends the process, which may still be running (and hang), and returns how it ended.
    pub(super) fn end(&mut self) -> ProcessEnd {
        self.is_ended = true;
        self.stdin = None;
        self.handle.kill();
        let status = self.handle.wait_up_to(MAX_EXIT_TIME);
        let log = self.log.take();
        // The log of a process that does not exit has no end to wait for.
        let log = match status {
            Some(_) => log.map(LogForwarder::finish),
            None => log.map(LogForwarder::last_lines),
        };
        ProcessEnd { status, log: log.unwrap_or_default() }
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        if !self.is_ended {
            self.end();
        }
    }
}

impl ProcessEnd {
    /// Describes how the process ended, including its last log lines.
    pub(super) fn described(&self) -> String {
        self.described_as(&self.cause())
    }

    /// Describes how a process ended that was loading a model file, including its last log lines.
    pub(super) fn described_while_loading(&self, file: &Path) -> String {
        let is_crash = self.status.and_then(signal).is_some_and(|(number, _)| CRASHES.contains(&number));
        let advice = match is_crash {
            true => {
                "; the file may be damaged, or made to attack its reader: fetch it again from a source that you trust"
            }
            false => "",
        };
        let file = file.display();
        self.described_as(&format!("the model file {file} cannot be loaded: {}{advice}", self.cause()))
    }

    /// Describes how the process ended, without its log.
    pub(super) fn cause(&self) -> String {
        let cause = match self.status {
            Some(status) => match signal(status) {
                Some((number, name)) => format!("was ended by the signal {number} ({name})"),
                None => format!("ended with the {status}").replace("exit status: ", "exit status "),
            },
            None => "does not exit, although it was killed".to_owned(),
        };
        format!("the model process {cause}")
    }

    /// Describes an end whose cause is known, including the last log lines.
    pub(super) fn described_as(&self, how: &str) -> String {
        let said = match self.log.is_empty() {
            true => String::new(),
            false => format!("; its last output: {}", self.log.join(" | ")),
        };
        format!("{how}{said}")
    }
}

/// Signals of a process that crashed: failed assertion, bus error, arithmetic error, invalid memory access, and on Linux a
/// system call of another architecture.
const CRASHES: [i32; 5] = [6, 7, 8, 11, 31];

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<(i32, &'static str)> {
    use std::os::unix::process::ExitStatusExt as _;
    let number = status.signal()?;
    let name = match number {
        4 => "SIGILL: this machine lacks an instruction that llama.cpp was built for",
        6 => "SIGABRT: an assertion of llama.cpp failed",
        7 => "SIGBUS: a file that it reads may have been cut off",
        8 => "SIGFPE",
        9 => "SIGKILL: memory may have run out",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        31 => "SIGSYS: it made a system call that is refused",
        _ => "see `man 7 signal`",
    };
    Some((number, name))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<(i32, &'static str)> {
    None
}
