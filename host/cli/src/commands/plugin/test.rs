//! `gage-host plugin test`: tests a component, or the source of a project, with its cases.

use super::{build, file_of, host_for, read, refuse_load, refuse_tool, setup_for, watch};
use crate::arguments::TestArguments;
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{printable_line, shortened};
use gage_plugin::{AnyComponent, InstanceSetup, World, summarise};
use gage_plugin_tools::{
    BuildOptions, CASES, Case, CaseLine, CaseLines, NativeOptions, Project, Purity, TestReport, WatchedFiles,
    interpreter, read_cases,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of differences shown for an impure plugin.
const MAX_SHOWN: usize = 5;

/// Maximum length of a line of the report, in characters.
const MAX_LINE_CHARS: usize = 4 << 10;

/// Maximum number of differences shown for a failed case.
const MAX_SHOWN_OF_CASE: usize = 64;

pub(super) fn test(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    if !arguments.watch {
        return if arguments.native {
            test_until_signal(arguments)
        } else {
            test_once(arguments, &Arc::default())
        };
    }
    let files = WatchedFiles::new(watched(arguments)?);
    watch::watch(&files, |stop| test_once(arguments, stop))
}

/// Tests the source of a project. A signal ends the interpreter, with the processes that it started.
fn test_until_signal(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    let stop: Arc<AtomicBool> = Arc::default();
    let _signal = watch::listen(Arc::clone(&stop))?;
    let result = test_once(arguments, &stop);
    if stop.load(Ordering::Relaxed) { Ok(ExitCode::Interrupted) } else { result }
}

/// Returns the files whose changes can change the result.
fn watched(arguments: &TestArguments) -> Result<Vec<PathBuf>, ExitCode> {
    let mut files = match arguments.native {
        true => vec![project(arguments)?.folder],
        false => {
            let file = file_of(arguments.file.as_deref())?;
            vec![beside(&file), file]
        }
    };
    files.extend(arguments.cases.iter().chain(&arguments.config).cloned());
    Ok(files)
}

fn test_once(arguments: &TestArguments, stop: &Arc<AtomicBool>) -> anyhow::Result<ExitCode> {
    let report = match arguments.native {
        true => test_source(arguments, stop)?,
        false => test_component(arguments)?,
    };
    if arguments.print.json {
        let mut value = serde_json::to_value(&report)?;
        value["passed"] = report.is_passed().into();
        terminal::print_json(format_args!("{value:#}"))?;
    } else {
        show(&report)?;
    }
    Ok(if report.is_passed() { ExitCode::Done } else { ExitCode::Incomplete })
}

fn test_component(arguments: &TestArguments) -> anyhow::Result<TestReport> {
    let file = file_of(arguments.file.as_deref())?;
    let name = file.display().to_string();
    let with = setup_for(&file, arguments.config.as_deref(), &arguments.permissions)?;
    let bytes = read(&file, &with)?;
    // Compiling takes long, and a mistake in the cases should be known before.
    let world = summarise(&name, &bytes).map_err(|error| refuse_load(&error))?.world;
    let cases = cases(arguments, &beside(&file), world)?;
    let lines = CaseLines::default();
    let with = InstanceSetup { lines: Some(lines.receiver()), ..with };
    let host = host_for(&file, arguments.print.quiet)?;
    let family = AnyComponent::load(&host, &name, &bytes, &with).map_err(|error| {
        show_lines(&lines);
        refuse_load(&error)
    })?;
    Ok(gage_plugin_tools::test(&family, &cases, &lines))
}

fn test_source(arguments: &TestArguments, stop: &Arc<AtomicBool>) -> anyhow::Result<TestReport> {
    let project = project(arguments)?;
    let cases = cases(arguments, &project.folder.join(CASES), project.world)?;
    if let (false, Some(program)) = (arguments.print.quiet, interpreter(project.language)) {
        terminal::eprint_line(format_args!(
            "note: the source runs in your {program}, without the sandbox; the component from `gage-host plugin build` decides"
        ));
    }
    let options = NativeOptions { stop: Arc::clone(stop), ..NativeOptions::default() };
    let say = build::progress(arguments.print.quiet);
    let packages = BuildOptions { cache_folder: environment::cache_folder(), say: &say };
    let report = gage_plugin_tools::test_native(&project, &cases, &packages, &options);
    Ok(report.map_err(|error| refuse_tool(&error))?)
}

/// Returns the project whose source is tested.
fn project(arguments: &TestArguments) -> Result<Project, ExitCode> {
    let folder = arguments.file.as_deref().unwrap_or(Path::new("."));
    if folder.is_file() {
        let message = format!("{} is a file; `--native` runs the source of a project", folder.display());
        return Err(terminal::usage_error(&message, Some("name the folder of the project, or leave it out")));
    }
    Project::read(folder).map_err(|error| refuse_tool(&error))
}

/// Returns the cases of the command line, or those of a file.
fn cases(arguments: &TestArguments, usual: &Path, world: World) -> Result<Vec<Case>, ExitCode> {
    let usual = [usual.to_owned()];
    let files = if arguments.cases.is_empty() { usual.as_slice() } else { arguments.cases.as_slice() };
    let mut cases = Vec::new();
    for path in files {
        cases.extend(read_cases(path, world).map_err(|error| refuse_tool(&error))?);
    }
    Ok(cases)
}

/// Returns the file of cases beside a component.
fn beside(file: &Path) -> PathBuf {
    file.with_file_name(CASES)
}

/// Shows the lines of a component that could not be loaded.
fn show_lines(lines: &CaseLines) {
    for line in lines.take().0 {
        terminal::eprint_line(format_args!("{}  {}", line.source, shortened(&line.text, MAX_LINE_CHARS)));
    }
}

fn show(report: &TestReport) -> anyhow::Result<()> {
    let line = |text: &str| terminal::print_line(printable_line(&shortened(text, MAX_LINE_CHARS)));
    for note in &report.notes {
        line(&format!("note    {note}"))?;
    }
    let mut before = None;
    for printed in &report.lines {
        let place = place_of(printed);
        if before.as_ref() != Some(&place) {
            line(&format!("printed {place}"))?;
            before = Some(place);
        }
        line(&format!("        {:6}  {}", printed.source, printed.text))?;
    }
    if report.omitted_lines > 0 {
        line(&format!("        and {}", terminal::count(report.omitted_lines, "further line")))?;
    }
    for failure in &report.failures {
        line(&format!("failed  {}", failure.case))?;
        for difference in failure.differences.iter().take(MAX_SHOWN_OF_CASE) {
            line(&format!("        {difference}"))?;
        }
        let others = failure.differences.len().saturating_sub(MAX_SHOWN_OF_CASE);
        if others > 0 {
            line(&format!("        and {others} more, which --json shows"))?;
        }
    }
    let passed = report.cases - report.failures.len();
    let verdict = match &report.purity {
        Purity::Pure => "pure: results are the same alone, in batches and shuffled".to_owned(),
        Purity::Impure(differences) => {
            for difference in differences.iter().take(MAX_SHOWN) {
                line(&format!("impure  {difference}"))?;
            }
            format!(
                "not pure: {} with the items before; a plugin must keep no state between items",
                terminal::count(differences.len(), "result") + " changed"
            )
        }
        Purity::NotTried(why) => format!("purity was not tested: {why}"),
    };
    line(&format!("{passed} of {} cases passed; {verdict}", report.cases))
}

/// Returns the case and the member that a line belongs to.
fn place_of(line: &CaseLine) -> String {
    let case = line.case.as_deref().unwrap_or("while it was loaded");
    match &line.member {
        Some(member) => format!("{case}, {member}"),
        None => case.to_owned(),
    }
}
