//! Guests that do not end.

use crate::encode::graft;
use crate::guest::{Guest, LOG};
use crate::{End, Member};

const LOOP: &str = "(loop $for_ever (br $for_ever)) (unreachable)";
const FUEL: &str = "used up its fuel";
const CALLS: &str = "called the host too often";

/// A resource whose destructor does not end, made and dropped at the start.
const DESTRUCTOR: &str = r#"(component
  (core module $d (func (export "drop") (param i32) (loop (br 0))))
  (core instance $d (instantiate $d))
  (type $r (resource (rep i32) (dtor (core func $d "drop"))))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (func $run (call $drop (call $new (i32.const 1))))
    (start $run))
  (core instance (instantiate $m
    (with "" (instance (export "new" (func $new)) (export "drop" (func $drop)))))))"#;

/// Uses a million units of fuel where no time and no fuel is checked, grows a table by all that there is, and does not end.
fn overflow() -> String {
    let copies = "(memory.copy (i32.const 65536) (i32.const 65664) (i32.const 128))".repeat(8_000);
    format!("{copies} (drop (table.grow $table (ref.null func) (i64.const -1))) {LOOP}")
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let metric = Guest::metric;
    let flood = "(loop $again
        (call $emit (i32.const 1) (i32.const 131072) (i32.const LENGTH)) (br $again)) (unreachable)";
    let long = Guest { pages: 8, ..metric().import(LOG) };
    let members = [
        ("loop-describe", "describe does not end", metric().body("describe", LOOP), End::NotLoaded(FUEL)),
        ("loop-metrics", "metrics does not end", metric().body("metrics", LOOP), End::NotLoaded(FUEL)),
        ("loop-check", "check does not end", metric().body("check", LOOP), End::NotChecked(FUEL)),
        ("loop-score", "score does not end", metric().body("score", LOOP), End::Late(FUEL)),
        (
            "loop-start",
            "the start function of the core module does not end",
            metric().field("(func $run (loop (br 0))) (start $run)"),
            End::NotLoaded(FUEL),
        ),
        (
            "loop-realloc",
            "the allocator that the host calls does not end",
            Guest { realloc: LOOP.to_owned(), ..metric() },
            End::NotChecked(FUEL),
        ),
        (
            "loop-post-return",
            "what is called after score does not end",
            metric().post_return("score", "(loop (br 0))"),
            End::Late(FUEL),
        ),
        (
            "loop-post-return-of-describe",
            "what is called after describe does not end",
            metric().post_return("describe", "(loop (br 0))"),
            End::NotLoaded(FUEL),
        ),
        (
            "tail-calls",
            "two functions call each other in tail position for ever",
            metric()
                .field("(func $a (result i32) (return_call $b)) (func $b (result i32) (return_call $a))")
                .body("score", "(return_call $a)"),
            End::Late(FUEL),
        ),
        (
            "log-for-ever",
            "writes empty log lines for ever",
            metric().import(LOG).body("score", flood.replace("LENGTH", "0")),
            End::Late(CALLS),
        ),
        (
            "log-flood",
            "writes log lines of 64 KiB for ever",
            long.body("score", flood.replace("LENGTH", "65536")),
            End::Late(FUEL),
        ),
        (
            "log-in-post-return",
            "calls the host where it may not",
            metric()
                .import(LOG)
                .post_return("score", "(call $emit (i32.const 1) (i32.const 1024) (i32.const 1))"),
            End::Failed("cannot leave component instance"),
        ),
        (
            "bulk",
            "fills 48 MiB for ever: few instructions, each of which takes long",
            Guest { pages: 800, ..metric() }.body(
                "score",
                "(loop $again
                   (memory.fill (i32.const 65536) (i32.const 7) (i32.const 50331648)) (br $again))
                 (unreachable)",
            ),
            End::Late(FUEL),
        ),
        (
            "loop-overflown-fuel",
            "does not end, after it grew a 64-bit table so far that its fuel could overflow",
            metric().field("(table $table i64 0 funcref)").body("score", overflow()),
            End::NotCompiled("memory64"),
        ),
    ];
    let mut members: Vec<Member> = members
        .into_iter()
        .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
        .collect();
    members.push(Member::metric(
        "loop-destructor",
        "the destructor of a resource does not end",
        graft(&crate::obedient(), DESTRUCTOR),
        End::NotLoaded(FUEL),
    ));
    members
}
