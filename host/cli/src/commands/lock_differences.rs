//! Prints the differences between a suite and its lock.

use crate::exit_code::ExitCode;
use crate::terminal;
use gage_record::Difference;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum characters of a value, and of a digest, in the table; and characters shown before the first difference.
const MAX_VALUE_CHARS: usize = 48;
const DIGEST: usize = 23;
const BEFORE: usize = 8;

/// Prints that a suite differs from its lock, and returns the exit code.
pub(super) fn refuse_mismatch(path: &Path, differences: &[Difference]) -> ExitCode {
    terminal::eprint_line(format_args!(
        "error: lock mismatch: the suite differs from {}\n\n{}\n  help: restore what was locked; or review \
         the differences with `gage-host lock SUITE --check`, and accept them with `gage-host lock SUITE \
         --update`{}",
        path.display(),
        table(differences),
        help_for_redacted(differences)
    ));
    ExitCode::LockMismatch
}

/// Prints the differences between a lock and an unusable suite.
pub(super) fn show(differences: &[Difference]) {
    terminal::eprint_line(format_args!("\n{}{}", table(differences), help_for_redacted(differences)));
}

/// Returns the hint for redacted values that differ, starting with a line break, or an empty text.
pub(super) fn help_for_redacted(differing: &[Difference]) -> &'static str {
    match differing.iter().any(|one| one.place.starts_with("settings.redacted")) {
        true => {
            "\n  help: `settings.redacted` has digests of values that are not recorded: set the variable of \
             such a value to its old value; or, if the change is intended, accept it with `gage-host lock \
             SUITE --update settings`. Credentials belong in `api_key` or `headers`, which no lock pins"
        }
        false => "",
    }
}

/// Returns the differences as JSON.
pub(super) fn to_json(differing: &[Difference]) -> Value {
    let one = |one: &Difference| json!({"field": one.place, "locked": one.before, "found": one.now});
    json!({"differences": differing.iter().map(one).collect::<Vec<_>>()})
}

/// Formats the differences as a table: field, locked, found.
pub(super) fn table(differing: &[Difference]) -> String {
    let rows: Vec<[String; 3]> = differing
        .iter()
        .map(|one| {
            let [locked, found] = sides(one.before.as_ref(), one.now.as_ref());
            [gage_core::printable_line(&one.place).to_string(), locked, found]
        })
        .collect();
    terminal::columns(["field", "locked", "found"], &rows)
}

/// Formats two values, shortened to a part that starts just before their first difference. Texts that differ only in
/// invisible characters are quoted.
fn sides(locked: Option<&Value>, found: Option<&Value>) -> [String; 2] {
    let spelled = |value: Option<&Value>| match value {
        None => "(nothing)".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let mut texts = [spelled(locked), spelled(found)];
    let seen = |text: &String| {
        text.chars().filter(|one| !one.is_whitespace() && !one.is_control()).collect::<String>()
    };
    if let (Some(locked), Some(found)) = (locked, found)
        && seen(&texts[0]) == seen(&texts[1])
    {
        texts = [locked.to_string(), found.to_string()];
    }
    let [one, other] = &texts;
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    texts.map(|text| short(&text, common))
}

/// Shortens a text so that the character at this index is visible.
fn short(text: &str, shown: usize) -> String {
    // The beginning of a digest is sufficient.
    if text.starts_with("sha256:") && shown < DIGEST {
        return text.chars().take(DIGEST).chain(['…']).collect();
    }
    let from = if shown + BEFORE < MAX_VALUE_CHARS { 0 } else { shown - BEFORE };
    let mut out = if from > 0 { "…".to_owned() } else { String::new() };
    let mut rest = text.chars().skip(from);
    out.extend(rest.by_ref().take(MAX_VALUE_CHARS));
    if rest.next().is_some() {
        out.push('…');
    }
    gage_core::printable_line(&out).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_values_are_shown_where_they_part() {
        let digest = |last: char| format!("sha256:{}{last}", "a".repeat(63));
        let long = |end: &str| format!("{}{end}", "word ".repeat(40));
        for (locked, found, expected) in [
            (Value::from(1), Value::from("1"), ["1", "\"1\""]),
            (Value::from("a"), Value::from("b"), ["a", "b"]),
            (Value::from("a b"), Value::from("a  b"), ["\"a b\"", "\"a  b\""]),
            (Value::from("a"), Value::from("a\n"), ["\"a\"", "\"a\\n\""]),
            (
                Value::from(long("old")),
                Value::from(long("new and more than there is room for in a column of the table")),
                ["…rd word old", "…rd word new and more than there is room for in a…"],
            ),
        ] {
            assert_eq!(sides(Some(&locked), Some(&found)), expected.map(str::to_owned));
        }
        assert_eq!(sides(None, Some(&Value::Null)), ["(nothing)", "null"].map(str::to_owned));
        let [one, other] = sides(Some(&digest('a').into()), Some(&digest('b').into()));
        assert_ne!(one, other);
    }
}
