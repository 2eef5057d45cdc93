//! The options of a question, and the one that an answer names.
//!
//! A model that is asked for a letter answers in many ways: `B`, `(b)`, `**Answer:** B`, `答案是B`,
//! `\boxed{B}`, or with the text of the option. [`extract`] defines the order of the search.

mod announcements;
mod articles;
mod characters;
mod choices;
mod cues;
mod decision;
mod denial;
mod extraction;
mod letters;
mod lowering;
mod names;
mod option_texts;
mod ordinals;
mod readable;
mod scan;
mod selection;
mod verdict;
mod vocabulary;

pub use choices::{Choices, is_several, several};
pub use extraction::{boxed, extract, last_letter};
pub use selection::{extract_all, list_of};
