//! White space at the end of a prompt. It is scored with the text after it, as lm-evaluation-harness does: most
//! tokenizers join a blank with the word that follows.

use gage_core::split_trailing_space;
use gage_model_protocol::{Prompt, ScoredText};

/// Returns the part of a prompt before the white space at its end. A prompt of nothing but white space stays whole: the
/// first token of a text has no likelihood.
pub(crate) fn unscored(prompt: &str) -> &str {
    match split_trailing_space(prompt) {
        ("", _) => prompt,
        (before, _) => before,
    }
}

/// Moves white space at the end of a prompt to the texts that are scored after it. Without such texts the prompt stays
/// whole.
pub(crate) fn moved(mut prompt: Prompt, mut texts: Vec<ScoredText>) -> (Prompt, Vec<ScoredText>) {
    let length = unscored(&prompt.text).len();
    if !texts.is_empty() {
        let space = prompt.text.split_off(length);
        texts.iter_mut().for_each(|one| one.text.insert_str(0, &space));
    }
    (prompt, texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_moves_to_the_texts_after_it() {
        for (text, texts, expected) in [
            ("Why? ", &["So"][..], ("Why?", &[" So"][..])),
            ("Why?\u{a0}\n", &["A", " B"], ("Why?", &["\u{a0}\nA", "\u{a0}\n B"])),
            ("Why?", &[" So"], ("Why?", &[" So"])),
            (" \n", &["So"], (" \n", &["So"])),
            ("", &["So"], ("", &["So"])),
            ("Why? ", &[], ("Why? ", &[])),
        ] {
            let scored =
                |text: &&str| ScoredText { id: String::new(), text: (*text).to_owned(), byte_count: 2 };
            let prompt = Prompt { text: text.to_owned(), ..Prompt::default() };
            let (prompt, found) = moved(prompt, texts.iter().map(scored).collect());
            let found: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
            assert_eq!((prompt.text.as_str(), found.as_slice()), expected, "{text:?}");
        }
    }
}
