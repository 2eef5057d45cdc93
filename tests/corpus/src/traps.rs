//! Guests that trap.

use crate::guest::Guest;
use crate::{End, Member};

/// Returns a metric that traps in `score`.
pub fn unreachable() -> Vec<u8> {
    Guest::metric().body("score", "(unreachable)").component()
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let table =
        "(type $f (func)) (type $g (func (param i32))) (func $f) (table 2 funcref) (elem (i32.const 0) $f)";
    let bodies = [
        ("trap-unreachable", "runs into `unreachable`", "(unreachable)", "unreachable"),
        (
            "trap-divide",
            "divides by zero",
            "(i32.div_s (local.get 5) (i32.const 0))",
            "integer divide by zero",
        ),
        (
            "trap-overflow",
            "divides the smallest integer by -1",
            "(i32.div_s (i32.const 0x80000000) (i32.const -1))",
            "integer overflow",
        ),
        (
            "trap-conversion",
            "makes an integer of NaN",
            "(i32.trunc_f64_s (f64.const nan))",
            "invalid conversion to integer",
        ),
        (
            "trap-load",
            "reads behind the end of its memory",
            "(i32.load (i32.const -8))",
            "out of bounds memory access",
        ),
        (
            "trap-store",
            "writes behind the end of its memory, with an offset",
            "(i64.store offset=0xfffffff0 (i32.const -1) (i64.const 1)) (i32.const 0)",
            "out of bounds memory access",
        ),
        (
            "trap-fill",
            "fills memory beyond its end",
            "(memory.fill (i32.const 200000) (i32.const 0) (i32.const 1000000)) (i32.const 0)",
            "out of bounds memory access",
        ),
        (
            "trap-call-type",
            "calls a function as if it had another type",
            "(call_indirect (type $g) (i32.const 1) (i32.const 0)) (i32.const 0)",
            "indirect call type mismatch",
        ),
        (
            "trap-call-null",
            "calls an element that is empty",
            "(call_indirect (type $f) (i32.const 1)) (i32.const 0)",
            "uninitialized element",
        ),
        (
            "trap-call-range",
            "calls an element behind the end of the table",
            "(call_indirect (type $f) (i32.const 9)) (i32.const 0)",
            "undefined element",
        ),
    ];
    let in_score = bodies.into_iter().map(|(name, about, body, text)| {
        let guest = Guest::metric().field(table).body("score", body);
        Member::metric(name, about, guest.component(), End::Failed(text))
    });
    let elsewhere = [
        (
            "trap-describe",
            "traps while it describes itself",
            Guest::metric().body("describe", "(unreachable)"),
            End::NotLoaded("unreachable"),
        ),
        (
            "trap-check",
            "traps while it checks its parameters",
            Guest::metric().body("check", "(unreachable)"),
            End::NotChecked("unreachable"),
        ),
        (
            "trap-start",
            "traps in its start function",
            Guest::metric().field("(func $run (unreachable)) (start $run)"),
            End::NotLoaded("unreachable"),
        ),
        (
            "trap-data",
            "has a data segment that does not fit into its memory",
            Guest::metric().field("(data (i32.const -4) \"abcdefgh\")"),
            End::NotLoaded("out of bounds memory access"),
        ),
        (
            "trap-post-return",
            "traps after it has scored",
            Guest::metric().post_return("score", "(unreachable)"),
            End::Failed("unreachable"),
        ),
        (
            "trap-realloc",
            "has no memory for what the host hands over",
            Guest { realloc: "(unreachable)".to_owned(), ..Guest::metric() },
            End::NotChecked("unreachable"),
        ),
        (
            "realloc-outside",
            "hands out memory that does not exist",
            Guest { realloc: "(i32.const -16)".to_owned(), ..Guest::metric() },
            End::NotChecked("beyond end of memory"),
        ),
        (
            "realloc-misaligned",
            "hands out memory at an odd address",
            Guest { realloc: "(i32.const 100001)".to_owned(), ..Guest::metric() },
            End::Failed("not aligned"),
        ),
    ];
    let elsewhere =
        elsewhere.map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end));
    in_score.chain(elsewhere).collect()
}
