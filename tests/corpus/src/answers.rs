//! Metrics whose results lie about their own shape.

use crate::guest::{Guest, constant};
use crate::image::{Image, Span};
use crate::records::{CARD_RESULT, Card, Failure, sub_score};
use crate::{End, Member};

const OUTSIDE: &str = "out of bounds";

/// Returns a result of `score` whose two words are these.
fn list(at: u32, length: u32) -> Guest {
    let mut guest = Guest::metric();
    let words = guest.image.put(&Span { at, length }.words());
    guest.body("score", constant(words))
}

fn card(change: impl FnOnce(&mut Image, &mut Card)) -> Guest {
    Guest::metric().card(change)
}

fn failure(change: impl FnOnce(&mut Failure)) -> Guest {
    let mut guest = Guest::metric();
    let mut failure = Failure::new(guest.image.text("as told"));
    change(&mut failure);
    guest.result(&failure.result(CARD_RESULT, 8))
}

fn lists() -> Vec<(&'static str, &'static str, Guest, End)> {
    let mut long = Guest::metric();
    let good = Card::good(&mut long.image).bytes();
    let two = long.image.list(&[good.clone(), good]).words();
    let two = long.image.put(&two);
    vec![
        (
            "list-too-short",
            "returns no result for an item",
            list(1024, 0),
            End::Failed("returned 0 results for 1"),
        ),
        (
            "list-too-long",
            "returns two results for an item",
            long.body("score", constant(two)),
            End::Failed("returned 2 results for 1"),
        ),
        ("list-outside", "a list behind the end of memory", list(0xffff_0000, 1), End::Failed(OUTSIDE)),
        (
            "list-past-the-end",
            "a list that begins in memory and ends outside",
            list(65_536, 100_000),
            End::Failed(OUTSIDE),
        ),
        ("list-of-4-gib", "a list of 2^32 - 1 results", list(1024, u32::MAX), End::Failed(OUTSIDE)),
        ("list-misaligned", "a list at an odd address", list(1025, 1), End::Failed("not aligned")),
        (
            "result-outside",
            "the address of the result is behind the end of memory",
            Guest::metric().body("score", "(i32.const -8)"),
            End::Failed(OUTSIDE),
        ),
        (
            "result-misaligned",
            "the address of the result is odd",
            Guest::metric().body("score", "(i32.const 1025)"),
            End::Failed("not aligned"),
        ),
        (
            "list-of-many",
            "returns 100,000 results for an item",
            {
                let mut guest = Guest::metric();
                let good = Card::good(&mut guest.image).bytes();
                let at = guest.image.put(&good);
                guest.body(
                    "score",
                    format!("(call $answer (i32.const 100000) (i32.const {at}) (i32.const 64))"),
                )
            },
            End::Failed("returned 100000 results for 1"),
        ),
    ]
}

fn numbers() -> Vec<(&'static str, &'static str, Guest, End)> {
    let primary = |number: f64| card(move |_, card| card.primary_score = (1, number));
    let sub = |number: f64| {
        card(move |image, card| {
            let element = sub_score(image, "part", number);
            card.sub_scores = image.list(&[element]);
        })
    };
    vec![
        ("nan", "scores NaN", primary(f64::NAN), End::Failed("the primary score is NaN")),
        (
            "nan-with-payload",
            "scores NaN with bits of its own",
            primary(f64::from_bits(0xfff4_dead_beef_0001)),
            End::Failed("the primary score is NaN"),
        ),
        ("infinity", "scores infinity", primary(f64::INFINITY), End::Failed("the primary score is inf")),
        (
            "minus-infinity",
            "scores minus infinity",
            primary(f64::NEG_INFINITY),
            End::Failed("the primary score is -inf"),
        ),
        ("huge-number", "scores the largest number, which is one", primary(f64::MAX), End::Scores(f64::MAX)),
        ("nan-in-sub-score", "a sub-score is NaN", sub(f64::NAN), End::Failed("a sub-score is NaN")),
        (
            "infinity-in-sub-score",
            "a sub-score is infinity",
            sub(f64::INFINITY),
            End::Failed("a sub-score is inf"),
        ),
    ]
}

fn cases() -> Vec<(&'static str, &'static str, Guest, End)> {
    const CASE: &str = "discriminant";
    vec![
        (
            "case-of-result",
            "a result that is neither ok nor err",
            card(|_, card| card.case = 7),
            End::Failed(CASE),
        ),
        (
            "case-of-option",
            "an option that is neither some nor none",
            card(|_, card| card.primary_score.0 = 2),
            End::Failed(CASE),
        ),
        (
            "case-of-enum",
            "a kind of error that does not exist",
            failure(|error| error.kind = 8),
            End::Failed(CASE),
        ),
        (
            "case-of-pointer",
            "an error whose pointer is neither there nor absent",
            failure(|error| error.pointer.0 = 255),
            End::Failed(CASE),
        ),
        // The canonical ABI takes every number but 0 for true.
        ("bool-of-7", "a truth value of 7", card(|_, card| card.pass = (1, 7)), End::Scores(1.0)),
        (
            "bool-in-error",
            "a truth value of 255 in an error",
            failure(|error| error.retryable = 255),
            End::Failed("as told"),
        ),
    ]
}

fn strings() -> Vec<(&'static str, &'static str, Guest, End)> {
    let detail = |at: u32, length: u32| card(move |_, card| card.detail = Span { at, length });
    let explain = |bytes: &'static [u8]| card(move |image, card| card.explain = (1, image.raw_text(bytes)));
    vec![
        ("string-outside", "a text behind the end of memory", detail(0xffff_fff0, 4), End::Failed(OUTSIDE)),
        (
            "string-past-the-end",
            "a text that ends outside of memory",
            detail(1024, 50_000_000),
            End::Failed(OUTSIDE),
        ),
        ("string-of-4-gib", "a text of 2^32 - 1 bytes", detail(1024, u32::MAX), End::Failed(OUTSIDE)),
        ("string-that-wraps", "address and length wrap around", detail(0xffff_fffe, 3), End::Failed(OUTSIDE)),
        ("utf-8-lone", "a text of one continuation byte", explain(b"\x80"), End::Failed("utf-8")),
        ("utf-8-cut", "a text that ends within a character", explain(b"abc\xe2\x82"), End::Failed("utf-8")),
        (
            "utf-8-surrogate",
            "a text with half of a surrogate pair",
            explain(b"\xed\xa0\x80"),
            End::Failed("utf-8"),
        ),
        ("utf-8-overlong", "a text with a slash in two bytes", explain(b"\xc0\xaf"), End::Failed("utf-8")),
        (
            "error-utf-8",
            "an error whose message is not a text",
            {
                let mut guest = Guest::metric();
                let failure = Failure::new(guest.image.raw_text(b"\xff\xfe"));
                guest.result(&failure.result(CARD_RESULT, 8))
            },
            End::Failed("utf-8"),
        ),
    ]
}

/// Returns the members of this group.
pub fn members() -> Vec<Member> {
    [lists(), numbers(), cases(), strings()]
        .into_iter()
        .flatten()
        .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
        .collect()
}
