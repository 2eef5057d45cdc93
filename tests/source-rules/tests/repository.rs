//! The sources of this repository keep the rules.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_source_rules::{CrateModules, bad_names, cycles};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Cycles that are still to be broken: a crate, the module below which they are, and the modules of the cycle. The list only
/// gets shorter.
const KNOWN_CYCLES: &[(&str, &str, &str)] = &[
    ("host/history", "", "baseline describe history refresh"),
    ("host/config", "", "expand problems secrets"),
    ("host/backend", "", "anthropic_http gemini_http http open openai_http text_generation"),
    ("host/backend", "http", "reply sse"),
    ("host/backend", "llama_cpp", "gguf load_options memory_estimate model runtime tokenizer vision"),
    ("host/observe", "", "observability otlp"),
    ("host/plugin", "", "cache compile host"),
    ("host/plugin", "", "component_members kinds validate_output"),
    ("host/suite", "", "load run_config"),
    ("host/data", "", "labels loader"),
    ("host/core", "", "content json_encode output sample"),
    ("plugins/libs/choice-kit", "", "choices option_texts"),
    ("plugins/libs/text-kit", "", "number_scale unit unit_search"),
    ("plugins/libs/python-regex", "", "escape parser set"),
    ("plugins/libs/python-regex", "", "piece required"),
    ("plugins/libs/number-kit", "", "comparison measurement"),
    ("plugins/components/preprocess", "", "layout question"),
    ("plugins/components/preprocess", "default::fast", "nested row scan"),
    ("sdk/rust", "", "bindings log media"),
    ("tests/corpus", "", "encode guest"),
];

/// The SDK's public names, which change with its next version.
const KNOWN_NAMES: [(&str, &str); 1] = [("sdk/rust/src/base/likelihood.rs", "Known")];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Calls a function for each folder below one, links and generated folders left out.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    visit(folder);
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name();
        let is_skipped =
            ["target", "node_modules", "templates", "generated"].iter().any(|skipped| name == *skipped);
        // Links lead to folders that are visited at their own places.
        if !is_skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), visit);
        }
    }
}

fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for top in ["host", "plugins", "sdk", "tests"] {
        walk(&repository().join(top), &mut |folder| folders.push(folder.to_owned()));
    }
    folders
}

fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}

#[test]
fn modules_of_a_crate_have_an_order() {
    let mut unknown = String::new();
    let mut broken: BTreeSet<_> = KNOWN_CYCLES.iter().copied().collect();
    let mut crates = 0;
    for folder in folders() {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        for root in roots.iter().filter(|root| root.is_file() && folder.join("Cargo.toml").is_file()) {
            crates += 1;
            let modules = CrateModules::read(root).expect("sources that can be read");
            for cycle in cycles(&modules) {
                let name = (shown(&folder), cycle.parent.join("::"), cycle.modules.join(" "));
                let known = broken.iter().find(|(crate_name, parent, modules)| {
                    name == ((*crate_name).to_owned(), (*parent).to_owned(), (*modules).to_owned())
                });
                match known.copied() {
                    Some(known) => drop(broken.remove(&known)),
                    None => unknown.push_str(&format!("{name:?}: {cycle}\n")),
                }
            }
        }
    }
    assert!(crates > 40, "{crates} crates were found");
    assert!(unknown.is_empty(), "modules that import one another:\n{unknown}");
    assert!(broken.is_empty(), "cycles that are gone; remove them from the list: {broken:?}");
}

#[test]
fn types_and_constants_have_standard_names() {
    let mut bad = String::new();
    let mut files = 0;
    for folder in folders() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            files += 1;
            for name in bad_names(&path).expect("Rust") {
                let is_known = |known: &(&str, &str)| {
                    shown(&path) == known.0 && name.starts_with(&format!("`{}`", known.1))
                };
                if !KNOWN_NAMES.iter().any(is_known) {
                    bad.push_str(&format!("{}: {name}\n", shown(&path)));
                }
            }
        }
    }
    assert!(files > 1_000, "{files} files were found");
    assert!(bad.is_empty(), "names to change:\n{bad}");
}
