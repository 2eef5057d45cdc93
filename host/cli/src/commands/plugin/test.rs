//! `gage-host plugin test`: tests a component with its cases.

use super::{file_of, read, refuse_load, refuse_tool, setup_for};
use crate::arguments::TestArguments;
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{printable_line, shortened};
use gage_plugin::AnyComponent;
use gage_plugin_tools::{Purity, TestReport, read_cases};

/// Maximum number of differences shown for an impure plugin.
const MAX_SHOWN: usize = 5;

/// Maximum length of a line of the report, in characters.
const MAX_LINE_CHARS: usize = 4 << 10;

/// Maximum number of differences shown for a failed case.
const MAX_SHOWN_OF_CASE: usize = 64;

pub(super) fn test(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    let file = file_of(arguments.file.as_deref())?;
    let name = file.display().to_string();
    let with = setup_for(&file, arguments.config.as_deref(), &arguments.permissions)?;
    let bytes = read(&file, &with)?;
    let host = setup::plugin_host(arguments.print.quiet)?;
    let family = AnyComponent::load(&host, &name, &bytes, &with).map_err(|error| refuse_load(&error))?;
    let mut cases = Vec::new();
    let beside = [file.with_file_name("cases.jsonl")];
    let files = if arguments.cases.is_empty() { beside.as_slice() } else { arguments.cases.as_slice() };
    for path in files {
        cases.extend(read_cases(path, family.world()).map_err(|error| refuse_tool(&error))?);
    }
    let report = gage_plugin_tools::test(&family, &cases);
    if arguments.print.json {
        let mut value = serde_json::to_value(&report)?;
        value["passed"] = report.is_passed().into();
        terminal::print_json(format_args!("{value:#}"))?;
    } else {
        show(&report)?;
    }
    Ok(if report.is_passed() { ExitCode::Done } else { ExitCode::Incomplete })
}

fn show(report: &TestReport) -> anyhow::Result<()> {
    let line = |text: &str| terminal::print_line(printable_line(&shortened(text, MAX_LINE_CHARS)));
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
