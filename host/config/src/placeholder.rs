//! Syntax of variables in texts, `${NAME}` and `${NAME:-default}`: end and nesting depth.

/// Maximum nesting depth of variables in a text: `${A}` has one level, and `${A:-${B}}` has two.
pub(crate) const MAX_LEVELS: u8 = 64;

/// Returns true if variables nest more than [`MAX_LEVELS`] deep. Functions that read defaults recurse for each
/// level, so a deeper text could overflow the stack. An escaped `$${` counts, because some of them read a text
/// without its escapes.
pub(crate) fn nests_too_deep(text: &str) -> bool {
    if text.matches("${").count() <= usize::from(MAX_LEVELS) {
        return false;
    }
    // For each open brace: true if it begins a variable, and the nesting depth of the closed variables within it.
    let mut open: Vec<(bool, u8)> = Vec::new();
    let mut before = 0;
    for byte in text.bytes() {
        if byte == b'{' {
            open.push((before == b'$', 0));
        } else if byte == b'}'
            && let Some((is_variable, within)) = open.pop()
        {
            let levels = within + u8::from(is_variable);
            if levels > MAX_LEVELS {
                return true;
            }
            if let Some((_, outer)) = open.last_mut() {
                *outer = levels.max(*outer);
            }
        }
        before = byte;
    }
    false
}

/// Returns the names of the environment variables in a text, those of defaults included. `${config_dir}`, the parameters of
/// templates and escaped variables are left out.
pub(crate) fn variable_names(text: &str) -> impl Iterator<Item = &str> {
    let places = text.match_indices("${").filter(|(place, _)| !text[..*place].ends_with('$'));
    let names = places.filter_map(|(place, _)| text[place + 2..].split([':', '}']).next());
    names.filter(|name| {
        let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
        !name.is_empty() && name.chars().all(is_name) && *name != "config_dir"
    })
}

/// Returns the position of the brace that closes a variable, after those of nested variables.
pub(crate) fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(place),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::variable_names;

    #[test]
    fn every_variable_of_a_text_is_named() {
        for (text, expected) in [
            ("plain $5 {x}", vec![]),
            ("${A}/${B:-two}", vec!["A", "B"]),
            ("${A:-${B:?no ${C}}}", vec!["A", "B", "C"]),
            ("$${A} ${config_dir} ${runtime.global.n:-${D}}", vec!["D"]),
            ("$${${A}", vec!["A"]),
        ] {
            assert_eq!(variable_names(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
