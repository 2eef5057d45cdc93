//! Hostile backends. Each is asked for the log-likelihood of one continuation and for one answer. The first of the two
//! that fails must end as specified.

use crate::guest::{Guest, constant, continuation_score, copies, generation};
use crate::image::Span;
use crate::records::{Bytes, GENERATION_RESULT, SCORES_RESULT};
use crate::{End, Kind, Member};

fn scores(scores: &[f64]) -> Guest {
    let mut guest = Guest::backend();
    let scores: Vec<Vec<u8>> = scores.iter().map(|score| continuation_score(*score)).collect();
    let list = guest.image.list(&scores);
    let at = guest.image.put(&Bytes::new(SCORES_RESULT).span(4, list).done());
    guest.body("loglikelihood", copies(3, at, SCORES_RESULT))
}

fn score_list(at: u32, length: u32) -> Guest {
    let mut guest = Guest::backend();
    let result = guest.image.put(&Bytes::new(SCORES_RESULT).span(4, Span { at, length }).done());
    guest.body("loglikelihood", copies(3, result, SCORES_RESULT))
}

fn answer(change: impl FnOnce(Bytes) -> Bytes) -> Guest {
    let mut guest = Guest::backend();
    let (text, extra) = (guest.image.text("yes"), guest.image.text("{}"));
    let bytes = change(Bytes::new(GENERATION_RESULT).put(0, &generation(text, extra))).done();
    let at = guest.image.put(&bytes);
    guest.body("generate", copies(3, at, GENERATION_RESULT))
}

fn extra(text: &str) -> Guest {
    let mut guest = Guest::backend();
    let (answer, extra) = (guest.image.text("yes"), guest.image.text(text));
    let at = guest.image.put(&generation(answer, extra));
    guest.body("generate", copies(3, at, GENERATION_RESULT))
}

/// Returns an answer of this many bytes.
fn long_answer(bytes: u32, pages: u32) -> Guest {
    const AT: u32 = 1 << 17;
    let mut guest = Guest { pages, ..Guest::backend() };
    let extra = guest.image.text("{}");
    let at = guest.image.put(&generation(Span { at: AT, length: bytes }, extra));
    let copies = copies(3, at, GENERATION_RESULT);
    guest.body(
        "generate",
        format!("(memory.fill (i32.const {AT}) (i32.const 97) (i32.const {bytes})) {copies}"),
    )
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let no_number = End::Failed("above 0 or not a number");
    [
        ("obedient-backend", "does as told", Guest::backend(), End::Scores(1.0)),
        (
            "answer-2-mib",
            "an answer of one MiB too many",
            long_answer(2 << 20, 100),
            End::Failed("2097152 bytes"),
        ),
        (
            "answer-60-mb",
            "an answer as large as the memory",
            long_answer(60_000_000, 1000),
            End::Failed("at most 1048576 are allowed"),
        ),
        (
            "answer-100-mb",
            "an answer larger than the memory",
            long_answer(100_000_000, 1600),
            End::NotLoaded("bytes of memory"),
        ),
        (
            "answer-finish",
            "an answer that ended in a way that does not exist",
            answer(|bytes| bytes.put(16, &[5])),
            End::Failed("discriminant"),
        ),
        (
            "answer-usage",
            "an answer of 2^64 - 1 tokens",
            answer(|bytes| bytes.put(24, &[1]).put(32, &[0xff; 16])),
            End::Scores(1.0),
        ),
        ("answer-extra", "an answer with more that is no JSON", extra("nothing"), End::Failed("not JSON")),
        (
            "answer-deep",
            "an answer with more of 10,000 levels",
            extra(&deep),
            End::Failed("nested deeper than 32 levels"),
        ),
        ("scores-none", "no score for a continuation", scores(&[]), End::Failed("returned 0 scores for 1")),
        (
            "scores-two",
            "two scores for one continuation",
            scores(&[-1.0, -2.0]),
            End::Failed("returned 2 scores for 1"),
        ),
        ("scores-4-gib", "2^32 - 1 scores", score_list(1024, u32::MAX), End::Failed("out of bounds")),
        (
            "scores-outside",
            "scores that lie outside of memory",
            score_list(0xffff_0000, 1),
            End::Failed("out of bounds"),
        ),
        ("scores-positive", "a log-likelihood above 0", scores(&[0.5]), no_number),
        ("scores-nan", "a log-likelihood that is NaN", scores(&[f64::NAN]), no_number),
        ("scores-infinity", "a log-likelihood of infinity", scores(&[f64::INFINITY]), no_number),
        // The logarithm of a probability of 0.
        (
            "scores-impossible",
            "a log-likelihood of minus infinity",
            scores(&[f64::NEG_INFINITY]),
            End::Scores(1.0),
        ),
        (
            "loop-spec",
            "spec does not end",
            Guest::backend().body("spec", "(loop (br 0)) (unreachable)"),
            End::NotLoaded("used up its fuel"),
        ),
        (
            "spec-outside",
            "its spec lies outside of memory",
            Guest::backend().body("spec", constant(0xffff_fff0)),
            End::NotLoaded("out of bounds"),
        ),
        (
            "loop-generate",
            "generate does not end",
            Guest::backend().body("generate", "(loop (br 0)) (unreachable)"),
            End::Late("used up its fuel"),
        ),
    ]
    .into_iter()
    .map(|(name, about, guest, end)| Member {
        name,
        about,
        bytes: guest.component(),
        kind: Kind::Backend,
        end,
    })
    .collect()
}
