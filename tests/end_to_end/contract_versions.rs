//! Components of released versions of the plugin contract score on this host. Components of later versions are refused.

use crate::support::{Workspace, repository};
use gage_plugin::{MIN_WIT_VERSION, WIT_VERSION};
use serde_json::{Value, json};

const LANGUAGES: [&str; 3] = ["rust", "python", "js"];

/// Returns the released versions before that of this host.
fn older_versions() -> Vec<String> {
    let entries = std::fs::read_dir(repository().join("wit/released")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut versions: Vec<String> = names.filter(|version| version != WIT_VERSION).collect();
    versions.sort();
    versions
}

/// Returns the metric of the template that was built against a version.
fn kept_component(version: &str, language: &str) -> Vec<u8> {
    let file = repository().join(format!("tests/contract/{version}/{language}.wasm.zst"));
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    zstd::decode_all(bytes.as_slice()).expect("compressed bytes")
}

#[test]
fn components_of_every_released_version_score() {
    let versions = older_versions();
    assert_eq!(versions.first().map(String::as_str), Some(MIN_WIT_VERSION));
    let case = |prediction: &str, expected: Value| {
        json!({"inputs": {"prediction": prediction, "reference": "quick fox"}, "expected": expected})
            .to_string()
    };
    let cases = [
        case("the quick brown fox", json!({"primary_score": 1.0, "pass": true})),
        case("a fox", json!({"primary_score": 0.5, "error_tags": ["missing_words"]})),
        case("a dog", json!({"primary_score": 0.0, "pass": false})),
    ];
    for version in &versions {
        for language in LANGUAGES {
            let workspace = Workspace::new();
            workspace.write("recall.wasm", kept_component(version, language));
            workspace.write("cases.jsonl", cases.join("\n"));
            let inspected =
                workspace.run(&["plugin", "inspect", "recall.wasm", "--static", "--json"]).expect_code(0);
            assert_eq!(inspected.stdout_json()["wit_version"], json!(version), "{language}");
            let tested = workspace.run(&["plugin", "test", "recall.wasm"]).expect_code(0);
            let expected = "3 of 3 cases passed; pure: results are the same alone, in batches and shuffled\n";
            assert_eq!(tested.stdout, expected, "{version} {language}");
        }
    }
}

/// Replaces a text of a component by one of the same length.
pub(crate) fn with_text(component: &[u8], text: &str, other: &str) -> Vec<u8> {
    assert_eq!(text.len(), other.len());
    let (mut bytes, mut replaced) = (component.to_vec(), 0);
    for place in 0..bytes.len() - text.len() {
        if &bytes[place..place + text.len()] == text.as_bytes() {
            bytes[place..place + text.len()].copy_from_slice(other.as_bytes());
            replaced += 1;
        }
    }
    assert!(replaced > 0, "the component has no '{text}'");
    bytes
}

#[test]
fn components_of_later_versions_need_a_later_host() {
    let workspace = Workspace::new();
    let supported = format!("this host supports gage:plugin {MIN_WIT_VERSION} to {WIT_VERSION}");
    for (item, version, expected) in [
        ("", "0.1.2", "it exports gage:plugin/metric of version 0.1.2"),
        ("", "0.2.0", "it exports gage:plugin/metric of version 0.2.0"),
        ("gage:plugin/types", "0.1.2", "it imports gage:plugin/types of version 0.1.2"),
    ] {
        let (ours, other) = (format!("{item}@{WIT_VERSION}"), format!("{item}@{version}"));
        workspace.write("later.wasm", with_text(gage_test_guests::BARE_WORD_RECALL, &ours, &other));
        let ended = workspace.run(&["plugin", "inspect", "later.wasm"]).expect_code(2);
        let advice =
            format!("upgrade gage-host to a version that supports {version}, or build the component against");
        for part in [expected, &supported, &advice] {
            assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
        }
    }
}
