//! `<image 1>` in a text: the place of an image of the row.

use crate::sample::text_part;
use gage_sdk::serde_json::Value;

/// A piece of a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'text> {
    Text(&'text str),
    /// Number of an image, as spelled in the text.
    Image(u32),
}

/// Splits a text into pieces, in order.
pub(crate) fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..).and_then(|rest| rest.find(OPENING)).map(|at| from + at) {
        let Some((number, behind)) = text.get(start..).and_then(placeholder) else {
            from = start + OPENING.len();
            continue;
        };
        pieces.extend(text.get(..start).filter(|before| !before.is_empty()).map(Piece::Text));
        pieces.push(Piece::Image(number));
        text = behind;
        from = 0;
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

const OPENING: &str = "<image";

/// Returns the number of the placeholder that a text begins with, and the text after it. Datasets write `<image 1>`,
/// `<image_1>` and `<image1>`.
fn placeholder(text: &str) -> Option<(u32, &str)> {
    let rest = text.strip_prefix(OPENING)?;
    let rest = rest.strip_prefix([' ', '_']).unwrap_or(rest);
    let (number, behind) = rest.split_once('>')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((is_number.then(|| number.parse().ok()).flatten()?, behind))
}

/// Returns the parts of a message for these pieces. If `trims`, white space next to an image is removed.
pub(crate) fn parts(
    pieces: &[Piece<'_>],
    trims: bool,
    mut image: impl FnMut(u32) -> Vec<Value>,
) -> Vec<Value> {
    let mut parts = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Image(number) => parts.extend(image(*number)),
            Piece::Text(text) => {
                let text = if trims { text.trim() } else { text };
                parts.extend((!text.is_empty()).then(|| text_part(text)));
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_taken_apart() {
        use Piece::{Image, Text};
        for (text, expected) in [
            ("a <image 1> b", vec![Text("a "), Image(1), Text(" b")]),
            ("<image_2><image3>", vec![Image(2), Image(3)]),
            ("a < b <image x> <image>", vec![Text("a < b <image x> <image>")]),
            ("<image <image 7>", vec![Text("<image "), Image(7)]),
            ("<image 99999999999>", vec![Text("<image 99999999999>")]),
            ("", vec![]),
        ] {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in "([a-zé<> ]|<image [0-9]{1,3}>){0,12}") {
            let whole: String = pieces(&text)
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => (*text).to_owned(),
                    Piece::Image(number) => format!("<image {number}>"),
                })
                .collect();
            // Only leading zeros may be dropped.
            let plain = text.replace("<image 00", "<image ").replace("<image 0", "<image ");
            prop_assert_eq!(whole.replace("<image 0", "<image "), plain);
        }
    }
}
