//! Rows that are no Samples, and why.

use gage_core::Outcome;
use gage_plugin::ItemError;

/// Most of a row that a rejection keeps, in characters.
const MAX_SHOWN_CHARACTERS: usize = 2_000;

/// A row that does not enter the run. It keeps its place, and is counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What stands for the id that it would have: `row-` and its place in the dataset, from 0, before filter
    /// and shuffle. No sample of the dataset has the same.
    pub id: String,
    /// `invalid_sample`, `skipped`, or what the plugin ended with.
    pub outcome: Outcome,
    /// Where it was found out.
    pub stage: RejectionStage,
    /// A short name of what went wrong.
    pub kind: String,
    /// The same in words, with the place of the row.
    pub message: String,
    /// JSON pointer to what is to blame.
    pub pointer: Option<String>,
    /// The beginning of the row.
    pub row: Box<str>,
}

/// Where it was found out that a row is no Sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionStage {
    /// While it was read.
    Load,
    /// On its way from a row to a Sample.
    Preprocess,
}

impl Rejection {
    /// Returns whether it speaks against the data or against the plugins that read it, rather than being
    /// what the suite asks for.
    pub fn is_invalid(&self) -> bool {
        self.outcome != Outcome::Skipped
    }

    /// A row that could not be read; the message names its place.
    pub(crate) fn of_row(message: String, text: String) -> Rejection {
        let stage = RejectionStage::Load;
        Rejection { stage, row: text.into(), ..Rejection::of_sample("invalid_row", message, None) }
    }

    /// A row whose Sample cannot be used; its place and its text are added later.
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

    /// A row that a plugin leaves out on purpose.
    pub(crate) fn skipped(reason: String) -> Rejection {
        Rejection { outcome: Outcome::Skipped, ..Rejection::of_sample("skipped", reason, None) }
    }

    /// A row that a plugin could not convert: the row's fault, unless the plugin broke.
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
