//! Joins the templates of a task to one. lm-eval renders each by itself, and keeps the line breaks at its end.

use serde_json::Value;

/// Beginnings of code in templates.
const CODE_STARTS: [&str; 3] = ["{{", "{%", "{#"];
/// Ends of code in templates.
const CODE_ENDS: [&str; 3] = ["}}", "%}", "#}"];

/// A template, with the variable for its text if the text must be known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'t> {
    name: &'static str,
    template: &'t str,
}

impl<'t> Part<'t> {
    /// Creates a part.
    pub(super) fn new(name: &'static str, template: &'t str) -> Part<'t> {
        Part { name, template }
    }
}

/// A text between two parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delimiter<'t> {
    text: &'t str,
    /// True if a part without text also has it before it.
    is_before_empty: bool,
}

impl<'t> Delimiter<'t> {
    /// Creates a delimiter between visible characters.
    pub(super) fn new(text: &'t str) -> Delimiter<'t> {
        Delimiter { text, is_before_empty: false }
    }

    /// Creates a delimiter between visible characters, and before a part without text.
    pub(super) fn also_before_empty(text: &'t str) -> Delimiter<'t> {
        Delimiter { text, is_before_empty: true }
    }
}

/// The text at an end of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// White space, or no text at all.
    Blank,
    /// A visible character.
    Visible,
    /// Code, whose text depends on the row.
    Code,
}

/// An end of a text that must be a visible character: the variable of the text, and the slice of its end.
type Test = (&'static str, &'static str);

/// The condition of a delimiter.
enum Condition {
    Never,
    Always,
    /// An expression of Jinja, and the variables that it reads.
    If {
        expression: String,
        names: Vec<&'static str>,
    },
}

impl Condition {
    /// Returns the condition of the delimiter between two templates.
    fn of(left: Part<'_>, right: Part<'_>, delimiter: Delimiter<'_>) -> Condition {
        let is_before_empty = delimiter.is_before_empty && may_be_empty(right.template);
        match tests_between(left, right) {
            _ if delimiter.text.is_empty() => Condition::Never,
            _ if delimiter.is_before_empty && right.template.is_empty() => Condition::Always,
            None if is_before_empty => {
                Condition::If { expression: format!("not {}", right.name), names: vec![right.name] }
            }
            None => Condition::Never,
            Some(tests) if tests.is_empty() => Condition::Always,
            Some(tests) => {
                let expressions: Vec<String> =
                    tests.iter().map(|(name, end)| format!("{name}{end}|trim")).collect();
                let visible = expressions.join(" and ");
                let expression = match is_before_empty {
                    true => format!("not {} or {visible}", right.name),
                    false => visible,
                };
                Condition::If { expression, names: tests.into_iter().map(|(name, _)| name).collect() }
            }
        }
    }

    fn reads(&self, part: &Part<'_>) -> bool {
        matches!(self, Condition::If { names, .. } if names.contains(&part.name))
    }
}

/// Joins the texts of templates. Between two of them is a delimiter, unless one is empty or has white space at this end.
pub(super) fn joined(parts: &[Part<'_>], delimiters: &[Delimiter<'_>]) -> String {
    let pairs = parts.windows(2).zip(delimiters);
    let conditions: Vec<Condition> =
        pairs.map(|(pair, delimiter)| Condition::of(pair[0], pair[1], *delimiter)).collect();
    let is_read = |part: &Part<'_>| conditions.iter().any(|condition| condition.reads(part));
    let mut text = String::new();
    for Part { name, template } in parts.iter().filter(|part| is_read(part)) {
        text.push_str(&format!("{{% set {name} %}}{template}{{% endset %}}"));
    }
    for (place, part) in parts.iter().enumerate() {
        match is_read(part) {
            true => text.push_str(&format!("{{{{ {} }}}}", part.name)),
            false => push_part(&mut text, part.template),
        }
        let (Some(condition), Some(delimiter)) = (conditions.get(place), delimiters.get(place)) else {
            continue;
        };
        let delimiter = literal(delimiter.text);
        match condition {
            Condition::Never => {}
            Condition::Always => push_part(&mut text, &delimiter),
            Condition::If { expression, .. } => {
                text.push_str(&format!("{{% if {expression} %}}{delimiter}{{% endif %}}"));
            }
        }
    }
    text
}

/// Returns true if a template may give no text: it begins and ends with code.
fn may_be_empty(template: &str) -> bool {
    first_edge(template) == Edge::Code && last_edge(template) == Edge::Code
}

/// Returns the tests on which a delimiter between two templates depends. `None` if there is never one.
fn tests_between(left: Part<'_>, right: Part<'_>) -> Option<Vec<Test>> {
    let mut tests = Vec::new();
    let edges =
        [(last_edge(left.template), left.name, "[-1:]"), (first_edge(right.template), right.name, "[:1]")];
    for (edge, name, end) in edges {
        match edge {
            Edge::Blank => return None,
            Edge::Visible => {}
            Edge::Code => tests.push((name, end)),
        }
    }
    Some(tests)
}

fn first_edge(template: &str) -> Edge {
    let is_code = CODE_STARTS.iter().any(|start| template.starts_with(start));
    match template.chars().next() {
        _ if is_code || trims_before(template) => Edge::Code,
        Some(first) if !first.is_whitespace() => Edge::Visible,
        _ => Edge::Blank,
    }
}

fn last_edge(template: &str) -> Edge {
    let is_code = CODE_ENDS.iter().any(|end| template.ends_with(end));
    match template.chars().next_back() {
        _ if is_code || trims_after(template) => Edge::Code,
        Some(last) if !last.is_whitespace() => Edge::Visible,
        _ => Edge::Blank,
    }
}

/// Returns true if a template removes the white space before it: it begins with code such as `{{-`.
fn trims_before(template: &str) -> bool {
    let template = template.trim_start();
    CODE_STARTS.iter().any(|start| template.strip_prefix(start).is_some_and(|rest| rest.starts_with('-')))
}

/// Returns true if a template removes the white space after it: it ends with code such as `-}}`.
fn trims_after(template: &str) -> bool {
    let template = template.trim_end();
    CODE_ENDS.iter().any(|end| template.strip_suffix(end).is_some_and(|rest| rest.ends_with('-')))
}

/// Adds a template to others, so that neither removes the white space of the other.
pub(super) fn push_part(template: &mut String, part: &str) {
    if !part.is_empty() && (trims_after(template) || trims_before(part)) {
        template.push_str("{{ '' }}");
    }
    template.push_str(part);
}

/// Returns the template of a text in which braces have no meaning.
pub(super) fn literal(text: &str) -> String {
    let has_code = text.ends_with('{') || CODE_STARTS.iter().any(|start| text.contains(start));
    if has_code { format!("{{{{ {} }}}}", Value::from(text)) } else { text.to_owned() }
}

/// Writes the last line break of a template as code, because a line break at the end of a template is dropped.
pub(super) fn with_last_line_break(template: String) -> String {
    match template.strip_suffix('\n') {
        Some(rest) if !trims_after(rest) => format!("{rest}{{{{ '\\n' }}}}"),
        _ => template,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_stand_between_visible_characters() {
        for (left, right, expected) in [
            ("Q:", "So", "Q:_So"),
            ("Q:\n", "So", "Q:\nSo"),
            ("Q:", " So", "Q: So"),
            ("", "So", "So"),
            ("Q:", "", "Q:"),
            ("{{q}} ", "So", "{{q}} So"),
            ("{{q}}", "So", "{% set l %}{{q}}{% endset %}{{ l }}{% if l[-1:]|trim %}_{% endif %}So"),
            ("Q:", "{{p}}.", "{% set r %}{{p}}.{% endset %}Q:{% if r[:1]|trim %}_{% endif %}{{ r }}"),
            (
                "{{q -}} ",
                "{{p}}",
                "{% set l %}{{q -}} {% endset %}{% set r %}{{p}}{% endset %}{{ l }}\
                 {% if l[-1:]|trim and r[:1]|trim %}_{% endif %}{{ r }}",
            ),
        ] {
            assert_eq!(
                joined(&[Part::new("l", left), Part::new("r", right)], &[Delimiter::new("_")]),
                expected,
                "{left}{right}"
            );
        }
        let parts = [Part::new("l", "{{q}}"), Part::new("r", "So")];
        assert_eq!(joined(&parts, &[Delimiter::new("")]), "{{q}}So");
    }

    #[test]
    fn delimiters_may_stand_before_empty_parts() {
        const SET: &str = "{% set r %}{{p}}{% endset %}";
        for (left, right, expected) in [
            ("Q:", "", "Q:_".to_owned()),
            ("Q:\n", "", "Q:\n_".to_owned()),
            ("{{q -}}", "", "{{q -}}{{ '' }}_".to_owned()),
            ("Q:", "{{p}}", format!("{SET}Q:{{% if not r or r[:1]|trim %}}_{{% endif %}}{{{{ r }}}}")),
            ("Q:\n", "{{p}}", format!("{SET}Q:\n{{% if not r %}}_{{% endif %}}{{{{ r }}}}")),
            ("Q:\n", "{{p}}.", "Q:\n{{p}}.".to_owned()),
        ] {
            let parts = [Part::new("l", left), Part::new("r", right)];
            assert_eq!(joined(&parts, &[Delimiter::also_before_empty("_")]), expected, "{left}{right}");
        }
    }

    #[test]
    fn parts_keep_their_white_space() {
        for (parts, expected) in [
            (&["{{a}}", " ", "{{b}}"][..], "{{a}} {{b}}"),
            (&["{% if a %}{% endif -%}", " ", "{{b}}"], "{% if a %}{% endif -%}{{ '' }} {{b}}"),
            (&["a ", "\n{{- b }}"], "a {{ '' }}\n{{- b }}"),
            (&["{{ a -}}", ""], "{{ a -}}"),
        ] {
            let mut template = String::new();
            parts.iter().for_each(|part| push_part(&mut template, part));
            assert_eq!(template, expected);
        }
    }

    #[test]
    fn braces_of_plain_texts_are_no_code() {
        for (text, expected) in [("\n\n", "\n\n"), ("{{", r#"{{ "{{" }}"#), ("\n{", r#"{{ "\n{" }}"#)] {
            assert_eq!(literal(text), expected);
        }
    }

    #[test]
    fn last_line_breaks_become_code() {
        for (template, expected) in [
            ("A:\n", "A:{{ '\\n' }}"),
            ("A:\n\n", "A:\n{{ '\\n' }}"),
            ("A:", "A:"),
            ("", ""),
            ("{{ a -}}\n", "{{ a -}}\n"),
        ] {
            assert_eq!(with_last_line_break(template.to_owned()), expected);
        }
    }
}
