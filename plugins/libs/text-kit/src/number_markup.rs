//! Markup around a number that does not change it: `**5**`, `$5$`, `≈5`.

/// Pairs of opening and closing marks, longer ones first.
const PAIRS: &[(&str, &str)] = &[
    ("**", "**"),
    ("__", "__"),
    ("$$", "$$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("*", "*"),
    ("`", "`"),
    ("$", "$"),
    ("\"", "\""),
    ("“", "”"),
];

/// Signs and words for "about".
const ABOUT: &[&str] = &["≈", "~", "∼", "≃", "≅", "\\approx", "\\sim", "大约", "约"];

/// Maximum number of nested layers.
const MAX_LAYERS: usize = 4;

/// Removes these marks, and LaTeX commands that only add space.
pub(crate) fn undressed(text: &str) -> String {
    let mut text = text.trim();
    for _ in 0..MAX_LAYERS {
        let inner = PAIRS.iter().find_map(|(open, close)| {
            let inner = text.strip_prefix(open)?.strip_suffix(close)?;
            // `$5 and $` is not a formula.
            (!inner.is_empty() && !inner.contains(open)).then_some(inner)
        });
        let bare = inner.or_else(|| ABOUT.iter().find_map(|about| text.strip_prefix(about)));
        match bare {
            Some(bare) => text = bare.trim(),
            None => break,
        }
    }
    text.replace("\\$", "$").replace("{,}", ",").replace("\\,", " ").replace("\\ ", " ").replace("\\;", " ")
}

/// Returns a unit without the LaTeX command around it: `\text{km}`.
pub(crate) fn unwrapped_unit(text: &str) -> &str {
    let commands = ["\\text{", "\\mathrm{", "\\textrm{", "\\rm{"];
    let inner = commands.iter().find_map(|command| text.strip_prefix(command)?.strip_suffix('}'));
    inner.map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dress_goes() {
        for (text, expected) in [
            ("**5**", "5"),
            ("$5$", "5"),
            ("**$≈ 5$**", "5"),
            (r"\(5\)", "5"),
            (r"\$5", "$5"),
            (r"1{,}234\,\text{km}", r"1,234 \text{km}"),
            ("~$5", "$5"),
            ("$5", "$5"),
            ("**", "**"),
            ("约5", "5"),
        ] {
            assert_eq!(undressed(text), expected, "{text}");
        }
        assert_eq!(unwrapped_unit(r"\text{ km}"), "km");
        assert_eq!(unwrapped_unit("km"), "km");
    }
}
