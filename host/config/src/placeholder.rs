//! Syntax of variables in texts, `${NAME}` and `${NAME:-default}`: where one ends, and how deep they nest.

/// The most levels to which variables may nest in a text: `${A}` has one, and `${A:-${B}}` has two.
pub(crate) const MAX_LEVELS: u8 = 64;

/// Returns whether variables nest more than [`MAX_LEVELS`] deep. Each function that reads defaults calls itself for each level,
/// so a deeper text could overflow the stack. An escaped `$${` counts, because some of them read a text without its escapes.
pub(crate) fn nests_too_deep(text: &str) -> bool {
    if text.matches("${").count() <= usize::from(MAX_LEVELS) {
        return false;
    }
    // For each open brace: whether it begins a variable, and how deep the closed variables within it nest.
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

/// The place of the brace that closes a variable, past those of variables within.
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
