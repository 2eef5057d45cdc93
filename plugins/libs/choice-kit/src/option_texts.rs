//! Answers that give the text of an option instead of its label.

use crate::characters::{begins_with, is_word};
use crate::choices::Choices;
use crate::denial::is_negated;
use crate::letters::Answer;
use crate::scan::leading;

/// Returns the option whose text an answer begins with. The longest one wins.
pub(crate) fn prefix(text: &str, choices: &Choices) -> Option<String> {
    choices
        .texts()
        .filter(|(_, option)| begins_with(text, option).is_some_and(|after| ends(option, after)))
        .max_by_key(|(_, option)| option.len())
        .map(|(label, _)| label.to_owned())
}

/// Returns the first option whose text occurs in an answer. Longer texts come first, and a text inside a longer one
/// does not count: `blue whale` is not `whale`.
pub(crate) fn mentioned(answer: &Answer<'_>, choices: &Choices) -> Option<String> {
    let text = answer.compared(choices);
    let mut options: Vec<(usize, &str, &str)> =
        choices.texts().enumerate().map(|(order, (label, option))| (order, label, option)).collect();
    options.sort_by_key(|(_, _, option)| std::cmp::Reverse(option.len()));
    // In the order of the text. Spans overlap only if they are equal.
    let mut taken: Vec<Span> = Vec::new();
    let mut found: Option<(usize, &str)> = None;
    let places = places(&text, options.iter().map(|(.., option)| *option).collect());
    for ((order, label, option), starts) in options.iter().zip(places) {
        let mut own: Vec<Span> = Vec::new();
        let mut longer = taken.iter().peekable();
        for start in starts {
            let span = (start, start + option.len());
            while longer.next_if(|longer| longer.1 <= span.0).is_some() {}
            let inside_longer = longer.peek().is_some_and(|longer| **longer != span && longer.0 < span.1);
            if inside_longer || !has_borders(&text, start, option) {
                continue;
            }
            own.push(span);
            let is_earlier = found.is_none_or(|(earlier, _)| *order < earlier);
            if is_earlier && !is_negated(&text, start, None) {
                found = Some((*order, *label));
            }
        }
        if matches!(found, Some((0, _))) {
            break;
        }
        taken = merged(&taken, &own);
    }
    found.map(|(_, label)| label.to_owned())
}

/// Maximum number of matches per option, from the beginning of the answer. No meaningful answer has more.
const MAX_MENTIONS: usize = 10_000;

/// Returns the positions of each option in a text. Matches of one option do not overlap. A single pass over the text,
/// regardless of the number of options.
fn places(text: &str, options: Vec<&str>) -> Vec<Vec<usize>> {
    // For each byte, the options that begin with it and are still being searched for.
    let mut beginning: Vec<Vec<usize>> = vec![Vec::new(); 256];
    // Most places of a text begin with the first byte of no option, or go on with the second byte of none.
    let (mut others, mut seconds) = ([true; 256], [false; 256]);
    for (number, option) in options.iter().enumerate() {
        let Some(first) = option.as_bytes().first().map(|first| usize::from(*first)) else { continue };
        beginning.get_mut(first).into_iter().for_each(|numbers| numbers.push(number));
        others[first] = false;
        match option.as_bytes().get(1) {
            Some(second) => seconds[usize::from(*second)] = true,
            None => seconds = [true; 256],
        }
    }
    let mut places = vec![Vec::new(); options.len()];
    let (bytes, mut at) = (text.as_bytes(), 0);
    while let Some(rest) = bytes.get(at..) {
        let start = at + leading(rest, &others);
        at = start + 1;
        let Some(first) = bytes.get(start).map(|first| usize::from(*first)) else { break };
        if !seconds[usize::from(bytes.get(at).copied().unwrap_or_default())] {
            continue;
        }
        let Some(numbers) = beginning.get_mut(first) else { continue };
        numbers.retain(|number| {
            let (Some(option), Some(places)) = (options.get(*number), places.get_mut(*number)) else {
                return false;
            };
            let is_free = places.last().is_none_or(|last| last + option.len() <= start);
            if is_free && bytes.get(start..).is_some_and(|rest| rest.starts_with(option.as_bytes())) {
                places.push(start);
            }
            places.len() < MAX_MENTIONS
        });
        others[first] = numbers.is_empty();
    }
    places
}

/// Start and end of a range in a text.
type Span = (usize, usize);

/// Merges two ordered lists of spans. Spans in both lists appear once.
fn merged(left: &[Span], right: &[Span]) -> Vec<Span> {
    let mut all = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) if one > other => right.next(),
            (Some(one), Some(other)) if one == other => {
                right.next();
                left.next()
            }
            (Some(_), _) => left.next(),
            (None, _) => right.next(),
        };
        match next {
            Some(span) => all.push(*span),
            None => return all,
        }
    }
}

/// Returns whether an option at `start` is not part of a longer word or number.
fn has_borders(text: &str, start: usize, option: &str) -> bool {
    let (before, rest) = text.split_at(start);
    let after = rest.get(option.len()..).unwrap_or_default();
    let mut before = before.chars().rev();
    let Some(first) = option.chars().next() else { return false };
    let starts = match (before.next(), before.next()) {
        (None, _) => true,
        (Some(near), _) if is_word(first) && is_word(near) => false,
        // `1.5` does not contain `5`, and neither does `-5`; but `3-5` may.
        (Some('.' | ','), Some(far)) if first.is_numeric() && far.is_numeric() => false,
        (Some('-'), far) if first.is_numeric() && !far.is_some_and(is_word) => false,
        _ => true,
    };
    starts && ends(option, after.chars())
}

/// Returns whether an option ends its word or number, given the characters after it.
fn ends(option: &str, mut after: impl Iterator<Item = char>) -> bool {
    let Some(last) = option.chars().next_back() else { return false };
    match (after.next(), after.next()) {
        (None, _) => true,
        (Some(near), _) if is_word(last) && is_word(near) => false,
        (Some('.' | ','), Some(far)) if last.is_numeric() && far.is_numeric() => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn choices(json: &str) -> Choices {
        Choices::new(&Value::Json(json.to_owned()))
    }

    fn said(text: &str, choices: &Choices) -> Option<String> {
        mentioned(&Answer::new(text), choices)
    }

    #[test]
    fn the_sigma_of_an_option_may_end_a_word() {
        let streets = choices(r#"{"A":"ΟΔΟΣ","B":"αβγ","C":"ΣΟΣ"}"#);
        for (text, expected) in [("η οδος", "A"), ("η  ΟΔΟΣ", "A"), ("ΣΟΣ", "C"), ("ΟΣ ΑΒΓ", "B")]
        {
            assert_eq!(said(text, &streets).as_deref(), Some(expected), "{text}");
        }
        let letters = choices(r#"{"A":"x","B":"αβγ"}"#);
        assert_eq!(said("ΟΣ  ΑΒΓ İ", &letters).as_deref(), Some("B"));
        assert_eq!(said("ΟΣ ΑΒΓ", &letters).as_deref(), Some("B"));
    }

    #[test]
    fn longer_texts_win() {
        let animals = choices(r#"{"A":"whale","B":"blue whale","C":"1","D":"12"}"#);
        for (text, expected) in [
            ("It is the blue whale.", Some("B")),
            ("It is the whale.", Some("A")),
            ("the whale, not the blue whale", Some("A")),
            ("the number 12", Some("D")),
            ("the number 1", Some("C")),
            ("the number 1.5", None),
            ("the number -1", None),
            ("whales", None),
        ] {
            assert_eq!(said(text, &animals).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn chinese_texts_need_no_borders() {
        let animals = choices(r#"{"A":"鲨鱼","B":"海豚"}"#);
        assert_eq!(said("应该是海豚", &animals).as_deref(), Some("B"));
        assert_eq!(said("不是鲨鱼，是海豚", &animals).as_deref(), Some("B"));
    }

    #[test]
    fn whole_answers() {
        let numbers = choices(r#"{"A":"5","B":".5","C":"-5","D":"(5)"}"#);
        assert_eq!(numbers.with_text(".5").as_deref(), Some("B"));
        assert_eq!(numbers.with_text("-5.").as_deref(), Some("C"));
        assert_eq!(numbers.with_text("(5)").as_deref(), Some("D"));
        assert_eq!(numbers.with_text("[5]"), None);
    }
}
