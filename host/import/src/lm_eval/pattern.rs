//! Patterns of filters: their groups, and what they find in an answer with white space around it.

/// Returns a pattern that allows white space around the answer where the old one needs its beginning or its
/// end. `None` if one of its alternatives may find something else in an answer with white space.
pub(super) fn with_white_space(pattern: &str) -> Option<String> {
    if has_line_flags(pattern) {
        return None;
    }
    let alternatives: Option<Vec<String>> =
        alternatives(&pieces(pattern)).into_iter().map(alternative_with_white_space).collect();
    Some(alternatives?.join("|"))
}

/// Returns true if each alternative of a pattern is one group, so that the whole match is that of the group.
pub(super) fn is_choice_of_groups(pattern: &str) -> bool {
    let pieces = pieces(pattern);
    let without_flags: &[&str] = match split_group(&pieces) {
        Some((flags, after)) if are_flags(flags) => after,
        _ => &pieces,
    };
    alternatives(without_flags).into_iter().all(|alternative| {
        split_group(alternative).is_some_and(|(inner, after)| after.is_empty() && is_captured(inner))
    })
}

/// Returns the number of groups of a pattern whose match is kept.
pub(super) fn groups(pattern: &str) -> usize {
    let pieces = pieces(pattern);
    let starts = (0..pieces.len()).filter(|place| pieces.get(*place) == Some(&"("));
    starts.filter(|start| pieces.get(start + 1..).is_some_and(is_captured)).count()
}

fn alternative_with_white_space(pieces: &[&str]) -> Option<String> {
    let (is_at_start, inner) = match pieces {
        ["^", inner @ ..] => (true, inner),
        _ => (false, pieces),
    };
    let (is_at_end, inner) = match inner {
        [inner @ .., "$"] => (true, inner),
        _ => (false, inner),
    };
    let is_anchor = |piece: &&str| ["^", "$", r"\A", r"\Z", r"\B"].contains(piece);
    if inner.iter().any(is_anchor) || !is_at_start && may_begin_with_space(inner) {
        return None;
    }
    let (start, end) = (if is_at_start { r"^\s*" } else { "" }, if is_at_end { r"\s*$" } else { "" });
    Some(format!("{start}{}{end}", inner.concat()))
}

/// Returns the pieces of a pattern: sets such as `[a-z]`, escaped letters, and other letters.
fn pieces(pattern: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\\' => first.len_utf8() + rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' => set_length(rest),
            other => other.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Returns the length of the set at the start of a pattern. A `]` that is its first member does not end it.
fn set_length(pattern: &str) -> usize {
    let mut letters = pattern.char_indices().skip(1).peekable();
    letters.next_if(|(_, letter)| *letter == '^');
    letters.next_if(|(_, letter)| *letter == ']');
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            ']' => return at + 1,
            _ => {}
        }
    }
    pattern.len()
}

/// Splits pieces at each `|` outside of groups.
fn alternatives<'a, 'p>(pieces: &'a [&'p str]) -> Vec<&'a [&'p str]> {
    let mut depth = 0_usize;
    let is_between = |piece: &&str| {
        depth = depth_after(piece, depth);
        *piece == "|" && depth == 0
    };
    pieces.split(is_between).collect()
}

/// Splits pieces that begin with a group: those inside of it, and those after it.
fn split_group<'a, 'p>(pieces: &'a [&'p str]) -> Option<(&'a [&'p str], &'a [&'p str])> {
    pieces.first().filter(|first| **first == "(")?;
    let mut depth = 0_usize;
    let end = pieces.iter().position(|piece| {
        depth = depth_after(piece, depth);
        depth == 0
    })?;
    Some((pieces.get(1..end)?, pieces.get(end + 1..)?))
}

/// Returns the number of open groups after a piece.
fn depth_after(piece: &str, depth: usize) -> usize {
    match piece {
        "(" => depth + 1,
        ")" => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Returns true if the pieces after a `(` begin a group whose match is kept.
fn is_captured(inner: &[&str]) -> bool {
    inner.first() != Some(&"?") || inner.starts_with(&["?", "P", "<"])
}

/// Returns true if the pieces of a group are only flags, as in `(?i)`.
fn are_flags(inner: &[&str]) -> bool {
    let is_flag = |piece: &&str| piece.chars().all(|one| one.is_ascii_alphabetic());
    matches!(inner, ["?", flags @ ..] if flags.iter().all(is_flag))
}

/// Returns true if flags change the meaning of `^`, `$` and white space: `(?m)` and `(?x)`.
fn has_line_flags(pattern: &str) -> bool {
    let flags =
        |rest: &str| rest.chars().take_while(char::is_ascii_alphabetic).any(|flag| "mx".contains(flag));
    pattern.split("(?").skip(1).any(flags)
}

/// Returns the pieces of a group after its name. `None` for a group that tests other text, or has flags.
fn content<'a, 'p>(inner: &'a [&'p str]) -> Option<&'a [&'p str]> {
    match inner {
        ["?", ":", content @ ..] => Some(content),
        ["?", "P", "<", named @ ..] => {
            let end = named.iter().position(|piece| *piece == ">")?;
            named.get(end + 1..)
        }
        ["?", ..] => None,
        content => Some(content),
    }
}

/// Returns true if some pieces may find an empty text, or a text that begins with white space.
fn may_begin_with_space(pieces: &[&str]) -> bool {
    alternatives(pieces).into_iter().any(|mut rest| {
        while let Some((first, others)) = rest.split_first() {
            let (is_space, after) = match split_group(rest) {
                Some((inner, after)) if are_flags(inner) => {
                    rest = after;
                    continue;
                }
                Some((inner, after)) => (content(inner).is_none_or(may_begin_with_space), after),
                None => (may_be_space(first), others),
            };
            if is_space {
                return true;
            }
            rest = match after_optional(after) {
                Some(after) => after,
                // A word boundary is no letter.
                None if *first == r"\b" => after,
                None => return false,
            };
        }
        true
    })
}

/// Returns the pieces after a quantifier that allows an empty text, such as `?` and `{0,2}`.
fn after_optional<'a, 'p>(pieces: &'a [&'p str]) -> Option<&'a [&'p str]> {
    let after = match pieces {
        ["?" | "*", after @ ..] => after,
        ["{", "0" | ",", ..] => {
            let end = pieces.iter().position(|piece| *piece == "}")?;
            pieces.get(end + 1..)?
        }
        _ => return None,
    };
    match after {
        // The quantifier may take few letters, or keep those it has: `*?` and `*+`.
        ["?" | "+", after @ ..] => Some(after),
        _ => Some(after),
    }
}

/// Returns true if a piece may find white space.
fn may_be_space(piece: &str) -> bool {
    if let Some(members) = piece.strip_prefix('[') {
        let is_space = |member: &&str| *member != "." && may_be_space(member);
        return members.starts_with('^') || pieces(members).iter().any(is_space);
    }
    match piece.strip_prefix('\\') {
        // Other letters and digits may stand for white space, or for what a group found.
        Some(escaped) => {
            !["b", "d", "S", "w"].contains(&escaped)
                && escaped.starts_with(|one: char| one.is_alphanumeric() || one.is_whitespace())
        }
        None => piece == "." || piece.starts_with(char::is_whitespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_allowed_where_a_filter_removes_it() {
        for (pattern, expected) in [
            (r"^(\w)", Some(r"^\s*(\w)")),
            (r"^(\w)$", Some(r"^\s*(\w)\s*$")),
            (r"(\d+)$", Some(r"(\d+)\s*$")),
            (r"^(.*)", Some(r"^\s*(.*)")),
            (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", Some(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")),
            (r"([^^$]\$)", None),
            (r"a[^^$]\$", Some(r"a[^^$]\$")),
            (r"answer is (.*)", Some(r"answer is (.*)")),
            (r"^(.*?)(?=\n|$)", None),
            (r"a\Z", None),
            (r"(?m)^a", None),
            (r"(?im)a$", None),
            ("(.)", None),
            (r"(?:\s|a)", None),
            (" a", None),
        ] {
            assert_eq!(with_white_space(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn each_alternative_of_a_pattern_is_examined() {
        for (pattern, expected) in [
            ("a|^b", Some(r"a|^\s*b")),
            (r"^(\w)$|^(\d)$", Some(r"^\s*(\w)\s*$|^\s*(\d)\s*$")),
            (r"^a|\s", None),
            ("^a|.", None),
            (r"(a)|(\sb)", None),
            (r"(?:a|(?P<n>b|.))c", None),
            (r"[|]a|b|$", None),
            (r"\|a|[(]", Some(r"\|a|[(]")),
            (r"(?i)a|b", Some(r"(?i)a|b")),
            (r"-?\d|a*b", Some(r"-?\d|a*b")),
            (r"a?\sb", None),
            (r"a{0,2}?\sb", None),
            ("a|b*", None),
            (r"\b(\w+)", Some(r"\b(\w+)")),
            (r"[]\s]a", None),
            (r"(?<=is )a", None),
        ] {
            assert_eq!(with_white_space(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn choices_of_groups_have_only_groups() {
        for (pattern, is_choice) in [
            (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", true),
            ("((a)|(b))", true),
            ("(?i)(a)|(?P<n>b)", true),
            ("(a)|x(b)|(c)", false),
            ("(a)|b|(c)", false),
            ("(a)|(?:b)|(c)", false),
            ("(a)(b)", false),
        ] {
            assert_eq!(is_choice_of_groups(pattern), is_choice, "{pattern}");
        }
    }

    #[test]
    fn groups_of_patterns_are_counted() {
        for (pattern, count) in [
            (r"#### (\-?[0-9\.\,]+)", 1),
            (r"(-?[$0-9.,]{2,})|(-?[0-9]+)", 2),
            (r"\(([(])(?:a)\)", 1),
            ("(?P<n>a)[]()]", 1),
            ("a", 0),
        ] {
            assert_eq!(groups(pattern), count, "{pattern}");
        }
    }
}
