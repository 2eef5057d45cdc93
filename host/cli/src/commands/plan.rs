//! `gage-host plan`: estimates the work, the cost and the detectable differences of a suite, without sending
//! anything.

mod cells;
mod power;
mod shards;
mod table;
mod uses;

use super::{ready_suite, setup};
use crate::arguments::PlanArguments;
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_compare::smallest_visible_loss;
use gage_data::TokenCounter;
use gage_engine::{Datasets, Estimate, EstimateOptions, Plan, TaskEstimate};
use gage_runner::{check_gates, check_limited_slices};
use serde_json::{Value, json};
use shards::ShardPlan;
use std::path::Path;
use uses::SuiteUses;

/// Assumed fraction of samples that change between two runs. It applies to unrelated runs that are right half of the
/// time, among which a loss is hardest to detect.
const ASSUMED_CHANGED_SHARE: f64 = 0.5;

pub(crate) fn execute(mut arguments: PlanArguments) -> anyhow::Result<ExitCode> {
    ready_suite::resolve(&mut arguments.config)?;
    let arguments = &arguments;
    setup::logs(&arguments.log).map_err(|error| {
        terminal::usage_error(&error.to_string(), Some("write it like info, or warn,plugin=debug"))
    })?;
    let tokenizer = arguments.tokenizer.as_deref().map(TokenCounter::read).transpose();
    let tokenizer = tokenizer.map_err(|message| terminal::usage_error(&message, None))?;
    let (config, mut problems) = setup::suite(&arguments.config)?;
    let mut registry = setup::registry(&arguments.config.plugin_folders, arguments.quiet)?;
    let config = config.map(|mut config| {
        config.budget = arguments.budget.spec().over(&config.budget);
        config
    });
    let plan = config.and_then(|config| Plan::new(config, &mut registry, &mut problems));
    let cache_folder = environment::cache_folder();
    let locating = setup::at_hand(cache_folder.as_deref(), true);
    // Datasets that were never downloaded are unknown, which is not an error.
    let datasets = plan.as_ref().map(|plan| Datasets::locate_present(plan, &locating));
    if let (Some(plan), Some(datasets)) = (&plan, &datasets) {
        plan.check_samples(&locating, &mut problems);
        check_gates(plan, datasets, arguments.max_samples, &mut problems);
        check_limited_slices(plan, datasets, arguments.max_samples, &mut problems);
    }
    terminal::show_problems(&problems);
    let (Some(plan), Some(datasets), false) = (plan, datasets, problems.has_errors()) else {
        return Ok(setup::code_of(&problems));
    };
    let options = EstimateOptions {
        concurrency: arguments.concurrency,
        task_parallelism: arguments.task_parallelism,
        max_samples: arguments.max_samples,
        latency: arguments.latency,
        tokenizer: tokenizer.as_ref(),
        plugins: registry.host(),
    };
    let estimate = plan.estimate(&datasets, &options);
    if arguments.power {
        return power::print(arguments, &plan, &estimate);
    }
    let exceeded = exceeded(&plan, &estimate);
    let path = arguments.config.file();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let uses = SuiteUses::new(&plan.config, folder);
    let shards = arguments.shards.and_then(|count| plan.estimate_shards(&estimate, &options, count));
    let shards = shards.map(|shards| ShardPlan { shards, whole: &estimate, config: &plan.config });
    if arguments.json {
        let mut document = document(arguments, &plan, &estimate, &exceeded);
        document["uses"] = json!(uses);
        if let Some(shards) = &shards {
            document["shards"] = shards.json();
        }
        terminal::print_json(format_args!("{document:#}"))?;
    } else {
        let parts = table::PlanParts {
            plan: &plan,
            estimate: &estimate,
            exceeded: &exceeded,
            uses: &uses,
            shards: shards.as_ref(),
        };
        terminal::print_line(table::render(arguments, &parts))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the smallest loss of a binary score that `compare` would detect in a task. `None` for tasks without such
/// scores, such as perplexity.
fn detectable(plan: &Plan, task: &TaskEstimate) -> Option<f64> {
    let planned = plan.tasks.iter().find(|planned| planned.spec.task_id == task.task_id)?;
    smallest_visible_loss(task.samples?, ASSUMED_CHANGED_SHARE).filter(|_| planned.scoring.may_give_shares())
}

/// Describes the budgets that the run will, or may, exceed.
fn exceeded(plan: &Plan, estimate: &Estimate) -> Vec<String> {
    let budget = &plan.config.budget;
    let tokens = estimate.prompt_tokens + estimate.completion_tokens;
    let figures = [
        ("max_cost", budget.max_cost, estimate.cost.unwrap_or_default()),
        // The tokens of a run stay far below 2^53.
        ("max_tokens_total", budget.max_tokens_total.map(|most| most as f64), tokens),
        ("max_time", budget.max_time.map(|most| most.as_secs_f64()), estimate.seconds),
    ];
    figures
        .into_iter()
        .filter_map(|(name, most, range)| {
            let most = most.filter(|most| range.high > *most)?;
            let how = if range.low > most { "will" } else { "may" };
            Some(format!("the budget {name} ({most}) {how} end the run before its end"))
        })
        .collect()
}

fn document(arguments: &PlanArguments, plan: &Plan, estimate: &Estimate, exceeded: &[String]) -> Value {
    let mut document = json!(estimate);
    for (task, json) in estimate.tasks.iter().zip(document["tasks"].as_array_mut().into_iter().flatten()) {
        json["smallest_detectable_difference"] = json!(detectable(plan, task));
    }
    document["assumptions"] = json!({
        "concurrency": arguments.concurrency,
        "latency_s": {"low": arguments.latency.0, "high": arguments.latency.1},
        "power": 0.8,
        "alpha": 0.05,
        "changed": ASSUMED_CHANGED_SHARE,
    });
    document["exceeded_budgets"] = json!(exceeded);
    document
}
