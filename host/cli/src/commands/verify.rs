//! `gage-host verify`: whether a run folder is what its run has written, and whether its figures come out again.

use super::aggregators::Aggregators;
use super::compare::refuse_run;
use super::{run, setup};
use crate::arguments::{DEFAULT_LOG, VerifyArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_config::{Environment, RecordedConfig, load_recorded_to_score};
use gage_engine::{CancelToken, NoProgress, Plan, RescoreContext, rescore};
use gage_record::format::{MANIFEST_FILE, SAMPLES_FILE, SUMMARY_FILE};
use gage_record::{Difference, RunFolder, RunReader, RunStatus, compare};
use gage_report::{Phases, Summary, TaskCompleteness, write_reports};
use gage_suite::{CHECKSUMS, FileState, VerifyReport, check_run, is_of_older_summary, samples_differ};
use serde_json::{Value, json};
use std::path::Path;

/// Most differences that are printed.
const MAX_SHOWN: usize = 20;

pub(crate) fn execute(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let mut checked = match check_run(&setup::run_folder(&arguments.run, &arguments.output_dir)) {
        Ok(checked) => checked,
        Err(error) => return Ok(refuse_run(error, &arguments.run, &arguments.output_dir)),
    };
    let manifest = checked.run.manifest();
    if is_without_figures(&checked) && checked.run.seal().wrong().is_some() {
        // Of the other files nothing is known.
        checked.files.retain(|file| file.name == MANIFEST_FILE);
    } else if is_without_figures(&checked) {
        let message =
            format!("the run {} is {}: it has no figures yet", manifest.run_id, manifest.status.name());
        let help = match RunFolder::is_being_written(checked.run.path()) {
            true => "a process writes to it now: wait for its end",
            false => "go on with it by `gage-host run SUITE --resume RUN`",
        };
        return Ok(terminal::usage_error(&message, Some(help)));
    }
    let again = match arguments.files_only || !has_journal(&checked) {
        true => RescoreOutcome::NotTried,
        false => score_again(arguments, &checked.run)?,
    };
    let is_good =
        checked.is_intact() && matches!(&again, RescoreOutcome::Same { .. } | RescoreOutcome::NotTried);
    if arguments.json {
        terminal::print_line(format_args!("{:#}", report(&checked, &again, is_good)))?;
    } else if !(arguments.quiet && is_good) {
        terminal::print_line(told(&checked, &again, is_good))?;
    }
    Ok(if is_good { ExitCode::Done } else { ExitCode::LockMismatch })
}

/// Whether a run goes on or was killed, so that it has written nothing but its journal for good. One that was interrupted has
/// figures of what it came to.
fn is_without_figures(checked: &VerifyReport) -> bool {
    let manifest = checked.run.manifest();
    match manifest.status {
        RunStatus::Running => true,
        RunStatus::Interrupted => manifest.files.is_empty(),
        RunStatus::Complete | RunStatus::Incomplete => false,
    }
}

/// Without one whose checksums fit nothing can be scored.
fn has_journal(checked: &VerifyReport) -> bool {
    checked.files.last().is_some_and(|file| file.name == CHECKSUMS && file.state == FileState::Intact)
}

/// What came of scoring the answers once more.
enum RescoreOutcome {
    /// It was not wanted, or cannot be.
    NotTried,
    /// The plugins of the run are not to be had.
    Impossible(String),
    /// All figures and all samples came out again.
    Same { figures: usize, plugins: Vec<Difference> },
    /// They did not.
    Different { figures: Vec<Difference>, samples_differ: bool, plugins: Vec<Difference> },
}

fn score_again(arguments: &VerifyArguments, run: &RunReader) -> anyhow::Result<RescoreOutcome> {
    let identity = &run.manifest().identity;
    let variable = |name: &str| std::env::var(name).ok();
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let name = format!("the suite of {}", run.path().display());
    let recorded =
        load_recorded_to_score(&name, &identity["config"], identity.get("withheld"), &[], &environment);
    let RecordedConfig { config, problems, missing } = recorded;
    let Some(config) = config.filter(|_| !problems.has_errors()) else {
        return Ok(RescoreOutcome::Impossible(
            "the manifest holds no configuration that this program reads".to_owned(),
        ));
    };
    if !missing.is_empty() {
        let all: Vec<String> = missing.iter().map(ToString::to_string).collect();
        return Ok(RescoreOutcome::Impossible(all.join("; ")));
    }
    let mut registry = match setup::registry(&arguments.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => return Ok(RescoreOutcome::Impossible(error.to_string())),
    };
    let mut problems = gage_config::Problems::default();
    let Some(scoring) = Plan::scoring(&config, run.manifest(), None, &mut registry, &mut problems) else {
        let first = problems.sorted().first().map(|problem| problem.message.clone());
        return Ok(RescoreOutcome::Impossible(first.unwrap_or_default()));
    };
    let aside = tempfile::tempdir().context("cannot make a folder to score in")?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let id = &run.manifest().run_id;
    let version = env!("CARGO_PKG_VERSION");
    let stop = CancelToken::default();
    let withheld = &identity["withheld"];
    let scored = rescore(&RescoreContext {
        parent: run,
        config: &identity["config"],
        withheld,
        tasks: &scoring,
        root: aside.path(),
        run_id: id,
        host_version: version,
        workers,
        progress: &NoProgress,
        stop: &stop,
    });
    let scored = match scored {
        Ok(scored) => scored,
        Err(error) => return Ok(RescoreOutcome::Impossible(format!("{:#}", anyhow::Error::new(error)))),
    };
    let mut tasks: Vec<_> =
        config.tasks.iter().zip(&scoring).map(|(spec, scoring)| run::describe(spec, scoring)).collect();
    run::describe_requests(&mut tasks, &config, run.manifest());
    let aggregators = Aggregators::new(scoring.iter());
    let before: Value = run.summary().unwrap_or_default();
    // How many samples a run that was stopped left out cannot be found out from those that it has.
    let summary = Summary::from_value(before.clone()).ok();
    let tasks_before = summary.iter().flat_map(|summary| &summary.tasks);
    // Older programs recorded the parameters that count, whether or not the protocol has a word for them.
    for ((task, spec), before) in tasks.iter_mut().zip(&config.tasks).zip(tasks_before.clone()) {
        let counted = serde_json::to_value(config.sampling_params_of(spec)).unwrap_or_default();
        if before.task_id == spec.task_id && counted.as_object() == Some(&before.sampling_params) {
            task.sampling_params = before.sampling_params.clone();
        }
    }
    let reaches = tasks_before.map(|task| (task.task_id.clone(), TaskCompleteness::of(task))).collect();
    let written =
        write_reports(&scored.folder, &tasks, &reaches, &Phases::default(), &|task_id, metric_id| {
            aggregators.fold(task_id, metric_id)
        })?;
    let now: Value = read_json(&scored.folder.path_of(SUMMARY_FILE))?;
    let mut figures = compare("summary", &before, &now);
    figures.retain(|difference| !is_of_older_summary(difference));
    let samples_differ =
        !have_equal_bytes(&run.path().join(SAMPLES_FILE), &scored.folder.path_of(SAMPLES_FILE))?
            && samples_differ(run, &RunReader::open(scored.folder.path())?).unwrap_or(true);
    let plugins = compare("plugins", &identity["plugins"], &scored.manifest.identity["plugins"]);
    // Those that prepare samples and judge answers take no part in scoring.
    let plugins = plugins.into_iter().filter(|one| one.now.is_some()).collect();
    if figures.is_empty() && !samples_differ {
        return Ok(RescoreOutcome::Same { figures: written.summary.metrics.len(), plugins });
    }
    Ok(RescoreOutcome::Different { figures, samples_differ, plugins })
}

fn read_json(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot read {}", path.display()))
}

fn have_equal_bytes(one: &Path, other: &Path) -> anyhow::Result<bool> {
    let digest = |path: &Path| {
        let file = std::fs::File::open(path).and_then(gage_core::Digest::of_reader);
        match file {
            Ok(digest) => Ok(Some(digest)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    };
    Ok(digest(one)? == digest(other)?)
}

fn report(checked: &VerifyReport, again: &RescoreOutcome, is_good: bool) -> Value {
    let files: Vec<Value> = checked
        .files
        .iter()
        .map(|file| json!({"name": file.name, "state": state_name(&file.state), "written": file.written}))
        .collect();
    let list = |differing: &[Difference]| -> Vec<Value> {
        let one = |one: &Difference| json!({"field": one.place, "recorded": one.before, "found": one.now});
        differing.iter().map(one).collect()
    };
    let again = match again {
        RescoreOutcome::NotTried => json!({"state": "not_tried"}),
        RescoreOutcome::Impossible(reason) => json!({"state": "impossible", "reason": reason}),
        RescoreOutcome::Same { figures, plugins } => {
            json!({"state": "same", "figures": figures, "plugins": list(plugins)})
        }
        RescoreOutcome::Different { figures, samples_differ, plugins } => json!({
            "state": "different",
            "figures": list(figures),
            "samples_differ": samples_differ,
            "plugins": list(plugins),
        }),
    };
    let manifest = checked.run.manifest();
    json!({
        "run_id": manifest.run_id,
        "status": manifest.status.name(),
        "verified": is_good,
        "files": files,
        "scored_again": again,
    })
}

fn state_name(state: &FileState) -> &'static str {
    match state {
        FileState::Intact => "intact",
        FileState::Missing => "missing",
        FileState::Changed { .. } => "changed",
        FileState::Damaged(_) => "damaged",
        FileState::Foreign => "foreign",
        FileState::Unpinned => "unpinned",
    }
}

fn told(checked: &VerifyReport, again: &RescoreOutcome, is_good: bool) -> String {
    let mut lines = Vec::new();
    for file in &checked.files {
        lines.push(match &file.state {
            FileState::Intact => format!("{}: as it was written", file.name),
            FileState::Missing => format!("{}: MISSING", file.name),
            FileState::Changed { found } => format!("{}: CHANGED, it has {found}", file.name),
            FileState::Damaged(reason) => format!("{}: DAMAGED: {reason}", file.name),
            FileState::Foreign => format!("{}: NOT OF THE RUN, which has written no such file", file.name),
            FileState::Unpinned => {
                format!("{}: not compared, for the program that wrote it kept no digest of it", file.name)
            }
        });
    }
    match again {
        RescoreOutcome::NotTried => lines.push("the answers were not scored again".to_owned()),
        RescoreOutcome::Impossible(reason) => {
            lines.push(format!("the answers cannot be scored again: {reason}"))
        }
        RescoreOutcome::Same { figures, plugins } => {
            if !plugins.is_empty() {
                lines.push("plugins of the run are others now:".to_owned());
                let rows: Vec<[String; 3]> = plugins.iter().take(MAX_SHOWN).map(row).collect();
                lines.push(terminal::columns(["field", "recorded", "now"], &rows));
            }
            lines.push(match checked.run.journal().is_ok_and(|journal| journal.is_empty()) {
                true => "scored again: the run has no sample, so that there is no figure that could differ"
                    .to_owned(),
                false => {
                    format!(
                        "scored again: {} and every sample came out the same",
                        terminal::count(*figures, "figure")
                    )
                }
            });
        }
        RescoreOutcome::Different { figures, samples_differ, plugins } => {
            lines.push("scored again: NOT the same".to_owned());
            let rows: Vec<[String; 3]> = plugins.iter().chain(figures).take(MAX_SHOWN).map(row).collect();
            if !rows.is_empty() {
                lines.push(terminal::columns(["field", "recorded", "now"], &rows));
            }
            let left = (plugins.len() + figures.len()).saturating_sub(MAX_SHOWN);
            if left > 0 {
                lines.push(format!("and {left} more; --json has all"));
            }
            if *samples_differ {
                lines.push(format!("{SAMPLES_FILE}: other samples come out"));
            }
        }
    }
    let manifest = checked.run.manifest();
    let is_part = matches!(manifest.status, RunStatus::Interrupted | RunStatus::Running);
    if is_part {
        lines.push(format!(
            "the run is {}: what it came to is compared; go on with it by `gage-host run SUITE --resume RUN`",
            manifest.status.name()
        ));
    }
    lines.push(format!(
        "{}: {}{}",
        manifest.run_id,
        if is_good { "verified" } else { "NOT verified" },
        if is_part && is_good { ", and not complete" } else { "" }
    ));
    gage_core::printable(&lines.join("\n")).to_string()
}

fn row(one: &Difference) -> [String; 3] {
    let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), cut);
    [one.place.clone(), shown(&one.before), shown(&one.now)]
}

fn cut(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(48) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
