//! Semantic similarity of an answer to its references. A model embeds the texts. The cosine similarities of the vectors are
//! recorded, the vectors themselves are not.

use crate::limits::permits::RolePermits;
use crate::pipeline::role_client::{RoleClient, RoleError, RoleReply};
use crate::pipeline::task_state::TaskState;
use crate::plan::PlannedEmbed;
use crate::sample::failure::SampleFailure;
use crate::sample::output_keys::SEMANTIC;
use crate::sample::result::SampleResult;
use crate::sample::usage::named;
use crate::session::Session;
use gage_backend::{EmbedOutput, EmbedRequest};
use gage_core::{EvalContext, Object, Outcome};
use gage_record::Stage;
use serde_json::{Value, json};
use std::sync::Arc;

/// Maximum number of references per sample.
const MAX_REFERENCES: usize = 256;

/// Keys of an object's text, in order of precedence.
const KEYS: [&str; 3] = ["text", "answer", "value"];

/// The step `embed` of a task with its backend.
pub(crate) struct EmbeddingStep {
    planned: Arc<PlannedEmbed>,
    client: RoleClient,
}

/// The texts to compare: the answer, and its references with their positions in the list. Blank references are omitted.
#[derive(Debug, PartialEq)]
struct EmbeddingTexts {
    prediction: String,
    references: Vec<(usize, String)>,
    /// Number of references, including blank ones.
    count: usize,
}

impl EmbeddingStep {
    pub(crate) fn new(
        planned: &Arc<PlannedEmbed>,
        session: &Session,
        permits: &RolePermits,
    ) -> Option<EmbeddingStep> {
        let client = RoleClient::for_role(&planned.role, session, permits)?;
        Some(EmbeddingStep { planned: Arc::clone(planned), client })
    }

    /// Compares an answer with its references. `None` if the run is stopped before the end. Leaves an answer that an earlier
    /// process compared as it is.
    pub(crate) async fn compare(&self, task: &TaskState, result: &SampleResult) -> Option<SimilarityResult> {
        if result.model_output.document().get(SEMANTIC).is_some() {
            return Some(SimilarityResult(Ok(None)));
        }
        let texts = match self.texts(result) {
            Ok(texts) => texts,
            Err(failure) => return Some(SimilarityResult(Err(failure))),
        };
        let model = &self.client.backend().info().model;
        let missing = match (texts.prediction.is_empty(), texts.references.is_empty()) {
            (_, true) => Some("reference"),
            (true, false) => Some("prediction"),
            (false, false) => None,
        };
        if let Some(missing) = missing {
            let nothing = vec![Value::Null; texts.count];
            return Some(SimilarityResult(Ok(Some(
                json!({"model": model, "similarities": nothing, "missing": missing}),
            ))));
        }
        let EmbeddingTexts { prediction, references, count } = texts;
        let (places, references): (Vec<usize>, Vec<String>) = references.into_iter().unzip();
        let all = std::iter::once(prediction).chain(references).collect();
        let request = EmbedRequest { id: format!("embed:{}", result.sample_id), texts: all };
        let asked = match self.client.ask(task, None, self.client.backend().embed(request)).await {
            Ok(RoleReply { output: EmbedOutput { vectors, usage }, .. }) => {
                similarities(&vectors, places.len()).map(|found| (found, usage))
            }
            Err(RoleError::Stopped) => return None,
            Err(RoleError::Failed(error)) => Err(error.into()),
        };
        Some(SimilarityResult(asked.map(|(found, usage)| {
            let mut similarities = vec![Value::Null; count];
            for (place, similarity) in places.into_iter().zip(found) {
                if let Some(slot) = similarities.get_mut(place) {
                    *slot = json!(similarity);
                }
            }
            let mut semantic = Object::new();
            semantic.insert("model".to_owned(), model.as_str().into());
            semantic.insert("similarities".to_owned(), similarities.into());
            semantic.extend(named(usage));
            Some(Value::Object(semantic))
        })))
    }

    fn texts(&self, result: &SampleResult) -> Result<EmbeddingTexts, SampleFailure> {
        let step = &self.planned.step;
        let context = EvalContext {
            sample: result.sample.document(),
            model_output: result.model_output.document(),
            judge_output: &Value::Null,
            support_output: &result.support_output,
        };
        let invalid = |kind: &str, message: String| SampleFailure::new(Outcome::InvalidSample, kind, message);
        let refuse = |message: String| invalid("no_text", message);
        let prediction = match step.prediction_field.resolve(context).as_deref() {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(other) => {
                let what = gage_core::kind_of(other);
                return Err(refuse(format!("`{}` is {what}, but a text is needed", step.prediction_field)));
            }
        };
        let mut references = Vec::new();
        // An empty list counts as missing, so that the next field is tried.
        for path in &step.references_fields {
            let Some(value) = path.resolve(context) else { continue };
            collect(&value, &mut references).map_err(|what| {
                refuse(format!(
                    "`{path}` is {what}; a reference is a text, a number, or an object with `text`, `answer` \
                     or `value`"
                ))
            })?;
            if references.len() > MAX_REFERENCES {
                let count = references.len();
                return Err(invalid(
                    "too_many_references",
                    format!(
                        "`{path}` has {count} references, but an answer is compared with at most \
                         {MAX_REFERENCES}; use fewer, or name others by `references_field`"
                    ),
                ));
            }
            if !references.is_empty() {
                break;
            }
        }
        let count = references.len();
        let references = references.into_iter().map(|text| text.trim().to_owned()).enumerate();
        let references = references.filter(|(_, text)| !text.is_empty()).collect();
        Ok(EmbeddingTexts { prediction, references, count })
    }
}

/// Result of a comparison: the output to record, `None` if it is recorded already, or the failure.
pub(crate) struct SimilarityResult(Result<Option<Value>, SampleFailure>);

impl SimilarityResult {
    /// Returns true if the record holds the usage, along with the similarities.
    pub(crate) fn holds_usage(&self) -> bool {
        self.0.is_ok()
    }

    /// Adds the comparison to an answer.
    pub(crate) fn apply_to(self, mut result: SampleResult) -> SampleResult {
        match self.0 {
            Ok(None) => {}
            Ok(Some(semantic)) => {
                result.model_output.change(|output| {
                    if let Value::Object(output) = output {
                        output.insert(SEMANTIC.to_owned(), semantic);
                    }
                });
            }
            Err(failure) => result.fail(Stage::Embed, failure),
        }
        result
    }
}

/// Collects the texts of references: a text itself, each item of a list, or an object's `text`, `answer` or `value`. Nulls
/// are omitted.
///
/// # Errors
/// If a value has no text. Describes the value.
fn collect(value: &Value, texts: &mut Vec<String>) -> Result<(), &'static str> {
    match value {
        Value::Null => {}
        Value::String(text) => texts.push(text.clone()),
        Value::Number(_) | Value::Bool(_) => texts.push(value.to_string()),
        Value::Array(items) => items.iter().try_for_each(|item| collect(item, texts))?,
        Value::Object(object) => match KEYS.iter().find_map(|key| object.get(*key)) {
            Some(member) => collect(member, texts)?,
            None => return Err("an object without a text"),
        },
    }
    Ok(())
}

/// Returns the cosine similarity of the first vector to each of the `count` others.
fn similarities(vectors: &[Vec<f32>], count: usize) -> Result<Vec<f64>, SampleFailure> {
    let wrong = |message: String| SampleFailure::new(Outcome::BackendError, "protocol", message);
    let Some((prediction, references)) = vectors.split_first().filter(|(_, rest)| rest.len() == count) else {
        let message = format!("there are {} vectors of {} texts", vectors.len(), count + 1);
        return Err(wrong(message));
    };
    references
        .iter()
        .map(|reference| {
            if reference.len() != prediction.len() {
                let message =
                    format!("the vectors are {} and {} numbers long", prediction.len(), reference.len());
                return Err(wrong(message));
            }
            cosine(prediction, reference)
                .ok_or_else(|| wrong("a vector has no direction: it is zero, or contains NaN".to_owned()))
        })
        .collect()
}

/// Returns the cosine of the angle between two vectors (G. Salton and M. McGill, "Introduction to Modern Information
/// Retrieval", 1983, 4.2), in double precision. `None` if either has no direction.
fn cosine(one: &[f32], two: &[f32]) -> Option<f64> {
    // Rounding would give slightly less than 1.
    let is_finite = one.iter().all(|number| number.is_finite());
    if one == two && is_finite && one.iter().any(|number| *number != 0.0) {
        return Some(1.0);
    }
    let dot = |one: &[f32], two: &[f32]| -> f64 {
        one.iter().zip(two).map(|(one, two)| f64::from(*one) * f64::from(*two)).sum()
    };
    let cosine = dot(one, two) / (dot(one, one).sqrt() * dot(two, two).sqrt());
    // Rounding may exceed the range.
    cosine.is_finite().then(|| cosine.clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines() {
        for (one, two, expected) in [
            (vec![1.0, 0.0], vec![2.0, 0.0], Some(1.0)),
            (vec![1.0, 0.0], vec![0.0, 3.0], Some(0.0)),
            (vec![1.0, 1.0], vec![-1.0, -1.0], Some(-1.0)),
            (vec![3.0, 4.0], vec![4.0, 3.0], Some(0.96)),
            (vec![0.0, 0.0], vec![1.0, 0.0], None),
            (vec![f32::NAN, 0.0], vec![1.0, 0.0], None),
        ] {
            let found = cosine(&one, &two);
            match (found, expected) {
                (Some(found), Some(expected)) => assert!((found - expected).abs() < 1e-12, "{one:?} {two:?}"),
                (found, expected) => assert_eq!(found, expected, "{one:?} {two:?}"),
            }
        }
        let vector = || vec![1.0_f32, 0.5];
        assert!(similarities(&[vector(), vector()], 1).is_ok_and(|found| found.len() == 1));
        for (vectors, count) in [
            (vec![], 1),
            (vec![vector()], 1),
            (vec![vector(), vec![1.0]], 1),
            (vec![vector(), vec![0.0; 2]], 1),
        ] {
            let failure = similarities(&vectors, count).err().map(|failure| failure.kind);
            assert_eq!(failure.as_deref(), Some("protocol"), "{vectors:?}");
        }
    }

    #[test]
    fn references_in_the_shapes_that_samples_have() {
        let texts = |value: &Value| {
            let mut texts = Vec::new();
            collect(value, &mut texts).map(|()| texts)
        };
        for (value, expected) in [
            (json!("a"), Ok(vec!["a"])),
            (json!(["a", null, 5, true]), Ok(vec!["a", "5", "true"])),
            (json!([{"answer": [{"type": "text", "text": "a"}]}, {"value": "b"}]), Ok(vec!["a", "b"])),
            (json!(null), Ok(vec![])),
            (json!([{"image": "x"}]), Err("an object without a text")),
        ] {
            let expected = expected.map(|texts| texts.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(texts(&value), expected, "{value}");
        }
    }
}
