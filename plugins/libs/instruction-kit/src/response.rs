//! A response, and whether it follows instructions.

use crate::instruction::Instruction;
use crate::language;
use gage_sdk::PluginError;
use gage_text_kit::text::strip;
use std::cell::OnceCell;

/// A text that is checked, and what is found out about it once.
pub(crate) struct Response {
    pub(crate) text: String,
    language: OnceCell<Option<String>>,
}

impl Response {
    pub(crate) fn new(text: &str) -> Response {
        Response { text: text.to_owned(), language: OnceCell::new() }
    }

    /// Returns the code of the language; `None` if nothing in the text belongs to a language.
    pub(crate) fn language(&self) -> Option<&str> {
        self.language.get_or_init(|| language::detect(&self.text)).as_deref()
    }
}

/// The verdicts on several instructions: true if one was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// Verdicts on the response as it is.
    pub strict: Vec<bool>,
    /// Verdicts on the best of its variants: as it is, without the first line, the last line or both, and each of these
    /// without stars.
    pub loose: Vec<bool>,
}

/// Checks a response. A blank text follows no instruction.
///
/// # Errors
/// Outside of a component, if the search for a keyword takes too many steps.
pub fn follow(instructions: &[Instruction], response: &str) -> Result<Verdicts, PluginError> {
    let variants = variants(response);
    let mut verdicts = Verdicts { strict: Vec::new(), loose: Vec::new() };
    for instruction in instructions {
        let mut is_strict = false;
        let mut is_loose = false;
        for (place, variant) in variants.iter().enumerate() {
            is_loose = !strip(&variant.text).is_empty() && instruction.is_followed(variant)?;
            is_strict |= place == 0 && is_loose;
            if is_loose {
                break;
            }
        }
        verdicts.strict.push(is_strict);
        verdicts.loose.push(is_loose);
    }
    Ok(verdicts)
}

/// Returns the response, and then its variants.
fn variants(response: &str) -> Vec<Response> {
    let without_first = response.split_once('\n').map_or("", |(_, rest)| rest);
    let without_last = response.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let without_both = without_first.rsplit_once('\n').map_or("", |(rest, _)| rest);
    let mut variants = vec![Response::new(response)];
    for text in [response, strip(without_first), strip(without_last), strip(without_both)] {
        for text in [text.to_owned(), text.replace('*', "")] {
            if variants.iter().all(|variant| variant.text != text) {
                variants.push(Response::new(&text));
            }
        }
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_lack_lines_and_stars() {
        for (response, expected) in [
            ("a", vec!["a", ""]),
            ("a\n*b*\nc", vec!["a\n*b*\nc", "a\nb\nc", "*b*\nc", "b\nc", "a\n*b*", "a\nb", "*b*", "b"]),
            ("a\nb", vec!["a\nb", "b", "a", ""]),
        ] {
            let found: Vec<String> = variants(response).into_iter().map(|variant| variant.text).collect();
            assert_eq!(found, expected, "{response:?}");
        }
    }
}
