//! How a question is put to the model.

use crate::question::Question;
use crate::sample::message;
use gage_sdk::json;
use gage_sdk::serde_json::Value;
use serde::Deserialize;

/// What the prompt shows.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    /// The question, the options with their letters, and an instruction to answer with a letter.
    #[default]
    Letters,
    /// The question alone, for scoring the options by their log-likelihood.
    QuestionOnly,
}

/// The parts of a prompt that do not come from the row.
pub(crate) struct Layout {
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    few_shot: Vec<Value>,
}

impl Layout {
    /// Puts the parts together. Without an instruction the default one is used where letters are asked
    /// for; an empty one is none.
    pub(crate) fn new(
        system_prompt: Option<String>,
        instruction: Option<String>,
        default_instruction: &str,
        style: Style,
    ) -> Layout {
        let default = (style == Style::Letters).then(|| default_instruction.to_owned());
        Layout {
            system_prompt: system_prompt.filter(|text| !text.is_empty()),
            instruction: instruction.or(default).filter(|text| !text.is_empty()),
            style,
            few_shot: Vec::new(),
        }
    }

    /// Adds a solved question that stands before the real one.
    pub(crate) fn add_few_shot(&mut self, question: &Question) {
        let answer = match self.style {
            Style::Letters => &question.correct.label,
            Style::QuestionOnly => &question.correct.text,
        };
        let user = message("user", self.user_text(question));
        self.few_shot.extend([user, message("assistant", answer.as_str())]);
    }

    /// The messages for a question.
    pub(crate) fn messages(&self, question: &Question) -> Vec<Value> {
        let system = self.system_prompt.as_deref().map(|text| message("system", text));
        let user = message("user", self.user_text(question));
        system.into_iter().chain(self.few_shot.iter().cloned()).chain([user]).collect()
    }

    fn user_text(&self, question: &Question) -> String {
        let mut text = question.text.clone();
        if self.style == Style::Letters {
            text.push('\n');
            for option in &question.options {
                text.push('\n');
                text.push_str(&option.label);
                text.push_str(". ");
                text.push_str(&option.text);
            }
        }
        if let Some(instruction) = &self.instruction {
            text.push_str("\n\n");
            text.push_str(instruction);
        }
        text
    }
}

/// The JSON Schema of the parameters that every preprocessor of questions has.
pub(crate) fn prompt_schema() -> [(&'static str, Value); 4] {
    [
        (
            "system_prompt",
            json!({ "type": ["string", "null"], "description": "A system message before all others" }),
        ),
        (
            "instruction",
            json!({
                "type": ["string", "null"],
                "description": "What stands behind the question; empty for nothing",
            }),
        ),
        (
            "style",
            json!({
                "enum": ["letters", "question_only"], "default": "letters",
                "description": "`letters` shows the options and asks for a letter, `question_only` shows neither",
            }),
        ),
        (
            "few_shot",
            json!({
                "type": "array", "items": { "type": "object" },
                "description": "Solved rows, in the shape of the dataset, that stand before each question",
            }),
        ),
    ]
}
