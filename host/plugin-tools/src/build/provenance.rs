//! Provenance of a built component: an in-toto statement with a predicate of SLSA.

use super::BuildOutput;
use crate::Project;
use gage_core::Digest;
use gage_plugin::Capability;
use serde_json::{Map, Value, json};

/// Type of the statement.
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// Type of its predicate.
const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// Names the meaning of the parameters and the dependencies; `docs/guides/plugins.md` explains them.
const BUILD_TYPE: &str = "https://github.com/gage-host/gage-host/plugin-build/v1";

/// Names the program that builds. The author's machine runs it, so it vouches for nothing.
const BUILDER: &str = "https://github.com/gage-host/gage-host";

/// Returns the statement about a component, as text. It has no times and no paths of the machine, so that the same files and
/// tools give the same text.
pub(super) fn statement(project: &Project, output: &BuildOutput) -> String {
    let imports: Vec<&str> = project.imports.iter().copied().map(Capability::name).collect();
    let dependencies: Vec<Value> = output
        .inputs
        .iter()
        .map(|(name, digest)| json!({ "name": name, "digest": digests(*digest) }))
        .collect();
    let mut tools = Map::new();
    tools.insert("gage-host".to_owned(), Value::from(env!("CARGO_PKG_VERSION")));
    tools.extend(output.tools.iter().map(|(name, version)| (name.clone(), Value::from(version.as_str()))));
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": [{
            "name": format!("{}.wasm", project.name),
            "digest": digests(Digest::of_bytes(&output.bytes)),
        }],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "name": project.name,
                    "kind": project.world.kind(),
                    "language": project.language.to_string(),
                    "imports": imports,
                },
                "resolvedDependencies": dependencies,
            },
            "runDetails": { "builder": { "id": BUILDER, "version": tools } },
        },
    });
    format!("{statement:#}\n")
}

fn digests(digest: Digest) -> Value {
    json!({ "sha256": digest.hex() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_plugin::World;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn statement_names_the_component_its_inputs_and_the_tools() {
        let project = Project {
            folder: PathBuf::from("/home/author/word-recall"),
            name: "word-recall".to_owned(),
            world: World::Backend,
            language: crate::Language::Rust,
            imports: vec![Capability::Http],
            files: Vec::new(),
            package: crate::PackageInfo::default(),
        };
        let output = BuildOutput {
            bytes: b"component".to_vec(),
            with: String::new(),
            packages: Vec::new(),
            inputs: BTreeMap::from([
                ("src/lib.rs".to_owned(), Digest::of_bytes(b"b")),
                ("Cargo.toml".to_owned(), Digest::of_bytes(b"a")),
            ]),
            tools: vec![("rustc".to_owned(), "rustc 1.95.0".to_owned())],
        };
        let text = statement(&project, &output);
        assert!(!text.contains("/home"), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        let predicate = &value["predicate"];
        for (found, expected) in [
            (&value["_type"], json!("https://in-toto.io/Statement/v1")),
            (&value["subject"][0]["name"], json!("word-recall.wasm")),
            (&value["subject"][0]["digest"]["sha256"], json!(Digest::of_bytes(b"component").hex())),
            (&value["predicateType"], json!("https://slsa.dev/provenance/v1")),
            (
                &predicate["buildDefinition"]["externalParameters"],
                json!({"name": "word-recall", "kind": "backend", "language": "rust", "imports": ["http"]}),
            ),
            (&predicate["buildDefinition"]["resolvedDependencies"][0]["name"], json!("Cargo.toml")),
            (&predicate["buildDefinition"]["resolvedDependencies"][1]["name"], json!("src/lib.rs")),
            (&predicate["runDetails"]["builder"]["version"]["rustc"], json!("rustc 1.95.0")),
        ] {
            assert_eq!(*found, expected, "{text}");
        }
    }
}
