//! Documents in which paths are resolved: JSON, or a Sample or model output, without converting it to JSON
//! first.

use crate::field_value::{FieldValue, PathStep, walk, walk_members};
use crate::sample::derived::{MetadataMember, visit_scalars};
use crate::{LazyJson, ModelOutput, RecordedSample, Sample};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A document in which paths are resolved.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum JsonView<'a> {
    /// JSON.
    Json(&'a Value),
    /// JSON that is parsed when a path leads into it.
    Lazy(&'a LazyJson),
    /// The Sample of a record, which is parsed when a path leads into it.
    Recorded(&'a RecordedSample),
    /// A Sample, seen as the JSON to which it is encoded.
    Sample(&'a Sample),
    /// A model's output, seen in the same way.
    Output(&'a ModelOutput),
}

impl<'a> From<&'a Value> for JsonView<'a> {
    fn from(value: &'a Value) -> JsonView<'a> {
        JsonView::Json(value)
    }
}

impl<'a> From<&'a LazyJson> for JsonView<'a> {
    fn from(json: &'a LazyJson) -> JsonView<'a> {
        JsonView::Lazy(json)
    }
}

impl<'a> From<&'a RecordedSample> for JsonView<'a> {
    fn from(sample: &'a RecordedSample) -> JsonView<'a> {
        JsonView::Recorded(sample)
    }
}

impl<'a> JsonView<'a> {
    /// Returns whether the document is null.
    pub fn is_null(self) -> bool {
        match self {
            JsonView::Json(value) => value.is_null(),
            JsonView::Lazy(json) => json.is_null(),
            JsonView::Recorded(sample) => sample.is_null(),
            JsonView::Sample(_) | JsonView::Output(_) => false,
        }
    }

    /// Returns the whole document as a value.
    pub fn value(self) -> Cow<'a, Value> {
        match self {
            JsonView::Json(value) => Cow::Borrowed(value),
            JsonView::Lazy(json) => Cow::Borrowed(json),
            JsonView::Recorded(sample) => Cow::Borrowed(sample),
            JsonView::Sample(sample) => Cow::Owned(sample.to_value()),
            JsonView::Output(output) => Cow::Owned(output.to_value()),
        }
    }

    /// Returns a member of the document.
    pub fn get(self, key: &str) -> Option<Cow<'a, Value>> {
        self.walk(&[PathStep { key: key.to_owned(), index: None }]).map(FieldValue::into_value)
    }

    /// Calls `visit` with the key and the text of each text, number and truth value in the metadata of a Sample.
    pub fn visit_metadata(self, mut visit: impl FnMut(&str, &str)) {
        if let JsonView::Sample(sample) = self {
            MetadataMember::of(sample).visit_scalars(visit);
        } else if let Some(Value::Object(metadata)) = self.get("metadata").as_deref() {
            visit_scalars(metadata, &mut visit);
        }
    }

    /// Follows steps one after another; `None` if one leads nowhere.
    pub(crate) fn walk(self, steps: &[PathStep]) -> Option<FieldValue<'a>> {
        let Some((first, rest)) = steps.split_first() else { return Some(FieldValue::Json(self.value())) };
        match self {
            JsonView::Json(value) => walk(value, steps).map(FieldValue::from),
            JsonView::Lazy(json) => walk(json, steps).map(FieldValue::from),
            JsonView::Recorded(sample) => walk(sample, steps).map(FieldValue::from),
            JsonView::Sample(sample) => walk_members(sample, &first.key, rest),
            JsonView::Output(output) => walk_members(output, &first.key, rest),
        }
    }
}

/// A Sample during a run: parsed, or as JSON from an earlier record. Cheap to clone.
#[derive(Clone, Debug)]
pub enum SampleView {
    /// The parsed form.
    Read(Arc<Sample>),
    /// JSON, if it was recorded or has changed since it was parsed.
    Json(Arc<Value>),
}

impl SampleView {
    /// Returns the document for paths.
    pub fn document(&self) -> JsonView<'_> {
        match self {
            SampleView::Read(sample) => JsonView::Sample(sample),
            SampleView::Json(value) => JsonView::Json(value),
        }
    }

    /// Returns the Sample as JSON, converting it if necessary.
    pub fn value(&self) -> Cow<'_, Value> {
        self.document().value()
    }

    /// Changes the Sample as JSON.
    pub fn change(&mut self, change: impl FnOnce(&mut Value)) {
        let mut value = match self {
            SampleView::Read(sample) => Arc::new(sample.to_value()),
            SampleView::Json(value) => std::mem::take(value),
        };
        change(Arc::make_mut(&mut value));
        *self = SampleView::Json(value);
    }

    /// Returns a member of `eval_config`.
    pub fn eval_config(&self, key: &str) -> Option<&Value> {
        match self {
            SampleView::Read(sample) => sample.eval_config.get(key),
            SampleView::Json(value) => value.get("eval_config")?.get(key),
        }
    }

    /// Returns a member of `dataset_metadata`.
    pub fn dataset_metadata(&self, key: &str) -> Option<&Value> {
        match self {
            SampleView::Read(sample) => sample.dataset_metadata.get(key),
            SampleView::Json(value) => value.get("_dataset_metadata")?.get(key),
        }
    }
}

/// A model's output for a sample during a run; null if there is none.
#[derive(Clone, Debug)]
pub enum OutputView {
    /// The parsed form.
    Read(Box<ModelOutput>),
    /// JSON, if it was recorded or has changed since it was parsed.
    Json(Value),
}

impl Default for OutputView {
    fn default() -> OutputView {
        OutputView::Json(Value::Null)
    }
}

impl OutputView {
    /// Returns the document for paths.
    pub fn document(&self) -> JsonView<'_> {
        match self {
            OutputView::Read(output) => JsonView::Output(output),
            OutputView::Json(value) => JsonView::Json(value),
        }
    }

    /// Returns the length of the answer's text in bytes.
    pub fn answer_bytes(&self) -> usize {
        match self {
            OutputView::Read(output) => output.answer.len(),
            OutputView::Json(value) => value.get("answer").and_then(Value::as_str).map_or(0, str::len),
        }
    }

    /// Changes the output as JSON.
    pub fn change(&mut self, change: impl FnOnce(&mut Value)) {
        let mut value = match std::mem::take(self) {
            OutputView::Read(output) => output.to_value(),
            OutputView::Json(value) => value,
        };
        change(&mut value);
        *self = OutputView::Json(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContinuationScore, EvalContext, FieldPath, Usage};
    use serde_json::json;

    #[test]
    fn metadata_that_follows_from_other_members_is_visited_too() {
        let value = json!({
            "schema_version": "v1", "id": "q", "label": "A", "messages": [{"role": "user", "content": "what?"}], "references": [{"answer": "A"}],
            "options": [{"id": "A", "content": "yes"}, {"id": "B", "content": "no"}],
            "metadata": {"level": 3, "is_hard": true, "topic": "art", "list": [1], "none": null, "inner": {}},
        });
        let sample = Sample::from_value(value).expect("a sample");
        let written = sample.to_value();
        for view in [JsonView::Sample(&sample), JsonView::Json(&written)] {
            let mut visited = Vec::new();
            view.visit_metadata(|key, value| visited.push(format!("{key}={value}")));
            assert_eq!(visited, ["level=3", "is_hard=true", "topic=art", "correct_choice=A"], "{view:?}");
        }
    }

    #[test]
    fn paths_lead_to_the_same_in_a_sample_as_in_its_json() {
        let value = json!({
            "schema_version": "v1", "id": "q", "label": "one", "messages": [{"role": "user", "content": "what?"}],
            "references": [{"answer": "one", "meta": {"by": "A"}}, {"answer": ["two", {"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]}],
            "options": [{"id": "A", "content": "yes", "more": 1}, {"id": "B", "content": "one"}], "metadata": {"a": {"b": [1, null]}},
            "choices": [{"x": 1}], "tool_choice": {"type": "auto"}, "few_shot_examples": [{"messages": [{"role": "user", "content": "m"}], "references": [{"answer": "l"}], "label": "l"}],
            "golden_trajectories": [[{"role": "user", "content": "hi"}]], "sandbox": {"image": "i", "env": {"K": "v"}},
            "own": {"z": [true]}, "task_type": "qa",
        });
        let sample = Sample::from_value(value).expect("a sample");
        let written = sample.to_value();
        for text in [
            "sample",
            "label",
            "label.0",
            "nothing",
            "references",
            "references.0",
            "references.1.answer.1.image_url.url",
            "references.2",
            "references.x",
            "references.0.meta.by",
            "options.0.more",
            "options.1.content",
            "metadata",
            "metadata.a.b.0",
            "metadata.a.b.1",
            "metadata.a.b.2",
            "choices",
            "choices.0.x",
            "choices.7",
            "tool_choice.type",
            "few_shot_examples.0.label",
            "golden_trajectories.0.0.content.0.text",
            "sandbox.env.K",
            "own",
            "own.z.0",
            "messages.0.role",
            "eval_config",
            "extra",
        ] {
            let roots = |sample| EvalContext {
                sample,
                model_output: (&Value::Null).into(),
                judge_output: &Value::Null,
                support_output: &Value::Null,
            };
            let path = FieldPath::new(text);
            let (typed, plain) = (roots(JsonView::Sample(&sample)), roots(JsonView::Json(&written)));
            let value = path.resolve(plain);
            assert_eq!(path.resolve(typed), value, "{text}");
            if let Some(FieldValue::Typed(found)) = path.find(typed) {
                let written = serde_json::to_string(&found).expect("JSON");
                assert_eq!(Some(written), value.map(|value| value.to_string()), "{text}");
            }
        }
    }

    #[test]
    fn paths_lead_to_the_same_in_an_output_as_in_its_json() {
        let score = |id: &str, logprob| ContinuationScore {
            id: id.to_owned(),
            logprob,
            unconditioned_logprob: None,
            character_count: None,
            token_count: 1,
            byte_count: 2,
            is_greedy: false,
        };
        let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 0 });
        let mut output = ModelOutput::chosen(vec![score("A", -1.5), score("B", -0.25)], usage);
        // A component may return this key, but the host's value takes precedence.
        output.extra.insert("answer".to_owned(), "other".into());
        output.extra.insert("reasoning".to_owned(), json!({"steps": ["x"]}));
        let written = output.to_value();
        let expected = r#"{"answer":"B","answer_normalized":"B","finish_reason":"scored","usage":{"prompt_tokens":3,"completion_tokens":0},"continuations":[{"id":"A","logprob":-1.5,"token_count":1,"byte_count":2,"is_greedy":false},{"id":"B","logprob":-0.25,"token_count":1,"byte_count":2,"is_greedy":false}],"reasoning":{"steps":["x"]}}"#;
        assert_eq!(serde_json::to_string(&output).expect("JSON"), expected);
        assert_eq!(written.to_string(), expected);
        let nothing = &Value::Null;
        let roots = |model_output| EvalContext {
            sample: nothing.into(),
            model_output,
            judge_output: nothing,
            support_output: nothing,
        };
        for text in [
            "model_output",
            "model_output.answer",
            "model_output.answer.0",
            "model_output.finish_reason",
            "model_output.usage.prompt_tokens",
            "model_output.continuations.1.logprob",
            "model_output.continuations.2",
            "model_output.rolling",
            "model_output.reasoning.steps.0",
            "model_output.extra",
        ] {
            let path = FieldPath::new(text);
            let typed = path.resolve(roots(JsonView::Output(&output)));
            assert_eq!(typed, path.resolve(roots(JsonView::Json(&written))), "{text}");
        }
    }
}
