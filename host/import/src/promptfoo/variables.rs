//! Variables of tests: texts of files, and variables in other variables.

use crate::tree::{Mapping, Tree};
use gage_config::{Problems, parse_document};
use serde_json::Value;

/// Number of times that promptfoo looks for variables in variables.
const MAX_PASSES: usize = 5;
/// Maximum size of the texts that variables add to the variables of a test.
pub(super) const MAX_ADDED_BYTES: usize = 1 << 20;
/// Endings of files that promptfoo runs, or sends as something other than their text.
const OTHER_ENDINGS: [&str; 19] = [
    "js", "cjs", "mjs", "ts", "cts", "mts", "py", "pdf", "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp",
    "mp3", "wav", "mp4", "webm",
];

/// Returns true if the text of a file is the value of a variable.
pub(super) fn is_read_as_text(path: &str) -> bool {
    !OTHER_ENDINGS.contains(&ending_of(path).as_str())
}

/// Returns the value of a variable that names a file. YAML becomes JSON.
pub(super) fn text_of_file(path: &str, text: &str) -> String {
    if ["yaml", "yml"].contains(&ending_of(path).as_str()) {
        let mut problems = Problems::default();
        if let Some(root) = parse_document(path, text, None, &mut problems).filter(|_| !problems.has_errors())
        {
            return root.to_json().to_string();
        }
    }
    text.trim().to_owned()
}

/// Returns the ending of a file, in small letters.
pub(super) fn ending_of(path: &str) -> String {
    path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// Drops the last line break of texts. Then replaces variables in variables, each time the first one of each text. Returns
/// false if the texts get too long.
pub(super) fn resolve(vars: &mut Mapping) -> bool {
    for entry in &mut vars.entries {
        if let Tree::Scalar(Value::String(text)) = &mut entry.value
            && text.ends_with('\n')
        {
            text.pop();
        }
    }
    let mut left = MAX_ADDED_BYTES;
    for _ in 0..MAX_PASSES {
        let mut is_resolved = true;
        for place in 0..vars.entries.len() {
            let text = vars.entries.get(place).and_then(|entry| entry.value.as_text());
            let Some((before, name, after)) = text.and_then(split_at_variable) else { continue };
            let value = match vars.get(name) {
                Some(Tree::List(_) | Tree::Map(_)) | None => continue,
                Some(scalar) => scalar.plain_text(),
            };
            if value.len() > left {
                return false;
            }
            left -= value.len();
            let text = format!("{before}{value}{after}");
            if let Some(entry) = vars.entries.get_mut(place) {
                entry.value = Tree::text(text);
            }
            is_resolved = false;
        }
        if is_resolved {
            break;
        }
    }
    true
}

/// Returns true if a text, or one of a list, has a variable.
pub(super) fn reads(value: &Tree, name: &str) -> bool {
    match value {
        Tree::List(items) => items.iter().any(|item| reads(item, name)),
        other => {
            let text = other.as_text().unwrap_or_default();
            spellings(name).iter().any(|spelling| text.contains(spelling))
        }
    }
}

/// Returns the spellings of a variable in a text.
pub(super) fn spellings(name: &str) -> [String; 2] {
    [format!("{{{{{name}}}}}"), format!("{{{{ {name} }}}}")]
}

/// Returns the first expression, statement or comment of a value that is not a variable: `{{ name | upper }}`.
pub(super) fn first_expression(value: &Tree, vars: &Mapping) -> Option<String> {
    const CODE: [(&str, &str); 3] = [("{{", "}}"), ("{%", "%}"), ("{#", "#}")];
    if let Tree::List(items) = value {
        return items.iter().find_map(|item| first_expression(item, vars));
    }
    let mut text = value.as_text()?.to_owned();
    for var in &vars.entries {
        for spelling in spellings(&var.key) {
            text = text.replace(&spelling, " ");
        }
    }
    let place_of = |(open, close): &(&str, &str)| {
        let start = text.find(open)?;
        let length = text.get(start..)?.find(close)? + close.len();
        Some((start, start + length))
    };
    let (start, end) = CODE.iter().filter_map(place_of).min()?;
    text.get(start..end).map(str::to_owned)
}

/// Returns the variable that a statement loops over: `{% for item in name %}`.
pub(super) fn looped_over<'v>(statement: &str, vars: &'v Mapping) -> Option<&'v str> {
    let code = statement.strip_prefix("{%")?.strip_suffix("%}")?;
    let (_, name) = code.trim_matches(['-', ' ']).strip_prefix("for ")?.split_once(" in ")?;
    vars.entries.iter().map(|var| var.key.as_str()).find(|key| *key == name.trim())
}

/// Returns the name of the first `{{ name }}` of a text, with the texts before and after it.
fn split_at_variable(text: &str) -> Option<(&str, &str, &str)> {
    const OPEN: &str = "{{";
    const CLOSE: &str = "}}";
    let is_letter = |one: char| one.is_ascii_alphanumeric() || one == '_';
    text.match_indices(OPEN).find_map(|(start, _)| {
        let (before, rest) = text.split_at_checked(start)?;
        let inner = rest.strip_prefix(OPEN)?.trim_start();
        let end = inner.find(|one: char| !is_letter(one)).filter(|end| *end > 0)?;
        let (name, rest) = inner.split_at_checked(end)?;
        Some((before, name, rest.trim_start().strip_prefix(CLOSE)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_in_variables_are_replaced() {
        for (given, expected) in [
            (json!({"a": "hello {{ b }}!", "b": "Bob"}), json!("hello Bob!")),
            (json!({"a": "{{b}} and {{b}}", "b": 1}), json!("1 and 1")),
            (json!({"a": "{{b}}", "b": "{{c}}", "c": "d"}), json!("d")),
            (json!({"a": "{{a}}"}), json!("{{a}}")),
            (json!({"a": "{{gone}} {{b}}", "b": "B"}), json!("{{gone}} {{b}}")),
            (json!({"a": "{{b.c}} {{b}}", "b": "B"}), json!("{{b.c}} B")),
            (json!({"a": "{{b}}", "b": {"c": 1}}), json!("{{b}}")),
            (json!({"a": "one\n\n"}), json!("one\n")),
            (json!({"a": 5}), json!(5)),
            (json!({"a": "{{ {{b }}", "b": "B"}), json!("{{ B")),
        ] {
            let Tree::Map(mut vars) = Tree::of_json(given.clone()) else { panic!("a mapping") };
            assert!(resolve(&mut vars), "{given}");
            assert_eq!(vars.get("a"), Some(&Tree::of_json(expected)), "{given}");
        }
    }

    #[test]
    fn expressions_that_are_no_variables_are_found() {
        let Tree::Map(vars) = Tree::of_json(json!({"w": "a"})) else { panic!("a mapping") };
        for (value, expected) in [
            (json!("{{w}} {{ w }}"), None),
            (json!("{{ w | upper }}"), Some("{{ w | upper }}")),
            (json!(["a", "{{w}}{% if w %}b{% endif %}"]), Some("{% if w %}")),
            (json!("{{w}}{# no #}{{gone}}"), Some("{# no #}")),
            (json!("{\"a\": {\"b\": 1}}"), None),
            (json!("a{{2"), None),
            (json!(5), None),
        ] {
            let found = first_expression(&Tree::of_json(value.clone()), &vars);
            assert_eq!(found.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn variables_of_loops_are_found() {
        let Tree::Map(vars) = Tree::of_json(json!({"l": ["a"]})) else { panic!("a mapping") };
        for (statement, expected) in [
            ("{% for x in l %}", Some("l")),
            ("{%- for x, y in l -%}", Some("l")),
            ("{% for x in gone %}", None),
            ("{% if l %}", None),
            ("{{ l }}", None),
        ] {
            assert_eq!(looped_over(statement, &vars), expected, "{statement}");
        }
    }

    #[test]
    fn files_become_texts() {
        for (path, text, expected) in [
            ("a.txt", " one\n\n", Some("one")),
            ("a.yaml", "b: [1, two]\n", Some(r#"{"b":[1,"two"]}"#)),
            ("a.YML", "[", Some("[")),
            ("a.py", "print(1)", None),
        ] {
            let found = is_read_as_text(path).then(|| text_of_file(path, text));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }
}
