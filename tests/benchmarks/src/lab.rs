//! Shared parts of all measurements: the program, a folder, and suites to run.

use crate::process::{Ran, Terminal, run};
use crate::words::Words;
use anyhow::{Context as _, bail};
use serde_json::Value;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The program, and a folder that is deleted on drop.
pub(crate) struct Lab {
    pub(crate) program: PathBuf,
    pub(crate) folder: tempfile::TempDir,
    /// True for fewer and less exact measurements.
    pub(crate) is_quick: bool,
}

/// One run of a suite.
pub(crate) struct Suite<'s> {
    pub(crate) rows: usize,
    pub(crate) url: &'s str,
    pub(crate) in_flight: usize,
    /// Additional keys of the backend, with a leading comma.
    pub(crate) keys: &'s str,
    /// Additional arguments.
    pub(crate) arguments: &'s [&'s str],
    pub(crate) terminal: Terminal,
    /// True if its threads and its memory are sampled while it runs, which takes a hundredth of a core.
    pub(crate) is_watched: bool,
    /// Parent folder of the run folder; `None` for the lab's own.
    pub(crate) output: Option<&'s Path>,
}

impl<'s> Suite<'s> {
    /// A run that shows nothing and is not watched, with 256 in flight.
    pub(crate) fn silent(url: &'s str, rows: usize) -> Suite<'s> {
        Suite {
            rows,
            url,
            in_flight: 256,
            keys: "",
            arguments: &[],
            terminal: Terminal::Silent,
            is_watched: false,
            output: None,
        }
    }
}

/// Result of a run.
pub(crate) struct FinishedRun {
    pub(crate) ran: Ran,
    pub(crate) summary: Value,
    /// Number of lines of `samples.jsonl`; `ids` counts the distinct ids among them.
    pub(crate) samples: usize,
    pub(crate) ids: usize,
}

impl Lab {
    /// Creates a lab for a program, by default the one in the folder of this one.
    pub(crate) fn new(program: Option<PathBuf>, is_quick: bool) -> anyhow::Result<Lab> {
        let own = std::env::current_exe().context("this program does not know where it lies")?;
        let program = program.unwrap_or_else(|| own.with_file_name("gage-host"));
        if !program.is_file() {
            bail!(
                "there is no program {}; build it by `make release`, or name another by --program",
                program.display()
            );
        }
        let program = std::path::absolute(program)?;
        let folder = tempfile::Builder::new().prefix("gage-benchmarks-").tempdir()?;
        Ok(Lab { program, folder, is_quick })
    }

    /// Returns the first number, or the second one in quick mode.
    pub(crate) fn either(&self, usual: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { usual }
    }

    /// Runs a suite to its end and reads its output.
    pub(crate) fn run(&self, suite: &Suite<'_>) -> anyhow::Result<FinishedRun> {
        let rows = self.rows(suite.rows)?;
        let file = self.folder.path().join("suite.yaml");
        std::fs::write(&file, text_of(suite, &rows))?;
        let output = match suite.output {
            Some(output) => output.to_owned(),
            None => self.folder.path().join("runs"),
        };
        let run_folder = output.join("run");
        let _ = std::fs::remove_dir_all(&run_folder);
        let mut command = Command::new(&self.program);
        command.args(["run", "--run-id", "run", "--concurrency"]).arg(suite.in_flight.to_string());
        command.arg("--output-dir").arg(&output).args(suite.arguments).arg(&file);
        let ran = run(&command, suite.terminal, suite.is_watched, self.folder.path())?;
        let summary = std::fs::read(run_folder.join("summary.json")).context("the run wrote no summary")?;
        let summary = serde_json::from_slice(&summary)?;
        let (samples, ids) = count(&run_folder.join("samples.jsonl"))?;
        std::fs::remove_dir_all(&run_folder)?;
        Ok(FinishedRun { ran, summary, samples, ids })
    }

    /// Runs a suite of few rows to its end without looking at it meanwhile. Returns the begin and the end of the process.
    pub(crate) fn run_briefly(&self, url: &str, rows: usize) -> anyhow::Result<(Instant, Instant)> {
        let suite = Suite::silent(url, rows);
        let file = self.folder.path().join("suite.yaml");
        std::fs::write(&file, text_of(&suite, &self.rows(rows)?))?;
        let output = self.folder.path().join("runs");
        let _ = std::fs::remove_dir_all(output.join("run"));
        let mut command = Command::new(&self.program);
        command.args(["run", "--quiet", "--run-id", "run", "--output-dir"]).arg(&output).arg(&file);
        command.stdout(Stdio::null());
        let began = Instant::now();
        let status = command.status()?;
        let ended = Instant::now();
        anyhow::ensure!(status.success(), "the run ended with {status}");
        Ok((began, ended))
    }

    /// Creates a file with `count` rows: a question of about 100 characters, and a short answer.
    fn rows(&self, count: usize) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(format!("rows-{count}.jsonl"));
        if !path.exists() {
            let mut file = BufWriter::new(File::create(&path)?);
            for number in 0..count {
                writeln!(
                    file,
                    r#"{{"id":"q{number}","question":"A train of {number} wagons leaves at noon, and each of them carries two crates: how many are there?","answer":"{ANSWER}"}}"#
                )?;
            }
            file.flush()?;
        }
        Ok(path)
    }
}

/// The server's answer, which is also the right one.
pub(crate) const ANSWER: &str = "There are forty-two of them.";

fn text_of(suite: &Suite<'_>, rows: &Path) -> String {
    let Suite { url, in_flight, keys, .. } = suite;
    format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: '{}'}}}}
backends:
  - backend_id: model
    type: openai_http
    config: {{base_url: '{url}/v1', model: m, proxy: none, max_concurrency: {in_flight}{keys}}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
metrics: [exact_match, text_length]
custom:
  min_coverage: 0.5
  steps: [{{step: inference}}, {{step: auto_eval}}]
",
        rows.display()
    )
}

/// Right answers of the rows of a [`short_suite`], in turn.
pub(crate) const SHORT_ANSWERS: [&str; 2] = ["forty-two", "thirty-six"];

/// Writes a suite of `count` rows of about 78 bytes into a folder. Returns the path of the suite.
pub(crate) fn short_suite(
    folder: &Path,
    count: usize,
    in_flight: usize,
    url: &str,
) -> anyhow::Result<PathBuf> {
    let rows = folder.join("short.jsonl");
    let mut file = BufWriter::new(File::create(&rows)?);
    let mut words = Words::new();
    for (number, answer) in (0..count).zip(SHORT_ANSWERS.into_iter().cycle()) {
        writeln!(file, r#"{{"id":"q{number}","question":"{}","answer":"{answer}"}}"#, words.text(4))?;
    }
    file.flush()?;
    let suite = folder.join("short.yaml");
    let text = format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: '{}'}}}}
backends:
  - backend_id: model
    type: openai_http
    config: {{base_url: '{url}/v1', model: m, proxy: none, max_concurrency: {in_flight}}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
metrics: [exact_match]
custom:
  steps: [{{step: inference}}, {{step: auto_eval}}]
",
        rows.display()
    );
    std::fs::write(&suite, text)?;
    Ok(suite)
}

/// Counts the lines of a file of samples, and the distinct ids among them.
fn count(path: &Path) -> anyhow::Result<(usize, usize)> {
    use std::io::BufRead as _;
    let mut file = std::io::BufReader::with_capacity(1 << 18, File::open(path)?);
    let (mut line, mut lines) = (String::new(), 0);
    let mut ids = std::collections::HashSet::new();
    while file.read_line(&mut line)? > 0 {
        lines += 1;
        let id = line.split_once("\"sample_id\":\"").and_then(|(_, rest)| rest.split_once('"'));
        let (id, _) = id.context("a sample has no id")?;
        ids.insert(id.to_owned());
        line.clear();
    }
    Ok((lines, ids.len()))
}

/// Returns the bytes of all files below a folder.
pub(crate) fn size_of(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
