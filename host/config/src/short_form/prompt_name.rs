//! A text under `prompt` that names something, rather than being a template.

use crate::problems::Problems;
use crate::source::Span;

/// An example of a template.
pub(super) const EXAMPLE: &str = "\"Q: {{ question }}\"";

/// Endings of the names of files that people write templates in.
const TEXT_FILES: [&str; 6] = [".txt", ".md", ".j2", ".jinja", ".jinja2", ".prompt"];

/// Returns whether a text is a name rather than a template: a single word, such as a mistyped id, or the name of a file. Such
/// a template would send the same request for every row.
pub(super) fn is_name(text: &str) -> bool {
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    let is_file = !text.contains('\n') && is_file_name(text);
    (is_word || is_file) && !["{{", "{%", "${"].iter().any(|mark| text.contains(mark))
}

fn is_file_name(text: &str) -> bool {
    TEXT_FILES.iter().any(|ending| text.ends_with(ending))
}

/// Reports a name that is not the id of a prompt.
pub(super) fn refuse_name(text: &str, known: &[String], span: Span, problems: &mut Problems) {
    if !known.is_empty() {
        let message = format!("there is no prompt `{text}`");
        problems.error(span, "prompt", message).known(text, known.iter().map(String::as_str));
        return;
    }
    let message = format!("`{text}` is neither a template nor the id of an entry of `prompts`");
    let help = if is_file_name(text) {
        format!("a prompt is not read from a file; write the template itself: {EXAMPLE}")
    } else {
        format!("write a template: {EXAMPLE}; if every request is this word, write {{template: {text}}}")
    };
    problems.error(span, "prompt", message).help(help);
}
