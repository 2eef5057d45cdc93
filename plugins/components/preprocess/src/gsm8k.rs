//! `gsm8k`: a word problem and a solution that ends in `#### 18`.

use crate::layout::{few_shot, few_shot_error, with_instruction};
use crate::param_schema::{Properties, few_shot_schema, field_schema, optional_schema};
use crate::question::require_question;
use crate::roles::Conversion;
use crate::sample::{Draft, message, reference};
use gage_row_kit::fields::{Fields, require_text, unusable};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::number::parse_float;
use gage_text_kit::text::strip;

/// Text before the final number of a solution.
const MARKER: &str = "####";

const INSTRUCTION: &str = "Solve the problem step by step, and end with a line of the form `#### <number>`.";
const INSTRUCTION_ANSWER_ONLY: &str = "Answer with the number only.";

/// Turns a row with a question and a worked solution into a Sample whose label is the final number.
pub struct Gsm8k {
    question_field: String,
    answer_field: String,
    /// System message and few-shot examples.
    before: Vec<Value>,
    instruction: String,
}

/// A problem with its solution and the number at its end.
struct Problem {
    question: String,
    solution: String,
    number: String,
}

impl Conversion for Gsm8k {
    const NAME: &'static str = "gsm8k";
    const VERSION: &'static str = "2";
    const DESCRIPTION: &'static str = "Word problems whose solution ends in `#### <number>`";
    fn properties() -> Properties {
        let few_shot = "Solved rows, in the format of the dataset, shown before each problem";
        vec![
            ("question_field", field_schema("question", "Field of the problem")),
            ("answer_field", field_schema("answer", "Field of the solution")),
            ("system_prompt", optional_schema("System message before all other messages")),
            ("instruction", optional_schema("Text appended to the problem; empty for none")),
            (
                "answer_only",
                json!({
                    "type": "boolean", "default": false,
                    "description": "Ask only for the number, and show examples without their steps",
                }),
            ),
            ("few_shot", few_shot_schema(few_shot)),
        ]
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        // True if the model is to give the number alone, without the steps.
        let answer_only = params.parsed("answer_only")?.unwrap_or(false);
        let instruction = if answer_only { INSTRUCTION_ANSWER_ONLY } else { INSTRUCTION };
        let system_prompt = params.text("system_prompt")?.filter(|text| !text.is_empty());
        let mut gsm8k = Gsm8k {
            question_field: params.text_or("question_field", "question")?,
            answer_field: params.text_or("answer_field", "answer")?,
            before: system_prompt.map(|text| message("system", text)).into_iter().collect(),
            instruction: params.text_or("instruction", instruction)?,
        };
        for (index, row) in few_shot(params)?.iter().enumerate() {
            let problem = gsm8k.read(row).map_err(|error| few_shot_error(index, &error))?;
            let user = message("user", with_instruction(&problem.question, &gsm8k.instruction));
            let answer = if answer_only { problem.number } else { problem.solution };
            gsm8k.before.extend([user, message("assistant", answer)]);
        }
        Ok(gsm8k)
    }

    fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let problem = self.read(&row)?;
        let user = message("user", with_instruction(&problem.question, &self.instruction));
        let draft = Draft {
            task_type: "short-answer",
            messages: self.before.iter().cloned().chain([user]).collect(),
            options: None,
            references: vec![reference(problem.number.as_str())],
            label: Some(problem.number),
            choices: None,
            metadata: Fields::from_iter([("solution".to_owned(), Value::from(problem.solution))]),
            implied: &[],
        };
        Ok(draft.finish(row, &[&self.question_field, &self.answer_field]))
    }
}

impl Gsm8k {
    fn read(&self, row: &Fields) -> Result<Problem, PluginError> {
        let question = require_question(row, &self.question_field)?;
        let solution = require_text(row, &self.answer_field)?;
        let number = final_number(&solution).ok_or_else(|| {
            unusable(&self.answer_field, &format!("does not end in '{MARKER}' and a number"))
        })?;
        Ok(Problem { question: strip(&question).to_owned(), solution: solution.into_owned(), number })
    }
}

/// Returns the number after the last marker, without thousands separators.
fn final_number(solution: &str) -> Option<String> {
    let (_, number) = solution.rsplit_once(MARKER)?;
    let number = strip(number).replace(',', "");
    parse_float(&number).filter(|value| value.is_finite()).map(|_| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;

    #[test]
    fn final_numbers() {
        for (solution, expected) in [
            ("16 - 3 - 4 = 9\n#### 18", Some("18")),
            ("#### 1\n#### 1,234,567 ", Some("1234567")),
            ("####-2.5", Some("-2.5")),
            ("18", None),
            ("#### many", None),
            ("#### ", None),
        ] {
            assert_eq!(final_number(solution).as_deref(), expected, "{solution}");
        }
    }

    #[test]
    fn rows_become_samples() {
        let params = json!({
            "answer_only": true, "question_field": "task.text",
            "few_shot": [{ "task": { "text": "1+1?" }, "answer": "two\n#### 2" }],
        });
        let row = json!({ "task": { "text": "2+2? " }, "answer": "four\n#### 4", "level": 1 });
        let sample = convert::<Gsm8k>(params, row).unwrap_or_default();
        assert_eq!(sample["messages"][1]["content"][0]["text"], "2");
        assert_eq!(sample["messages"][2]["content"][0]["text"], "2+2?\n\nAnswer with the number only.");
        assert_eq!(sample["label"], "4");
        assert_eq!(sample["references"][0]["answer"][0]["text"], "4");
        assert_eq!(
            sample["metadata"],
            json!({ "task": { "text": "2+2? " }, "level": 1, "solution": "four\n#### 4" })
        );
    }

    #[test]
    fn rows_without_a_number_are_errors() {
        let error = convert::<Gsm8k>(json!({}), json!({ "question": "2+2?", "answer": "four" })).err();
        assert_eq!(error.and_then(|error| error.pointer).as_deref(), Some("/answer"));
    }
}
