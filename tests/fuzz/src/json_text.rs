//! Generated JSON texts: documents with known member names, written with odd white space and escapes, and then damaged.

use crate::fuzz_input::FuzzInput;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use std::fmt::Write as _;

/// JSON that preserves details that a [`Value`] cannot: repeated members, and the spelling of numbers.
#[derive(Clone, Debug)]
pub enum Json {
    /// A literal, a number or a whole value, as written.
    Raw(String),
    /// A string before escaping.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object with possibly repeated names.
    Object(Vec<(String, Json)>),
}

/// Writing style of a document.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// White space between tokens.
    blank: &'static str,
    /// True if every character of a string is escaped.
    escapes_all: bool,
}

impl Json {
    /// Returns the document as text.
    pub fn write(&self, style: Style) -> String {
        let mut text = String::new();
        self.write_to(&mut text, style);
        text
    }

    fn write_to(&self, text: &mut String, style: Style) {
        match self {
            Json::Raw(raw) => text.push_str(raw),
            Json::Text(string) => write_string(text, string, style),
            Json::List(items) => {
                text.push('[');
                for (place, item) in items.iter().enumerate() {
                    text.push_str(if place > 0 { "," } else { "" });
                    text.push_str(style.blank);
                    item.write_to(text, style);
                }
                text.push_str(style.blank);
                text.push(']');
            }
            Json::Object(members) => {
                text.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    text.push_str(if place > 0 { "," } else { "" });
                    text.push_str(style.blank);
                    write_string(text, name, style);
                    text.push_str(style.blank);
                    text.push(':');
                    text.push_str(style.blank);
                    value.write_to(text, style);
                }
                text.push_str(style.blank);
                text.push('}');
            }
        }
    }
}

fn write_string(text: &mut String, string: &str, style: Style) {
    if !style.escapes_all {
        text.push_str(&Value::from(string).to_string());
        return;
    }
    text.push('"');
    for unit in string.encode_utf16() {
        // Writing to a String cannot fail.
        let _ = write!(text, "\\u{unit:04x}");
    }
    text.push('"');
}

/// Generates writing styles.
pub fn style() -> impl Strategy<Value = Style> {
    let blank = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\n\t\r ")];
    let escapes_all = prop_oneof![5 => Just(false), 1 => Just(true)];
    (blank, escapes_all).prop_map(|(blank, escapes_all)| Style { blank, escapes_all })
}

/// Generates scalars: the usual ones, and those at the limits of number types and of Unicode.
fn scalar() -> impl Strategy<Value = Json> {
    let raw = select(vec![
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-0.0",
        "1",
        "-7",
        "0.1",
        "1e5",
        "1E-7",
        "1e400",
        "-1e400",
        "4.9e-324",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "0.30000000000000004",
        "123456789012345678901234567890",
    ]);
    let text = select(vec![
        "",
        "a",
        "text",
        "user",
        "assistant",
        "system",
        "tool",
        "image",
        "v1",
        "A",
        "B",
        "é",
        "日本",
        "\u{0}",
        "\n",
        "\"",
        "\\",
        "/",
        "\u{7f}",
        "\u{2028}",
        "\u{ffff}",
        "😀",
        "</script>",
        "multiple_choice",
    ]);
    prop_oneof![
        2 => raw.prop_map(|raw| Json::Raw(raw.to_owned())),
        3 => text.prop_map(|text| Json::Text(text.to_owned())),
        1 => ".{0,12}".prop_map(Json::Text),
    ]
}

/// Generates any JSON whose objects have member names from a list.
pub fn json(names: &'static [&'static str]) -> impl Strategy<Value = Json> {
    scalar().prop_recursive(5, 48, 6, move |inner| {
        let member = (select(names), inner.clone()).prop_map(|(name, value)| (name.to_owned(), value));
        prop_oneof![vec(inner, 0..5).prop_map(Json::List), vec(member, 0..6).prop_map(Json::Object)]
    })
}

/// One change to a text.
#[derive(Clone, Debug)]
pub enum Damage {
    /// Removes the character at a position.
    Remove(prop::sample::Index),
    /// Inserts a text at a position.
    Insert(prop::sample::Index, &'static str),
    /// Cuts the text at a position.
    Cut(prop::sample::Index),
    /// Repeats the text between two positions.
    Repeat(prop::sample::Index, prop::sample::Index),
}

/// Generates the changes to a text; often none.
pub fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let place = any::<prop::sample::Index>;
    let part = select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "-", ".", "e", "0", "1", " ",
        "\n", "\u{0}", "\u{feff}", "null", "nul", "//", "'",
    ]);
    let damage = prop_oneof![
        place().prop_map(Damage::Remove),
        (place(), part).prop_map(|(place, part)| Damage::Insert(place, part)),
        place().prop_map(Damage::Cut),
        (place(), place()).prop_map(|(from, to)| Damage::Repeat(from, to)),
    ];
    prop_oneof![2 => Just(Vec::new()), 1 => vec(damage, 1..4)]
}

/// Returns the text after the changes.
pub fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for damage in damages {
        let length = characters.len();
        match damage {
            Damage::Remove(place) if length > 0 => drop(characters.remove(place.index(length))),
            Damage::Remove(_) => {}
            Damage::Insert(place, part) => {
                let place = place.index(length + 1);
                characters.splice(place..place, part.chars());
            }
            Damage::Cut(place) => characters.truncate(place.index(length + 1)),
            Damage::Repeat(from, to) => {
                let (from, to) = (from.index(length + 1), to.index(length + 1));
                let part = characters[from.min(to)..from.max(to)].to_vec();
                characters.splice(from.max(to)..from.max(to), part);
            }
        }
    }
    characters.into_iter().collect()
}

/// Generates texts that are, resemble or once were JSON whose objects have members of these names.
pub fn documents(names: &'static [&'static str]) -> BoxedStrategy<FuzzInput> {
    let text =
        |(document, style, damages): (Json, Style, Vec<Damage>)| damaged(&document.write(style), &damages);
    (json(names), style(), damages()).prop_map(move |parts| FuzzInput(text(parts).into_bytes())).boxed()
}
