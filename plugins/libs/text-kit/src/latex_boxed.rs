//! LaTeX boxes, which models put around a final answer: `\boxed{42}`, `\fbox{B}`.

use crate::text::strip;

const COMMANDS: [&str; 2] = [r"\boxed", r"\fbox"];

/// A box in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBox<'text> {
    /// The box with its command and braces.
    pub whole: &'text str,
    /// The text between the braces.
    pub held: &'text str,
}

/// Returns the closed box that begins last; if boxes are nested, the inner one.
///
/// Braces inside are balanced, and escaped braces (`\{`) do not count. White space is allowed between the command and
/// its brace. Takes linear time.
pub fn last_box(text: &str) -> Option<FoundBox<'_>> {
    // For each open brace, the start of a box's command and of its content.
    let mut open: Vec<Option<(usize, usize)>> = Vec::new();
    let mut last: Option<(usize, usize, usize)> = None;
    let mut escaped = false;
    let mut command: Option<usize> = None;
    for (at, byte) in text.bytes().enumerate() {
        let was_escaped = std::mem::take(&mut escaped);
        match byte {
            b'{' if !was_escaped => open.push(command.take().map(|start| (start, at + 1))),
            b'}' if !was_escaped => {
                if let Some(Some((start, inside))) = open.pop()
                    && last.is_none_or(|(_, earlier, _)| earlier < inside)
                {
                    last = Some((start, inside, at));
                }
            }
            _ => {}
        }
        if byte == b'\\' {
            escaped = !was_escaped;
            command = starts_box(text, at).then_some(at);
        } else if !(byte.is_ascii_alphabetic() || byte.is_ascii_whitespace()) {
            command = None;
        }
    }
    let (start, inside, end) = last?;
    Some(FoundBox { whole: text.get(start..=end)?, held: text.get(inside..end)? })
}

/// Returns whether the command of a box and an opening brace are at `at`.
fn starts_box(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let argument = COMMANDS.iter().find_map(|command| rest.strip_prefix(command));
    argument.is_some_and(|argument| {
        argument.trim_start_matches(|character: char| character.is_ascii_whitespace()).starts_with('{')
    })
}

/// Maximum number of nested commands. Real answers never have more, and more would take quadratic time.
const MAX_COMMANDS: usize = 16;

/// Returns the content of `\text{…}`, `\mathrm{\text{…}}` and so on, if that is the whole text.
pub fn without_commands(text: &str) -> &str {
    let mut text = strip(text);
    for _ in 0..MAX_COMMANDS {
        let held = text
            .strip_prefix('\\')
            .map(|command| command.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()))
            .and_then(|argument| argument.strip_prefix('{'))
            .and_then(|argument| argument.strip_suffix('}'))
            .filter(|held| is_balanced(held));
        match held {
            Some(held) => text = strip(held),
            None => break,
        }
    }
    text
}

/// Returns whether no brace closes one that was opened outside: in `\frac{1}{2}` the content is not `1}{2`.
fn is_balanced(text: &str) -> bool {
    let mut open = 0_usize;
    let mut escaped = false;
    for byte in text.bytes() {
        let was_escaped = std::mem::take(&mut escaped);
        match byte {
            b'\\' => escaped = !was_escaped,
            b'{' if !was_escaped => open += 1,
            b'}' if !was_escaped => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return false,
            },
            _ => {}
        }
    }
    // A backslash at the end would escape the closing brace.
    open == 0 && !escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_closed_box_counts() {
        for (text, expected) in [
            (r"\boxed{1} or \boxed{2}.", Some("2")),
            (r"\fbox{B}", Some("B")),
            (r"\boxed {4 }", Some("4 ")),
            (r"\boxed{\frac{1}{2}}", Some(r"\frac{1}{2}")),
            (r"\boxed{\{1, 2\}}", Some(r"\{1, 2\}")),
            (r"\boxed{\left\{x\right.} {", Some(r"\left\{x\right.")),
            (r"\boxed{x = \boxed{5}}", Some("5")),
            (r"\boxed{1} and \boxed{2", Some("1")),
            (r"} \boxed{1}", Some("1")),
            (r"\\boxed{3}", Some("3")),
            (r"\boxed{}", Some("")),
            (r"\boxed{答案é}", Some("答案é")),
            (r"\boxed 5, {6}", None),
            (r"\boxedx{5}", None),
            ("{5}", None),
            ("", None),
        ] {
            assert_eq!(last_box(text).map(|found| found.held), expected, "{text}");
        }
        assert_eq!(last_box(r"so \boxed {4}!").map(|found| found.whole), Some(r"\boxed {4}"));
    }

    #[test]
    fn commands_around_the_whole_go() {
        for (text, expected) in [
            (r"\text{B}", "B"),
            (r" \mathrm{\text{B} } ", "B"),
            (r"\frac{1}{2}", r"\frac{1}{2}"),
            (r"\{1\}", r"\{1\}"),
            ("B", "B"),
        ] {
            assert_eq!(without_commands(text), expected, "{text}");
        }
    }
}
