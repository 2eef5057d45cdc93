//! Hostile preprocessors.

use crate::guest::{Guest, constant, copies};
use crate::image::Span;
use crate::records::{Bytes, OUTCOME_RESULT};
use crate::{End, Kind, Member};

/// Returns a preprocessor whose Sample is this text.
fn sample(text: &str) -> Guest {
    let mut guest = Guest::preprocessor();
    let outcome = Bytes::new(OUTCOME_RESULT).span(8, guest.image.text(text)).done();
    let at = guest.image.put(&outcome);
    guest.body("convert", copies(5, at, OUTCOME_RESULT))
}

/// Returns a preprocessor whose outcome has these bytes at an offset.
fn outcome(offset: usize, byte: u8, text: Span) -> Guest {
    let mut guest = Guest::preprocessor();
    let outcome = Bytes::new(OUTCOME_RESULT).span(8, text).put(offset, &[byte]).done();
    let at = guest.image.put(&outcome);
    guest.body("convert", copies(5, at, OUTCOME_RESULT))
}

/// Returns a preprocessor that first writes a JSON string of this many bytes.
fn long_sample(bytes: u32, pages: u32) -> Guest {
    const AT: u32 = 1 << 17;
    let mut guest = Guest { pages, ..Guest::preprocessor() };
    let outcome = Bytes::new(OUTCOME_RESULT).span(8, Span { at: AT, length: bytes }).done();
    let at = guest.image.put(&outcome);
    let last = AT + bytes - 1;
    guest.body(
        "convert",
        format!(
            "(memory.fill (i32.const {AT}) (i32.const 97) (i32.const {bytes}))
             (i32.store8 (i32.const {AT}) (i32.const 34)) (i32.store8 (i32.const {last}) (i32.const 34))
             {}",
            copies(5, at, OUTCOME_RESULT)
        ),
    )
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    [
        ("obedient-preprocessor", "does as told", Guest::preprocessor(), End::Scores(1.0)),
        (
            "sample-17-mib",
            "a Sample of one MiB too many",
            long_sample(17 << 20, 400),
            End::Failed("at most 16777216 are allowed"),
        ),
        (
            "sample-60-mb",
            "a Sample as large as the memory",
            long_sample(60_000_000, 1000),
            End::Failed("at most 16777216 are allowed"),
        ),
        (
            "sample-100-mb",
            "a Sample larger than the memory",
            long_sample(100_000_000, 1600),
            End::NotLoaded("bytes of memory"),
        ),
        (
            "sample-deep",
            "a Sample of 10,000 levels",
            sample(&deep),
            End::Failed("nested deeper than 32 levels"),
        ),
        ("sample-not-json", "a Sample that is no JSON", sample("{\"id\": "), End::Failed("not JSON")),
        // Other code that makes Samples checks whether JSON is a Sample.
        ("sample-list", "a Sample that is no object", sample("[1]"), End::Scores(1.0)),
        (
            "sample-none",
            "no result for a row",
            {
                let mut guest = Guest::preprocessor();
                let words = guest.image.put(&Span { at: 1024, length: 0 }.words());
                guest.body("convert", constant(words))
            },
            End::Failed("returned 0 results for 1"),
        ),
        (
            "outcome-case",
            "an outcome that is neither a Sample nor skipped",
            outcome(4, 2, Span::default()),
            End::Failed("discriminant"),
        ),
        (
            "outcome-outside",
            "a Sample that lies outside of memory",
            outcome(0, 0, Span { at: 0xffff_0000, length: 9 }),
            End::Failed("out of bounds"),
        ),
        (
            "loop-convert",
            "convert does not end",
            Guest::preprocessor().body("convert", "(loop (br 0)) (unreachable)"),
            End::Late("used up its fuel"),
        ),
        (
            "trap-convert",
            "convert traps",
            Guest::preprocessor().body("convert", "(unreachable)"),
            End::Failed("unreachable"),
        ),
    ]
    .into_iter()
    .map(|(name, about, guest, end)| Member {
        name,
        about,
        bytes: guest.component(),
        kind: Kind::Preprocessor,
        end,
    })
    .collect()
}
