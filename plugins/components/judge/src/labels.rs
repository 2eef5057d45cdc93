//! Labels that a judge can give, each with a score.

use crate::reply::{is_decoration, value_of, without_list_sign};
use crate::scale::Scale;
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::text::{Normalization, excerpt, fold, strip};

/// Words that announce a label, before a colon.
const ANNOUNCERS: [&str; 13] = [
    "GRADE",
    "FINAL GRADE",
    "ANSWER",
    "FINAL ANSWER",
    "LABEL",
    "VERDICT",
    "FINAL VERDICT",
    "RATING",
    "JUDGMENT",
    "JUDGEMENT",
    "答案",
    "结论",
    "评级",
];

/// Labels with their scores; at least one.
pub(crate) struct Labels(Vec<Label>);

/// A label, and its score on the scale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) score: f64,
    /// Meaning of the label, for the prompt.
    text: Option<String>,
    /// Spelling that replies are compared with.
    form: String,
}

impl Labels {
    /// Reads the parameter `labels`; `None` if it is not given.
    pub(crate) fn from_params(params: &Params, scale: Scale) -> Result<Option<Labels>, PluginError> {
        let Some(value) = params.get("labels") else { return Ok(None) };
        let table = value.as_object().filter(|table| !table.is_empty());
        let table = table.ok_or_else(|| refuse("must have a score for each label, as in {A: 1, B: 0}"))?;
        let mut labels: Vec<Label> = Vec::with_capacity(table.len());
        for (name, value) in table {
            let label = Label::new(name, value, scale)?;
            if let Some(same) = labels.iter().find(|other| other.form == label.form) {
                let message = format!("has '{}' and '{name}', which differ only in case or marks", same.name);
                return Err(refuse(&message));
            }
            labels.push(label);
        }
        Ok(Some(Labels(labels)))
    }

    /// Returns the labels of a suite that names none: the best and the worst score.
    pub(crate) fn usual(scale: Scale) -> Labels {
        let label =
            |name: &str, score: f64| Label { name: name.to_owned(), score, text: None, form: form_of(name) };
        Labels(vec![label("CORRECT", scale.best), label("INCORRECT", scale.worst)])
    }

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object", "minProperties": 1,
            "default": { "CORRECT": 1, "INCORRECT": 0 },
            "description": "Labels that the judge can give, with their scores on the scale: each a number, or an \
             object with `score` and `text`, its meaning in the prompt. With `pattern` there is no \
             default: the judge gives a number",
            "additionalProperties": {
                "type": ["number", "object"],
                "properties": {
                    "score": { "type": "number" },
                    "text": { "type": "string", "minLength": 1 },
                },
                "required": ["score"],
                "additionalProperties": false,
            },
        })
    }

    /// Returns the names of the labels, in order.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|label| label.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns a line for each label, with its meaning if it has one.
    pub(crate) fn listed(&self) -> String {
        let line = |label: &Label| match &label.text {
            Some(text) => format!("{}: {text}", label.name),
            None => label.name.clone(),
        };
        let lines: Vec<String> = self.0.iter().map(line).collect();
        lines.join("\n")
    }

    /// Returns the label that a text is, regardless of case and of marks around it: `**(b).**`.
    pub(crate) fn find(&self, text: &str) -> Option<&Label> {
        let form = form_of(text);
        self.0.iter().find(|label| label.form == form)
    }

    /// Returns the label that a text is.
    ///
    /// # Errors
    /// Says that it is none of them.
    pub(crate) fn read(&self, text: &str) -> Result<&Label, String> {
        let found = self.find(text);
        found.ok_or_else(|| format!("'{}' is none of the labels {}", excerpt(strip(text)), self.names()))
    }

    /// Returns the label of a line that is a label, or a label after a word and a colon: `Answer: A`. `None` for any
    /// other line.
    pub(crate) fn of_line(&self, line: &str) -> Option<Result<&Label, String>> {
        let item = without_list_sign(line);
        let alone = self.find(line).or_else(|| if item.len() < line.len() { self.find(item) } else { None });
        let announced = || {
            let words: &[&str] = if line.contains([':', '：']) { &ANNOUNCERS } else { &[] };
            words.iter().find_map(|word| value_of(line, word))
        };
        alone.map(Ok).or_else(|| announced().map(|value| self.read(value)))
    }

    /// Returns another label that is named in the text after the last line with a label.
    pub(crate) fn named_after(&self, words: &str, label: &Label) -> Option<&Label> {
        let lines: Vec<&str> = words.lines().collect();
        let last = lines.iter().rposition(|line| self.of_line(line).is_some())?;
        lines
            .iter()
            .skip(last + 1)
            .find_map(|line| self.0.iter().find(|other| other.form != label.form && names(line, &other.name)))
    }
}

impl Label {
    fn new(name: &str, value: &Value, scale: Scale) -> Result<Label, PluginError> {
        let (score, text) = match value {
            Value::Object(label) => (label.get("score"), label.get("text").filter(|text| !text.is_null())),
            score => (Some(score), None),
        };
        let score =
            score.and_then(Value::as_f64).ok_or_else(|| refuse(&format!("needs a score for '{name}'")))?;
        scale.normalized(score).map_err(|reason| refuse(&format!("'{name}': {reason}")))?;
        let text = match text.map(|text| text.as_str().map(strip)) {
            None => None,
            Some(Some(text)) if !text.is_empty() => Some(text.to_owned()),
            Some(_) => return Err(refuse(&format!("needs a text for '{name}'"))),
        };
        let form = form_of(name);
        if form.is_empty() {
            return Err(refuse(&format!("has '{name}', which consists of marks")));
        }
        Ok(Label { name: strip(name).to_owned(), score, text, form })
    }
}

fn refuse(what: &str) -> PluginError {
    PluginError::invalid_config(format!("params: 'labels' {what}")).at("/labels")
}

/// Returns a label without marks around it, in lower case and with spaces for underscores.
fn form_of(text: &str) -> String {
    /// Marks that are not a part of a label; `+` and `-` are.
    const MARKS: &str = "\"'$()[]{}<>.,;:!?|。、【】「」『』《》";
    let folded = fold(text);
    let bare = folded.trim_matches(|sign: char| is_decoration(sign) || MARKS.contains(sign));
    Normalization { case_sensitive: false, strip: true, collapse: true }
        .apply(&bare.replace('_', " "))
        .into_owned()
}

/// Returns whether a text has a label in capital letters as a whole word. Other labels are words of any text, and so
/// are an article `A` and a pronoun `I` before a word.
fn names(text: &str, label: &str) -> bool {
    let is_capital = label.chars().any(char::is_uppercase) && !label.chars().any(char::is_lowercase);
    if !is_capital {
        return false;
    }
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    text.match_indices(label).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + label.len()..).unwrap_or_default();
        let is_article =
            after.starts_with(char::is_whitespace) && after.trim_start().starts_with(char::is_lowercase);
        let is_word = match label {
            "A" => is_article,
            "I" => is_article || after.starts_with(['\'', '’']),
            _ => false,
        };
        !before.ends_with(is_part) && !after.starts_with(is_part) && !is_word
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(value: Value) -> Result<Labels, PluginError> {
        let params = Params::new(json!({ "labels": value, "scale": [0, 2] }))?;
        let labels = Labels::from_params(&params, Scale::from_params(&params)?)?;
        labels.ok_or_else(|| PluginError::invalid_config("none"))
    }

    #[test]
    fn lines_with_a_label() {
        let Ok(labels) = labels(json!({ "A": 2, "A+": 2, "NOT_ATTEMPTED": 0, "-1": 0, "2": 2 })) else {
            panic!("the labels are good")
        };
        for (line, expected) in [
            ("A", Some(Ok("A"))),
            (" **(a).** ", Some(Ok("A"))),
            ("[[A+]]", Some(Ok("A+"))),
            ("- A", Some(Ok("A"))),
            ("1) A", Some(Ok("A"))),
            ("2.", Some(Ok("2"))),
            ("-1", Some(Ok("-1"))),
            ("Not attempted", Some(Ok("NOT_ATTEMPTED"))),
            ("Ａ", Some(Ok("A"))),
            ("**Answer:** A", Some(Ok("A"))),
            ("final grade: \"A\"", Some(Ok("A"))),
            ("答案：A。", Some(Ok("A"))),
            ("Answer: B", Some(Err("'B' is none of the labels A, A+, NOT_ATTEMPTED, -1, 2".to_owned()))),
            ("A or A+", None),
            ("It is A", None),
            ("", None),
        ] {
            let found = labels.of_line(line).map(|found| found.map(|label| label.name.as_str()));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn labels_named_in_a_text() {
        for (text, label, expected) in [
            ("so it is B.", "B", true),
            ("A.", "A", true),
            ("A better one", "A", false),
            ("INCORRECT", "CORRECT", false),
            ("there is no error", "no", false),
            ("I'm sure", "I", false),
        ] {
            assert_eq!(names(text, label), expected, "{text}");
        }
    }

    #[test]
    fn bad_labels_are_refused() {
        for value in [
            json!({}),
            json!(["A"]),
            json!({ "A": "1" }),
            json!({ "A": 3 }),
            json!({ "A": 1, "a": 0 }),
            json!({ "A": 1, "(A)": 0 }),
            json!({ "?": 1 }),
            json!({ "A": {} }),
            json!({ "A": { "score": 1, "text": " " } }),
        ] {
            assert!(labels(value.clone()).is_err(), "{value}");
        }
    }
}
