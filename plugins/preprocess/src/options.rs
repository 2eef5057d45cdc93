//! The options of a question: their many shapes in raw rows, their letters, and which is right.

use crate::python_list;
use gage_row_kit::fields::{Fields, object, text};
use gage_sdk::serde_json::Value;
use gage_text_kit::text::{Normalization, fold, strip};

/// There is a letter for each of so many options.
const MOST_OPTIONS: usize = 26;

/// Keys of an option that may hold its name in the dataset, and those that may hold its text.
const ID_KEYS: [&str; 3] = ["id", "label", "key"];
const TEXT_KEYS: [&str; 3] = ["content", "text", "value"];

/// One option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// What the model is asked to answer with.
    pub(crate) label: String,
    /// What the dataset calls it, where it has a name for it.
    id: Option<String>,
    /// What it says.
    pub(crate) text: String,
}

/// How options get their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Letters in order, unless the dataset's own names are letters.
    Letters,
    /// The dataset's own names, where each option has one.
    Own,
}

/// Reads options: a list of texts, of `{id, content}` or `{label, text}`, a map from names to texts, two
/// parallel lists `{"text": […], "label": […]}`, a list that was written into a text, or a single text.
///
/// # Errors
/// Says what is wrong with them.
pub(crate) fn read(value: &Value, labels: Labels) -> Result<Vec<Choice>, String> {
    let listed;
    let value = match value.as_str().and_then(python_list::read) {
        Some(items) => {
            listed = Value::from(items);
            &listed
        }
        None => value,
    };
    let raw: Vec<(Option<String>, &Value)> = match value {
        Value::Array(items) => items.iter().map(entry).collect(),
        Value::Object(members) => parallel(members).unwrap_or_else(|| {
            members.iter().map(|(name, value)| (Some(name.clone()), entry(value).1)).collect()
        }),
        _ => vec![(None, value)],
    };
    if raw.is_empty() {
        return Err("has no options".to_owned());
    }
    let names: Option<Vec<String>> = raw.iter().map(|(id, _)| own_label(id.as_deref()?, labels)).collect();
    let names = names.filter(|names| are_distinct(names));
    if names.is_none() && raw.len() > MOST_OPTIONS {
        return Err(format!("has {} options, and there are letters for {MOST_OPTIONS}", raw.len()));
    }
    raw.into_iter()
        .enumerate()
        .map(|(index, (id, value))| {
            let said =
                text(value).ok_or_else(|| format!("has an option that is no text, number {}", index + 1))?;
            let own = names.as_ref().and_then(|names| names.get(index)).cloned();
            Ok(Choice { label: own.unwrap_or_else(|| letter(index)), id, text: strip(&said).to_owned() })
        })
        .collect()
}

/// The same for a list of texts that get letters; none where there are no texts or too many.
pub(crate) fn lettered<'text>(texts: impl ExactSizeIterator<Item = &'text str>) -> Option<Vec<Choice>> {
    let option = |(index, text)| Choice { label: letter(index), id: None, text: strip(text).to_owned() };
    (1..=MOST_OPTIONS).contains(&texts.len()).then(|| texts.enumerate().map(option).collect())
}

/// The right option. An answer is first looked for among the dataset's own names. Other integers, also
/// as text, count from `index_base`; other texts are a label, perhaps with marks around it or with its
/// text behind it (`B. Dolphin`), or the text of an option.
pub(crate) fn resolve<'options>(
    answer: &Value,
    options: &'options [Choice],
    index_base: usize,
) -> Option<&'options Choice> {
    match answer {
        Value::Number(number) => {
            if let Some(option) = named(&number.to_string(), options) {
                return Some(option);
            }
            let index = number.as_u64().or_else(|| number.as_f64().and_then(whole_number))?;
            at_index(options, usize::try_from(index).ok()?, index_base)
        }
        Value::String(answer) => by_text(&fold(answer), options, index_base),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Options in the shape of the Sample.
pub(crate) fn sample_options(options: &[Choice]) -> Value {
    let option = |option: &Choice| {
        object([("id", option.label.as_str().into()), ("content", option.text.as_str().into())])
    };
    options.iter().map(option).collect()
}

/// The map from labels to texts.
pub(crate) fn option_map(options: &[Choice]) -> Fields {
    options.iter().map(|option| (option.label.clone(), Value::from(option.text.as_str()))).collect()
}

/// The name and the text of a list entry.
fn entry(value: &Value) -> (Option<String>, &Value) {
    let Value::Object(members) = value else { return (None, value) };
    let known = |keys: &[&str]| keys.iter().find_map(|key| members.get(*key));
    let id = known(&ID_KEYS).and_then(text).map(|id| id.into_owned());
    (id, known(&TEXT_KEYS).unwrap_or(value))
}

/// The entries of two parallel lists.
fn parallel(members: &Fields) -> Option<Vec<(Option<String>, &Value)>> {
    let list = |keys: &[&str]| keys.iter().find_map(|key| members.get(*key)?.as_array());
    let (texts, ids) = (list(&TEXT_KEYS)?, list(&ID_KEYS)?);
    let ids = ids.iter().map(|id| text(id).map(|id| id.into_owned()));
    (ids.len() == texts.len()).then(|| ids.zip(texts).collect())
}

fn own_label(id: &str, labels: Labels) -> Option<String> {
    let id = strip(id);
    match labels {
        Labels::Own => (!id.is_empty()).then(|| id.to_owned()),
        Labels::Letters => (id.len() == 1 && id.starts_with(|first: char| first.is_ascii_alphabetic()))
            .then(|| id.to_ascii_uppercase()),
    }
}

fn are_distinct(names: &[String]) -> bool {
    names.iter().enumerate().all(|(index, name)| names.iter().skip(index + 1).all(|other| other != name))
}

/// The letter of a place, counted from 0.
fn letter(index: usize) -> String {
    // `read` refuses more options than there are letters.
    let offset = u8::try_from(index).unwrap_or(u8::MAX);
    char::from(b'A'.saturating_add(offset)).to_string()
}

fn whole_number(number: f64) -> Option<u64> {
    /// More options than this have no letters anyway.
    const BOUND: f64 = 1000.0;
    // Exact: within the bound.
    (number.fract() == 0.0 && (0.0..BOUND).contains(&number)).then_some(number as u64)
}

/// The option that has a name in the dataset.
fn named<'options>(name: &str, options: &'options [Choice]) -> Option<&'options Choice> {
    options.iter().find(|option| option.id.as_deref().is_some_and(|id| strip(id) == name))
}

fn at_index(options: &[Choice], index: usize, index_base: usize) -> Option<&Choice> {
    options.get(index.checked_sub(index_base)?)
}

fn by_text<'options>(
    answer: &str,
    options: &'options [Choice],
    index_base: usize,
) -> Option<&'options Choice> {
    let answer = strip(answer);
    if answer.is_empty() {
        return None;
    }
    if let Some(option) = named(answer, options) {
        return Some(option);
    }
    if answer.bytes().all(|byte| byte.is_ascii_digit()) {
        return at_index(options, answer.parse().ok()?, index_base);
    }
    let labelled = |text: &str| {
        let text = text.trim_matches(|character: char| !character.is_alphanumeric());
        options.iter().find(|option| !text.is_empty() && option.label.eq_ignore_ascii_case(text))
    };
    let normalization = Normalization { case_sensitive: false, strip: true, collapse: true };
    let said = || options.iter().find(|option| normalization.same(&option.text, answer));
    let leading = || {
        let (label, rest) = answer.split_once(['.', ')', ':'])?;
        labelled(label).filter(|option| normalization.same(&option.text, rest))
    };
    labelled(answer).or_else(said).or_else(leading)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn labels_are_resolved() {
        for (answer, options, index_base, expected) in [
            (json!("A"), json!(["x", "y"]), 0, Some("A")),
            (json!("a"), json!(["x", "y"]), 0, Some("A")),
            (json!(0), json!(["x", "y"]), 0, Some("A")),
            (json!(1), json!(["x", "y"]), 1, Some("A")),
            (json!(1.0), json!(["x", "y"]), 0, Some("B")),
            (json!("0"), json!(["x", "y"]), 0, Some("A")),
            (json!(-1), json!(["x", "y"]), 0, None),
            (json!(0), json!(["x", "y"]), 1, None),
            (json!("Y "), json!(["x", "y"]), 0, Some("B")),
            (json!("B."), json!(["x", "y"]), 0, Some("B")),
            (json!("（Ｂ）"), json!(["x", "y"]), 0, Some("B")),
            (json!("B) y"), json!(["x", "y"]), 0, Some("B")),
            (json!(null), json!(["x", "y"]), 0, None),
            (json!(true), json!(["x", "y"]), 0, None),
            (json!(""), json!(["x", ""]), 0, None),
            (json!("a.m."), json!(["x", "y"]), 0, None),
            (json!("C"), json!(["x", "y"]), 0, None),
            (json!("A"), json!({ "A": "x", "B": "y" }), 0, Some("A")),
            (json!("B"), json!([{ "id": "A", "content": "x" }, { "id": "B", "content": "y" }]), 0, Some("B")),
            (json!("2"), json!({ "text": ["x", "y"], "label": ["1", "2"] }), 0, Some("B")),
            (json!(2), json!([{ "id": 1, "content": "x" }, { "id": 2, "content": "y" }]), 0, Some("B")),
            (json!("2"), json!(["1", "2"]), 0, None),
            (json!("A"), json!("x"), 0, Some("A")),
            (json!("A"), json!([1, 2]), 0, Some("A")),
            (json!("B"), json!("['x', 'y']"), 0, Some("B")),
            (json!("y"), json!([{ "label": "B", "text": "x" }, { "label": "A", "text": "y" }]), 0, Some("A")),
        ] {
            let read = read(&options, Labels::Letters);
            let resolved = read.as_ref().ok().and_then(|options| resolve(&answer, options, index_base));
            assert_eq!(resolved.map(|option| option.label.as_str()), expected, "{answer} {options}");
        }
    }

    #[test]
    fn options_are_trimmed_texts() {
        let read =
            read(&json!([" x ", 2, { "id": "c", "content": "z" }]), Labels::Letters).unwrap_or_default();
        let texts: Vec<&str> = read.iter().map(|option| option.text.as_str()).collect();
        assert_eq!(texts, ["x", "2", "z"]);
        let labels: Vec<&str> = read.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels, ["A", "B", "C"]);
    }

    #[test]
    fn unusable_options_are_refused() {
        let many: Vec<usize> = (0..27).collect();
        for options in [json!([]), json!({}), json!([null]), json!(many)] {
            assert!(read(&options, Labels::Letters).is_err(), "{options}");
        }
    }

    #[test]
    fn own_names_may_be_labels() {
        let options = json!([{ "id": "first", "content": "x" }, { "id": "second", "content": "y" }]);
        let read = read(&options, Labels::Own).unwrap_or_default();
        assert_eq!(sample_options(&read), options);
        assert_eq!(resolve(&json!("second"), &read, 0).map(|option| option.label.as_str()), Some("second"));
    }
}
