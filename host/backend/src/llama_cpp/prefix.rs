//! Which part of a prompt can be taken over from an earlier one without changing a bit.
//!
//! What a model computes for a token depends, in its last bits, on which tokens are computed in
//! the same call. So the beginning of a prompt is always computed in chunks of one size, each in
//! a call of its own, that begin at multiples of this size; what is left, at least one token, is
//! the tail, whose logits are wanted. Only whole chunks are kept for later prompts: they hold
//! the same bits whether they were computed for this prompt or for another one.

/// How many tokens two sequences have in common at their beginning.
pub fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// How many tokens of a prompt stand in whole chunks; the tail is never empty.
pub fn whole_chunks(length: usize, chunk: usize) -> usize {
    let chunk = chunk.max(1);
    length.saturating_sub(1) / chunk * chunk
}

/// How many tokens of a prompt are held already, in whole chunks.
pub fn reusable<T: PartialEq>(held: &[T], prompt: &[T], chunk: usize) -> usize {
    let chunk = chunk.max(1);
    common(held, prompt).min(whole_chunks(prompt.len(), chunk)) / chunk * chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_never_empty() {
        for (length, expected) in [(0, 0), (1, 0), (4, 0), (5, 4), (8, 4), (9, 8)] {
            assert_eq!(whole_chunks(length, 4), expected, "{length}");
        }
    }

    #[test]
    fn only_whole_chunks_are_taken_over() {
        let prompt: Vec<u32> = (0..10).collect();
        let cases: [(&[u32], usize); 6] = [
            (&[], 0),
            (&[0, 1, 2], 0),
            (&[0, 1, 2, 3], 4),
            (&[0, 1, 2, 3, 4, 5, 6, 9], 4),
            (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 8),
            (&[1, 1, 2, 3], 0),
        ];
        for (held, expected) in cases {
            assert_eq!(reusable(held, &prompt, 4), expected, "{held:?}");
        }
        assert_eq!(reusable(&prompt[..8], &prompt[..8], 4), 4, "the tail is computed afresh");
    }
}
