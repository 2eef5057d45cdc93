//! Walks over JSON text without making values of it, for who has a million texts to look at.
//!
//! It says of a text only what is surely so, and gives up where it would have to look closer: at numbers with
//! an exponent or many digits, at deep nesting. Whoever asks then reads the text as it
//! is usually read.

/// Whether a text surely is a JSON object, read without any loss by whoever reads numbers into 64 bits. `false`
/// says nothing about it.
pub fn is_surely_object(text: &str) -> bool {
    let mut scan = Scanner::new(text);
    scan.next_is(b'{') && scan.skip().is_some() && scan.is_at_end()
}

/// Whether a text surely is what would be written of the JSON object that is read in it: without blanks, names that come
/// twice, or numbers and escapes that are written in another way. `false` says nothing about it.
pub(crate) fn is_surely_as_written(text: &str) -> bool {
    let mut scan = Scanner::new(text);
    text.starts_with('{') && scan.as_written(0).is_some() && scan.at == text.len()
}

/// Whether objects and lists are nested deeper than that in some JSON.
pub fn is_nested_deeper(json: &[u8], most: usize) -> bool {
    // Most texts have so few brackets that their order does not matter.
    memchr::memchr2_iter(b'[', b'{', json).nth(most).is_some() && depth_of(json) > most
}

/// The deepest nesting of brackets outside of strings.
fn depth_of(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// How many names an object may have that are compared with each other.
const MAX_NAMES: usize = 16;
/// How deep values may be nested that are walked over; serde_json reads some more.
const MAX_DEPTH: usize = 64;
/// Digits that 64 bits and a float hold, whatever they are.
const MAX_DIGITS: usize = 15;

/// A place in a text.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

/// A string as it stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawJson<'t> {
    /// The text, with whatever escapes it has.
    pub(crate) text: &'t str,
    /// Whether it has any.
    pub(crate) is_escaped: bool,
}

impl<'t> RawJson<'t> {
    /// What it says, where that is what stands there.
    pub(crate) fn plain(self) -> Option<&'t str> {
        (!self.is_escaped).then_some(self.text)
    }
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: 0 }
    }

    /// The next byte that is no white space; it is still to be taken.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                other => return Some(*other),
            }
        }
    }

    /// Whether a value begins with such a byte.
    pub(crate) fn next_is(&mut self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Walks over an object; `value` walks over the value of each member, whose name it gets.
    pub(crate) fn object(
        &mut self,
        mut value: impl FnMut(&mut Scanner<'t>, RawJson<'t>) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.next_is(b'}') {
            self.at += 1;
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            value(self, name)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Walks over a list; `item` walks over each item.
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Scanner<'t>) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.next_is(b']') {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Takes a string.
    pub(crate) fn string(&mut self) -> Option<RawJson<'t>> {
        self.take(b'"')?;
        let (bytes, begin) = (self.text.as_bytes(), self.at);
        let mut is_escaped = false;
        loop {
            self.at += usual_bytes(bytes.get(self.at..)?);
            match bytes.get(self.at)? {
                b'"' => {
                    let text = self.text.get(begin..self.at)?;
                    self.at += 1;
                    return Some(RawJson { text, is_escaped });
                }
                b'\\' => {
                    is_escaped = true;
                    self.at += escape_bytes(bytes.get(self.at + 1..)?)? + 1;
                }
                _ => return None,
            }
        }
    }

    /// Takes `null`, if that is what comes.
    pub(crate) fn null(&mut self) -> bool {
        self.next_is(b'n') && self.word("null").is_some()
    }

    /// Walks over a value, whatever it is.
    pub(crate) fn skip(&mut self) -> Option<()> {
        self.skip_at(0)
    }

    fn skip_at(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' if depth < MAX_DEPTH => self.object(|scan, _| scan.skip_at(depth + 1)),
            b'[' if depth < MAX_DEPTH => self.list(|scan| scan.skip_at(depth + 1)),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => self.number(),
        }
    }

    /// Walks over a value that is written as it would be written anew.
    fn as_written(&mut self, depth: usize) -> Option<()> {
        let begin = self.at;
        match self.byte()? {
            b'"' => self.string_as_written().map(drop),
            b'{' if depth < MAX_DEPTH => {
                let mut names = [""; MAX_NAMES];
                self.items_as_written(b'}', |scan, place| {
                    let name = scan.string_as_written()?;
                    if names.get(..place)?.contains(&name) {
                        return None;
                    }
                    *names.get_mut(place)? = name;
                    scan.byte_is(b':')?;
                    scan.as_written(depth + 1)
                })
            }
            b'[' if depth < MAX_DEPTH => self.items_as_written(b']', |scan, _| scan.as_written(depth + 1)),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'-' | b'0'..=b'9' => {
                self.number()?;
                let number = self.text.get(begin..self.at)?;
                match number.split_once('.') {
                    None => number != "-0",
                    // The shortest decimals; of small numbers those without an exponent.
                    Some((_, behind)) => {
                        behind == "0" || !(behind.ends_with('0') || behind.starts_with("0000"))
                    }
                }
                .then_some(())
            }
            _ => None,
        }
    }

    fn items_as_written(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Scanner<'t>, usize) -> Option<()>,
    ) -> Option<()> {
        self.at += 1;
        if self.byte()? == end {
            self.at += 1;
            return Some(());
        }
        for place in 0.. {
            item(self, place)?;
            match self.byte()? {
                b',' => self.at += 1,
                byte if byte == end => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
        None
    }

    fn string_as_written(&mut self) -> Option<&'t str> {
        (self.byte()? == b'"').then_some(())?;
        let RawJson { text, is_escaped } = self.string()?;
        let mut escapes = text.bytes();
        while is_escaped && escapes.any(|byte| byte == b'\\') {
            matches!(escapes.next()?, b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't').then_some(())?;
        }
        Some(text)
    }

    /// The next byte, white space or not.
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn byte_is(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let begins = self.text.as_bytes().get(self.at..)?.starts_with(word.as_bytes());
        begins.then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        let digits = |at: usize| {
            bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|one| one.is_ascii_digit()).count())
        };
        let whole = digits(self.at);
        if whole == 0 || (whole > 1 && bytes.get(self.at) == Some(&b'0')) {
            return None;
        }
        self.at += whole;
        let mut all = whole;
        if bytes.get(self.at) == Some(&b'.') {
            let behind = digits(self.at + 1);
            if behind == 0 {
                return None;
            }
            all += behind;
            self.at += 1 + behind;
        }
        let goes_on = matches!(bytes.get(self.at), Some(b'e' | b'E'));
        (all <= MAX_DIGITS && !goes_on).then_some(())
    }
}

/// How many bytes an escape has behind its backslash; nothing where it is none, or half of a character.
fn escape_bytes(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(1),
        b'u' => match code_unit(bytes.get(1..)?)? {
            0xD800..0xDC00 => {
                let low = bytes.get(5..)?.strip_prefix(b"\\u")?;
                (0xDC00..0xE000).contains(&code_unit(low)?).then_some(11)
            }
            0xDC00..0xE000 => None,
            _ => Some(5),
        },
        _ => None,
    }
}

/// What four hexadecimal digits say.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    bytes
        .first_chunk::<4>()?
        .iter()
        .try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

/// How many bytes come before the next quote, backslash or control character, or before the end.
fn usual_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The highest bit of each byte that is zero, and of no byte before the first that is.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*word);
        let quotes = zeros(word ^ (ONES * u64::from(b'"')));
        let backslashes = zeros(word ^ (ONES * u64::from(b'\\')));
        // Below the blank: what is below 0x20 and had no highest bit.
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let found = quotes | backslashes | controls;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let is_unusual = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(is_unusual).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn what_is_sure_is_said_and_no_more() {
        for (text, expected) in [
            ("{}", true),
            (" {\"a\" : [ 1 , -2.50, null,true ,false, {}, [] ] }\r\n", true),
            (r#"{"a":"é\n\"\\\/ and a longer text, so that words of eight bytes are looked at \t"}"#, true),
            (r#"{"a":"\u00e9\uD83D\ude00\uffff"}"#, true),
            (r#"{"a":"\u00g9"}"#, false),
            (r#"{"a":"\u12"}"#, false),
            (r#"{"a":"\ud83d"}"#, false),
            (r#"{"a":"\ud83d\u0041"}"#, false),
            (r#"{"a":"\ude00"}"#, false),
            (r#"{"a":0,"b":-0,"c":0.0,"d":123456789012345}"#, true),
            ("", false),
            ("[]", false),
            ("{} {}", false),
            ("{\"a\":1,}", false),
            ("{\"a\":[1,]}", false),
            ("{\"a\" 1}", false),
            ("{a:1}", false),
            ("{\"a\":01}", false),
            ("{\"a\":1.}", false),
            ("{\"a\":.5}", false),
            ("{\"a\":-}", false),
            ("{\"a\":nul}", false),
            ("{\"a\":\"line\nbreak\"}", false),
            ("{\"a\":\"\\x\"}", false),
            ("{\"a\":\"open}", false),
            ("{\"a\":\"open\\", false),
            // Sound, but they are looked at more closely elsewhere.
            (r#"{"a":1e5}"#, false),
            (r#"{"a":1234567890123456}"#, false),
        ] {
            assert_eq!(is_surely_object(text), expected, "{text}");
        }
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_surely_object(&nested(MAX_DEPTH - 1)));
        assert!(!is_surely_object(&nested(MAX_DEPTH)));
    }

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let cases = [("1", 0), ("{}", 1), (r#"{"a":[{"b":"[[[["}],"c\"[":[]}"#, 3), (r#"["\\",["]"]]"#, 2)];
        for (json, expected) in cases {
            assert!(!is_nested_deeper(json.as_bytes(), expected), "{json}");
            assert_eq!(depth_of(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn what_is_usually_written_is_known_to_be() {
        for (text, expected) in [
            ("{}", true),
            (
                r#"{"prediction":"an \"é\"\n","reference":[1,-2.5,0.05,0.0,null,true],"normalized":{"a":{},"b":[]}}"#,
                true,
            ),
            (r#"{"a":1,"b":{"a":1}}"#, true),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"a": 1}"#, false),
            (r#" {"a":1}"#, false),
            (r#"{"a":1} "#, false),
            (r#"{"a":"\u00e9"}"#, false),
            (r#"{"a":"\/"}"#, false),
            (r#"{"a":1.50}"#, false),
            (r#"{"a":-0}"#, false),
            (r#"{"a":1e5}"#, false),
            (r#"{"a":0.00001}"#, false),
            ("[]", false),
            ("", false),
            (r#"{"a":1"#, false),
            (r#"{"a":1,}"#, false),
        ] {
            assert_eq!(is_surely_as_written(text), expected, "{text}");
        }
        let names = |count: usize| {
            let members: Vec<String> = (0..count).map(|name| format!("\"{name}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(is_surely_as_written(&names(MAX_NAMES)));
        assert!(!is_surely_as_written(&names(MAX_NAMES + 1)));
    }

    proptest! {
        /// Texts that are nearly JSON: pieces of it in any order.
        #[test]
        fn what_is_said_to_be_an_object_is_one(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\n", "\\u12", "\\ud83d", "\\ude00", "a", "é", "\u{1}", "1", "0", "-", ".", "e",
                    "null", "true", "\"k\":", "\"a long text of more than eight bytes\"", " ",
                ]),
                0..24,
            )
        ) {
            for text in [pieces.concat(), format!("{{\"k\":{}}}", pieces.concat())] {
                if is_surely_object(&text) {
                    prop_assert!(serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object()), "{}", text);
                }
            }
        }

        /// The same, of what is kept as it is.
        #[test]
        fn what_is_said_to_be_as_written_is_written_so(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\\n", "\\/", "\\u0041", "\\u001f", "a", "é", "1", "0", "-", ".", "e", "5",
                    "null", "true", "\"k\":", "\"l\":1,", "\"a\\\"b\"", " ", "0.05", "0.0001", "0.00001", "-0", "1.0", "1.50", "12.25",
                ]),
                0..24,
            )
        ) {
            for text in [pieces.concat(), format!("{{\"k\":{}}}", pieces.concat())] {
                if is_surely_as_written(&text) {
                    let value: Value = serde_json::from_str(&text).expect("JSON");
                    prop_assert!(value.is_object(), "{}", text);
                    prop_assert_eq!(value.to_string(), text);
                }
            }
        }

        #[test]
        fn decimals_said_to_be_as_written_are_written_so(whole in 0_u64..100_000_000, behind in "[0-9]{1,9}", minus in any::<bool>()) {
            let text = format!("{{\"k\":{}{whole}.{behind}}}", if minus { "-" } else { "" });
            if is_surely_as_written(&text) {
                let value: Value = serde_json::from_str(&text).expect("JSON");
                prop_assert_eq!(value.to_string(), text);
            }
        }

        #[test]
        fn usual_bytes_are_those_before_the_first_unusual_one(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let expected = bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(usual_bytes(&bytes), expected.unwrap_or(bytes.len()));
        }
    }
}
