//! Names in templates: `sample.goal` is a field of the row, and `system_prompt` is a parameter.

use crate::tables::keys::{PROMPT_TEXTS, SAMPLE_FIELDS, TEMPLATE_NAMES};
use std::collections::BTreeSet;
use std::ops::Range;

/// Words of Jinja that are not variables.
const WORDS: &[&str] = &[
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "filter",
    "endfilter",
    "with",
    "endwith",
    "block",
    "endblock",
    "do",
    "continue",
    "break",
    "recursive",
    "ignore",
    "loop",
    "range",
    "dict",
    "namespace",
    "caller",
    "raw",
    "endraw",
    "autoescape",
    "endautoescape",
];

/// Methods of mappings.
const METHODS: &[&str] = &["get", "items", "keys", "values"];

/// A template with explicit names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RewrittenTemplate {
    /// The template.
    pub(crate) text: String,
    /// The names that changed: the old and the new spelling.
    pub(crate) changes: BTreeSet<(String, String)>,
    /// Names of parameters without a value.
    pub(crate) missing: BTreeSet<String>,
}

/// A piece of code inside of `{{ }}` or `{% %}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text(&'t str),
    Mark(char),
}

/// Rewrites the names of a template to their explicit forms. `params` are the names of its parameters.
pub(crate) fn rewrite(template: &str, params: &BTreeSet<String>) -> RewrittenTemplate {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let mut rewritten = RewrittenTemplate::default();
    let mut copied = 0;
    for place in 0..tokens.len() {
        let Some((span, new)) = replacement(&tokens, place, params, &locals, &mut rewritten.missing) else {
            continue;
        };
        if span.start < copied {
            continue;
        }
        rewritten.text.push_str(&template[copied..span.start]);
        rewritten.text.push_str(&new);
        rewritten.changes.insert((template[span.clone()].to_owned(), new));
        copied = span.end;
    }
    rewritten.text.push_str(&template[copied..]);
    rewritten
}

/// Returns the replacement of the names that begin at a token.
fn replacement(
    tokens: &[(Token<'_>, Range<usize>)],
    place: usize,
    params: &BTreeSet<String>,
    locals: &BTreeSet<String>,
    missing: &mut BTreeSet<String>,
) -> Option<(Range<usize>, String)> {
    let at = |place: usize| tokens.get(place).map(|(token, _)| *token);
    let (Token::Name(name), span) = (at(place)?, tokens[place].1.clone()) else { return None };
    let before = place.checked_sub(1).and_then(at);
    let is_part =
        matches!(before, Some(Token::Mark('.' | '|')) | Some(Token::Name("is" | "block" | "filter")))
            || before == Some(Token::Name("not")) && place >= 2 && at(place - 2) == Some(Token::Name("is"));
    let is_argument = at(place + 1) == Some(Token::Mark('=')) && at(place + 2) != Some(Token::Mark('='));
    let is_call = at(place + 1) == Some(Token::Mark('('));
    if is_part || is_argument || is_call || locals.contains(name) {
        return None;
    }
    if name == "sample" {
        return row_field(tokens, place, span.start);
    }
    if name == "payload"
        && at(place + 1) == Some(Token::Mark('.'))
        && at(place + 2) == Some(Token::Name("sample"))
    {
        return row_field(tokens, place + 2, span.start);
    }
    if params.contains(name) && !TEMPLATE_NAMES.contains(&name) {
        return Some((span, format!("params.{name}")));
    }
    if WORDS.contains(&name) || TEMPLATE_NAMES.contains(&name) {
        return None;
    }
    if PROMPT_TEXTS.contains(&name) {
        missing.insert(name.to_owned());
        return Some((span, format!("params.{name}")));
    }
    let new = if SAMPLE_FIELDS.contains(&name) { format!("sample.{name}") } else { format!("row.{name}") };
    Some((span, new))
}

/// Returns the replacement of `sample.NAME`, `sample['NAME']` and `sample.get('NAME')` if the row has the field.
fn row_field(
    tokens: &[(Token<'_>, Range<usize>)],
    place: usize,
    start: usize,
) -> Option<(Range<usize>, String)> {
    let token = |ahead: usize| tokens.get(place + ahead).map(|(token, _)| *token);
    let end = |ahead: usize| tokens.get(place + ahead).map(|(_, span)| span.end);
    let field = match (token(1)?, token(2)?) {
        (Token::Mark('.'), Token::Name("get")) => match (token(3)?, token(4)?) {
            (Token::Mark('('), Token::Text(field)) => field,
            _ => return None,
        },
        (Token::Mark('.'), Token::Name(method)) if METHODS.contains(&method) => return None,
        (Token::Mark('.'), Token::Name(field)) if !SAMPLE_FIELDS.contains(&field) => {
            return Some((start..end(2)?, format!("row.{field}")));
        }
        (Token::Mark('['), Token::Text(field)) => field,
        _ => return None,
    };
    (!SAMPLE_FIELDS.contains(&field)).then_some((start..end(0)?, "row".to_owned()))
}

/// Returns the names that the template defines itself.
fn locals_of(tokens: &[(Token<'_>, Range<usize>)]) -> BTreeSet<String> {
    let mut locals = BTreeSet::new();
    let mut defines = false;
    for (token, _) in tokens {
        match token {
            Token::Name("for" | "set" | "macro") => defines = true,
            Token::Name("in") | Token::Mark('=' | ')') => defines = false,
            Token::Name(name) if defines => {
                locals.insert((*name).to_owned());
            }
            _ => {}
        }
    }
    locals
}

/// Returns the tokens of the code of a template, each with its place.
fn tokens_of(template: &str) -> Vec<(Token<'_>, Range<usize>)> {
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(found) = template.get(place..).and_then(|rest| rest.find('{')) {
        let open = place + found;
        let close = match template.get(open..open + 2) {
            Some("{{") => "}}",
            Some("{%") => "%}",
            Some("{#") => "#}",
            _ => {
                place = open + 1;
                continue;
            }
        };
        let end = template[open + 2..].find(close).map_or(template.len(), |length| open + 2 + length);
        if close != "#}" {
            push_tokens(template, open + 2..end, &mut tokens);
        }
        place = (end + 2).min(template.len());
    }
    tokens
}

fn push_tokens<'t>(template: &'t str, code: Range<usize>, tokens: &mut Vec<(Token<'t>, Range<usize>)>) {
    let text = &template[code.clone()];
    let mut letters = text.char_indices().peekable();
    while let Some((start, letter)) = letters.next() {
        let mut end = start + letter.len_utf8();
        if letter.is_whitespace() {
            continue;
        }
        let token = if letter.is_alphabetic() || letter == '_' {
            while let Some((at, next)) = letters.next_if(|(_, next)| next.is_alphanumeric() || *next == '_') {
                end = at + next.len_utf8();
            }
            Token::Name(&text[start..end])
        } else if letter == '\'' || letter == '"' {
            let inner = end;
            let mut is_escaped = false;
            let mut close = text.len();
            for (at, next) in letters.by_ref() {
                if next == letter && !is_escaped {
                    close = at;
                    break;
                }
                is_escaped = next == '\\' && !is_escaped;
            }
            end = (close + 1).min(text.len());
            Token::Text(&text[inner..close])
        } else {
            if letter.is_ascii_digit() {
                while let Some((at, next)) = letters.next_if(|(_, next)| next.is_alphanumeric()) {
                    end = at + next.len_utf8();
                }
            }
            Token::Mark(letter)
        };
        tokens.push((token, code.start + start..code.start + end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_templates_become_explicit() {
        let params = BTreeSet::from(["subject".to_owned()]);
        for (old, new) in [
            ("{{ sample.goal }} {{ sample.label }}", "{{ row.goal }} {{ sample.label }}"),
            ("{{ sample.get('goal', '') }}", "{{ row.get('goal', '') }}"),
            ("{{ sample['goal'] }}{{ sample[\"label\"] }}", "{{ row['goal'] }}{{ sample[\"label\"] }}"),
            (
                "{{ payload.sample.goal }} {{ payload.model_output.answer }}",
                "{{ row.goal }} {{ payload.model_output.answer }}",
            ),
            ("{{ subject|upper }} {{ params.subject }}", "{{ params.subject|upper }} {{ params.subject }}"),
            (
                "{% for o in sample.metadata.options %}{{ o }}{% endfor %}",
                "{% for o in sample.metadata.options %}{{ o }}{% endfor %}",
            ),
            ("{% set x = question %}{{ x }}", "{% set x = row.question %}{{ x }}"),
            ("{% if a is defined %}{{ 'a' }}{% endif %}", "{% if row.a is defined %}{{ 'a' }}{% endif %}"),
            ("{%} {{}} {# 1", "{%} {{}} {# 1"),
            ("{# sample.goal #} sample.goal {", "{# sample.goal #} sample.goal {"),
            (
                "{{ sample.messages[-1].content[0].text | default(x, y=1) }}",
                "{{ sample.messages[-1].content[0].text | default(row.x, y=1) }}",
            ),
        ] {
            assert_eq!(rewrite(old, &params).text, new, "{old}");
        }
        let found = rewrite("{{ system_prompt }}", &params);
        assert_eq!(found.text, "{{ params.system_prompt }}");
        assert_eq!(found.missing, BTreeSet::from(["system_prompt".to_owned()]));
        assert_eq!(found.changes.len(), 1);
    }
}
