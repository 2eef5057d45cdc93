//! Metrics on multiple-choice answers: `multi_choice_accuracy`.
//!
//! A model that is asked for a letter answers in many ways: `B`, `(b)`, `**Answer:** B`, `答案是B`,
//! `\boxed{B}`, or with the text of the option. [`extract`] says in which order these are looked for.

mod characters;
mod choices;
mod cues;
mod extraction;
mod letters;
mod metric;
mod option_texts;

pub use choices::Choices;
pub use extraction::extract;
pub use metric::MultiChoiceAccuracy;

gage_sdk::metrics!(
    name: "choice",
    description: "Metrics on multiple-choice answers",
    metrics: [MultiChoiceAccuracy],
);
