//! Answers constrained to one of a few texts.
//!
//! A grammar would check the whole vocabulary for each token, which takes as long as running the model. Here the
//! allowed tokens are looked up by their bytes.

use crate::tokenizer::Pieces;
use llama_cpp_2::token::LlamaToken;

/// The texts to choose from, and the bytes written so far.
pub struct Choices {
    texts: Vec<Vec<u8>>,
    written: Vec<u8>,
}

impl Choices {
    /// Constrains an answer to one of these texts.
    pub fn new(texts: &[String]) -> Choices {
        Choices { texts: texts.iter().map(|text| text.clone().into_bytes()).collect(), written: Vec::new() }
    }

    /// Returns the remainder of each text that starts with the bytes written so far.
    fn rests(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().filter_map(|text| text.strip_prefix(self.written.as_slice()))
    }

    /// Returns the allowed next tokens, each once.
    ///
    /// If one text is complete and a longer one continues it, end tokens are allowed too.
    pub fn allowed(&self, pieces: &Pieces) -> Vec<LlamaToken> {
        let mut allowed = Vec::new();
        for rest in self.rests() {
            if rest.is_empty() {
                allowed.extend_from_slice(&pieces.ends);
            }
            for length in 1..=rest.len() {
                allowed.extend_from_slice(pieces.written(rest.get(..length).unwrap_or_default()));
            }
        }
        allowed.sort_unstable();
        allowed.dedup();
        allowed
    }

    /// Accepts a token. Returns true if nothing can follow it.
    pub fn accept(&mut self, token: LlamaToken, pieces: &Pieces) -> bool {
        if pieces.ends.contains(&token) {
            return true;
        }
        self.written.extend_from_slice(pieces.bytes(token));
        self.rests().all(<[u8]>::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tokens allowed after each accepted token, and whether the last one ends the answer.
    fn run(texts: &[&str], tokens: &[i32]) -> (Vec<i32>, bool) {
        let vocabulary: [&[u8]; 7] = [b"A", b"B", b"AB", b"C", b"", b"A", "é".as_bytes()];
        let pieces = Pieces::new(vocabulary.iter().map(|piece| piece.to_vec()), vec![LlamaToken::new(4)]);
        let mut choices = Choices::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        let mut is_last = false;
        for token in tokens {
            is_last = choices.accept(LlamaToken::new(*token), &pieces);
        }
        (choices.allowed(&pieces).into_iter().map(|token| token.0).collect(), is_last)
    }

    #[test]
    fn only_what_leads_to_a_choice_is_allowed() {
        let cases: [(&[&str], &[i32], &[i32], bool); 7] = [
            (&["A", "B"], &[], &[0, 1, 5], false),
            (&["A", "B"], &[1], &[4], true),
            (&["AB", "A"], &[], &[0, 2, 5], false),
            (&["AB", "A"], &[0], &[1, 4], false),
            (&["AB", "A"], &[0, 4], &[1, 4], true),
            (&["ABC"], &[2], &[3], false),
            (&["é"], &[], &[6], false),
        ];
        for (texts, tokens, allowed, is_last) in cases {
            assert_eq!(run(texts, tokens), (allowed.to_vec(), is_last), "{texts:?} {tokens:?}");
        }
        assert_eq!(run(&["D"], &[]), (Vec::new(), false), "no token writes it");
    }
}
