//! JSON as Python's `json.loads` accepts it.

/// Returns whether a text is JSON. Like Python, and unlike the standard, it accepts `NaN`, `Infinity` and `-Infinity`,
/// and half of a surrogate pair. Unlike Python it has no limit on nesting, and none on the digits of an integer.
pub(crate) fn is_json(text: &str) -> bool {
    let mut reader = Reader { rest: text };
    reader.document().is_some() && reader.after_space().is_empty()
}

struct Reader<'text> {
    rest: &'text str,
}

/// A list or an object whose end has not been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    List,
    Object,
}

impl<'text> Reader<'text> {
    /// Returns the rest after white space.
    fn after_space(&mut self) -> &'text str {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest
    }

    fn takes(&mut self, token: &str) -> bool {
        match self.after_space().strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a value and everything in it. `None` if it is not JSON.
    fn document(&mut self) -> Option<()> {
        let mut open: Vec<Container> = Vec::new();
        loop {
            // A value begins here.
            if self.takes("[") {
                if !self.takes("]") {
                    open.push(Container::List);
                    continue;
                }
            } else if self.takes("{") {
                if !self.takes("}") {
                    self.key()?;
                    open.push(Container::Object);
                    continue;
                }
            } else {
                self.scalar()?;
            }
            // A value has ended here, and perhaps those around it.
            loop {
                let Some(around) = open.last() else { return Some(()) };
                if self.takes(",") {
                    if *around == Container::Object {
                        self.key()?;
                    }
                    break;
                }
                if !self.takes(if *around == Container::Object { "}" } else { "]" }) {
                    return None;
                }
                open.pop();
            }
        }
    }

    fn key(&mut self) -> Option<()> {
        self.after_space();
        self.string()?;
        self.takes(":").then_some(())
    }

    fn scalar(&mut self) -> Option<()> {
        const NAMES: [&str; 6] = ["null", "true", "false", "NaN", "Infinity", "-Infinity"];
        if self.after_space().starts_with('"') {
            return self.string();
        }
        if NAMES.iter().any(|name| self.takes(name)) { Some(()) } else { self.number() }
    }

    fn string(&mut self) -> Option<()> {
        let mut characters = self.rest.strip_prefix('"')?.chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => match characters.next()? {
                    '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {}
                    'u' => {
                        for _ in 0..4 {
                            characters.next().filter(char::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                '\0'..='\x1f' => return None,
                _ => {}
            }
        }
        self.rest = characters.as_str();
        Some(())
    }

    /// Reads a number; the parts after the integer count only if they are complete.
    fn number(&mut self) -> Option<()> {
        let rest = self.rest.strip_prefix('-').unwrap_or(self.rest);
        self.rest = match rest.strip_prefix('0') {
            Some(rest) => rest,
            None => digits(rest)?,
        };
        if let Some(rest) = self.rest.strip_prefix('.').and_then(digits) {
            self.rest = rest;
        }
        let exponent = self.rest.strip_prefix(['e', 'E']);
        let exponent = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
        if let Some(rest) = exponent.and_then(digits) {
            self.rest = rest;
        }
        Some(())
    }
}

/// Returns the rest after one or more digits.
fn digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::serde_json;
    use proptest::prelude::*;

    #[test]
    fn json_is_that_of_python() {
        for (text, expected) in [
            ("{}", true),
            ("[ ]", true),
            (r#" {"a": [1, -2.5e+3, {"b": null}], "c": "x\n\u00e9"} "#, true),
            (r#"["\ud800", NaN, -Infinity]"#, true),
            ("5", true),
            ("01", false),
            ("1.", false),
            ("-", false),
            ("[1,]", false),
            ("{\"a\" 1}", false),
            ("{a: 1}", false),
            ("\"a", false),
            ("\"\u{1}\"", false),
            (r#""\x""#, false),
            ("[1] 2", false),
            ("]", false),
            ("", false),
            ("'a'", false),
        ] {
            assert_eq!(is_json(text), expected, "{text:?}");
        }
        assert!(is_json(&("[".repeat(100_000) + &"]".repeat(100_000))));
    }

    proptest! {
        #[test]
        fn strict_json_is_json(text in r#"[\[\]{}",:0-9eE.+\-a-u\\ ]{0,12}"#) {
            let is_strict = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            // Numbers that are too large for a float are the one difference of these texts.
            if is_strict {
                prop_assert!(is_json(&text));
            } else if !text.contains(['e', 'E', 'u']) {
                prop_assert!(!is_json(&text));
            }
        }
    }
}
