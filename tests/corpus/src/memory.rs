//! Guests that want more memory, tables, instances or stack than there is.

use crate::encode::graft;
use crate::guest::Guest;
use crate::{End, Member};
use std::fmt::Write as _;

const MEMORY: &str = "bytes of memory";
const ELEMENTS: &str = "table elements";

/// Makes resources for ever and drops none.
const HANDLES: &str = r#"(component
  (type $r (resource (rep i32)))
  (core func $new (canon resource.new $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (func $run (loop (drop (call $new (i32.const 1))) (br 0)))
    (start $run))
  (core instance (instantiate $m (with "" (instance (export "new" (func $new)))))))"#;

/// Returns a component of many core instances, each with these fields.
fn many_instances(count: usize, fields: &str) -> String {
    let mut text = format!("(component (core module $m {fields})\n");
    for _ in 0..count {
        let _ = writeln!(text, "(core instance (instantiate $m))");
    }
    text + ")"
}

/// Adds core instances, each with a memory of one page, to a component.
pub fn with_memories(component: &[u8], count: usize) -> Vec<u8> {
    graft(component, &many_instances(count, "(memory 1)"))
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let metric = Guest::metric;
    let mut members: Vec<Member> = [
        (
            "memory-for-ever",
            "grows its memory until it is refused, then fails",
            metric().body(
                "score",
                "(loop $more
                   (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) (unreachable)",
            ),
            End::Failed(MEMORY),
        ),
        (
            "memory-refused-and-fine",
            "grows its memory until it is refused, and then goes on",
            metric().scoring(
                "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))",
                "(f64.const 0.5)",
            ),
            End::Scores(0.5),
        ),
        (
            "memory-minimum-65-mib",
            "a memory of 65 MiB from the start",
            Guest { pages: 1_040, ..metric() },
            End::NotLoaded(MEMORY),
        ),
        (
            "memory-minimum-4-gib",
            "a memory of 4 GiB from the start",
            Guest { pages: 65_536, ..metric() },
            End::NotLoaded(MEMORY),
        ),
        (
            "memory-64-bit",
            "a second memory of 16 TiB with addresses of 64 bits",
            metric().field("(memory i64 0x10000000)"),
            End::NotCompiled("memory64"),
        ),
        (
            "memory-shared",
            "a second memory that threads share, and which grows outside of the store",
            metric().field("(memory 1 60000 shared)"),
            End::NotCompiled("threads must be enabled"),
        ),
        (
            "many-memories",
            "12 memories of 6 MiB, each below the limit",
            metric().field(&"(memory 96)".repeat(12)),
            End::NotLoaded(MEMORY),
        ),
        (
            "many-empty-memories",
            "99 further memories without a page",
            metric().field(&"(memory 0)".repeat(99)),
            End::NotLoaded("memor"),
        ),
        (
            "table-for-ever",
            "grows a table until it is refused, then fails",
            metric().field("(table $t 1 funcref)").body(
                "score",
                "(loop $more (br_if $more
                   (i32.ne (table.grow $t (ref.null func) (i32.const 100)) (i32.const -1)))) (unreachable)",
            ),
            End::Failed(ELEMENTS),
        ),
        (
            "table-minimum",
            "a table of 900,000 elements from the start",
            metric().field("(table 900000 funcref)"),
            End::NotLoaded(ELEMENTS),
        ),
        (
            "table-of-4-billion",
            "a table of nearly 2^32 elements from the start",
            metric().field("(table 0xfffffff0 funcref)"),
            End::NotLoaded("table"),
        ),
        (
            "many-tables",
            "12 tables of 2,000 elements",
            metric().field(&"(table 2000 funcref)".repeat(12)),
            End::NotLoaded(ELEMENTS),
        ),
        (
            "many-empty-tables",
            "99 tables without an element",
            metric().field(&"(table 0 funcref)".repeat(99)),
            End::NotLoaded("table"),
        ),
        (
            "recursion",
            "calls itself for ever",
            metric()
                .field("(func $deep (param i64 i64) (result i64) (i64.add (call $deep (local.get 1) (local.get 0)) (i64.const 1)))")
                .body("score", "(i32.wrap_i64 (call $deep (i64.const 1) (i64.const 2)))"),
            End::Failed("call stack exhausted"),
        ),
        (
            "recursion-in-realloc",
            "the allocator calls itself for ever",
            Guest {
                realloc: "(i32.add (i32.const 1) (call $realloc (local.get 0) (local.get 1) (local.get 2) (local.get 3)))"
                    .to_owned(),
                ..metric()
            },
            End::NotChecked("call stack exhausted"),
        ),
        (
            "large-frames",
            "calls itself for ever with many locals that are all alive",
            metric().field(&large_frame(400)).body("score", "(i32.wrap_i64 (call $deep (i64.const 1)))"),
            End::Failed("call stack exhausted"),
        ),
    ]
    .into_iter()
    .map(|(name, about, guest, end)| Member::metric(name, about, guest.component(), end))
    .collect();
    let grafts = [
        (
            "many-instances",
            "200 core instances without anything in them",
            many_instances(200, ""),
            End::NotLoaded("instance count too high"),
        ),
        (
            "many-instances-with-memories",
            "30 core instances, each with a memory of 3 MiB",
            many_instances(30, "(memory 48)"),
            End::NotLoaded("memory count too high"),
        ),
        (
            "many-instances-with-tables",
            "30 core instances, each with a table of 1,000 elements",
            many_instances(30, "(table 1000 funcref)"),
            End::NotLoaded(ELEMENTS),
        ),
        (
            "handle-leak",
            "makes resources for ever and drops none",
            HANDLES.to_owned(),
            End::NotLoaded("cannot allocate another handle"),
        ),
    ];
    let obedient = crate::obedient();
    members.extend(
        grafts.map(|(name, about, text, end)| Member::metric(name, about, graft(&obedient, &text), end)),
    );
    members
}

/// Returns a function that calls itself and needs this many values afterwards.
fn large_frame(locals: usize) -> String {
    let mut text = format!("(func $deep (param i64) (result i64) (local{})\n", " i64".repeat(locals));
    for local in 1..=locals {
        let _ = writeln!(text, "(local.set {local} (i64.mul (local.get 0) (i64.const {local})))");
    }
    text.push_str("(call $deep (local.get 0))\n");
    for local in 1..=locals {
        let _ = writeln!(text, "(i64.xor (local.get {local}))");
    }
    text + ")"
}
