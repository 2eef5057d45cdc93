//! `multi_choice`: a question with a list of options and an answer among them.

use crate::layout::{Layout, Spacing};
use crate::options::Places;
use crate::param_schema::{Properties, prompt_schema};
use crate::question::QuestionFields;
use crate::question_fast::{self, OptionSource};
use crate::roles::Conversion;
use gage_row_kit::fields::Fields;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;

pub(crate) const INSTRUCTION: &str = "Answer with the letter of the correct option only.";

/// Turns a row with a question, options and an answer into a Sample.
pub struct MultiChoice {
    fields: QuestionFields,
    layout: Layout,
}

impl Conversion for MultiChoice {
    const NAME: &'static str = "multi_choice";
    const VERSION: &'static str = "5";
    const DESCRIPTION: &'static str = "Multiple-choice questions";
    fn properties() -> Properties {
        QuestionFields::schema().into_iter().chain(prompt_schema()).collect()
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        let fields = QuestionFields::from_params(params, Places::stated(params)?)?;
        let layout = Layout::read(params, INSTRUCTION, Spacing::WIDE)?;
        Ok(MultiChoice { layout: layout.with_few_shot(params, |row| fields.read(row))?, fields })
    }

    fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let question = self.fields.read(&row)?;
        let messages = self.layout.messages(&question);
        Ok(self.fields.sample(question, row, messages))
    }

    fn sample_text(&self, row: &str) -> Option<String> {
        question_fast::sample(row, &self.fields, &OptionSource::List(&self.fields.choices), &self.layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;
    use gage_sdk::json;

    #[test]
    fn rows_become_samples() {
        let row = json!({
            "id": 7, "question": " Which one is a mammal? ", "choices": ["Shark", "Dolphin"], "answer": 1,
            "subject": "biology", "data_tag": { "language": "en" },
        });
        let expected = json!({
            "schema_version": "v1",
            "id": "7",
            "task_type": "multiple-choice",
            "messages": [{ "role": "user", "content": [{
                "type": "text",
                "text": "Which one is a mammal?\n\nA. Shark\nB. Dolphin\n\nAnswer with the letter of the correct option only.",
            }] }],
            "options": [{ "id": "A", "content": "Shark" }, { "id": "B", "content": "Dolphin" }],
            "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
            "label": "B",
            "choices": "options",
            "data_tag": { "language": "en" },
            "metadata": {
                "subject": "biology",
                "question_field": "question",
                "choices_field": "choices",
                "answer_field": "answer",
                "question_text": "Which one is a mammal?",
            },
        });
        assert_eq!(convert::<MultiChoice>(json!({}), row), Ok(expected));
    }

    #[test]
    fn samples_are_accepted() {
        let sample = json!({
            "schema_version": "v1", "id": "mc_0001", "task_type": "multiple-choice",
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": [
                    { "type": "image_url", "image_url": { "url": "a.png" } },
                    { "type": "text", "text": "Which one is a mammal?" },
                ] },
            ],
            "options": [{ "id": "A", "content": "Shark" }, { "id": "B", "content": "Dolphin" }],
            "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
            "label": "B",
            "metadata": { "subject": "biology" },
        });
        let params = json!({
            "few_shot": [{ "question": "Sky?", "choices": ["blue", "red"], "answer": 0 }], "instruction": "",
        });
        let converted = convert::<MultiChoice>(params, sample).unwrap_or_default();
        let messages = json!([
            { "role": "system", "content": [{ "type": "text", "text": "Be brief." }] },
            { "role": "user", "content": [{ "type": "text", "text": "Sky?\n\nA. blue\nB. red" }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "A" }] },
            { "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": "a.png" } },
                { "type": "text", "text": "Which one is a mammal?\n\nA. Shark\nB. Dolphin" },
            ] },
        ]);
        assert_eq!(converted["messages"], messages);
        assert_eq!(converted["label"], "B");
        assert_eq!(converted["references"][0]["answer"][0]["text"], "B");
        let metadata = json!({ "subject": "biology", "question_text": "Which one is a mammal?" });
        assert_eq!(converted["metadata"], metadata);
    }

    #[test]
    fn prompts_have_styles_and_examples() {
        let params = json!({
            "question_field": "q.text", "options_field": "o", "answer_index_base": 1, "style": "question_only",
            "system_prompt": "Be brief.",
            "few_shot": [{ "q": { "text": "Sky?" }, "o": ["blue", "red"], "answer": 1 }],
        });
        let row = json!({ "q": { "text": "Grass?" }, "o": ["blue", "green"], "answer": "green" });
        let sample = convert::<MultiChoice>(params, row).unwrap_or_default();
        let texts: Vec<Option<&str>> = (0..4)
            .map(|index| sample.pointer(&format!("/messages/{index}/content/0/text"))?.as_str())
            .collect();
        assert_eq!(texts, [Some("Be brief."), Some("Sky?"), Some("blue"), Some("Grass?")]);
        assert_eq!(sample["label"], "B");
        assert_eq!(sample["metadata"]["q"]["text"], "Grass?");
    }

    #[test]
    fn options_may_have_parentheses() {
        let row = json!({ "question": "Which?", "choices": ["Shark", "Dolphin"], "answer": 1 });
        let params = json!({ "option_format": "parentheses", "instruction": "" });
        let sample = convert::<MultiChoice>(params, row).unwrap_or_default();
        let text = sample.pointer("/messages/0/content/0/text");
        assert_eq!(text, Some(&json!("Which?\n\n(A) Shark\n(B) Dolphin")));
    }

    #[test]
    fn more_options_than_letters_have_two_letters() {
        let choices: Vec<String> = (0..60).map(|number| format!("text {number}")).collect();
        for (answer, label) in [(25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (59, "BH")] {
            let row = json!({ "question": "q", "choices": choices, "answer": answer });
            let sample = convert::<MultiChoice>(json!({ "answer_index_base": 0 }), row).unwrap_or_default();
            assert_eq!(sample["label"], label, "{answer}");
        }
        let choices: Vec<String> = (0..703).map(|number| format!("text {number}")).collect();
        let row = json!({ "question": "q", "choices": choices, "answer": 0 });
        let message = convert::<MultiChoice>(json!({}), row).err().map(|error| error.message);
        assert!(message.is_some_and(|text| text.contains("703 options, and there are labels for 702")));
    }

    #[test]
    fn answers_may_be_what_options_say() {
        for (base, choices, answer, expected) in [
            (json!(0), json!(["3", "5", "7"]), json!("5"), "B"),
            (json!(1), json!(["1", "2", "3"]), json!("2"), "B"),
            (json!(null), json!(["1", "2", "3"]), json!("2"), "B"),
            (json!(null), json!([1, 2, 3]), json!(2), "B"),
            (json!(0), json!([1, 2, 3]), json!(2), "C"),
            (json!(0), json!(["1", "2", "3"]), json!("2"), "C"),
        ] {
            let row = json!({ "question": "q", "choices": choices, "answer": answer });
            let sample =
                convert::<MultiChoice>(json!({ "answer_index_base": base }), row).unwrap_or_default();
            assert_eq!(sample["label"], expected, "{base} {choices} {answer}");
        }
    }

    #[test]
    fn several_options_may_be_right() {
        for (answer, expected) in [
            (json!(["A", "C"]), &["A", "C"][..]),
            (json!([2, 0]), &["C", "A"]),
            (json!(["Paris", " rome ", "A"]), &["A", "C"]),
            (json!(["(b)"]), &["B"]),
        ] {
            let row = json!({ "question": "q", "choices": ["Paris", "Oslo", "Rome"], "answer": answer });
            let sample = convert::<MultiChoice>(json!({}), row).unwrap_or_default();
            let references =
                json!(expected.iter().map(|label| crate::sample::reference(*label)).collect::<Vec<_>>());
            assert_eq!(sample["references"], references, "{answer}");
            assert_eq!(sample["label"], expected[0], "{answer}");
        }
        let row = json!({ "question": "q", "choices": ["Paris", "Oslo"], "answer": ["A", "Z"] });
        let error = convert::<MultiChoice>(json!({}), row).err();
        let message = error.map(|error| error.message).unwrap_or_default();
        assert!(message.contains(r#"["A","Z"], of which "Z" is none of the 2 options"#), "{message}");
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (row, expected) in [
            (json!({ "question": "q", "choices": ["x"], "answer": [] }), "/answer"),
            (json!({ "question": "q", "choices": ["x"], "answer": [["A"]] }), "/answer"),
            (json!({ "question": "q", "choices": ["1", "2", "3"], "answer": ["A", "2"] }), "/answer"),
            (json!({ "question": "q", "choices": ["x"] }), "/answer"),
            (json!({ "question": "q", "choices": ["x"], "answer": "B" }), "/answer"),
            (json!({ "question": "q", "choices": ["1", "2", "3"], "answer": "2" }), "/answer"),
            (json!({ "question": "q", "choices": [], "answer": "A" }), "/choices"),
            (json!({ "choices": ["x"], "answer": "A" }), "/question"),
        ] {
            let pointer = convert::<MultiChoice>(json!({}), row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
        let params = json!({ "few_shot": [{ "question": "q" }] });
        let pointer = convert::<MultiChoice>(params, json!({})).err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some("/few_shot/0/choices"));
    }
}
