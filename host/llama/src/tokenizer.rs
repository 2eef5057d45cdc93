//! Converts text to tokens and back.

use crate::runtime::internal;
use crate::vision::ImageFacts;
use gage_model_protocol::{JobError, JobErrorKind, Prompt};
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::LlamaVocab;
use std::collections::HashMap;

/// Maximum length of a text that is tokenized, far beyond every context.
const MAX_TEXT_BYTES: usize = 1 << 28;

/// Tokenizer of a model.
pub struct Tokenizer<'m> {
    vocabulary: LlamaVocab<'m>,
    /// Token that every sequence must begin with, if the model requires one.
    pub first: Option<LlamaToken>,
    first_text: String,
    /// Token put before a text that has none before it: the one that begins sequences, or else the one that ends them.
    pub lead: Option<LlamaToken>,
}

impl<'m> Tokenizer<'m> {
    /// Creates the tokenizer of a model.
    pub fn new(model: &'m LlamaModel) -> Tokenizer<'m> {
        let vocabulary = model.vocab();
        let existing = |token: LlamaToken| (token.0 >= 0).then_some(token);
        let first = existing(vocabulary.bos()).filter(|_| vocabulary.should_add_bos());
        // If a file specifies none, llama.cpp assumes a number by the kind of vocabulary. In most, that is an arbitrary
        // token.
        let says = |key: &str| model.meta_count() > 0 && model.meta_val_str(key).is_ok();
        let is_usual = || {
            model.meta_count() > 0
                && model.meta_val_str("tokenizer.ggml.model").is_ok_and(|kind| kind == "llama")
        };
        let named = |key: &str, token| existing(token).filter(|_| says(key) || is_usual());
        let lead = first
            .or_else(|| named("tokenizer.ggml.bos_token_id", vocabulary.bos()))
            .or_else(|| named("tokenizer.ggml.eos_token_id", vocabulary.eos()));
        let first_text = first.map(|token| token_text(&vocabulary, token)).unwrap_or_default();
        Tokenizer { vocabulary, first, first_text, lead }
    }

    /// Tokenizes a prompt and its continuation as one text.
    ///
    /// If the model requires sequences to begin with a certain token, that token is added. It is not added if the text
    /// rendered by a template already begins with it.
    ///
    /// The text is split at each image, which takes as many token slots as it has positions.
    ///
    /// # Errors
    /// If the text is longer than 256 MiB, or does not have a place for each image.
    pub fn tokens(
        &self,
        prompt: &Prompt,
        images: &[ImageFacts],
        continuation: &str,
    ) -> Result<Vec<LlamaToken>, JobError> {
        let text = format!("{}{continuation}", prompt.text);
        check_length("prompt", &text)?;
        let mut tokens = Vec::with_capacity(text.len() / 3 + 8);
        if let Some(first) = self.first
            && !(prompt.has_special_tokens
                && !self.first_text.is_empty()
                && text.starts_with(&self.first_text))
        {
            tokens.push(first);
        }
        let pieces: Vec<&str> = match prompt.image_mark {
            None => vec![&text],
            Some(mark) => text.split(mark).collect(),
        };
        if pieces.len() != images.len() + 1 {
            return Err(internal(format!("{} places for {} images", pieces.len() - 1, images.len())));
        }
        for (index, piece) in pieces.into_iter().enumerate() {
            if let Some(facts) = index.checked_sub(1).and_then(|index| images.get(index)) {
                tokens.extend(std::iter::repeat_n(LlamaToken::new(facts.number), facts.positions));
            }
            let mut add = |part: &str| {
                self.vocabulary.tokenize_into(part.as_bytes(), &mut tokens, false, prompt.has_special_tokens);
            };
            match prompt.mark {
                None if piece.is_empty() => {}
                None => add(piece),
                Some(mark) => piece.split(mark).filter(|part| !part.is_empty()).for_each(add),
            }
        }
        Ok(tokens)
    }

    /// Tokenizes a whole text, with the tokens that the model requires at its start and end, as embedding models do.
    ///
    /// # Errors
    /// If the text is longer than 256 MiB.
    pub fn whole(&self, text: &str) -> Result<Vec<LlamaToken>, JobError> {
        check_length("text", text)?;
        let mut tokens = Vec::with_capacity(text.len() / 3 + 8);
        self.vocabulary.tokenize_into(text.as_bytes(), &mut tokens, true, false);
        Ok(tokens)
    }

    /// Returns true if generation ends with this token.
    pub fn is_end(&self, token: LlamaToken) -> bool {
        self.vocabulary.is_eog(token)
    }

    /// Returns the number of tokens in the vocabulary.
    pub fn size(&self) -> i32 {
        self.vocabulary.n_tokens()
    }

    /// Returns the text of a token, with special tokens as the vocabulary spells them. Invalid UTF-8 is replaced.
    pub fn shown(&self, token: LlamaToken) -> String {
        let mut bytes = Vec::new();
        self.piece(token, &mut bytes);
        if bytes.is_empty() {
            return token_text(&self.vocabulary, token);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the bytes of all tokens.
    pub fn pieces(&self) -> Pieces {
        let bytes = self.vocabulary.tokens().map(|token| {
            let mut bytes = Vec::new();
            self.piece(token, &mut bytes);
            bytes
        });
        Pieces::new(bytes, self.vocabulary.tokens().filter(|token| self.is_end(*token)).collect())
    }

    /// Replaces the contents of a buffer with the bytes of a token. Special tokens have none.
    pub fn piece(&self, token: LlamaToken, buffer: &mut Vec<u8>) {
        buffer.clear();
        self.vocabulary.token_to_piece_into(token, buffer, false, None);
    }
}

fn check_length(what: &str, text: &str) -> Result<(), JobError> {
    let length = text.len();
    if length <= MAX_TEXT_BYTES {
        return Ok(());
    }
    let message = format!("a {what} of {length} bytes is longer than the {MAX_TEXT_BYTES} that are allowed");
    Err(JobError::new(JobErrorKind::ContextLength, message))
}

/// Bytes of all tokens, with an index of tokens by bytes.
pub struct Pieces {
    bytes: Vec<Box<[u8]>>,
    by_bytes: HashMap<Box<[u8]>, Vec<LlamaToken>>,
    /// Tokens that end an answer.
    pub ends: Vec<LlamaToken>,
}

impl Pieces {
    /// Creates the table from the bytes of each token, in order of number, and the tokens that end an answer.
    pub fn new(pieces: impl Iterator<Item = Vec<u8>>, ends: Vec<LlamaToken>) -> Pieces {
        let bytes: Vec<Box<[u8]>> = pieces.map(Vec::into_boxed_slice).collect();
        let mut by_bytes: HashMap<Box<[u8]>, Vec<LlamaToken>> = HashMap::new();
        for (number, piece) in (0_i32..).zip(&bytes) {
            if !piece.is_empty() {
                by_bytes.entry(piece.clone()).or_default().push(LlamaToken::new(number));
            }
        }
        Pieces { bytes, by_bytes, ends }
    }

    /// Returns the tokens that produce exactly these bytes.
    pub fn written(&self, bytes: &[u8]) -> &[LlamaToken] {
        self.by_bytes.get(bytes).map_or(&[], Vec::as_slice)
    }

    /// Returns the bytes of a token.
    pub fn bytes(&self, token: LlamaToken) -> &[u8] {
        usize::try_from(token.0).ok().and_then(|number| self.bytes.get(number)).map_or(&[], |bytes| bytes)
    }
}

/// Returns the spelling of a token in a vocabulary, which is the text of special tokens.
pub fn token_text(vocabulary: &LlamaVocab<'_>, token: LlamaToken) -> String {
    if token.0 < 0 || token.0 >= vocabulary.n_tokens() {
        return String::new();
    }
    vocabulary.text(token).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
