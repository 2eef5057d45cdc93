//! Support steps after inference: helper models that clean an answer, or extract something from it.

use crate::pipeline::infer::support_role::{SupportInput, SupportOutput, SupportRole};
use crate::pipeline::task_state::TaskState;
use crate::request::support_context::payload_of;
use crate::sample::failure::StepError;
use crate::sample::result::SampleResult;
use gage_core::{Object, Outcome};
use gage_record::{ErrorNote, Stage};
use serde_json::{Value, json};

/// Key of the model's output with its own answer, if a helper replaced it.
pub(crate) const ORIGINAL_ANSWER: &str = "original_answer";

/// A role that works on the model's answer.
pub(crate) struct FollowUp {
    pub(crate) support_role: SupportRole,
    /// True if its reply replaces the answer.
    pub(crate) sets_answer: bool,
}

/// Asks the roles in order. A failure ends the sample. `None` if the run is stopped.
pub(super) async fn run(
    follow_ups: &[FollowUp],
    task: &TaskState,
    mut result: SampleResult,
) -> Option<SampleResult> {
    for FollowUp { support_role, sets_answer } in follow_ups {
        let name = support_role.name();
        // An answer that is judged again has this output already.
        if result.support_output.get(name).is_some() {
            continue;
        }
        let asked = {
            let sample = &result.sample.value();
            let mut found = payload_of(&result.support_output);
            let model_output = result.model_output.document().value().into_owned();
            found.insert("model_output".to_owned(), model_output);
            let input = SupportInput { sample, found: &found, history: None, tool_call: None };
            support_role.ask(task, &result.sample_id, &input).await
        };
        match asked {
            Ok(SupportOutput { mut output, usage }) => {
                if *sets_answer {
                    result.model_output.change(|model_output| set_answer(model_output, &output));
                    if answer_in(&output).is_some_and(is_blank) {
                        result.outcome = Outcome::EmptyOutput;
                        result.error = Some(empty_reply(name));
                    }
                }
                output.extend(usage.map(|usage| ("usage".to_owned(), json!(usage))));
                if result.support_output.is_null() {
                    result.support_output = Value::Object(Object::new());
                }
                result.support_output[name] = Value::Object(output);
                if result.outcome != Outcome::Scored {
                    return Some(result);
                }
            }
            Err(StepError::Stopped) => return None,
            Err(StepError::Failed(failure)) => {
                result.fail(Stage::Support, failure.named(name));
                return Some(result);
            }
        }
    }
    Some(result)
}

/// Replaces the answer by the reply of a role.
pub(crate) fn set_answer(model_output: &mut Value, output: &Object) {
    if let (Some(answer), Value::Object(keys)) = (answer_in(output), model_output) {
        let original = keys.insert("answer".to_owned(), answer.clone()).unwrap_or_default();
        keys.entry(ORIGINAL_ANSWER.to_owned()).or_insert(original);
    }
}

/// Returns the answer in the reply of a role: its `answer`, or else its `context`.
fn answer_in(output: &Object) -> Option<&Value> {
    output.get("answer").or_else(|| output.get("context"))
}

fn is_blank(answer: &Value) -> bool {
    answer.is_null() || answer.as_str().is_some_and(|text| text.trim().is_empty())
}

fn empty_reply(name: &str) -> ErrorNote {
    ErrorNote {
        stage: Stage::Support,
        kind: "empty_reply".to_owned(),
        message: format!("the role `{name}` sets the answer, and its reply is empty"),
        pointer: None,
    }
}
