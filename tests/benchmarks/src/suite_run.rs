//! A run of a short suite in a folder of its own, beside others.

use crate::lab::{Lab, short_suite};
use crate::process::{BackgroundRun, RunEnd};
use anyhow::Context as _;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A suite in a folder of its own, and its run.
pub(crate) struct SuiteRun {
    program: PathBuf,
    folder: tempfile::TempDir,
    suite: PathBuf,
    in_flight: usize,
}

impl SuiteRun {
    /// Writes a suite with `samples` samples, of which `in_flight` are asked at once.
    pub(crate) fn new(lab: &Lab, samples: usize, in_flight: usize, url: &str) -> anyhow::Result<SuiteRun> {
        let folder = tempfile::tempdir_in(lab.folder.path())?;
        let suite = short_suite(folder.path(), samples, in_flight, url)?;
        Ok(SuiteRun { program: lab.program.clone(), folder, suite, in_flight })
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> anyhow::Result<BackgroundRun> {
        let mut command = Command::new(&self.program);
        command.args(["run", "--run-id", "run", "--concurrency"]).arg(self.in_flight.to_string());
        command.arg("--output-dir").arg(self.folder.path().join("runs")).args(arguments).arg(&self.suite);
        BackgroundRun::start(&command, self.folder.path())
    }

    /// Returns how many of the samples are not scored.
    pub(crate) fn lost(&self, samples: usize, end: &RunEnd) -> anyhow::Result<usize> {
        let summary = self.json("summary.json").with_context(|| describe(end))?;
        let scored = usize::try_from(summary["samples"]["outcomes"]["scored"].as_u64().unwrap_or(0))?;
        Ok(samples.saturating_sub(scored))
    }

    /// Returns how many requests were sent again.
    pub(crate) fn retries(&self, end: &RunEnd) -> anyhow::Result<u64> {
        let timings = self.json("timings.json").with_context(|| describe(end))?;
        timings["retries"].as_u64().context("timings.json has no number of retries")
    }

    fn json(&self, name: &str) -> anyhow::Result<Value> {
        let path = self.folder.path().join("runs/run").join(name);
        let bytes = std::fs::read(path).with_context(|| format!("the run wrote no {name}"))?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

fn describe(end: &RunEnd) -> String {
    format!("exit code {}: {}", end.exit_code, end.messages.trim())
}
