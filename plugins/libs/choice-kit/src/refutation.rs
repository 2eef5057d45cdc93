//! Letters that an answer then calls wrong: `A is wrong`, `A and C are not correct`, `A错误`, `A、C都不对`.

use crate::characters::{is_word, word_at};
use gage_text_kit::text::is_space;

/// Verbs between a letter, or a list of letters, and the statement about it.
const VERBS: &[&str] =
    &["is", "was", "seems", "looks", "would", "must", "can", "could", "should", "be", "being", "gets"];
const VERBS_OF_SEVERAL: &[&str] = &["are", "were"];
/// Verbs that contain a denial.
const DENYING_VERBS: &[&str] = &["isn't", "wasn't", "cannot", "can't", "couldn't", "wouldn't"];
const DENYING_VERBS_OF_SEVERAL: &[&str] = &["aren't", "weren't"];
/// Verbs with the same form in singular and plural. For a list they count only if it has an `and`.
const VERBS_OF_ANY_NUMBER: &[&str] =
    &["would", "must", "can", "could", "should", "cannot", "can't", "couldn't", "wouldn't"];

/// Words that call an option wrong. `false` and `untrue` are excluded: if the options are statements, the false one may
/// be the answer.
pub(crate) const WRONG: &[&str] =
    &["wrong", "incorrect", "eliminated", "excluded", "ruled", "rejected", "dismissed", "discarded"];
/// Words that call an option wrong when they are denied.
const RIGHT: &[&str] = &["correct", "right", "answer"];
/// Adverbs allowed before these words.
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
/// Words that join a list.
const JOINTS: &[&str] = &["and", "or", "option", "choice"];

/// Chinese words allowed between a letter and the statement about it, longer ones first.
const CHINESE_BETWEEN: &[&str] = &["选项", "显然", "肯定", "明显", "项", "也", "则", "是", "被"];
/// Words that apply a statement to a whole list.
const CHINESE_ALL: &[&str] = &["全部", "都", "均", "皆", "全"];
/// Words that call an option wrong, longer ones first. None of them is the beginning of another meaning.
const CHINESE_WRONG: &[&str] = &[
    "错误",
    "错",
    "不对",
    "不正确",
    "不是正确",
    "不是对",
    "不符合",
    "不成立",
    "不准确",
    "不恰当",
    "不合适",
    "有误",
    "排除",
];
/// Words that call an option wrong if they end the clause.
const CHINESE_DENIALS: &[&str] = &["不是", "不可能", "不选", "否"];
/// Words allowed after `wrong` if only a colon precedes it.
const REASONS: &[&str] = &["because", "since", "as", "it", "this", "that", "due", "and", "but"];

/// Maximum length of a bracketed text between a letter and the statement about it, in bytes: `B (Dolphin) is wrong`.
const MAX_BRACKET_BYTES: usize = 120;

/// Maximum number of letters in a list, and of words before the statement about them.
const MAX_LETTERS: usize = 8;
const MAX_WORDS: usize = 5;

/// Returns whether the text after a letter calls it wrong. `lower` is the text in lower case, and `end` the position
/// after the letter. A list counts only if the verb is plural or an `and` joins it: `A, B is wrong` is about B.
pub(crate) fn is_refuted(lower: &str, end: usize) -> bool {
    let Some(mut rest) = lower.get(end..) else { return false };
    let mut list = List::None;
    for _ in 0..MAX_LETTERS {
        match next_letter(rest) {
            Some((after, is_conjoined)) => {
                rest = after;
                list = if is_conjoined { List::Conjoined } else { List::Loose };
            }
            None => break,
        }
    }
    let rest = rest.trim_start_matches(is_closing);
    let rest = rest.trim_start_matches(is_blank);
    if bracket(rest).is_some_and(|(held, _)| is_said_wrong(held)) {
        return true;
    }
    let rest = bracket(rest).map_or(rest, |(_, after)| after.trim_start_matches(is_blank));
    // `A? No. B? Yes.`
    if let Some(said) = rest.strip_prefix(['?', '？']).map(|said| said.trim_start_matches(is_blank)) {
        return word_at(said, 0) == "no" || is_said_wrong(said);
    }
    if let Some(said) =
        rest.strip_prefix([':', '：']).or_else(|| rest.strip_prefix("- ")).or_else(|| rest.strip_prefix('—'))
    {
        return is_said_wrong(said.trim_start_matches(is_blank));
    }
    says_wrong(rest.trim_start_matches(is_space), list) || says_wrong_in_chinese(rest, list)
}

/// Form of the letters before a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// A single letter.
    None,
    /// Several letters separated by commas.
    Loose,
    /// Several letters, with `and` before the last.
    Conjoined,
}

/// Returns whether a text only calls something wrong, or also gives the reason: `wrong`, `not correct, since`, `错误。`
pub(crate) fn is_said_wrong(text: &str) -> bool {
    let mut rest = text;
    while let Some(after) =
        CHINESE_ALL.iter().chain(CHINESE_BETWEEN).find_map(|word| rest.strip_prefix(*word))
    {
        rest = after;
    }
    let chinese = CHINESE_WRONG.iter().chain(CHINESE_DENIALS).find_map(|wrong| rest.strip_prefix(*wrong));
    if let Some(after) = chinese {
        return is_clause_end(after.strip_prefix('的').unwrap_or(after));
    }
    let mut said = words_of_line(text).peekable();
    let is_denied = said.next_if_eq(&"not").is_some();
    let found = match said.next() {
        Some(word) if WRONG.contains(&word) => !is_denied,
        Some(word) if RIGHT.contains(&word) => is_denied,
        _ => false,
    };
    found && said.next().is_none_or(|next| REASONS.contains(&next) || next == "out")
}

/// Returns whether a clause ends at the beginning of a text.
fn is_clause_end(text: &str) -> bool {
    text.chars().next().is_none_or(|next| is_space(next) || (!next.is_alphanumeric() && next != '\''))
}

/// Returns the content of the brackets at the beginning of a text, and the text after them.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['(', '[', '（'])?;
    let near = inner.get(..inner.floor_char_boundary(MAX_BRACKET_BYTES + 1))?;
    let end = near.find([')', ']', '）', '(', '\n']).filter(|end| *end <= MAX_BRACKET_BYTES)?;
    let (held, rest) = inner.split_at_checked(end)?;
    Some((held.trim(), rest.strip_prefix([')', ']', '）'])?))
}

/// Returns the text after the rest of a list of letters, and whether `and` joins the list. `None` if the list has no
/// further letter.
pub(crate) fn rest_of_list(text: &str) -> Option<(&str, bool)> {
    let mut found = None;
    let mut rest = text;
    for _ in 0..MAX_LETTERS {
        let Some((after, is_conjoined)) = next_letter(rest) else { break };
        (rest, found) = (after, Some((after, is_conjoined)));
    }
    found
}

/// Returns the text after the next letter of a list, and whether `and` or a similar word joins the letter to the
/// previous one.
fn next_letter(text: &str) -> Option<(&str, bool)> {
    let mut rest = text.trim_start_matches(is_closing);
    let unjoined = rest.len();
    let mut is_conjoined = false;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start_matches(|character| is_space(character) || is_opening(character));
        let word = word_at(rest, 0);
        if JOINTS.contains(&word) {
            is_conjoined |= matches!(word, "and" | "or");
            rest = rest.get(word.len()..)?;
        } else if let Some(after) = rest.strip_prefix([',', '、', '，', '/']) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(['和', '与', '及', '&']) {
            (rest, is_conjoined) = (after, true);
        } else {
            break;
        }
    }
    let is_joined = rest.len() < unjoined;
    let word = word_at(rest, 0);
    let is_letter = word.len() == 1 && word.starts_with(|letter: char| letter.is_ascii_alphabetic());
    (is_joined && is_letter).then(|| rest.get(1..)).flatten().map(|rest| (rest, is_conjoined))
}

fn says_wrong(text: &str, list: List) -> bool {
    let mut words = words(text);
    let Some(verb) = words.next() else { return false };
    // The verb directly follows the last letter of a list: `C are wrong`.
    let is_verb = |of_one: &[&str], of_several: &[&str]| {
        of_several.contains(&verb)
            || (of_one.contains(&verb)
                && (list == List::None || (list == List::Conjoined && VERBS_OF_ANY_NUMBER.contains(&verb))))
    };
    let mut is_denied = is_verb(DENYING_VERBS, DENYING_VERBS_OF_SEVERAL);
    if !is_denied && !is_verb(VERBS, VERBS_OF_SEVERAL) {
        return false;
    }
    for word in words.take(MAX_WORDS) {
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

/// Returns the words up to the end of the sentence or clause.
fn words(text: &str) -> impl Iterator<Item = &str> {
    words_between(text, is_space)
}

/// Returns the words up to the end of the line.
fn words_of_line(text: &str) -> impl Iterator<Item = &str> {
    words_between(text, is_blank)
}

fn words_between(text: &str, is_between: fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let word = word_at(rest, 0);
        rest = rest.get(word.len()..)?.trim_start_matches(is_between);
        (!word.is_empty()).then_some(word)
    })
}

fn says_wrong_in_chinese(text: &str, list: List) -> bool {
    let mut rest = text;
    let mut is_of_all = list != List::Loose;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start_matches(is_blank);
        if let Some(after) = CHINESE_ALL.iter().find_map(|all| rest.strip_prefix(*all)) {
            (rest, is_of_all) = (after, true);
        } else if let Some(after) = CHINESE_BETWEEN.iter().find_map(|word| rest.strip_prefix(*word)) {
            rest = after;
        } else {
            break;
        }
    }
    let is_denied =
        || CHINESE_DENIALS.iter().any(|denial| rest.strip_prefix(*denial).is_some_and(is_clause_end));
    is_of_all && (CHINESE_WRONG.iter().any(|wrong| rest.starts_with(*wrong)) || is_denied())
}

/// Returns whether a character is white space within a line.
fn is_blank(character: char) -> bool {
    is_space(character) && !matches!(character, '\n' | '\r')
}

/// Returns whether a character may come between a letter and the statement about it: `(A) is wrong`, `**A**错误`.
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
            "a 不正确，b 正确",
            "a 错误，b 正确",
            "a 是错误的",
            "a 项错误",
            "a) 不正确",
            "a 不是，b 是",
            "a:不正确;b:正确",
            "a:错。b:对。",
            "a、c 都不对，b 对",
            "a和c错误，b正确",
            "a(dolphin)错误，b(shark)正确",
            "a (dolphin) is wrong",
            "a: wrong\nb: correct",
            "a? no. b? yes",
            "a? 不是，b",
            "a: not correct, since",
            "a - incorrect",
            "a (incorrect)",
            "a cannot be right; b",
            "a can't be the answer",
            "a can be ruled out; b",
            "a and c can be ruled out",
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
            "a: wrong side of the road",
            "a: 错过",
            "a: right",
            "a? yes. b? no",
            "a\n错误",
            "a (right) is not wrong",
            "a不是错误的",
            "a, b can be ruled out",
            "a、b 错误",
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
