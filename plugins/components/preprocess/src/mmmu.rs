//! `mmmu`: questions that contain images, with or without options.

use crate::default::{self, DefaultParams};
use crate::layout::{Layout, Spacing, with_instruction};
use crate::media::kind_of;
use crate::messages::add_system;
use crate::multi_choice::INSTRUCTION;
use crate::openai_choices;
use crate::options::Places;
use crate::param_schema::{Properties, field_schema, option_format_schema, optional_schema};
use crate::placeholders::{Piece, parts, pieces};
use crate::python_list;
use crate::question::{QuestionFields, TRIM_OPTIONS, trim_options_schema};
use crate::references::{reference_text, references_of};
use crate::roles::Conversion;
use crate::sample::{Draft, keep_assets, tag};
use crate::task_type::known;
use gage_row_kit::fields::{Fields, find, object, require, require_text, text, unusable};
use gage_row_kit::media::{Kind, Source, read};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::text::strip;

const OPEN_INSTRUCTION: &str = "Answer with a word, a phrase or a number only.";

/// Converts a row with a question, numbered images, options and an answer to a Sample. Rows with messages are handled
/// as in `default`.
pub struct Mmmu {
    fields: QuestionFields,
    system_prompt: Option<String>,
    /// For questions with options.
    layout: Layout,
    open_instruction: String,
    /// True if white space next to images is removed.
    trims: bool,
    /// For rows with messages.
    conversation: DefaultParams,
}

impl Conversion for Mmmu {
    const NAME: &'static str = "mmmu";
    const VERSION: &'static str = "3";
    const DESCRIPTION: &'static str = "Questions with embedded images, with or without options";
    fn properties() -> Properties {
        vec![
            ("question_field", field_schema("question", "Field of the question")),
            ("options_field", field_schema("options", "Field of the options")),
            ("answer_field", field_schema("answer", "Field of the answer")),
            ("system_prompt", optional_schema("System message before all other messages")),
            ("instruction", optional_schema("Text appended to the options, or to the messages of the row")),
            ("open_instruction", optional_schema("Text appended to a question without options")),
            trim_options_schema(),
            option_format_schema(),
            ("trim", flag_schema(true, "Whether white space next to images is removed")),
        ]
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        let system_prompt: Option<String> = params.parsed("system_prompt")?;
        let conversation = DefaultParams::of_prompts(system_prompt.clone(), params.parsed("instruction")?);
        let fields = QuestionFields {
            question: params.text_or("question_field", "question")?,
            choices: params.text_or("options_field", "options")?,
            answer: params.text_or("answer_field", "answer")?,
            places: Places::OrTexts(0),
            trims_options: params.flag(TRIM_OPTIONS, false)?,
        };
        Ok(Mmmu {
            fields,
            system_prompt,
            layout: Layout::read(params, INSTRUCTION, Spacing::WIDE)?,
            open_instruction: params.text_or("open_instruction", OPEN_INSTRUCTION)?,
            trims: params.flag("trim", true)?,
            conversation,
        })
    }

    fn sample(&self, mut row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        if row.get("messages").is_some_and(|messages| !messages.is_null()) {
            return default::convert(row, &self.conversation, None, None);
        }
        for (tag_name, fields) in [("subject", ["subject", "subfield"]), ("difficulty", DIFFICULTY_FIELDS)] {
            let value = fields.iter().find_map(|name| text(row.get(*name)?));
            if let Some(value) = value.map(|value| value.into_owned()) {
                tag(&mut row, tag_name, value);
            }
        }
        let mut images = Images::take(&mut row)?;
        let (prompt, mut draft) = if self.has_options(&row) { self.choice(&row)? } else { self.open(&row)? };
        draft.messages = self.messages(&prompt, &mut images)?;
        keep_assets(&mut row, &mut draft.metadata, images.unused());
        Ok(draft.finish(row, &self.fields.used()))
    }
}

const DIFFICULTY_FIELDS: [&str; 2] = ["topic_difficulty", "difficulty"];

impl Mmmu {
    /// Returns whether a row is a question with options. Open questions may have an empty list.
    fn has_options(&self, row: &Fields) -> bool {
        let question_type = row.get("question_type").and_then(Value::as_str).and_then(known);
        let is_empty = match find(row, &self.fields.choices) {
            None => true,
            Some(Value::Array(options)) => options.is_empty(),
            Some(Value::String(options)) => {
                options.trim().is_empty()
                    || python_list::read(options).is_some_and(|options| options.is_empty())
            }
            Some(_) => false,
        };
        match question_type {
            Some("multiple-choice") => true,
            Some("short-answer") => false,
            _ => !is_empty,
        }
    }

    /// Returns the prompt of a question with options, and its Sample so far.
    fn choice(&self, row: &Fields) -> Result<(String, Draft), PluginError> {
        let question = self.fields.read_with_media(row)?;
        let prompt = self.layout.user_text(&question);
        let mut draft = question.into_draft(&self.fields, Vec::new());
        draft.choices = draft.label.as_deref().map(|label| openai_choices::of_texts([label]));
        Ok((prompt, draft))
    }

    /// Returns the prompt of a question without options, and its Sample so far.
    fn open(&self, row: &Fields) -> Result<(String, Draft), PluginError> {
        let question = require_text(row, &self.fields.question)?;
        let question = strip(&question);
        let answer = require(row, &self.fields.answer)?;
        // Several answers are printed as a list.
        let listed = answer.as_str().and_then(python_list::read).filter(|answers| !answers.is_empty());
        let references = references_of(listed.map_or_else(|| answer.clone(), Value::from));
        let label = references.first().and_then(reference_text).map(|label| label.into_owned());
        let prompt = with_instruction(question, &self.open_instruction);
        let draft = Draft {
            task_type: "image-qa",
            messages: Vec::new(),
            options: None,
            choices: label.as_deref().map(|label| openai_choices::of_texts([label])),
            references,
            label,
            metadata: Fields::from_iter([("question_text".to_owned(), Value::from(question))]),
            implied: &[],
        };
        Ok((prompt, draft))
    }

    /// Returns the messages, with images at their places in the prompt. Images without a place come before the prompt.
    fn messages(&self, prompt: &str, images: &mut Images) -> Result<Vec<Value>, PluginError> {
        let mut pieces = pieces(prompt);
        if !pieces.iter().any(|piece| matches!(piece, Piece::Image(_))) {
            pieces.splice(0..0, images.numbers().into_iter().map(Piece::Image));
        }
        for piece in &pieces {
            if let Piece::Image(number) = piece
                && !images.has(*number)
            {
                let name = format!("image_{number}");
                return Err(unusable(&name, "is missing, and the question or an option shows it"));
            }
        }
        let content = parts(&pieces, self.trims, |number| images.show(number));
        let mut messages = vec![object([("role", "user".into()), ("content", content.into())])];
        add_system(&mut messages, self.system_prompt.as_deref());
        Ok(messages)
    }
}

/// Numbered images of a row.
struct Images(Vec<Image>);

struct Image {
    number: u32,
    /// Field that held the image.
    name: String,
    source: Source,
    is_shown: bool,
}

impl Images {
    /// Takes the images out of a row: `image_1`, `image_2` and so on, or those of `image` or `images` in order.
    fn take(row: &mut Fields) -> Result<Images, PluginError> {
        let mut images = Vec::new();
        let number_of = |name: &str| name.strip_prefix("image_")?.parse::<u32>().ok();
        let numbered: Vec<String> = row.keys().filter(|name| number_of(name).is_some()).cloned().collect();
        let is_plain = |name: &&String| kind_of(name) == Some(Kind::Image);
        let plain: Vec<String> = row.keys().filter(is_plain).cloned().collect();
        for name in numbered {
            let number = number_of(&name).unwrap_or_default();
            for source in Images::read(row, &name)? {
                images.push(Image { number, name: name.clone(), source, is_shown: false });
            }
        }
        if images.is_empty() {
            for name in plain {
                for source in Images::read(row, &name)? {
                    let number = u32::try_from(images.len() + 1).unwrap_or(u32::MAX);
                    images.push(Image { number, name: name.clone(), source, is_shown: false });
                }
            }
        }
        Ok(Images(images))
    }

    fn read(row: &mut Fields, name: &str) -> Result<Vec<Source>, PluginError> {
        let value = row.shift_remove(name).unwrap_or_default();
        read(value, Kind::Image).map_err(|why| unusable(name, &why))
    }

    fn has(&self, number: u32) -> bool {
        self.0.iter().any(|image| image.number == number)
    }

    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.0.iter().map(|image| image.number).collect();
        numbers.dedup();
        numbers
    }

    /// Returns the parts that show the images with a number.
    fn show(&mut self, number: u32) -> Vec<Value> {
        let shown = self.0.iter_mut().filter(|image| image.number == number);
        shown
            .map(|image| {
                image.is_shown = true;
                image.source.clone().into_part(Kind::Image)
            })
            .collect()
    }

    /// Returns the images that no part shows, under the names of their fields.
    fn unused(self) -> Fields {
        let unused = self.0.into_iter().filter(|image| !image.is_shown);
        unused.map(|image| (image.name, Value::from(image.source.url))).collect()
    }
}

#[cfg(test)]
mod tests;
