//! Support steps after inference: helper models that clean an answer, or extract something from it.

use crate::pipeline::infer::support_role::{SupportInput, SupportOutput, SupportRole};
use crate::pipeline::task_state::TaskState;
use crate::request::support_context::payload_of;
use crate::sample::failure::StepError;
use crate::sample::result::SampleResult;
use gage_core::Object;
use gage_record::Stage;
use serde_json::{Value, json};

/// Key of the model's output with its own answer, if a helper replaced it.
const ORIGINAL_ANSWER: &str = "original_answer";

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
                    set_answer(&mut result, &output);
                }
                output.extend(usage.map(|usage| ("usage".to_owned(), json!(usage))));
                if result.support_output.is_null() {
                    result.support_output = Value::Object(Object::new());
                }
                result.support_output[name] = Value::Object(output);
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

/// Replaces the answer by the reply of a role: its `answer`, or else its `context`.
fn set_answer(result: &mut SampleResult, output: &Object) {
    let Some(answer) = output.get("answer").or_else(|| output.get("context")) else { return };
    result.model_output.change(|output| {
        if let Value::Object(keys) = output {
            let original = keys.insert("answer".to_owned(), answer.clone()).unwrap_or_default();
            keys.insert(ORIGINAL_ANSWER.to_owned(), original);
        }
    });
}
