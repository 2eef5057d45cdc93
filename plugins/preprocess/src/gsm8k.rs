//! `gsm8k`: a word problem and a solution that ends in `#### 18`.

use crate::fields::{Fields, require_text, unusable};
use crate::multi_choice::few_shot_error;
use crate::sample::{Draft, message, reference};
use gage_sdk::preprocessor::{Converted, Preprocessor, PreprocessorSpec, Row};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, from_params, json};
use gage_text_kit::number::parse_float;
use gage_text_kit::text::strip;
use serde::Deserialize;

/// What stands before the final number of a solution.
const MARKER: &str = "####";

const INSTRUCTION: &str = "Solve the problem step by step, and end with a line of the form `#### <number>`.";
const INSTRUCTION_ANSWER_ONLY: &str = "Answer with the number only.";

/// Turns a row with `question` and `answer` into a Sample whose label is the final number.
pub struct Gsm8k {
    /// The system message and the few-shot examples.
    before: Vec<Value>,
    instruction: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    system_prompt: Option<String>,
    instruction: Option<String>,
    /// Whether the model is to give the number alone, without the steps.
    answer_only: bool,
    few_shot: Vec<Fields>,
}

/// A problem with its solution and the number at its end.
struct Problem {
    question: String,
    solution: String,
    number: String,
}

impl Preprocessor for Gsm8k {
    fn spec() -> PreprocessorSpec {
        let properties = json!({
            "system_prompt": { "type": ["string", "null"], "description": "A system message before all others" },
            "instruction": {
                "type": ["string", "null"],
                "description": "What stands behind the problem; empty for nothing",
            },
            "answer_only": {
                "type": "boolean", "default": false,
                "description": "Ask for the number alone, and show examples without their steps",
            },
            "few_shot": {
                "type": "array", "items": { "type": "object" },
                "description": "Solved rows, in the shape of the dataset, that stand before each problem",
            },
        });
        PreprocessorSpec::new(
            "gsm8k",
            "1",
            "Word problems whose solution ends in `#### <number>`",
            properties,
        )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params: Params = from_params(params)?;
        let default = if params.answer_only { INSTRUCTION_ANSWER_ONLY } else { INSTRUCTION };
        let instruction = params.instruction.unwrap_or_else(|| default.to_owned());
        let system_prompt = params.system_prompt.filter(|text| !text.is_empty());
        let mut before: Vec<Value> = system_prompt.map(|text| message("system", text)).into_iter().collect();
        for (index, row) in params.few_shot.iter().enumerate() {
            let problem = Problem::read(row).map_err(|error| few_shot_error(index, &error))?;
            before.push(message("user", problem.user_text(&instruction)));
            let answer = if params.answer_only { problem.number } else { problem.solution };
            before.push(message("assistant", answer));
        }
        Ok(Gsm8k { before, instruction })
    }

    fn convert(&self, row: Row) -> Result<Converted, PluginError> {
        let problem = Problem::read(&row.body)?;
        let user = message("user", problem.user_text(&self.instruction));
        let draft = Draft {
            task_type: "short-answer",
            messages: self.before.iter().cloned().chain([user]).collect(),
            options: None,
            references: vec![reference(&problem.number)],
            label: Some(problem.number),
            metadata: Fields::from_iter([("solution".to_owned(), Value::from(problem.solution))]),
        };
        Ok(Converted::Sample(draft.finish(row.body, &["question", "answer"])))
    }
}

impl Problem {
    fn read(row: &Fields) -> Result<Problem, PluginError> {
        let question = require_text(row, "question")?;
        let solution = require_text(row, "answer")?;
        let number = final_number(&solution)
            .ok_or_else(|| unusable("answer", &format!("does not end in '{MARKER}' and a number")))?;
        Ok(Problem { question: strip(&question).to_owned(), solution: solution.into_owned(), number })
    }

    fn user_text(&self, instruction: &str) -> String {
        if instruction.is_empty() {
            self.question.clone()
        } else {
            format!("{}\n\n{instruction}", self.question)
        }
    }
}

/// The number behind the last marker, without thousands separators.
fn final_number(solution: &str) -> Option<String> {
    let (_, number) = solution.rsplit_once(MARKER)?;
    let number = strip(number).replace(',', "");
    parse_float(&number).filter(|value| value.is_finite()).map(|_| number)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let params =
            json!({ "answer_only": true, "few_shot": [{ "question": "1+1?", "answer": "two\n#### 2" }] });
        let Value::Object(body) = json!({ "question": "2+2? ", "answer": "four\n#### 4", "level": 1 }) else {
            panic!("a row is an object")
        };
        let row = Row { dataset: "gsm8k".to_owned(), index: 0, body };
        let sample = match Gsm8k::prepare(params).and_then(|gsm8k| gsm8k.convert(row)) {
            Ok(Converted::Sample(sample)) => sample,
            _ => panic!("the row is converted"),
        };
        assert_eq!(sample["messages"][1]["content"][0]["text"], "2");
        assert_eq!(sample["messages"][2]["content"][0]["text"], "2+2?\n\nAnswer with the number only.");
        assert_eq!(sample["label"], "4");
        assert_eq!(sample["references"][0]["answer"][0]["text"], "4");
        assert_eq!(sample["metadata"], json!({ "level": 1, "solution": "four\n#### 4" }));
    }

    #[test]
    fn rows_without_a_number_are_errors() {
        let Value::Object(row) = json!({ "question": "2+2?", "answer": "four" }) else {
            panic!("a row is an object")
        };
        let pointer = Problem::read(&row).err().and_then(|error| error.pointer);
        assert_eq!(pointer.as_deref(), Some("/answer"));
    }
}
