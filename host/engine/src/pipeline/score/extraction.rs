//! Extraction of the final answer from a model's output, by the extractors of a task in order.

use crate::plan::PlannedExtractor;
use crate::sample::result::SampleResult;
use gage_core::{EvalContext, JsonView, Object, Outcome};
use gage_plugin::{ExtractedAnswer, Extractor, ItemError};
use gage_record::{ErrorNote, Stage};
use serde_json::{Value, json};

/// The result of the extractors for one answer.
pub(crate) struct ExtractionResult {
    /// The model's output with the extracted values, and the original answer as `written`.
    pub(crate) model_output: Value,
    /// Extracted values: `answer`, `parsed` and `extraction`.
    pub(crate) found: Object,
    /// The error, if an extractor failed.
    pub(crate) error: Option<(Outcome, ErrorNote)>,
}

/// Extracts the answers of a batch. The first extractor that finds an answer wins. If none does, `answer` is null, so a
/// parse failure never scores.
pub(crate) fn extract(extractors: &[PlannedExtractor], batch: &[&SampleResult]) -> Vec<ExtractionResult> {
    let mut states: Vec<ExtractionState> =
        batch.iter().map(|answer| ExtractionState::new(answer.model_output.document())).collect();
    for planned in extractors {
        let open: Vec<usize> = (0..states.len()).filter(|place| !states[*place].has_ended()).collect();
        let items = open.iter().map(|place| {
            let answer = batch[*place];
            let context = EvalContext {
                sample: answer.sample.document(),
                model_output: (&states[*place].output).into(),
                judge_output: &answer.judge_output,
                support_output: &answer.support_output,
            };
            planned.extractor.resolve(&answer.sample_id, context)
        });
        let found = planned.extractor.extract(items.collect());
        for (place, found) in open.into_iter().zip(found) {
            states[place].add_result(&planned.extractor, found);
        }
    }
    batch.iter().zip(states).map(|(answer, state)| state.finish(answer.model_output.document())).collect()
}

struct ExtractionState {
    /// The model's output, with its answer as earlier extractors left it.
    output: Value,
    /// Extracted values: `parsed` and `extraction`.
    found: Object,
    error: Option<ItemError>,
}

impl ExtractionState {
    fn new(output: JsonView<'_>) -> ExtractionState {
        ExtractionState { output: output.value().into_owned(), found: Object::new(), error: None }
    }

    fn has_ended(&self) -> bool {
        !self.found.is_empty() || self.error.is_some()
    }

    fn add_result(&mut self, extractor: &Extractor, found: Result<Option<ExtractedAnswer>, ItemError>) {
        match found {
            Ok(None) => {}
            Ok(Some(answer)) if extractor.shortens() => {
                if let Some(text) = answer.value.get("value") {
                    self.output["answer"] = text.clone();
                }
            }
            Ok(Some(answer)) => {
                let ExtractedAnswer { kind, value, evidence } = answer;
                let note = json!({"extractor": extractor.name(), "kind": kind, "evidence": evidence});
                self.found.insert("parsed".to_owned(), Value::Object(value));
                self.found.insert("extraction".to_owned(), note);
            }
            Err(error) => self.error = Some(error),
        }
    }

    fn finish(self, original: JsonView<'_>) -> ExtractionResult {
        let error = self.error.map(|failed| {
            let note = ErrorNote {
                stage: Stage::Scoring,
                kind: failed.kind.to_owned(),
                message: format!("extract: {}", failed.message),
                pointer: failed.pointer,
            };
            (failed.outcome, note)
        });
        let parsed = self.found.get("parsed").cloned().unwrap_or_default();
        let extraction = self.found.get("extraction").cloned().unwrap_or_default();
        let found = Object::from_iter([
            ("answer".to_owned(), text_of(&parsed)),
            ("parsed".to_owned(), parsed),
            ("extraction".to_owned(), extraction),
        ]);
        let mut model_output = original.value().into_owned();
        if let Value::Object(output) = &mut model_output {
            let written = output.get("answer").cloned().unwrap_or_default();
            output.extend(found.clone());
            output.insert("written".to_owned(), written);
        }
        ExtractionResult { model_output, found, error }
    }
}

/// Returns the answer as text metrics read it: the value, the items of a list, or the final answer of an argument.
fn text_of(parsed: &Value) -> Value {
    let inner = parsed.get("final_answer").or_else(|| parsed.get("answer")).unwrap_or(parsed);
    inner.get("value").or_else(|| inner.get("items")).unwrap_or(inner).clone()
}
