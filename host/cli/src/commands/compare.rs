//! `gage-host compare`: is a run worse than a baseline?

use super::permissions::permissions;
use super::{history, setup};
use crate::arguments::{CompareArguments, DEFAULT_LOG};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_compare::{
    CompareError, CompareOptions, Comparison, ComparisonWarning, Verdict, compare, github_annotations,
    junit_xml, markdown, render_comparison,
};
use gage_config::{Environment, GateSpec, Permissions, load_gate, shown_path};
use gage_core::foreign_file::{self, FileLimit};
use gage_figures::{FiguresError, RecordedRun};
use gage_record::{MissingManifest, RecordError, RunFolder, has_shards};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum width of a comparison in columns: longer lines are hard to read.
const MAX_WIDTH_COLUMNS: usize = 80;

/// Maximum size of a file with a gate.
const MAX_GATE_SIZE: FileLimit = FileLimit::new("a gate", 1 << 20);

pub(crate) fn execute(arguments: &CompareArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let named = arguments.base.as_ref().map(|base| open(base, &arguments.output_dir)).transpose()?;
    let new = open(&arguments.new, &arguments.output_dir)?;
    let (base, newer_runs) = match named {
        Some(base) => (base, 1),
        None => {
            let baseline = history::baseline_of(Path::new(new.folder())).map_err(history::refuse)?;
            (RecordedRun::open(&baseline.folder).map_err(unreadable)?, baseline.newer_runs)
        }
    };
    let gate = match (&arguments.gate, arguments.margin) {
        (Some(path), _) => gate_of(path, &permissions(&arguments.permissions)?)?,
        (None, Some(margin)) => new.gate_of_all(margin),
        (None, None) => new.gate(),
    };
    let is_of_suite = arguments.gate.is_none() && arguments.margin.is_none();
    let options = CompareOptions {
        gate,
        gate_before: if is_of_suite { base.gate() } else { Vec::new() },
        max_flips: arguments.top,
        allowed: arguments.allow.clone(),
    };
    let repeated = warning_of_repeats(&options.gate, newer_runs);
    let mut comparison = compare(&base, &new, &options).map_err(|error| match error {
        CompareError::Report(error) => unreadable(error),
        // The gate requires something that cannot be computed.
        error => terminal::usage_error(&error.to_string(), None),
    })?;
    check_metrics(&comparison, &base, &new)?;
    comparison.warnings.extend(repeated.map(|what| ComparisonWarning { task_id: None, what }));
    write_files(&comparison, arguments)?;
    if arguments.json {
        let json =
            serde_json::to_string_pretty(&comparison).context("cannot write the comparison as JSON")?;
        terminal::print_json(json)?;
    } else if arguments.quiet {
        terminal::print_line(comparison.headline())?;
        for what in comparison.warned() {
            terminal::eprint_line(format_args!("warning: {what}"));
        }
    } else {
        let width = terminal::width().min(MAX_WIDTH_COLUMNS);
        let text = render_comparison(&comparison, width, terminal::colour_on_stdout());
        terminal::print_line(text.trim_end())?;
    }
    if arguments.github {
        terminal::eprint_line(github_annotations(&comparison).trim_end());
    }
    Ok(code_of(comparison.verdict))
}

/// Refuses runs that can be compared, but have no metric in common.
fn check_metrics(comparison: &Comparison, base: &RecordedRun, new: &RecordedRun) -> Result<(), ExitCode> {
    if comparison.verdict.is_some() || !comparison.metrics.is_empty() {
        return Ok(());
    }
    let metrics_of = |run: &RecordedRun| {
        let named = run.all_figures().iter().map(|one| format!("{} of task {}", one.metric_id, one.task_id));
        let names: Vec<String> = named.collect::<BTreeSet<_>>().into_iter().collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let message = format!(
        "the runs have no metric in common whose scores can be compared; the baseline has: {}; the new run has: {}",
        metrics_of(base),
        metrics_of(new)
    );
    let help =
        "score the answers of one run with a metric of the other: `gage-host score RUN --metric METRIC`";
    Err(terminal::usage_error(&message, Some(help)))
}

/// Warns of the error rate of a gate that judges several runs by one baseline.
fn warning_of_repeats(gate: &[GateSpec], runs: u32) -> Option<String> {
    let alpha = gate.iter().map(|gate| gate.alpha).reduce(f64::max).filter(|_| runs > 1)?;
    let together = 1.0 - (1.0 - alpha).powf(f64::from(runs));
    Some(format!(
        "{runs} runs of this suite are newer than its baseline: if each is compared with it at alpha {alpha}, the \
         probability that any unchanged one is called a regression is up to {:.0} %; choose a newer baseline, or a \
         smaller alpha (`gage-host plan --power --comparisons {runs}` names one)",
        together * 100.0
    ))
}

fn code_of(verdict: Option<Verdict>) -> ExitCode {
    match verdict {
        None | Some(Verdict::Pass) => ExitCode::Done,
        Some(Verdict::Regression) => ExitCode::Regression,
        Some(Verdict::Inconclusive) => ExitCode::Inconclusive,
        Some(Verdict::Mismatch) => ExitCode::LockMismatch,
        Some(Verdict::Incomplete) => ExitCode::Incomplete,
    }
}

/// Returns the folder of a run, given by its path or its id.
pub(super) fn located(name: &Path, output_dir: &Path) -> PathBuf {
    let below = output_dir.join(name);
    let is_run = RunFolder::has_manifest;
    if !is_run(name) && is_run(&below) { below } else { name.to_owned() }
}

/// Opens a run by its folder, or by its id. The error is the exit code of the printed message.
pub(super) fn open(name: &Path, output_dir: &Path) -> Result<RecordedRun, ExitCode> {
    let below = output_dir.join(name);
    let candidates = [name.to_owned(), below];
    let Some(folder) = candidates.iter().find(|folder| RunFolder::has_manifest(folder)) else {
        if let Some(lost) = candidates.iter().find(|path| MissingManifest::of(path).is_run()) {
            return Err(refuse_run(RecordError::NotARunFolder { path: lost.clone() }, name, output_dir));
        }
        let [folder, below] = candidates.each_ref().map(|path| shown_path(path));
        let message = format!("there is no run {folder}, nor {below}: no manifest.json is there");
        return Err(terminal::usage_error(&message, Some(&known_runs(name, output_dir))));
    };
    RecordedRun::open(folder).map_err(unreadable)
}

/// Warns about a run whose manifest, figures or samples are not those that it wrote. `consequence` follows the warning about
/// the first two.
pub(super) fn warn_if_changed(run: &RecordedRun, consequence: &str) {
    if let Some(edited) = run.edited() {
        let warning = format!("warning: {}; {consequence}", edited.of(run.run_id()));
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
    if run.has_changed_samples(u64::MAX) {
        let warning = format!(
            "warning: samples.jsonl of {} is not the file that the run wrote; `gage-host verify {}` says what was changed",
            run.run_id(),
            terminal::shell_word(run.folder())
        );
        terminal::eprint_line(gage_core::printable_line(&warning));
    }
}

/// Prints why a run cannot be opened. If there is no such folder, it also lists the existing runs.
pub(super) fn refuse_run(error: RecordError, name: &Path, output_dir: &Path) -> ExitCode {
    let is_nothing = match &error {
        RecordError::NotARunFolder { path } => MissingManifest::of(path) == MissingManifest::Nothing,
        _ => false,
    };
    let help = is_nothing.then(|| known_runs(name, output_dir));
    terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), help.as_deref())
}

/// Lists existing runs, the most similar first.
fn known_runs(name: &Path, output_dir: &Path) -> String {
    const MAX_LISTED: usize = 10;
    let entries = std::fs::read_dir(output_dir).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| RunFolder::has_manifest(&entry.path()) || has_shards(&entry.path()));
    let mut ids: Vec<String> = runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    ids.sort_unstable();
    let typed = name.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let nearest = gage_core::nearest(&typed, ids.iter().map(String::as_str));
    let nearest = nearest.map(|id| format!("did you mean '{id}'? ")).unwrap_or_default();
    let shown = match ids.as_slice() {
        [] => {
            format!("there are no runs in {}; name a folder, or another --output-dir", output_dir.display())
        }
        ids => {
            let more = if ids.len() > MAX_LISTED {
                format!(", and {} more", ids.len() - MAX_LISTED)
            } else {
                String::new()
            };
            let first = ids.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("runs in {} are: {first}{more}", output_dir.display())
        }
    };
    gage_core::printable_line(&format!("{nearest}{shown}")).into_owned()
}

/// Prints why a run cannot be read.
pub(super) fn unreadable(error: FiguresError) -> ExitCode {
    terminal::usage_error(&format!("{:#}", anyhow::Error::new(error)), None)
}

/// Reads a gate from a file, and prints its errors.
fn gate_of(path: &Path, permissions: &Permissions) -> Result<Vec<GateSpec>, ExitCode> {
    let text = foreign_file::read_named_text(path, MAX_GATE_SIZE).map_err(|error| {
        terminal::usage_error(&format!("cannot read the gate {}: {error}", shown_path(path)), None)
    })?;
    let variable = |name: &str| permissions.check_env(name).ok().and_then(|()| gage_core::variable(name));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let environment = Environment { variable: &variable, config_dir: gage_suite::shown_folder(folder) };
    let (gate, problems) = load_gate(&path.display().to_string(), &text, &environment, permissions);
    terminal::show_problems(&problems);
    gate.ok_or(ExitCode::Configuration)
}

/// Writes the requested files.
fn write_files(comparison: &Comparison, arguments: &CompareArguments) -> Result<(), ExitCode> {
    let refuse = |path: &Path, error: std::io::Error, help: &str| {
        terminal::usage_error(&format!("cannot write {}: {error}", shown_path(path)), Some(help))
    };
    let write = |path: &Path, text: std::io::Result<String>| {
        let written = text.and_then(|text| std::fs::write(path, text));
        written.map_err(|error| refuse(path, error, "choose another file in a folder that exists"))
    };
    if let Some(path) = &arguments.junit {
        write(path, junit_xml(comparison))?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, Ok(markdown(comparison)))?;
    }
    let summary = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| arguments.github && !path.is_empty());
    if let Some(path) = summary.map(PathBuf::from) {
        // Other steps of the job write to the same file.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(markdown(comparison).as_bytes()));
        written.map_err(|error| refuse(&path, error, "GITHUB_STEP_SUMMARY names it"))?;
    }
    Ok(())
}
