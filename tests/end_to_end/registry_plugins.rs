//! Plugins in a registry: push, pull, and suites that name a reference.

mod faults;
mod suites;
mod trust;

use crate::plugins::with_plugins;
use crate::registry_server::{Login, RegistryServer, docker_config, sha256};
use crate::server::Server;
use crate::support::{CommandOutput, Workspace, rows, suite};
use std::fs;
use std::path::PathBuf;

/// Repository of the plugin in the registry.
const REPOSITORY: &str = "metrics/word-recall";

/// The first version of the plugin.
const FIRST: &[u8] = gage_test_guests::BARE_WORD_RECALL;

/// Returns a component that behaves as [`FIRST`], with other bytes.
fn component_with_note(note: &str) -> Vec<u8> {
    let section = [b"\x04note", note.as_bytes()].concat();
    let length = u8::try_from(section.len()).expect("a short note");
    [FIRST, &[0, length], section.as_slice()].concat()
}

/// A team with a registry, a model and a suite.
struct Team {
    registry: RegistryServer,
    model: Server,
    workspace: Workspace,
}

impl Team {
    fn new() -> Team {
        let team = Team {
            registry: RegistryServer::start(),
            model: Server::answering(),
            workspace: Workspace::new(),
        };
        team.workspace.write("rows.jsonl", rows(3));
        team.workspace.write("word-recall.wasm", FIRST);
        team
    }

    /// Returns a team whose registry has [`FIRST`] as version 0.1.0.
    fn with_first() -> Team {
        let team = Team::new();
        team.push("0.1.0", FIRST);
        team
    }

    fn reference(&self, tag: &str) -> String {
        self.registry.reference(&format!("{REPOSITORY}:{tag}"))
    }

    fn push(&self, tag: &str, component: &[u8]) -> CommandOutput {
        self.workspace.write("pushed.wasm", component);
        self.run(&["plugin", "push", "pushed.wasm", &self.reference(tag)]).expect_code(0)
    }

    /// Runs the program with a cache of this workspace, so that only this test fills it.
    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with_cache("cache", arguments)
    }

    fn run_with_cache(&self, cache: &str, arguments: &[&str]) -> CommandOutput {
        self.workspace.run_with_env([("GAGE_CACHE_DIR", self.workspace.path(cache))], arguments)
    }

    fn run_suite(&self, run_id: &str, more: &[&str]) -> CommandOutput {
        self.run(&[&["run", "suite.yaml", "--run-id", run_id], more].concat())
    }

    /// Writes a suite that scores with the plugin of a tag.
    fn write_suite(&self, tag: &str, more_keys: &str) {
        let plugin = format!("  - {{id: recall, source: '{}'{more_keys}}}\n", self.reference(tag));
        let text = suite(&self.model.backend(""), "[word_recall]");
        self.workspace.write("suite.yaml", with_plugins(&plugin, &text));
    }

    /// Returns the component that the cache holds for a digest.
    fn cached(&self, component: &[u8]) -> PathBuf {
        self.workspace.path(&format!("cache/plugins/blobs/sha256/{}", sha256(component)))
    }

    fn empty_cache(&self) {
        fs::remove_dir_all(self.workspace.path("cache")).expect("there was a cache");
    }

    /// Fails the test unless the cache has no package and no compiled component of one.
    #[track_caller]
    fn assert_nothing_is_cached(&self) {
        let blobs = self.workspace.path("cache/plugins/blobs/sha256");
        let found: Vec<_> = fs::read_dir(blobs).into_iter().flatten().flatten().collect();
        assert!(found.is_empty(), "{found:?}");
        self.assert_nothing_is_compiled();
    }

    /// Fails the test if a component was compiled that is not part of the program.
    #[track_caller]
    fn assert_nothing_is_compiled(&self) {
        let is_bundled = |file: &str| {
            let digests = gage_plugin_bundle::COMPONENTS.iter().map(|component| sha256(component.bytes));
            digests.into_iter().any(|digest| file.starts_with(&digest))
        };
        let folder = self.workspace.path("cache/components");
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let found: Vec<String> = names.filter(|name| !is_bundled(name)).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    fn assert_scored(&self, run_id: &str) {
        let summary = self.workspace.json(run_id, "summary.json");
        assert_eq!(summary["metrics"][0]["value"], 1.0, "{summary}");
        assert_eq!(summary["metrics"][0]["n"], 3, "{summary}");
    }
}

impl CommandOutput {
    /// Fails the test unless the command ended with an error that has some texts. An internal error is none.
    #[track_caller]
    fn expect_error(self, texts: &[&str]) -> CommandOutput {
        assert!(
            self.code.is_some_and(|code| (2..=5).contains(&code)) && self.stderr.contains("error: "),
            "{:?}: {}",
            self.code,
            self.stderr
        );
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in: {}", self.stderr);
        }
        self
    }
}

#[test]
fn pulled_file_has_the_pushed_bytes() {
    for login in [None, Some(Login::Token), Some(Login::Basic)] {
        for (has_referrers, is_redirecting) in [(false, false), (true, true)] {
            let team = Team::new();
            if let Some(login) = login {
                team.registry.demand_login(login);
                let config = docker_config(&team.registry.address());
                team.workspace.write(".docker/config.json", config);
            }
            if has_referrers {
                team.registry.offer_referrers();
            }
            if is_redirecting {
                team.registry.redirect_blobs();
            }
            team.push("0.1.0", FIRST);
            let pulled = team.run(&["plugin", "pull", &team.reference("0.1.0"), "-o", "pulled.wasm"]);
            pulled.expect_code(0);
            let bytes = fs::read(team.workspace.path("pulled.wasm")).expect("a file");
            assert!(bytes == FIRST, "{login:?} {is_redirecting}: {} bytes", bytes.len());
            let requests = team.registry.take_requests();
            let was_redirected = requests.iter().any(|request| request.starts_with("GET storage:"));
            assert_eq!(was_redirected, is_redirecting, "{requests:?}");
        }
    }
}

#[test]
fn pushed_package_has_the_layout_of_wasm_artifacts() {
    let team = Team::new();
    let pushed = team.push("0.1.0", FIRST);
    let manifest = team.registry.manifest(REPOSITORY, "0.1.0");
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    let layers = manifest["layers"].as_array().expect("layers");
    assert_eq!(layers.len(), 1, "{manifest}");
    assert_eq!(layers[0]["mediaType"], "application/wasm");
    assert_eq!(layers[0]["size"], FIRST.len());
    assert_eq!(layers[0]["digest"], format!("sha256:{}", sha256(FIRST)));
    assert_eq!(layers[0]["annotations"]["org.opencontainers.image.title"], "word-recall.wasm");
    assert!(pushed.stdout.contains(&sha256(FIRST)), "{}", pushed.stdout);
    // The same file gives the same manifest.
    let first = team.registry.digest_of(REPOSITORY, "0.1.0");
    assert!(!pushed.stderr.contains("warning"), "{}", pushed.stderr);
    let same = team.push("again", FIRST);
    assert!(!same.stderr.contains("warning"), "{}", same.stderr);
    assert_eq!(team.registry.digest_of(REPOSITORY, "again"), first);
    assert_eq!(team.registry.tags(REPOSITORY), ["0.1.0", "again"]);
    // Other bytes under an old tag.
    let other = component_with_note("moved");
    let moved = team.push("again", &other);
    for text in [format!("component sha256:{}", sha256(FIRST)), format!("with sha256:{}", sha256(&other))] {
        assert!(moved.stderr.contains(&text), "no `{text}` in: {}", moved.stderr);
    }
}

#[test]
fn login_that_is_missing_or_wrong_is_named() {
    for login in [Login::Token, Login::Basic] {
        let team = Team::with_first();
        team.registry.demand_login(login);
        let reference = team.reference("0.1.0");
        for config in [None, Some("{\"auths\": {}}".to_owned()), Some(docker_config("other.example"))] {
            if let Some(config) = config {
                team.workspace.write(".docker/config.json", config);
            }
            for command in [
                ["plugin", "pull", &reference].as_slice(),
                &["plugin", "push", "word-recall.wasm", &reference],
                &["plugin", "inspect", &reference],
            ] {
                let ended = team.run(command).expect_error(&[&team.registry.address(), "docker login"]);
                assert!(!ended.stderr.contains("pass-word"), "{}", ended.stderr);
            }
        }
        team.assert_nothing_is_cached();
    }
}

#[test]
fn inspect_reads_a_package_of_the_registry() {
    let team = Team::with_first();
    let inspected = team.run(&["plugin", "inspect", "--static", &team.reference("0.1.0")]).expect_code(0);
    for text in [sha256(FIRST).as_str(), "metric"] {
        assert!(inspected.stdout.contains(text), "no `{text}` in: {}", inspected.stdout);
    }
    team.assert_nothing_is_compiled();
}

#[test]
fn file_that_cannot_be_written_is_named() {
    let team = Team::with_first();
    team.run(&["plugin", "pull", &team.reference("0.1.0"), "-o", "missing/pulled.wasm"])
        .expect_error(&["cannot write missing/pulled.wasm: "]);
}

#[test]
fn file_that_is_not_a_component_is_not_pushed() {
    let team = Team::new();
    team.workspace.write("text.wasm", "(component)");
    team.run(&["plugin", "push", "text.wasm", &team.reference("0.1.0")]).expect_error(&["text.wasm"]);
    assert_eq!(team.registry.tags(REPOSITORY), Vec::<String>::new());
}
