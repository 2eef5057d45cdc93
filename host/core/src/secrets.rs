//! The values that are never shown, known to the whole process as soon as they are read, and blanked out of whatever it
//! says or writes: one place for all, so that no way out is forgotten.
//!
//! What is looked for is the value, not the key that it stood under: as it is, as JSON, YAML, HTML or an address spells it,
//! character by character, and as Base64 and hexadecimal digits. What is too short or too common to be told from ordinary
//! text is not looked for ([`register_secret`]); where it stands under the name of a secret, whoever writes a document leaves it
//! out by its place.

mod allowlist;
mod encodings;

use crate::Object;
use allowlist::{is_plain_word, words};
use encodings::{SecretSpellings, count_examined};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

/// What stands in the place of a secret.
pub const SECRET_MARK: &str = "(secret)";

/// A value of so many characters is looked for within words too, a shorter one only where it stands alone.
const LONG: usize = 8;
/// A shorter value is never looked for.
const MIN_SECRET_BYTES: usize = 4;

/// All that is known; another takes its place when something is added, so that readers wait for nobody.
static KNOWN: RwLock<Option<Arc<SecretScanner>>> = RwLock::new(None);
/// What ordinary texts hold, and is looked for nowhere.
static ORDINARY: RwLock<Option<HashSet<String>>> = RwLock::new(None);

/// Notes a value that must never be shown, for the rest of the process.
///
/// Looked for are values of at least 8 characters, and those of 4 to 7 that hold a digit and something else, for `test`, `2048`
/// and `</s>` occur everywhere. A plain word is not looked for (letters of one case, or with a capital in front, fewer than 20),
/// nor are several of them together (`exact_match`) that [`register_public_word`] has heard of. Of `Bearer KEY` the key alone is noted
/// as well, and each line of a value of several.
pub fn register_secret(value: &str) {
    let mut all = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let mut list = all.as_ref().map(|known| known.list.clone()).unwrap_or_default();
    let before = list.len();
    note(value, &mut list);
    if list.len() > before {
        *all = Some(Arc::new(SecretScanner::new(list, is_ordinary)));
    }
}

/// Notes a text that is no secret, for the rest of the process: names that are made of plain words in it (`exact_match`,
/// `gage-tiny`) are looked for nowhere, whichever key or password is called so as well.
pub fn register_public_word(text: &str) {
    keep_open(words(text));
}

/// Notes the name of something, as of a variable: it is looked for nowhere, whatever it looks like.
pub fn register_public_name(name: &str) {
    keep_open(vec![name.to_owned()]);
}

fn keep_open(found: Vec<String>) {
    if found.is_empty() {
        return;
    }
    let mut is_new = false;
    {
        let mut ordinary = ORDINARY.write().unwrap_or_else(PoisonError::into_inner);
        let ordinary = ordinary.get_or_insert_with(HashSet::new);
        for word in found {
            is_new |= ordinary.insert(word);
        }
    }
    let mut all = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.as_ref().filter(|_| is_new) {
        let list = known.list.clone();
        *all = Some(Arc::new(SecretScanner::new(list, is_ordinary)));
    }
}

fn is_ordinary(text: &str) -> bool {
    let ordinary = ORDINARY.read().unwrap_or_else(PoisonError::into_inner);
    ordinary.as_ref().is_some_and(|ordinary| ordinary.contains(text))
}

/// A text without any secret that is known.
pub fn redact(text: &str) -> Cow<'_, str> {
    match known() {
        Some(known) => known.text(text),
        None => Cow::Borrowed(text),
    }
}

/// Where secrets stand in a text, in bytes, one behind the other.
pub fn find_secrets(text: &str) -> Vec<Range<usize>> {
    known().map(|known| known.places(text).into_iter().map(|(place, _)| place).collect()).unwrap_or_default()
}

/// Blanks the secrets out of every text and every name within a value. Numbers stay, for a document of ordinary numbers must
/// not change with the secrets of who reads it.
pub fn redact_value(value: &mut Value) {
    if let Some(known) = known() {
        known.value(value, false);
    }
}

/// The same for what somebody else sent, who may have made a number of a secret.
pub fn redact_value_and_numbers(object: &mut Object) {
    if let Some(known) = known() {
        known.object(object, true);
    }
}

fn known() -> Option<Arc<SecretScanner>> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// One secret.
#[derive(Clone, Debug, PartialEq)]
struct SecretRegistry {
    text: String,
    spellings: SecretSpellings,
    /// Whether it counts only where neither a letter nor a digit stands beside it.
    is_alone: bool,
    /// Whether it is made of digits alone, and may stand in JSON as a number.
    is_number: bool,
}

struct SecretScanner {
    list: Vec<SecretRegistry>,
    /// For each byte those of which a spelling begins with it.
    begins: Vec<Vec<usize>>,
}

/// Adds a value with what of it is secret by itself.
fn note(value: &str, list: &mut Vec<SecretRegistry>) {
    let value = value.trim();
    let parts = value.split(['\n', '\r']).map(str::trim);
    // The frame of a key in PEM says nothing.
    let lines = parts.filter(|line| line.chars().count() >= LONG && !line.starts_with("-----"));
    // Of `Bearer KEY` and `Basic KEY` the key alone is the secret.
    let bare = value.rsplit_once(' ').map(|(_, bare)| bare).filter(|_| value.split(' ').count() == 2);
    for text in [value].into_iter().chain(bare).chain(lines) {
        let count = text.chars().count();
        let is_word = text.chars().all(char::is_alphabetic);
        let is_number = text.chars().all(|one| one.is_ascii_digit());
        let is_mixed = !is_number && text.contains(|one: char| one.is_ascii_digit());
        let is_common = count < MIN_SECRET_BYTES || count < LONG && !is_mixed || is_plain_word(text);
        if text.contains(SECRET_MARK) || is_common {
            continue;
        }
        // A number is found within others, and a short one within digests.
        let is_hexadecimal = text.chars().all(|one| one.is_ascii_hexdigit()) && count < 2 * LONG;
        let known = SecretRegistry {
            text: text.to_owned(),
            spellings: SecretSpellings::of(text),
            is_alone: count < LONG || is_word || is_number || is_hexadecimal,
            is_number,
        };
        if !list.contains(&known) {
            list.push(known);
        }
    }
}

impl SecretScanner {
    fn new(list: Vec<SecretRegistry>, is_ordinary: impl Fn(&str) -> bool) -> SecretScanner {
        let mut begins = vec![Vec::new(); 256];
        for (number, one) in list.iter().enumerate().filter(|(_, one)| !is_ordinary(&one.text)) {
            for byte in one.spellings.begins() {
                begins[usize::from(byte)].push(number);
            }
        }
        SecretScanner { list, begins }
    }

    /// Where secrets stand in a text, and whether each is a number, from the front.
    fn places(&self, text: &str) -> Vec<(Range<usize>, bool)> {
        let bytes = text.as_bytes();
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            count_examined(1);
            match self.longest(&self.begins[usize::from(*byte)], bytes, at) {
                Some((end, is_number)) => {
                    places.push((at..end, is_number));
                    at = end;
                }
                None => at += 1,
            }
        }
        places
    }

    /// The end of the longest of some secrets that begins at a place.
    fn longest(&self, numbers: &[usize], bytes: &[u8], at: usize) -> Option<(usize, bool)> {
        let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let before = &bytes[..at];
        let is_alone =
            |end: usize| (!is_part(before.last()) || ends_with_escape(before)) && !is_part(bytes.get(end));
        let found = numbers.iter().filter_map(|number| {
            let one = &self.list[*number];
            let encoded = one.spellings.encoded_end(bytes, at);
            let spelled = one.spellings.spelled_end(bytes, at).filter(|end| !one.is_alone || is_alone(*end));
            Some((spelled.into_iter().chain(encoded).max()?, one.is_number && encoded.is_none()))
        });
        found.max_by_key(|(end, _)| *end)
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let places = self.places(text);
        if places.is_empty() {
            return Cow::Borrowed(text);
        }
        let start = text.trim_start();
        let is_json = start.starts_with(['{', '[']) || start.starts_with("data:");
        let (mut out, mut end) = (String::with_capacity(text.len()), 0);
        let mut strings = JsonStrings::default();
        for (place, is_number) in places {
            out.push_str(&text[end..place.start]);
            // A number of JSON becomes a string, and the rest stays JSON.
            if is_json && is_number && !strings.are_open_at(text, place.start) {
                out.push_str(&format!("\"{SECRET_MARK}\""));
            } else {
                out.push_str(SECRET_MARK);
            }
            end = place.end;
        }
        out.push_str(&text[end..]);
        Cow::Owned(out)
    }

    fn value(&self, value: &mut Value, with_numbers: bool) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Value::Number(number) if with_numbers => {
                if let Cow::Owned(clean) = self.text(&number.to_string()) {
                    *value = clean.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, with_numbers)),
            Value::Object(object) => self.object(object, with_numbers),
            _ => {}
        }
    }

    fn object(&self, object: &mut Object, with_numbers: bool) {
        if object.keys().any(|name| !self.places(name).is_empty()) {
            let taken = std::mem::take(object);
            object.extend(taken.into_iter().map(|(name, value)| (self.text(&name).into_owned(), value)));
        }
        object.values_mut().for_each(|value| self.value(value, with_numbers));
    }
}

/// Whether a letter or a digit at the end belongs to the spelling of another character: `%3A`, `\u003a`, `\n`.
fn ends_with_escape(before: &[u8]) -> bool {
    let front = |count: usize| before.len().checked_sub(count).and_then(|place| before.get(place..));
    let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match (front(6), front(3), front(2)) {
        (Some([b'\\', b'u', digits @ ..]), ..) if is_hexadecimal(digits) => true,
        (_, Some([b'%', digits @ ..]), _) if is_hexadecimal(digits) => true,
        (.., Some([b'\\', b'n' | b'r' | b't'])) => true,
        _ => false,
    }
}

/// The strings of a JSON text, read from the front. The state is kept between questions, so each byte is read once.
#[derive(Default)]
struct JsonStrings {
    /// How many bytes have been read.
    read: usize,
    is_within: bool,
    is_escaped: bool,
}

impl JsonStrings {
    /// Returns whether a position is within a string. Positions must not decrease from call to call.
    fn are_open_at(&mut self, text: &str, position: usize) -> bool {
        for byte in text.as_bytes().get(self.read..position).unwrap_or_default() {
            count_examined(1);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_within => self.is_escaped = true,
                b'"' => self.is_within = !self.is_within,
                _ => {}
            }
        }
        self.read = position;
        self.is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(values: &[&str]) -> SecretScanner {
        let mut list = Vec::new();
        values.iter().for_each(|value| note(value, &mut list));
        SecretScanner::new(list, |text| text == "plain_words")
    }

    #[test]
    fn secrets_are_found_in_every_spelling_of_theirs() {
        let secret = "sé\"c,r/e't +1\\";
        let spellings = [
            secret.to_owned(),
            json!(secret).to_string(),
            // A text of JSON within another.
            json!(json!(secret).to_string()).to_string(),
            "s\\u00e9\\u0022c,r\\/e't +1\\\\".to_owned(),
            "s\\u00E9\\\"c,r/e't \\u002B1\\u005c".to_owned(),
            "s\\xe9\\\"c,r/e't +1\\\\".to_owned(),
            "s%C3%A9%22c%2Cr%2Fe%27t%20%2B1%5C".to_owned(),
            "s%c3%a9%22c,r/e't+%2b1%5c".to_owned(),
            "s%25C3%25A9%22c,r/e't +1\\".to_owned(),
            "s&#233;&quot;c,r/e&#x27;t +1\\".to_owned(),
            "sé\"c,r/e''t +1\\".to_owned(),
            "73c3a922632c722f652774202b315c".to_owned(),
        ];
        let secrets = of(&[secret]);
        for spelling in spellings {
            let text = format!("before {spelling} after");
            let clean = secrets.text(&text);
            assert!(clean.starts_with("before ") && clean.ends_with(" after"), "{clean}");
            assert!(
                clean.contains(SECRET_MARK) && clean.len() <= "before \"\"(secret)\"\" after".len() + 4,
                "{spelling}: {clean}"
            );
        }
        assert_eq!(of(&["a😀bcdefgh"]).text("x a\\ud83d\\uDE00bcdefgh"), "x (secret)");
    }

    #[test]
    fn base64_holds_none_whatever_stands_before_it() {
        let secrets = of(&["me:p,w\"x?>~~ÿ"]);
        for (encoded, clean) in [
            // `me:p,w"x?>~~ÿ`, `x` and that, `xy` and that, and that for addresses.
            ("bWU6cCx3Ing/Pn5+w78=", "(secret)"),
            ("eG1lOnAsdyJ4Pz5+fsO/", "eG(secret)"),
            ("eHltZTpwLHcieD8+fn7Dvw==", "eHl(secret)"),
            ("bWU6cCx3Ing_Pn5-w78", "(secret)"),
        ] {
            let found = secrets.text(encoded);
            assert!(found.contains(SECRET_MARK) && found.len() <= clean.len() + 3, "{encoded}: {found}");
        }
    }

    /// The number of bytes that a scan of a text examines.
    fn work(secrets: &SecretScanner, text: &str) -> usize {
        encodings::EXAMINED.set(0);
        secrets.text(text);
        encodings::EXAMINED.take()
    }

    #[test]
    fn the_work_of_a_scan_doubles_when_a_hostile_text_doubles() {
        let secrets =
            of(&["sk-ordinary-1", "\\a\\bcdefg1", "😀😀éabcdef", "%a%bcdefg1", "12345678", "25252525"]);
        for unit in [
            "a",
            "\\",
            "\\\\\\\\u",
            "\\ud83d",
            "s\\",
            "%",
            "%25",
            "25",
            "&",
            "&#3",
            "'",
            "\"",
            "\\\"12345678",
            "12345678,",
            "\"12345678\",",
        ] {
            for begin in ["", "[", "{\"a\": \"", "%", "s\\u", "\\ud83d"] {
                let text = |count: usize| begin.to_owned() + &unit.repeat(count);
                let (once, twice) = (work(&secrets, &text(500)), work(&secrets, &text(1_000)));
                assert!(once >= 500, "{begin}{unit}: {once} bytes examined");
                assert!(twice * 10 <= once * 21, "{begin}{unit}: {once} bytes examined, then {twice}");
            }
        }
    }

    #[test]
    fn escapes_with_up_to_64_backslashes_are_found() {
        let secrets = of(&["sé\"c/r\tx😀'1"]);
        for count in 1..=64 {
            let slashes = "\\".repeat(count);
            for spelling in
                [r#"s@u00e9@"c@/r@tx@ud83d@ude00@'1"#, r#"@u0073@xe9@u0022c@u{2f}r@u0009x@U0001f600@x27@x31"#]
            {
                let text = format!("before {} after", spelling.replace('@', &slashes));
                assert_eq!(secrets.text(&text), "before (secret) after", "{count} backslashes");
            }
        }
        // More of them before the first character stay, and the rest is found.
        let text = "\\".repeat(100) + "u0073\\u00e9\\\"c/r\\tx😀'1";
        assert_eq!(secrets.text(&text), "\\".repeat(36) + "(secret)");
    }

    #[test]
    fn secrets_in_six_levels_of_json_are_found() {
        let secret = "sé\"c/r\tx😀'1";
        let secrets = of(&[secret]);
        let mut text = secret.to_owned();
        for level in 1..=6 {
            text = json!(text).to_string();
            let clean = secrets.text(&text);
            assert!(clean.contains(SECRET_MARK), "level {level}: {clean}");
            assert!(clean.chars().all(|one| "\\\"(secret)".contains(one)), "level {level}: {clean}");
        }
    }

    #[test]
    fn numbers_become_strings_outside_of_strings_only() {
        let secrets = of(&["12345678", "pass\"word-1"]);
        for (text, clean) in [
            (
                r#"[12345678, "a 12345678", 12345678, "\" 12345678", 12345678]"#,
                r#"["(secret)", "a (secret)", "(secret)", "\" (secret)", "(secret)"]"#,
            ),
            (
                r#"{"a\\": 12345678, "b": "pass\"word-1 12345678", "c": 12345678}"#,
                r#"{"a\\": "(secret)", "b": "(secret) (secret)", "c": "(secret)"}"#,
            ),
        ] {
            assert_eq!(secrets.text(text), clean);
        }
    }

    #[test]
    fn what_is_common_is_left_alone_and_what_is_short_counts_where_it_stands_alone() {
        let secrets = of(&[
            "test",
            "2048",
            "pw",
            "</s>",
            "p,w1",
            "12345678",
            "deadbee7",
            "question",
            "Unconventional",
            "plain_words",
            "other_words",
            "abcdefghijklmnopqrstu",
            "aBcDeFgHiJ",
            "Bearer sk-live-1",
            "",
            "(secret)",
        ]);
        for (text, clean) in [
            ("a test of 2048 pw</s>", "a test of 2048 pw</s>"),
            ("the p,w1 is wrong", "the (secret) is wrong"),
            ("up,w1s", "up,w1s"),
            ("12345678 of 912345678", "(secret) of 912345678"),
            // `me:12345678` in Base64.
            ("bWU6MTIzNDU2Nzg=", "bWU6(secret)g="),
            ("a%3A12345678%7D \\n12345678 \\u003a12345678", "a%3A(secret)%7D \\n(secret) \\u003a(secret)"),
            ("sha256:0deadbee70 deadbee7", "sha256:0deadbee70 (secret)"),
            ("a question Unconventional plain_words", "a question Unconventional plain_words"),
            ("other_words abcdefghijklmnopqrstu aBcDeFgHiJ", "(secret) (secret) (secret)"),
            ("Bearer sk-live-1, sk-live-1x", "(secret), (secret)x"),
            ("(secret)", "(secret)"),
            ("{\"a\": 12345678, \"b\": \"is 12345678\"}", "{\"a\": \"(secret)\", \"b\": \"is (secret)\"}"),
            ("data: {\"a\":12345678}", "data: {\"a\":\"(secret)\"}"),
        ] {
            assert_eq!(secrets.text(text), clean);
        }
        let mut value = json!({"a": 12345678, "k 12345678": ["12345678", {"x": "p,w1"}]});
        secrets.value(&mut value, false);
        assert_eq!(value, json!({"a": 12345678, "k (secret)": ["(secret)", {"x": "(secret)"}]}));
        secrets.value(&mut value, true);
        assert_eq!(value["a"], json!("(secret)"));
    }

    #[test]
    fn lines_of_a_key_are_each_secret_but_for_its_frame() {
        let secrets = of(&["-----BEGIN KEY-----\nAAAAbbbb1\nCCCCdddd2\n-----END KEY-----\n"]);
        assert_eq!(
            secrets.text("-----BEGIN KEY----- AAAAbbbb1 x CCCCdddd2"),
            "-----BEGIN KEY----- (secret) x (secret)"
        );
        assert_eq!(
            secrets.text("-----BEGIN KEY-----\\nAAAAbbbb1\\nCCCCdddd2\\n-----END KEY-----"),
            "(secret)"
        );
    }

    #[test]
    fn all_of_a_process_know_what_one_has_noted() {
        register_secret("NAME_OF_KEY_1");
        assert_eq!(redact("NAME_OF_KEY_1"), "(secret)");
        register_public_name("NAME_OF_KEY_1");
        assert_eq!(redact("NAME_OF_KEY_1"), "NAME_OF_KEY_1");
        register_secret("known-by-all-1");
        register_secret("known-by-all-2");
        assert_eq!(redact("known-by-all-1 known-by-all-2"), "(secret) (secret)");
        assert_eq!(find_secrets("a known-by-all-1").first(), Some(&(2..16)));
        let mut value = json!(["known-by-all-2"]);
        redact_value(&mut value);
        assert_eq!(value, json!(["(secret)"]));
    }
}
