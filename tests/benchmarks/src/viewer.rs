//! A `gage-host view` of its own.

use crate::lab::Lab;
use anyhow::Context as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A viewer of a folder of runs; ended when dropped.
pub(crate) struct Viewer {
    process: Child,
    address: String,
    /// The end of a pipe that the process prints to. It stays open.
    output: Option<BufReader<ChildStdout>>,
}

impl Viewer {
    /// Starts a viewer, which prints its address when it listens.
    pub(crate) fn start(lab: &Lab, runs: &Path) -> anyhow::Result<Viewer> {
        let mut command = Command::new(&lab.program);
        command.args(["view", "--port", "0"]).arg(runs);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process = command.spawn().context("the program cannot be started")?;
        let mut viewer = Viewer { process, address: String::new(), output: None };
        let mut printed = BufReader::new(viewer.process.stdout.take().context("the viewer has no output")?);
        let mut line = String::new();
        printed.read_line(&mut line)?;
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        viewer.address =
            address.with_context(|| format!("the viewer printed no address: {line:?}"))?.to_owned();
        viewer.output = Some(printed);
        Ok(viewer)
    }

    /// Returns its host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the id of its process.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        drop(self.output.take());
    }
}
