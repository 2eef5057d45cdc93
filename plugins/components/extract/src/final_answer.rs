//! `final_answer`: the text after the phrase that announces the final answer.

use crate::kinds::{ReadAs, no_number, takes_last, texts, which_schema, with_evidence};
use crate::markers::{Announcement, is_decoration, markers};
use crate::number_style::style_of;
use crate::plain_numbers::{beginning, plain_numbers};
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::latex_boxed::{last_box, without_commands};
use gage_text_kit::text::strip;

/// Words before a full stop that do not end a sentence.
const ABBREVIATIONS: [&str; 12] =
    ["mr", "mrs", "ms", "dr", "st", "prof", "vs", "approx", "no", "e.g", "i.e", "u.s"];

/// Returns the text after the last marker that is followed by any: `Final answer:`, `Answer:`, `the answer is`, `####`,
/// `答案：`, `答案是`, and those of the parameter `markers`.
///
/// The answer extends to the end of the line, or to the end of the sentence after `the answer is` and `答案是`. If the
/// rest of the line is empty, the next non-empty line is the answer. Asterisks, underscores and backquotes around it
/// are removed, and so is its full stop. If it is unreadable as the requested kind there is no answer; an earlier
/// marker does not replace it, and after a marker without a number no later extractor looks for one.
pub struct FinalAnswer {
    markers: Vec<String>,
    last: bool,
    read_as: ReadAs,
}

impl Extractor for FinalAnswer {
    fn name() -> &'static str {
        "final_answer"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "4",
            "Text after the phrase that announces the final answer",
            json!({
                "markers": {
                    "type": ["array", "string"], "items": { "type": "string", "minLength": 1 },
                    "default": [],
                    "description": "Additional markers, matched without regard to ASCII case; the built-in \
                     markers still apply",
                },
                "which": which_schema(),
                "kind": ReadAs::schema(),
            }),
        ))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(FinalAnswer {
            markers: texts(&params, "markers", &[])?,
            last: takes_last(&params)?,
            read_as: ReadAs::from_params(&params)?,
        })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let found = markers(text, &self.markers);
        let held = |announced: &Announcement| announced_text(text, *announced);
        let held = if self.last { found.iter().rev().find_map(held) } else { found.iter().find_map(held) };
        let Some(held) = held else { return Ok(None) };
        let answer = match self.read_as {
            // The chain ends here: another number of the text would not be the announced one.
            ReadAs::Number => {
                let plain = plain_numbers(beginning(without_box(held)), style_of(text));
                Some(self.read_as.answer(&plain)?.unwrap_or_else(no_number))
            }
            ReadAs::Text | ReadAs::Choice => self.read_as.answer(held)?,
        };
        Ok(answer.map(|answer| with_evidence(answer, held)))
    }
}

/// Returns the content of the last box in a part of a text, or the whole part.
fn without_box(held: &str) -> &str {
    last_box(held).map_or(held, |found| without_commands(found.held))
}

/// Returns the answer after a marker; `None` if there is no text.
fn announced_text(text: &str, announced: Announcement) -> Option<&str> {
    let rest = text.get(announced.start..)?;
    let mut lines = rest.split(['\n', '\r']);
    let line = lines.next().map(undecorated).filter(|line| !line.is_empty());
    // Maximum number of empty lines between a marker and its answer; after more, another part of the text begins.
    const MAX_EMPTY_LINES: usize = 4;
    let line = line.or_else(|| lines.take(MAX_EMPTY_LINES).map(undecorated).find(|line| !line.is_empty()))?;
    let held = if announced.ends_with_sentence { first_sentence(line) } else { line };
    let held = undecorated(held.strip_suffix(['.', '。', '．']).unwrap_or(held));
    (!held.is_empty()).then_some(held)
}

/// Returns the text up to the mark that ends its first sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.char_indices().find_map(|(at, character)| {
        let (before, rest) = text.split_at(at);
        let ends = match character {
            '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' => {
                let after =
                    rest.get(1..).unwrap_or_default().trim_start_matches(['*', '_', '"', '\'', '`', ')']);
                after.starts_with(char::is_whitespace) && !(character == '.' && is_abbreviation(before))
            }
            _ => false,
        };
        ends.then_some(at)
    });
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns whether a text ends with one of the abbreviations.
fn is_abbreviation(text: &str) -> bool {
    ABBREVIATIONS.iter().any(|abbreviation| {
        let start = text.len().checked_sub(abbreviation.len());
        start.and_then(|start| text.get(start..).zip(text.get(..start))).is_some_and(|(word, before)| {
            word.eq_ignore_ascii_case(abbreviation) && !before.ends_with(char::is_alphanumeric)
        })
    })
}

/// Returns the text without white space, asterisks, underscores and backquotes around it.
fn undecorated(text: &str) -> &str {
    strip(
        text.trim_matches(|character| {
            is_decoration(character) || character == '`' || character.is_whitespace()
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, value};

    #[test]
    fn final_answers() {
        for (text, expected) in [
            ("Answer: 1\nno: **Final answer:** 3.14.", Some("3.14")),
            ("**Final Answer**\n\n`x + 1`", Some("x + 1")),
            ("The answer is **Dr. Smith**. He wrote it.", Some("Dr. Smith")),
            ("The answer is 3.14. It is pi", Some("3.14")),
            ("The answer is B! (Not A.)", Some("B")),
            ("Answer: Paris. It is in France.", Some("Paris. It is in France")),
            ("steps\n#### 1,234", Some("1,234")),
            ("最终答案：北京。", Some("北京")),
            ("答案是北京。因为", Some("北京")),
            ("Answer: 5\nAnswer:", Some("5")),
            ("Answer: e\u{301}té", Some("e\u{301}té")),
            ("Answer:\n\n\n\n\n\nfar away", None),
            ("no marker 5", None),
            ("", None),
        ] {
            assert_eq!(value::<FinalAnswer>(json!({}), text)["value"].as_str(), expected, "{text}");
        }
        assert_eq!(absent::<FinalAnswer>(json!({})), Ok(None));
    }

    #[test]
    fn parameters() {
        for (params, text, expected) in [
            (json!({ "which": "first" }), "Answer: 1\nAnswer: 2", json!({ "value": "1" })),
            (json!({ "markers": ["Result ->"] }), "Answer: 1\nresult -> 2", json!({ "value": "2" })),
            (json!({ "kind": "number" }), "The answer is 12 km.", json!({ "value": 12, "unit": "km" })),
            (json!({ "kind": "number" }), "The answer is 3 million.", json!({ "value": 3_000_000 })),
            (json!({ "kind": "number" }), "#### 1.2 × 10^3", json!({ "value": 1200 })),
            (json!({ "kind": "number" }), "答案是三千五百元。", json!({ "value": 3500, "unit": "元" })),
            (json!({ "kind": "number" }), "Answer: 1\nAnswer: many", json!({ "value": null })),
            (json!({ "kind": "number" }), "The answer is 8 because 3 + 4 is 7.", json!({ "value": 8 })),
            (json!({ "kind": "choice" }), "The answer is (b).", json!({ "value": "B" })),
        ] {
            assert_eq!(value::<FinalAnswer>(params, text), expected, "{text}");
        }
        assert!(FinalAnswer::prepare(json!({ "markers": [""] })).is_err());
    }

    #[test]
    fn long_texts_take_linear_time() {
        for (text, expected) in [
            ("answer ".repeat(150_000), None),
            ("the answer is ".repeat(80_000), Some("the answer is")),
            ("答案".repeat(150_000), None),
        ] {
            assert_eq!(value::<FinalAnswer>(json!({}), &text)["value"].as_str(), expected);
        }
        let long = format!("Answer: {}", "x".repeat(1_000_000));
        assert_eq!(value::<FinalAnswer>(json!({}), &long)["value"].as_str().map(str::len), Some(1_000_000));
    }

    proptest::proptest! {
        #[test]
        fn an_answer_on_its_line_is_found(answer in "[a-z0-9]{1,20}", before in "[a-z ]{0,40}") {
            let text = format!("{before}\nAnswer: {answer}\n");
            let found = value::<FinalAnswer>(json!({}), &text);
            proptest::prop_assert_eq!(found["value"].as_str(), Some(answer.as_str()));
        }
    }
}
