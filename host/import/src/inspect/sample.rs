//! Samples of a log: each becomes a row and an answer.

use super::content::{attach, message, text_of};
use super::figures::ScoreSums;
use super::ids::SampleIds;
use super::{InspectLogError, part_of};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum size of all rows and answers of a log, which are kept in memory.
const MAX_KEPT_BYTES: u64 = 1 << 30;

/// A sample of a log.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LogSample {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    epoch: Option<u64>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    choices: Option<Vec<String>>,
    #[serde(default)]
    target: Value,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    scores: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    attachments: Option<Map<String, Value>>,
}

/// The converted samples of a log.
#[derive(Default)]
pub(super) struct SampleConversion {
    /// The rows by epoch, in the order of the log.
    rows: Vec<(u64, String)>,
    /// The answers, as JSON Lines.
    pub(super) answers: String,
    /// The scores: name of the scorer, and of the value if it has several.
    pub(super) scores: BTreeSet<String>,
    /// The sums of the scores.
    pub(super) sums: ScoreSums,
    /// The ids of samples and rows.
    pub(super) ids: SampleIds,
    /// Names of scorers with values that are not numbers.
    pub(super) not_numbers: BTreeSet<String>,
    /// Size of the rows and answers.
    kept_bytes: u64,
    /// Number of samples that ended with an error.
    pub(super) errors: usize,
    /// Ids of samples with an answer and an empty target.
    pub(super) empty_targets: BTreeSet<String>,
    /// True if a sample was asked more than once.
    pub(super) has_epochs: bool,
    /// True if the model was asked several times about a sample, for example by an agent.
    pub(super) has_turns: bool,
    /// True if samples have options.
    pub(super) has_choices: bool,
    /// True if several options of a sample are right.
    pub(super) has_several_right: bool,
}

impl SampleConversion {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the rows as JSON Lines, epoch by epoch.
    pub(super) fn rows(&mut self) -> String {
        self.rows.sort_by_key(|(epoch, _)| *epoch);
        self.rows.iter().map(|(_, line)| format!("{line}\n")).collect()
    }

    /// Converts a sample.
    pub(super) fn add(&mut self, mut sample: LogSample) -> Result<(), InspectLogError> {
        let attachments = sample.attachments.take().unwrap_or_default();
        for value in [&mut sample.input, &mut sample.output, &mut sample.target] {
            attach(value, &attachments);
        }
        sample.messages.iter_mut().for_each(|message| attach(message, &attachments));
        let epoch = sample.epoch.unwrap_or(1);
        self.has_epochs |= epoch > 1;
        let (id, row_id) = self.ids.add(&sample.id, epoch)?;
        let scores = self.scores_of(&sample);
        self.sums.add(&id, &scores);
        let mut metadata = sample.metadata.take().unwrap_or_default();
        metadata.insert("inspect".to_owned(), json!({"id": id, "epoch": epoch, "scores": scores}));
        let mut row = json!({
            "schema_version": "v1",
            "id": row_id,
            "messages": self.question(&sample),
            "references": references(&sample.target),
            "metadata": metadata,
        });
        if let Some(choices) = sample.choices.as_ref().filter(|choices| !choices.is_empty()) {
            self.has_choices = true;
            self.has_several_right |= right_options(&sample.target) > 1;
            let options = choices.iter().zip('A'..='Z');
            row["options"] =
                options.map(|(content, id)| json!({"id": id.to_string(), "content": content})).collect();
        }
        let row = row.to_string();
        self.kept_bytes += row.len() as u64;
        self.rows.push((epoch, row));
        let answer = match answer(&sample) {
            Some(answer) => {
                if has_empty_target(&sample) {
                    self.empty_targets.insert(id);
                }
                let stop = &sample.output["choices"][0]["stop_reason"];
                json!({"id": row_id, "answer": answer, "finish_reason": stop})
            }
            None => {
                self.errors += 1;
                json!({"id": row_id, "answer": null, "error": error_of(&sample)})
            }
        };
        let answer = format!("{answer}\n");
        self.kept_bytes += answer.len() as u64;
        self.answers.push_str(&answer);
        match self.kept_bytes > MAX_KEPT_BYTES {
            true => {
                let part = "rows of the log".to_owned();
                Err(InspectLogError::TooLarge { part, max_bytes: MAX_KEPT_BYTES })
            }
            false => Ok(()),
        }
    }

    /// Returns the messages before the first answer of the model.
    fn question(&mut self, sample: &LogSample) -> Vec<Value> {
        let is_answer = |message: &&Value| message["role"] == "assistant" && message["source"] != "input";
        self.has_turns |= sample.messages.iter().filter(is_answer).count() > 1;
        let asked: Vec<Value> =
            sample.messages.iter().take_while(|message| !is_answer(message)).map(message).collect();
        if !asked.is_empty() {
            return asked;
        }
        match &sample.input {
            Value::Array(messages) => messages.iter().map(message).collect(),
            input => vec![message(&json!({"role": "user", "content": input}))],
        }
    }

    /// Returns the scores of a sample as numbers.
    fn scores_of(&mut self, sample: &LogSample) -> Map<String, Value> {
        let mut scores = Map::new();
        for (name, score) in sample.scores.iter().flatten() {
            let mut add = |name: String, value: &Value| match number_of(value) {
                Some(number) => {
                    self.scores.insert(name.clone());
                    scores.insert(name, Value::from(number));
                }
                None if value.is_null() => {}
                None => {
                    self.not_numbers.insert(name);
                }
            };
            match score.get("value") {
                Some(Value::Object(values)) => {
                    values.iter().for_each(|(key, value)| add(part_of(&format!("{name}-{key}")), value));
                }
                Some(value) => add(part_of(name), value),
                None => {}
            }
        }
        scores
    }
}

/// Returns the number of a value: `C`, `yes` and `true` are 1, `P` is 0.5, `I`, `N`, `no` and `false` are 0.
fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|number| number.is_finite()),
        Value::Bool(is_right) => Some(f64::from(u8::from(*is_right))),
        Value::String(text) => match text.as_str() {
            "C" => Some(1.0),
            "P" => Some(0.5),
            "I" | "N" => Some(0.0),
            other => match other.to_lowercase().as_str() {
                "yes" | "true" => Some(1.0),
                "no" | "false" => Some(0.0),
                other => other.parse().ok().filter(|number: &f64| number.is_finite()),
            },
        },
        _ => None,
    }
}

fn references(target: &Value) -> Vec<Value> {
    let reference = |text: &str| json!({"answer": [{"type": "text", "text": text}]});
    match target {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![reference(text)],
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(reference).collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of options that a target names: numbers, and letters with or without commas between them.
fn right_options(target: &Value) -> usize {
    let count = |text: &str| -> usize {
        let names = text.split(|one: char| one == ',' || one.is_whitespace()).filter(|name| !name.is_empty());
        names.map(|name| if name.chars().all(char::is_numeric) { 1 } else { name.chars().count() }).sum()
    };
    match target {
        Value::String(text) => count(text),
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).map(count).sum(),
        _ => 0,
    }
}

/// Returns true if a target has no text.
fn has_empty_target(sample: &LogSample) -> bool {
    match &sample.target {
        Value::String(text) => text.is_empty(),
        Value::Array(texts) => !texts.is_empty() && texts.iter().all(|text| text == ""),
        _ => false,
    }
}

/// Returns the error of a sample without an answer.
fn error_of(sample: &LogSample) -> Option<&str> {
    sample.error.as_ref().and_then(|error| error["message"].as_str())
}

/// Returns the answer of a sample. `None` if it ended with an error before there was one.
fn answer(sample: &LogSample) -> Option<String> {
    let choice = text_of(&sample.output["choices"][0]["message"]["content"]);
    let text = choice.or_else(|| sample.output["completion"].as_str().map(str::to_owned));
    let has_scores = sample.scores.as_ref().is_some_and(|scores| !scores.is_empty());
    match text {
        // A score may rate something other than the text, such as the state of an agent.
        text if has_scores => Some(text.unwrap_or_default()),
        text => text.filter(|text| !text.is_empty() && sample.error.as_ref().is_none_or(Value::is_null)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_options_are_counted() {
        for (target, count) in [
            (json!("B"), 1),
            (json!("BC"), 2),
            (json!("A, B"), 2),
            (json!("12"), 1),
            (json!(["B", "C"]), 2),
            (json!(["B"]), 1),
            (json!(null), 0),
        ] {
            assert_eq!(right_options(&target), count, "{target}");
        }
    }
}
