//! Calls with a batch of items, and what happens when one item of it is to blame.

use crate::component::CallError;
use gage_core::Outcome;

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

impl From<CallError> for ItemError {
    fn from(error: CallError) -> ItemError {
        let (outcome, kind, message) = match error {
            CallError::Budget(message) => (Outcome::PluginTimeout, "budget", message),
            CallError::Failed(message) => (Outcome::PluginError, "trap", message),
        };
        ItemError { outcome, kind, message, pointer: None }
    }
}

/// Calls with all items at once. When that fails, the batch is halved until the guilty item
/// stands alone, so that only it carries the error.
///
/// The budget of a call is that of one item: a batch that stays within it proves that each of
/// its items does, and one that does not is decided item by item. So whether an item runs out
/// does not depend on what it was batched with.
pub(crate) fn call_and_split<T, R>(
    items: &[T],
    call: &mut impl FnMut(&[T]) -> Result<Vec<Result<R, ItemError>>, CallError>,
) -> Vec<Result<R, ItemError>> {
    if items.is_empty() {
        return Vec::new();
    }
    let outcome = call(items).and_then(|results| match results.len() == items.len() {
        true => Ok(results),
        false => {
            Err(CallError::Failed(format!("returned {} results for {} items", results.len(), items.len())))
        }
    });
    match outcome {
        Ok(results) => results,
        Err(error) if items.len() == 1 => vec![Err(error.into())],
        Err(_) => {
            let (left, right) = items.split_at(items.len() / 2);
            let mut results = call_and_split(left, call);
            results.extend(call_and_split(right, call));
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
        let results = call_and_split(&items, &mut |batch: &[u32]| {
            calls += 1;
            match batch.iter().any(|item| item % 20 == 7) {
                true => Err(CallError::Failed("no".to_owned())),
                false => Ok(batch.iter().map(|item| Ok(item * 2)).collect()),
            }
        });
        for (item, result) in items.iter().zip(&results) {
            assert_eq!(result.is_err(), item % 20 == 7, "{item}");
        }
        assert!(calls < 40, "{calls} calls");
    }

    #[test]
    fn a_list_of_the_wrong_length_is_an_error_of_every_item() {
        let results = call_and_split(&[1, 2], &mut |_: &[i32]| Ok(vec![Ok(1), Ok(2), Ok(3)]));
        assert_eq!(results.len(), 2);
        assert!(results.iter().all(Result::is_err));
    }
}
