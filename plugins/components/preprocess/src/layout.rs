//! How a question is put to the model.

use crate::question::Question;
use crate::sample::message;
use gage_sdk::PluginError;
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

/// What stands between the parts of a prompt.
#[derive(Clone, Copy)]
pub(crate) struct Spacing {
    /// Before the first option.
    pub(crate) before_options: &'static str,
    /// Before the instruction.
    pub(crate) before_instruction: &'static str,
}

impl Spacing {
    /// An empty line between the parts.
    pub(crate) const WIDE: Spacing = Spacing { before_options: "\n\n", before_instruction: "\n\n" };

    /// One part a line.
    pub(crate) const NARROW: Spacing = Spacing { before_options: "\n", before_instruction: "\n" };
}

/// The parts of a prompt that do not come from the row.
pub(crate) struct Layout {
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    spacing: Spacing,
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
        spacing: Spacing,
    ) -> Layout {
        let default = (style == Style::Letters).then(|| default_instruction.to_owned());
        Layout {
            system_prompt: system_prompt.filter(|text| !text.is_empty()),
            instruction: instruction.or(default).filter(|text| !text.is_empty()),
            style,
            spacing,
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
        self.messages_under(self.system_prompt.as_deref(), question)
    }

    /// The messages for a question, with this system message before them.
    pub(crate) fn messages_under(&self, system_prompt: Option<&str>, question: &Question) -> Vec<Value> {
        let system = system_prompt.map(|text| message("system", text));
        let user = message("user", self.user_text(question));
        system.into_iter().chain(self.few_shot.iter().cloned()).chain([user]).collect()
    }

    /// The text of a question, as the user asks it.
    pub(crate) fn user_text(&self, question: &Question) -> String {
        let mut text = question.text.clone();
        if self.style == Style::Letters {
            for (index, option) in question.options.iter().enumerate() {
                text.push_str(if index == 0 { self.spacing.before_options } else { "\n" });
                text.push_str(&option.label);
                text.push_str(". ");
                text.push_str(&option.text);
            }
        }
        if let Some(instruction) = &self.instruction {
            text.push_str(self.spacing.before_instruction);
            text.push_str(instruction);
        }
        text
    }
}

/// The error of a few-shot row: the row is a parameter, so the run cannot start.
pub(crate) fn few_shot_error(index: usize, error: &PluginError) -> PluginError {
    let pointer = error.pointer.as_deref().unwrap_or_default();
    PluginError::invalid_config(format!("params: few_shot {index}: {}", error.message))
        .at(format!("/few_shot/{index}{pointer}"))
}
