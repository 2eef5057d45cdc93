//! Explains why llama.cpp refuses a grammar: it writes the reason only to its standard error.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum number of rules named in a message.
const MAX_NAMED_RULES: usize = 8;

/// Returns the first visible error of a text as GBNF, with its line. `None` if the grammar looks correct.
pub fn explain(grammar: &str) -> Option<String> {
    let mut reader = GrammarReader { rest: grammar.chars().peekable(), line: 1 };
    let (mut defined, mut named) = (Vec::new(), Vec::new());
    let mut open: Vec<usize> = Vec::new();
    while let Some(character) = reader.next() {
        let line = reader.line;
        match character {
            '#' => reader.skip_to('\n', false).unwrap_or(()),
            '"' | '[' | '{' | '<' => {
                let (what, has, end, escapes) = match character {
                    '"' => ("the text that begins", "has", '"', true),
                    '[' => ("the characters that begin", "have", ']', true),
                    '{' => ("the repetition that begins", "has", '}', false),
                    _ => ("the token that begins", "has", '>', false),
                };
                if reader.skip_to(end, escapes).is_none() {
                    return Some(format!("{what} in line {line} {has} no closing `{end}`"));
                }
            }
            '(' => open.push(line),
            ')' if open.pop().is_none() => return Some(format!("line {line} has a `)` without a `(`")),
            ')' | '|' | '*' | '+' | '?' | '.' | '!' => {}
            _ if character.is_whitespace() => {}
            _ if is_of_name(character) => {
                let name = reader.name(character);
                match reader.defines() {
                    true => defined.push(name),
                    false => named.push((name, line)),
                }
            }
            _ => {
                return Some(format!(
                    "line {line} has a `{}`, which means nothing there",
                    character.escape_debug()
                ));
            }
        }
    }
    if let Some(line) = open.last() {
        return Some(format!("the `(` of line {line} is never closed"));
    }
    if let Some((name, line)) = named.iter().find(|(name, _)| !defined.contains(name)) {
        let known: Vec<&str> = defined.iter().take(MAX_NAMED_RULES).map(String::as_str).collect();
        return Some(format!(
            "line {line} names the rule `{name}`, which is not defined; defined are: {}",
            known.join(", ")
        ));
    }
    (!defined.iter().any(|name| name == "root")).then(|| "it has no rule `root`".to_owned())
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}

struct GrammarReader<'g> {
    rest: Peekable<Chars<'g>>,
    line: usize,
}

impl GrammarReader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    /// Reads up to and including `end`. If `escapes` is true, skips characters escaped by a backslash.
    fn skip_to(&mut self, end: char, escapes: bool) -> Option<()> {
        loop {
            match self.next()? {
                '\\' if escapes => drop(self.next()?),
                character if character == end => return Some(()),
                _ => {}
            }
        }
    }

    fn name(&mut self, first: char) -> String {
        let mut name = String::from(first);
        while let Some(character) = self.rest.next_if(|character| is_of_name(*character)) {
            name.push(character);
        }
        name
    }

    /// Returns true if the name just read starts a rule definition.
    fn defines(&mut self) -> bool {
        while self.rest.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
        "::=".chars().all(|wanted| self.rest.next_if_eq(&wanted).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_that_is_wrong_is_named_with_its_line() {
        for (grammar, expected) in [
            ("root ::= \"yes\" | \"no\"", None),
            ("# a comment (\nroot ::= item{1,3} (\",\" item)*\nitem ::= [a-z\\]]+ .", None),
            (
                "root ::= answer\nanswr ::= \"a\"",
                Some("line 1 names the rule `answer`, which is not defined; defined are: root, answr"),
            ),
            ("start ::= \"a\"", Some("it has no rule `root`")),
            ("root ::= \"a", Some("the text that begins in line 1 has no closing `\"`")),
            ("root ::= \"a\"\nx ::= [a-z", Some("the characters that begin in line 2 have no closing `]`")),
            ("root ::= (\"a\"\n", Some("the `(` of line 1 is never closed")),
            ("root ::= \"a\")", Some("line 1 has a `)` without a `(`")),
            ("root = \"a\"", Some("line 1 has a `=`, which means nothing there")),
            ("", Some("it has no rule `root`")),
        ] {
            assert_eq!(explain(grammar).as_deref(), expected, "{grammar}");
        }
    }
}
