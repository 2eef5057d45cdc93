//! The part of a plan that `gage-host plan --shards` adds: the work of the shards, and the budget of each.

use super::cells::{aligned, cost, count, duration, spread, whole};
use crate::commands::shard_warnings::shard_warnings;
use crate::terminal::{self, Style};
use gage_config::{BackendKind, BudgetSpec, PipelineConfig};
use gage_core::ROWS_PER_BATCH;
use gage_engine::{Estimate, Range, ShardEstimate, ShardedEstimate};
use serde_json::{Value, json};

const TITLES: [&str; 6] = ["shard", "records", "requests", "tokens", "cost", "time"];
const COST_COLUMN: usize = 4;
/// Columns to leave out on a terminal that is too narrow: the tokens.
const SPARE: [usize; 1] = [3];

/// A run in shards, and the whole run.
pub(super) struct ShardPlan<'p> {
    pub(super) shards: ShardedEstimate,
    pub(super) whole: &'p Estimate,
    pub(super) config: &'p PipelineConfig,
}

impl ShardPlan<'_> {
    /// Formats the largest shard, the smallest one, and all together.
    pub(super) fn lines(&self, style: &Style) -> Vec<String> {
        let ShardedEstimate { count, records, largest, smallest, .. } = &self.shards;
        let mut rows = vec![TITLES.map(str::to_owned), row_of("largest", largest)];
        if largest.records != smallest.records {
            rows.push(row_of("smallest", smallest));
        }
        let all = ShardEstimate {
            records: *records,
            requests: self.whole.requests,
            prompt_tokens: self.whole.prompt_tokens,
            completion_tokens: self.whole.completion_tokens,
            cost: self.whole.cost,
            ..largest.clone()
        };
        rows.push(row_of(&format!("all {count}"), &all));
        let shown = (0..TITLES.len()).filter(|place| *place != COST_COLUMN || all.cost.is_some()).collect();
        let mut lines = match terminal::terminal_width() {
            Some(width) => aligned(&rows, shown, &SPARE, width),
            None => aligned(&rows, shown, &[], usize::MAX),
        };
        if let Some(titles) = lines.first_mut() {
            *titles = style.bold(titles);
        }
        lines
    }

    /// Returns what to know about the figures, and the budget of each shard.
    pub(super) fn notes(&self) -> Vec<String> {
        let count = self.shards.count;
        let mut notes = vec![
            "shards: all take as long as the largest if they run at the same time; each loads its models and reads all rows, \
             which is not counted"
                .to_owned(),
        ];
        let is_http = |kind: &BackendKind| matches!(kind, BackendKind::Http(_));
        if count > 1 && self.config.backends.iter().any(|backend| is_http(&backend.kind)) {
            notes.push(format!(
                "servers: {count} shards share the rate limits of an HTTP server, and each sends as many requests as a whole \
                 run; divide --concurrency by the number of shards that run at the same time"
            ));
        }
        notes.extend(budget_note(&self.budget()));
        notes
    }

    /// Returns warnings: about shards with nothing to do, and about the suite.
    pub(super) fn warnings(&self) -> Vec<String> {
        let ShardedEstimate { count, batches, empty, .. } = self.shards;
        let empty = (empty > 0 && batches > 0).then(|| {
            let shards = terminal::count_of(batches, "shard");
            let batches = match batches {
                1 => format!("one batch of {ROWS_PER_BATCH} records"),
                _ => format!("{batches} batches of {ROWS_PER_BATCH} records"),
            };
            format!(
                "{empty} of {count} shards would be empty: the tasks have {batches}, which are scored together; use fewer, at \
                 most {shards}"
            )
        });
        let of_suite = if count > 1 { shard_warnings(self.config, false) } else { Vec::new() };
        empty.into_iter().chain(of_suite).collect()
    }

    /// Returns the figures and the budget of a shard as JSON.
    pub(super) fn json(&self) -> Value {
        let mut json = json!(self.shards);
        let BudgetSpec { max_cost, max_tokens_total, max_time, max_failures, cost_span: _ } = self.budget();
        json["warnings"] = json!(self.warnings());
        json["budget"] = json!({
            "max_cost": max_cost,
            "max_tokens_total": max_tokens_total,
            "max_time_s": max_time.map(|time| time.as_secs_f64()),
            "max_failures": max_failures,
        });
        json
    }

    fn budget(&self) -> BudgetSpec {
        self.config.budget.clone().of_shard(self.shards.count)
    }
}

fn row_of(name: &str, shard: &ShardEstimate) -> [String; TITLES.len()] {
    let tokens: Range = shard.prompt_tokens + shard.completion_tokens;
    [
        name.to_owned(),
        count(shard.records as f64),
        whole(shard.requests),
        whole(tokens),
        cost(shard.cost),
        spread(shard.seconds, duration),
    ]
}

/// Describes the budget of a shard; `None` without one.
fn budget_note(budget: &BudgetSpec) -> Option<String> {
    let limits = [
        budget.max_cost.map(|most| format!("max_cost {most}")),
        budget.max_tokens_total.map(|most| format!("max_tokens_total {most}")),
        budget.max_failures.map(|most| format!("max_failures {most}")),
        budget.max_time.map(|most| format!("max_time {} s", most.as_secs_f64())),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    (!limits.is_empty()).then(|| format!("budget of each shard: {}", limits.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_budget_of_a_shard_is_its_part() {
        let whole = BudgetSpec {
            max_cost: Some(2.0),
            max_tokens_total: Some(1_001),
            max_time: Some(Duration::from_secs(90)),
            max_failures: Some(3),
            cost_span: None,
        };
        for (budget, shards, expected) in [
            (whole.clone(), 4, Some("max_cost 0.5, max_tokens_total 250, max_failures 1, max_time 90 s")),
            (whole.clone(), 1, Some("max_cost 2, max_tokens_total 1001, max_failures 3, max_time 90 s")),
            // A limit of 0 tokens would not be one, and no failure stays no failure.
            (
                BudgetSpec { max_tokens_total: Some(3), max_failures: Some(0), ..BudgetSpec::default() },
                8,
                Some("max_tokens_total 1, max_failures 0"),
            ),
            (BudgetSpec::default(), 4, None),
        ] {
            let note = budget_note(&budget.of_shard(shards));
            let expected = expected.map(|limits| format!("budget of each shard: {limits}"));
            assert_eq!(note, expected, "{shards}");
        }
    }
}
