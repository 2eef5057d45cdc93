//! The options of a question: their labels and texts.

use crate::characters::{bare, begins_with, is_word, normalized, undecorated};
use crate::verdict::said;
use gage_sdk::metric::Value;
use gage_sdk::serde_json::{self, Map};
use gage_text_kit::references;
use gage_text_kit::text::{fold, is_space, strip};
use gage_text_kit::value::as_text;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

/// Keys of a list entry that may hold the label or the text.
const LABEL_KEYS: &[&str] = &["label", "id", "key", "letter"];
const TEXT_KEYS: &[&str] = &["text", "content", "value", "message"];

/// Key of a list entry that may hold its place instead of a label.
const PLACE_KEY: &str = "index";

/// Maximum number of options of a [`PlainMap`]: each label is compared with those before it.
const MAX_PLAIN: usize = 16;

/// Text of a list entry that has none.
static NO_TEXT: serde_json::Value = serde_json::Value::Null;

/// One option.
struct Choice {
    /// The label in upper case.
    label: String,
    /// The place that a list gives instead of a label, as spelled.
    place: Option<String>,
    /// Text of the option, with its alternative forms.
    texts: Vec<String>,
}

/// The options of a question. If the options are unknown, each letter from A to Z may be one.
#[derive(Default)]
pub struct Choices {
    choices: Vec<Choice>,
    /// Bit set of the upper-case ASCII letters that are labels.
    letters: u32,
    /// Texts that answers are compared with: the position of the option, and one of its texts. Built on first use.
    compared: OnceCell<Vec<(usize, String)>>,
    /// The same for texts as spelled.
    spelled: OnceCell<Vec<(usize, String)>>,
}

impl Choices {
    /// Reads an option map: `{"A": "Shark"}`, or a list of `{label, text}`, `{id, content}` or `{index, text}`. A text
    /// may be an object with `text`, `content`, `value` or `message`, or a list of the parts of a message. Any other
    /// value leaves the options unknown.
    ///
    /// A whole number under `index` is a place: the first option, 0 or 1, is A. An answer may name the place too.
    pub fn new(value: &Value) -> Choices {
        let Value::Json(json) = value else { return Choices::default() };
        // Most maps hold texts, and need no tree of values.
        let plain = serde_json::from_str::<PlainMap<'_>>(json).ok();
        let value = || serde_json::from_str::<serde_json::Value>(json);
        let choices: Vec<Choice> = match plain.map_or_else(|| Err(value()), Ok) {
            Ok(PlainMap(texts)) => {
                texts.into_iter().map(|(label, text)| Choice::of_text(&label, text.into_owned())).collect()
            }
            Err(Ok(serde_json::Value::Object(map))) => {
                map.iter().map(|(label, text)| Choice::new(label, text, text.as_object())).collect()
            }
            Err(Ok(serde_json::Value::Array(list))) => {
                let first = first_place(&list);
                list.iter().filter_map(|entry| Choice::from_entry(entry, first)).collect()
            }
            Err(_) => Vec::new(),
        };
        let letters = choices
            .iter()
            .filter_map(|choice| only_letter(&choice.label))
            .fold(0, |letters, letter| letters | letter_bit(letter));
        Choices { choices, letters, compared: OnceCell::new(), spelled: OnceCell::new() }
    }

    /// Returns whether the options are unknown.
    pub fn is_unknown(&self) -> bool {
        self.choices.is_empty()
    }

    /// Returns the label and text of each option, in order; empty if the options are unknown.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.choices.iter().map(|choice| {
            let text = choice.texts.first().map(String::as_str).unwrap_or_default();
            (choice.label.as_str(), text)
        })
    }

    /// Returns whether an upper-case ASCII letter is the label of an option.
    pub(crate) fn has_letter(&self, letter: char) -> bool {
        self.is_unknown() || self.letters & letter_bit(letter) != 0
    }

    /// Returns the label that a text equals after its decoration is removed.
    pub fn label(&self, text: &str) -> Option<String> {
        let bare = bare(text);
        if self.is_unknown() {
            let is_letter = bare.len() == 1 && bare.starts_with(|letter: char| letter.is_ascii_alphabetic());
            return is_letter.then(|| bare.to_ascii_uppercase());
        }
        // Compared character by character, since the text is often a long answer.
        let is_it =
            |label: &str| !label.is_empty() && label.chars().eq(bare.chars().flat_map(char::to_uppercase));
        let label = self.choices.iter().map(|choice| &choice.label).find(|label| is_it(label)).cloned();
        label.or_else(|| self.at_place(bare))
    }

    /// Returns the label of the option at a place, as its list spells it. A place that is also the text of an option
    /// means that text.
    fn at_place(&self, place: &str) -> Option<String> {
        let choice = self.choices.iter().find(|choice| choice.place.as_deref() == Some(place))?;
        let is_text = self.spelled_texts().any(|(_, text)| text == place);
        (!is_text).then(|| choice.label.clone())
    }

    /// Returns the stored form of a label: upper case, without white space.
    pub fn label_form(&self, label: &str) -> String {
        strip(&fold(label)).to_uppercase()
    }

    /// Returns the text of an option.
    pub fn text(&self, label: &str) -> Option<&str> {
        let label = self.label_form(label);
        let choice = self.choices.iter().find(|choice| choice.label == label)?;
        choice.texts.first().map(String::as_str)
    }

    /// Returns labels and texts as spelled, except for case and white space, in the order of the options.
    pub(crate) fn spelled_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let spelled = self.spelled.get_or_init(|| self.forms(|text| normalized(&fold(text)).into_owned()));
        self.with_labels(spelled)
    }

    /// Returns labels and texts without quotes, brackets and full stops around the texts. Answers are compared with
    /// these.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.with_labels(self.compared())
    }

    fn compared(&self) -> &[(usize, String)] {
        self.compared.get_or_init(|| self.forms(|text| normalized(undecorated(&fold(text))).into_owned()))
    }

    /// Returns a form of each text, with the position of its option.
    fn forms(&self, form: impl Fn(&str) -> String) -> Vec<(usize, String)> {
        let texts = self.choices.iter().enumerate();
        let texts = texts.flat_map(|(place, choice)| choice.texts.iter().map(move |text| (place, text)));
        texts.map(|(place, text)| (place, form(text))).filter(|(_, text)| !text.is_empty()).collect()
    }

    fn with_labels<'c>(&'c self, texts: &'c [(usize, String)]) -> impl Iterator<Item = (&'c str, &'c str)> {
        texts.iter().filter_map(|(place, text)| {
            let choice = self.choices.get(*place)?;
            Some((choice.label.as_str(), text.as_str()))
        })
    }

    /// Returns whether a text begins with the text of a letter's option: `A Shark`.
    pub(crate) fn says(&self, letter: char, rest: &str) -> bool {
        self.texts_of(letter).any(|text| begins_with(rest, text).is_some())
    }

    /// Returns whether a text begins with the text of any option, and the word ends there.
    pub(crate) fn says_any(&self, rest: &str) -> bool {
        self.texts().any(|(_, text)| {
            begins_with(rest, text).is_some_and(|mut after| !after.next().is_some_and(is_word))
        })
    }

    /// Returns whether a text begins with the text of a letter's option, and the clause ends there. The option itself
    /// must only call something right or wrong.
    pub(crate) fn says_verdict(&self, letter: char, rest: &str) -> bool {
        self.texts_of(letter).any(|text| {
            let after = begins_with(rest, text);
            said(text).is_some()
                && after.is_some_and(|mut after| !after.next().is_some_and(char::is_alphanumeric))
        })
    }

    fn texts_of(&self, letter: char) -> impl Iterator<Item = &str> {
        let texts = if self.letters & letter_bit(letter) == 0 { &[] } else { self.compared() };
        texts.iter().filter_map(move |(place, text)| {
            let choice = self.choices.get(*place)?;
            (only_letter(&choice.label) == Some(letter)).then_some(text.as_str())
        })
    }

    /// Returns the labels that a reference means. The reference may be a list of values that [`Choices::resolve`]
    /// takes. Empty if one of them is not an option. If the options are unknown, any text is a label.
    pub fn resolve_all(&self, reference: &Value) -> Vec<String> {
        let one = |reference: &Value| {
            let spelled =
                || self.is_unknown().then(|| reference_text(reference).map(|text| self.label_form(&text)));
            self.resolve(reference).or_else(|| spelled().flatten()).filter(|label| !label.is_empty())
        };
        let labels = match several(reference) {
            Some(references) => references.iter().map(one).collect(),
            None => one(reference).map(|label| vec![label]),
        };
        labels.unwrap_or_default()
    }

    /// Returns the option whose text equals the whole of `text`, ignoring case, white space and decoration. If no text
    /// has the same words, white space inside words does not count either.
    pub(crate) fn with_text(&self, text: &str) -> Option<String> {
        if let Some((label, _)) = self.spelled_texts().find(|(_, option)| is_whole(text, option)) {
            return Some(label.to_owned());
        }
        let loose = undecorated(text);
        let that = |is_same: fn(&str, &str) -> bool| {
            let mut same = self.texts().filter(|(_, option)| is_same(loose, option)).map(|(label, _)| label);
            let label = same.next()?;
            // Options that differ only in decoration are indistinguishable.
            same.all(|other| other == label).then(|| label.to_owned())
        };
        that(is_whole).or_else(|| that(has_same_letters))
    }

    /// Returns the label that a reference means: a label itself, the text of an option, or both (`B. Dolphin`). The
    /// `aliases` of a reference count if its value means none.
    pub fn resolve(&self, reference: &Value) -> Option<String> {
        let aliases = || references::aliased(reference);
        let said = reference_text(reference).and_then(|text| self.resolve_text(&text));
        said.or_else(|| aliases().iter().find_map(|alias| self.resolve_text(&option_text(alias))))
    }

    fn resolve_text(&self, reference: &str) -> Option<String> {
        let folded = fold(reference);
        let text = strip(&folded);
        if text.is_empty() {
            return None;
        }
        self.label(text).or_else(|| self.with_text(text)).or_else(|| {
            let mut characters = text.chars();
            let letter = characters.next()?.to_ascii_uppercase();
            let separated = matches!(characters.next()?, '.' | ')' | ':' | '、');
            let rest = characters.as_str();
            let said = if self.is_unknown() { rest.starts_with(is_space) } else { self.says(letter, rest) };
            (separated && said && letter.is_ascii_uppercase()).then(|| letter.into())
        })
    }
}

/// Returns whether a text equals the text of an option, ignoring case and white space.
fn is_whole(text: &str, option: &str) -> bool {
    begins_with(text, option)
        .is_some_and(|mut after| matches!((after.next(), after.next()), (None | Some(' '), None)))
}

/// Returns whether a text equals the text of an option, ignoring case and all white space. A number is never written
/// with other white space.
fn has_same_letters(text: &str, option: &str) -> bool {
    let visible = |text: &str| text.chars().filter(|character| !is_space(*character)).collect::<String>();
    // A longer answer is not an option, and needs no copy.
    text.len() <= 4 * option.len()
        && may_be_same(text, option)
        && option.chars().any(char::is_alphabetic)
        && normalized(&visible(text)) == visible(option)
}

/// Returns false if the first visible characters of two texts differ, as they mostly do. The option is in lower case.
fn may_be_same(text: &str, option: &str) -> bool {
    let first = |text: &str| text.chars().find(|character| !is_space(*character));
    match (first(text), first(option)) {
        (Some(left), Some(right)) => {
            !left.is_ascii() || !right.is_ascii() || left.to_ascii_lowercase() == right
        }
        (left, right) => left.is_none() == right.is_none(),
    }
}

/// Returns the place of the first option in a list whose entries have an `index`: 1 if no entry has 0.
fn first_place(list: &[serde_json::Value]) -> usize {
    usize::from(!list.iter().any(|entry| entry.get(PLACE_KEY).and_then(place) == Some(0)))
}

/// Returns a place: a whole number from 0, or a text that spells one.
fn place(value: &serde_json::Value) -> Option<usize> {
    match value {
        serde_json::Value::String(text) => strip(text).parse().ok(),
        other => usize::try_from(other.as_u64()?).ok(),
    }
}

/// Returns the label as an upper-case ASCII letter.
fn only_letter(label: &str) -> Option<char> {
    match label.as_bytes() {
        [letter @ b'A'..=b'Z'] => Some(char::from(*letter)),
        _ => None,
    }
}

/// Returns the bit of an upper-case ASCII letter, or 0 for any other character.
fn letter_bit(letter: char) -> u32 {
    if letter.is_ascii_uppercase() { 1 << (letter as u32 - 'A' as u32) } else { 0 }
}

/// An option map of texts, whose labels differ.
struct PlainMap<'json>(Vec<(Cow<'json, str>, Cow<'json, str>)>);

impl<'json> Deserialize<'json> for PlainMap<'json> {
    fn deserialize<D: Deserializer<'json>>(deserializer: D) -> Result<PlainMap<'json>, D::Error> {
        deserializer.deserialize_map(PlainMapVisitor)
    }
}

struct PlainMapVisitor;

impl<'json> Visitor<'json> for PlainMapVisitor {
    type Value = PlainMap<'json>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'json>>(self, mut map: A) -> Result<PlainMap<'json>, A::Error> {
        let mut texts: Vec<(Cow<'json, str>, Cow<'json, str>)> = Vec::with_capacity(MAX_PLAIN);
        while let Some((JsonText(label), JsonText(text))) = map.next_entry()? {
            if texts.len() == MAX_PLAIN || texts.iter().any(|(other, _)| *other == label) {
                return Err(A::Error::custom("not a plain map"));
            }
            texts.push((label, text));
        }
        Ok(PlainMap(texts))
    }
}

/// A text that is borrowed if it has no escapes.
#[derive(Deserialize)]
struct JsonText<'json>(#[serde(borrow)] Cow<'json, str>);

impl Choice {
    fn of_text(label: &str, text: String) -> Choice {
        Choice { label: strip(&fold(label)).to_uppercase(), place: None, texts: vec![text] }
    }

    fn new(label: &str, text: &serde_json::Value, entry: Option<&Map<String, serde_json::Value>>) -> Choice {
        let aliases = entry.and_then(|entry| entry.get("aliases")).and_then(serde_json::Value::as_array);
        let texts = std::iter::once(text).chain(aliases.into_iter().flatten());
        let label = strip(&fold(label)).to_uppercase();
        Choice { label, place: None, texts: texts.map(option_text).collect() }
    }

    /// Reads an entry of a list. `first` is the place of the first option.
    fn from_entry(entry: &serde_json::Value, first: usize) -> Option<Choice> {
        let entry = entry.as_object()?;
        let known = |key: &&str| entry.get(*key).filter(|value| !value.is_null());
        let text = TEXT_KEYS.iter().find_map(known).unwrap_or(&NO_TEXT);
        if let Some(label) = LABEL_KEYS.iter().find_map(known) {
            return Some(Choice::new(&option_text(label), text, Some(entry)));
        }
        let index = known(&PLACE_KEY)?;
        let letter = place(index).and_then(|place| ('A'..='Z').nth(place.checked_sub(first)?));
        let spelled = option_text(index);
        Some(match letter {
            Some(letter) => {
                let choice = Choice::new(letter.encode_utf8(&mut [0; 4]), text, Some(entry));
                Choice { place: Some(strip(&spelled).to_owned()), ..choice }
            }
            None => Choice::new(&spelled, text, Some(entry)),
        })
    }
}

/// Returns the text of an option. Null becomes the text `None`: a program that reads `None` as a missing value turns
/// that option into null.
fn option_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "None".to_owned(),
        serde_json::Value::Object(entry) => match TEXT_KEYS.iter().find_map(|key| entry.get(*key)) {
            Some(text) => option_text(text),
            None => value.to_string(),
        },
        serde_json::Value::Array(parts) => joined_parts(parts).unwrap_or_else(|| value.to_string()),
        _ => value.to_string(),
    }
}

/// Returns the text of the parts of a message; `None` if one of them has none.
fn joined_parts(parts: &[serde_json::Value]) -> Option<String> {
    let text = |part: &serde_json::Value| match part {
        serde_json::Value::String(text) => Some(text.clone()),
        part => part.get("text")?.as_str().map(str::to_owned),
    };
    if parts.is_empty() { None } else { parts.iter().map(text).collect() }
}

/// Returns whether a reference is a list of several members. Builds none of them.
pub fn is_several(reference: &Value) -> bool {
    match reference {
        Value::Texts(texts) => texts.len() > 1,
        Value::Json(json) if json.starts_with('[') => {
            serde_json::from_str::<Vec<IgnoredAny>>(json).is_ok_and(|items| items.len() > 1)
        }
        _ => false,
    }
}

/// Returns the members of a reference that is a list.
pub fn several(reference: &Value) -> Option<Vec<Value>> {
    match reference {
        Value::Texts(texts) => Some(texts.iter().cloned().map(Value::Text).collect()),
        Value::Json(json) if json.starts_with('[') => {
            let items: Vec<serde_json::Value> = serde_json::from_str(json).ok()?;
            let member = |item: serde_json::Value| match item {
                serde_json::Value::Null => None,
                serde_json::Value::Object(ref entry) => match entry.get("text") {
                    Some(text) => Some(Value::Text(option_text(text))),
                    // An entry of the Sample's references.
                    None if entry.contains_key("answer") => references::text(&item).map(Value::Text),
                    None => Some(Value::Json(item.to_string())),
                },
                other => Some(Value::Text(option_text(&other))),
            };
            Some(items.into_iter().filter_map(member).collect())
        }
        _ => None,
    }
}

/// Returns the text of a reference. For an object, this is the text of its `value` or `answer`.
fn reference_text(reference: &Value) -> Option<Cow<'_, str>> {
    let plain = references::plain(reference);
    if let Cow::Owned(Value::Text(text)) = plain {
        return Some(Cow::Owned(text));
    }
    if let Value::Json(json) = reference
        && let Ok(serde_json::Value::Object(entry)) = serde_json::from_str::<serde_json::Value>(json)
        && let Some(value) = entry.get("value").or_else(|| entry.get("answer"))
    {
        return Some(Cow::Owned(option_text(value)));
    }
    as_text(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(json: &str) -> Choices {
        Choices::new(&Value::Json(json.to_owned()))
    }

    #[test]
    fn option_maps_have_many_shapes() {
        for json in [
            r#"{"a":"Shark","b":"Dolphin"}"#,
            r#"[{"label":"a","text":"Shark"},{"label":"b","text":"Dolphin"}]"#,
            r#"[{"id":"A","content":"Shark"},{"id":"B","content":"Dolphin"}]"#,
            r#"{"A":{"text":"Shark"},"B":{"text":"Fish","aliases":["Dolphin"]}}"#,
            r#"{"A":{"message":{"content":"Shark"}},"B":{"content":[{"type":"text","text":"Dolphin"}]}}"#,
            r#"[{"index":0,"text":"Shark"},{"index":1,"text":"Dolphin"}]"#,
            r#"[{"index":1,"content":"Shark"},{"index":2,"content":"Dolphin"}]"#,
            r#"[{"index":"A","text":"Shark"},{"index":"b","text":"Dolphin"}]"#,
            r#"[{"index":0,"message":{"content":"Shark"}},
                {"index":"1","message":{"content":[{"type":"text","text":"Dolphin"}]}}]"#,
        ] {
            let choices = choices(json);
            assert_eq!(choices.resolve(&Value::Text("dolphin ".to_owned())).as_deref(), Some("B"), "{json}");
            assert!(choices.has_letter('A') && !choices.has_letter('C'), "{json}");
        }
        for json in [r#"["Shark","Dolphin"]"#, "{}", r#""ABCD""#] {
            assert!(choices(json).is_unknown(), "{json}");
        }
    }

    #[test]
    fn places_are_labels_unless_they_are_texts() {
        let animals = choices(r#"[{"index":0,"text":"Shark"},{"index":1,"text":"Dolphin"}]"#);
        let numbers = choices(r#"[{"index":0,"text":"1"},{"index":1,"text":"2"}]"#);
        for (options, text, expected) in [
            (&animals, "1", Some("B")),
            (&animals, "(1)", Some("B")),
            (&animals, "b", Some("B")),
            (&animals, "2", None),
            (&numbers, "1", Some("A")),
            (&numbers, "0", Some("A")),
        ] {
            assert_eq!(options.resolve(&text.into()).as_deref(), expected, "{text}");
        }
        let far = choices(r#"[{"index":40,"text":"Shark"},{"index":0.5},{"index":null},{"text":"x"}]"#);
        assert_eq!(far.options().collect::<Vec<_>>(), [("40", "Shark"), ("0.5", "None")]);
    }

    #[test]
    fn white_space_inside_texts_does_not_count() {
        let fields = choices(r#"{"A":"Big  Data","B":"Machine\u00a0Learning","C":"1 2","D":"12 3"}"#);
        for (text, expected) in [
            ("Big Data", Some("A")),
            ("big\n data.", Some("A")),
            ("BigData", Some("A")),
            ("machine learning", Some("B")),
            ("machinelearning", Some("B")),
            ("1  2", Some("C")),
            ("12", None),
            ("123", None),
            ("Data", None),
        ] {
            assert_eq!(fields.with_text(text).as_deref(), expected, "{text}");
        }
        let alike = choices(r#"{"A":"no one","B":"noone"}"#);
        assert_eq!(alike.with_text("no one").as_deref(), Some("A"));
        assert_eq!(alike.with_text("noone").as_deref(), Some("B"));
        assert_eq!(alike.with_text("n oone"), None);
    }

    #[test]
    fn references_with_aliases_become_labels() {
        let known = choices(r#"{"A":"Shark","B":"Dolphin"}"#);
        let unknown = Choices::default();
        for (reference, in_known, in_unknown) in [
            (r#"{"value":"B","aliases":["option_b"]}"#, Some("B"), Some("B")),
            (r#"{"value":"flipper","aliases":["dolphin","b"]}"#, Some("B"), Some("B")),
            (r#"{"aliases":["(b)"]}"#, Some("B"), Some("B")),
            (r#"{"value":"flipper","aliases":["whale"]}"#, None, None),
        ] {
            let reference = Value::Json(reference.to_owned());
            assert_eq!(known.resolve(&reference).as_deref(), in_known, "{reference:?}");
            assert_eq!(unknown.resolve(&reference).as_deref(), in_unknown, "{reference:?}");
        }
    }

    #[test]
    fn references_become_labels() {
        let choices = choices(r#"{"A":"Shark","B":"Dolphin","C":3,"D":null}"#);
        for (reference, expected) in [
            (Value::Text("(B)".to_owned()), Some("B")),
            (Value::Text("b.".to_owned()), Some("B")),
            (Value::Text("B. Dolphin".to_owned()), Some("B")),
            (Value::Text("Ｂ".to_owned()), Some("B")),
            (Value::Text("none".to_owned()), Some("D")),
            (Value::Number(3.0), Some("C")),
            (Value::Json(r#"{"value":"B"}"#.to_owned()), Some("B")),
            (Value::Json(r#"{"answer":[{"type":"text","text":"Dolphin"}]}"#.to_owned()), Some("B")),
            (Value::Json(r#"[{"type":"text","text":"B"}]"#.to_owned()), Some("B")),
            (Value::Text("A. Dolphin".to_owned()), None),
            (Value::Text("E".to_owned()), None),
            (Value::Text(" ".to_owned()), None),
            (Value::Absent, None),
        ] {
            assert_eq!(choices.resolve(&reference).as_deref(), expected);
        }
        let unknown = Choices::default();
        assert_eq!(unknown.resolve(&Value::Text("(b)".to_owned())).as_deref(), Some("B"));
        assert_eq!(unknown.resolve(&Value::Text("B. Dolphin".to_owned())).as_deref(), Some("B"));
        assert_eq!(unknown.resolve(&Value::Text("Dolphin".to_owned())), None);
        assert_eq!(unknown.resolve(&Value::Text("a.m.".to_owned())), None);
    }
}
