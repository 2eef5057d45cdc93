//! Answers that give the text of an option instead of its label.

use crate::characters::{is_word, normalized, undecorated};
use crate::choices::Choices;
use crate::letters::is_negated;

/// The option whose text is the whole answer.
pub(crate) fn whole(text: &str, choices: &Choices) -> Option<String> {
    let exact = normalized(text);
    if let Some((label, _)) = choices.spelled_texts().find(|(_, option)| *option == exact) {
        return Some(label.to_owned());
    }
    let loose = normalized(undecorated(text));
    let mut same = choices.texts().filter(|(_, option)| *option == loose).map(|(label, _)| label);
    let label = same.next()?;
    // Options that differ only in decoration cannot be told apart.
    same.all(|other| other == label).then(|| label.to_owned())
}

/// The option whose text an answer begins with; the longest, where there are several.
pub(crate) fn prefix(text: &str, choices: &Choices) -> Option<String> {
    let text = normalized(text);
    choices
        .texts()
        .filter(|(_, option)| text.starts_with(option.as_str()) && has_borders(&text, 0, option))
        .max_by_key(|(_, option)| option.len())
        .map(|(label, _)| label.to_owned())
}

/// The first option whose text stands in an answer. Longer texts come first, and a text that stands
/// inside a longer one does not count: `blue whale` is no `whale`.
pub(crate) fn mentioned(text: &str, choices: &Choices) -> Option<String> {
    let text = normalized(text);
    let mut options: Vec<(usize, &str, String)> =
        choices.texts().enumerate().map(|(order, (label, option))| (order, label, option)).collect();
    options.sort_by_key(|(_, _, option)| std::cmp::Reverse(option.len()));
    let mut taken: Vec<(usize, usize)> = Vec::new();
    let mut found: Option<(usize, &str)> = None;
    for (order, label, option) in &options {
        for (start, _) in text.match_indices(option.as_str()) {
            let span = (start, start + option.len());
            let inside_longer =
                taken.iter().any(|longer| *longer != span && longer.0 < span.1 && span.0 < longer.1);
            if inside_longer || !has_borders(&text, start, option) {
                continue;
            }
            taken.push(span);
            let is_earlier = found.is_none_or(|(earlier, _)| *order < earlier);
            if is_earlier && !is_negated(&text, start, None) {
                found = Some((*order, *label));
            }
        }
    }
    found.map(|(_, label)| label.to_owned())
}

/// Whether an option at a place of a text is not part of a longer word or number.
fn has_borders(text: &str, start: usize, option: &str) -> bool {
    let (before, rest) = text.split_at(start);
    let after = rest.get(option.len()..).unwrap_or_default();
    let (mut before, mut after) = (before.chars().rev(), after.chars());
    let (Some(first), Some(last)) = (option.chars().next(), option.chars().next_back()) else {
        return false;
    };
    let starts = match (before.next(), before.next()) {
        (None, _) => true,
        (Some(near), _) if is_word(first) && is_word(near) => false,
        // `1.5` has no `5`, and `-5` is no `5`; but `3-5` may have one.
        (Some('.' | ','), Some(far)) if first.is_numeric() && far.is_numeric() => false,
        (Some('-'), far) if first.is_numeric() && !far.is_some_and(is_word) => false,
        _ => true,
    };
    let ends = match (after.next(), after.next()) {
        (None, _) => true,
        (Some(near), _) if is_word(last) && is_word(near) => false,
        (Some('.' | ','), Some(far)) if last.is_numeric() && far.is_numeric() => false,
        _ => true,
    };
    starts && ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn choices(json: &str) -> Choices {
        Choices::new(&Value::Json(json.to_owned()))
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
            assert_eq!(mentioned(text, &animals).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn chinese_texts_need_no_borders() {
        let animals = choices(r#"{"A":"鲨鱼","B":"海豚"}"#);
        assert_eq!(mentioned("应该是海豚", &animals).as_deref(), Some("B"));
        assert_eq!(mentioned("不是鲨鱼，是海豚", &animals).as_deref(), Some("B"));
    }

    #[test]
    fn whole_answers() {
        let numbers = choices(r#"{"A":"5","B":".5","C":"-5","D":"(5)"}"#);
        assert_eq!(whole(".5", &numbers).as_deref(), Some("B"));
        assert_eq!(whole("-5.", &numbers).as_deref(), Some("C"));
        assert_eq!(whole("(5)", &numbers).as_deref(), Some("D"));
        assert_eq!(whole("[5]", &numbers), None);
    }
}
