//! Metrics that look for differences between processors, or take as much as they can of what all plugins share.

use crate::guest::Guest;
use crate::{End, Member};

/// Functions that return 1 for a result that differs between processors. Their operands are in memory, so that nothing
/// is computed before.
const DIFFERENCES: &str = r"
    (func $zero (result f64) (f64.load (i32.const 0)))
    ;; On x86-64 the NaN of an invalid operation is negative.
    (func $sign_of_nan (result i32)
      (i64.ne (i64.reinterpret_f64 (f64.div (call $zero) (call $zero))) (i64.const 0x7ff8000000000000)))
    ;; Processors pass on the bits of a NaN.
    (func $bits_of_nan (result i32)
      (i64.ne
        (i64.reinterpret_f64 (f64.add (f64.reinterpret_i64 (i64.const 0xfff8deadbeef0001)) (call $zero)))
        (i64.const 0x7ff8000000000000)))
    ;; Some take the last bits of an index that is out of range.
    (func $swizzle (result i32)
      (i8x16.extract_lane_u 0
        (i8x16.relaxed_swizzle (i8x16.splat (i32.const 1))
          (i8x16.splat (i32.add (i32.const 16) (i32.load (i32.const 0)))))))
    ;; Some convert NaN to the smallest integer.
    (func $truncated_nan (result i32)
      (i32.ne (i32.const 0)
        (i32x4.extract_lane 0
          (i32x4.relaxed_trunc_f32x4_s (f32x4.splat (f32.demote_f64 (f64.div (call $zero) (call $zero))))))))
    ;; Without a fused instruction, the product is rounded: (1 + 2^-27)^2 - (1 + 2^-26) is then 0, and not 2^-54.
    (func $rounded_product (result i32)
      (f64.eq (f64.const 0)
        (f64x2.extract_lane 0
          (f64x2.relaxed_madd
            (f64x2.splat (f64.add (call $zero) (f64.const 0x1.0000002p0)))
            (f64x2.splat (f64.add (call $zero) (f64.const 0x1.0000002p0)))
            (f64x2.splat (f64.const -0x1.0000004p0))))))";

/// Returns a metric whose score is not 0 if it recognizes the processor. Each bit of the score is a difference.
pub fn probe() -> Vec<u8> {
    let functions = ["sign_of_nan", "bits_of_nan", "swizzle", "truncated_nan", "rounded_product"];
    let sum = functions.iter().enumerate().fold("(i32.const 0)".to_owned(), |sum, (bit, function)| {
        format!("(i32.add {sum} (i32.shl (call ${function}) (i32.const {bit})))")
    });
    Guest::metric().field(DIFFERENCES).scoring("", &format!("(f64.convert_i32_s {sum})")).component()
}

/// Returns a metric with as many memories as a component may have. If `is_endless`, it scores until it is ended.
pub fn hoarder(is_endless: bool) -> Vec<u8> {
    let guest = Guest::metric().field(&"(memory 1)".repeat(15));
    let guest =
        if is_endless { guest.body("score", "(loop $again (br $again)) (unreachable)") } else { guest };
    guest.component()
}

/// Returns the members of this group.
pub fn members() -> Vec<Member> {
    vec![
        Member::metric("probe", "scores what it learns about the processor", probe(), End::Scores(0.0)),
        Member::metric("hoarder", "has 16 memories, and behaves", hoarder(false), End::Scores(1.0)),
        Member::metric(
            "endless-hoarder",
            "has 16 memories, and does not end",
            hoarder(true),
            End::Late("used up its fuel"),
        ),
    ]
}
