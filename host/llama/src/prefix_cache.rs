//! Prefix cache: the part of a prompt that can be reused from an earlier one with bit-identical results.
//!
//! The last bits of a model's results for a token depend on which tokens are computed in the same call. So the
//! beginning of a prompt is always computed in chunks of one size, each in a call of its own. Chunks begin at multiples
//! of this size. The rest, at least one token, is the tail, whose logits are needed. Only whole chunks are kept for
//! later prompts: their bits are the same no matter which prompt they were computed for.

use std::ops::Range;

/// Returns the length of the common prefix of two sequences.
pub fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Returns how many tokens of a prompt are in whole chunks. The tail is never empty.
pub fn whole_chunks(length: usize, chunk: usize) -> usize {
    let chunk = chunk.max(1);
    length.saturating_sub(1) / chunk * chunk
}

/// Returns how many tokens of a prompt can be kept if results must not depend on earlier requests.
///
/// That is either its whole chunks or everything up to the end of an image, whichever is more. An image is computed by
/// itself, and the tokens before it in calls that end where it begins. So a chunk boundary counts only outside of
/// images, but the end of an image always counts.
///
/// `held` is the number of tokens in memory, `length` the length of the prompt, and `images` the spans of its images in
/// order.
pub fn whole_parts(held: usize, length: usize, images: &[Range<usize>], chunk: usize) -> usize {
    let chunk = chunk.max(1);
    let most = held.min(length.saturating_sub(1));
    let mut border = most.min(whole_chunks(length, chunk)) / chunk * chunk;
    for image in images.iter().rev() {
        if image.start < border && border < image.end {
            border = image.start / chunk * chunk;
        }
    }
    let ends = images.iter().map(|image| image.end).filter(|end| *end <= most);
    ends.max().unwrap_or(0).max(border)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_kept_whole() {
        let (one, two) = (3..9, 9..10);
        // One image after three tokens, another right after it; chunks of four.
        let images = [one.clone(), two.clone()];
        for (held, length, expected) in [
            (0, 20, 0),
            (3, 20, 0),
            (8, 20, 0),
            (9, 20, 9),
            (10, 20, 10),
            (11, 20, 10),
            (12, 20, 12),
            (20, 20, 16),
        ] {
            assert_eq!(whole_parts(held, length, &images, 4), expected, "{held} of {length}");
        }
        assert_eq!(whole_parts(20, 10, &[one], 4), 9, "the last token is computed anew");
        assert_eq!(whole_parts(9, 20, &[], 4), 8);
        // A chunk boundary at the start of an image counts.
        assert_eq!(whole_parts(7, 20, std::slice::from_ref(&(4..8)), 4), 4);
    }

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
            assert_eq!(whole_parts(common(held, &prompt), prompt.len(), &[], 4), expected, "{held:?}");
        }
        assert_eq!(whole_parts(8, 8, &[], 4), 4, "the tail is computed afresh");
    }
}
