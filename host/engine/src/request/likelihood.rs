//! Requests for log-likelihoods: the texts that are scored, and the prompts before them.

use super::prompt_note;
use crate::plan::PlannedTask;
use gage_backend::{Continuation, LoglikelihoodRequest};
use gage_config::{ContinuationText, RequestKind};
use gage_core::{ContentPart, EvalContext, FieldPath, JsonView, Message, Messages, Sample, kind_of};
use gage_record::ErrorNote;
use serde_json::Value;

/// Returns the texts that are scored for a Sample, one for each option. Empty if the task scores none.
pub(super) fn continuations_of(task: &PlannedTask, sample: &Sample) -> Result<Vec<Continuation>, ErrorNote> {
    let step = &task.spec.steps.inference;
    if step.request != RequestKind::Loglikelihood {
        return Ok(Vec::new());
    }
    let target = step.target_field.as_ref().map(|path| target_of(path, sample)).transpose()?;
    let continuations = sample.options.iter().map(|option| {
        let text = match (step.continuation, &target) {
            (ContinuationText::Id, _) => &option.id,
            (ContinuationText::Target, Some(target)) => target,
            (ContinuationText::Content | ContinuationText::Target, _) => &option.content,
        };
        Continuation { id: option.id.clone(), text: format!("{}{text}", step.continuation_prefix) }
    });
    Ok(continuations.collect())
}

/// Returns the text that `target_field` names.
fn target_of(path: &FieldPath, sample: &Sample) -> Result<String, ErrorNote> {
    let null = Value::Null;
    let roots = EvalContext {
        sample: JsonView::Sample(sample),
        model_output: JsonView::Json(&null),
        judge_output: &null,
        support_output: &null,
    };
    let found = path.resolve(roots);
    let what = match found.as_deref() {
        Some(Value::String(text)) if !text.trim().is_empty() => return Ok(text.clone()),
        Some(Value::String(_)) => "empty",
        Some(other) => kind_of(other),
        None => "missing",
    };
    let message = format!("`continuation: target` scores a text, but `{path}` of the sample is {what}");
    Err(prompt_note("no_target", message, None))
}

/// Returns the texts that end the prompts, one for each option. Empty if all options share the prompt.
pub(super) fn prompt_endings(task: &PlannedTask, sample: &Sample) -> Vec<String> {
    match task.spec.steps.inference.continuation {
        ContinuationText::Target => sample.options.iter().map(|option| option.content.clone()).collect(),
        ContinuationText::Content | ContinuationText::Id => Vec::new(),
    }
}

/// Splits a request into one for each ending of its prompt. Without endings it stays whole.
pub(super) fn with_endings(request: LoglikelihoodRequest, endings: &[String]) -> Vec<LoglikelihoodRequest> {
    if endings.is_empty() {
        return vec![request];
    }
    let LoglikelihoodRequest { id, messages, prompt, continuations } = request;
    let ended = endings.iter().zip(continuations).map(|(ending, continuation)| {
        let mut messages = messages.clone();
        append(messages.to_mut(), ending);
        LoglikelihoodRequest {
            id: id.clone(),
            messages,
            prompt: prompt.as_ref().map(|prompt| format!("{prompt}{ending}")),
            continuations: vec![continuation],
        }
    });
    ended.collect()
}

/// Appends a text to the last message.
fn append(messages: &mut [Message], ending: &str) {
    let Some(last) = messages.last_mut() else { return };
    match last.content.last_mut() {
        Some(ContentPart::Text { text, .. }) => text.push_str(ending),
        _ => last.content.push(ContentPart::text(ending)),
    }
}

/// Builds the requests for the continuations after an `unconditioned_input`: one for a text, which all options share, and
/// one per option for a list of texts. The texts are sent as they are, without a chat template.
pub(super) fn unconditioned_requests(
    id: &str,
    input: &Value,
    continuations: &[Continuation],
) -> Result<Vec<LoglikelihoodRequest>, ErrorNote> {
    let note = |message: String| prompt_note("unconditioned_input", message, Some("/unconditioned_input"));
    let request = |text: &Value, continuations: &[Continuation]| match text.as_str() {
        Some(text) if !text.is_empty() => Ok(LoglikelihoodRequest {
            id: id.to_owned(),
            messages: Messages::default(),
            prompt: Some(text.to_owned()),
            continuations: continuations.to_vec(),
        }),
        _ => Err(note("must be a text that is not empty, or a list with one for each option".to_owned())),
    };
    let Value::Array(texts) = input else { return Ok(vec![request(input, continuations)?]) };
    if texts.len() != continuations.len() {
        return Err(note(format!(
            "has {} for {}; give one text for all, or one for each option",
            counted(texts.len(), "text"),
            counted(continuations.len(), "option")
        )));
    }
    texts.iter().zip(continuations).map(|(text, one)| request(text, std::slice::from_ref(one))).collect()
}

/// Returns a number with its noun, in the plural unless it is 1.
fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Role;
    use serde_json::json;

    #[test]
    fn each_option_ends_a_prompt_of_its_own() {
        let continuation = |id: &str| Continuation { id: id.to_owned(), text: " was late.".to_owned() };
        let request = LoglikelihoodRequest {
            id: "q".to_owned(),
            messages: vec![Message::text(Role::User, "Ann called Sue, as ")].into(),
            prompt: None,
            continuations: vec![continuation("A"), continuation("B")],
        };
        assert_eq!(with_endings(request.clone(), &[]).len(), 1);
        let endings = ["Ann".to_owned(), "Sue".to_owned()];
        let rendered = LoglikelihoodRequest { prompt: Some("as ".to_owned()), ..request.clone() };
        let split = with_endings(request, &endings);
        let shown: Vec<(String, &str)> = split
            .iter()
            .map(|one| (gage_core::text_of(&one.messages[0].content), one.continuations[0].id.as_str()))
            .collect();
        let expected =
            [("Ann called Sue, as Ann".to_owned(), "A"), ("Ann called Sue, as Sue".to_owned(), "B")];
        assert_eq!(shown, expected);
        let prompts: Vec<Option<String>> =
            with_endings(rendered, &endings).into_iter().map(|one| one.prompt).collect();
        assert_eq!(prompts, [Some("as Ann".to_owned()), Some("as Sue".to_owned())]);
    }

    #[test]
    fn target_is_a_text_of_the_sample() {
        let sample = json!({
            "schema_version": "v1", "id": "1", "messages": [{"role": "user", "content": "?"}], "references": [],
            "metadata": {"rest": "was late.", "number": 7, "blank": " "},
        });
        let sample = Sample::from_value(sample).expect("a Sample");
        for (path, expected) in [
            ("metadata.rest", Ok("was late.")),
            ("sample.metadata.rest", Ok("was late.")),
            ("metadata.number", Err("is a number")),
            ("metadata.blank", Err("is empty")),
            ("metadata.other", Err("is missing")),
        ] {
            let found = target_of(&FieldPath::new(path), &sample).map_err(|note| note.message);
            match expected {
                Ok(text) => assert_eq!(found.as_deref(), Ok(text), "{path}"),
                Err(part) => assert!(found.is_err_and(|message| message.contains(part)), "{path}"),
            }
        }
    }
}
