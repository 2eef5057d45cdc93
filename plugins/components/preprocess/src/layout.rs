//! Layout of a question for the model.

use crate::one_pass::text::{Text, write_text_parts};
use crate::param_schema::OPTION_FORMAT;
use crate::question::Question;
use crate::sample::message;
use gage_row_kit::fields::Fields;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;
use gage_text_kit::text::strip;
use serde::Deserialize;

/// Content of the prompt.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Style {
    /// The question, the options with their letters, and an instruction to answer with a letter.
    #[default]
    Letters,
    /// Only the question, for scoring the options by their log-likelihood.
    QuestionOnly,
}

/// Marks around the label of an option.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OptionFormat {
    /// `A. Shark`
    #[default]
    Dot,
    /// `(A) Shark`
    Parentheses,
}

impl OptionFormat {
    /// Returns the text before a label, and the text after it.
    fn marks(self) -> [&'static str; 2] {
        match self {
            OptionFormat::Dot => ["", ". "],
            OptionFormat::Parentheses => ["(", ") "],
        }
    }
}

/// Separators between the parts of a prompt.
#[derive(Clone, Copy)]
pub(crate) struct Spacing {
    /// Separator before the first option.
    pub(crate) before_options: &'static str,
    /// Separator before the instruction.
    pub(crate) before_instruction: &'static str,
}

impl Spacing {
    /// An empty line between the parts.
    pub(crate) const WIDE: Spacing = Spacing { before_options: "\n\n", before_instruction: "\n\n" };

    /// One part per line.
    pub(crate) const NARROW: Spacing = Spacing { before_options: "\n", before_instruction: "\n" };
}

/// Parts of a prompt that do not come from the row.
pub(crate) struct Layout {
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    option_format: OptionFormat,
    spacing: Spacing,
    few_shot: Vec<Value>,
    /// The messages before the question, as JSON text with a comma after each.
    leading: String,
}

impl Layout {
    /// Reads the parts from parameters. Without an instruction, the default one is used if letters are requested; an
    /// empty one means none.
    pub(crate) fn read(
        params: &Params,
        default_instruction: &str,
        spacing: Spacing,
    ) -> Result<Layout, PluginError> {
        let style: Style = params.parsed("style")?.unwrap_or_default();
        let default = (style == Style::Letters).then_some(default_instruction);
        let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Layout {
            system_prompt: text(params.text("system_prompt")?),
            instruction: text(params.text("instruction")?.or(default)),
            style,
            option_format: params.parsed(OPTION_FORMAT)?.unwrap_or_default(),
            spacing,
            few_shot: Vec::new(),
            leading: String::new(),
        })
    }

    /// Adds the solved questions of the parameter `few_shot` before the real one.
    pub(crate) fn with_few_shot(
        mut self,
        params: &Params,
        read: impl Fn(&Fields) -> Result<Question, PluginError>,
    ) -> Result<Layout, PluginError> {
        for (index, row) in few_shot(params)?.iter().enumerate() {
            let question = read(row).map_err(|error| few_shot_error(index, &error))?;
            let answer = match self.style {
                Style::Letters => &question.correct.label,
                Style::QuestionOnly => &question.correct.text,
            };
            let user = message("user", self.user_text(&question));
            self.few_shot.extend([user, message("assistant", answer.as_str())]);
        }
        let system = self.system_prompt.as_deref().map(|text| message("system", text));
        self.leading = system.iter().chain(&self.few_shot).map(|message| format!("{message},")).collect();
        Ok(self)
    }

    /// Returns the messages for a question.
    pub(crate) fn messages(&self, question: &Question) -> Vec<Value> {
        self.messages_under(self.system_prompt.as_deref(), question)
    }

    /// Returns the messages for a question, with this system message before them.
    pub(crate) fn messages_under(&self, system_prompt: Option<&str>, question: &Question) -> Vec<Value> {
        if let Some(conversation) = &question.conversation {
            return conversation.with_question(&self.user_text(question), system_prompt, &self.few_shot);
        }
        let system = system_prompt.map(|text| message("system", text));
        let user = message("user", self.user_text(question));
        system.into_iter().chain(self.few_shot.iter().cloned()).chain([user]).collect()
    }

    /// Appends the messages for a question to JSON text. The options are given with their labels.
    pub(crate) fn write_messages<'text>(
        &'text self,
        json: &mut String,
        question: &'text Text<'text>,
        options: impl Iterator<Item = (&'text str, &'text Text<'text>)>,
    ) {
        let mut pieces = vec![question.borrowed()];
        if self.style == Style::Letters {
            let [opening, closing] = self.option_format.marks();
            for (index, (label, text)) in options.enumerate() {
                let before = if index == 0 { self.spacing.before_options } else { "\n" };
                let marked = [Text::Plain(opening), Text::made(label), Text::Plain(closing)];
                pieces.push(Text::made(before));
                pieces.extend(marked);
                pieces.push(text.stripped());
            }
        }
        if let Some(instruction) = &self.instruction {
            pieces.extend([Text::made(self.spacing.before_instruction), Text::made(instruction)]);
        }
        json.push('[');
        json.push_str(&self.leading);
        json.push_str(r#"{"role":"user","content":"#);
        write_text_parts(json, &pieces);
        json.push_str("}]");
    }

    /// Returns the text of a question, as the user asks it.
    pub(crate) fn user_text(&self, question: &Question) -> String {
        let mut text = question.text.clone();
        if self.style == Style::Letters {
            for (index, option) in question.options.iter().enumerate() {
                text.push_str(if index == 0 { self.spacing.before_options } else { "\n" });
                let [opening, closing] = self.option_format.marks();
                text.push_str(opening);
                text.push_str(&option.label);
                text.push_str(closing);
                text.push_str(strip(&option.text));
            }
        }
        if let Some(instruction) = &self.instruction {
            text.push_str(self.spacing.before_instruction);
            text.push_str(instruction);
        }
        text
    }
}

/// Returns a question, followed by an empty line and the instruction unless it is empty.
pub(crate) fn with_instruction(question: &str, instruction: &str) -> String {
    if instruction.is_empty() { question.to_owned() } else { format!("{question}\n\n{instruction}") }
}

/// Reads the solved rows of the parameter `few_shot`.
pub(crate) fn few_shot(params: &Params) -> Result<Vec<Fields>, PluginError> {
    Ok(params.parsed("few_shot")?.unwrap_or_default())
}

/// Returns the error for a few-shot row: the row is a parameter, so the run cannot start.
pub(crate) fn few_shot_error(index: usize, error: &PluginError) -> PluginError {
    let pointer = error.pointer.as_deref().unwrap_or_default();
    PluginError::invalid_config(format!("params: few_shot {index}: {}", error.message))
        .at(format!("/few_shot/{index}{pointer}"))
}
