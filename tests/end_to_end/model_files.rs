//! `gage-host model`: files are inspected, listed and downloaded without loading them.

use crate::hub_server::{Fault, HubServer};
use crate::support::{Workspace, repository};

fn model() -> String {
    repository().join("config/models/gage-tiny.gguf").display().to_string()
}

#[test]
fn a_model_file_is_inspected_without_loading_it() {
    let workspace = Workspace::new();
    let shown = workspace.run(&["model", "inspect", &model()]).expect_code(0);
    for expected in ["llama", "Q8_0", "640 tokens", "0.9 million"] {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
    let json = workspace.run(&["model", "inspect", &model(), "--json"]).expect_code(0);
    let json = json.stdout_json();
    assert_eq!(json["architecture"], "llama");
    assert_eq!(json["memory"]["slots"], 8);
    assert!(json["chat_template"].as_str().is_some_and(|template| template.contains("<|")), "{json}");
    workspace.write("none.gguf", "PK");
    let refused = workspace.run(&["model", "inspect", "none.gguf"]).expect_code(2);
    assert!(refused.stderr.contains("is not in the GGUF format"), "{}", refused.stderr);
}

#[test]
fn model_list_includes_damaged_files() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("models")).expect("a folder");
    std::fs::copy(model(), workspace.path("models/tiny.gguf")).expect("copied");
    workspace.write("models/deeper/none.GGUF", "GGUF");
    workspace.write("models/notes.txt", "no model");
    let shown = workspace.run(&["model", "list", "models"]).expect_code(0);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("cut off") && lines[1].contains("Q8_0"),
        "{}",
        shown.stdout
    );
    let json = workspace.run(&["model", "list", "models", "--json"]).expect_code(0);
    let json = json.stdout_json();
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    workspace.run(&["model", "list", "nowhere"]).expect_code(2);
}

#[test]
fn model_file_is_downloaded_once_and_verified() {
    let workspace = Workspace::new();
    let server = HubServer::start();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    server.commit("owner/tiny", "main", commit);
    server.large_file("owner/tiny", "deeper/tiny.gguf", std::fs::read(model()).expect("the model"));
    server.file("owner/tiny", "README.md", "a model");
    // The connection is cut once, and the download continues from there.
    server.fault("deeper/tiny.gguf", Fault::CutAfter(100_000));
    let cache = workspace.path("cache");
    let fetch = |arguments: &[&str]| {
        let endpoint = server.endpoint();
        let arguments = [&["model", "fetch"], arguments, &["--endpoint", &endpoint, "--quiet"]].concat();
        workspace.run_with_env([("GAGE_CACHE_DIR", &cache)], &arguments)
    };
    let file = fetch(&["hub:owner/tiny/deeper/tiny.gguf"]).expect_code(0).stdout;
    assert_eq!(std::fs::read(file.trim()).expect("fetched"), std::fs::read(model()).expect("the model"));
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 2);
    let json = fetch(&["hub:owner/tiny/deeper/tiny.gguf@main", "--json", "--offline"]).expect_code(0);
    let json = json.stdout_json();
    assert_eq!(json["commit"], commit);
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 2, "it is there");
    let wrong = "0".repeat(64);
    let refused = fetch(&["hub:owner/tiny/deeper/tiny.gguf", "--sha256", &wrong]).expect_code(2);
    assert!(refused.stderr.contains("has the digest"), "{}", refused.stderr);
    let missing = fetch(&["hub:owner/tiny/other.gguf"]).expect_code(2);
    assert!(missing.stderr.contains("model 'owner/tiny'"), "{}", missing.stderr);
    for reference in ["hub:owner/none/tiny.gguf", "hub:owner/tiny/deeper/tiny.gguf@v9"] {
        let unknown = fetch(&[reference]).expect_code(2).stderr;
        assert!(unknown.contains("model 'owner/") && !unknown.contains("dataset"), "{unknown}");
    }
    let none = fetch(&["hub:owner/tiny/README.md"]).expect_code(2);
    assert!(none.stderr.contains("README.md"), "{}", none.stderr);

    // The same file by its URL alone, without a digest from the server.
    let address = server.address_of("owner/tiny", commit, "deeper/tiny.gguf");
    let web = fetch(&[&address, "--json"]).expect_code(0);
    let web = web.stdout_json();
    assert_eq!(web["digest"], json["digest"]);
    let digest = web["digest"].as_str().and_then(|text| text.strip_prefix("sha256:")).expect("a digest");
    let again = fetch(&[&address, "--sha256", digest, "--offline"]).expect_code(0);
    assert_eq!(Some(again.stdout.trim()), web["file"].as_str());
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 3, "once more, and not twice");
    let refused = fetch(&[&address, "--sha256", &wrong]).expect_code(2);
    assert!(refused.stderr.contains(&wrong), "{}", refused.stderr);
    fetch(&["ftp://example.org/tiny.gguf"]).expect_code(2);
}
