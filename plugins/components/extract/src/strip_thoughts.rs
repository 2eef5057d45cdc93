//! `strip_thoughts`: the text without the model's thoughts.

use crate::kinds::texts;
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::text::strip_tags;
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::text::strip;

/// Returns the text without `<think>…</think>`, stripped of white space. A closing tag without its opening one ends a
/// thought that began before the text; an unclosed opening tag begins one that lasts to the end.
///
/// The answer is a text even if it is empty, so that later extractors in the chain do not search the thoughts. It has no
/// evidence: it is the text itself.
pub struct StripThoughts {
    tags: Vec<String>,
}

impl Extractor for StripThoughts {
    fn name() -> &'static str {
        "strip_thoughts"
    }

    fn spec() -> ExtractorSpec {
        let description = "Text without the model's thinking";
        ExtractorSpec::new(MemberSpec::new(
            "1",
            description,
            json!({
                "tags": {
                    "type": ["array", "string"], "items": { "type": "string", "minLength": 1 },
                    "default": ["think"],
                    "description": "Names of the tags, without brackets, matched without regard to case",
                },
            }),
        ))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let tags = texts(&Params::new(params)?, "tags", &["think"])?;
        if let Some(tag) = tags.iter().find(|tag| tag.contains(['<', '>', '/']) || strip(tag) != *tag) {
            let message = format!("params: 'tags' must be names without brackets and blanks, not '{tag}'");
            return Err(PluginError::invalid_config(message).at("/tags"));
        }
        Ok(StripThoughts { tags })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        Ok(inputs.text(0).map(|text| Answer::text(strip(&strip_tags(text, &self.tags)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, value};

    #[test]
    fn thoughts_go() {
        for (text, expected) in [
            ("<think>a</think> b ", "b"),
            ("a</think>b", "b"),
            ("b <think>a", "b"),
            ("<think>a", ""),
            ("<thinking>a</thinking>b", "<thinking>a</thinking>b"),
            ("<THINK>e\u{301}</think>答e\u{301}", "答e\u{301}"),
            ("", ""),
        ] {
            assert_eq!(value::<StripThoughts>(json!({}), text)["value"], expected, "{text}");
        }
        let tags = json!({ "tags": ["scratchpad", "think"] });
        assert_eq!(value::<StripThoughts>(tags, "<scratchpad>a</scratchpad>b<think>c")["value"], "b");
        assert_eq!(absent::<StripThoughts>(json!({})), Ok(None));
    }

    #[test]
    fn long_texts_take_linear_time() {
        let text = "<think>a</think>b <".repeat(60_000);
        assert_eq!(value::<StripThoughts>(json!({}), &text)["value"].as_str().map(str::len), Some(180_000));
    }

    #[test]
    fn bad_tags_are_refused() {
        for tags in [json!("<think>"), json!([" think"]), json!([""]), json!(5)] {
            assert!(StripThoughts::prepare(json!({ "tags": tags })).is_err());
        }
    }
}
