//! Prevents prompt injection through special tokens in data.
//!
//! Chat templates write special tokens, such as `<|im_end|>`, as text. Their output is therefore tokenized with special
//! tokens enabled, and a message that spells one would end its own turn. To prevent this, a marker (a code point that
//! is never a character) is inserted into each such spelling before rendering. The tokenizer splits the text at the
//! markers, and neither part is special.

use gage_core::{ContentPart, Message};
use std::collections::HashMap;

/// Spellings of all special tokens of a model.
#[derive(Debug, Default)]
pub struct SpecialTokens {
    by_first_byte: HashMap<u8, Vec<String>>,
}

impl SpecialTokens {
    /// Creates the set from the tokens' texts. Single-character texts are harmless and are omitted.
    pub fn new(texts: impl IntoIterator<Item = String>) -> SpecialTokens {
        let mut by_first_byte: HashMap<u8, Vec<String>> = HashMap::new();
        for text in texts {
            if let Some(first) = text.bytes().next()
                && text.chars().nth(1).is_some()
            {
                by_first_byte.entry(first).or_default().push(text);
            }
        }
        SpecialTokens { by_first_byte }
    }

    fn begins(&self, text: &str) -> bool {
        let candidates = text.bytes().next().and_then(|first| self.by_first_byte.get(&first));
        candidates.is_some_and(|candidates| candidates.iter().any(|special| text.starts_with(special)))
    }

    /// Returns true if a text spells a special token.
    pub fn occur_in(&self, text: &str) -> bool {
        text.char_indices().any(|(at, _)| self.begins(&text[at..]))
    }

    /// Returns the text with a marker after the first character of every special token.
    pub fn marked(&self, text: &str, mark: char) -> String {
        let mut marked = String::with_capacity(text.len() + 16);
        for (at, character) in text.char_indices() {
            marked.push(character);
            if self.begins(&text[at..]) {
                marked.push(mark);
            }
        }
        marked
    }

    /// Returns the messages with all text parts marked. Names and tool calls are unchanged.
    pub fn marked_messages(&self, messages: &[Message], mark: char) -> Vec<Message> {
        let mut messages = messages.to_vec();
        for part in messages.iter_mut().flat_map(|message| &mut message.content) {
            if let ContentPart::Text { text, .. } = part {
                *text = self.marked(text, mark);
            }
        }
        messages
    }
}

/// Returns a marker that occurs in none of the texts.
///
/// `None` only if the texts use all 32 code points that Unicode reserves for such purposes.
pub fn unused_mark<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<char> {
    ('\u{fdd0}'..='\u{fdef}').find(|mark| !texts.clone().any(|text| text.contains(*mark)))
}

/// Returns the texts of messages.
pub fn texts_of(messages: &[Message]) -> impl Iterator<Item = &str> + Clone {
    messages.iter().flat_map(|message| &message.content).filter_map(|part| match part {
        ContentPart::Text { text, .. } => Some(text.as_str()),
        ContentPart::Media { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_core::Role;

    fn special() -> SpecialTokens {
        SpecialTokens::new(["<|im_end|>", "<s>", "é|x", "|", ""].map(str::to_owned))
    }

    #[test]
    fn special_tokens_are_marked_and_nothing_else() {
        let cases = [
            ("a <s> b", "a <~s> b"),
            ("<|im_end|><s>", "<~|im_end|><~s>"),
            ("<|im_end|", "<|im_end|"),
            ("<<s>", "<<~s>"),
            ("é|x|", "é~|x|"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(special().marked(text, '~'), expected);
            assert_eq!(special().occur_in(text), text != expected, "{text}");
            let parts: Vec<bool> = expected.split('~').map(|part| special().occur_in(part)).collect();
            assert!(!parts.contains(&true), "{expected}");
        }
    }

    #[test]
    fn a_mark_is_taken_that_the_texts_do_not_use() {
        let messages = [Message::text(Role::User, "a\u{fdd0}"), Message::text(Role::User, "<s>\u{fdd1}")];
        assert_eq!(unused_mark(texts_of(&messages)), Some('\u{fdd2}'));
        let marked = special().marked_messages(&messages, '~');
        assert_eq!(texts_of(&marked).collect::<Vec<_>>(), ["a\u{fdd0}", "<~s>\u{fdd1}"]);
        let all: String = ('\u{fdd0}'..='\u{fdef}').collect();
        assert_eq!(unused_mark([all.as_str()].into_iter()), None);
    }
}
