//! `piqa`: a goal and two ways to reach it, of which one works.

use crate::fields::{Fields, require, require_text};
use crate::layout::{Layout, Style, prompt_schema};
use crate::multi_choice::few_shot_error;
use crate::question::{Names, Question};
use gage_sdk::preprocessor::{Converted, Preprocessor, PreprocessorSpec, Row};
use gage_sdk::serde_json;
use gage_sdk::{PluginError, from_params, json};
use serde::Deserialize;

const INSTRUCTION: &str = "Answer with the letter of the solution that reaches the goal.";

const SOLUTIONS: [&str; 2] = ["sol1", "sol2"];

const NAMES: Names<'static> = Names { question: "goal", choices: "sol1,sol2", answer: "label" };

/// Turns a row with `goal`, `sol1`, `sol2` and `label` into a Sample.
pub struct Piqa {
    layout: Layout,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    system_prompt: Option<String>,
    instruction: Option<String>,
    style: Style,
    few_shot: Vec<Fields>,
}

impl Preprocessor for Piqa {
    fn spec() -> PreprocessorSpec {
        let properties: Fields =
            prompt_schema().into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        PreprocessorSpec::new("piqa", "1", "A goal and two solutions, one of them right", properties.into())
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let Params { system_prompt, instruction, style, few_shot } = from_params(params)?;
        let mut layout = Layout::new(system_prompt, instruction, INSTRUCTION, style);
        for (index, row) in few_shot.iter().enumerate() {
            layout.add_few_shot(&read(row).map_err(|error| few_shot_error(index, &error))?);
        }
        Ok(Piqa { layout })
    }

    fn convert(&self, row: Row) -> Result<Converted, PluginError> {
        let question = read(&row.body)?;
        let used = [NAMES.question, SOLUTIONS[0], SOLUTIONS[1], NAMES.answer];
        Ok(Converted::Sample(question.into_sample(row.body, &used, &NAMES, &self.layout)))
    }
}

fn read(row: &Fields) -> Result<Question, PluginError> {
    let goal = require_text(row, NAMES.question)?;
    let [first, second] = SOLUTIONS.map(|name| require_text(row, name));
    let solutions = json!([first?, second?]);
    Question::new(&goal, &solutions, require(row, NAMES.answer)?, 0, &NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(body: serde_json::Value) -> Result<serde_json::Value, PluginError> {
        let serde_json::Value::Object(body) = body else { panic!("a row is an object") };
        match Piqa::prepare(json!({}))?.convert(Row { dataset: "piqa".to_owned(), index: 0, body })? {
            Converted::Sample(sample) => Ok(sample),
            Converted::Skip(reason) => panic!("nothing is skipped: {reason}"),
        }
    }

    #[test]
    fn rows_become_samples() {
        for label in [json!(1), json!("1"), json!("B")] {
            let row = json!({ "goal": "dresser", "sol1": "a ", "sol2": " b", "label": label });
            let sample = convert(row).unwrap_or_default();
            assert_eq!(sample["label"], "B");
            assert_eq!(sample["metadata"]["option_map"], json!({ "A": "a", "B": "b" }));
            assert_eq!(
                sample["messages"][0]["content"][0]["text"],
                "dresser\n\nA. a\nB. b\n\nAnswer with the letter of the solution that reaches the goal."
            );
        }
    }

    #[test]
    fn unusable_rows_are_errors() {
        for (row, expected) in [
            (json!({ "goal": "g", "sol1": "a", "sol2": "b" }), "/label"),
            (json!({ "goal": "g", "sol1": "a", "sol2": "b", "label": -1 }), "/label"),
            (json!({ "goal": "g", "sol1": "a", "label": 0 }), "/sol2"),
        ] {
            let pointer = convert(row).err().and_then(|error| error.pointer);
            assert_eq!(pointer.as_deref(), Some(expected));
        }
    }
}
