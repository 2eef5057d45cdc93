//! Continuations of a prompt: their starts, and the calls that they share.

use crate::prefix_cache::common;
use std::ops::Range;

/// The tokens of one continuation after those of the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<T> {
    /// The tokens of the prompt and the continuation, tokenised as one text.
    pub tokens: Vec<T>,
    /// Index of the first token that belongs to the continuation; at least 1.
    pub scored_from: usize,
}

/// Splits tokenised prompts with continuations: the tokens of a continuation are those behind
/// the longest beginning that the whole has in common with the prompt alone, at least one. Where
/// the border changes the last tokens of the prompt, these belong to the continuation.
///
/// Something must stand before every token that is scored; where nothing does, `lead` is put
/// before all. `None` when that is needed and there is no lead.
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

/// Returns how many tokens all branches share: the prompt up to where the first of them is scored.
pub fn shared<T>(branches: &[Branch<T>]) -> usize {
    branches.iter().map(|branch| branch.scored_from).min().unwrap_or(0)
}

/// The windows in which a whole text is scored, each token once, given as much before it as fits: the first
/// window begins behind `lead`, each further one behind the token before it, and the last one is filled up
/// with what stands before, as lm-evaluation-harness rolls its windows with a context of one token.
pub fn windows<T: Copy>(tokens: &[T], lead: T, context_length: usize) -> Vec<Branch<T>> {
    // So many are predicted from as many before them; the last takes no place of its own.
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

/// Groups branches, each of which needs so many tokens of its own computed, into rounds that fit
/// into the memory: so many sequences, so many tokens. A branch without tokens of its own needs
/// no sequence; one that is too large by itself gets a round of its own.
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
            // The border changed the prompt's last token.
            ("abc", &["abXY", "abcd"], &[("abXY", 2), ("abcd", 3)]),
            // The continuation vanished into the prompt's last token.
            ("abc", &["abc"], &[("abc", 2)]),
            ("abc", &["abX"], &[("abX", 2)]),
            // Nothing stands before the continuation.
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
