//! `piqa`: a goal and two ways to reach it, of which one works.

use crate::layout::{Layout, Spacing, Style, few_shot_error};
use crate::options::Places;
use crate::param_schema::{Properties, field_schema, prompt_schema};
use crate::question::{Names, Question};
use crate::roles::Conversion;
use gage_row_kit::fields::{Fields, require, require_text};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use serde::Deserialize;

const INSTRUCTION: &str = "Answer with the letter of the solution that reaches the goal.";

/// Turns a row with `goal`, `sol1`, `sol2` and `label` into a Sample.
pub struct Piqa {
    fields: PiqaFields,
    layout: Layout,
}

/// The parameters.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PiqaParams {
    goal_field: String,
    sol1_field: String,
    sol2_field: String,
    label_field: String,
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    few_shot: Vec<Fields>,
}

impl Default for PiqaParams {
    fn default() -> PiqaParams {
        let [goal_field, sol1_field, sol2_field, label_field] =
            ["goal", "sol1", "sol2", "label"].map(str::to_owned);
        PiqaParams {
            goal_field,
            sol1_field,
            sol2_field,
            label_field,
            system_prompt: None,
            instruction: None,
            style: Style::default(),
            few_shot: Vec::new(),
        }
    }
}

/// Where the parts of a row stand.
struct PiqaFields {
    goal: String,
    solutions: [String; 2],
    /// Both, for the record.
    choices: String,
    label: String,
}

impl Conversion for Piqa {
    const NAME: &'static str = "piqa";
    const VERSION: &'static str = "2";
    const DESCRIPTION: &'static str = "A goal and two solutions, one of them right";
    type Params = PiqaParams;

    fn properties() -> Properties {
        let fields = [
            ("goal_field", field_schema("goal", "Where the goal stands")),
            ("sol1_field", field_schema("sol1", "Where the first solution stands")),
            ("sol2_field", field_schema("sol2", "Where the second solution stands")),
            ("label_field", field_schema("label", "Where the number of the right one stands, 0 or 1")),
        ];
        fields.into_iter().chain(prompt_schema()).collect()
    }

    fn new(params: PiqaParams) -> Result<Self, PluginError> {
        let fields = PiqaFields {
            goal: params.goal_field,
            choices: format!("{},{}", params.sol1_field, params.sol2_field),
            solutions: [params.sol1_field, params.sol2_field],
            label: params.label_field,
        };
        let (system_prompt, instruction) = (params.system_prompt, params.instruction);
        let mut layout = Layout::new(system_prompt, instruction, INSTRUCTION, params.style, Spacing::WIDE);
        for (index, row) in params.few_shot.iter().enumerate() {
            layout.add_few_shot(&fields.read(row).map_err(|error| few_shot_error(index, &error))?);
        }
        Ok(Piqa { fields, layout })
    }

    fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let question = self.fields.read(&row)?;
        let messages = self.layout.messages(&question);
        let [first, second] = &self.fields.solutions;
        let used = [self.fields.goal.as_str(), first, second, &self.fields.label];
        Ok(question.into_sample(row, &used, &self.fields.names(), messages))
    }
}

impl PiqaFields {
    fn names(&self) -> Names<'_> {
        Names { question: &self.goal, choices: &self.choices, answer: &self.label }
    }

    fn read(&self, row: &Fields) -> Result<Question, PluginError> {
        let goal = require_text(row, &self.goal)?;
        let [first, second] = self.solutions.each_ref().map(|name| require_text(row, name));
        let solutions = json!([first?, second?]);
        Question::new(&goal, &solutions, require(row, &self.label)?, Places::Always(0), &self.names())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;

    #[test]
    fn rows_become_samples() {
        for label in [json!(1), json!("1"), json!("B")] {
            let row = json!({ "goal": "dresser", "sol1": "a ", "sol2": " b", "label": label });
            let sample = convert::<Piqa>(json!({}), row).unwrap_or_default();
            assert_eq!(sample["label"], "B");
            assert_eq!(sample["metadata"]["option_map"], json!({ "A": "a", "B": "b" }));
            assert_eq!(
                sample["messages"][0]["content"][0]["text"],
                "dresser\n\nA. a\nB. b\n\nAnswer with the letter of the solution that reaches the goal."
            );
        }
    }

    #[test]
    fn fields_may_be_elsewhere() {
        let params = json!({ "goal_field": "q.0", "label_field": "gold" });
        let row = json!({ "q": ["g"], "sol1": "a", "sol2": "b", "gold": 0, "label": "other" });
        let sample = convert::<Piqa>(params, row).unwrap_or_default();
        assert_eq!(sample["label"], "A");
        assert_eq!(sample["metadata"]["label"], "other");
        assert_eq!(sample["metadata"]["choices_field"], "sol1,sol2");
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (row, expected) in [
            (json!({ "goal": "g", "sol1": "a", "sol2": "b" }), "/label"),
            (json!({ "goal": "g", "sol1": "a", "sol2": "b", "label": -1 }), "/label"),
            (json!({ "goal": "g", "sol1": "a", "label": 0 }), "/sol2"),
        ] {
            let pointer = convert::<Piqa>(json!({}), row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
    }
}
