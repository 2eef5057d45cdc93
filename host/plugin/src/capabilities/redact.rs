//! Keeps the values of secrets out of what a guest, a log or a record sees.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Values shorter than this cannot be looked for: they would occur by chance.
pub(crate) const MIN_SECRET_BYTES: usize = 4;

/// The spellings of secrets that are blanked out.
pub(crate) struct Redactor {
    /// The spelling, and what stands in its place; longer ones first.
    spellings: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Redactor {
    /// Looks for the values of some secrets, by name: as they are, as JSON, URLs, Base64 and
    /// hexadecimal digits spell them.
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a str)>) -> Redactor {
        let mut spellings = Vec::new();
        for (name, value) in secrets.filter(|(_, value)| value.len() >= MIN_SECRET_BYTES) {
            let mark = format!("[secret {name}]").into_bytes();
            for spelling in spellings_of(value) {
                spellings.push((spelling.into_bytes(), mark.clone()));
            }
        }
        spellings.sort_by_key(|(spelling, _)| std::cmp::Reverse(spelling.len()));
        spellings.dedup();
        Redactor { spellings }
    }

    /// The bytes without any of the values.
    pub(crate) fn bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (spelling, mark) in &self.spellings {
            bytes = replace(bytes, spelling, mark);
        }
        bytes
    }

    /// The text without any of the values.
    pub(crate) fn text(&self, text: String) -> String {
        // The marks and what they replace are whole characters.
        String::from_utf8(self.bytes(text.into_bytes())).unwrap_or_default()
    }
}

fn spellings_of(value: &str) -> Vec<String> {
    let in_json = serde_json::Value::from(value).to_string();
    let in_url: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut spellings = vec![
        value.to_owned(),
        in_json[1..in_json.len() - 1].to_owned(),
        in_url.replace('+', "%20"),
        in_url,
        hexadecimal.to_uppercase(),
        hexadecimal,
    ];
    spellings.extend([value.to_lowercase(), value.to_uppercase(), value.chars().rev().collect()]);
    for offset in 0..3 {
        spellings.push(within_base64(&STANDARD_NO_PAD, value, offset));
        spellings.push(within_base64(&URL_SAFE_NO_PAD, value, offset));
    }
    spellings.retain(|spelling| spelling.len() >= MIN_SECRET_BYTES);
    spellings.sort();
    spellings.dedup();
    spellings
}

/// The digits of a value that begins at some place of a larger text: those that no neighbour changes.
fn within_base64(engine: &impl base64::Engine, value: &str, offset: usize) -> String {
    let encoded = engine.encode([&[0; 2][..offset], value.as_bytes()].concat());
    let (first, last) = ((offset * 8).div_ceil(6), (offset + value.len()) * 8 / 6);
    encoded.get(first..last).unwrap_or_default().to_owned()
}

fn replace(bytes: Vec<u8>, wanted: &[u8], mark: &[u8]) -> Vec<u8> {
    let Some(mut place) = find(&bytes, wanted) else { return bytes };
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    loop {
        replaced.extend_from_slice(&rest[..place]);
        replaced.extend_from_slice(mark);
        rest = &rest[place + wanted.len()..];
        match find(rest, wanted) {
            Some(next) => place = next,
            None => break,
        }
    }
    replaced.extend_from_slice(rest);
    replaced
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    #[test]
    fn every_spelling_is_blanked_out() {
        let secret = "s3cr\"t/+ey";
        let redactor = Redactor::new([("KEY", secret)].into_iter());
        for spelling in spellings_of(secret) {
            let text = format!("before {spelling} after {spelling}");
            assert_eq!(redactor.text(text), "before [secret KEY] after [secret KEY]", "{spelling}");
        }
        assert_eq!(redactor.text("nothing here".to_owned()), "nothing here");
        for before in ["", "a", "ab", "abc", "user:"] {
            let encoded = STANDARD_NO_PAD.encode(format!("{before}{secret} and more"));
            let text = redactor.text(encoded);
            assert!(text.contains("[secret KEY]"), "{before}: {text}");
        }
    }
}
