//! The factor by which a tokenizer can make a text longer, and the length of a text that it can split in bounded time, from
//! its file. The crate `tokenizers` has no limits of its own.

use super::charsmap;
use super::patterns::{self, MatchTime};
use super::shape::{ModelShape, StepShape, TokenizerShape};
use serde::Deserialize as _;
use serde_json::Value;

/// Maximum factor of a tokenizer's normalizer. Known ones have up to 2,000, because the factors of their steps are multiplied.
const MAX_GROWTH: u64 = 1 << 14;
/// Maximum factor of a tokenizer's pre-tokenizer.
const MAX_PRE_TOKENIZER_GROWTH: u64 = 64;
/// Maximum number of steps of a tokenizer. Known ones have up to 10.
const MAX_STEPS: usize = 256;
/// Maximum number of regular expressions of a tokenizer. Known ones have up to 8.
const MAX_PATTERNS: usize = 32;
/// Maximum number of JSON values of a normalizer or a pre-tokenizer, and maximum nesting. The crate copies it on each level.
const MAX_STEP_VALUES: usize = 10_000;
const MAX_STEP_DEPTH: usize = 16;
/// Maximum size of the texts of a normalizer or a pre-tokenizer, in bytes. Known ones have up to 400,000.
const MAX_STEP_TEXT_BYTES: usize = 4 << 20;
/// Maximum length of a word that WordPiece splits. Its time grows with the third power of this length; the usual limit is
/// 100.
const MAX_WORD_CHARACTERS: u64 = 256;
/// Maximum length of a text that a model puts before or after each piece of a word, in bytes. It is copied for each piece.
const MAX_AFFIX_BYTES: usize = 64;
/// Maximum length of a piece of a Unigram model, in bytes. SentencePiece makes pieces of up to 64.
const MAX_PIECE_BYTES: u64 = 256;
/// Maximum number of bytes that a Unigram model compares for a text: at each of its bytes, all pieces that begin there.
const MAX_COMPARED_BYTES: u64 = 1 << 34;
/// Maximum size of all added tokens, in bytes.
const MAX_ADDED_BYTES: u64 = 4 << 20;
/// Maximum size of all added tokens after their normalization, in bytes.
const MAX_NORMALIZED_ADDED_BYTES: u64 = 64 << 20;

/// Maximum length of a text, before and after its normalization, in bytes.
const MAX_TEXT_BYTES: u64 = 8 << 20;
/// The same for a tokenizer whose regular expressions take quadratic time.
const MAX_TEXT_BYTES_OF_QUADRATIC_TIME: u64 = 128 << 10;

/// Factors of which unknown steps have the largest.
const UNKNOWN_GROWTH: u64 = 12;

/// Maximum factors by which a tokenizer makes a text longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextGrowth {
    pub(super) normalizer: u64,
    pub(super) pre_tokenizer: u64,
    /// Maximum length of a text, before and after its normalization, in bytes.
    pub(super) max_text_bytes: u64,
}

impl TextGrowth {
    /// Computes the factors from a `tokenizer.json`, and checks them.
    pub(super) fn of_tokenizer(json: &[u8]) -> Result<TextGrowth, String> {
        let shape: TokenizerShape =
            serde_json::from_slice(json).map_err(|error| format!("it is not a tokenizer: {error}"))?;
        let normalizer = steps_of("normalizer", shape.normalizer.as_ref())?;
        let pre_tokenizer = steps_of("pre-tokenizer", shape.pre_tokenizer.as_ref())?;
        let steps = [&normalizer, &pre_tokenizer].into_iter().flatten().map(StepShape::count).sum::<usize>();
        if steps > MAX_STEPS {
            return Err(format!("it has {steps} steps; at most {MAX_STEPS} are allowed"));
        }
        let by_normalizer = normalizer.as_ref().map_or(Ok(1), growth)?;
        let by_pre_tokenizer = pre_tokenizer.as_ref().map_or(Ok(1), growth)?;
        for (what, times, most) in [
            ("normalizer", by_normalizer, MAX_GROWTH),
            ("pre-tokenizer", by_pre_tokenizer, MAX_PRE_TOKENIZER_GROWTH),
        ] {
            if times > most {
                return Err(format!(
                    "its {what} could make a text {times} times as long; at most {most} times is allowed"
                ));
            }
        }
        let added = shape.added_tokens.unwrap_or_default();
        for (what, bytes, most) in [
            ("added tokens have", added.bytes, MAX_ADDED_BYTES),
            (
                "normalizer could make added tokens that have",
                added.normalized_bytes.saturating_mul(by_normalizer),
                MAX_NORMALIZED_ADDED_BYTES,
            ),
        ] {
            if bytes > most {
                return Err(format!("its {what} {bytes} bytes; at most {most} are allowed"));
            }
        }
        let of_patterns = bytes_by_patterns([&normalizer, &pre_tokenizer].into_iter().flatten())?;
        let of_model = shape.model.map_or(Ok(MAX_TEXT_BYTES), |model| bytes_by_model(&model))?;
        Ok(TextGrowth {
            normalizer: by_normalizer,
            pre_tokenizer: by_pre_tokenizer,
            max_text_bytes: of_patterns.min(of_model),
        })
    }
}

/// Reads the steps of a normalizer or a pre-tokenizer.
fn steps_of(what: &str, json: Option<&Value>) -> Result<Option<StepShape>, String> {
    let Some(json) = json else {
        return Ok(None);
    };
    let (mut values, mut text_bytes, mut rest) = (0, 0, vec![(json, 1)]);
    while let Some((value, depth)) = rest.pop() {
        values += 1;
        text_bytes += value.as_str().map_or(0, str::len);
        if values > MAX_STEP_VALUES || depth > MAX_STEP_DEPTH || text_bytes > MAX_STEP_TEXT_BYTES {
            return Err(format!(
                "its {what} is too large; at most {MAX_STEP_VALUES} JSON values, {MAX_STEP_DEPTH} levels and \
                 {MAX_STEP_TEXT_BYTES} bytes of texts are allowed"
            ));
        }
        rest.extend(value.as_array().into_iter().flatten().map(|item| (item, depth + 1)));
        for (key, member) in value.as_object().into_iter().flatten() {
            text_bytes += key.len();
            rest.push((member, depth + 1));
        }
    }
    StepShape::deserialize(json).map(Some).map_err(|error| format!("it is not a tokenizer: {error}"))
}

/// Returns the maximum factor by which a step makes a text longer, in bytes.
fn growth(step: &StepShape) -> Result<u64, String> {
    if step.length == Some(0) {
        return Err("its `length` is 0; at least 1 is allowed".to_owned());
    }
    let mut own: u64 = match step.kind.as_deref() {
        // From the Unicode standard: the largest expansions of one character in UTF-8.
        Some("NFC" | "NFD") => 3,
        Some("NFKC" | "NFKD") => 11,
        Some("Lowercase") => 2,
        // A byte becomes a character of up to two bytes; a space may be added.
        Some("ByteLevel") => 3,
        // A space becomes a character of up to four bytes; one more may be added.
        Some("Metaspace") => 8,
        // The members of the last three decide.
        Some(
            "Strip" | "StripAccents" | "Nmt" | "Sequence" | "BertPreTokenizer" | "CharDelimiterSplit"
            | "Delimiter" | "Whitespace" | "Split" | "Punctuation" | "WhitespaceSplit" | "Digits"
            | "UnicodeScripts" | "FixedLength" | "Replace" | "Prepend" | "Precompiled",
        ) => 1,
        _ => UNKNOWN_GROWTH,
    };
    if let Some(content) = &step.content {
        own = own.saturating_mul(growth_by(step, content));
    }
    if let Some(prepend) = &step.prepend {
        own = own.saturating_mul(1 + prepend.len() as u64);
    }
    if let Some(charsmap) = &step.precompiled_charsmap {
        let longest = charsmap::longest_replacement(charsmap);
        own = own.saturating_mul(longest.ok_or_else(|| "its `precompiled_charsmap` is damaged".to_owned())?);
    }
    step.inner().try_fold(own, |times: u64, inner| Ok(times.saturating_mul(growth(inner)?)))
}

/// Returns the factor of a replacement by a text. A pattern that is not a text may match nothing, between all bytes.
fn growth_by(step: &StepShape, content: &str) -> u64 {
    let pattern = step.pattern.as_ref().and_then(|pattern| pattern.text.as_ref());
    match pattern.map_or(0, String::len) {
        0 if content.is_empty() => 1,
        0 => 1 + content.len() as u64,
        length => (content.len().div_ceil(length) as u64).max(1),
    }
}

/// Checks all patterns, and returns the maximum length of a text that they match in bounded time.
fn bytes_by_patterns<'s>(steps: impl Iterator<Item = &'s StepShape>) -> Result<u64, String> {
    let (mut rest, mut count, mut bytes): (Vec<&StepShape>, _, _) = (steps.collect(), 0, MAX_TEXT_BYTES);
    while let Some(step) = rest.pop() {
        rest.extend(step.inner());
        let Some(pattern) = &step.pattern else {
            continue;
        };
        count += 1;
        if count > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        if let Some(text) = &pattern.text {
            patterns::check_text(text)?;
        }
        if let Some(expression) = &pattern.expression
            && patterns::match_time(expression)? == MatchTime::Quadratic
        {
            bytes = MAX_TEXT_BYTES_OF_QUADRATIC_TIME;
        }
    }
    Ok(bytes)
}

/// Checks a model, and returns the maximum length of a text that it splits in bounded time.
fn bytes_by_model(model: &ModelShape) -> Result<u64, String> {
    let characters = model.max_input_chars_per_word.unwrap_or(0);
    if characters > MAX_WORD_CHARACTERS {
        return Err(format!(
            "`max_input_chars_per_word` is {characters}; at most {MAX_WORD_CHARACTERS} is allowed"
        ));
    }
    for (what, affix) in [
        ("continuing_subword_prefix", &model.continuing_subword_prefix),
        ("end_of_word_suffix", &model.end_of_word_suffix),
    ] {
        let bytes = affix.as_ref().map_or(0, String::len);
        if bytes > MAX_AFFIX_BYTES {
            return Err(format!("`{what}` has {bytes} bytes; at most {MAX_AFFIX_BYTES} are allowed"));
        }
    }
    let longest = model.vocab.as_ref().map_or(0, |vocabulary| vocabulary.longest_piece_bytes);
    if longest > MAX_PIECE_BYTES {
        return Err(format!(
            "a piece of its vocabulary has {longest} bytes; at most {MAX_PIECE_BYTES} are allowed"
        ));
    }
    // All beginnings of the longest piece can be pieces, too.
    Ok((MAX_COMPARED_BYTES / (longest * longest / 2).max(1)).min(MAX_TEXT_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn growth(normalizer: Value, pre_tokenizer: Value) -> Result<(u64, u64), String> {
        let json =
            json!({"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": {"type": "BPE"}});
        let growth = TextGrowth::of_tokenizer(json.to_string().as_bytes())?;
        Ok((growth.normalizer, growth.pre_tokenizer))
    }

    #[test]
    fn factors_of_steps_are_multiplied() {
        let replace = |pattern: Value, content: &str| json!({"type": "Replace", "pattern": pattern, "content": content});
        let charsmap = charsmap::charsmap_of_a(0, "ab\0xyz12\0");
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
            // Members that the kind does not have hide no others.
            (
                json!({"type": "Sequence", "content": "", "normalizers": vec![json!({"type": "NFKD"}); 9]}),
                Err("could make a text 2357947691 times"),
            ),
            (json!({"replacement": "_"}), Ok(12)),
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
        assert!(model(257).is_err_and(|error| error.contains("`max_input_chars_per_word` is 257")));
    }

    /// Checks a tokenizer with these members.
    fn checked(tokenizer: &Value) -> Result<u64, String> {
        TextGrowth::of_tokenizer(tokenizer.to_string().as_bytes()).map(|growth| growth.max_text_bytes)
    }

    #[test]
    fn long_pieces_shorten_texts_or_are_refused() {
        let unigram = |bytes: usize| json!({"model": {"type": "Unigram", "vocab": [["a", 0.0], ["b".repeat(bytes), -1.5]]}});
        assert_eq!(checked(&unigram(64)), Ok(MAX_TEXT_BYTES));
        assert_eq!(checked(&unigram(256)), Ok(MAX_TEXT_BYTES / 16));
        assert!(checked(&unigram(100_000)).is_err_and(|error| error.contains("100000 bytes; at most 256")));
        let words = json!({"model": {"vocab": {"b".repeat(1_000): 0}}});
        assert_eq!(checked(&words), Ok(MAX_TEXT_BYTES), "only Unigram compares all pieces");
    }

    #[test]
    fn expressions_shorten_texts_or_are_refused() {
        let split =
            |pattern: &str| json!({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}}});
        let llama = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
        assert_eq!(checked(&split(llama)), Ok(MAX_TEXT_BYTES));
        assert_eq!(checked(&split(r"\w+|\s+(?!\S)")), Ok(MAX_TEXT_BYTES_OF_QUADRATIC_TIME));
        assert!(checked(&split(r"(?=(a+)+b)")).is_err_and(|error| error.contains("unbounded time")));
        let many = json!({"type": "Split", "pattern": {"String": "a"}});
        let many = json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": vec![many; 33]}});
        assert!(checked(&many).is_err_and(|error| error.contains("more than 32 patterns")));
    }

    #[test]
    fn tokenizers_that_need_much_memory_are_refused() {
        let added = |count: usize, is_normalized: bool| {
            let token = json!({"id": 0, "content": "a".repeat(1_000), "normalized": is_normalized});
            let normalizers = vec![json!({"type": "NFKD"}); 2];
            json!({
                "normalizer": {"type": "Sequence", "normalizers": normalizers},
                "added_tokens": vec![token; count],
            })
        };
        assert!(checked(&added(1_000, false)).is_ok());
        let affix = json!({"model": {"continuing_subword_prefix": "#".repeat(65), "vocab": {}}});
        let hidden = json!({"normalizer": {"type": "NFC", "hidden": vec![1; 10_000]}});
        let deep = (0..20).fold(json!({}), |inner, _| json!({"type": "Sequence", "normalizers": [inner]}));
        for (tokenizer, message) in [
            (added(5_000, false), "added tokens have 5000000 bytes"),
            (added(1_000, true), "could make added tokens that have 121000000 bytes"),
            (affix, "`continuing_subword_prefix` has 65 bytes"),
            (hidden, "its normalizer is too large"),
            (json!({"normalizer": deep}), "its normalizer is too large"),
            (json!({"pre_tokenizer": {"type": "FixedLength", "length": 0}}), "`length` is 0"),
        ] {
            let error = checked(&tokenizer).expect_err("refused");
            assert!(error.contains(message), "{error}");
        }
    }
}
