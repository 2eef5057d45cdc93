//! How texts and ids are made comparable.

use gage_sdk::{PluginError, serde_json};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use gage_text_kit::text::{Normalization, strip};
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Case, white space and composed characters; nothing but the white space at the ends where
/// the parameter `normalize` is false.
#[derive(Clone, Copy)]
pub(crate) struct Normalizer {
    normalize: bool,
}

impl Normalizer {
    /// The schema of the parameter `normalize`.
    pub(crate) fn schema() -> serde_json::Value {
        flag_schema(true, "Whether case, repeated white space and decomposed characters are ignored")
    }

    /// Reads the parameter `normalize`, true by default.
    pub(crate) fn new(params: &Params) -> Result<Normalizer, PluginError> {
        Ok(Normalizer { normalize: params.flag("normalize", true)? })
    }

    /// The text in a form that may be compared byte by byte.
    pub(crate) fn apply(self, text: &str) -> String {
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
        let (on, off) = (Normalizer { normalize: true }, Normalizer { normalize: false });
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
