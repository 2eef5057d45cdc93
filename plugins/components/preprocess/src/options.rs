//! Options of a question: their many forms in raw rows, their letters, and the right one.

use crate::python_list;
use gage_row_kit::fields::{Fields, object, text};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;
use gage_text_kit::text::{Normalization, fold, strip};

/// Number of letters.
const LETTERS: usize = 26;

/// Maximum number of options: one for each letter and each pair of letters.
const MAX_OPTIONS: usize = LETTERS + LETTERS * LETTERS;

/// Keys of an option that may hold its name in the dataset, or its text.
const ID_KEYS: [&str; 3] = ["id", "label", "key"];
const TEXT_KEYS: [&str; 3] = ["content", "text", "value"];

/// One option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Label that the model is asked to answer with.
    pub(crate) label: String,
    /// Name of the option in the dataset, if any.
    id: Option<String>,
    /// Text of the option.
    pub(crate) text: String,
}

/// Meaning of integer answers if no option has that name. The number is the index of the first option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// Positions of options, also if spelled as texts.
    Always(usize),
    /// Numbers are positions. Numbers that cannot be one, and texts, may be the text of an option if nothing else can
    /// be meant.
    OrTexts(usize),
    /// Numbers and texts of digits are positions; others may be the text of an option.
    First(usize),
    /// Texts of options.
    Never,
}

impl Places {
    /// Returns the meaning of numbers according to the parameter `answer_index_base`. If it is not set, an answer that
    /// may be both a position and a text is neither.
    pub(crate) fn stated(params: &Params) -> Result<Places, PluginError> {
        const NAME: &str = "answer_index_base";
        let if_null = if params.is_given(NAME) { Places::Never } else { Places::OrTexts(0) };
        Ok(params.parsed(NAME)?.map_or(if_null, Places::First))
    }

    fn base(self) -> Option<usize> {
        match self {
            Places::Always(base) | Places::OrTexts(base) | Places::First(base) => Some(base),
            Places::Never => None,
        }
    }
}

/// An answer that may mean more than one option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ambiguous {
    answer: String,
    base: usize,
    /// Label and text of the option at the position; `None` if only the other base would give one.
    at_place: Option<(String, String)>,
    /// Label of the option with that text.
    of_text: String,
}

impl Ambiguous {
    /// Returns whether one of its meanings is the option with this label.
    pub(crate) fn may_be(&self, label: &str) -> bool {
        self.of_text == label || self.at_place.as_ref().is_some_and(|(at_place, _)| at_place == label)
    }
}

impl std::fmt::Display for Ambiguous {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ambiguous { answer, base, at_place, of_text } = self;
        write!(formatter, "is \"{answer}\", which is what option {of_text} says")?;
        match at_place {
            Some((label, text)) => {
                write!(
                    formatter,
                    ", while as a place, counted from {base}, it is option {label} (\"{text}\")"
                )?;
            }
            None => write!(formatter, ", and may be a place that is not counted from {base}")?,
        }
        formatter.write_str(
            "; give the letter of the option, or a number for its place. `multi_choice` with \
             `answer_index_base: 0` takes it as a place, with `answer_index_base: null` as a text",
        )
    }
}

/// Source of option labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Letters in order, unless the dataset's own names are letters.
    Letters,
    /// The dataset's own names, if each option has one.
    Own,
}

/// Reads options. They are a list of texts, of `{id, content}` or `{label, text}`; a map from names to texts; two
/// parallel lists `{"text": […], "label": […]}`; a list spelled as a text; or a single text.
///
/// # Errors
/// Says what is wrong with them.
pub(crate) fn read(value: &Value, labels: Labels) -> Result<Vec<Choice>, String> {
    let listed;
    let value = match value.as_str().map(|text| (strip(text), python_list::read(text))) {
        Some((_, Some(items))) => {
            listed = Value::from(items);
            &listed
        }
        Some((text, None)) if text.starts_with('[') && text.ends_with(']') => {
            return Err(
                "is a text that looks like a printed list, but cannot be read as one; items need quotes, \
                        and commas between them, as in ['a', 'b']"
                    .to_owned(),
            );
        }
        _ => value,
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
    if names.is_none() && raw.len() > MAX_OPTIONS {
        return Err(format!("has {} options, and there are labels for {MAX_OPTIONS}", raw.len()));
    }
    raw.into_iter()
        .enumerate()
        .map(|(index, (id, value))| {
            let said = text(value)
                .ok_or_else(|| format!("has an option that is not a text, number {}", index + 1))?;
            let own = names.as_ref().and_then(|names| names.get(index)).cloned();
            Ok(Choice { label: own.unwrap_or_else(|| letter(index)), id, text: said.into_owned() })
        })
        .collect()
}

/// Labels a list of texts with letters; `None` if there are no texts or too many.
pub(crate) fn lettered<'text>(texts: impl ExactSizeIterator<Item = &'text str>) -> Option<Vec<Choice>> {
    let option =
        |(index, text): (usize, &str)| Choice { label: letter(index), id: None, text: text.to_owned() };
    (1..=MAX_OPTIONS).contains(&texts.len()).then(|| texts.enumerate().map(option).collect())
}

/// Returns the option that the answer names, if any. The dataset's own names are searched first. `places` gives the
/// meaning of other integers. Other texts are a label, perhaps with marks around it or with its text after it
/// (`B. Dolphin`), or the text of an option.
///
/// # Errors
/// If digits may mean more than one option.
pub(crate) fn resolve<'options>(
    answer: &Value,
    options: &'options [Choice],
    places: Places,
) -> Result<Option<&'options Choice>, Ambiguous> {
    match answer {
        Value::Number(number) => {
            let written = number.to_string();
            let index = || {
                let index = number.as_u64().or_else(|| number.as_f64().and_then(whole_number))?;
                at_index(options, usize::try_from(index).ok()?, places.base()?)
            };
            match named(&written, options).or_else(index) {
                None if is_digits(&written) => by_digits(&written, options, places),
                None => Ok(said(&written, options).filter(|_| !matches!(places, Places::Always(_)))),
                found => Ok(found),
            }
        }
        Value::String(answer) => by_text(&fold(answer), options, places),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Ok(None),
    }
}

/// Returns options in the Sample's format.
pub(crate) fn sample_options(options: &[Choice]) -> Value {
    let option = |option: &Choice| {
        object([("id", option.label.as_str().into()), ("content", option.text.as_str().into())])
    };
    options.iter().map(option).collect()
}

/// Returns the map from labels to texts.
pub(crate) fn option_map(options: &[Choice]) -> Fields {
    options.iter().map(|option| (option.label.clone(), Value::from(option.text.as_str()))).collect()
}

/// Returns the name and the text of a list entry.
fn entry(value: &Value) -> (Option<String>, &Value) {
    let Value::Object(members) = value else { return (None, value) };
    let known = |keys: &[&str]| keys.iter().find_map(|key| members.get(*key));
    let id = known(&ID_KEYS).and_then(text).map(|id| id.into_owned());
    (id, known(&TEXT_KEYS).unwrap_or(value))
}

/// Returns the entries of two parallel lists.
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

/// Returns the label of a position, counted from 0: a letter, or two after `Z`, as in `AA`.
fn letter(index: usize) -> String {
    let of = |index: usize| char::from(b'A'.saturating_add(u8::try_from(index % LETTERS).unwrap_or(0)));
    match (index / LETTERS).checked_sub(1) {
        None => of(index).to_string(),
        // `read` rejects more options than there are pairs.
        Some(first) => String::from_iter([of(first), of(index)]),
    }
}

fn whole_number(number: f64) -> Option<u64> {
    /// Larger numbers have no letters anyway.
    const BOUND: f64 = 1000.0;
    // Exact: within the bound.
    (number.fract() == 0.0 && (0.0..BOUND).contains(&number)).then_some(number as u64)
}

/// Returns the option with a name in the dataset.
fn named<'options>(name: &str, options: &'options [Choice]) -> Option<&'options Choice> {
    options.iter().find(|option| option.id.as_deref().is_some_and(|id| strip(id) == name))
}

fn at_index(options: &[Choice], index: usize, index_base: usize) -> Option<&Choice> {
    options.get(index.checked_sub(index_base)?)
}

/// Returns the first option with this text, in any case.
fn said<'options>(answer: &str, options: &'options [Choice]) -> Option<&'options Choice> {
    let normalization = Normalization { case_sensitive: false, strip: true, collapse: true };
    options.iter().find(|option| normalization.same(&option.text, answer))
}

fn is_digits(answer: &str) -> bool {
    answer.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the option meant by digits that are not a name.
fn by_digits<'options>(
    answer: &str,
    options: &'options [Choice],
    places: Places,
) -> Result<Option<&'options Choice>, Ambiguous> {
    let place = answer.parse::<usize>().ok();
    let at_place = || at_index(options, place?, places.base()?);
    let Places::OrTexts(base) = places else {
        // As below.
        let is_text = match places {
            Places::Always(_) => false,
            Places::First(_) => place.is_none_or(|place| place > options.len()),
            Places::OrTexts(_) | Places::Never => true,
        };
        return Ok(at_place().or_else(|| said(answer, options).filter(|_| is_text)));
    };
    let (at_place, Some(of_text)) = (at_place(), said(answer, options)) else { return Ok(at_place()) };
    // Up to the number of options, it may have been counted from 0 as well as from 1.
    let is_place = place.is_some_and(|place| place <= options.len());
    let is_clear = at_place.map_or(!is_place, |option| option.label == of_text.label);
    let ambiguous = || Ambiguous {
        answer: answer.to_owned(),
        base,
        at_place: at_place.map(|option| (option.label.clone(), option.text.clone())),
        of_text: of_text.label.clone(),
    };
    if is_clear { Ok(Some(of_text)) } else { Err(ambiguous()) }
}

fn by_text<'options>(
    answer: &str,
    options: &'options [Choice],
    places: Places,
) -> Result<Option<&'options Choice>, Ambiguous> {
    let answer = strip(answer);
    if answer.is_empty() {
        return Ok(None);
    }
    if let Some(option) = named(answer, options) {
        return Ok(Some(option));
    }
    if is_digits(answer) {
        return by_digits(answer, options, places);
    }
    let labelled = |text: &str| {
        let text = text.trim_matches(|character: char| !character.is_alphanumeric());
        options.iter().find(|option| !text.is_empty() && option.label.eq_ignore_ascii_case(text))
    };
    let normalization = Normalization { case_sensitive: false, strip: true, collapse: true };
    let leading = || {
        let (label, rest) = answer.split_once(['.', ')', ':'])?;
        labelled(label).filter(|option| normalization.same(&option.text, rest))
    };
    Ok(labelled(answer).or_else(|| said(answer, options)).or_else(leading))
}

#[cfg(test)]
mod tests;
