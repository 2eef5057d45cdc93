//! Calls with a batch of items, and what happens when one item of it is to blame.

use crate::component::CallError;
use gage_core::Outcome;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why an item has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemError {
    /// `plugin_error` or `plugin_timeout`.
    pub outcome: Outcome,
    /// A short name of what went wrong: the kind that the plugin gave, `trap` or `budget`.
    pub kind: &'static str,
    /// The same in words.
    pub message: String,
    /// JSON pointer into the input, where the plugin named a field.
    pub pointer: Option<String>,
}

impl ItemError {
    /// An error that is a fault of this program.
    pub(crate) fn internal(message: &str) -> ItemError {
        ItemError {
            outcome: Outcome::PluginError,
            kind: "internal",
            message: message.to_owned(),
            pointer: None,
        }
    }
}

impl From<CallError> for ItemError {
    fn from(error: CallError) -> ItemError {
        let (outcome, kind, message) = match error {
            CallError::Budget(message) => (Outcome::PluginTimeout, "budget", message),
            CallError::Failed(message) => (Outcome::PluginError, "trap", message),
        };
        ItemError { outcome, kind, message, pointer: None }
    }
}

/// Calls with items in batches: as many at once as the budget of one item is likely to suffice for,
/// which `typical` knows from earlier calls. When a call fails, its batch is halved until the guilty
/// item stands alone, so that only it carries the error.
///
/// The budget of a call is that of one item: a batch that stays within it proves that each of
/// its items does, and one that does not is decided item by item. So whether an item runs out
/// does not depend on what it was batched with.
pub(crate) fn call_in_batches<T, R>(
    items: &[T],
    budget: u64,
    typical: &AtomicU64,
    call: &mut impl FnMut(&[T]) -> (Result<Vec<Result<R, ItemError>>, CallError>, u64),
) -> Vec<Result<R, ItemError>> {
    let mut results = Vec::with_capacity(items.len());
    let mut rest = items;
    while !rest.is_empty() {
        let size = match typical.load(Ordering::Relaxed) {
            0 => rest.len(),
            fuel => usize::try_from(budget / 2 / fuel).unwrap_or(usize::MAX).clamp(1, rest.len()),
        };
        let (batch, later) = rest.split_at(size);
        results.extend(call_and_split(batch, typical, call));
        rest = later;
    }
    results
}

fn call_and_split<T, R>(
    items: &[T],
    typical: &AtomicU64,
    call: &mut impl FnMut(&[T]) -> (Result<Vec<Result<R, ItemError>>, CallError>, u64),
) -> Vec<Result<R, ItemError>> {
    let (outcome, fuel) = call(items);
    typical.store((fuel / items.len().max(1) as u64).max(1), Ordering::Relaxed);
    match outcome {
        Ok(results) => results,
        Err(error) if items.len() == 1 => vec![Err(error.into())],
        Err(_) => {
            let (left, right) = items.split_at(items.len() / 2);
            let mut results = call_and_split(left, typical, call);
            results.extend(call_and_split(right, typical, call));
            results
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guilty_items_carry_the_error() {
        let items: Vec<u32> = (0..50).collect();
        let mut calls = 0;
        let results = call_in_batches(&items, 1000, &AtomicU64::new(0), &mut |batch: &[u32]| {
            calls += 1;
            let outcome = match batch.iter().any(|item| item % 20 == 7) {
                true => Err(CallError::Failed("no".to_owned())),
                false => Ok(batch.iter().map(|item| Ok(item * 2)).collect()),
            };
            (outcome, 1)
        });
        for (item, result) in items.iter().zip(&results) {
            assert_eq!(result.is_err(), item % 20 == 7, "{item}");
        }
        assert!(calls < 40, "{calls} calls");
    }

    #[test]
    fn batches_fit_the_budget_once_the_cost_is_known() {
        let items = [0_u8; 1000];
        let typical = AtomicU64::new(0);
        let mut sizes = Vec::new();
        for _ in 0..2 {
            sizes.clear();
            let results = call_in_batches(&items, 1000, &typical, &mut |batch: &[u8]| {
                sizes.push(batch.len());
                let fuel = batch.len() as u64 * 10;
                match fuel <= 1000 {
                    true => (Ok(batch.iter().map(|_| Ok(())).collect()), fuel),
                    false => (Err(CallError::Budget("fuel".to_owned())), 1000),
                }
            });
            assert!(results.iter().all(Result::is_ok));
        }
        assert_eq!(sizes, [50; 20]);
    }
}
