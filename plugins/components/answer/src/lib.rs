//! The metric on canonical answers, `canonical_answer`: one score card for choices, numbers, lists, texts and
//! reasoning.
//!
//! The kits shared with the metrics of these families compare numbers, lists, common words, options and arguments.

mod answer_type;
mod canonical;
mod choice;
mod judged;
mod keywords;
mod list;
mod metric;
mod number;
mod plain;
mod reasoning;
mod settings;
mod text;

pub use metric::CanonicalAnswer;

gage_sdk::metrics!(
    name: "answer",
    description: "The metric on canonical answers: choices, numbers, lists, texts, reasoning",
    metrics: [CanonicalAnswer],
);

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
