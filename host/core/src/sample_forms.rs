//! The forms in which a Sample is written.
//!
//! | form | for | leaves out |
//! | --- | --- | --- |
//! | full | plugins, templates, exports | nothing |
//! | recorded | the journal | what follows from other members |
//! | listed | `samples.jsonl` | also what the rest of the line or the manifest says |

use crate::json_encode::Member;
use crate::sample::compact;
use crate::{JsonView, Object, RecordedSample};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json_borrow::Value as BorrowedValue;

/// Members that the listed form leaves out: the line has the id, and the manifest the dataset.
const NOT_LISTED: [&str; 2] = ["id", "_dataset_id"];
/// The same of `metadata`: parameters of the preprocessor, and a text that is part of the messages.
const METADATA_NOT_LISTED: [&str; 4] = ["question_field", "choices_field", "answer_field", "question_text"];

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
    use crate::{SCHEMA_VERSION, Sample};
    use serde_json::json;
    use std::sync::Arc;

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
    fn a_recorded_sample_is_restored() {
        for sample in samples() {
            let full = sample.to_value();
            let recorded = serde_json::to_string(&RecordedForm(JsonView::Sample(&sample))).expect("JSON");
            assert_eq!(RecordedSample::from(full.clone()).recorded.text(), Some(recorded.as_str()), "{full}");
            let read: RecordedSample = serde_json::from_str(&recorded).expect("a record");
            assert_eq!(read.to_string(), full.to_string());
            assert_eq!(read.clone().into_value(), full);
            assert_eq!(serde_json::to_string(&read).expect("JSON"), recorded);
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
                r#"{"id":"3","messages":[{"role":"user","content":[{"type":"text","text":"?"}]}],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"label":"B","own":{"a":1}}"#,
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"?"}]}],"options":[{"id":"A","content":"x"},{"id":"B","content":"y","more":1}],"label":"B","own":{"a":1}}"#,
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
