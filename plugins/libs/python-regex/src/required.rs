//! Text that a match requires, and its position. With it, a long text need not be searched by backtracking from each of
//! its characters.

use crate::width::Width;

/// Maximum number of alternatives that are kept. With more, nothing is known.
const MAX_CHOICES: usize = 16;

/// Consecutive characters, as a pattern of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    pattern: String,
    /// Length in characters.
    length: usize,
    /// True if case is folded.
    folds: bool,
}

/// Distance in characters from the beginning of a part; negative if before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) least: i64,
    pub(crate) most: i64,
}

impl Offset {
    /// Shifts the offset by the width of a preceding part.
    fn behind(self, width: Width) -> Offset {
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        Offset {
            least: self.least.saturating_add(signed(width.least)),
            most: self.most.saturating_add(signed(width.most)),
        }
    }
}

/// Alternative stretches: a text must contain one of them for some part of a pattern to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequiredText {
    /// The alternatives. If empty, nothing is known.
    choices: Vec<Stretch>,
    /// Offset at which they begin.
    offset: Offset,
    /// True if the part is nothing but its one stretch, so that the next part can continue it.
    is_open: bool,
}

impl RequiredText {
    /// Returns the required text of a single character, given as a pattern.
    pub(crate) fn character(pattern: &str, folds: bool) -> RequiredText {
        RequiredText {
            choices: vec![Stretch { pattern: pattern.to_owned(), length: 1, folds }],
            offset: Offset::default(),
            is_open: true,
        }
    }

    /// Returns the required text of a part that has something around it.
    pub(crate) fn alone(self) -> RequiredText {
        RequiredText { is_open: false, ..self }
    }

    /// Returns the required text of a part that ends at a position instead of beginning there.
    pub(crate) fn before(mut self, width: Width) -> RequiredText {
        let width = i64::try_from(width.most).unwrap_or(i64::MAX);
        self.offset.least = self.offset.least.saturating_sub(width);
        self.offset.most = self.offset.most.saturating_sub(width);
        self
    }

    /// Returns the required text of consecutive parts, given with their widths: the stretches of the part that requires
    /// most.
    pub(crate) fn all_of<'part>(parts: impl Iterator<Item = (&'part RequiredText, Width)>) -> RequiredText {
        let mut best = RequiredText::default();
        let mut open: Option<RequiredText> = None;
        let mut width = Width::ZERO;
        for (part, part_width) in parts {
            let required = RequiredText { offset: part.offset.behind(width), ..part.clone() };
            width = width.then(part_width);
            if required.is_open && open.as_mut().is_some_and(|open| open.goes_on_in(&required)) {
                continue;
            }
            best.raise_to(open.take());
            match required.is_open {
                true => open = Some(required),
                false => best.raise_to(Some(required)),
            }
        }
        best.raise_to(open);
        best.alone()
    }

    /// Appends a character if it is of the same kind. Returns whether it did.
    fn goes_on_in(&mut self, next: &RequiredText) -> bool {
        match (self.choices.first_mut(), next.choices.first()) {
            (Some(stretch), Some(next)) if stretch.folds == next.folds => {
                stretch.pattern.push_str(&next.pattern);
                stretch.length += next.length;
                true
            }
            _ => false,
        }
    }

    /// Returns the required text of alternative branches.
    pub(crate) fn one_of<'branch>(branches: impl Iterator<Item = &'branch RequiredText>) -> RequiredText {
        let mut found: Option<RequiredText> = None;
        for required in branches {
            let all = found.get_or_insert_with(|| RequiredText { choices: Vec::new(), ..required.clone() });
            if required.choices.is_empty() || all.choices.len() + required.choices.len() > MAX_CHOICES {
                return RequiredText::default();
            }
            all.choices.extend(required.choices.iter().cloned());
            all.offset.least = all.offset.least.min(required.offset.least);
            all.offset.most = all.offset.most.max(required.offset.most);
        }
        found.unwrap_or_default().alone()
    }

    /// Returns the pattern of the required text, and its offset from the beginning of a match; `None` if nothing is
    /// known.
    pub(crate) fn pattern(&self) -> Option<(String, Offset)> {
        let pattern = |stretch: &Stretch| match stretch.folds {
            true => format!("(?i:{})", stretch.pattern),
            false => stretch.pattern.clone(),
        };
        let patterns: Vec<String> = self.choices.iter().map(pattern).collect();
        (!patterns.is_empty()).then(|| (patterns.join("|"), self.offset))
    }

    /// Returns the length of the shortest alternative; 0 if there are none.
    fn least(&self) -> usize {
        self.choices.iter().map(|stretch| stretch.length).min().unwrap_or(0)
    }

    fn raise_to(&mut self, other: Option<RequiredText>) {
        if let Some(other) = other.filter(|other| other.least() > self.least()) {
            *self = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::Alphabet;
    use crate::translate::translate;

    #[test]
    fn what_is_required() {
        const FAR: i64 = i64::MAX;
        for (pattern, required) in [
            ("answer", Some(("answer", 0, 0))),
            (r"\d+", None),
            ("(?<=answer: )[0-9]+", Some((r"answer\x3A\x20", -8, -8))),
            ("[0-9](?<=ab[0-9])c", Some(("ab", -2, -2))),
            ("(?<!answer)b", Some(("b", 0, 0))),
            ("x?(?=ab)c", Some(("ab", 0, 1))),
            ("(?!abc)d?", None),
            ("ab+cd", Some(("cd", 2, FAR))),
            ("ab*cd?e{2}", Some(("a", 0, 0))),
            ("(?:ab|cde)f", Some(("ab|cde", 0, 0))),
            ("(?:ab|[xy]cde)f", Some(("ab|cde", 0, 1))),
            ("(?:ab|)", None),
            ("(?:ab|cde)*fg", Some(("fg", 0, FAR))),
            (r"(a)bc\1", Some(("bc", 1, 1))),
            ("[0-9]{2,4}(?>ab)", Some(("ab", 2, 4))),
            ("(a)(?(1)bcd|efg)", Some(("bcd|efg", 1, 1))),
            ("(a)?(?(1)bcd)", None),
            ("a(?i:bc)d", Some(("(?i:bc)", 1, 1))),
            ("a(?:b)c", Some(("a", 0, 0))),
            ("(?:[0-9]ab)+", Some(("ab", 1, 1))),
            ("", None),
        ] {
            let Ok(found) = translate(pattern, false, Alphabet::Ascii) else {
                panic!("{pattern} is a pattern")
            };
            let expected = required
                .map(|(pattern, least, most): (&str, _, _)| (pattern.to_owned(), Offset { least, most }));
            assert_eq!(found.required, expected, "{pattern}");
        }
        let folded = translate("(?-i:x)is", true, Alphabet::Unicode).map(|found| found.required);
        let expected = ("(?i:[iI\u{130}\u{131}]s)".to_owned(), Offset { least: 1, most: 1 });
        assert_eq!(folded, Ok(Some(expected)));
    }
}
