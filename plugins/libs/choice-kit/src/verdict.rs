//! Judgements after a letter: `A is wrong`, `A and C are not correct`, `B is right`, `A错误`, `B (correct)`.

use crate::characters::{is_blank, is_east_asian, is_word, split_last_word, word_at};
use crate::vocabulary::{
    ADVERBS, ARTICLES, DENIALS, EAST_ASIAN_ALL, EAST_ASIAN_BETWEEN, EAST_ASIAN_RIGHT, EAST_ASIAN_WRONG,
    JOINTS, LINKS, OPTION_NOUNS, RIGHT, WRONG, Words, strip_any,
};
use gage_text_kit::text::is_space;

/// Judgement of an answer about one of its letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The option is the answer.
    Right,
    /// The option is not the answer.
    Wrong,
    /// The statement of the option is true. The answer may be the true option or the false one.
    True,
    /// The statement of the option is false.
    False,
}

/// Verbs between a letter, or a list of letters, and the statement about it.
static VERBS: Words = Words::new(&[
    "is was seems looks would must can could should be being gets",
    "ist war scheint wäre kann muss scheidet",
    "est était semble serait peut",
    "es sería era está parece queda puede",
    "é está seria era parece fica pode",
    "è sarebbe era sembra va può",
]);
static VERBS_OF_SEVERAL: Words = Words::new(&[
    "are were",
    "sind waren scheiden",
    "sont étaient seraient",
    "son están eran quedan",
    "são estão eram ficam",
    "sono erano vanno",
]);
/// Verbs that contain a denial.
static DENYING_VERBS: Words = Words::new(&["isn't wasn't cannot can't couldn't wouldn't", "n'est"]);
static DENYING_VERBS_OF_SEVERAL: Words = Words::new(&["aren't weren't"]);
/// Verbs with the same form in singular and plural. For a list they count only if it has an `and`.
static VERBS_OF_ANY_NUMBER: Words =
    Words::new(&["would must can could should cannot can't couldn't wouldn't"]);
/// Verbs that only say what may be: `A could be right`. They do not call an option right.
static POSSIBILITIES: Words = Words::new(&[
    "seems looks would can could",
    "scheint wäre kann könnte",
    "semble serait peut",
    "sería parece puede",
    "seria parece pode",
    "sarebbe sembra può",
    "может",
]);

/// Words that call the statement of an option true or false.
static TRUE: Words = Words::new(&[
    "true",
    "wahr",
    "vrai vraie vraies",
    "verdadera verdadero verdaderas",
    "verdadeira verdadeiro",
    "vera vero vere",
]);
static FALSE: Words = Words::new(&["false untrue", "unwahr", "falsa falso falsas falsos"]);
static YES: Words = Words::new(&["yes", "ja", "oui", "sí", "sim", "sì", "да", "是"]);
static NO: Words = Words::new(&["no", "nein", "non", "não", "нет", "否"]);

/// Words that call an option wrong if they end the clause.
const EAST_ASIAN_DENIALS: &[&str] = &["不是", "不可能", "不选", "否"];
/// Words that call an option right if they end the clause.
const EAST_ASIAN_AGREEMENTS: &[&str] = &["对", "是对的", "為正解"];

/// Marks that call an option right or wrong.
const TICKS: &[char] = &['✅', '✓', '✔', '☑', '🟢'];
const CROSSES: &[char] = &['❌', '✗', '✘', '✖', '❎', '🔴'];

/// Words allowed after `wrong` or `right` if only a colon precedes it.
static REASONS: Words = Words::new(&[
    "because since as it this that due and but out answer option choice",
    "weil denn da antwort",
    "car parce puisque réponse",
    "porque ya pues respuesta",
    "porque pois resposta",
    "perché poiché risposta",
    "так потому ответ",
]);

/// Characters that join two letters as `and` does.
const EAST_ASIAN_JOINTS: [char; 8] = ['和', '与', '及', '或', 'と', '와', '과', '&'];

/// Maximum length of a bracketed text between a letter and the statement about it, in bytes: `B (Dolphin) is wrong`.
const MAX_BRACKET_BYTES: usize = 120;

/// Maximum number of letters in a list, and of words before the statement about them.
const MAX_LETTERS: usize = 10;
const MAX_WORDS: usize = 6;

/// Returns what the text after a letter says about it. `lower` is the text in lower case, and `end` the position after
/// the letter. A list counts only if the verb is plural or an `and` joins it: `A, B is wrong` is about B.
pub(crate) fn verdict(lower: &str, end: usize) -> Option<Verdict> {
    let mut rest = lower.get(end..)?;
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
    if let Some(said) = bracket(rest).and_then(|(held, _)| said(held)) {
        return Some(said);
    }
    let rest = bracket(rest).map_or(rest, |(_, after)| after.trim_start_matches(is_blank));
    // `A? No. B? Yes.`
    if let Some(after) = rest.strip_prefix(['?', '？']).map(|after| after.trim_start_matches(is_blank)) {
        let is_right = reply(after).map(|is_yes| if is_yes { Verdict::Right } else { Verdict::Wrong });
        return is_right.or_else(|| said(after));
    }
    if let Some(rest) = rest
        .strip_prefix([':', '：', '—', '–'])
        .or_else(|| rest.strip_prefix("- "))
        .or_else(|| rest.strip_prefix("->"))
    {
        return said(rest.trim_start_matches(is_blank));
    }
    stated(rest.trim_start_matches(is_space), list).or_else(|| stated_in_east_asian(rest, list))
}

/// Returns whether the text after a letter calls it wrong.
#[cfg(test)]
fn is_refuted(lower: &str, end: usize) -> bool {
    verdict(lower, end) == Some(Verdict::Wrong)
}

/// Returns what the text between two words of a sentence says about the letter between them, as German does: `also ist B
/// richtig`.
pub(crate) fn verdict_around(lower: &str, at: usize) -> Option<Verdict> {
    let before = lower.get(..at)?.trim_end_matches(|near| is_blank(near) || is_opening(near));
    if !LINKS.contains(split_last_word(before).1) {
        return None;
    }
    let after = lower.get(at + 1..)?.trim_start_matches(is_closing).trim_start_matches(is_blank);
    let (mut rest, mut is_denied) = (after, false);
    for _ in 0..MAX_WORDS {
        let word = word_at(rest, 0);
        rest = rest.get(word.len()..)?;
        if DENIALS.contains(word) {
            is_denied = true;
        } else if !ARTICLES.contains(word) {
            let ends = rest.is_empty() || rest.starts_with(['.', ',', ';', '!', '\n']);
            return verdict_of(word, is_denied).filter(|_| ends);
        }
        rest = rest.trim_start_matches(is_blank);
    }
    None
}

/// Returns what the marks around a line's label say: `❌ A. Keynes`, `B) noun ✅`, `C) Mars (correct)`,
/// `| D | Jupiter | no |`. `marks` are those around the label, `rest` is the text after them.
pub(crate) fn marked(marks: &str, rest: &str) -> Option<Verdict> {
    let mark = |character: char| match character {
        _ if TICKS.contains(&character) => Some(Verdict::Right),
        _ if CROSSES.contains(&character) => Some(Verdict::Wrong),
        _ => None,
    };
    let rest =
        rest.trim_end_matches(|character| is_space(character) || is_closing(character) || character == '|');
    let last = || rest.trim_end_matches('\u{fe0f}').chars().next_back().and_then(mark);
    let held = || {
        let from = rest.rfind(['(', '[', '（', '←', '—', '–', '|'])?;
        said(
            rest.get(from..)?
                .trim_start_matches(|near: char| !is_word(near) && !is_east_asian(near) || near == '（'),
        )
    };
    let cell = || {
        let cell = rest.rsplit_once('|').map_or(rest, |(_, cell)| cell).trim();
        let is_true = reply(cell).map(|is_yes| if is_yes { Verdict::True } else { Verdict::False });
        marks.contains('|').then(|| said(cell).or(is_true)).flatten()
    };
    marks.chars().find_map(mark).or_else(last).or_else(held).or_else(cell)
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

/// Returns whether a text begins with `yes` or `no`.
fn reply(text: &str) -> Option<bool> {
    let word = word_at(text, 0);
    if YES.contains(word) { Some(true) } else { NO.contains(word).then_some(false) }
}

/// Returns the verdict that is all a text says, apart from a reason: `wrong`, `not correct, since`, `错误。`
pub(crate) fn said(text: &str) -> Option<Verdict> {
    let mut rest = text;
    while let Some(after) = strip_any(rest, EAST_ASIAN_ALL).or_else(|| strip_any(rest, EAST_ASIAN_BETWEEN)) {
        rest = after;
    }
    let ends = |after: &str| is_clause_end(after.strip_prefix('的').unwrap_or(after));
    if let Some(after) = strip_any(rest, EAST_ASIAN_WRONG).or_else(|| strip_any(rest, EAST_ASIAN_DENIALS)) {
        return ends(after).then_some(Verdict::Wrong);
    }
    if let Some(after) = strip_any(rest, EAST_ASIAN_RIGHT).or_else(|| strip_any(rest, EAST_ASIAN_AGREEMENTS))
    {
        return ends(after).then_some(Verdict::Right);
    }
    let mut words = words_of_line(text).peekable();
    while words.next_if(|word| matches!(*word, "the" | "this" | "is")).is_some() {}
    let is_denied = words.next_if(|word| DENIALS.contains(word)).is_some();
    let found = verdict_of(words.next()?, is_denied)?;
    words.next().is_none_or(|next| REASONS.contains(next)).then_some(found)
}

/// Returns the verdict of one word.
fn verdict_of(word: &str, is_denied: bool) -> Option<Verdict> {
    match is_denied {
        // `Not wrong` does not mean `right`.
        false if TRUE.contains(word) => Some(Verdict::True),
        false if FALSE.contains(word) => Some(Verdict::False),
        _ if WRONG.contains(word) => (!is_denied).then_some(Verdict::Wrong),
        _ if !RIGHT.contains(word) => None,
        true => Some(Verdict::Wrong),
        false => Some(Verdict::Right),
    }
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
    let (mut is_joined, mut is_conjoined) = (false, false);
    for _ in 0..MAX_WORDS {
        rest = after_gap(rest);
        if !rest.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            if let Some(after) = rest.strip_prefix([',', '、', '，', '/']) {
                (rest, is_joined) = (after, true);
                continue;
            }
            if let Some(after) = rest.strip_prefix(EAST_ASIAN_JOINTS) {
                (rest, is_joined, is_conjoined) = (after, true, true);
                continue;
            }
        }
        let word = word_at(rest, 0);
        let after = rest.get(word.len()..)?;
        let is_article = || ARTICLES.contains(word) && (word.len() > 1 || is_letter_next(after));
        if JOINTS.contains(word) && (word.len() > 1 || is_letter_next(after)) {
            (rest, is_joined, is_conjoined) = (after, true, true);
        } else if is_joined && (OPTION_NOUNS.contains(word) || is_article()) {
            rest = after;
        } else {
            break;
        }
    }
    (is_joined && begins_with_letter(rest)).then(|| rest.get(1..)).flatten().map(|rest| (rest, is_conjoined))
}

/// Returns whether the first word of a text is a single letter.
fn begins_with_letter(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && word_at(text, 0).len() == 1
}

/// Maximum number of spaces and marks between two words of a list.
const MAX_GAP_CHARACTERS: usize = 12;

/// Returns the text after the spaces and marks at its beginning. If there are more than a list has, some remain.
fn after_gap(text: &str) -> &str {
    let is_gap = |character: char| is_space(character) || is_opening(character);
    if text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return text;
    }
    let gap =
        text.chars().take(MAX_GAP_CHARACTERS).take_while(|next| is_gap(*next)).map(char::len_utf8).sum();
    text.get(gap..).unwrap_or_default()
}

/// Returns whether the next word is a single letter.
fn is_letter_next(text: &str) -> bool {
    begins_with_letter(after_gap(text))
}

fn stated(text: &str, list: List) -> Option<Verdict> {
    let mut words = words(text);
    let mut verb = words.next()?;
    // The verb directly follows the last letter of a list: `C are wrong`. A denial may come first: `no es correcta`.
    let mut is_denied = DENIALS.contains(verb) || verb == "ne";
    let is_bare = is_cyrillic(text);
    if is_denied {
        verb = words.next()?;
    }
    let is_verb = |of_one: &Words, of_several: &Words| {
        of_several.contains(verb)
            || (of_one.contains(verb)
                && (list == List::None || (list == List::Conjoined && VERBS_OF_ANY_NUMBER.contains(verb))))
    };
    let is_denying = is_verb(&DENYING_VERBS, &DENYING_VERBS_OF_SEVERAL);
    if !is_bare && !is_denying && !is_verb(&VERBS, &VERBS_OF_SEVERAL) {
        return None;
    }
    is_denied |= is_denying;
    let is_possible = POSSIBILITIES.contains(verb);
    let first = Some(verb).filter(|_| is_bare);
    for word in first.into_iter().chain(words.take(MAX_WORDS)) {
        if DENIALS.contains(word) || DENYING_VERBS.contains(word) {
            is_denied = true;
        } else if let Some(found) = verdict_of(word, is_denied) {
            return Some(found).filter(|found| *found != Verdict::Right || !is_possible);
        } else if !ADVERBS.contains(word) && !LINKS.contains(word) {
            return None;
        }
    }
    None
}

/// Returns whether a text begins in Cyrillic, where no verb joins a subject to its predicate.
fn is_cyrillic(text: &str) -> bool {
    text.starts_with(|first: char| matches!(first, '\u{400}'..='\u{4ff}'))
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

fn stated_in_east_asian(text: &str, list: List) -> Option<Verdict> {
    let mut rest = text;
    let mut is_of_all = list != List::Loose;
    for _ in 0..MAX_WORDS {
        rest = rest.trim_start_matches(is_blank);
        if let Some(after) = strip_any(rest, EAST_ASIAN_ALL) {
            (rest, is_of_all) = (after, true);
        } else if let Some(after) = strip_any(rest, EAST_ASIAN_BETWEEN) {
            rest = after;
        } else {
            break;
        }
    }
    let begins = |words: &[&str]| strip_any(rest, words).is_some();
    let is_clause = |words: &[&str]| strip_any(rest, words).is_some_and(is_clause_end);
    if begins(EAST_ASIAN_WRONG) || is_clause(EAST_ASIAN_DENIALS) {
        return is_of_all.then_some(Verdict::Wrong);
    }
    let is_right = begins(EAST_ASIAN_RIGHT) || is_clause(EAST_ASIAN_AGREEMENTS);
    (is_right && is_of_all).then_some(Verdict::Right)
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
