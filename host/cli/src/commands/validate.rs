//! `gage-host validate`: everything that can be known without running.

use super::setup;
use crate::arguments::{DEFAULT_LOG, ValidateArguments};
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_engine::Plan;

pub(crate) fn execute(arguments: &ValidateArguments) -> anyhow::Result<ExitCode> {
    setup::logs(DEFAULT_LOG).map_err(anyhow::Error::msg)?;
    let (config, mut problems) = setup::suite(&arguments.config);
    let mut registry = match setup::registry(&arguments.config.plugin_folders, arguments.quiet)? {
        Ok(registry) => registry,
        Err(error) => return Ok(terminal::usage_error(&error.to_string(), error.help().as_deref())),
    };
    let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let cache_folder = setup::cache_folder();
    if let Some(plan) = &plan {
        plan.check_media(&setup::at_hand(cache_folder.as_deref(), false), &mut problems);
    }
    let plan = plan.filter(|_| !problems.has_errors());
    if arguments.json {
        let report = serde_json::json!({"valid": plan.is_some(), "problems": problems.to_json()});
        terminal::print_line(format_args!("{report:#}"))?;
    } else {
        terminal::show_problems(&problems);
    }
    match plan {
        Some(plan) => {
            if !arguments.json && !arguments.quiet {
                let (tasks, metrics) = (
                    plan.tasks.len(),
                    plan.tasks.iter().map(|task| task.scoring.metrics.len()).sum::<usize>(),
                );
                let (tasks, metrics) = (terminal::count(tasks, "task"), terminal::count(metrics, "metric"));
                let path = arguments.config.path();
                terminal::print_line(format_args!("{}: valid ({tasks}, {metrics})", path.display()))?;
            }
            Ok(ExitCode::Done)
        }
        None => Ok(ExitCode::Configuration),
    }
}
