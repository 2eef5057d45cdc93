//! The search for secrets: it finds a secret in every documented spelling, in any text, and its work is linear.

use crate::fuzz_input::FuzzInput;
use crate::input_numbers::InputNumbers;
use crate::{Target, Verdict, mutation};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gage_secrets::{SECRET_MARK, SecretScanner, examined_bytes};
use proptest::strategy::BoxedStrategy;

/// The search for secrets.
pub const TARGET: Target = Target { name: "secret_search", cases: 1_000, seeds, inputs, check };

/// Secrets with what formats escape: quotes, slashes, backslashes, letters beyond ASCII, and digits alone.
const SECRETS: &[&str] = &[
    "sk-live/9Wq+<a>&b==",
    "pass word_1'.é\"x",
    "😀éabcdef1",
    "back\\slash-1",
    "4821937465",
    "me:p,w\"x?>~~ÿ",
];

const TOKENS: &[&str] = &[
    "\\",
    "\\\\",
    "\\u",
    "\\u{",
    "\\ud83d",
    "\\ude00",
    "\\x",
    "\\U",
    "\\r",
    "%",
    "%25",
    "%5C",
    "&",
    "&#",
    "&#x",
    "&amp;",
    ";",
    "}",
    "\"",
    "'",
    "''",
    "{",
    "[",
    ",",
    "data: ",
    "-",
    ".",
    "e",
    "2",
    "25",
    "41",
    "amp",
    "sk-live/9Wq+",
    "pass word_1",
    "😀éabcdef1",
    "back\\slash-",
    "48219374",
    "4821937465",
    "(secret)",
];

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "{\"a\": [4821937465, \"4821937465 and\", \"sk-live/9Wq+<a>&b==\"], \"b\\\\\": -1e5}",
        "data: {\"content\":\"pass word_1'.\\u00e9\\\"x\"}\n\ndata: [DONE]\n\n",
        "GET /?key=sk-live%2F9Wq%2B%3Ca%3E%26b%3D%3D HTTP/1.1\r\nauthorization: Bearer back\\\\slash-1",
        "<p>&#128512;&eacute;abcdef1 &amp;amp; sk-live&sol;9Wq&plus;&lt;a&gt;&amp;b&equals;&equals;</p>",
        "plain text without any of them",
    ];
    texts.into_iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

/// Escapes a character of a text.
type Encoder = fn(char) -> String;

/// The documented escapes.
const ENCODERS: &[Encoder] = &[
    |one| one.to_string(),
    |one| one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    |one| one.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect(),
    |one| format!("\\U{:08x}", u32::from(one)),
    |one| format!("\\u{{{:x}}}", u32::from(one)),
    |one| one.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect(),
    |one| one.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02x}")).collect(),
    |one| format!("&#{};", u32::from(one)),
    |one| format!("&#x{:x};", u32::from(one)),
    |one| match one {
        '/' | '"' | '\'' | ' ' | '\\' => format!("\\{one}"),
        _ => one.to_string(),
    },
];

/// Number of encoders at the end that cannot be applied to escaped text: they do not escape every character.
const PARTIAL_ENCODERS: usize = 1;

/// Returns one of the first `count` encoders.
fn encoder(count: usize, numbers: &mut InputNumbers) -> Encoder {
    ENCODERS.get(numbers.below(count)).copied().unwrap_or(|one| one.to_string())
}

/// Returns a secret in one of its spellings.
fn spelling_of(secret: &str, numbers: &mut InputNumbers) -> String {
    match numbers.below(8) {
        0 => secret.to_uppercase(),
        1 => secret.to_lowercase(),
        2 => secret.chars().rev().collect(),
        3 => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
        4 => STANDARD.encode(secret),
        5 => URL_SAFE_NO_PAD.encode(secret),
        _ => {
            let encode = encoder(ENCODERS.len(), numbers);
            // All characters, or every other one. No format leaves a backslash unescaped next to its escapes.
            let step = 1 + numbers.below(2);
            let part = |(place, one): (usize, char)| match place.is_multiple_of(step) || one == '\\' {
                true => encode(one),
                false => one.to_string(),
            };
            let spelled: String = secret.chars().enumerate().map(part).collect();
            match numbers.below(2) {
                0 => spelled,
                _ => {
                    let outer = encoder(ENCODERS.len() - PARTIAL_ENCODERS, numbers);
                    spelled.chars().map(outer).collect()
                }
            }
        }
    }
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let scanner = SecretScanner::new(SECRETS.iter().map(|secret| (SECRET_MARK, *secret)));
    scanner.redact_bytes(input.to_vec());
    let mut text = String::from_utf8_lossy(input).into_owned();
    check_ranges(&scanner, &text)?;
    check_work(&scanner, &text)?;
    let mut numbers = InputNumbers::of(input);
    let (mut spellings, mut from) = (Vec::new(), 0);
    for secret in SECRETS {
        let spelled = spelling_of(secret, &mut numbers);
        let place = from + numbers.below(text.len() - from + 1);
        let place = (from..=place).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(from);
        // The brackets keep the beginning and the end apart from escapes of the text.
        let inserted = format!(" [{spelled}] ");
        text.insert_str(place, &inserted);
        from = place + inserted.len();
        spellings.push((secret, spelled));
    }
    let redacted = scanner.redact(&text);
    match spellings.iter().find(|(_, spelled)| redacted.contains(spelled)) {
        Some((secret, spelled)) => Err(format!("`{spelled}` is left of the secret `{secret}`")),
        None => Ok(Verdict::Accepted),
    }
}

/// Checks that the ranges are in order, and of whole characters.
fn check_ranges(scanner: &SecretScanner, text: &str) -> Result<(), String> {
    let mut last = 0;
    for range in scanner.find(text) {
        if range.start < last || text.get(range.clone()).is_none_or(str::is_empty) {
            return Err(format!("{range:?} is not a range of characters after {last}"));
        }
        last = range.start;
    }
    Ok(())
}

/// Number of bytes of the text whose work is counted. Less would count the beginning more than the rest.
const COUNTED_BYTES: usize = 4_000;

/// Checks that twice the text takes twice the work.
fn check_work(scanner: &SecretScanner, text: &str) -> Result<(), String> {
    let times = (COUNTED_BYTES / text.len().max(1)).max(1);
    if text.is_empty() || text.len() > COUNTED_BYTES {
        return Ok(());
    }
    let work = |times: usize| {
        let text = text.repeat(times);
        examined_bytes(|| drop(scanner.redact(&text)))
    };
    let (once, twice) = (work(times), work(2 * times));
    // Some passes over a copy more: the last copy has no other after it, and strings are tracked up to its first number.
    match twice <= once * 21 / 10 + 3 * text.len() + 1_000 {
        true => Ok(()),
        false => Err(format!(
            "{once} bytes are examined in {times} copies of the text, and {twice} in twice as many"
        )),
    }
}
