//! Preprocessors: `default`, `multi_choice`, `piqa`, `gsm8k`. Each turns the raw rows of a dataset into
//! standard Samples.
//!
//! A row that cannot become a Sample is an error that names the field, never a row that is dropped.
//! Texts stay as they are; only questions and options lose white space at their ends.

mod default;
mod fields;
mod gsm8k;
mod layout;
mod multi_choice;
mod options;
mod piqa;
mod question;
mod sample;

pub use default::DefaultRows;
pub use gsm8k::Gsm8k;
pub use multi_choice::MultiChoice;
pub use piqa::Piqa;

gage_sdk::preprocessors!(
    name: "preprocess",
    description: "Preprocessors for text datasets",
    preprocessors: [DefaultRows, MultiChoice, Piqa, Gsm8k],
);
