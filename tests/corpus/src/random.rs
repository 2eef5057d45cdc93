//! Reproducible pseudo-random numbers, and a metric that returns the bytes in its parameter.

use crate::guest::Guest;
use crate::image::Span;
use crate::records::Bytes;

/// A source of pseudo-random numbers that depends only on its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a source with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns the next number below a bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % bound).unwrap_or(0)
    }

    /// Returns some bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number().to_be_bytes()[0]).collect()
    }
}

/// Address at which [`echo`] puts its result.
pub const RESULT_AT: u32 = 1 << 16;

/// Returns a metric whose `score` copies bytes to [`RESULT_AT`] and returns that address. The bytes are the parameter
/// `hex`, which must be the only one: two digits each, in lower case.
pub fn echo() -> Vec<u8> {
    let digit = |offset: u32| {
        format!(
            "(call $digit (i32.load8_u offset={offset}
               (i32.add (local.get 2) (i32.mul (local.get $i) (i32.const 2)))))"
        )
    };
    // The parameters are `{"hex":"` and `"}` around the digits.
    let (high, low) = (digit(8), digit(9));
    Guest { pages: 8, ..Guest::metric() }
        .field(
            "(func $digit (param i32) (result i32)
               (i32.sub (local.get 0) (select (i32.const 87) (i32.const 48)
                 (i32.gt_u (local.get 0) (i32.const 57)))))",
        )
        .body(
            "score",
            format!(
                "(local $i i32) (local $count i32)
                 (local.set $count (i32.shr_u (i32.sub (local.get 3) (i32.const 10)) (i32.const 1)))
                 (block $done
                   (loop $next
                     (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
                     (i32.store8 (i32.add (i32.const {RESULT_AT}) (local.get $i))
                       (i32.add (i32.mul {high} (i32.const 16)) {low}))
                     (local.set $i (i32.add (local.get $i) (i32.const 1)))
                     (br $next)))
                 (i32.const {RESULT_AT})"
            ),
        )
        .component()
}

/// Returns bytes for [`echo`] that are a valid result with one sub-score, one error tag, an explanation and a detail,
/// to be modified by tests.
pub fn good_result() -> Vec<u8> {
    let text = |at: u32, length: u32| Span { at: RESULT_AT + at, length };
    Bytes::new(192)
        .span(0, text(8, 1))
        // The card begins 8 bytes after the result, which begins at 8.
        .put(16, &[1])
        .number(24, 0.5)
        .put(32, &[1, 1])
        .span(36, text(80, 1))
        .span(44, text(96, 1))
        .put(52, &[1])
        .span(56, text(112, 4))
        .span(64, text(128, 7))
        .span(80, text(144, 4))
        .number(88, 1.0)
        .span(96, text(160, 3))
        .put(112, b"text")
        .put(128, b"{\"a\":1}")
        .put(144, b"part")
        .put(160, b"tag")
        .done()
}
