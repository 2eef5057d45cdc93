//! Answer extractors: they find the answer in a model's output.
//!
//! The host chains them: each receives the text as the previous one left it, and the first that finds an answer ends the
//! chain. [`StripThoughts`] never ends it and only shortens the text. An absent text has no answer.

mod boxed;
mod choice_letter;
mod final_answer;
mod json_field;
mod json_object;
mod kinds;
mod last_number;
#[cfg(test)]
mod letters_corpus;
mod list_items;
mod markers;
mod number_style;
#[cfg(test)]
mod numbers_corpus;
mod plain_numbers;
mod regex;
mod strip_thoughts;

pub use boxed::LatexBox;
pub use choice_letter::ChoiceLetter;
pub use final_answer::FinalAnswer;
pub use json_field::JsonField;
pub use json_object::JsonObject;
pub use last_number::LastNumber;
pub use list_items::ListItems;
pub use regex::Regex;
pub use strip_thoughts::StripThoughts;

gage_sdk::extractors!(
    name: "extract",
    description: "Finds the answer in what a model wrote",
    extra: gage_sdk::json!({ "shortens": ["strip_thoughts"] }),
    extractors: [
        StripThoughts, LastNumber, LatexBox, FinalAnswer, JsonField, JsonObject, Regex, ChoiceLetter, ListItems,
    ],
);
