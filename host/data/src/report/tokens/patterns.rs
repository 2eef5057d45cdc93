//! Regular expressions of tokenizers. The engine of the crate `tokenizers` can try alternatives again and again, so only
//! expressions whose time is bounded are used.

use regex::RegexBuilder;

/// Maximum length of a pattern, in bytes. The longest known one has 700.
const MAX_PATTERN_BYTES: usize = 4 << 10;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED_BYTES: usize = 4 << 20;
/// Maximum length of the start of a pattern that a message shows, in characters.
const MAX_SHOWN_CHARACTERS: usize = 80;

/// The only look-ahead that unknown patterns may have: as an alternative of its own, it takes time in proportion to the
/// length of its match.
const LAST_SPACES: &str = r"\s+(?!\S)";

/// Published patterns whose matches take time in proportion to the text, with line breaks escaped.
const LINEAR_PATTERNS: &[&str] = &[
    // GPT-2 and its relatives.
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    // cl100k, Llama 3.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Qwen 2, and later ones.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // MiniCPM.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // o200k.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // Tekken.
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    // DeepSeek.
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
    "[一-龥぀-ゟ゠-ヿ]+",
    // Parts of many.
    r"\p{N}{1,3}",
    r"\p{N}+",
    r"\p{N}",
    r"\d{1,3}",
    r"\d+",
    r"\s+",
    r"\S+",
    r" {2,}",
];

/// Published patterns that look around elsewhere, and take time in proportion to the square of the text, with line breaks
/// escaped.
const QUADRATIC_PATTERNS: &[&str] = &[
    // Digits in groups of three, from the right.
    r"\d{1,3}(?=(?:\d{3})*\b)",
    // EXAONE and others: with possessive repetitions.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    // Jais.
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}",
];

/// The time that all matches in a text can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchTime {
    /// In proportion to the text.
    Linear,
    /// In proportion to the square of the text.
    Quadratic,
}

/// Checks a pattern that is a text, and not a regular expression.
pub(super) fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(format!(
            "one of its patterns has {} bytes; at most {MAX_PATTERN_BYTES} are allowed",
            text.len()
        ));
    }
    Ok(())
}

/// Returns the time of a regular expression's matches.
///
/// # Errors
/// If the time could have no bound, or if it is too large.
pub(super) fn match_time(pattern: &str) -> Result<MatchTime, String> {
    check_text(pattern)?;
    let escaped = pattern.replace('\r', r"\r").replace('\n', r"\n");
    if LINEAR_PATTERNS.contains(&escaped.as_str()) {
        return Ok(MatchTime::Linear);
    }
    if QUADRATIC_PATTERNS.contains(&escaped.as_str()) {
        return Ok(MatchTime::Quadratic);
    }
    let refused = |why: &str| {
        let shown: String = pattern.chars().take(MAX_SHOWN_CHARACTERS).collect();
        format!("its regular expression `{}` {why}", gage_core::printable_line(&shown))
    };
    let parts = parts_without_look_ahead(pattern).filter(|_| !may_repeat_possessively(pattern));
    let unbounded = "could take unbounded time: it may neither look around, except by the alternative `\\s+(?!\\S)`, \
                     nor refer to groups or repeat possessively";
    for part in parts.ok_or_else(|| refused(unbounded))? {
        match RegexBuilder::new(part).size_limit(MAX_COMPILED_BYTES).build() {
            Ok(_) => {}
            Err(regex::Error::CompiledTooBig(_)) => {
                return Err(refused(&format!(
                    "takes more than {MAX_COMPILED_BYTES} bytes when it is compiled"
                )));
            }
            Err(_) => return Err(refused(unbounded)),
        }
    }
    Ok(MatchTime::Quadratic)
}

/// Returns what is left of a pattern without the alternatives [`LAST_SPACES`]; `None` if it is not an alternative
/// somewhere. An alternative inside a group leaves parts that are no regular expressions.
fn parts_without_look_ahead(pattern: &str) -> Option<Vec<&str>> {
    let pieces: Vec<&str> = pattern.split(LAST_SPACES).collect();
    let last = pieces.len() - 1;
    let mut parts = Vec::with_capacity(pieces.len());
    for (place, piece) in pieces.into_iter().enumerate() {
        let mut part = piece;
        if place > 0 && !(place == last && piece.is_empty()) {
            part = part.strip_prefix('|')?;
        }
        if place < last && !(place == 0 && piece.is_empty()) {
            part = part.strip_suffix('|')?;
        }
        parts.push(part);
    }
    Some(parts)
}

/// Returns whether a pattern can have a repetition such as `a++`, which the crate `regex` reads in another way.
fn may_repeat_possessively(pattern: &str) -> bool {
    // With the flag `x`, a comment can have any characters.
    let flags = |group: &str| group.chars().take_while(char::is_ascii_alphabetic).any(|flag| flag == 'x');
    if pattern.split("(?").skip(1).any(flags) {
        return true;
    }
    let (mut classes, mut is_after_repetition) = (0_usize, false);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '+' && classes == 0 && is_after_repetition {
            return true;
        }
        is_after_repetition = classes == 0 && matches!(character, '+' | '*' | '?' | '}');
        match character {
            '\\' => {
                let has_name = matches!(characters.next(), Some('p' | 'P' | 'x' | 'u' | 'U'));
                if has_name && characters.as_str().starts_with('{') {
                    characters.find(|character| *character == '}');
                }
            }
            '[' => classes += 1,
            ']' => classes = classes.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokenizers::PreTokenizerWrapper;

    #[test]
    fn published_patterns_are_used() {
        for pattern in LINEAR_PATTERNS.iter().chain(QUADRATIC_PATTERNS) {
            assert!(match_time(pattern).is_ok(), "{pattern}");
            let mut split = json!({"type": "Split", "behavior": "Isolated", "invert": false});
            split["pattern"] = json!({"Regex": pattern});
            let split = serde_json::from_value::<PreTokenizerWrapper>(split);
            assert!(split.is_ok(), "{pattern}: {split:?}");
        }
        // As DeepSeek writes it.
        let deepseek = LINEAR_PATTERNS.iter().find(|pattern| pattern.starts_with("[!"));
        let breaks = deepseek.expect("a pattern").replace(r"\r", "\r").replace(r"\n", "\n");
        assert_eq!(match_time(&breaks), Ok(MatchTime::Linear));
    }

    #[test]
    fn patterns_without_a_bound_are_refused() {
        for pattern in
            [r"a|\s+(?!\S)|b+", r"\s+(?!\S)|b", r"a|\s+(?!\S)", r"\s+(?!\S)", "(a+)+b", r"[)*+,]\p{L}+"]
        {
            assert_eq!(match_time(pattern), Ok(MatchTime::Quadratic), "{pattern}");
        }
        for pattern in [
            r"(?=(a+)+b)",
            r"(a+)\1",
            r"(?:a|\s+(?!\S)|b)*c",
            r"[a|\s+(?!\S)|b]",
            r"a\|\s+(?!\S)",
            r"(a++b?)*c",
            r"(\p{L}{2}+b?)*c",
            "(?ix)#[\n(a++b?)*c",
            r"(?<=a)b",
            "a{1000}{1000}",
        ] {
            assert!(match_time(pattern).is_err(), "{pattern}");
        }
        assert!(
            match_time(&"a".repeat(MAX_PATTERN_BYTES + 1)).is_err_and(|error| error.contains("4097 bytes"))
        );
    }
}
