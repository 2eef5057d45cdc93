//! The subject of a call: the member that is called, and the items. Log lines name both.

use crate::bindings::backend_exports::{GenerateRequest, LoglikelihoodRequest};
use crate::bindings::judge_exports::{Answered as JudgeReply, Case as JudgeCase};
use crate::bindings::preprocessor_exports::RawRow;
use crate::bindings::role_adapter_exports::Answered as AdapterReply;
use crate::bindings::types::Item;

/// An item of a batch.
pub(crate) trait CallItem {
    /// Returns the name of the item for people, if it has one.
    fn item_name(&self) -> Option<String>;
}

/// What a call is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSubject {
    /// The member; `None` if the component describes itself.
    pub(crate) member: Option<String>,
    /// The items: the name of the only one, or of the first one with the number of the others.
    pub(crate) items: Option<String>,
}

impl CallSubject {
    /// Returns the subject of a call without items.
    pub(crate) fn of_member(member: &str) -> CallSubject {
        CallSubject { member: Some(member.to_owned()), items: None }
    }

    /// Returns the subject of a call with a batch.
    pub(crate) fn of_batch<T: CallItem>(member: &str, batch: &[T]) -> CallSubject {
        let first = batch.first().and_then(CallItem::item_name);
        let items = match batch.len() {
            0 | 1 => first,
            count => first.map(|first| format!("{first} and {} more", count - 1)),
        };
        CallSubject { items, ..CallSubject::of_member(member) }
    }
}

impl CallItem for Item {
    fn item_name(&self) -> Option<String> {
        Some(self.sample_id.clone())
    }
}

impl CallItem for RawRow {
    fn item_name(&self) -> Option<String> {
        Some(format!("row {} of {}", self.index, self.dataset))
    }
}

impl CallItem for JudgeCase {
    fn item_name(&self) -> Option<String> {
        Some(self.sample_id.clone())
    }
}

impl CallItem for JudgeReply {
    fn item_name(&self) -> Option<String> {
        self.case.item_name()
    }
}

impl CallItem for GenerateRequest {
    fn item_name(&self) -> Option<String> {
        Some(self.id.clone())
    }
}

impl CallItem for LoglikelihoodRequest {
    fn item_name(&self) -> Option<String> {
        Some(self.id.clone())
    }
}

impl CallItem for AdapterReply {
    fn item_name(&self) -> Option<String> {
        None
    }
}

/// Samples and payloads as JSON text.
impl CallItem for String {
    fn item_name(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_name_the_member_and_the_items() {
        let item = |name: &str| Item { sample_id: name.to_owned(), inputs: Vec::new() };
        let items = |batch: &[Item]| CallSubject::of_batch("recall", batch).items;
        assert_eq!(items(&[]), None);
        assert_eq!(items(&[item("q1")]).as_deref(), Some("q1"));
        assert_eq!(items(&[item("q1"), item("q2"), item("q3")]).as_deref(), Some("q1 and 2 more"));
        assert_eq!(CallSubject::of_batch("recall", &[item("q1")]).member.as_deref(), Some("recall"));
    }
}
