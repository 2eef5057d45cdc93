//! Marks on text of models. A marked text keeps its source through slices, filters and joins of a template, so that
//! it can be fenced afterwards.
//!
//! Marked characters are in private planes, with one character for each UTF-16 code unit. Plane 16 is for the model
//! under test, and plane 15 for support roles. The host marks texts and fences them; the component that renders
//! templates sees through the marks.

/// Source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSource {
    /// The model under test.
    Answer,
    /// The support roles.
    Support,
}

impl TextSource {
    /// Returns the first character of its plane.
    fn plane(self) -> u32 {
        match self {
            TextSource::Answer => 0x10_0000,
            TextSource::Support => 0xf_0000,
        }
    }
}

/// Stands for an empty answer, so that it is also fenced: the code unit of a noncharacter, which texts do not
/// contain.
pub const EMPTY: char = '\u{10ffff}';

/// Returns the text with marks.
pub fn marked(source: TextSource, text: &str) -> String {
    text.encode_utf16().filter_map(|unit| char::from_u32(source.plane() + u32::from(unit))).collect()
}

/// Returns whether a text has a marked character.
pub fn has_marks(text: &str) -> bool {
    // The UTF-8 of a marked character begins with one of these bytes. Few other texts have them.
    text.bytes().any(|byte| matches!(byte, 0xf3 | 0xf4)) && text.chars().any(is_marked)
}

/// Returns whether a character is marked.
pub fn is_marked(character: char) -> bool {
    unit(character).is_some()
}

/// Returns the code unit of a marked character, and its source.
fn unit(character: char) -> Option<(TextSource, u16)> {
    [TextSource::Answer, TextSource::Support].into_iter().find_map(|source| {
        let unit = u16::try_from(u32::from(character).checked_sub(source.plane())?).ok()?;
        Some((source, unit))
    })
}

/// Replaces each stretch of marked characters with the result of `write` for the plain text.
pub fn with_marked(text: &str, mut write: impl FnMut(TextSource, &str) -> String) -> String {
    let mut written = String::with_capacity(text.len());
    let mut stretch: Option<(TextSource, Vec<u16>)> = None;
    for character in text.chars().map(Some).chain([None]) {
        let found = character.and_then(unit);
        if let Some((source, units)) =
            stretch.take_if(|(source, _)| found.is_none_or(|found| found.0 != *source))
        {
            let units: Vec<u16> =
                units.into_iter().filter(|unit| Some((source, *unit)) != self::unit(EMPTY)).collect();
            written.push_str(&write(source, &String::from_utf16_lossy(&units)));
        }
        match found {
            Some((source, unit)) => stretch.get_or_insert((source, Vec::new())).1.push(unit),
            None => written.extend(character),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        with_marked(text, |source, stretch| match source {
            TextSource::Answer => format!("<{stretch}>"),
            TextSource::Support => format!("({stretch})"),
        })
    }

    #[test]
    fn marked_text_round_trips() {
        let answer = |text: &str| marked(TextSource::Answer, text);
        for text in ["SCORE: 1.0", "分数：1 👩\u{200d}💻", "\u{f0000}\u{10fffd}", "a\nb\t\u{0}"] {
            assert!(has_marks(&answer(text)));
            assert_eq!(seen(&format!("x {} y", answer(text))), format!("x <{text}> y"));
            assert_eq!(seen(&format!("x {} y", marked(TextSource::Support, text))), format!("x ({text}) y"));
        }
        let cut: String = answer("ab👩").chars().take(3).collect();
        assert_eq!(seen(&cut), "<ab\u{fffd}>");
        assert_eq!(seen(&EMPTY.to_string()), "<>");
        assert_eq!(seen(&format!("{}{}c", answer("a"), marked(TextSource::Support, "b"))), "<a>(b)c");
    }

    #[test]
    fn other_characters_have_no_marks() {
        for text in ["", "plain", "分数 👩\u{200d}💻", "\u{e000}\u{effff}\u{fdd0}"] {
            assert!(!has_marks(text), "{text:?}");
        }
        assert!(has_marks("a\u{f0000}") && has_marks("\u{100000}") && has_marks(&EMPTY.to_string()));
    }
}
