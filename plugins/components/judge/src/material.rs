//! Material of a case for a judge: question, options, reference and answers, each inside a fence.

use crate::fence::Fence;
use crate::settings::Settings;
use gage_choice_kit::Choices;
use gage_sdk::judge::Case;
use gage_sdk::metric::Value as Input;
use gage_sdk::serde_json::Value;
use gage_sdk::text::text_of;

/// Texts of a prompt, each under its label, and the fence around them.
pub(crate) struct Material {
    texts: Vec<(&'static str, String)>,
    pub(crate) fence: Fence,
}

impl Material {
    /// Returns the material for judging a single answer.
    pub(crate) fn of_answer(settings: &Settings, case: &Case) -> Material {
        Material::with_reference(settings, case, vec![("ANSWER", case.answer())], true)
    }

    /// Returns the material for several answers. `may_show` is false if the reference is one of them, which hides it
    /// regardless of the settings.
    pub(crate) fn with_reference(
        settings: &Settings,
        case: &Case,
        answers: Vec<(&'static str, String)>,
        may_show: bool,
    ) -> Material {
        let mut texts = Vec::new();
        if settings.include_question {
            texts.push(("QUESTION", case.question()));
            texts.push(("OPTIONS", options_text(&choices(&case.sample))));
        }
        if settings.include_reference && may_show {
            texts.push(("REFERENCE", reference(case)));
        }
        texts.retain(|(_, text)| !text.is_empty());
        texts.extend(answers);
        let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let fence = Fence::around(&all);
        Material { texts, fence }
    }

    /// Returns the texts as shown in the prompt.
    pub(crate) fn text(&self) -> String {
        let blocks: Vec<String> =
            self.texts.iter().map(|(label, text)| self.fence.block(label, text)).collect();
        blocks.join("\n\n")
    }

    /// Returns all texts, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|(_, text)| text.as_str())
    }
}

/// Returns the options of a Sample.
pub(crate) fn choices(sample: &Value) -> Choices {
    let places = [&sample["metadata"]["option_map"], &sample["options"]];
    let known = places.into_iter().find(|value| !value.is_null());
    known.map_or_else(Choices::default, |value| Choices::new(&Input::from(value.clone())))
}

fn options_text(choices: &Choices) -> String {
    let lines: Vec<String> = choices.options().map(|(label, text)| format!("{label}. {text}")).collect();
    lines.join("\n")
}

/// Returns the label of the Sample, otherwise its references, one per line; empty if it has neither.
pub(crate) fn reference(case: &Case) -> String {
    let label = case.reference();
    if !label.is_empty() {
        return label;
    }
    let references = case.sample["references"].as_array().into_iter().flatten();
    let texts: Vec<String> = references.map(reference_text).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Returns the text of a reference, which is a text or has an `answer` (a text or a list of parts).
fn reference_text(reference: &Value) -> String {
    match &reference["answer"] {
        Value::Null => text_of(reference),
        Value::Array(parts) => parts.iter().map(|part| text_of(&part["text"])).collect(),
        answer => text_of(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::case;
    use gage_sdk::json;
    use gage_text_kit::Params;

    #[test]
    fn what_the_sample_has_is_shown() {
        let sample = json!({
            "messages": [{ "role": "user", "content": "Which?" }],
            "options": [{ "id": "A", "content": "Shark" }, { "id": "B", "content": "Dolphin" }],
            "references": [{ "answer": [{ "type": "text", "text": "B" }] }],
        });
        let labels = |params| {
            let settings = Params::new(params).and_then(|params| Settings::from_params(&params));
            let Ok(settings) = settings else { panic!("the parameters are good") };
            let material = Material::of_answer(&settings, &case(sample.clone(), "b"));
            material.texts.into_iter().map(|(label, text)| format!("{label}: {text}")).collect::<Vec<_>>()
        };
        let all = ["QUESTION: Which?", "OPTIONS: A. Shark\nB. Dolphin", "REFERENCE: B", "ANSWER: b"];
        assert_eq!(labels(json!({})), all);
        assert_eq!(labels(json!({ "include_question": false, "include_reference": 0 })), ["ANSWER: b"]);
    }

    #[test]
    fn references() {
        for (sample, expected) in [
            (json!({ "label": 5, "references": ["6"] }), "5"),
            (json!({ "references": ["a", { "answer": "b" }, null] }), "a\nb"),
            (json!({}), ""),
        ] {
            assert_eq!(reference(&case(sample, "")), expected);
        }
    }
}
