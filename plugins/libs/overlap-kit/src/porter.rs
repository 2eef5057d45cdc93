//! Stemming of English words: the Porter algorithm with the departures that NLTK has by default, since the
//! `rouge-score` package stems with it.
//!
//! Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The crate `rust-stemmers` has only Porter's later
//! algorithm, Snowball English, which gives other stems.

use std::borrow::Cow;

/// Words that the rules would spoil.
const IRREGULAR: [(&str, &str); 16] = [
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("inning", "inning"),
    ("innings", "inning"),
    ("outing", "outing"),
    ("outings", "outing"),
    ("canning", "canning"),
    ("cannings", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// Returns the stem of a word in lower case. Words of up to three letters, and words with anything but ASCII letters
/// and digits, stay as they are.
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() <= 3 || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(word);
    }
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return Cow::Borrowed(stem);
    }
    let mut stem = word.to_owned();
    plural(&mut stem);
    past_and_progressive(&mut stem);
    final_y(&mut stem);
    double_suffixes(&mut stem);
    apply(&mut stem, &ADJECTIVES, 1);
    last_suffixes(&mut stem);
    final_e(&mut stem);
    if stem.ends_with("ll") && Letters::of(but_last(&stem, 1)).measure > 1 {
        stem.pop();
    }
    Cow::Owned(stem)
}

/// Properties of a stem that the rules test.
struct Letters {
    /// Number of times a consonant follows a vowel; the `m` of the paper.
    measure: usize,
    has_vowel: bool,
    /// True for each of the last three letters that is a consonant; the last letter comes first.
    consonants: [Option<bool>; 3],
}

impl Letters {
    fn of(stem: &str) -> Letters {
        let mut letters = Letters { measure: 0, has_vowel: false, consonants: [None; 3] };
        for letter in stem.bytes() {
            let [last, before, _] = letters.consonants;
            let consonant = match letter {
                b'a' | b'e' | b'i' | b'o' | b'u' => false,
                b'y' => last != Some(true),
                _ => true,
            };
            letters.measure += usize::from(consonant && last == Some(false));
            letters.has_vowel |= !consonant;
            letters.consonants = [Some(consonant), last, before];
        }
        letters
    }

    fn ends_in_consonant(&self) -> bool {
        self.consonants[0] == Some(true)
    }
}

/// Returns whether the stem ends in consonant, vowel and consonant, the last not w, x or y; or is a vowel and a
/// consonant.
fn is_short(stem: &str) -> bool {
    match Letters::of(stem).consonants {
        [Some(true), Some(false), Some(true)] => !stem.ends_with(['w', 'x', 'y']),
        [Some(true), Some(false), None] => true,
        _ => false,
    }
}

fn but_last(word: &str, count: usize) -> &str {
    word.get(..word.len().saturating_sub(count)).unwrap_or_default()
}

/// Replaces the last letters with an ending.
fn replace(word: &mut String, letters: usize, ending: &str) {
    word.truncate(word.len().saturating_sub(letters));
    word.push_str(ending);
}

/// Replaces the first suffix in a list that the word has, if the measure of the rest is large enough. Tries no other
/// suffix.
fn apply(word: &mut String, rules: &[(&str, &str)], smallest_measure: usize) {
    let Some((suffix, ending)) = rules.iter().find(|(suffix, _)| word.ends_with(suffix)) else { return };
    if Letters::of(but_last(word, suffix.len())).measure >= smallest_measure {
        replace(word, suffix.len(), ending);
    }
}

/// Step 1a.
fn plural(word: &mut String) {
    if word.len() == 4 && word.ends_with("ies") {
        return replace(word, 3, "ie");
    }
    apply(word, &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")], 0);
}

/// Step 1b.
fn past_and_progressive(word: &mut String) {
    if word.ends_with("ied") {
        let ending = if word.len() == 4 { "ie" } else { "i" };
        return replace(word, 3, ending);
    }
    if word.ends_with("eed") {
        return apply(word, &[("eed", "ee")], 1);
    }
    let suffix = ["ed", "ing"]
        .into_iter()
        .find(|suffix| word.strip_suffix(suffix).is_some_and(|stem| Letters::of(stem).has_vowel));
    let Some(suffix) = suffix else { return };
    replace(word, suffix.len(), "");
    let letters = Letters::of(word);
    if ["at", "bl", "iz"].iter().any(|ending| word.ends_with(ending)) {
        word.push('e');
    } else if letters.ends_in_consonant() && ends_in_double_letter(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
    } else if letters.measure == 1 && is_short(word) {
        word.push('e');
    }
}

fn ends_in_double_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [.., before, last] if before == last)
}

/// Step 1c.
fn final_y(word: &mut String) {
    let is_ending =
        word.strip_suffix('y').is_some_and(|stem| stem.len() > 1 && Letters::of(stem).ends_in_consonant());
    if is_ending {
        replace(word, 1, "i");
    }
}

const DOUBLE_SUFFIXES: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];

/// Step 2.
fn double_suffixes(word: &mut String) {
    if word.ends_with("alli") && Letters::of(but_last(word, 4)).measure > 0 {
        replace(word, 4, "al");
    }
    if word.ends_with("logi") {
        // The l counts as part of the stem, so that short ones like "geo" lose the ending too.
        if Letters::of(but_last(word, 3)).measure > 0 {
            word.pop();
        }
        return;
    }
    apply(word, &DOUBLE_SUFFIXES, 1);
}

/// Step 3.
const ADJECTIVES: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

const LAST_SUFFIXES: [(&str, &str); 18] = [
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ou", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
];

/// Step 4.
fn last_suffixes(word: &mut String) {
    match word.strip_suffix("ion") {
        Some(stem) => {
            if stem.ends_with(['s', 't']) && Letters::of(stem).measure > 1 {
                replace(word, 3, "");
            }
        }
        None => apply(word, &LAST_SUFFIXES, 2),
    }
}

/// Step 5a.
fn final_e(word: &mut String) {
    let goes = word.strip_suffix('e').is_some_and(|stem| match Letters::of(stem).measure {
        0 => false,
        1 => !is_short(stem),
        _ => true,
    });
    if goes {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stems() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "tie"),
            ("died", "die"),
            ("spied", "spi"),
            ("feed", "feed"),
            ("agreed", "agre"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("enjoy", "enjoy"),
            ("relational", "relat"),
            ("rationally", "ration"),
            ("geology", "geolog"),
            ("hopefulness", "hope"),
            ("adoption", "adopt"),
            ("replacement", "replac"),
            ("controlling", "control"),
            ("skies", "sky"),
            ("cats", "cat"),
            ("was", "was"),
            ("yyyyed", "yyyi"),
            ("naïves", "naïves"),
            ("2000s", "2000"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_word_has_a_stem_that_is_no_longer(word in "[a-z0-9]{0,12}(ed|ing|ies|ational|y|alli|)") {
            let stem = stem(&word);
            prop_assert!(!stem.is_empty() || word.is_empty());
            prop_assert!(stem.len() <= word.len());
        }
    }
}
