//! Preprocessors. Each turns the raw rows of a dataset into standard Samples.
//!
//! A row that cannot become a Sample is an error that names the field, never a dropped row.
//! Texts stay as they are; only questions and options lose white space at their ends.
//!
//! Each is a [`Conversion`]; [`Standard`] turns it into a preprocessor and adds the shared parts.

mod answers;
mod conversation;
mod default;
mod docvqa;
mod gsm8k;
mod layout;
mod media;
mod messages;
mod mmlu;
mod mmmu;
mod multi_choice;
mod one_pass;
mod openai_choices;
mod options;
mod param_schema;
mod piqa;
mod placeholders;
mod python_list;
mod question;
mod question_fast;
mod references;
mod roles;
mod sample;
mod slots;
mod strip_assistant;
mod struct_only;
mod task_type;
#[cfg(test)]
mod test_support;

pub use default::{DefaultRows, LegacyRows, SimpleRows};
pub use docvqa::{DocVqa, DocVqaImageStandardizer};
pub use gsm8k::Gsm8k;
pub use mmlu::Mmlu;
pub use mmmu::Mmmu;
pub use multi_choice::MultiChoice;
pub use piqa::Piqa;
pub use roles::{Conversion, Standard};
pub use strip_assistant::StripAssistant;
pub use struct_only::StructOnly;

gage_sdk::preprocessors!(
    name: "preprocess",
    description: "Preprocessors for datasets of text and of text with media",
    preprocessors: [
        Standard<DefaultRows>,
        Standard<LegacyRows>,
        Standard<SimpleRows>,
        Standard<MultiChoice>,
        Standard<StructOnly>,
        Standard<Piqa>,
        Standard<Mmlu>,
        Standard<Gsm8k>,
        Standard<DocVqa>,
        Standard<DocVqaImageStandardizer>,
        Standard<Mmmu>,
        Standard<StripAssistant>,
    ],
);
