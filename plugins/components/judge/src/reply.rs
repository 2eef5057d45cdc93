//! A judge model's own words, without its thoughts and quotes.

use crate::material::Material;
use gage_sdk::PluginError;
use gage_sdk::judge::{Generation, Verdict};
use gage_sdk::message::FinishReason;
use gage_sdk::serde_json::Value;
use gage_sdk::text::strip_thought_tags;
use gage_text_kit::text::{excerpt, strip};
use std::borrow::Cow;

/// Returns the verdict of a judge that asks once, parsed by `read`.
pub(crate) fn single_verdict(
    replies: &[Generation],
    read: impl FnOnce(&Generation) -> Result<Value, String>,
) -> Result<Verdict, PluginError> {
    let [reply] = replies else {
        return Err(PluginError::invalid_input(format!("one reply is needed, not {}", replies.len())));
    };
    Ok(read(reply).map_or_else(Verdict::Unparseable, Verdict::Output))
}

/// Returns a reply's own words: without thoughts, without text inside the prompt's fence, and without lines marked as
/// quotations (`> …`).
///
/// # Errors
/// Says why there are no usable words: the reply was cut off, refused or is empty.
pub(crate) fn own_words(reply: &Generation, material: &Material) -> Result<String, String> {
    match reply.finish {
        FinishReason::Length => return Err("the reply was cut off at its token limit".to_owned()),
        FinishReason::ContentFilter => return Err("the reply was held back by a content filter".to_owned()),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => {}
    }
    let said = without_thoughts(&reply.answer, material);
    let lines = material.fence.unquoted(&said);
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim_start().starts_with('>')).collect();
    let words = lines.join("\n");
    if strip(&words).is_empty() { Err("the reply is empty".to_owned()) } else { Ok(words) }
}

/// Names of thought tags.
const THOUGHT_TAGS: [&str; 4] = ["think", "thinking", "thought", "reflection"];

/// Returns the reply without thoughts. If a judged text itself has thought tags, a tag in the reply may be quoted from
/// it, and could hide the verdict before it. In that case only a thought at the beginning of the reply counts.
fn without_thoughts<'reply>(reply: &'reply str, material: &Material) -> Cow<'reply, str> {
    if !material.texts().any(|text| strip_thought_tags(text) != text.trim()) {
        return Cow::Owned(strip_thought_tags(reply));
    }
    let reply = strip(reply);
    let said = THOUGHT_TAGS.iter().find_map(|tag| {
        let thought = reply.strip_prefix(&format!("<{tag}>"))?;
        Some(thought.split_once(&format!("</{tag}>")).map_or("", |(_, said)| said))
    });
    Cow::Borrowed(said.unwrap_or(reply))
}

/// A position of a reply that has the form of a verdict.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LineReading<T> {
    /// The verdict, or the problem with it.
    pub(crate) value: Result<T, String>,
    /// True if the judged texts contain the same, so that it may be a quotation.
    pub(crate) echoed: bool,
}

/// Maximum number of verdict forms in a reply. With more there is no verdict, and parsing would take time proportional
/// to the product of the lengths of reply and answer.
pub(crate) const MAX_READINGS: usize = 64;

/// Returns the verdict of a reply: the last reading. Earlier ones must agree, except those that the judge may have
/// quoted. If the last one may be a quotation itself, all must agree.
///
/// # Errors
/// Says why there is no verdict: none was given, the last one is malformed, or two contradict each other. `name` names
/// the verdict in the message.
pub(crate) fn settle<T: PartialEq>(name: &str, mut readings: Vec<LineReading<T>>) -> Result<T, String> {
    if readings.len() > MAX_READINGS {
        return Err(format!("the reply has more than {MAX_READINGS} values for {name}"));
    }
    let last = readings.pop().ok_or_else(|| format!("the reply has no {name}"))?;
    let value = last.value?;
    let contradicts = |earlier: &LineReading<T>| {
        (last.echoed || !earlier.echoed) && earlier.value.as_ref().is_ok_and(|earlier| *earlier != value)
    };
    if readings.iter().any(contradicts) {
        return Err(format!("the reply has contradicting values for {name}"));
    }
    Ok(value)
}

/// Returns the text after a key and a colon, for each line that begins with a key: `SCORE: 1.0`, `**Score**: 1.0`.
///
/// `keys` are those of the whole form, and `key` is one of them. A line may hold several items if each of the further
/// ones is numbered: `1) CORRECT: A 2) SCORE: 1.0`. A line in quotation marks does not count.
pub(crate) fn values<'text>(
    text: &'text str,
    keys: &'text [&'text str],
    key: &'text str,
) -> impl Iterator<Item = &'text str> {
    let begins = move |line: &&str| keys.iter().any(|key| value_of(line, key).is_some());
    let lines = text.lines().filter(begins);
    lines.flat_map(move |line| items(line, keys)).filter_map(move |item| value_of(item, key))
}

/// Returns what [`values`] returns, and numbered items in the middle of any line. A judge may quote these too.
fn quotable_values<'text>(
    text: &'text str,
    keys: &'text [&'text str],
    key: &'text str,
) -> impl Iterator<Item = &'text str> {
    text.lines().flat_map(move |line| items(line, keys)).filter_map(move |item| value_of(item, key))
}

/// Returns the text after a key and a colon at the beginning of an item. The key may be in any case. List signs,
/// numbers, headings and bold marks are removed.
pub(crate) fn value_of<'text>(item: &'text str, key: &str) -> Option<&'text str> {
    let (begin, rest) = without_list_sign(item).split_at_checked(key.len())?;
    let rest = begin.eq_ignore_ascii_case(key).then_some(rest)?.trim_start_matches(is_decoration);
    Some(rest.strip_prefix([':', '：'])?.trim_matches(is_decoration))
}

/// Returns the item of a list without its sign or number: `- `, `1) `, `2. `, `(3) `.
pub(crate) fn without_list_sign(item: &str) -> &str {
    let is_sign = |sign: char| is_decoration(sign) || matches!(sign, '#' | '-' | '•');
    let item = item.trim_start_matches(is_sign);
    match number_length(item).and_then(|length| item.get(length..)) {
        Some(rest) => rest.trim_start_matches(is_sign),
        None => item,
    }
}

/// Returns the length in bytes of the number of a list item, with the sign after it.
fn number_length(text: &str) -> Option<usize> {
    /// No form has more items than this number of digits can count.
    const MAX_DIGITS: usize = 2;
    let digits = text.strip_prefix(['(', '（']).unwrap_or(text);
    let after = digits.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let is_number = (1..=MAX_DIGITS).contains(&(digits.len() - after.len()));
    let rest = after.strip_prefix([')', '.', '）', '、']).filter(|_| is_number)?;
    Some(text.len() - rest.len())
}

/// Returns the items of a line, which is split before each number of an item with one of the keys.
fn items<'text>(line: &'text str, keys: &[&str]) -> Vec<&'text str> {
    let (mut items, mut begin, mut before) = (Vec::new(), 0, ' ');
    for (at, sign) in line.char_indices() {
        let is_border = !before.is_alphanumeric() && !matches!(before, '(' | '（' | '.');
        before = sign;
        if !is_border || !matches!(sign, '0'..='9' | '(' | '（') {
            continue;
        }
        let rest = line.get(at..).unwrap_or_default();
        if number_length(rest).is_some() && keys.iter().any(|key| value_of(rest, key).is_some()) {
            items.push(line.get(begin..at).unwrap_or_default());
            begin = at;
        }
    }
    items.push(line.get(begin..).unwrap_or_default());
    items
}

/// Returns whether a text has one of the keys with a colon after it, anywhere and in any case.
pub(crate) fn has_key(text: &str, keys: &[&str]) -> bool {
    let text = text.to_ascii_uppercase();
    let is_value = |rest: &str| rest.trim_start_matches(is_decoration).starts_with([':', '：']);
    keys.iter().any(|key| text.split(&key.to_ascii_uppercase()).skip(1).any(is_value))
}

pub(crate) fn is_decoration(sign: char) -> bool {
    sign.is_whitespace() || matches!(sign, '*' | '_' | '`')
}

/// Returns the verdict in the lines of a key, each parsed by `read`.
///
/// # Errors
/// See [`settle`]. Also if `read` rejects the last of them.
pub(crate) fn line_verdict<T: PartialEq>(
    words: &str,
    material: &Material,
    key: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    item_verdict(words, material, &[key], key, read)
}

/// Returns the verdict in the items of a key, each parsed by `read`. `keys` are those of the whole form.
///
/// # Errors
/// Same as for [`line_verdict`].
pub(crate) fn item_verdict<T: PartialEq>(
    words: &str,
    material: &Material,
    keys: &[&str],
    key: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let own: Vec<Result<T, String>> = values(words, keys, key).map(&read).collect();
    let foreign = || material.texts().flat_map(|text| quotable_values(text, keys, key)).map(&read).collect();
    settle(&format!("line '{key}: …'"), with_echoes(own, foreign))
}

/// Compares the readings of a reply with those of the judged texts. The latter are only made if there is more than one
/// reading, since a single one contradicts nothing.
pub(crate) fn with_echoes<T: PartialEq>(
    own: Vec<Result<T, String>>,
    foreign: impl FnOnce() -> Vec<Result<T, String>>,
) -> Vec<LineReading<T>> {
    let foreign = if own.len() > 1 && own.len() <= MAX_READINGS { foreign() } else { Vec::new() };
    own.into_iter().map(|value| LineReading { echoed: foreign.contains(&value), value }).collect()
}

/// Returns the words of a reply outside of its verdict, cut if they are long.
pub(crate) fn explanation(words: &str, keys: &[&str]) -> String {
    let lines = words.lines().filter(|line| keys.iter().all(|key| value_of(line, key).is_none()));
    let lines: Vec<&str> = lines.collect();
    excerpt(strip(&lines.join("\n"))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(value: Result<i32, &str>, echoed: bool) -> LineReading<i32> {
        LineReading { value: value.map_err(str::to_owned), echoed }
    }

    #[test]
    fn readings_are_settled() {
        let contradiction = || Err("the reply has contradicting values for x".to_owned());
        for (readings, expected) in [
            (vec![reading(Ok(1), false)], Ok(1)),
            (vec![reading(Ok(1), true)], Ok(1)),
            (vec![reading(Ok(1), true), reading(Ok(0), false)], Ok(0)),
            (vec![reading(Ok(0), false), reading(Ok(0), false)], Ok(0)),
            (vec![reading(Err("bad"), false), reading(Ok(0), false)], Ok(0)),
            (vec![reading(Ok(0), false), reading(Ok(1), true)], contradiction()),
            (vec![reading(Ok(1), false), reading(Ok(0), false)], contradiction()),
            (vec![reading(Ok(1), true), reading(Ok(0), true)], contradiction()),
            (vec![reading(Ok(1), false), reading(Err("bad"), false)], Err("bad".to_owned())),
            (vec![reading(Ok(1), false); 64], Ok(1)),
            (vec![reading(Ok(1), false); 65], Err("the reply has more than 64 values for x".to_owned())),
            (vec![], Err("the reply has no x".to_owned())),
        ] {
            assert_eq!(settle("x", readings.clone()), expected, "{readings:?}");
        }
    }

    #[test]
    fn lines_with_a_key() {
        for (text, expected) in [
            ("SCORE: 1.0", vec!["1.0"]),
            ("so\n**Score:** 0.5 \n- `score` ： 1", vec!["0.5", "1"]),
            ("\"SCORE: 1\"\nmy SCORE: 1\nSCORES: 1\nSCORE 1", vec![]),
            ("评分", vec![]),
            ("SCORE:", vec![""]),
            ("1) SCORE: 1\n2. score: 2\n(3) SCORE: 3\n- 4) **SCORE:** 4", vec!["1", "2", "3", "4"]),
            ("1) CORRECT: A 2) SCORE: 0.9 so", vec!["0.9 so"]),
            ("CORRECT: A, (2) **SCORE:** 1 (3) CORRECT: A", vec!["1"]),
            ("SCORE: 1 of 2) parts", vec!["1 of 2) parts"]),
            ("so 1) SCORE: 1\n\"1) SCORE: 1\"\n100) SCORE: 1\n1 SCORE: 1", vec![]),
        ] {
            assert_eq!(values(text, &["CORRECT", "SCORE"], "SCORE").collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn keys_in_a_text() {
        for (text, expected) in
            [("it says Score: 1", true), ("**SCORE**: 1", true), ("the score is 1", false), ("", false)]
        {
            assert_eq!(has_key(text, &["SCORE"]), expected, "{text}");
        }
    }
}
