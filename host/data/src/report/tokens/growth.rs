//! The factor by which a tokenizer can make a text longer, from its file. The crate `tokenizers` has no limit of its own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Maximum factor of a tokenizer's normalizer. Known ones have up to 2,000, because the factors of their steps are multiplied.
const MAX_GROWTH: u64 = 1 << 14;
/// Maximum factor of a tokenizer's pre-tokenizer.
const MAX_PRE_TOKENIZER_GROWTH: u64 = 64;
/// Maximum number of steps of a tokenizer. Known ones have up to 10.
const MAX_STEPS: usize = 256;
/// Maximum length of a word that WordPiece splits. Its time grows with the square of this length; the usual limit is 100.
const MAX_WORD_CHARACTERS: u64 = 1_000;

/// Factors of which unknown steps have the largest.
const UNKNOWN_GROWTH: u64 = 12;

/// Maximum factors by which a tokenizer makes a text longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextGrowth {
    pub(super) normalizer: u64,
    pub(super) pre_tokenizer: u64,
}

impl TextGrowth {
    /// Computes the factors from a `tokenizer.json`, and checks them.
    pub(super) fn of_tokenizer(json: &[u8]) -> Result<TextGrowth, String> {
        let TokenizerShape { normalizer, pre_tokenizer, model } =
            serde_json::from_slice(json).map_err(|error| format!("it is not a tokenizer: {error}"))?;
        let (normalizer, pre_tokenizer) = (normalizer.unwrap_or_default(), pre_tokenizer.unwrap_or_default());
        let steps = normalizer.count() + pre_tokenizer.count();
        if steps > MAX_STEPS {
            return Err(format!("it has {steps} steps; at most {MAX_STEPS} are allowed"));
        }
        let characters = model.and_then(|model| model.max_input_chars_per_word).unwrap_or(0);
        if characters > MAX_WORD_CHARACTERS {
            return Err(format!(
                "`max_input_chars_per_word` is {characters}; at most {MAX_WORD_CHARACTERS} is allowed"
            ));
        }
        let growth = TextGrowth { normalizer: normalizer.growth()?, pre_tokenizer: pre_tokenizer.growth()? };
        for (what, times, most) in [
            ("normalizer", growth.normalizer, MAX_GROWTH),
            ("pre-tokenizer", growth.pre_tokenizer, MAX_PRE_TOKENIZER_GROWTH),
        ] {
            if times > most {
                return Err(format!(
                    "its {what} could make a text {times} times as long; at most {most} times is allowed"
                ));
            }
        }
        Ok(growth)
    }
}

/// The members of a tokenizer that decide the length of its texts.
#[derive(Deserialize)]
struct TokenizerShape {
    #[serde(default)]
    normalizer: Option<StepShape>,
    #[serde(default)]
    pre_tokenizer: Option<StepShape>,
    #[serde(default)]
    model: Option<ModelShape>,
}

#[derive(Deserialize)]
struct ModelShape {
    #[serde(default)]
    max_input_chars_per_word: Option<u64>,
}

/// A normalizer or a pre-tokenizer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StepShape {
    #[serde(rename = "type")]
    kind: Option<String>,
    normalizers: Vec<StepShape>,
    pretokenizers: Vec<StepShape>,
    pattern: Option<PatternShape>,
    content: Option<String>,
    prepend: Option<String>,
    precompiled_charsmap: Option<String>,
}

#[derive(Deserialize)]
struct PatternShape {
    #[serde(default, rename = "String")]
    text: Option<String>,
}

impl StepShape {
    fn inner(&self) -> impl Iterator<Item = &StepShape> {
        self.normalizers.iter().chain(&self.pretokenizers)
    }

    /// Returns the number of steps, the inner ones included.
    fn count(&self) -> usize {
        1 + self.inner().map(StepShape::count).sum::<usize>()
    }

    /// Returns the maximum factor by which the step makes a text longer, in bytes.
    fn growth(&self) -> Result<u64, String> {
        if let Some(content) = &self.content {
            return Ok(self.growth_by(content));
        }
        if let Some(prepend) = &self.prepend {
            return Ok(1 + prepend.len() as u64);
        }
        if let Some(charsmap) = &self.precompiled_charsmap {
            return longest_replacement(charsmap)
                .ok_or_else(|| "its `precompiled_charsmap` is damaged".to_owned());
        }
        let own = match self.kind.as_deref() {
            // From the Unicode standard: the largest expansions of one character in UTF-8.
            Some("NFC" | "NFD") => 3,
            Some("NFKC" | "NFKD") => 11,
            Some("Lowercase") => 2,
            // A byte becomes a character of up to two bytes; a space may be added.
            Some("ByteLevel") => 3,
            // A space becomes a character of up to four bytes; one more may be added.
            Some("Metaspace") => 8,
            Some(
                "Strip" | "StripAccents" | "Nmt" | "Sequence" | "BertPreTokenizer" | "CharDelimiterSplit"
                | "Delimiter" | "Whitespace" | "Split" | "Punctuation" | "WhitespaceSplit" | "Digits"
                | "UnicodeScripts" | "FixedLength",
            ) => 1,
            None => 1,
            Some(_) => UNKNOWN_GROWTH,
        };
        self.inner().try_fold(own, |times: u64, step| Ok(times.saturating_mul(step.growth()?)))
    }

    /// Returns the factor of a replacement by a text. A pattern that is not a text may match nothing, between all bytes.
    fn growth_by(&self, content: &str) -> u64 {
        let pattern = self.pattern.as_ref().and_then(|pattern| pattern.text.as_ref());
        match pattern.map_or(0, String::len) {
            0 if content.is_empty() => 1,
            0 => 1 + content.len() as u64,
            length => (content.len().div_ceil(length) as u64).max(1),
        }
    }
}

/// Returns the length of the longest text that a charsmap puts in the place of a character; `None` if it is damaged. It is
/// the size of a trie, the trie, and the texts, each with a zero behind it.
fn longest_replacement(charsmap: &str) -> Option<u64> {
    let bytes = STANDARD.decode(charsmap).ok()?;
    let (size, rest) = bytes.split_first_chunk::<4>()?;
    let texts = rest.get(usize::try_from(u32::from_le_bytes(*size)).ok()?..)?;
    texts.split(|byte| *byte == 0).map(|text| text.len() as u64).max().map(|longest| longest.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn growth(normalizer: Value, pre_tokenizer: Value) -> Result<(u64, u64), String> {
        let json =
            json!({"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": {"type": "BPE"}});
        let growth = TextGrowth::of_tokenizer(json.to_string().as_bytes())?;
        Ok((growth.normalizer, growth.pre_tokenizer))
    }

    #[test]
    fn factors_of_steps_are_multiplied() {
        let replace = |pattern: Value, content: &str| json!({"type": "Replace", "pattern": pattern, "content": content});
        let charsmap = STANDARD.encode([&[4_u8, 0, 0, 0][..], &b"trieab\0xyz12\0"[..]].concat());
        let sequence = |steps: Vec<Value>| json!({"type": "Sequence", "normalizers": steps});
        for (normalizer, expected) in [
            (Value::Null, Ok(1)),
            (json!({"type": "NFC"}), Ok(3)),
            (replace(json!({"String": " "}), "▁"), Ok(3)),
            (replace(json!({"String": "abc"}), "x"), Ok(1)),
            (replace(json!({"String": "ab"}), "x123"), Ok(2)),
            (replace(json!({"Regex": " {2,}"}), "▁"), Ok(4)),
            (replace(json!({"Regex": "x"}), ""), Ok(1)),
            (replace(json!({"String": ""}), "xy"), Ok(3)),
            (json!({"type": "Prepend", "prepend": "▁"}), Ok(4)),
            (json!({"type": "Precompiled", "precompiled_charsmap": charsmap}), Ok(5)),
            (json!({"type": "Precompiled", "precompiled_charsmap": "/////w=="}), Err("is damaged")),
            (
                sequence(vec![
                    json!({"type": "NFKD"}),
                    json!({"type": "Lowercase"}),
                    json!({"type": "Strip"}),
                ]),
                Ok(22),
            ),
            (
                sequence(vec![sequence(vec![json!({"type": "New"}); 3]); 2]),
                Err("could make a text 2985984 times"),
            ),
        ] {
            let found = growth(normalizer.clone(), Value::Null);
            match (&found, expected) {
                (Ok((times, 1)), Ok(expected)) => assert_eq!(*times, expected, "{normalizer}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                _ => panic!("{normalizer}: {found:?}"),
            }
        }
        let byte_level = json!({"type": "ByteLevel"});
        let steps =
            |count: usize| json!({"type": "Sequence", "pretokenizers": vec![byte_level.clone(); count]});
        assert_eq!(growth(Value::Null, steps(2)), Ok((1, 9)));
        assert!(growth(Value::Null, steps(24)).is_err_and(|error| error.contains("its pre-tokenizer")));
    }

    #[test]
    fn long_words_are_not_split() {
        let model = |characters: u64| {
            let json = json!({"model": {"type": "WordPiece", "max_input_chars_per_word": characters}});
            TextGrowth::of_tokenizer(json.to_string().as_bytes())
        };
        assert!(model(100).is_ok());
        assert!(model(1_001).is_err_and(|error| error.contains("`max_input_chars_per_word` is 1001")));
    }
}
