//! Forms of variables that only the older program knows: `${NAME:?message}` and `${NAME-default}`.

use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Replaces the old forms in all texts.
pub(crate) fn convert(document: &mut Mapping, notes: &mut Notes) {
    convert_mapping(document, "", notes);
}

fn convert_mapping(mapping: &mut Mapping, path: &str, notes: &mut Notes) {
    for entry in &mut mapping.entries {
        let place = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
        convert_value(&mut entry.value, &place, &mut entry.comments, notes);
    }
}

fn convert_value(value: &mut Tree, path: &str, comments: &mut Vec<String>, notes: &mut Notes) {
    match value {
        Tree::Scalar(Value::String(text)) | Tree::Variable(text) => {
            let (new, removed) = without_old_forms(text);
            for form in removed {
                let note = notes.changed(path.to_owned(), form.message(), comments);
                note.help(form.help());
            }
            *text = new;
        }
        Tree::Scalar(_) => {}
        Tree::List(items) => {
            for (number, item) in items.iter_mut().enumerate() {
                convert_value(item, &format!("{path}[{number}]"), comments, notes);
            }
        }
        Tree::Map(mapping) => convert_mapping(mapping, path, notes),
    }
}

/// An old form that was replaced.
#[derive(Debug, PartialEq, Eq)]
struct OldForm {
    /// Name of the variable.
    name: String,
    /// The message of `:?`; `None` for another form.
    reason: Option<String>,
}

impl OldForm {
    fn message(&self) -> String {
        match &self.reason {
            Some(reason) if reason.is_empty() => format!("${{{}}} must be set", self.name),
            Some(reason) => format!("${{{}}} must be set: {reason}", self.name),
            None => format!("${{{}}} has its default after `:-`", self.name),
        }
    }

    fn help(&self) -> String {
        format!("set {} before a run, or write a default: ${{{}:-default}}", self.name, self.name)
    }
}

/// Returns a text with the forms of gage-host, and what was replaced.
fn without_old_forms(text: &str) -> (String, Vec<OldForm>) {
    let (mut new, mut removed) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = (&rest[..start], &rest[start + 2..]);
        new.push_str(before);
        new.push_str("${");
        rest = after;
        let length =
            after.find(|one: char| !one.is_ascii_alphanumeric() && one != '_').unwrap_or(after.len());
        let (name, tail) = after.split_at(length);
        if name.is_empty() || before.ends_with('$') {
            continue;
        }
        let Some(form) = [":?", "?", "-"].into_iter().find(|form| tail.starts_with(form)) else { continue };
        let body = &tail[form.len()..];
        if form == "-" {
            new.push_str(name);
            new.push_str(":-");
            removed.push(OldForm { name: name.to_owned(), reason: None });
            rest = body;
        } else if let Some(end) = closing_brace(body) {
            new.push_str(name);
            let reason = body[..end].trim().trim_matches(['"', '\'']).to_owned();
            removed.push(OldForm { name: name.to_owned(), reason: Some(reason) });
            rest = &body[end..];
        }
    }
    new.push_str(rest);
    (new, removed)
}

fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(place),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_forms_of_variables_are_replaced() {
        for (old, new, replaced) in [
            ("${A}", "${A}", 0),
            ("x/${A:?set A first}/y", "x/${A}/y", 1),
            ("${A:-${B:?b}}/${C?}", "${A:-${B}}/${C}", 2),
            ("${A-one}", "${A:-one}", 1),
            ("$${A:?no}", "$${A:?no}", 0),
            ("${A:?open", "${A:?open", 0),
            ("${config_dir}/x", "${config_dir}/x", 0),
        ] {
            let (found, removed) = without_old_forms(old);
            assert_eq!((found.as_str(), removed.len()), (new, replaced), "{old}");
        }
    }
}
