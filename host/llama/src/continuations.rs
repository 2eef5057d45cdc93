//! Continuations of a prompt: where they start, and the calls that they share.

use crate::prefix_cache::common;
use std::ops::Range;

/// Tokens of a prompt and one continuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<T> {
    /// Tokens of the prompt and the continuation, tokenized as one text.
    pub tokens: Vec<T>,
    /// Index of the first token of the continuation; at least 1.
    pub scored_from: usize,
}

/// Splits tokenized prompts from their continuations.
///
/// A continuation starts after the longest common prefix of the whole and the prompt alone, and has at least one token.
/// If the boundary changes the last tokens of the prompt, these belong to the continuation.
///
/// Every scored token needs a token before it. If one has none, `lead` is prepended to all branches. `None` if that is
/// needed and there is no lead.
pub fn branches<T: Copy + PartialEq>(
    prompt: &[T],
    wholes: Vec<Vec<T>>,
    lead: Option<T>,
) -> Option<Vec<Branch<T>>> {
    let mut branches: Vec<Branch<T>> = wholes
        .into_iter()
        .map(|tokens| {
            let scored_from = common(prompt, &tokens).min(tokens.len().saturating_sub(1));
            Branch { tokens, scored_from }
        })
        .collect();
    if branches.iter().any(|branch| branch.scored_from == 0) {
        let lead = lead?;
        for branch in &mut branches {
            branch.tokens.insert(0, lead);
            branch.scored_from += 1;
        }
    }
    Some(branches)
}

/// Returns how many tokens all branches share: the prompt up to the first scored token of any branch.
pub fn shared<T>(branches: &[Branch<T>]) -> usize {
    branches.iter().map(|branch| branch.scored_from).min().unwrap_or(0)
}

/// Returns the windows in which a whole text is scored. Each token is scored once, with as much context as fits.
///
/// The first window begins with `lead`, and each later one with the token before its first scored token. The last
/// window is filled up with preceding tokens. This matches lm-evaluation-harness's rolling windows with a context of
/// one token.
pub fn windows<T: Copy>(tokens: &[T], lead: T, context_length: usize) -> Vec<Branch<T>> {
    // A window predicts up to this many tokens from as many before them; its last token needs no position of its own.
    let longest = context_length.max(1);
    let mut windows = Vec::new();
    let mut scored = 0;
    while scored < tokens.len() {
        let end = tokens.len().min(scored + longest);
        let mut window: Vec<T> = Vec::with_capacity(longest + 1);
        let begin = if scored == 0 {
            window.push(lead);
            0
        } else {
            end - longest - 1
        };
        window.extend(tokens.iter().take(end).skip(begin));
        let scored_from = window.len() - (end - scored);
        windows.push(Branch { tokens: window, scored_from });
        scored = end;
    }
    windows
}

/// Groups branches into rounds that fit into `most_sequences` sequences and `most_tokens` tokens.
///
/// `own` is the number of tokens that each branch has to compute itself. A branch without own tokens needs no sequence.
/// A branch that is too large gets a round of its own.
pub fn rounds(own: &[usize], most_sequences: usize, most_tokens: usize) -> Vec<Range<usize>> {
    let mut rounds = Vec::new();
    let (mut start, mut sequences, mut tokens) = (0, 0, 0);
    for (index, own) in own.iter().copied().enumerate() {
        let full = own > 0 && (sequences + 1 > most_sequences || tokens + own > most_tokens);
        if full && index > start {
            rounds.push(start..index);
            (start, sequences, tokens) = (index, 0, 0);
        }
        sequences += usize::from(own > 0);
        tokens += own;
    }
    if start < own.len() {
        rounds.push(start..own.len());
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(prompt: &str, wholes: &[&str], lead: Option<char>) -> Option<Vec<(String, usize)>> {
        let prompt: Vec<char> = prompt.chars().collect();
        let wholes = wholes.iter().map(|whole| whole.chars().collect()).collect();
        let branches = branches(&prompt, wholes, lead)?;
        Some(
            branches
                .into_iter()
                .map(|branch| (branch.tokens.into_iter().collect(), branch.scored_from))
                .collect(),
        )
    }

    #[test]
    fn continuations_begin_behind_what_the_prompt_has_in_common() {
        let cases: [(&str, &[&str], &[(&str, usize)]); 6] = [
            ("abc", &["abcd", "abcef"], &[("abcd", 3), ("abcef", 3)]),
            // The boundary changed the prompt's last token.
            ("abc", &["abXY", "abcd"], &[("abXY", 2), ("abcd", 3)]),
            // The continuation merged into the prompt's last token.
            ("abc", &["abc"], &[("abc", 2)]),
            ("abc", &["abX"], &[("abX", 2)]),
            // No token precedes the continuation.
            ("", &["xy", "z"], &[("^xy", 1), ("^z", 1)]),
            ("a", &["Xy", "ab"], &[("^Xy", 1), ("^ab", 2)]),
        ];
        for (prompt, wholes, expected) in cases {
            let expected = expected.iter().map(|(text, from)| ((*text).to_owned(), *from)).collect();
            assert_eq!(split(prompt, wholes, Some('^')), Some(expected), "{prompt} {wholes:?}");
        }
        assert_eq!(split("", &["x"], None), None);
        assert_eq!(split("a", &["ax"], None), Some(vec![("ax".to_owned(), 1)]));
    }

    #[test]
    fn what_is_shared_ends_where_the_first_is_scored() {
        let branch = |scored_from| Branch { tokens: vec![0; 9], scored_from };
        assert_eq!(shared(&[branch(5), branch(3), branch(4)]), 3);
    }

    #[test]
    fn windows_score_each_token_once_and_fit_into_the_context() {
        let show = |length: usize, context| -> Vec<(String, usize)> {
            let tokens: Vec<char> = ('a'..).take(length).collect();
            let windows = windows(&tokens, '^', context);
            windows
                .into_iter()
                .map(|window| (window.tokens.into_iter().collect(), window.scored_from))
                .collect()
        };
        let of = |windows: &[(&str, usize)]| -> Vec<(String, usize)> {
            windows.iter().map(|(text, from)| ((*text).to_owned(), *from)).collect()
        };
        assert_eq!(show(3, 8), of(&[("^abc", 1)]));
        assert_eq!(show(3, 3), of(&[("^abc", 1)]));
        assert_eq!(show(4, 3), of(&[("^abc", 1), ("abcd", 3)]));
        assert_eq!(show(7, 3), of(&[("^abc", 1), ("cdef", 1), ("defg", 3)]));
        assert_eq!(show(7, 4), of(&[("^abcd", 1), ("cdefg", 2)]));
        for (length, context) in [(1, 2), (9, 1), (9, 2), (100, 7), (64, 64)] {
            let windows = show(length, context);
            let scored: usize = windows.iter().map(|(text, from)| text.chars().count() - from).sum();
            assert_eq!(scored, length);
            assert!(windows.iter().all(|(text, from)| *from >= 1 && text.chars().count() <= context + 1));
        }
    }

    #[test]
    fn rounds_fit_into_memory() {
        let cases: [(&[usize], usize, usize, &[(usize, usize)]); 7] = [
            (&[], 4, 10, &[]),
            (&[1, 2, 3, 4], 4, 10, &[(0, 4)]),
            (&[1, 2, 3, 4, 5], 4, 10, &[(0, 4), (4, 5)]),
            (&[5, 5, 5], 4, 10, &[(0, 2), (2, 3)]),
            (&[11, 1], 4, 10, &[(0, 1), (1, 2)]),
            (&[0, 0, 0, 0, 0, 0], 2, 10, &[(0, 6)]),
            (&[1, 0, 1, 0, 1], 2, 10, &[(0, 4), (4, 5)]),
        ];
        for (own, most_sequences, most_tokens, expected) in cases {
            let found: Vec<_> = rounds(own, most_sequences, most_tokens)
                .into_iter()
                .map(|round| (round.start, round.end))
                .collect();
            assert_eq!(found, expected, "{own:?}");
        }
    }
}
