//! The flags of a run's budget.

use super::positive_count;
use clap::Args;
use gage_config::{BudgetSpec, parse_duration};
use std::time::Duration;

/// Limits of a run. Each overrides the same key of `budget` in the suite. A run that reaches one ends
/// in order, and can be resumed with a larger one.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Budget")]
pub(crate) struct BudgetArguments {
    /// End the run at this cost, by the prices of the suite (pricing).
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    max_cost: Option<f64>,

    /// End the run at this number of tokens, prompts and completions together.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = positive_count)]
    max_tokens_total: Option<u64>,

    /// End the run after this time: seconds, 30m or 1h30m.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_time: Option<Duration>,

    /// End the run after more failed samples than this.
    #[arg(long, value_name = "N")]
    max_failures: Option<u64>,
}

impl BudgetArguments {
    /// Returns the limits in the form of the suite.
    pub(crate) fn spec(&self) -> BudgetSpec {
        BudgetSpec {
            max_cost: self.max_cost,
            max_tokens_total: self.max_tokens_total,
            max_time: self.max_time,
            max_failures: self.max_failures,
            cost_span: None,
        }
    }
}

fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "a number of at least 0 is needed".to_owned())
}
