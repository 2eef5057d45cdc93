//! Rejected rows, and the reasons.

use gage_core::Outcome;
use gage_plugin::ItemError;

/// Number of characters of a row that a rejection keeps.
const MAX_SHOWN_CHARACTERS: usize = 2_000;

/// A row excluded from the run. It keeps its position, and is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// Placeholder ID: `row-` and its position in the dataset, from 0, before filter and shuffle. No sample of the
    /// dataset has the same ID.
    pub id: String,
    /// `invalid_sample`, `skipped`, or the outcome of the plugin.
    pub outcome: Outcome,
    /// Stage that rejected the row.
    pub stage: RejectionStage,
    /// Short name of the problem.
    pub kind: String,
    /// Description of the problem, with the place of the row.
    pub message: String,
    /// JSON pointer to the invalid value.
    pub pointer: Option<String>,
    /// Beginning of the row.
    pub row: Box<str>,
}

/// Stage that rejected a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionStage {
    /// Reading of the row.
    Load,
    /// Conversion of the row into a Sample.
    Preprocess,
}

impl Rejection {
    /// Returns whether the data or its plugins are at fault, rather than the row being excluded as the suite
    /// requests.
    pub fn is_invalid(&self) -> bool {
        self.outcome != Outcome::Skipped
    }

    /// Returns the rejection of an unreadable row; the message names its place.
    pub(crate) fn of_row(message: String, text: String) -> Rejection {
        let stage = RejectionStage::Load;
        Rejection { stage, row: text.into(), ..Rejection::of_sample("invalid_row", message, None) }
    }

    /// Returns the rejection of a row with an unusable Sample; its place and its text are added later.
    pub(crate) fn of_sample(kind: &str, message: String, pointer: Option<String>) -> Rejection {
        Rejection {
            id: String::new(),
            outcome: Outcome::InvalidSample,
            stage: RejectionStage::Preprocess,
            kind: kind.to_owned(),
            message,
            pointer,
            row: Box::default(),
        }
    }

    /// Returns the rejection of a row that a plugin skips on purpose.
    pub(crate) fn skipped(reason: String) -> Rejection {
        Rejection { outcome: Outcome::Skipped, ..Rejection::of_sample("skipped", reason, None) }
    }

    /// Returns the rejection of a row that a plugin could not convert: the row's fault, unless the plugin broke.
    pub(crate) fn of_plugin(plugin: &str, error: ItemError) -> Rejection {
        let is_of_row = matches!(error.kind, "invalid_input" | "missing_field" | "unsupported");
        let outcome = if is_of_row { Outcome::InvalidSample } else { error.outcome };
        let message = format!("{plugin}: {}", error.message);
        Rejection { outcome, ..Rejection::of_sample(error.kind, message, error.pointer) }
    }

    /// Adds the place and the beginning of the row.
    pub(crate) fn at(mut self, place: &str, row: &str) -> Rejection {
        self.message = format!("{place}: {}", self.message);
        self.row = row.chars().take(MAX_SHOWN_CHARACTERS).collect();
        self
    }
}
