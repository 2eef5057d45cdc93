//! `gage-host validate`: checks everything that can be checked without running.

use super::setup;
use crate::arguments::{DEFAULT_LOG, ValidateArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_engine::{Datasets, Plan};
use gage_runner::check_gates;

pub(crate) fn execute(arguments: &ValidateArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let (config, mut problems) = setup::suite(&arguments.config)?;
    let mut registry = setup::registry(&arguments.config.plugin_folders, arguments.quiet)?;
    let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let cache_folder = setup::cache_folder();
    if let Some(plan) = &plan {
        let locating = setup::at_hand(cache_folder.as_deref(), false);
        plan.check_samples(&locating, &mut problems);
        check_gates(plan, &Datasets::locate_present(plan, &locating), None, &mut problems);
    }
    let plan = plan.filter(|_| !problems.has_errors());
    if arguments.json {
        let report = serde_json::json!({"valid": plan.is_some(), "problems": problems.to_json()});
        terminal::print_json(format_args!("{report:#}"))?;
    } else {
        terminal::show_problems(&problems);
    }
    let Some(plan) = plan else { return Ok(ExitCode::Configuration) };
    if !arguments.json && !arguments.quiet {
        let metrics = plan.tasks.iter().map(|task| task.scoring.metrics.len()).sum();
        let (tasks, metrics) =
            (terminal::count(plan.tasks.len(), "task"), terminal::count(metrics, "metric"));
        let path = arguments.config.path();
        terminal::print_line(format_args!("{}: valid ({tasks}, {metrics})", path.display()))?;
    }
    Ok(ExitCode::Done)
}
