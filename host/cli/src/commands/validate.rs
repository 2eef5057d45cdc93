//! `gage-host validate`: checks everything that can be checked without running.

use super::combinations::{Combination, combinations};
use super::permissions::permissions;
use super::{ready_suite, setup};
use crate::arguments::{DEFAULT_LOG, ValidateArguments};
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_config::Problems;
use gage_engine::{Datasets, Plan};
use gage_runner::check_gates;
use serde_json::{Value, json};

pub(crate) fn execute(mut arguments: ValidateArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    ready_suite::resolve(&mut arguments.config)?;
    let combinations = combinations(&arguments.config, &permissions(&arguments.config.permissions)?);
    let mut found: Vec<Value> = Vec::new();
    let (mut valid, mut code) = (None, ExitCode::Configuration);
    for combination in each_once(combinations) {
        combination.select(&mut arguments.config);
        let (plan, problems) = check(&arguments)?;
        let before = found.len();
        let Value::Array(reports) = problems.to_json() else { continue };
        for report in reports {
            if !found.contains(&report) {
                found.push(report);
            }
        }
        if found.len() > before && !arguments.json {
            terminal::show_problems(&problems);
        }
        code = setup::code_of(&problems);
        valid = plan;
        if valid.is_none() {
            break;
        }
    }
    if arguments.json {
        let report = json!({"valid": valid.is_some(), "problems": found});
        terminal::print_json(format_args!("{report:#}"))?;
    }
    let Some(plan) = valid else { return Ok(code) };
    if !arguments.json && !arguments.quiet {
        let metrics = plan.tasks.iter().map(|task| task.scoring.metrics.len()).sum();
        let (tasks, metrics) =
            (terminal::count(plan.tasks.len(), "task"), terminal::count(metrics, "metric"));
        let path = arguments.config.path();
        terminal::print_line(format_args!("{}: valid ({tasks}, {metrics})", path.display()))?;
    }
    Ok(ExitCode::Done)
}

/// Returns combinations that have each model and each prompt.
fn each_once(combinations: Vec<Combination>) -> impl Iterator<Item = Combination> {
    let first = combinations.first().cloned().unwrap_or_default();
    let is_needed = move |one: &Combination| one.model == first.model || one.prompt == first.prompt;
    combinations.into_iter().filter(is_needed)
}

/// Checks the suite with one model and one prompt. Returns its plan if there is no error.
fn check(arguments: &ValidateArguments) -> anyhow::Result<(Option<Plan>, Problems)> {
    let (config, mut problems) = setup::suite(&arguments.config)?;
    let mut registry = setup::registry(&arguments.config.plugin_folders, arguments.quiet)?;
    let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let cache_folder = environment::cache_folder();
    if let Some(plan) = &plan {
        let locating = setup::at_hand(cache_folder.as_deref(), false);
        plan.check_samples(&locating, &mut problems);
        check_gates(plan, &Datasets::locate_present(plan, &locating), None, &mut problems);
    }
    Ok((plan.filter(|_| !problems.has_errors()), problems))
}
