//! Calls with a batch of items, and isolation of a faulty item.

use crate::component::CallError;
use gage_core::Outcome;

/// Error of an item that has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemError {
    /// `plugin_error` or `plugin_timeout`.
    pub outcome: Outcome,
    /// Short name of the error: the kind given by the plugin, `trap` or `budget`.
    pub kind: &'static str,
    /// Description of the error.
    pub message: String,
    /// JSON pointer into the input, if the plugin named a field.
    pub pointer: Option<String>,
}

impl ItemError {
    /// Creates the error of a faulty plugin.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> ItemError {
        ItemError { outcome: Outcome::PluginError, kind, message: message.into(), pointer: None }
    }
}

impl From<CallError> for ItemError {
    fn from(error: CallError) -> ItemError {
        let (outcome, kind, message) = match error {
            CallError::Budget(message) => (Outcome::PluginTimeout, "budget", message),
            CallError::Failed(message) => (Outcome::PluginError, "trap", message),
            // Never recorded, because the shortage was reported.
            CallError::Shortage(shortage) => (Outcome::PluginError, "machine", shortage.to_string()),
        };
        ItemError { outcome, kind, message, pointer: None }
    }
}

/// Results of calls with a batch of items.
pub(crate) struct BatchResult<R> {
    /// One result per item, in order.
    pub(crate) results: Vec<Result<R, ItemError>>,
    /// Fuel used by all calls, including failed ones.
    pub(crate) fuel: u64,
}

/// Calls with all items at once. If a call fails, its batch is halved until the faulty item is alone, so that
/// only that item gets the error. The remaining items are then passed in batches that are likely to fit the
/// budget of one item. After a shortage of the machine, no item is tried any more.
///
/// The budget of a call is that of one item. A batch that stays within it proves that each of its items does.
/// A batch that exceeds it is decided item by item. An item's result thus does not depend on its batch.
/// Equal items cost equal fuel, since nothing is learned from other calls. No call has more than `most_items`.
pub(crate) fn call_in_batches<T, R>(
    items: &[T],
    budget: u64,
    most_items: usize,
    call: &mut impl FnMut(&[T]) -> (Result<Vec<Result<R, ItemError>>, CallError>, u64),
) -> BatchResult<R> {
    let mut batched = BatchResult { results: Vec::with_capacity(items.len()), fuel: 0 };
    let (mut rest, mut typical) = (items, 0);
    while !rest.is_empty() {
        let fitting = match budget.checked_div(typical * 2) {
            None => usize::MAX,
            Some(size) => usize::try_from(size).unwrap_or(usize::MAX),
        };
        let size = fitting.min(most_items).clamp(1, rest.len());
        let (batch, later) = rest.split_at(size);
        let (outcome, fuel) = call(batch);
        batched.fuel += fuel;
        typical = (fuel / batch.len() as u64).max(1);
        match outcome {
            Ok(results) => {
                batched.results.extend(results);
                rest = later;
            }
            Err(error @ CallError::Shortage(_)) => {
                let error = ItemError::from(error);
                batched.results.extend(rest.iter().map(|_| Err(error.clone())));
                rest = &[];
            }
            Err(error) if batch.len() == 1 => {
                batched.results.push(Err(error.into()));
                rest = later;
            }
            // Do the first half, then the rest.
            Err(_) => {
                let half = call_in_batches(&batch[..batch.len() / 2], budget, most_items, call);
                rest = &rest[half.results.len()..];
                typical = (half.fuel / half.results.len().max(1) as u64).max(1);
                batched.fuel += half.fuel;
                batched.results.extend(half.results);
            }
        }
    }
    batched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guilty_items_carry_the_error() {
        let items: Vec<u32> = (0..50).collect();
        let mut calls = 0;
        let batched = call_in_batches(&items, 1000, usize::MAX, &mut |batch: &[u32]| {
            calls += 1;
            let outcome = match batch.iter().any(|item| item % 20 == 7) {
                true => Err(CallError::Failed("no".to_owned())),
                false => Ok(batch.iter().map(|item| Ok(item * 2)).collect()),
            };
            (outcome, 1)
        });
        assert_eq!(batched.results.len(), items.len());
        for (item, result) in items.iter().zip(&batched.results) {
            assert_eq!(result.as_ref().ok(), (item % 20 != 7).then_some(&(item * 2)), "{item}");
        }
        assert!(calls < 40, "{calls} calls");
        assert_eq!(batched.fuel, calls);
    }

    #[test]
    fn shortage_of_the_machine_ends_the_calls() {
        let shortage = gage_core::ResourceShortage::new(gage_core::MachineResource::Memory);
        let mut calls = 0;
        let batched = call_in_batches(&[1, 2, 3, 4], 1000, usize::MAX, &mut |_: &[u32]| {
            calls += 1;
            (Err::<Vec<Result<(), ItemError>>, _>(CallError::Shortage(shortage.clone())), 0)
        });
        assert_eq!((batched.results.len(), calls), (4, 1));
        assert!(batched.results.iter().all(|result| result.as_ref().is_err_and(|one| one.kind == "machine")));
    }

    #[test]
    fn no_call_has_more_items_than_allowed() {
        let items: Vec<usize> = (0..7).collect();
        for (most_items, expected) in [(1, vec![1; 7]), (3, vec![3, 3, 1]), (usize::MAX, vec![7])] {
            let mut sizes = Vec::new();
            let batched = call_in_batches(&items, 1000, most_items, &mut |batch: &[usize]| {
                sizes.push(batch.len());
                (Ok(batch.iter().map(|_| Ok(())).collect::<Vec<Result<(), ItemError>>>()), 1)
            });
            assert_eq!((batched.results.len(), sizes), (7, expected));
        }
    }

    #[test]
    fn batches_fit_the_budget_once_the_cost_is_known() {
        let items: Vec<u64> = (0..1000).map(|place| if place == 700 { 2000 } else { 10 }).collect();
        let mut calls = 0;
        let batched = call_in_batches(&items, 1000, usize::MAX, &mut |batch: &[u64]| {
            calls += 1;
            let fuel: u64 = batch.iter().sum();
            match fuel <= 1000 {
                true => (Ok(batch.iter().map(|_| Ok(())).collect()), fuel),
                false => (Err(CallError::Budget("fuel".to_owned())), 1000),
            }
        });
        let failed: Vec<usize> = (0..1000).filter(|place| batched.results[*place].is_err()).collect();
        assert_eq!(failed, [700]);
        assert!(calls < 60, "{calls} calls");
    }
}
