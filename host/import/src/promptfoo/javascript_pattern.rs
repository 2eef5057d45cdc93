//! Patterns of JavaScript, written as patterns of Python's `re` with the same meaning.

/// Members of sets for `\d` and `\w`, which are ASCII in JavaScript, and for their complements.
const CATEGORIES: [(char, &str, &str); 2] =
    [('d', "0-9", r"\x00-/:-\U0010ffff"), ('w', "0-9A-Za-z_", r"\x00-/:-@\[-\^`{-\U0010ffff")];
/// A dot, which matches no end of a line.
const DOT: &str = r"[^\n\r\u2028\u2029]";
/// Letters of escapes that both languages read alike.
const COMMON_ESCAPES: &str = "fnrtvsS";

/// Converts a pattern without flags. `None` if a part of it may have another meaning.
pub(super) fn to_python(pattern: &str) -> Option<String> {
    let mut converter = Converter { rest: pattern, python: String::with_capacity(pattern.len()) };
    while let Some(letter) = converter.next() {
        converter.add(letter)?;
    }
    Some(converter.python)
}

struct Converter<'p> {
    rest: &'p str,
    python: String,
}

/// An item of a set.
struct SetItem {
    text: String,
    is_category: bool,
}

impl Converter<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = self.rest.strip_prefix(letter)?;
        Some(letter)
    }

    /// Takes a text if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn add(&mut self, letter: char) -> Option<()> {
        match letter {
            '$' => self.python.push_str(r"\Z"),
            '.' => self.python.push_str(DOT),
            '[' => return self.add_set(),
            '(' => return self.add_group(),
            '\\' => return self.add_escape(),
            // In Python, `{,3}` is a repetition.
            '{' if self.rest.starts_with(',') => self.python.push_str(r"\{"),
            other => self.python.push(other),
        }
        Some(())
    }

    /// Adds the beginning of a group. `None` if it has flags.
    fn add_group(&mut self) -> Option<()> {
        const COMMON: [&str; 5] = ["?:", "?=", "?!", "?<=", "?<!"];
        let common = COMMON.into_iter().find(|begin| self.rest.starts_with(*begin));
        let (javascript, python) = match common {
            Some(begin) => (begin, begin),
            None if self.rest.starts_with("?<") => ("?<", "?P<"),
            None if self.rest.starts_with('?') => return None,
            None => ("", ""),
        };
        self.takes(javascript);
        self.python.push('(');
        self.python.push_str(python);
        Some(())
    }

    /// Adds an escape outside of sets. `None` for the text of a group.
    fn add_escape(&mut self) -> Option<()> {
        let letter = self.next()?;
        match letter {
            'b' => self.python.push_str(r"(?a:\b)"),
            'B' => self.python.push_str(r"(?!(?a:\b))"),
            'k' | '1'..='9' => return None,
            other => match members_of(other) {
                Some(members) => self.python.push_str(&format!("[{members}]")),
                None => {
                    let text = self.escaped(other)?;
                    self.python.push_str(&text);
                }
            },
        }
        Some(())
    }

    /// Returns an escape of a character or of white space, after its letter.
    fn escaped(&mut self, letter: char) -> Option<String> {
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'c' => return None,
            '0' if self.rest.starts_with(|next: char| next.is_ascii_digit()) => return None,
            '0' => return Some(r"\x00".to_owned()),
            common if COMMON_ESCAPES.contains(common) || !common.is_alphanumeric() => {
                return Some(format!("\\{common}"));
            }
            // Other letters stand for themselves.
            plain => return Some(plain.to_string()),
        };
        let code = self.rest.get(..digits).filter(|code| code.chars().all(|one| one.is_ascii_hexdigit()));
        let Some(code) = code.map(str::to_owned) else { return Some(letter.to_string()) };
        // Half of a character is no character in Python.
        u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)?;
        self.takes(&code);
        Some(format!("\\{letter}{code}"))
    }

    /// Adds a set after its bracket. `None` if it does not end.
    fn add_set(&mut self) -> Option<()> {
        let is_negated = self.takes("^");
        let mut items: Vec<SetItem> = Vec::new();
        loop {
            let item = match self.next()? {
                ']' => break,
                '\\' => self.set_escape()?,
                // Two brackets may have a meaning in Python.
                '[' => SetItem { text: r"\[".to_owned(), is_category: false },
                letter => SetItem { text: letter.to_string(), is_category: false },
            };
            items.push(item);
        }
        match (items.is_empty(), is_negated) {
            // No character, and any character.
            (true, false) => self.python.push_str("(?!)"),
            (true, true) => self.python.push_str(r"[\s\S]"),
            (false, _) => {
                self.python.push_str(if is_negated { "[^" } else { "[" });
                for (place, item) in items.iter().enumerate() {
                    let is_category = |place: usize| items.get(place).is_some_and(|item| item.is_category);
                    let is_beside = is_category(place + 1) || place > 0 && is_category(place - 1);
                    // Beside a category, the sign is no range.
                    if item.text == "-" && is_beside {
                        self.python.push('\\');
                    }
                    self.python.push_str(&item.text);
                }
                self.python.push(']');
            }
        }
        Some(())
    }

    fn set_escape(&mut self) -> Option<SetItem> {
        let letter = self.next()?;
        if let Some(members) = members_of(letter) {
            return Some(SetItem { text: members.to_owned(), is_category: true });
        }
        let text = match letter {
            'b' => r"\x08".to_owned(),
            '1'..='9' => return None,
            other => self.escaped(other)?,
        };
        Some(SetItem { text, is_category: matches!(letter, 's' | 'S') })
    }
}

/// Returns the members of `\d` or `\w`, or of a complement.
fn members_of(letter: char) -> Option<&'static str> {
    let (_, members, others) =
        CATEGORIES.into_iter().find(|(name, ..)| *name == letter.to_ascii_lowercase())?;
    Some(if letter.is_ascii_uppercase() { others } else { members })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_javascript_become_those_of_python() {
        for (pattern, python) in [
            (r"^\d+$", Some(r"^[0-9]+\Z")),
            (r"\$5\.", Some(r"\$5\.")),
            ("a.b|c", Some(r"a[^\n\r\u2028\u2029]b|c")),
            (r"\bno\B", Some(r"(?a:\b)no(?!(?a:\b))")),
            (r"\s\S\n\/", Some(r"\s\S\n\/")),
            (r"\D\W", Some(r"[\x00-/:-\U0010ffff][\x00-/:-@\[-\^`{-\U0010ffff]")),
            ("[$.]", Some("[$.]")),
            (r"[\w.-]", Some("[0-9A-Za-z_.-]")),
            (r"[\w-.a-z]", Some(r"[0-9A-Za-z_\-.a-z]")),
            (r"[a-\d\]^]", Some(r"[a\-0-9\]^]")),
            (r"[^\s-x]", Some(r"[^\s\-x]")),
            ("[[]", Some(r"[\[]")),
            (r"[\b]", Some(r"[\x08]")),
            ("a[]|[^]", Some(r"a(?!)|[\s\S]")),
            ("(?<year>a)(?:b)(?=c)(?!d)(?<=e)(?<!f)", Some("(?P<year>a)(?:b)(?=c)(?!d)(?<=e)(?<!f)")),
            ("a{,3}b{2,}", Some(r"a\{,3}b{2,}")),
            (r"\u00e9\x41\u{1}\xz", Some(r"\u00e9\x41u{1}xz")),
            (r"\A\Z\p{L}\0", Some(r"AZp{L}\x00")),
            (r"\ud83d", None),
            (r"(a)\1", None),
            (r"(?<a>b)\k<a>", None),
            ("(?i:a)", None),
            ("(?i)a", None),
            (r"\cJ", None),
            ("[a", None),
            ("\\", None),
        ] {
            assert_eq!(to_python(pattern).as_deref(), python, "{pattern}");
        }
    }
}
