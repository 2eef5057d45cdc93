//! `docvqa`, and under its older name `docvqa_image_standardizer`: a question about images of a document
//! with one or more right answers.

use crate::media::put_before_question;
use crate::messages::{add_instruction, add_system, with_parts};
use crate::param_schema::{Properties, field_schema, optional_schema};
use crate::references::{reference_text, references_of};
use crate::roles::Conversion;
use crate::sample::{Draft, message};
use gage_row_kit::fields::{Fields, require, require_text, take, unusable};
use gage_row_kit::media::{Kind, Source, read};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;
use gage_text_kit::text::strip;

/// Turns a row with a question, images and answers into a Sample.
pub struct DocVqa(DocVqaParams);

/// An older name of [`DocVqa`].
pub struct DocVqaImageStandardizer(DocVqaParams);

/// Parameters of both preprocessors.
struct DocVqaParams {
    question_field: String,
    answers_field: String,
    content_field: String,
    content_root: Option<String>,
    system_prompt: Option<String>,
    instruction: Option<String>,
}

macro_rules! conversion {
    ($type:ident, $name:literal, $description:literal) => {
        impl Conversion for $type {
            const NAME: &'static str = $name;
            const VERSION: &'static str = "1";
            const DESCRIPTION: &'static str = $description;
            fn properties() -> Properties {
                properties()
            }

            fn new(params: &Params) -> Result<Self, PluginError> {
                DocVqaParams::read(params).map($type)
            }

            fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
                self.0.convert(row)
            }
        }
    };
}

conversion!(DocVqa, "docvqa", "Questions about images of documents");
conversion!(DocVqaImageStandardizer, "docvqa_image_standardizer", "Former name of `docvqa`");

fn properties() -> Properties {
    vec![
        ("question_field", field_schema("question", "Field of the question")),
        ("answers_field", field_schema("answers", "Field of the correct answers: one or a list")),
        ("content_field", field_schema("image", "Field of the images: one or a list")),
        ("image_field", field_schema("image", "Former name of `content_field`")),
        (
            "content_root",
            optional_schema("Folder that image paths are relative to; by default the folder of the dataset"),
        ),
        ("system_prompt", optional_schema("System message before all other messages")),
        ("instruction", optional_schema("Text appended to the question")),
    ]
}

impl DocVqaParams {
    fn read(params: &Params) -> Result<DocVqaParams, PluginError> {
        // The older name.
        let image_field = params.text_or("image_field", "image")?;
        Ok(DocVqaParams {
            question_field: params.text_or("question_field", "question")?,
            answers_field: params.text_or("answers_field", "answers")?,
            content_field: params.text_or("content_field", &image_field)?,
            content_root: params.parsed("content_root")?,
            system_prompt: params.parsed("system_prompt")?,
            instruction: params.parsed("instruction")?,
        })
    }

    fn convert(&self, mut row: Fields) -> Result<Value, PluginError> {
        let (question_field, answers_field) = (self.question_field.as_str(), self.answers_field.as_str());
        let content_field = self.content_field.as_str();
        let question = strip(&require_text(&row, question_field)?).to_owned();
        let references = references_of(require(&row, answers_field)?.clone());
        let answers: Option<Vec<Value>> =
            references.iter().map(|reference| reference_text(reference).map(Value::from)).collect();
        let answers = answers
            .filter(|answers| !answers.is_empty())
            .ok_or_else(|| unusable(answers_field, "must be a text or a list of texts"))?;
        let label = references.first().and_then(reference_text).map(|label| label.into_owned());
        let sources = self.sources(&mut row)?;

        let mut metadata = Fields::from_iter([
            ("answers".to_owned(), Value::from(answers)),
            ("question_field".to_owned(), question_field.into()),
            ("answers_field".to_owned(), answers_field.into()),
            ("content_field".to_owned(), content_field.into()),
        ]);
        let first = sources.first().map(|source| source.url.as_str());
        // Bytes are in the messages; once is enough.
        if let Some(url) = first.filter(|url| !url.starts_with("data:")) {
            metadata.insert("image_url".to_owned(), url.into());
        }
        let content_root = self.content_root.as_deref().map(Value::from);
        metadata.extend(content_root.map(|root| ("content_root".to_owned(), root)));

        let mut messages = self.own_messages(&mut row).unwrap_or_else(|| {
            let mut made = vec![message("user", question)];
            let parts = sources.into_iter().map(|source| source.into_part(Kind::Image)).collect();
            put_before_question(&mut made, parts);
            made
        });
        add_instruction(&mut messages, self.instruction.as_deref());
        add_system(&mut messages, self.system_prompt.as_deref());
        // Field in which older programs store the right answer.
        let choices = answers_field.starts_with("choices.").then(|| row.shift_remove("choices")).flatten();
        let draft = Draft {
            task_type: "doc-qa",
            messages,
            options: None,
            references,
            label,
            choices,
            metadata,
            implied: &[],
        };
        Ok(draft.finish(row, &[question_field, answers_field, content_field]))
    }

    /// Returns the images of a row, at least one. A field of the row itself is removed from it.
    fn sources(&self, row: &mut Fields) -> Result<Vec<Source>, PluginError> {
        let path = self.content_field.as_str();
        let sources = read(take(row, path)?, Kind::Image).map_err(|why| unusable(path, &why))?;
        if sources.is_empty() { Err(unusable(path, "has no image")) } else { Ok(sources) }
    }

    /// Returns the row's existing messages, if the question and the images were found in them.
    fn own_messages(&self, row: &mut Fields) -> Option<Vec<Value>> {
        let is_there = |path: &str| path.starts_with("messages.");
        if !is_there(&self.question_field) || !is_there(&self.content_field) {
            return None;
        }
        match row.shift_remove("messages") {
            Some(Value::Array(messages)) => Some(messages.into_iter().map(with_parts).collect()),
            _ => None,
        }
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
            "id": 1, "question": "Which year? ", "answers": ["1999", "'99"], "image": "docs/1.png", "ucsf": "x",
        });
        let expected = json!({
            "schema_version": "v1",
            "id": "1",
            "task_type": "doc-qa",
            "messages": [{ "role": "user", "content": [
                { "type": "image_url", "image_url": { "url": "docs/1.png" } },
                { "type": "text", "text": "Which year?" },
            ] }],
            "references": [
                { "answer": [{ "type": "text", "text": "1999" }] },
                { "answer": [{ "type": "text", "text": "'99" }] },
            ],
            "label": "1999",
            "metadata": {
                "ucsf": "x", "answers": ["1999", "'99"], "image_url": "docs/1.png",
                "question_field": "question", "answers_field": "answers", "content_field": "image",
            },
        });
        assert_eq!(convert::<DocVqa>(json!({}), row), Ok(expected));
    }

    #[test]
    fn older_rows_keep_their_messages() {
        let messages = json!([{ "role": "user", "content": [
            { "type": "image_url", "image_url": { "url": "a.png" } },
            { "type": "text", "text": "q" },
        ] }]);
        let choices = json!([{ "index": 0, "message": { "role": "assistant", "content": [{ "type": "text", "text": "a" }] } }]);
        let params = json!({
            "question_field": "messages.0.content.1.text",
            "answers_field": "choices.0.message.content.0.text",
            "image_field": "messages.0.content.0.image_url.url",
            "content_root": "/data",
        });
        let row = json!({ "messages": messages, "choices": choices });
        let sample = convert::<DocVqaImageStandardizer>(params, row).unwrap_or_default();
        assert_eq!(sample["messages"], messages);
        assert_eq!(sample["choices"], choices);
        assert_eq!(sample["label"], "a");
        assert_eq!(sample["metadata"]["image_url"], "a.png");
        assert_eq!(sample["metadata"]["content_root"], "/data");
        assert!(sample["metadata"].get("messages").is_none());
    }

    #[test]
    fn pages_and_bytes() {
        let row = json!({
            "q": "q", "a": "x",
            "pages": [{ "bytes": "data:image/png;base64,AA==", "path": null }, { "path": "b.png" }],
        });
        let params = json!({ "question_field": "q", "answers_field": "a", "content_field": "pages" });
        let sample = convert::<DocVqa>(params, row).unwrap_or_default();
        assert_eq!(sample["messages"][0]["content"][1]["image_url"]["url"], "b.png");
        assert_eq!(sample["metadata"].get("image_url"), None);
        assert_eq!(sample["metadata"]["answers"], json!(["x"]));
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (row, expected) in [
            (json!({ "answers": ["a"], "image": "a.png" }), "/question"),
            (json!({ "question": "q", "image": "a.png" }), "/answers"),
            (json!({ "question": "q", "answers": [], "image": "a.png" }), "/answers"),
            (json!({ "question": "q", "answers": [{}], "image": "a.png" }), "/answers"),
            (json!({ "question": "q", "answers": ["a"] }), "/image"),
            (json!({ "question": "q", "answers": ["a"], "image": [] }), "/image"),
            (json!({ "question": "q", "answers": ["a"], "image": 1 }), "/image"),
        ] {
            let pointer = convert::<DocVqa>(json!({}), row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
    }
}
