//! Thought tags of reasoning models.

use crate::text::strip;
use std::borrow::Cow;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Removes each `<think>…</think>` and white space at the ends.
///
/// A `</think>` without an opening tag ends a thought that began before the text, so everything up to it is removed
/// too. Chat templates cause this by putting the opening tag into the prompt. An unclosed opening tag stays; see
/// [`before_open_thought`].
pub fn strip_thought_tags(text: &str) -> Cow<'_, str> {
    if find(text, CLOSE).is_none() {
        return Cow::Borrowed(strip(text));
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, thought)) = split_once(rest, OPEN) {
        let Some((_, after)) = split_once(thought, CLOSE) else { break };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    let answer = kept.rsplit_once(CLOSE).map_or(kept.as_str(), |(_, answer)| answer);
    Cow::Owned(strip(answer).to_owned())
}

/// Returns the text before an unclosed thought. This is the answer so far of a model that ran out of tokens while
/// thinking, usually empty.
pub fn before_open_thought(text: &str) -> &str {
    split_once(text, OPEN).map_or(text, |(before, _)| before)
}

fn split_once<'text>(text: &'text str, tag: &str) -> Option<(&'text str, &'text str)> {
    let (before, rest) = text.split_at_checked(find(text, tag)?)?;
    Some((before, rest.get(tag.len()..)?))
}

/// Returns the first position of a tag. Searches a text of nothing but `<` as fast as any other, unlike the standard
/// library.
fn find(text: &str, tag: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (first, second) = (tag.as_bytes().first()?, tag.as_bytes().get(1)?);
    let mut from = 0;
    loop {
        let near = bytes.get(from..)?.windows(2);
        from += near
            .into_iter()
            .position(|pair| matches!(pair, [one, other] if one == first && other == second))?;
        if text.get(from..)?.starts_with(tag) {
            return Some(from);
        }
        from += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_thoughts() {
        for (text, expected) in [
            ("<think>a</think>b", "b"),
            ("<think>a\nb</think>\n\n c ", "c"),
            ("x<think>a</think>y<think>b</think>z", "xyz"),
            ("<think></think>x", "x"),
            ("<thinking>a</thinking>b", "<thinking>a</thinking>b"),
            ("  x  ", "x"),
            ("a</think>b", "b"),
            ("<think>a<think>b</think>c</think>d", "d"),
            ("<think>a", "<think>a"),
        ] {
            assert_eq!(strip_thought_tags(text), expected, "{text:?}");
        }
        assert_eq!(before_open_thought("B <think>or A"), "B ");
    }
}
