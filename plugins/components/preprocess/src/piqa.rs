//! `piqa`: a goal and two ways to reach it, only one of them valid.

use crate::layout::{Layout, Spacing};
use crate::options::Places;
use crate::param_schema::{Properties, field_schema, prompt_schema};
use crate::question::{Question, QuestionFields, TRIM_OPTIONS, require_question, trim_options_schema};
use crate::question_fast::{self, OptionSource};
use crate::roles::Conversion;
use gage_row_kit::fields::{Fields, require, require_text};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;

const INSTRUCTION: &str = "Answer with the letter of the solution that reaches the goal.";

/// Turns a row with `goal`, `sol1`, `sol2` and `label` into a Sample.
pub struct Piqa {
    /// The choices are the names of both solutions, for the record.
    fields: QuestionFields,
    solutions: [String; 2],
    layout: Layout,
}

impl Conversion for Piqa {
    const NAME: &'static str = "piqa";
    const VERSION: &'static str = "4";
    const DESCRIPTION: &'static str = "A goal and two solutions, one of which is correct";
    fn properties() -> Properties {
        let fields = [
            ("goal_field", field_schema("goal", "Field of the goal")),
            ("sol1_field", field_schema("sol1", "Field of the first solution")),
            ("sol2_field", field_schema("sol2", "Field of the second solution")),
            ("label_field", field_schema("label", "Field of the index of the correct solution, 0 or 1")),
        ];
        fields.into_iter().chain([trim_options_schema()]).chain(prompt_schema()).collect()
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        let solutions = [params.text_or("sol1_field", "sol1")?, params.text_or("sol2_field", "sol2")?];
        let fields = QuestionFields {
            question: params.text_or("goal_field", "goal")?,
            choices: solutions.join(","),
            answer: params.text_or("label_field", "label")?,
            places: Places::Always(0),
            trims_options: params.flag(TRIM_OPTIONS, false)?,
        };
        let layout = Layout::read(params, INSTRUCTION, Spacing::WIDE)?;
        let layout = layout.with_few_shot(params, |row| read(&fields, &solutions, row))?;
        Ok(Piqa { fields, solutions, layout })
    }

    fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let question = read(&self.fields, &self.solutions, &row)?;
        let messages = self.layout.messages(&question);
        if question.conversation.is_some() {
            return Ok(self.fields.sample(question, row, messages));
        }
        let [first, second] = &self.solutions;
        let used = [self.fields.question.as_str(), first, second, &self.fields.answer];
        Ok(question.into_draft(&self.fields, messages).finish(row, &used))
    }

    fn sample_text(&self, row: &str) -> Option<String> {
        question_fast::sample(row, &self.fields, &OptionSource::Each(&self.solutions), &self.layout)
    }
}

fn read(fields: &QuestionFields, solutions: &[String; 2], row: &Fields) -> Result<Question, PluginError> {
    if let Some(question) = fields.read_sample(row) {
        return question;
    }
    let goal = require_question(row, &fields.question)?;
    let [first, second] = solutions.each_ref().map(|name| require_text(row, name));
    fields.question(&goal, &json!([first?, second?]), require(row, &fields.answer)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;

    #[test]
    fn rows_become_samples() {
        for label in [json!(1), json!("1"), json!("B")] {
            let row = json!({ "goal": "dresser", "sol1": "a ", "sol2": " b", "label": label });
            for (params, first, second) in
                [(json!({}), "a ", " b"), (json!({ "trim_options": true }), "a", "b")]
            {
                let trimmed = convert::<Piqa>(params, row.clone()).unwrap_or_default();
                assert_eq!(
                    trimmed["options"],
                    json!([{ "id": "A", "content": first }, { "id": "B", "content": second }])
                );
            }
            let sample = convert::<Piqa>(json!({}), row).unwrap_or_default();
            assert_eq!(sample["label"], "B");
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
