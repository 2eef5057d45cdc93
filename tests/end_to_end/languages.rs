//! A new author's three commands in an empty folder, in each language, with a package of the language.

use crate::plugin_packages::{
    javascript_with_a_package, python_with_a_package, try_hostile_packages, try_packages_without_javascript,
};
use crate::support::{CommandOutput, Workspace};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The provenance of the component of a project.
const PROVENANCE: &str = "word-recall/word-recall.intoto.json";

/// Returns the cache folder of these tests.
pub(crate) fn cache_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// Runs the program with the environment of this machine's user, because builds need package registries.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> CommandOutput {
    run_with(folder, arguments, &[])
}

/// Runs the program as [`run`] does, with further variables.
pub(crate) fn run_with(folder: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gage-host"));
    command.current_dir(folder).args(arguments).env("GAGE_CACHE_DIR", cache_folder()).stdin(Stdio::null());
    // A build within a build must not inherit the settings of the outer one.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if (name.starts_with("CARGO_") && name != "CARGO_HOME") || name == "RUSTFLAGS" {
            command.env_remove(name);
        }
    }
    command.envs(variables.iter().copied());
    CommandOutput::of(command.output().expect("the program runs"))
}

/// Makes, builds and tests a project in a language. `prepare` may change the project before it is built. Returns the
/// component.
fn a_project_builds_and_passes_its_cases(
    workspace: &Workspace,
    language: &str,
    prepare: fn(&Workspace),
) -> Vec<u8> {
    let folder = workspace.path("");
    let ended = run(&folder, &["plugin", "new", "--lang", language, "word-recall"]).expect_code(0);
    let native = if language == "rust" { "" } else { "  gage-host plugin test --native\n" };
    assert_eq!(
        ended.stdout,
        format!(
            "made word-recall; next:\n  cd word-recall\n{native}  gage-host plugin build\n  gage-host plugin test\n"
        )
    );
    let project = workspace.path("word-recall");
    run(&project, &["plugin", "test"]).expect_code(2);
    prepare(workspace);
    let built = run(&project, &["plugin", "build"]).expect_code(0);
    assert!(built.stdout.starts_with("./word-recall.wasm ("), "{}", built.stdout);
    let tested = run(&project, &["plugin", "test"]).expect_code(0);
    assert_eq!(
        tested.stdout,
        "11 of 11 cases passed; pure: results are the same alone, in batches and shuffled\n"
    );
    let component = std::fs::read(project.join("word-recall.wasm")).expect("it was built");
    check_provenance(workspace, language, &component);
    component
}

/// Checks the statement about a component: its digest, and the files and tools that made it, without paths of the machine.
fn check_provenance(workspace: &Workspace, language: &str, component: &[u8]) {
    let text = workspace.read(PROVENANCE);
    assert!(!text.contains(&*workspace.path("").to_string_lossy()), "{text}");
    let statement: Value = serde_json::from_str(&text).expect("JSON");
    let digest = |bytes: &[u8]| json!({"sha256": gage_core::Digest::of_bytes(bytes).hex()});
    assert_eq!(statement["subject"][0]["digest"], digest(component), "{text}");
    let predicate = &statement["predicate"];
    assert_eq!(predicate["buildDefinition"]["externalParameters"]["language"], language, "{text}");
    let inputs = predicate["buildDefinition"]["resolvedDependencies"].as_array().expect("inputs");
    let names: Vec<&str> = inputs.iter().filter_map(|input| input["name"].as_str()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for (name, input) in names.iter().zip(inputs) {
        let bytes = std::fs::read(workspace.path("word-recall").join(name)).expect("an input");
        assert_eq!(input["digest"], digest(&bytes), "{name}");
    }
    let (sources, tool) = match language {
        "rust" => (["src/lib.rs", "Cargo.lock", "gage/sdk/rust/src/lib.rs"], "rustc"),
        "python" => {
            (["plugin.py", "requirements.txt", "gage/sdk/python/src/gage_sdk/log.py"], "componentize-py")
        }
        _ => (["plugin.js", "package-lock.json", "gage/sdk/js/src/metric.js"], "componentize-js"),
    };
    for name in sources.into_iter().chain(["gage-plugin.toml", "gage/wit/types.wit"]) {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["cases.jsonl", "README.md", "word-recall.wasm"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
    assert!(predicate["runDetails"]["builder"]["version"][tool].is_string(), "{text}");
}

#[test]
fn rust_project_builds_passes_and_is_reproducible() {
    let workspace = Workspace::new();
    let built = a_project_builds_and_passes_its_cases(&workspace, "rust", |_| {});
    // The same sources give the same bytes in another folder, so locks agree.
    let elsewhere = Workspace::new();
    run(&elsewhere.path(""), &["plugin", "new", "--lang", "rust", "word-recall"]).expect_code(0);
    let project = elsewhere.path("word-recall");
    run(&project, &["plugin", "build"]).expect_code(0);
    let again = std::fs::read(project.join("word-recall.wasm")).expect("it was built");
    assert!(again == built, "another folder, other bytes");
    assert_eq!(elsewhere.read(PROVENANCE), workspace.read(PROVENANCE), "another folder, another provenance");
}

/// Returns whether a tool is installed with at least this major version.
pub(crate) fn is_there(tool: &str, arguments: &[&str], least: u32) -> bool {
    let output = Command::new(tool).args(arguments).stdin(Stdio::null()).output();
    let text =
        output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let digits: String = String::from_utf8_lossy(&text)
        .chars()
        .skip_while(|one| !one.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse::<u32>().is_ok_and(|major| major >= least)
}

#[test]
fn python_project_with_a_package_passes_its_cases() {
    // The language is optional.
    if !is_there("python3", &["-c", "import ensurepip, sys; print(sys.version_info[1])"], 10) {
        eprintln!("skipped: there is no Python 3.10 with venv");
        return;
    }
    let workspace = Workspace::new();
    a_project_builds_and_passes_its_cases(&workspace, "python", python_with_a_package);
    // The next build needs only the code of what changed.
    let kept = std::fs::read_dir(cache_folder().join("components")).expect("the cache");
    let is_functions = |name: std::ffi::OsString| name.to_string_lossy().ends_with(".functions");
    assert!(kept.flatten().any(|entry| is_functions(entry.file_name())), "no functions were kept");
    try_hostile_packages(&workspace);
}

#[test]
fn javascript_project_with_a_package_passes_its_cases() {
    if !is_there("node", &["--version"], 20) || !is_there("npm", &["--version"], 1) {
        eprintln!("skipped: there is no Node 20 with npm");
        return;
    }
    let workspace = Workspace::new();
    a_project_builds_and_passes_its_cases(&workspace, "js", javascript_with_a_package);
    try_packages_without_javascript(&workspace);
}

#[test]
fn existing_files_are_not_overwritten() {
    let workspace = Workspace::new();
    workspace.write("taken/file", "mine");
    let folder = workspace.path("");
    let ended = run(&folder, &["plugin", "new", "taken"]).expect_code(2);
    assert!(ended.stderr.contains("is a folder that is not empty; nothing was changed"), "{}", ended.stderr);
    let ended = run(&folder, &["plugin", "new", "../up"]).expect_code(2);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    let ended = run(&folder, &["plugin", "build"]).expect_code(2);
    assert!(ended.stderr.contains("it has no gage-plugin.toml"), "{}", ended.stderr);
}
