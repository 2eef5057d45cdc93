//! `list_items`: the items of a list.

use crate::kinds::with_evidence;
use gage_sdk::extractor::{Answer, AnswerKind, Extractor, ExtractorSpec, Inputs};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{ErrorKind, MemberSpec, PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::json_text::{Shape, find_json};
use gage_text_kit::text::strip;
use std::borrow::Cow;

/// Returns the items of the list that the text is or contains; no answer if there is none.
///
/// The format `auto` uses the first of these that fits:
///
/// - The whole text, except for a code fence, is a JSON array.
/// - Lines with bullets (`-`, `*`, `•`, `1.`, `(a)`) are the items; other lines are ignored.
/// - The text has several lines.
/// - The items are separated by commas, semicolons or `、`, possibly with `and`, `or`, `&`, 以及 before the last one.
///
/// Any other text is a list of one item. A JSON array keeps its values as they are. All other items are texts without
/// white space, quotes and a full stop around them, and empty ones are dropped.
pub struct ListItems {
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Auto,
    Json,
    Bullets,
    Lines,
    Commas,
}

impl Extractor for ListItems {
    fn name() -> &'static str {
        "list_items"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "2",
            "Items of the list in the text",
            json!({
                "format": {
                    "enum": ["auto", "json", "bullets", "lines", "commas"], "default": "auto",
                    "description": "Format of the list; `json` takes the last array in the text",
                },
            }),
        ))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let formats = [
            ("auto", Format::Auto),
            ("json", Format::Json),
            ("bullets", Format::Bullets),
            ("lines", Format::Lines),
            ("commas", Format::Commas),
        ];
        Ok(ListItems { format: params.one_of("format", &formats, Format::Auto)? })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let items = match self.format {
            Format::Auto => {
                let inside = without_fence(strip(text));
                if let Some(array) = whole_array(inside) {
                    return Ok(array_answer(&array, text));
                }
                automatic(inside)?
            }
            Format::Json => return last_array(text),
            Format::Bullets => texts(lines(text).filter_map(after_bullet))?,
            Format::Lines => texts(lines(text))?,
            Format::Commas => commas(text)?,
        };
        if items.is_empty() {
            return Ok(None);
        }
        let array =
            serde_json::to_string(&items).map_err(|error| PluginError::internal(error.to_string()))?;
        Ok(array_answer(&array, text))
    }
}

/// Returns the JSON array that is the whole text, with all digits of its integers.
fn whole_array(text: &str) -> Option<Cow<'_, str>> {
    if !text.starts_with('[') || !text.ends_with(']') {
        return None;
    }
    match find_json(text, Shape::Array).as_slice() {
        [whole] if whole.text == text => whole.exact_text().ok(),
        _ => None,
    }
}

/// Converts an array to an answer with its original spelling: a list of a million numbers would not fit into memory as
/// values. `None` if it is empty.
fn array_answer(array: &str, read_from: &str) -> Option<Answer> {
    let is_empty = array.strip_prefix('[').is_some_and(|inside| inside.trim_start() == "]");
    let answer = Answer { kind: AnswerKind::List, value: format!("{{\"items\":{array}}}"), evidence: None };
    (!is_empty).then(|| with_evidence(answer, strip(read_from)))
}

fn automatic(text: &str) -> Result<Vec<&str>, PluginError> {
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        // As printed by Python.
        return commas(inner);
    }
    let bullets = texts(lines(text).filter_map(after_bullet))?;
    if !bullets.is_empty() {
        return Ok(bullets);
    }
    match texts(lines(text))? {
        lines if lines.len() > 1 => Ok(lines),
        _ => commas(text),
    }
}

/// Returns the last JSON array of a text.
///
/// # Errors
/// `invalid-input` if it is unreadable.
fn last_array(text: &str) -> Result<Option<Answer>, PluginError> {
    let Some(found) = find_json(text, Shape::Array).pop() else { return Ok(None) };
    match found.exact_text() {
        Ok(array) => Ok(array_answer(&array, found.text)),
        Err(error) => {
            let message = format!("the JSON array at byte {} cannot be read: {error}", found.start);
            Err(PluginError::invalid_input(message))
        }
    }
}

/// Returns the content of a code fence that is the whole text.
fn without_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    // The text after the opening fence names the language.
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, inside)| strip(inside))
}

/// Words between the last two items of an enumeration.
const JOINTS: [&str; 4] = [" and ", " or ", " & ", "以及"];
const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '「', '」'];

fn is_separator(character: char) -> bool {
    matches!(character, ',' | '，' | '、' | ';' | '；' | '\n')
}

fn commas(text: &str) -> Result<Vec<&str>, PluginError> {
    let Some((before_last, last)) = text.rsplit_once(is_separator) else { return texts([text].into_iter()) };
    let items = stretches(before_last, is_separator);
    // In `rock and roll, salt and pepper` the last part is also one item. No joint contains a separator.
    match JOINTS.iter().any(|joint| before_last.contains(joint)) {
        true => texts(items.chain([last])),
        false => texts(items.chain(before_and_after_joint(last))),
    }
}

/// Returns the non-empty lines of a text.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    stretches(text, |character| character == '\n')
}

/// Returns the non-empty texts between separators: a text may be nothing but separators.
fn stretches(text: &str, is_separator: fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(is_separator).filter(|stretch| !stretch.is_empty())
}

/// Splits the end of an enumeration: `b and c`, or `and c` after a comma. Only the last such word joins:
/// `bread and butter and jam` ends in two items.
fn before_and_after_joint(text: &str) -> [&str; 2] {
    let text = strip(text);
    for joint in ["and ", "or ", "& "] {
        if let Some(item) = text.get(..joint.len()).filter(|head| head.eq_ignore_ascii_case(joint)) {
            return ["", text.get(item.len()..).unwrap_or_default()];
        }
    }
    if let Some(item) = text.strip_prefix("以及") {
        return ["", item];
    }
    if text.starts_with(QUOTES) && text.ends_with(QUOTES) {
        return [text, ""];
    }
    let joined = JOINTS.iter().filter_map(|joint| text.rsplit_once(joint));
    let joined = joined.min_by_key(|(_, after)| after.len());
    joined.map_or([text, ""], |(before, after)| [before, after])
}

/// Maximum number of items in a list that is not JSON. The host accepts 65,536 JSON values in a result.
const MAX_ITEMS: usize = 60_000;

/// Returns the non-empty items.
///
/// # Errors
/// `limit-exceeded` for more than [`MAX_ITEMS`].
fn texts<'text>(items: impl Iterator<Item = &'text str>) -> Result<Vec<&'text str>, PluginError> {
    let items: Vec<&str> = items.map(bare).filter(|item| !item.is_empty()).take(MAX_ITEMS + 1).collect();
    if items.len() > MAX_ITEMS {
        let message = format!("the list has more than {MAX_ITEMS} items");
        return Err(PluginError::new(ErrorKind::LimitExceeded, message));
    }
    Ok(items)
}

/// Returns an item without white space, quotes and a full stop around it.
fn bare(item: &str) -> &str {
    let item = strip(item);
    if item.is_empty() {
        return item;
    }
    let item = strip(item.strip_suffix(['.', '。', ',', ';']).unwrap_or(item));
    let unquoted = [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('「', '」')]
        .iter()
        .find_map(|(open, close)| item.strip_prefix(*open)?.strip_suffix(*close));
    strip(unquoted.unwrap_or(item))
}

/// Returns the text after the bullet or the number that a line begins with.
fn after_bullet(line: &str) -> Option<&str> {
    let line = strip(line);
    if line.is_empty() {
        return None;
    }
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '•', '·', '–', '●', '▪']) {
        // `-5` and `**bold**` are not bullets; the round ones need no space.
        let is_round = line.starts_with(['•', '·', '●', '▪']);
        return (is_round || rest.starts_with(char::is_whitespace)).then_some(rest);
    }
    let opened = line.strip_prefix(['(', '（']);
    let label = opened.unwrap_or(line);
    let digits = label.trim_start_matches(|character: char| character.is_ascii_digit());
    let rest = match label.len() - digits.len() {
        0 if opened.is_some() => label.strip_prefix(|character: char| character.is_ascii_alphabetic())?,
        1..=3 => digits,
        _ => return None,
    };
    if opened.is_some() {
        return rest.strip_prefix([')', '）']);
    }
    if let Some(rest) = rest.strip_prefix('、') {
        return Some(rest);
    }
    // `3.5` is a number.
    rest.strip_prefix(['.', ')', '．', '）']).filter(|rest| rest.starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};

    #[test]
    fn lists() {
        for (text, expected) in [
            (r#"["a", 1, null]"#, json!(["a", 1, null])),
            ("```json\n[\"a\"]\n```", json!(["a"])),
            ("['a', 'b c']", json!(["a", "b c"])),
            ("[]", json!(null)),
            ("Here:\n- a, b\n- c.\n", json!(["a, b", "c"])),
            ("1. a\n2) b\n(c) d\n•e\n3、f", json!(["a", "b", "d", "e", "f"])),
            ("a\n\nb\r\nc", json!(["a", "b", "c"])),
            ("a, \"b\"; c、d.", json!(["a", "b", "c", "d"])),
            ("-5\n3.5\n**b**", json!(["-5", "3.5", "**b**"])),
            ("中文，e\u{301}", json!(["中文", "e\u{301}"])),
            ("a, b and c", json!(["a", "b", "c"])),
            ("a, b, and c.", json!(["a", "b", "c"])),
            ("a, b or c", json!(["a", "b", "c"])),
            ("sand, band", json!(["sand", "band"])),
            ("rock and roll, salt and pepper", json!(["rock and roll", "salt and pepper"])),
            ("战争、和平", json!(["战争", "和平"])),
            ("one and two", json!(["one and two"])),
            ("苹果、香蕉以及梨", json!(["苹果", "香蕉", "梨"])),
            ("a，b，以及c", json!(["a", "b", "c"])),
            ("['a', 'b and c']", json!(["a", "b and c"])),
            ("\"a\", \"b and c\"", json!(["a", "b and c"])),
            ("one", json!(["one"])),
            (" , \n", json!(null)),
            ("", json!(null)),
        ] {
            assert_eq!(value::<ListItems>(json!({}), text)["items"], expected, "{text}");
        }
        assert_eq!(absent::<ListItems>(json!({})), Ok(None));
    }

    #[test]
    fn formats() {
        for (format, text, expected) in [
            ("json", r#"["x"] then ["a", ["b"]] and so on"#, json!(["a", ["b"]])),
            ("json", "[12345678901234567890123, 5]", json!(["12345678901234567890123", 5])),
            ("json", "[ ]", json!(null)),
            ("json", "a, b", json!(null)),
            ("bullets", "a\nb", json!(null)),
            ("lines", "- a\nb, c", json!(["- a", "b, c"])),
            ("commas", "a\nb, c", json!(["a", "b", "c"])),
        ] {
            assert_eq!(value::<ListItems>(json!({ "format": format }), text)["items"], expected, "{text}");
        }
        assert!(answer::<ListItems>(json!({ "format": "json" }), "[1, 2").is_err());
        assert!(ListItems::prepare(json!({ "format": "xml" })).is_err());
    }

    proptest::proptest! {
        #[test]
        fn items_with_commas_between_come_back(items in proptest::collection::vec("[a-z]{1,8}", 1..9)) {
            let found = value::<ListItems>(json!({}), &items.join(", "));
            proptest::prop_assert_eq!(&found["items"], &json!(items));
        }
    }
}
