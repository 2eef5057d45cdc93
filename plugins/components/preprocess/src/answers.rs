//! Conversion of a row's answer fields: references, a label for the first of them, and the right option.

use crate::openai_choices;
use crate::options::{self, Ambiguous, Choice, Places};
use crate::references::{as_reference, is_empty, reference_text, references_of};
use crate::sample::reference;
use gage_row_kit::fields::{text, unusable};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;

/// Fields of a row that give the right answer.
#[derive(Default)]
pub(crate) struct GivenAnswer {
    /// `references`
    pub(crate) references: Option<Value>,
    /// Field that a parameter names, or `answer`, or `answers`.
    pub(crate) answer: Option<Value>,
    /// `label`
    pub(crate) label: Option<Value>,
    /// Substitute for an answer if a row has none.
    pub(crate) instead: Option<String>,
}

/// Answer fields in standard form.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) references: Vec<Value>,
    /// Text of the first reference. It can differ only if the row gives both; the host then rejects it.
    pub(crate) label: Option<String>,
    /// Label of the right option.
    pub(crate) correct_choice: Option<String>,
    /// Unused `answer`, since there are references.
    pub(crate) unused_answer: Option<Value>,
    /// `label` that is not the answer: a class of the row, for example.
    pub(crate) unused_label: Option<Value>,
}

/// Resolves the answer. References in the row win over an answer, an answer over a label, and a label over `choices` in
/// the OpenAI API format. An answer that names one of the options becomes its label; any other answer
/// stays as it is.
///
/// # Errors
/// `invalid-input` if an answer may mean more than one option.
pub(crate) fn settle(
    given: GivenAnswer,
    options: Option<&[Choice]>,
    openai_choices: Option<&Value>,
) -> Result<Answers, PluginError> {
    let references: Vec<Value> = match given.references {
        Some(Value::Array(references)) => references.into_iter().map(as_reference).collect(),
        Some(single) => vec![as_reference(single)],
        None => Vec::new(),
    };
    if !references.is_empty() {
        return listed(references, given.answer, given.label, options);
    }
    let says_something = |value: &Value| !is_empty(value);
    match (given.answer.filter(says_something), given.label.filter(says_something)) {
        (Some(answer), label) => answered("answer", answer, label, options),
        (None, Some(label)) => answered("label", label, None, options),
        (None, None) => {
            let texts = openai_choices.map(openai_choices::texts).unwrap_or_default();
            // If there are as many choices as options, they are the options again.
            let are_options = texts.len() > 1 && options.is_some_and(|options| options.len() == texts.len());
            let texts = if are_options { Vec::new() } else { texts };
            let texts = if texts.is_empty() { Vec::from_iter(given.instead) } else { texts };
            match <[String; 1]>::try_from(texts) {
                Ok([single]) => answered("choices", Value::from(single), None, options),
                Err(texts) => Ok(plain(texts.into_iter().map(reference).collect())),
            }
        }
    }
}

/// Creates answers without options.
fn plain(references: Vec<Value>) -> Answers {
    let label = references.first().and_then(reference_text).map(|label| label.into_owned());
    Answers { references, label, ..Answers::default() }
}

impl Answers {
    /// Returns the option that the only reference names.
    fn only_choice(&self, options: Option<&[Choice]>) -> ChosenAnswer {
        match self.label.as_deref().filter(|_| self.references.len() == 1) {
            Some(label) => chosen(&Value::from(label), options),
            None => Ok(None),
        }
    }
}

fn listed(
    references: Vec<Value>,
    unused_answer: Option<Value>,
    label: Option<Value>,
    options: Option<&[Choice]>,
) -> Result<Answers, PluginError> {
    let answers = plain(references);
    let by_label = label.as_ref().map_or(Ok(None), |label| chosen(label, options));
    let correct_choice = match answers.only_choice(options).map_err(refused("references"))? {
        Some(choice) => Some(choice),
        None => by_label.clone().map_err(refused("label"))?,
    };
    // With several correct answers, none is the right option.
    let correct_choice = correct_choice.filter(|_| answers.references.len() == 1);
    let Some(label) = label else { return Ok(Answers { correct_choice, unused_answer, ..answers }) };
    let Some(said) = text(&label).map(|said| said.into_owned()) else {
        return Ok(Answers { correct_choice, unused_answer, unused_label: Some(label), ..answers });
    };
    // The index, the letter and the text of an option are the same answer.
    let first = answers.label.filter(|_| may_be(&by_label, correct_choice.as_deref()));
    Ok(Answers {
        label: Some(first.unwrap_or(said)),
        references: answers.references,
        correct_choice,
        unused_answer,
        unused_label: None,
    })
}

/// Converts one answer, from the field of this name.
fn answered(
    field: &str,
    answer: Value,
    label: Option<Value>,
    options: Option<&[Choice]>,
) -> Result<Answers, PluginError> {
    let by_label = label.as_ref().map_or(Ok(None), |label| chosen(label, options));
    let (named, plainly) = match chosen(&answer, options).map_err(refused(field))? {
        Some(choice) => (Some(choice), Answers::default()),
        None => {
            let answers = plain(references_of(answer));
            (answers.only_choice(options).map_err(refused(field))?, answers)
        }
    };
    let correct_choice = match named {
        Some(choice) => Some(choice),
        None => by_label.clone().map_err(refused("label"))?,
    };
    let answers = match &correct_choice {
        Some(choice) => plain(vec![reference(choice.as_str())]),
        None => plainly,
    };
    let says_the_same = |label: &Value| {
        may_be(&by_label, correct_choice.as_deref())
            || text(label).is_some_and(|said| answers.label.as_deref().map(str::trim) == Some(said.trim()))
    };
    let unused_label = label.filter(|label| !says_the_same(label));
    Ok(Answers { correct_choice, unused_label, ..answers })
}

/// Label of the option that is meant, if any.
type ChosenAnswer = Result<Option<String>, Ambiguous>;

fn chosen(value: &Value, options: Option<&[Choice]>) -> ChosenAnswer {
    let Some(options) = options else { return Ok(None) };
    Ok(options::resolve(value, options, Places::OrTexts(0))?.map(|option| option.label.clone()))
}

/// Returns whether the chosen option is, or may be, this one.
fn may_be(chosen: &ChosenAnswer, choice: Option<&str>) -> bool {
    let Some(choice) = choice else { return false };
    match chosen {
        Ok(chosen) => chosen.as_deref() == Some(choice),
        Err(ambiguous) => ambiguous.may_be(choice),
    }
}

fn refused(field: &str) -> impl Fn(Ambiguous) -> PluginError + '_ {
    move |ambiguous| unusable(field, &ambiguous.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Labels;
    use gage_sdk::json;

    #[test]
    fn labels_say_the_first_reference() {
        let none = Value::Null;
        let two = json!(["x", "y"]);
        for (references, answer, label, options, expected_label, correct, unused) in [
            (&none, json!("a"), none.clone(), &none, Some("a"), None, none.clone()),
            (&none, none.clone(), json!(4), &none, Some("4"), None, none.clone()),
            (&none, json!(["a", "b"]), json!("a"), &none, Some("a"), None, none.clone()),
            (&none, json!("a"), json!("other"), &none, Some("a"), None, json!("other")),
            (&none, json!("y"), json!(1), &two, Some("B"), Some("B"), none.clone()),
            (&none, json!("y"), json!(0), &two, Some("B"), Some("B"), json!(0)),
            (&none, json!(["y"]), none.clone(), &two, Some("B"), Some("B"), none.clone()),
            (&none, json!(["x", "y"]), none.clone(), &two, Some("x"), None, none.clone()),
            (&none, json!([]), json!("a"), &none, Some("a"), None, none.clone()),
            (&none, json!("?"), json!("A"), &two, Some("A"), Some("A"), none.clone()),
            (&json!(["y"]), none.clone(), json!("B"), &two, Some("y"), Some("B"), none.clone()),
            (&json!(["B"]), none.clone(), json!("1"), &two, Some("B"), Some("B"), none.clone()),
            (&json!(["a"]), json!("why"), none.clone(), &none, Some("a"), None, none.clone()),
            (&json!(["a"]), none.clone(), json!("b"), &none, Some("b"), None, none.clone()),
            (&json!(["a"]), none.clone(), json!(["b"]), &none, Some("a"), None, json!(["b"])),
            (&json!([]), none.clone(), none.clone(), &none, None, None, none.clone()),
        ] {
            let there = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
            let shown = format!("{references} {answer} {label}");
            let given = GivenAnswer {
                references: there(references),
                answer: there(&answer),
                label: there(&label),
                instead: None,
            };
            let options = options::read(options, Labels::Letters).ok();
            let answers = settle(given, options.as_deref(), None).expect("clear");
            assert_eq!(answers.label.as_deref(), expected_label, "{shown}");
            assert_eq!(answers.correct_choice.as_deref(), correct, "{shown}");
            assert_eq!(answers.unused_label.unwrap_or_default(), unused, "{shown}");
        }
    }

    #[test]
    fn numbers_among_numbers() {
        let options = options::read(&json!(["1", "2", "3"]), Labels::Letters).ok();
        for (answer, label, expected) in [
            (json!("2"), None, Err("/answer")),
            (json!(["2"]), None, Err("/answer")),
            (json!("?"), Some(json!("2")), Err("/label")),
            (json!(1), Some(json!("2")), Ok("B")),
            (json!("B"), Some(json!("2")), Ok("B")),
            (json!(["2", "3"]), None, Ok("2")),
        ] {
            let given = GivenAnswer { answer: Some(answer.clone()), label, ..GivenAnswer::default() };
            let answers = settle(given, options.as_deref(), None);
            let found = answers.as_ref().map(|answers| {
                assert_eq!(answers.unused_label, None, "{answer}");
                answers.label.as_deref().unwrap_or_default()
            });
            let pointer = |error: &PluginError| error.pointer.clone().unwrap_or_default();
            assert_eq!(found.map_err(pointer), expected.map_err(str::to_owned), "{answer}");
        }
    }

    #[test]
    fn choices_may_be_the_answer() {
        let choices = |texts: &[&str]| -> Value {
            texts.iter().map(|text| json!({ "message": { "content": text } })).collect()
        };
        let options = options::read(&json!(["x", "y"]), Labels::Letters).ok();
        for (choices, options, label, references) in [
            (choices(&["a"]), None, Some("a"), 1),
            (choices(&["a", "b"]), None, Some("a"), 2),
            (choices(&["y"]), options.as_deref(), Some("B"), 1),
            (choices(&["x", "y"]), options.as_deref(), None, 0),
            (choices(&[""]), None, None, 0),
        ] {
            let answers = settle(GivenAnswer::default(), options, Some(&choices)).expect("clear");
            assert_eq!(answers.label.as_deref(), label, "{choices}");
            assert_eq!(answers.references.len(), references, "{choices}");
        }
    }
}
