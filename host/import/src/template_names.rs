//! Names that a template of another program reads: each is a field of the row.

use crate::template_tokens::{Token, WORDS, locals_of, tokens_of};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;

/// Statements of Jinja with an end. `set` has one unless it assigns a value.
const STATEMENTS: [&str; 8] = ["if", "for", "macro", "call", "filter", "block", "with", "autoescape"];
/// Filters of texts that give a text.
const TEXT_FILTERS: [&str; 7] = ["trim", "upper", "lower", "title", "capitalize", "replace", "string"];
/// Methods of texts that no list or mapping has.
const TEXT_METHODS: [&str; 11] = [
    "strip",
    "lstrip",
    "rstrip",
    "replace",
    "upper",
    "lower",
    "title",
    "capitalize",
    "split",
    "splitlines",
    "format",
];

/// Returns the text between `{{` and `}}` if the template is a single expression.
pub(crate) fn expression(template: &str) -> Option<&str> {
    let inner = template.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let is_single = !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%");
    is_single.then(|| without_controls(inner))
}

/// Returns an expression without the marks that remove or keep white space next to a brace.
fn without_controls(inner: &str) -> &str {
    let inner = inner.strip_prefix(['-', '+']).unwrap_or(inner);
    inner.strip_suffix(['-', '+']).unwrap_or(inner).trim()
}

/// Returns the expression of a template with texts around its expressions: `#### {{answer}}` is `"#### " ~ answer`. `None`
/// if the template has statements, removes white space next to a brace, or has no expression.
pub(crate) fn concatenation(template: &str) -> Option<String> {
    if ["{%", "{#", "{{-", "-}}"].iter().any(|mark| template.contains(mark)) {
        return None;
    }
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inner, next) = after.split_once("}}")?;
        if !before.is_empty() {
            parts.push(Value::from(before).to_string());
        }
        let inner = without_controls(inner);
        let is_simple = inner.chars().all(|one| one.is_alphanumeric() || "_.".contains(one));
        parts.push(if is_simple { inner.to_owned() } else { format!("({inner})") });
        rest = next;
    }
    if parts.is_empty() {
        return None;
    }
    if !rest.is_empty() {
        parts.push(Value::from(rest).to_string());
    }
    Some(parts.join(" ~ "))
}

/// Returns true if a text is the name of a field: letters, digits and `_`.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && text.chars().all(|one| one.is_alphanumeric() || one == '_')
}

/// Returns the field path that an expression reads, such as `choices.text`, without methods that remove white space and
/// filters that change the type.
pub(crate) fn path_of(expression: &str) -> Option<String> {
    const ENDS: [&str; 8] =
        [".strip()", ".lstrip()", ".rstrip()", "|trim", "|int", "|string", "| trim", "| int"];
    let mut text = expression.trim();
    while let Some(shorter) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = shorter.trim_end();
    }
    let dotted = text.replace("[\"", ".").replace("['", ".").replace("\"]", "").replace("']", "");
    let dotted = dotted.strip_prefix("doc.").unwrap_or(&dotted);
    let mut parts = dotted.split('.');
    let is_path = is_name(parts.next()?)
        && parts
            .all(|part| is_name(part) || !part.is_empty() && part.chars().all(|one| one.is_ascii_digit()));
    is_path.then(|| dotted.to_owned())
}

/// Returns the expressions that a template writes, without the texts around them. `None` if it has statements.
pub(crate) fn expressions(template: &str) -> Option<Vec<String>> {
    if ["{%", "{#"].iter().any(|mark| template.contains(mark)) {
        return None;
    }
    let mut found = Vec::new();
    let mut rest = template;
    while let Some((_, after)) = rest.split_once("{{") {
        let (inner, next) = after.split_once("}}")?;
        found.push(without_controls(inner).to_owned());
        rest = next;
    }
    Some(found)
}

/// Returns the first field that a template reads, with its members.
pub(crate) fn first_field(template: &str) -> Option<String> {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    (0..tokens.len()).find_map(|place| path_at(&tokens, place, &locals))
}

/// Returns the fields that a template always writes as texts, with their members, each once.
pub(crate) fn whole_texts(template: &str) -> Vec<String> {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let mut found: Vec<String> = Vec::new();
    for path in (0..tokens.len()).filter_map(|place| path_at(&tokens, place, &locals)) {
        if !found.contains(&path) && is_whole_text(template, &path) {
            found.push(path);
        }
    }
    found
}

/// Returns true if a template reads a field as a text: neither its members or items, nor all of them in a loop.
pub(crate) fn reads_text(template: &str, name: &str) -> bool {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let token = |place: usize| tokens.get(place).map(|(token, _)| *token);
    let mut places =
        (0..tokens.len()).filter(|place| field_at(&tokens, *place, &locals) == Some(name)).peekable();
    places.peek().is_some()
        && places.all(|place| {
            let is_looped = place > 0 && token(place - 1) == Some(Token::Name("in"));
            let has_member = match (token(place + 1), token(place + 2)) {
                (Some(Token::Mark('[')), _) => true,
                (Some(Token::Mark('.')), Some(Token::Name(method))) => !TEXT_METHODS.contains(&method),
                _ => false,
            };
            !is_looped && !has_member
        })
}

/// Returns the field that begins at a token, with its members.
fn path_at(tokens: &[(Token<'_>, Range<usize>)], first: usize, locals: &BTreeSet<String>) -> Option<String> {
    let mut path = field_at(tokens, first, locals)?.to_owned();
    let mut place = first + 1;
    while let (Some((Token::Mark('.'), _)), Some((Token::Name(member), _))) =
        (tokens.get(place), tokens.get(place + 1))
        && !matches!(tokens.get(place + 2), Some((Token::Mark('('), _)))
    {
        path.push('.');
        path.push_str(member);
        place += 2;
    }
    Some(path)
}

/// Returns the fields that a template reads, without their members, in their order.
pub(crate) fn fields(template: &str) -> Vec<String> {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    (0..tokens.len()).filter_map(|place| field_at(&tokens, place, &locals)).map(str::to_owned).collect()
}

/// Returns true if a template always writes a field as a text: outside of statements, perhaps with filters and methods of
/// texts.
fn is_whole_text(template: &str, path: &str) -> bool {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let token = |place: usize| tokens.get(place).map(|(token, _)| *token);
    let mut depth = 0_usize;
    for place in 1..tokens.len() {
        match (token(place - 1), token(place)) {
            (Some(Token::Open('%')), Some(Token::Name("set"))) if token(place + 2) == Some(Token::Close) => {
                depth += 1;
            }
            (Some(Token::Open('%')), Some(Token::Name(word))) if STATEMENTS.contains(&word) => depth += 1,
            (Some(Token::Open('%')), Some(Token::Name(word))) if word.starts_with("end") => {
                depth = depth.saturating_sub(1);
            }
            (Some(Token::Open('{')), _)
                if depth == 0
                    && field_at(&tokens, place, &locals).is_some()
                    && is_text_after(path, place, &token) =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Returns true if the tokens from a place on are a path, and what follows keeps the text of its value.
fn is_text_after<'t>(path: &str, place: usize, token: &dyn Fn(usize) -> Option<Token<'t>>) -> bool {
    let mut place = place;
    for (number, part) in path.split('.').enumerate() {
        if number > 0 {
            if token(place) != Some(Token::Mark('.')) {
                return false;
            }
            place += 1;
        }
        if token(place) != Some(Token::Name(part)) {
            return false;
        }
        place += 1;
    }
    match (token(place), token(place + 1)) {
        (Some(Token::Close), _) => true,
        (Some(Token::Mark('|')), Some(Token::Name(filter))) => TEXT_FILTERS.contains(&filter),
        (Some(Token::Mark('.')), Some(Token::Name(method))) => {
            TEXT_METHODS.contains(&method) && token(place + 2) == Some(Token::Mark('('))
        }
        _ => false,
    }
}

/// Returns the first field whose items a template reads by their places, as in `choices[0]`.
pub(crate) fn first_list(template: &str) -> Option<String> {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    (0..tokens.len()).find_map(|place| {
        let name = field_at(&tokens, place, &locals)?;
        let is_indexed = matches!(tokens.get(place + 1), Some((Token::Mark('['), _)))
            && matches!(tokens.get(place + 2), Some((Token::Mark(digit), _)) if digit.is_ascii_digit());
        let is_looped = place > 0 && matches!(tokens.get(place - 1), Some((Token::Name("in"), _)));
        (is_indexed || is_looped).then(|| name.to_owned())
    })
}

/// Puts a name before every field that a template reads: `question` becomes `example.question`.
pub(crate) fn with_owner(template: &str, owner: &str) -> String {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let mut text = String::with_capacity(template.len());
    let mut copied = 0;
    for place in 0..tokens.len() {
        if field_at(&tokens, place, &locals).is_none() {
            continue;
        }
        let start = tokens[place].1.start;
        text.push_str(&template[copied..start]);
        text.push_str(owner);
        text.push('.');
        copied = start;
    }
    text.push_str(&template[copied..]);
    text
}

/// Returns the field that begins at a token: not a word of Jinja, a member, a filter, a function or a name of the template.
fn field_at<'t>(
    tokens: &[(Token<'t>, Range<usize>)],
    place: usize,
    locals: &BTreeSet<String>,
) -> Option<&'t str> {
    let (Token::Name(name), _) = tokens.get(place)? else { return None };
    let before = place.checked_sub(1).and_then(|before| tokens.get(before)).map(|(token, _)| *token);
    let next = tokens.get(place + 1).map(|(token, _)| *token);
    let is_part = matches!(before, Some(Token::Mark('.' | '|') | Token::Name("is" | "filter")));
    let is_other = matches!(next, Some(Token::Mark('('))) || WORDS.contains(name) || locals.contains(*name);
    (!is_part && !is_other).then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_templates_are_found() {
        for (template, field, list, owned) in [
            ("Q: {{question}}\nA:", Some("question"), None, "Q: {{e.question}}\nA:"),
            ("{{ a.b.strip() }} {{ c }}", Some("a.b"), None, "{{ e.a.b.strip() }} {{ e.c }}"),
            (
                "{% for o in options %}{{ o }}{% endfor %}",
                Some("options"),
                Some("options"),
                "{% for o in e.options %}{{ o }}{% endfor %}",
            ),
            (
                "{{q}} {{choices[0]}} {{choices[1]|trim}}",
                Some("q"),
                Some("choices"),
                "{{e.q}} {{e.choices[0]}} {{e.choices[1]|trim}}",
            ),
            ("{{ ['x', 'y'][label] }}", Some("label"), None, "{{ ['x', 'y'][e.label] }}"),
            ("plain", None, None, "plain"),
        ] {
            assert_eq!(first_field(template).as_deref(), field, "{template}");
            assert_eq!(first_list(template).as_deref(), list, "{template}");
            assert_eq!(with_owner(template, "e"), owned, "{template}");
        }
    }

    #[test]
    fn texts_of_every_row_are_written_outside_of_statements() {
        for (template, path, is_whole) in [
            ("Q: {{ q }}", "q", true),
            ("{{- q.text.strip() | trim }}", "q.text", true),
            ("{{ q.split(' ')[:-1]|join(' ') }}", "q", true),
            ("{{ q|join(', ') }}", "q", false),
            ("{{ q[0] }}", "q", false),
            ("{{ q.items() }}", "q", false),
            ("{{ q ~ p }}", "q", false),
            ("{% if q %}{{ q }}{% endif %}", "q", false),
            ("{% set p %}{% if a %}b{% endif %}{{ q }}{% endset %}", "q", false),
            ("{% set p = a %}{% for a in b %}c{% endfor %}{{ q }}", "q", true),
        ] {
            assert_eq!(is_whole_text(template, path), is_whole, "{template}");
        }
    }

    #[test]
    fn texts_are_read_whole() {
        for (template, texts, reads_q) in [
            ("{{ q }}{{ p.text.strip() }}{{ q }}{{ l[0] }}", &["q", "p.text"][..], true),
            ("{% if a %}{{ q }}{% endif %}{{ p }}", &["p"], true),
            ("{{ 'Q: ' + q + p }}", &[], true),
            ("{{ q[0] }}", &[], false),
            ("{{ q.stem }}", &["q.stem"], false),
            ("{% for a in q %}{{ a }}{% endfor %}", &[], false),
            ("{{ p }}", &["p"], false),
        ] {
            assert_eq!(whole_texts(template), texts, "{template}");
            assert_eq!(reads_text(template, "q"), reads_q, "{template}");
        }
    }

    #[test]
    fn expressions_are_found() {
        for (template, expected) in [
            ("a {{b}} c {{- d|trim -}}", Some("b, d|trim")),
            ("a", Some("")),
            ("{% if a %}{{b}}{% endif %}", None),
            ("{{a", None),
        ] {
            let found = expressions(template).map(|found| found.join(", "));
            assert_eq!(found.as_deref(), expected, "{template}");
        }
    }

    #[test]
    fn texts_around_expressions_are_joined() {
        for (template, expected) in [
            ("#### {{answer}}", Some("\"#### \" ~ answer")),
            ("{{ a.b }}\ncheck({{ c|trim }})", Some(r#"a.b ~ "\ncheck(" ~ (c|trim) ~ ")""#)),
            ("{{a if b else c}}.", Some(r#"(a if b else c) ~ ".""#)),
            ("{% if a %}{{a}}{% endif %}", None),
            ("a {{- b }}", None),
            ("a {{b", None),
            ("a", None),
        ] {
            assert_eq!(concatenation(template).as_deref(), expected, "{template}");
        }
    }

    #[test]
    fn expressions_are_paths_if_they_only_name() {
        for (template, path) in [
            ("{{ choices.text }}", Some("choices.text")),
            ("{{doc['answer'].strip()}}", Some("answer")),
            ("{{ label | int }}", Some("label")),
            ("{{- label -}}", Some("label")),
            ("{{answers[0]}}", None),
            ("{{ a + b }}", None),
            ("{{a}} {{b}}", None),
            ("a", None),
        ] {
            assert_eq!(expression(template).and_then(path_of).as_deref(), path, "{template}");
        }
    }
}
