//! The forms in which a Sample is written.
//!
//! | form | for | leaves out |
//! | --- | --- | --- |
//! | full | plugins, templates, exports | nothing |
//! | recorded | the journal | what follows from other members |
//! | listed | `samples.jsonl` | also what the rest of the line or the manifest says |

use crate::json_encode::{JsonMembers as _, Member};
use crate::sample::compact;
use crate::schema::SCHEMA_VERSION;
use crate::{JsonView, LazyJson, ModelOutput, Object, RecordedSample, Sample, ScoreCard};
use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;
use std::borrow::Cow;
use std::sync::Arc;

/// Members that the listed form leaves out: the line has the id, and the manifest the dataset.
const NOT_LISTED: [&str; 2] = ["id", "_dataset_id"];
/// The same of `metadata`: parameters of the preprocessor, and a text that is part of the messages.
const METADATA_NOT_LISTED: [&str; 4] = ["question_field", "choices_field", "answer_field", "question_text"];

/// Members of a model's output that the listed form leaves out: the summary counts them.
const OUTPUT_NOT_LISTED: [&str; 2] = [ModelOutput::SERVED_MODEL_KEY, ModelOutput::FINGERPRINT_KEY];

/// A Sample in its recorded form, for the journal.
#[derive(Clone, Copy, Debug)]
pub struct RecordedForm<'a>(pub JsonView<'a>);

/// A Sample in its listed form, for `samples.jsonl`. The index of its row is left out if it is `index`.
#[derive(Clone, Copy, Debug)]
pub struct ListedForm<'a> {
    /// The Sample.
    pub sample: JsonView<'a>,
    /// Index of the sample in the run.
    pub index: u64,
}

impl Sample {
    /// Returns the Sample of a record, if the record is its recorded form to the byte. A record that was changed after it
    /// was read, for example because it held a secret, may not be one.
    pub fn from_recorded(recorded: &RecordedSample) -> Option<Arc<Sample>> {
        let text = recorded.text()?;
        let Ok(BorrowedValue::Object(mut members)) = serde_json::from_str(text) else { return None };
        if members.get("schema_version").is_none() {
            members.insert("schema_version", BorrowedValue::Str(SCHEMA_VERSION.into()));
        }
        if members.get("references").is_none() {
            let label = members.get("label").filter(|label| label.is_string()).cloned();
            members.insert("references", BorrowedValue::Array(label.into_iter().collect()));
        }
        let sample = Sample::from_parsed(BorrowedValue::Object(members))?;
        let is_same =
            serde_json::to_string(&RecordedForm(JsonView::Sample(&sample))).is_ok_and(|own| own == text);
        is_same.then(|| Arc::new(sample))
    }
}

impl Serialize for RecordedForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            JsonView::Sample(sample) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, member) in sample.recorded_members() {
                    map.serialize_entry(key, &member)?;
                }
                for (key, value) in sample.other_members() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            JsonView::Recorded(sample) => sample.serialize(serializer),
            other => compact(other.value().into_owned()).serialize(serializer),
        }
    }
}

impl Serialize for ListedForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = self.index;
        match self.sample {
            JsonView::Sample(sample) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, member) in sample.recorded_members() {
                    match (key, &member) {
                        ("metadata", Member::Object(metadata)) => list_metadata(&mut map, texts(metadata))?,
                        ("_dataset_metadata", Member::Object(dataset)) => {
                            let is_index = |value: &Value| value.as_u64() == Some(index);
                            list_dataset(&mut map, texts(dataset), is_index)?;
                        }
                        ("choices", Member::Text(_)) => {}
                        _ if NOT_LISTED.contains(&key) => {}
                        _ => map.serialize_entry(key, &member)?,
                    }
                }
                for (key, value) in sample.other_members() {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            JsonView::Recorded(sample) => match sample.recorded.text().map(serde_json::from_str) {
                Some(Ok(BorrowedValue::Object(members))) => {
                    let mut map = serializer.serialize_map(None)?;
                    for (key, value) in members.iter() {
                        match (key, value) {
                            ("metadata", BorrowedValue::Object(metadata)) => {
                                list_metadata(&mut map, metadata.iter())?;
                            }
                            ("_dataset_metadata", BorrowedValue::Object(dataset)) => {
                                let is_index = |value: &BorrowedValue<'_>| value.as_u64() == Some(index);
                                list_dataset(&mut map, dataset.iter(), is_index)?;
                            }
                            ("choices", BorrowedValue::Str(_)) => {}
                            _ if NOT_LISTED.contains(&key) => {}
                            _ => map.serialize_entry(key, value)?,
                        }
                    }
                    map.end()
                }
                _ => sample.serialize(serializer),
            },
            other => {
                let sample = RecordedSample::from(other.value().into_owned());
                ListedForm { sample: JsonView::Recorded(&sample), index }.serialize(serializer)
            }
        }
    }
}

/// A model's output in its listed form, for `samples.jsonl`.
#[derive(Clone, Copy, Debug)]
pub struct ListedOutput<'a>(pub JsonView<'a>);

impl Serialize for ListedOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_listed = |key: &str| !OUTPUT_NOT_LISTED.contains(&key);
        let borrowed: Option<BorrowedValue<'_>> = match self.0 {
            JsonView::Output(output) => {
                let known = |key: &str| output.members().any(|(known, _)| known == key);
                let mut map = serializer.serialize_map(None)?;
                for (key, member) in output.members() {
                    map.serialize_entry(key, &member)?;
                }
                for (key, value) in output.extra().iter().filter(|(key, _)| is_listed(key) && !known(key)) {
                    map.serialize_entry(key, value)?;
                }
                return map.end();
            }
            // A text from a damaged journal may be no JSON.
            JsonView::Lazy(json) => {
                json.text().map(serde_json::from_str).transpose().map_err(S::Error::custom)?
            }
            _ => None,
        };
        if let Some(BorrowedValue::Object(members)) = &borrowed {
            return serializer.collect_map(members.iter().filter(|(key, _)| is_listed(key)));
        }
        match &*self.0.value() {
            Value::Object(members) => {
                serializer.collect_map(members.iter().filter(|(key, _)| is_listed(key)))
            }
            other => other.serialize(serializer),
        }
    }
}

/// The texts of a sample that its score cards repeat.
#[derive(Clone, Debug)]
pub struct RepeatedTexts<'a> {
    answer: Option<Cow<'a, str>>,
    label: Option<Cow<'a, str>>,
}

impl<'a> RepeatedTexts<'a> {
    /// Returns the answer of a model and the label of a Sample.
    pub fn of(sample: JsonView<'a>, model_output: JsonView<'a>) -> RepeatedTexts<'a> {
        let label = match sample {
            JsonView::Sample(sample) => sample.label.as_deref().map(Cow::Borrowed),
            JsonView::Recorded(sample) => text_member(&sample.recorded, "label"),
            other => owned_text(other, "label"),
        };
        let answer = match model_output {
            JsonView::Output(output) => Some(Cow::Borrowed(output.answer.as_str())),
            JsonView::Lazy(output) => text_member(output, "answer"),
            other => owned_text(other, "answer"),
        };
        RepeatedTexts { answer, label }
    }

    /// Returns whether the detail of a score card says only again what the record says: the answer as the prediction, or
    /// the label as what was expected.
    fn has(&self, key: &str, value: &str) -> bool {
        let text = match key {
            "prediction" => &self.answer,
            "reference" | "expected" => &self.label,
            _ => &None,
        };
        text.as_deref() == Some(value)
    }
}

/// A score card in its listed form, for `samples.jsonl`.
#[derive(Clone, Copy, Debug)]
pub struct ListedCard<'a> {
    /// The card.
    pub card: &'a ScoreCard,
    /// Texts that are not repeated.
    pub texts: &'a RepeatedTexts<'a>,
}

impl Serialize for ListedCard<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parsed = self.card.detail.text().map(serde_json::from_str);
        let Some(Ok(BorrowedValue::Object(detail))) = &parsed else { return self.card.serialize(serializer) };
        let is_listed = |(key, value): &(&str, &BorrowedValue<'_>)| {
            !value.as_str().is_some_and(|value| self.texts.has(key, value))
        };
        let kept: Vec<_> = detail.iter().filter(is_listed).collect();
        if kept.len() == detail.len() {
            return self.card.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        let ScoreCard { primary_score, pass, sub_scores, error_tags, explain, detail: _ } = self.card;
        map.serialize_entry("primary_score", primary_score)?;
        pass.map_or(Ok(()), |pass| map.serialize_entry("pass", &pass))?;
        if !sub_scores.is_empty() {
            map.serialize_entry("sub_scores", sub_scores)?;
        }
        if !error_tags.is_empty() {
            map.serialize_entry("error_tags", error_tags)?;
        }
        explain.as_ref().map_or(Ok(()), |explain| map.serialize_entry("explain", explain))?;
        list(&mut map, "detail", kept.into_iter())?;
        map.end()
    }
}

/// Returns a text member of a JSON object.
fn text_member<'a>(json: &'a LazyJson, key: &str) -> Option<Cow<'a, str>> {
    match json.text() {
        Some(text) => match serde_json::from_str(text) {
            Ok(BorrowedValue::Object(members)) => match members.get(key)? {
                BorrowedValue::Str(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        },
        None => owned_text(JsonView::Lazy(json), key),
    }
}

fn owned_text<'a>(document: JsonView<'a>, key: &str) -> Option<Cow<'a, str>> {
    document.get(key).and_then(|value| value.as_str().map(|text| Cow::Owned(text.to_owned())))
}

/// Returns members with their keys as texts.
fn texts(object: &Object) -> impl Iterator<Item = (&str, &Value)> {
    object.iter().map(|(key, value)| (key.as_str(), value))
}

/// Writes the listed members of `metadata`, if there are any.
fn list_metadata<'m, M: SerializeMap, V: Serialize>(
    map: &mut M,
    metadata: impl Iterator<Item = (&'m str, V)>,
) -> Result<(), M::Error> {
    list(map, "metadata", metadata.filter(|(key, _)| !METADATA_NOT_LISTED.contains(key)))
}

/// Writes the listed members of `_dataset_metadata`, if there are any.
fn list_dataset<'m, M: SerializeMap, V: Serialize + Copy>(
    map: &mut M,
    dataset: impl Iterator<Item = (&'m str, V)>,
    is_index: impl Fn(V) -> bool,
) -> Result<(), M::Error> {
    let is_listed = |(key, value): &(&str, V)| match *key {
        "row" => !is_index(*value),
        // The manifest has the dataset.
        key => key != "path",
    };
    list(map, "_dataset_metadata", dataset.filter(is_listed))
}

fn list<'m, M: SerializeMap, V: Serialize>(
    map: &mut M,
    key: &'static str,
    members: impl Iterator<Item = (&'m str, V)>,
) -> Result<(), M::Error> {
    let members: Vec<(&str, V)> = members.collect();
    match members.is_empty() {
        true => Ok(()),
        false => map.serialize_entry(key, &Members(&members)),
    }
}

/// Members that are written as an object.
struct Members<'m, V>(&'m [(&'m str, V)]);

impl<V: Serialize> Serialize for Members<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn samples() -> Vec<Arc<Sample>> {
        let four = json!([{"id": "A", "content": "x"}, {"id": "B", "content": "y", "more": 1}]);
        let question = json!([{"role": "user", "content": "?"}]);
        [
            json!({"id": "1", "messages": question, "references": []}),
            json!({"id": "2", "messages": question, "references": ["a"], "own": 1, "inputs": {"prompt": "p"}}),
            json!({"id": "3", "messages": question, "options": four, "references": ["B"], "label": "B", "own": {"a": 1}}),
            json!({"id": "4", "messages": question, "options": four, "references": ["B", "A"], "metadata": {"subject": "s"},
                "choices": "options", "inputs": {"prompt": "p"}}),
            json!({"id": "5", "messages": question, "options": four, "references": ["y"], "label": "B", "choices": [{"x": 1}],
                "metadata": {"option_map": {"A": "z"}, "correct_choice": "A"}, "data_tag": {"a": "b"}}),
            json!({"id": "6", "messages": question, "options": four, "references": [{"answer": "B", "meta": {"by": 1}}],
                "metadata": {"question_text": "?", "question_field": "q", "choices_field": "c", "answer_field": "a"},
                "_dataset_id": "d", "_dataset_metadata": {"path": "p", "row": 7}, "rendered_by": "me"}),
            json!({"messages": [], "references": [], "label": "C", "options": four, "task_type": "qa",
                "_dataset_metadata": {"path": "p", "row": 3}}),
        ]
        .into_iter()
        .map(|mut sample| {
            sample["schema_version"] = SCHEMA_VERSION.into();
            Sample::from_text(&sample.to_string()).expect("a Sample")
        })
        .collect()
    }

    #[test]
    fn listed_cards_do_not_repeat_the_answer_and_the_label() {
        let sample = &samples()[2];
        let recorded = RecordedSample::from(sample.to_value());
        let value = json!({"answer": "y", "finish_reason": "stop", "served_model": "m", "system_fingerprint": "f", "own": 1});
        let lazy = LazyJson::from(value.clone());
        let text = LazyJson::from_text(value.to_string()).expect("JSON");
        let output = ModelOutput {
            extra: [("served_model".to_owned(), json!("m")), ("own".to_owned(), json!(1))]
                .into_iter()
                .collect(),
            ..ModelOutput::generated("y".to_owned(), crate::FinishReason::Stop, None)
        };
        let views =
            [JsonView::Output(&output), JsonView::Lazy(&text), JsonView::Lazy(&lazy), JsonView::Json(&value)];
        for output in views {
            let listed = serde_json::to_string(&ListedOutput(output)).expect("JSON");
            assert_eq!(listed, r#"{"answer":"y","finish_reason":"stop","own":1}"#);
            for sample in [JsonView::Sample(sample), JsonView::Recorded(&recorded), JsonView::Json(&recorded)]
            {
                let texts = RepeatedTexts::of(sample, output);
                let listed = |detail: Value| {
                    let detail = LazyJson::from_text(detail.to_string()).expect("JSON");
                    let card = ScoreCard {
                        primary_score: Some(1.0),
                        pass: Some(true),
                        detail,
                        ..ScoreCard::default()
                    };
                    serde_json::to_value(ListedCard { card: &card, texts: &texts }).expect("JSON")["detail"]
                        .clone()
                };
                assert_eq!(listed(json!({"prediction": "y", "reference": "B"})), Value::Null);
                assert_eq!(
                    listed(json!({"prediction": "B", "expected": "B", "a": 1.5})),
                    json!({"prediction": "B", "a": 1.5})
                );
                assert_eq!(
                    listed(json!({"prediction": "y", "reference": ["B"]})),
                    json!({"reference": ["B"]})
                );
                assert_eq!(listed(json!({"b": "y"})), json!({"b": "y"}));
                assert_eq!(listed(Value::Null), Value::Null);
            }
        }
    }

    #[test]
    fn a_recorded_sample_is_restored() {
        for sample in samples() {
            let full = sample.to_value();
            let recorded = serde_json::to_string(&RecordedForm(JsonView::Sample(&sample))).expect("JSON");
            assert_eq!(RecordedSample::from(full.clone()).recorded.text(), Some(recorded.as_str()), "{full}");
            let read: RecordedSample = serde_json::from_str(&recorded).expect("a record");
            assert_eq!(read.to_string(), full.to_string());
            assert_eq!(read.clone().into_value(), full);
            assert_eq!(serde_json::to_string(&read).expect("JSON"), recorded);
            assert_eq!(Sample::from_recorded(&read).as_deref(), Some(&*sample));
            assert_eq!(Sample::from_value(full).as_ref(), Ok(&*sample));
        }
    }

    #[test]
    fn a_sample_is_listed_alike_in_every_form() {
        for sample in samples() {
            let full = sample.to_value();
            let recorded = RecordedSample::from(full.clone());
            let views = [JsonView::Sample(&sample), JsonView::Json(&full), JsonView::Recorded(&recorded)];
            let listed =
                views.map(|sample| serde_json::to_string(&ListedForm { sample, index: 7 }).expect("JSON"));
            assert!(listed.iter().all(|text| *text == listed[0]), "{listed:#?}");
        }
    }

    #[test]
    fn forms_leave_out_what_follows() {
        let samples = samples();
        for (number, recorded, listed) in [
            (
                2,
                r#"{"id":"3","messages":[{"role":"user","content":"?"}],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"label":"B","own":{"a":1}}"#,
                r#"{"messages":[{"role":"user","content":"?"}],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"label":"B","own":{"a":1}}"#,
            ),
            (
                6,
                r#"{"id":"7df8300ca215526b","task_type":"qa","messages":[],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"references":[],"label":"C","_dataset_metadata":{"path":"p","row":3}}"#,
                r#"{"task_type":"qa","messages":[],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"references":[],"label":"C","_dataset_metadata":{"row":3}}"#,
            ),
        ] {
            let sample = JsonView::Sample(&samples[number]);
            assert_eq!(serde_json::to_string(&RecordedForm(sample)).expect("JSON"), recorded);
            assert_eq!(serde_json::to_string(&ListedForm { sample, index: 0 }).expect("JSON"), listed);
        }
    }

    #[test]
    fn what_follows_is_found_by_its_path() {
        let samples = samples();
        let full = samples[2].to_value();
        assert_eq!(full["metadata"], json!({"option_map": {"A": "x", "B": "y"}, "correct_choice": "B"}));
        assert_eq!(full.get("choices"), None);
        assert_eq!(samples[3].to_value()["choices"][1]["message"]["content"][0]["text"], "y");
        assert_eq!(samples[3].to_value()["metadata"].get("correct_choice"), None);
        assert_eq!(
            samples[4].to_value()["metadata"],
            json!({"option_map": {"A": "z"}, "correct_choice": "A"})
        );
    }
}
