//! Normalization of texts and ids for comparison.

use gage_sdk::{PluginError, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::text::{Normalization, strip};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Normalizes case, white space and composed characters. If the parameter `normalize` is false, it only strips white
/// space at the ends.
#[derive(Clone, Copy, Debug)]
pub struct Normalizer {
    normalize: bool,
}

impl Normalizer {
    /// Returns the schema of the parameter `normalize`.
    pub fn schema() -> serde_json::Value {
        flag_schema(true, "Ignore case, repeated white space and Unicode composition")
    }

    /// Reads the parameter `normalize`, true by default.
    ///
    /// # Errors
    /// `invalid-config` if it is not a flag.
    pub fn new(params: &Params) -> Result<Normalizer, PluginError> {
        Ok(Normalizer { normalize: params.flag("normalize", true)? })
    }

    /// Returns the default normalizer, as if `normalize` were true.
    pub fn loose() -> Normalizer {
        Normalizer { normalize: true }
    }

    /// Returns a normalizer that only strips white space at the ends.
    pub fn plain() -> Normalizer {
        Normalizer { normalize: false }
    }

    /// Returns the text in a form that can be compared byte by byte.
    pub fn apply(self, text: &str) -> String {
        if !self.normalize {
            return strip(text).to_owned();
        }
        let how = Normalization { case_sensitive: false, strip: true, collapse: true };
        let text = how.apply(text);
        if text.is_ascii() || is_nfc(&text) { text.into_owned() } else { text.nfc().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let (on, off) = (Normalizer::loose(), Normalizer::plain());
        for (text, normal, plain) in [
            (" Go \n UP ", "go up", "Go \n UP"),
            ("Cafe\u{301}", "café", "Cafe\u{301}"),
            ("\u{3000}营收", "营收", "营收"),
            ("", "", ""),
        ] {
            assert_eq!(on.apply(text), normal);
            assert_eq!(off.apply(text), plain);
        }
    }
}
