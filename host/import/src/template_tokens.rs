//! Splits the code of a template into names, texts and marks.

use std::collections::BTreeSet;
use std::ops::Range;

/// Words of Jinja that are not variables.
pub(crate) const WORDS: &[&str] = &[
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

/// A piece of code inside of `{{ }}` or `{% %}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// Beginning of `{{` or `{%`; the second letter.
    Open(char),
    /// End of either.
    Close,
    /// A name.
    Name(&'t str),
    /// A text, without its quotes.
    Text(&'t str),
    /// Any other letter; of a number the first digit.
    Mark(char),
}

/// Returns the names that the template defines itself.
pub(crate) fn locals_of(tokens: &[(Token<'_>, Range<usize>)]) -> BTreeSet<String> {
    let mut locals = BTreeSet::new();
    let mut defines = false;
    for (token, _) in tokens {
        match token {
            Token::Name("for" | "set" | "macro") => defines = true,
            Token::Name("in") | Token::Mark('=' | ')') | Token::Close => defines = false,
            Token::Name(name) if defines => {
                locals.insert((*name).to_owned());
            }
            _ => {}
        }
    }
    locals
}

/// Returns the tokens of the code of a template, each with its place.
pub(crate) fn tokens_of(template: &str) -> Vec<(Token<'_>, Range<usize>)> {
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
            // `-` and `+` next to a brace remove or keep white space.
            let inner = &template[open + 2..end];
            let code = inner.strip_prefix(['-', '+']).unwrap_or(inner);
            let start = end - code.len();
            let code = code.strip_suffix(['-', '+']).unwrap_or(code);
            tokens.push((Token::Open(if close == "}}" { '{' } else { '%' }), open..open + 2));
            push_tokens(template, start..start + code.len(), &mut tokens);
            tokens.push((Token::Close, end..end));
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
