//! Parts of a Markdown page.

use serde_json::Value;

/// Returns the first lines of every generated page.
pub(super) fn heading(title: &str, introduction: &str) -> String {
    format!(
        "<!-- Generated from the program: see CONTRIBUTING.md. Do not edit. -->\n\n# {title}\n\n{introduction}\n"
    )
}

/// Returns a table; columns without any text are left out.
pub(super) fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let kept: Vec<usize> =
        (0..columns.len()).filter(|index| rows.iter().any(|row| !row[*index].is_empty())).collect();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut out = line(kept.iter().map(|index| columns[*index].to_owned()).collect());
    out.push_str(&line(kept.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        out.push_str(&line(kept.iter().map(|index| cell(&row[*index])).collect()));
    }
    out
}

/// Returns a text for a cell: one line, with bars escaped.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !out.is_empty() {
            out.push_str("<br>");
        }
        out.push_str(&line.replace('|', "\\|"));
    }
    out
}

/// Returns a text as code.
pub(super) fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// Returns a text as a sentence: it begins with a capital letter and ends with a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    let end = if text.is_empty() || text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Returns a value as YAML on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_plain = text
                .starts_with(|first: char| first.is_ascii_alphabetic() || "./$".contains(first))
                && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./$ ()".contains(letter))
                && !["true", "false", "null", "yes", "no"].contains(&text.as_str())
                && !text.ends_with(' ');
            if is_plain { text.clone() } else { value.to_string() }
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Returns the type of a value under a schema, in words, such as "integer, at least 1".
pub(super) fn type_of(schema: &Value) -> String {
    if let Some(value) = schema.get("const") {
        return code(&flow(value));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| code(&flow(value)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(members) = schema[keyword].as_array() {
            let mut types: Vec<String> =
                members.iter().map(type_of).filter(|text| !text.is_empty() && text != "null").collect();
            types.dedup();
            return types.join(" or ");
        }
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => Vec::new(),
    };
    let mut words = Vec::new();
    for name in names {
        words.push(match name {
            "object" => "mapping".to_owned(),
            "array" => match type_of(&schema["items"]) {
                of if of.is_empty() => "list".to_owned(),
                of => format!("list of {of}"),
            },
            other => other.to_owned(),
        });
    }
    let mut out = words.join(" or ");
    let bound = |name: &str| schema.get(name).filter(|bound| bound.is_number()).map(ToString::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => out.push_str(&format!(", {least} to {most}")),
        (Some(least), None) => out.push_str(&format!(", at least {least}")),
        (None, Some(most)) => out.push_str(&format!(", at most {most}")),
        (None, None) => {}
    }
    if let Some(least) = bound("exclusiveMinimum") {
        out.push_str(&format!(", above {least}"));
    }
    out
}
