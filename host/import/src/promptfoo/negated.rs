//! Patterns of Python's `re` for assertions that are not about a text of the row.

/// Characters with a meaning in a pattern.
const SPECIAL: &str = r".^$*+?{}[]\|()#&-~";

/// Returns a pattern that matches a text as it is written.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if SPECIAL.contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// Returns a pattern that matches texts in which another pattern is not found.
pub(super) fn absent(pattern: &str) -> String {
    // Dots of the other pattern match no line break.
    format!(r"\A(?!(?s:.*)(?:{pattern}))")
}

/// Returns a pattern that matches texts in which each of some texts is found.
pub(super) fn all(texts: &[String]) -> String {
    let each: Vec<String> = texts.iter().map(|text| format!("(?=.*{})", escaped(text))).collect();
    // The flag is scoped, because this may be a part of another pattern.
    format!(r"\A(?s:{})", each.concat())
}

/// Returns a pattern that matches texts in which any of some texts is found.
pub(super) fn any(texts: &[String]) -> String {
    if texts.is_empty() {
        return "(?!)".to_owned();
    }
    texts.iter().map(|text| escaped(text)).collect::<Vec<_>>().join("|")
}
