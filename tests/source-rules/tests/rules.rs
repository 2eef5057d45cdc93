//! The rules on small crates.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_source_rules::{CrateModules, bad_names, cycles, long_test_names, public_items, repeated_types};
use std::fs;

/// Returns a crate in a folder, from the paths and texts of its files.
fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, text).expect("written");
    }
    folder
}

fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = written(files);
    let modules = CrateModules::read(&folder.path().join("lib.rs")).expect("Rust");
    cycles(&modules).into_iter().map(|cycle| cycle.modules).collect()
}

#[test]
fn cycle_is_found_through_re_exports_and_macros() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::*;\npub use b::Second;\n");
    for (case, b) in [
        ("a path", "pub struct Second(crate::a::First);"),
        ("an import", "use crate::a::First;\npub struct Second(First);"),
        ("`super`", "pub struct Second(super::a::First);"),
        ("a re-export by glob", "use crate::First;\npub struct Second(First);"),
        ("tokens of a macro", "pub struct Second;\nfn f() { println!(\"{}\", crate::a::NAME); }"),
    ] {
        let files = [
            lib,
            ("a.rs", "use crate::Second;\npub const NAME: &str = \"\";\npub struct First(Box<Second>);"),
            ("b.rs", b),
            ("c.rs", "use crate::First;"),
        ];
        assert_eq!(found(&files), [["a", "b"]], "{case}");
    }
}

#[test]
fn modules_in_order_have_no_cycle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\npub use a::First;\n"),
        ("a.rs", "pub struct First;\n#[cfg(test)]\nmod tests { use crate::b::Second; }"),
        ("b.rs", "mod inner;\nuse crate::First;\npub struct Second(First);\npub use inner::Third;"),
        // A submodule belongs to its module.
        ("b/inner.rs", "use super::Second;\npub struct Third(Second, crate::a::First);"),
    ];
    assert_eq!(found(&files), Vec::<Vec<String>>::new());
}

#[test]
fn cycle_below_a_module_is_found_there() {
    let files = [
        ("lib.rs", "mod a;\n"),
        ("a.rs", "mod b;\nmod c;"),
        ("a/b.rs", "use super::c::Second;\npub struct First;"),
        ("a/c.rs", "use super::b::First;\npub struct Second;"),
    ];
    assert_eq!(found(&files), [["b", "c"]]);
}

#[test]
fn names_that_do_not_name_a_thing_are_reported() {
    let folder = written(&[(
        "a.rs",
        "const SHORTEST_ROWS: u64 = 1;\npub struct Told;\nmod inner { enum Found { A } trait Rows { const SHORTEST_TEXT: u8; } }\nconst MAX_ROWS: u64 = 1;\nstruct FoundRow;",
    )]);
    let bad = bad_names(&folder.path().join("a.rs")).expect("Rust");
    let names: Vec<&str> = bad.iter().filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(names, ["SHORTEST_ROWS", "Told", "Found", "SHORTEST_TEXT"]);
}

#[test]
fn types_defined_in_three_modules_are_repeated() {
    let types = "pub struct State;\nfn other() {}\nenum Kind {}";
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
        ("a.rs", types),
        ("b.rs", types),
        ("c.rs", "trait State {}\nfn other() {}\n#[cfg(test)]\nmod tests { struct Kind; }"),
    ];
    let folder = written(&files);
    let modules = CrateModules::read(&folder.path().join("lib.rs")).expect("Rust");
    assert_eq!(repeated_types(&modules), [("State".to_owned(), 3)]);
}

#[test]
fn only_names_of_tests_can_be_too_long() {
    let long = "a".repeat(61);
    let short = "a".repeat(60);
    let text = format!(
        "#[test]\nfn {short}() {{}}\nfn {long}() {{}}\nproptest! {{\n  #[test]\n  fn {long}(x in 0..1) {{}}\n}}\n\
         #[tokio::test(flavor = \"x\")]\nasync fn {long}() {{}}"
    );
    assert_eq!(long_test_names(&text), [long.clone(), long]);
}

#[test]
fn public_items_have_signatures_and_no_bodies() {
    let lib = "pub mod a;\npub use a::S;\npub const N: u8 = 1;\nconst HIDDEN: u8 = 1;\npub(crate) fn own() {}\n\
        #[macro_export]\nmacro_rules! m { ($x:expr) => { $x }; () => {}; }\n#[cfg(test)]\npub mod tests {}\n";
    let a = "/// Doc.\n#[derive(Clone)]\npub struct S { /// Doc.\n pub one: u8, two: u8 }\n\
        impl S { pub fn new(one: u8) -> S { S { one, two: 0 } } fn own(&self) {} }\nimpl Default for S { fn default() -> S { S::new(1) } }\n\
        pub trait T { fn must(&self); fn may(&self) -> u8 { 1 } }\n";
    let folder = written(&[("lib.rs", lib), ("a.rs", a)]);
    let items = public_items(&folder.path().join("lib.rs")).expect("Rust");
    let expected = [
        "crate: macro m!($x: expr)",
        "crate: macro m!()",
        "crate: pub const N: u8",
        "crate: pub mod a",
        "crate: pub use a::S;",
        "crate::a: #[derive(Clone)] pub struct S { pub one: u8 }",
        "crate::a: impl Default for S",
        "crate::a: impl S: pub fn new(one: u8) -> S",
        "crate::a: pub trait T { fn must(&self); fn may(&self) -> u8 { } }",
    ];
    assert_eq!(items, expected);
}
