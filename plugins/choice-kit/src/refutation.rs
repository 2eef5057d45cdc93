//! Letters of which an answer says, behind them, that they are wrong: `A is wrong`, `A and C are not
//! correct`, `A错误`, `A、C都不对`.

use crate::characters::{is_word, word_at};
use gage_text_kit::text::is_space;

/// Verbs between a letter, or a list of letters, and what is said of it.
const VERBS: &[&str] = &["is", "was", "seems", "looks", "would", "must", "can", "be", "being", "gets"];
const VERBS_OF_SEVERAL: &[&str] = &["are", "were"];
/// The same with a denial in them.
const DENYING_VERBS: &[&str] = &["isn't", "wasn't"];
const DENYING_VERBS_OF_SEVERAL: &[&str] = &["aren't", "weren't"];

/// Words that say that an option is wrong. `false` and `untrue` are not among them: of the statements of
/// a question the false one may be the answer.
const WRONG: &[&str] = &["wrong", "incorrect", "eliminated", "excluded"];
/// Words that say so where they are denied.
const RIGHT: &[&str] = &["correct", "right", "answer"];
/// What may stand before these words.
const ADVERBS: &[&str] = &[
    "also",
    "both",
    "all",
    "clearly",
    "definitely",
    "obviously",
    "therefore",
    "thus",
    "simply",
    "actually",
    "probably",
    "likely",
    "be",
    "the",
    "a",
    "an",
];
/// Words of a list.
const JOINTS: &[&str] = &["and", "or", "option", "choice"];

/// Chinese words that may stand between a letter and what is said of it, longer ones first.
const CHINESE_BETWEEN: &[&str] = &["选项", "显然", "肯定", "明显", "项", "也", "则", "是", "被"];
/// What says of a list that it is about all of it.
const CHINESE_ALL: &[&str] = &["全部", "都", "均", "皆", "全"];
/// What says that an option is wrong, none of it the beginning of something else.
const CHINESE_WRONG: &[&str] = &["错", "不对", "不正确", "不是正确", "不符合", "有误", "排除"];

/// How many letters may stand in a list, and how many words before what is said of them.
const MOST_LETTERS: usize = 8;
const MOST_WORDS: usize = 5;

/// Whether what follows a letter says that it is wrong. `lower` is the text in lower case, `end` the place
/// behind the letter. A list counts where the verb is one of several: `A, B is wrong` is about B.
pub(crate) fn is_refuted(lower: &str, end: usize) -> bool {
    let Some(mut rest) = lower.get(end..) else { return false };
    let mut is_list = false;
    for _ in 0..MOST_LETTERS {
        match next_letter(rest) {
            Some(after) => (rest, is_list) = (after, true),
            None => break,
        }
    }
    let rest = rest.trim_start_matches(is_closing);
    says_wrong(rest.trim_start_matches(is_space), is_list) || says_wrong_in_chinese(rest, is_list)
}

/// What follows the next letter of a list.
fn next_letter(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches(is_closing);
    let unjoined = rest.len();
    for _ in 0..MOST_WORDS {
        rest = rest.trim_start_matches(|character| is_space(character) || is_opening(character));
        let word = word_at(rest, 0);
        if JOINTS.contains(&word) {
            rest = rest.get(word.len()..)?;
        } else if let Some(after) = rest.strip_prefix([',', '、', '，', '和', '与', '及', '/', '&']) {
            rest = after;
        } else {
            break;
        }
    }
    let is_joined = rest.len() < unjoined;
    let word = word_at(rest, 0);
    let is_letter = word.len() == 1 && word.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (is_joined && is_letter).then(|| rest.get(1..)).flatten()
}

fn says_wrong(text: &str, is_list: bool) -> bool {
    let mut words = words(text);
    let Some(verb) = words.next() else { return false };
    // The last letter of a list has the verb right behind it: `C are wrong`.
    let is_verb = |of_one: &[&str], of_several: &[&str]| {
        of_several.contains(&verb) || (!is_list && of_one.contains(&verb))
    };
    let mut is_denied = is_verb(DENYING_VERBS, DENYING_VERBS_OF_SEVERAL);
    if !is_denied && !is_verb(VERBS, VERBS_OF_SEVERAL) {
        return false;
    }
    for word in words.take(MOST_WORDS) {
        match word {
            "not" if !is_denied => is_denied = true,
            _ if WRONG.contains(&word) => return !is_denied,
            _ if RIGHT.contains(&word) => return is_denied,
            _ if ADVERBS.contains(&word) => {}
            _ => return false,
        }
    }
    false
}

/// The words up to the end of the sentence or clause.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = word_at(rest, 0);
        rest = rest.get(word.len()..)?.trim_start_matches(is_space);
        (!word.is_empty()).then_some(word)
    })
}

fn says_wrong_in_chinese(text: &str, is_list: bool) -> bool {
    let mut rest = text;
    let mut is_of_all = false;
    for _ in 0..MOST_WORDS {
        if let Some(after) = CHINESE_ALL.iter().find_map(|all| rest.strip_prefix(*all)) {
            (rest, is_of_all) = (after, true);
        } else if let Some(after) = CHINESE_BETWEEN.iter().find_map(|word| rest.strip_prefix(*word)) {
            rest = after;
        } else {
            break;
        }
    }
    (is_of_all || !is_list) && CHINESE_WRONG.iter().any(|wrong| rest.starts_with(*wrong))
}

/// Whether a character may stand between a letter and what is said of it: `(A) is wrong`, `**A**错误`.
fn is_closing(character: char) -> bool {
    matches!(character, ')' | ']' | '}' | '*' | '_' | '`' | '"' | '\'' | '】' | '」' | '』')
}

fn is_opening(character: char) -> bool {
    !is_word(character) && matches!(character, '(' | '[' | '*' | '_' | '`' | '"' | '【' | '「' | '『')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letter_at_the_beginning_is_refuted() {
        for text in [
            "a is wrong",
            "a) is wrong",
            "a** is clearly incorrect",
            "a is not correct",
            "a is not the correct answer",
            "a isn't right",
            "a can be eliminated",
            "a and c are wrong",
            "a, b, and (c) are all incorrect",
            "a or option b aren't right",
            "a are wrong",
            "a错误",
            "a项错误",
            "a选项是错误的",
            "a】不正确",
            "a不对",
            "a、c、d都不对",
            "a和c均错误",
        ] {
            assert!(is_refuted(text, 1), "{text}");
        }
    }

    #[test]
    fn it_is_not() {
        for text in [
            "a",
            "a is right",
            "a is not wrong",
            "a isn't wrong",
            "a is false",
            "a is the option that is wrong",
            "a is not only right",
            "a, b is wrong",
            "a. b is wrong",
            "a because b is wrong",
            "a and c is wrong",
            "a, not b",
            "a: incorrect",
            "a正确，b错误",
            "a、b错误",
            "a是正确的",
            "a，错误的是b",
            "a is",
            "a isn't",
        ] {
            assert!(!is_refuted(text, 1), "{text}");
        }
        assert!(!is_refuted("a", 7));
    }
}
