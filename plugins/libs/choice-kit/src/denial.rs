//! Denials before a letter or an option's text, which exclude it: `not A`, `neither A nor B`, `rule out B, C and D`,
//! `不是A`.

use crate::characters::{is_blank, is_word, split_last_word};
use crate::verdict::rest_of_list;
use crate::vocabulary::{ARTICLES, DENIALS, LINKS, OPTION_NOUNS, WRONG, Words, ends_with_any};
use gage_text_kit::text::is_space;

/// Words that eliminate the options after them, including a whole list: `Eliminate B, C and D`. `rule out` is the
/// two-word form.
static ELIMINATIONS: Words = Words::new(&[
    "eliminate eliminates eliminating exclude excludes excluding reject rejecting dismiss discard",
    "ausschließen ausgeschlossen schließe schließen",
    "élimine éliminons éliminer exclus excluons exclure écarte écartons",
    "descarto descartamos descartar elimino eliminamos eliminar excluimos",
    "descarto descartamos descartar elimino eliminamos eliminar excluímos",
    "scarto scartiamo scartare escludo escludiamo escludere eliminiamo",
    "исключаем исключим исключить отбрасываем отбросим",
]);
const RULINGS: &[&str] = &["rule", "rules", "ruled", "ruling"];

/// Chinese words before a colon that mark the text after it as wrong: `错误：B`. The English ones (`Wrong: B`) are in
/// [`WRONG`].
const EAST_ASIAN_WRONG: &[&str] = &["错误", "错误选项", "错误的", "不正确", "排除", "誤り", "不正解", "오답"];

/// Words allowed between a denial and the option that it denies.
static BETWEEN: Words =
    Words::new(&["be choose pick select either but also an a", "sowohl", "que c'est", "que", "se"]);

/// Phrases that deny what follows.
const DENYING_PHRASES: &[&str] = &[
    "rather than",
    "other than",
    "instead of",
    "as opposed to",
    "anstatt",
    "anstelle von",
    "statt",
    "im gegensatz zu",
    "au lieu de",
    "plutôt que",
    "contrairement à",
    "à la différence de",
    "en lugar de",
    "en vez de",
    "a diferencia de",
    "em vez de",
    "ao invés de",
    "ao contrário de",
    "ao contrário da",
    "invece di",
    "a differenza di",
    "piuttosto che",
    "вместо",
    "в отличие от",
];

/// Last words of [`DENYING_PHRASES`].
static PHRASE_ENDS: Words =
    Words::new(&["than of to", "anstatt von statt zu", "de que à", "da di che", "вместо от"]);

/// Chinese denials and eliminations: `不` before a verb of choosing, or `不是` and similar words.
const CHINESE_DENIALS: &[&str] = &[
    "不是",
    "不应是",
    "不应该是",
    "不会是",
    "不可能是",
    "不为",
    "不选",
    "不选择",
    "不应选",
    "不应该选",
    "不能选",
    "不会选",
    "不可选",
    "而非",
    "并非",
    "排除",
    "排除了",
    "除了",
];
const CHINESE_BETWEEN: &[&str] = &["选项", "答案"];

/// Words that continue a denied list: `neither A nor B`.
static CONTINUATIONS: Words =
    Words::new(&["or nor / option the", "noch oder", "ni ou", "ni o", "nem ou", "né o", "ни или"]);

/// Maximum number of words between a denial and the option that it denies.
const WORDS_BETWEEN: usize = 4;

/// Maximum distance between two letters of one denied list, in bytes.
const MAX_GAP_BYTES: usize = 120;

/// Returns whether the option at `at` is denied: `not A`, `isn't option A`, `rather than A`, `不是A`. Also true if it
/// continues a denied list: `neither A nor B`. `denied` is the position of the last denied letter.
pub(crate) fn is_negated(lower: &str, at: usize, denied: Option<usize>) -> bool {
    let mut before = lower.get(..at).unwrap_or_default();
    for _ in 0..WORDS_BETWEEN {
        before = before.trim_end_matches(|character| is_blank(character) || is_opening(character));
        if before.as_bytes().last().is_some_and(|last| !last.is_ascii()) {
            for between in CHINESE_BETWEEN {
                before = before.strip_suffix(*between).unwrap_or(before);
            }
            if ends_with_any(before, CHINESE_DENIALS) {
                return true;
            }
        }
        let (rest, word) = split_last_word(before);
        if DENIALS.contains(word) || word.ends_with("n't") || ends_with_phrase(before, word) {
            return true;
        }
        let is_between = BETWEEN.contains(word)
            || OPTION_NOUNS.contains(word)
            || ARTICLES.contains(word)
            || LINKS.contains(word);
        if !is_between {
            break;
        }
        before = rest;
    }
    let denied = denied.filter(|denied| at - denied <= MAX_GAP_BYTES);
    denied.and_then(|denied| lower.get(denied + 1..at)).is_some_and(continues_list)
}

/// Returns whether a text ends with a phrase that denies what follows. `word` is its last word.
fn ends_with_phrase(before: &str, word: &str) -> bool {
    // The last word of most texts ends no phrase.
    if !PHRASE_ENDS.contains(word.rsplit_once('\'').map_or(word, |(_, last)| last)) {
        return false;
    }
    DENYING_PHRASES
        .iter()
        .any(|phrase| before.strip_suffix(*phrase).is_some_and(|before| !before.ends_with(is_word)))
}

/// Returns the end of the list that begins with the letter at `at`, if the words before it eliminate the list. Letters
/// separated only by commas form a list only if another letter follows them: in `I rule out B, A` the answer is A.
pub(crate) fn eliminated(lower: &str, at: usize) -> Option<usize> {
    let before = lower.get(..at)?.trim_end_matches(|character| is_space(character) || is_opening(character));
    let is_eliminated = match before.strip_suffix([':', '：']) {
        Some(before) => {
            let before =
                before.trim_end_matches(|character| is_space(character) || matches!(character, '*' | '_'));
            let word = split_last_word(before).1;
            WRONG.contains(word) || ends_with_any(before, EAST_ASIAN_WRONG)
        }
        None => {
            let (mut rest, mut word) = split_last_word(before);
            while matches!(word, "option" | "options" | "choice" | "choices" | "answer" | "both") {
                (rest, word) = split_last_word(rest.trim_end_matches(is_space));
            }
            let verb = || split_last_word(rest.trim_end_matches(is_space)).1;
            ELIMINATIONS.contains(word) || (word == "out" && RULINGS.contains(&verb()))
        }
    };
    let end = at + 1;
    let rest = lower.get(end..).filter(|_| is_eliminated)?;
    Some(match rest_of_list(rest) {
        Some((after, is_conjoined)) if is_conjoined || has_letter(after) => lower.len() - after.len(),
        _ => end,
    })
}

/// Returns whether a text contains a stand-alone letter.
fn has_letter(text: &str) -> bool {
    text.split(|character: char| !is_word(character) && character != '\'')
        .any(|word| word.len() == 1 && word.is_ascii())
}

/// Returns whether the text between two letters joins them into one list.
fn continues_list(between: &str) -> bool {
    let is_separator = |character: char| is_space(character) || matches!(character, '(' | ')');
    let mut words = between.split(is_separator).filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(|word| CONTINUATIONS.contains(word))
}

fn is_opening(character: char) -> bool {
    matches!(
        character,
        '*' | '_' | '\\' | '`' | '"' | '\'' | '(' | '[' | '{' | '<' | '$' | '【' | '「' | '『'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_denies() {
        for (lower, is_denied) in [
            ("it is not a", true),
            ("it isn't option (a", true),
            ("rather than a", true),
            ("more than a", false),
            ("not to be confused: a", false),
            ("不选选项a", true),
            ("选a", false),
        ] {
            assert_eq!(is_negated(lower, lower.len() - 1, None), is_denied, "{lower}");
        }
        assert!(is_negated("neither a nor b", 14, Some(8)));
        assert!(!is_negated("not a, but b", 11, Some(4)));
    }

    #[test]
    fn phrases_deny() {
        for phrase in DENYING_PHRASES {
            for lower in [format!("{phrase} a"), format!("x {phrase} the a"), format!("x'{phrase} a")] {
                assert!(is_negated(&lower, lower.len() - 1, None), "{lower}");
            }
            assert!(!is_negated(&format!("x{phrase} a"), phrase.len() + 2, None), "{phrase}");
        }
    }

    #[test]
    fn what_stands_before_eliminates_a_list() {
        for (lower, at, end) in [
            ("rule out b, c and d; a", 9, Some(19)),
            ("i rule out b, a", 11, Some(12)),
            ("wrong: b, right: a", 7, Some(8)),
            ("错误:b", 7, Some(8)),
            ("take b", 5, None),
        ] {
            assert_eq!(eliminated(lower, at), end, "{lower}");
        }
    }
}
