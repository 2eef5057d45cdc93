//! Components whose exports, or whose insides, are not those of a plugin.

use crate::encode::{graft, graft_module};
use crate::guest::Guest;
use crate::{End, Kind, Member};

/// Returns a component with these fields, in text.
fn text(fields: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {fields})")).expect("the text is a component")
}

fn of_version(version: &'static str) -> Vec<u8> {
    Guest { version, ..Guest::metric() }.component()
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let mut both = Guest::metric();
    both.add_preprocessor();
    let obedient = crate::obedient();
    let empty_instance = "(instance $i) (export \"gage:plugin/metric@0.1.1\" (instance $i))";
    let row = "(instance (instantiate $c))".repeat(500);
    let mut members = vec![
        Member::metric(
            "version-0.2.0",
            "built against a later version",
            of_version("0.2.0"),
            End::Refused("0.2.0"),
        ),
        Member::metric(
            "version-9.0.0",
            "built against a much later version",
            of_version("9.0.0"),
            End::Refused("9.0.0"),
        ),
        Member::metric(
            "exports-nothing",
            "a component without exports",
            text(""),
            End::Refused("it exports nothing"),
        ),
        Member::metric(
            "exports-unknown",
            "a component without an export that is known",
            text("(instance $i) (export \"a:b/c\" (instance $i))"),
            End::Refused("it exports a:b/c"),
        ),
        Member::metric(
            "exports-empty-metric",
            "a metric without a function",
            text(empty_instance),
            End::NotLoaded("does not have export `describe`"),
        ),
        Member::metric(
            "exports-mistyped",
            "a metric whose functions have other types",
            mistyped(),
            End::NotLoaded("tuple"),
        ),
        Member::metric(
            "exports-two",
            "a metric that is a preprocessor as well",
            both.component(),
            End::Refused("at once"),
        ),
        Member::metric(
            "module-unused",
            "carries a core module that is not valid and is used by nothing",
            graft_module(&obedient, b"\0asm\x01\0\0\0\x0a\x04\x01\x02\0\x0b"),
            End::Refused("damaged"),
        ),
        Member::metric(
            "instances-in-a-row",
            "500 instances of a component",
            graft(&obedient, &format!("(component (component $c) {row})")),
            End::Scores(1.0),
        ),
        Member::metric(
            "waits-for-ever",
            "waits in its start function for something that no host knows of",
            graft(&obedient, WAITS),
            End::NotCompiled("async"),
        ),
        Member::metric(
            "garbage-collected",
            "uses objects that would live outside of its memory",
            Guest::metric()
                .field("(type $a (array (mut i64)))")
                .body(
                    "score",
                    "(i32.add (i32.const 1) (array.len (array.new_default $a (i32.const 0x7fffffff))))",
                )
                .component(),
            End::NotCompiled("gc types are disabled"),
        ),
    ];
    members.push(Member {
        kind: Kind::Preprocessor,
        ..Member::metric(
            "metric-as-preprocessor",
            "a metric that is used as a preprocessor",
            obedient,
            End::Refused("metric"),
        )
    });
    members
}

/// A wait for an event, of the asynchronous part of the component model.
const WAITS: &str = r#"(component
  (core module $memory (memory (export "memory") 1))
  (core instance $memory (instantiate $memory))
  (core func $new (canon waitable-set.new))
  (core func $wait (canon waitable-set.wait (memory (core memory $memory "memory"))))
  (core module $m
    (import "" "new" (func $new (result i32)))
    (import "" "wait" (func $wait (param i32 i32) (result i32)))
    (func $run (drop (call $wait (call $new) (i32.const 0))))
    (start $run))
  (core instance (instantiate $m
    (with "" (instance (export "new" (func $new)) (export "wait" (func $wait)))))))"#;

/// Exports `gage:plugin/metric` with functions without parameters and results.
fn mistyped() -> Vec<u8> {
    text(
        r#"(core module $m (func (export "f")))
        (core instance $m (instantiate $m))
        (func $f (canon lift (core func $m "f")))
        (instance $i (export "describe" (func $f)) (export "metrics" (func $f))
          (export "check" (func $f)) (export "score" (func $f)))
        (export "gage:plugin/metric@0.1.1" (instance $i))"#,
    )
}
