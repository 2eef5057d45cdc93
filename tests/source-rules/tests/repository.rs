//! The sources of this repository follow the rules.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_source_rules::{
    CrateModules, MAX_TEST_NAME_CHARS, bad_names, cycles, long_test_names, repeated_types,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Cycles that are still to be broken: the crate, the parent module, and the modules of the cycle. The list only gets shorter.
const KNOWN_CYCLES: &[(&str, &str, &str)] = &[];

/// Type names that more than two modules of a crate define, still to be renamed: the crate, the name, and the number of modules.
/// The list only gets shorter.
const KNOWN_REPEATED_TYPES: &[(&str, &str, usize)] = &[];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Calls a function for each folder below one, except for links and generated folders.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    visit(folder);
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name();
        let is_skipped =
            ["target", "node_modules", "templates", "generated"].iter().any(|skipped| name == *skipped);
        // The targets of links are visited at their own paths.
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

fn relative(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}

/// Returns the crates, by their folders and root files.
fn crates() -> Vec<(PathBuf, PathBuf)> {
    let mut crates = Vec::new();
    for folder in folders().into_iter().filter(|folder| folder.join("Cargo.toml").is_file()) {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        crates.extend(roots.into_iter().filter(|root| root.is_file()).map(|root| (folder.clone(), root)));
    }
    crates
}

#[test]
fn modules_of_a_crate_have_no_import_cycles() {
    let mut unknown = String::new();
    let mut broken: BTreeSet<_> = KNOWN_CYCLES.iter().copied().collect();
    let crates = crates();
    for (folder, root) in &crates {
        let modules = CrateModules::read(root).expect("sources that can be read");
        for cycle in cycles(&modules) {
            let name = (relative(folder), cycle.parent.join("::"), cycle.modules.join(" "));
            let known = broken.iter().find(|(crate_name, parent, modules)| {
                name == ((*crate_name).to_owned(), (*parent).to_owned(), (*modules).to_owned())
            });
            match known.copied() {
                Some(known) => drop(broken.remove(&known)),
                None => unknown.push_str(&format!("{name:?}: {cycle}\n")),
            }
        }
    }
    assert!(crates.len() > 40, "{} crates were found", crates.len());
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
                bad.push_str(&format!("{}: {name}\n", relative(&path)));
            }
        }
    }
    assert!(files > 1_000, "{files} files were found");
    assert!(bad.is_empty(), "names to change:\n{bad}");
}

#[test]
fn type_names_mean_one_thing_in_a_crate() {
    let mut found = Vec::new();
    for (folder, root) in crates() {
        let modules = CrateModules::read(&root).expect("sources that can be read");
        found.extend(
            repeated_types(&modules).into_iter().map(|(name, count)| (relative(&folder), name, count)),
        );
    }
    let known = KNOWN_REPEATED_TYPES
        .iter()
        .map(|(folder, name, count)| ((*folder).to_owned(), (*name).to_owned(), *count));
    let known: Vec<_> = known.collect();
    let new: Vec<_> = found.iter().filter(|one| !known.contains(one)).collect();
    let gone: Vec<_> = known.iter().filter(|one| !found.contains(one)).collect();
    assert!(new.is_empty() && gone.is_empty(), "new: {new:#?}\nto be removed from the list: {gone:#?}");
}

#[test]
fn test_names_are_short() {
    let mut long = String::new();
    for folder in folders() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("text");
                for name in long_test_names(&text) {
                    long.push_str(&format!("{}: {name}\n", relative(&path)));
                }
            }
        }
    }
    assert!(long.is_empty(), "names of tests with more than {MAX_TEST_NAME_CHARS} characters:\n{long}");
}

/// The crate that links llama.cpp, and so needs cmake, libclang and a C++ compiler.
const MODEL_CRATE: &str = "host/llama";

#[test]
fn default_members_exclude_the_crate_that_links_llama_cpp() {
    let manifest = fs::read_to_string(repository().join("Cargo.toml")).expect("the manifest");
    let list = |key: &str| -> Vec<String> {
        let start = manifest.find(&format!("\n{key} = [")).expect("the list");
        let entries = manifest[start..].lines().skip(2).take_while(|line| *line != "]");
        entries.map(|line| line.trim().trim_matches(|sign| sign == '"' || sign == ',').to_owned()).collect()
    };
    let members = list("members");
    assert!(members.iter().any(|member| member == MODEL_CRATE), "{members:?}");
    let expected: Vec<String> = members.into_iter().filter(|member| member != MODEL_CRATE).collect();
    assert_eq!(list("default-members"), expected);
    for member in &expected {
        let path = repository().join(member).join("Cargo.toml");
        let text = fs::read_to_string(&path).expect("a manifest");
        assert!(!text.contains("llama-cpp") && !text.contains("gage-llama"), "{}", path.display());
    }
}
