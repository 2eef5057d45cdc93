const TAGS: [&str; 4] = ["think", "thinking", "thought", "reflection"];

/// Removes a model's thoughts from a text and trims it: the spans between `<think>` and `</think>`, and
/// likewise `thinking`, `thought` and `reflection`, in any case.
///
/// A closing tag without an opening one ends a thought that began before the text, so everything up to it is
/// removed. An unclosed opening tag begins a thought that extends to the end.
pub fn strip_thought_tags(text: &str) -> String {
    strip_tags(text, &TAGS)
}

/// Like [`strip_thought_tags`] for tags with other names, given without brackets: `&["scratchpad"]`.
pub fn strip_tags<Name: AsRef<str>>(text: &str, names: &[Name]) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((tag, before, after)) = next_tag(rest, names, |_| true) {
        if tag.closes {
            kept.clear();
            rest = after;
            continue;
        }
        kept.push_str(before);
        rest = match next_tag(after, names, |other| other.closes && other.name == tag.name) {
            Some((_, _, after)) => after,
            None => "",
        };
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

#[derive(Clone, Copy)]
struct Tag<'names> {
    name: &'names str,
    closes: bool,
}

/// Returns the first tag in a text with one of these names, and the text before and after it.
fn next_tag<'names, 'text, Name: AsRef<str>>(
    text: &'text str,
    names: &'names [Name],
    is_wanted: impl Fn(Tag<'names>) -> bool,
) -> Option<(Tag<'names>, &'text str, &'text str)> {
    let bytes = text.as_bytes();
    // A long text may be full of `<`, and no name begins with one.
    let mut starts = (0..bytes.len()).filter(|at| bytes[*at] == b'<' && bytes.get(at + 1) != Some(&b'<'));
    starts.find_map(|start| {
        let (tag, length) = tag_at(&text[start..], names)?;
        is_wanted(tag).then(|| (tag, &text[..start], &text[start + length..]))
    })
}

/// Returns the tag at the beginning of a text, and its length in bytes.
fn tag_at<'names, Name: AsRef<str>>(text: &str, names: &'names [Name]) -> Option<(Tag<'names>, usize)> {
    let closes = text.starts_with("</");
    let begin = if closes { 2 } else { 1 };
    // A text may be full of `<`, but few of them begin a tag.
    let first = text.as_bytes().get(begin)?;
    let begins_alike =
        |name: &&str| name.as_bytes().first().is_none_or(|own| own.eq_ignore_ascii_case(first));
    names.iter().map(AsRef::as_ref).filter(begins_alike).find_map(|name| {
        let end = begin + name.len();
        let is_name = text.get(begin..end)?.eq_ignore_ascii_case(name);
        let after = is_name.then(|| text[end..].trim_start().strip_prefix('>'))??;
        Some((Tag { name, closes }, text.len() - after.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_stripped() {
        for (text, expected) in [
            ("<think>a</think>b", "b"),
            ("<think>a\nb</think>\n\n c ", "c"),
            ("<think></think>x", "x"),
            ("x<think>a</think>y<think>b</think>z", "xyz"),
            ("<think>中</think>文", "文"),
            ("  x  ", "x"),
            ("", ""),
            ("<thinking>a</thinking>b", "b"),
            ("<Thought>a</THOUGHT>b<reflection>c</reflection>", "b"),
            ("<think>a</thinking>b</think>c", "c"),
            ("a</think>b", "b"),
            ("<think>a<think>b</think>c</think>d", "d"),
            ("b<think>a", "b"),
            ("<think >a</think\n>b", "b"),
            ("a < b <thinker> <é", "a < b <thinker> <é"),
        ] {
            assert_eq!(strip_thought_tags(text), expected, "{text:?}");
        }
    }

    #[test]
    fn other_tags_are_stripped() {
        for (text, expected) in [
            ("<plan>a</plan>b", "b"),
            ("<PLAN>a</plan >b<思考>c</思考>", "b"),
            ("<think>a</think>b", "<think>a</think>b"),
            ("a</plan>b<plan>c", "b"),
        ] {
            assert_eq!(strip_tags(text, &["plan", "思考"]), expected, "{text:?}");
        }
    }
}
