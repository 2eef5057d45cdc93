//! Suites that name plugins of a registry.

use super::{FIRST, REPOSITORY, Team, component_with_note};
use crate::plugins::with_plugins;
use crate::registry_server::{COMMENT, Fault, RegistryServer, sha256};
use std::fs;

#[test]
fn run_fetches_scores_and_reports_the_digest() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.registry.take_requests();
    for command in [["validate", "suite.yaml"].as_slice(), &["plan", "suite.yaml"]] {
        let ended = team.run(command);
        assert!(ended.code.is_some_and(|code| code != 1), "{}", ended.stderr);
    }
    assert_eq!(team.registry.take_requests(), Vec::<String>::new(), "only a run fetches");
    team.run_suite("early", &["--offline"]).expect_error(&[&team.reference("0.1.0")]);

    let ran = team.run_suite("first", &[]).expect_code(0);
    let digest = sha256(FIRST);
    let warning = ran.stderr.lines().any(|line| line.starts_with("warning: ") && line.contains("0.1.0"));
    assert!(warning && ran.stderr.contains(&digest), "the digest to pin: {}", ran.stderr);
    team.assert_scored("first");
    for file in ["summary.json", "manifest.json"] {
        let text = team.workspace.read(&format!("runs/first/{file}"));
        assert!(text.contains(&digest) && text.contains(&team.reference("0.1.0")), "{file}: {text}");
    }
    let cached = fs::read(team.cached(FIRST)).expect("it is in the cache");
    assert!(cached == FIRST, "{} bytes", cached.len());

    // From now on the cache is enough.
    team.registry.take_requests();
    team.run(&["validate", "suite.yaml"]).expect_code(0);
    team.run_suite("offline", &["--offline"]).expect_code(0);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
    team.workspace.assert_equal_files("first", "offline", &["samples.jsonl"]);
    team.empty_cache();
    let refused = team.run_suite("none", &["--offline"]).expect_error(&[&team.reference("0.1.0")]);
    assert!(refused.stderr.contains("help: "), "{}", refused.stderr);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
}

#[test]
fn pinned_digest_gives_no_warning_and_must_match() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    let ran = team.run_suite("pinned", &[]).expect_code(0);
    assert!(!ran.stderr.contains("warning: "), "{}", ran.stderr);
    let other = component_with_note("moved");
    team.push("0.1.0", &other);
    // The pinned component is in the cache.
    team.run_suite("again", &[]).expect_code(0);
    team.empty_cache();
    let found = sha256(&other);
    team.run_suite("moved", &[]).expect_error(&[&team.reference("0.1.0"), &sha256(FIRST), &found]);
    assert!(!team.cached(&other).exists(), "a component that no suite wants is in the cache");
    team.assert_nothing_is_compiled();
}

#[test]
fn lock_outlives_its_registry() {
    let mut team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.registry.take_requests();
    team.run_suite("locked", &["--locked"]).expect_code(0);
    team.run_suite("frozen", &["--frozen"]).expect_code(0);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new(), "the cache is enough");
    // A tag that moves does not change what is locked.
    team.push("0.1.0", &component_with_note("moved"));
    team.run_suite("moved", &["--locked"]).expect_code(0);
    team.workspace.assert_equal_files("locked", "moved", &["samples.jsonl"]);
    // Another registry takes the place of the first one, which ends.
    team.registry = RegistryServer::start();
    team.run_suite("gone", &["--locked"]).expect_code(0);
    team.assert_scored("gone");
    team.empty_cache();
    let refused = team.run_suite("none", &["--locked"]).expect_error(&["/metrics/word-recall:0.1.0"]);
    assert!(refused.stderr.contains("help: "), "{}", refused.stderr);
}

#[test]
fn component_that_a_moved_tag_names_is_not_the_locked_one() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    let locked = team.registry.digest_of(REPOSITORY, "0.1.0");
    let other = component_with_note("moved");
    team.push("0.1.0", &other);
    // The registry no longer has what the tag was.
    team.registry.fault(&locked, Fault::Status(404));
    team.empty_cache();
    let reference = team.reference("0.1.0");
    team.run_suite("old", &["--locked"]).expect_error(&[&reference]);
    team.assert_nothing_is_cached();
    // A run without the lock takes the new component, and its cache does not help the locked one.
    team.run_suite("new", &[]).expect_code(0);
    assert!(team.cached(&other).exists());
    for (run_id, lock) in [("locked", "--locked"), ("frozen", "--frozen")] {
        team.run_suite(run_id, &[lock]).expect_error(&[&reference]);
    }
}

#[test]
fn suite_follows_a_registry_with_its_comments() {
    let team = Team::with_first();
    let suite = crate::support::suite(&team.model.backend(""), "[word_recall]   # the team's own");
    team.workspace.write("suite.yaml", format!("# Nightly suite.\n{suite}"));
    let reference = team.reference("0.1.0");
    team.run(&["plugin", "add", &reference, "--config", "suite.yaml", "--id", "recall"]).expect_code(0);
    let added = team.workspace.read("suite.yaml");
    for text in ["# Nightly suite.\n", "# the team's own", reference.as_str(), &sha256(FIRST)] {
        assert!(added.contains(text), "no `{text}` in:\n{added}");
    }
    team.run_suite("first", &[]).expect_code(0);
    for (id, text) in [
        ("recall", "has a plugin `recall` already"),
        ("text", "the id 'text' is taken by a component that comes with the program"),
        ("exact_match", "the id `exact_match` is the name of a built-in metric"),
        ("default", "the id `default` is the name of a built-in preprocessor"),
    ] {
        team.run(&["plugin", "add", &reference, "--config", "suite.yaml", "--id", id]).expect_error(&[text]);
    }
    assert_eq!(team.workspace.read("suite.yaml"), added, "a refused command changes nothing");

    let newer = component_with_note("0.2.0");
    team.push("0.2.0", &newer);
    team.push("0.10.0-rc.1", &newer);
    let shown = team.run(&["plugin", "outdated", "--config", "suite.yaml"]).expect_code(3);
    let row = shown.stdout.lines().find(|line| line.contains("recall") && line.contains("0.1.0"));
    assert!(row.is_some_and(|row| row.contains("0.2.0")), "{}", shown.stdout);
    let same = team.run(&["plugin", "diff", &reference, "word-recall.wasm"]).expect_code(0);
    let changed = team.run(&["plugin", "diff", &reference, &team.reference("0.2.0")]).expect_code(0);
    assert!(changed.stdout.contains(&sha256(&newer)[..12]), "{}", changed.stdout);
    assert_ne!(same.stdout, changed.stdout);
    assert_eq!(team.workspace.read("suite.yaml"), added, "these commands only show");

    team.run(&["plugin", "update", "--config", "suite.yaml"]).expect_code(0);
    let updated = team.workspace.read("suite.yaml");
    let expected =
        added.replace(&reference, &team.reference("0.2.0")).replace(&sha256(FIRST), &sha256(&newer));
    assert_eq!(updated, expected, "only the tag and the digest change");
    team.run_suite("second", &[]).expect_code(0);
    team.workspace.assert_equal_files("first", "second", &["samples.jsonl"]);
    team.run(&["plugin", "update", "--config", "suite.yaml"]).expect_code(0);
    assert_eq!(team.workspace.read("suite.yaml"), expected, "there is nothing newer");
    team.run(&["plugin", "outdated", "--config", "suite.yaml"]).expect_code(0);
}

#[test]
fn edits_made_while_a_command_fetches_are_kept() {
    let team = Team::with_first();
    let reference = team.reference("0.1.0");
    team.workspace.write("suite.yaml", crate::support::suite(&team.model.backend(""), "[word_recall]"));
    let suite = team.workspace.path("suite.yaml");
    let comments = || team.workspace.read("suite.yaml").matches(COMMENT).count();
    team.registry.fault("manifests/0.1.0", Fault::Comment(suite.clone()));
    team.run(&["plugin", "add", &reference, "--config", "suite.yaml"]).expect_code(0);
    let edits = comments();
    assert!(edits > 0, "{}", team.workspace.read("suite.yaml"));
    team.registry.clear_faults();
    team.push("0.2.0", &component_with_note("0.2.0"));
    team.registry.fault("manifests/0.2.0", Fault::Comment(suite));
    team.run(&["plugin", "update", "--config", "suite.yaml"]).expect_code(0);
    let updated = team.workspace.read("suite.yaml");
    assert!(comments() > edits && updated.contains("word-recall:0.2.0"), "{updated}");
}

#[test]
fn push_that_leaves_signatures_behind_warns() {
    let team = Team::with_first();
    let push = |revision: &str| {
        let reference = team.reference("0.1.0");
        team.run(&["plugin", "push", "word-recall.wasm", &reference, "--revision", revision]).expect_code(0)
    };
    let warning = "with the same component; signatures of it are not about the new one";
    for (revision, is_warned) in [("first", true), ("first", false), ("second", true)] {
        let pushed = push(revision);
        assert_eq!(pushed.stderr.contains(warning), is_warned, "{}", pushed.stderr);
    }
}

#[test]
fn updated_plugin_is_accepted_by_a_lock() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    for (version, update) in [("0.2.0", "plugins"), ("0.3.0", "plugins.word_recall")] {
        team.push(version, &component_with_note(version));
        team.run(&["plugin", "update", "--config", "suite.yaml"]).expect_code(0);
        team.run_suite(&format!("old-{version}"), &["--locked"]).expect_code(3);
        team.run(&["lock", "suite.yaml", "--update", update]).expect_code(0);
        team.run_suite(&format!("new-{version}"), &["--locked"]).expect_code(0);
    }
    // A digest pins what the lock has already.
    team.write_suite("0.3.0", "");
    team.run_suite("unpinned", &["--locked"]).expect_code(0);
}

#[test]
fn registries_are_not_asked_offline() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    let reference = team.reference("0.1.0");
    team.registry.take_requests();
    for arguments in [
        ["plugin", "pull", &reference].as_slice(),
        &["plugin", "add", &reference, "--config", "suite.yaml", "--id", "other"],
        &["plugin", "outdated", "--config", "suite.yaml"],
        &["plugin", "update", "--config", "suite.yaml"],
        &["plugin", "push", "word-recall.wasm", &team.reference("0.2.0")],
    ] {
        let variables = [
            ("GAGE_CACHE_DIR", team.workspace.path("cache")),
            ("GAGE_HOST_OFFLINE", std::path::PathBuf::from("1")),
        ];
        team.workspace
            .run_with_env(variables, arguments)
            .expect_error(&["GAGE_HOST_OFFLINE is set", "help: "]);
    }
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
}

#[test]
fn plugin_with_the_name_of_a_built_in_metric_is_reported() {
    let workspace = crate::support::Workspace::new();
    let backend = crate::scripted_backend::constant_backend(&workspace, "answer");
    workspace.write("rows.jsonl", crate::support::rows(1));
    workspace.write("words.wasm", FIRST);
    let validate = |id: &str| {
        let plugin = format!("  - {{id: {id}, source: ./words.wasm}}\n");
        let text = crate::support::suite(&backend, &format!("[{id}]"));
        workspace.write("suite.yaml", with_plugins(&plugin, &text));
        workspace.run(&["validate", "suite.yaml"]).expect_code(0).stderr
    };
    assert!(!validate("mine").contains("in place of"));
    let warning = "the plugin `exact_match` is used in place of the built-in metric of that name";
    assert!(validate("exact_match").contains(warning));
}

#[test]
fn source_with_variables_is_left_out_with_a_warning() {
    let team = Team::with_first();
    let source = format!("${{REGISTRY:-oci://{}}}/{REPOSITORY}:0.1.0", team.registry.address());
    let plugin = format!("  - id: recall\n    source: '{source}'\n");
    let suite = with_plugins(&plugin, &crate::support::suite(&team.model.backend(""), "[word_recall]"));
    team.workspace.write("suite.yaml", &suite);
    team.run_suite("r", &[]).expect_code(0);
    team.push("0.2.0", &component_with_note("0.2.0"));
    let line = suite.lines().position(|line| line.contains(&source)).expect("the source") + 1;
    let warning = format!("warning: suite.yaml:{line}: the plugin `recall` is left out, because its source");
    for (command, answer) in [
        ("outdated", "no other plugin of suite.yaml is from a registry"),
        ("update", "the other plugins of suite.yaml are up to date"),
    ] {
        let ended = team.run(&["plugin", command, "--config", "suite.yaml"]).expect_code(0);
        assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
        assert!(ended.stdout.contains(answer), "{}", ended.stdout);
    }
    team.run(&["plugin", "update", "recall", "--config", "suite.yaml"])
        .expect_error(&["the source of the plugin `recall` has variables: ${REGISTRY:-"]);
    assert_eq!(team.workspace.read("suite.yaml"), suite);
    // A file is not from a registry.
    team.workspace.write("suite.yaml", suite.replace(&source, "${FOLDER:-.}/word-recall.wasm"));
    let ended = team.run(&["plugin", "outdated", "--config", "suite.yaml"]).expect_code(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn answers_are_scored_and_merged_without_network() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.run_suite("first", &[]).expect_code(0);
    for shard in ["1/2", "2/2"] {
        team.run_suite("sharded", &["--shard", shard]).expect_code(0);
    }
    team.registry.take_requests();
    let score = |run_id: &str, more: &[&str]| {
        team.run(&[&["score", "runs/first", "--run-id", run_id], more].concat())
    };
    score("cached", &["--offline"]).expect_code(0);
    team.assert_scored("cached");
    team.empty_cache();
    let reference = team.reference("0.1.0");
    score("none", &["--offline"]).expect_error(&[&reference, "is not in the cache"]);
    team.run(&["merge", "sharded", "--offline"]).expect_error(&[&reference, "is not in the cache"]);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
    score("fetched", &[]).expect_code(0);
    team.empty_cache();
    team.run(&["merge", "sharded"]).expect_code(0);
    assert!(!team.registry.take_requests().is_empty());
}

#[test]
fn exported_packages_work_at_a_site_without_network() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    let export = |file: &str| team.run(&["plugin", "export", "--config", "suite.yaml", "-o", file]);
    export("plugins.tar").expect_code(0);
    export("again.tar").expect_code(0);
    let archive = |file: &str| fs::read(team.workspace.path(file)).expect("an archive");
    assert!(archive("plugins.tar") == archive("again.tar"), "two exports differ");
    team.run_suite("here", &["--offline"]).expect_code(0);

    // Another machine has only the archive and the suite.
    team.registry.take_requests();
    let there = |arguments: &[&str]| team.run_with_cache("there", arguments);
    let offline = ["run", "suite.yaml", "--run-id", "there", "--offline"];
    there(&offline).expect_error(&[&team.reference("0.1.0")]);
    there(&["plugin", "import", "plugins.tar"]).expect_code(0);
    there(&offline).expect_code(0);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
    team.workspace.assert_equal_files("here", "there", &["samples.jsonl"]);
}

#[test]
fn exported_packages_are_those_of_the_lock() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.run_suite("here", &["--locked"]).expect_code(0);
    let moved = component_with_note("moved");
    team.push("0.1.0", &moved);
    team.empty_cache();
    // The cache has what the tag is now.
    team.run_suite("moved", &[]).expect_code(0);
    assert!(team.cached(&moved).exists() && !team.cached(FIRST).exists());
    let export = ["plugin", "export", "--config", "suite.yaml", "-o", "plugins.tar"];
    team.run(&[export.as_slice(), &["--offline"]].concat()).expect_error(&[&team.reference("0.1.0")]);
    let exported = team.run(&export).expect_code(0);
    assert!(exported.stdout.contains(&sha256(FIRST)), "{}", exported.stdout);
    assert!(!exported.stdout.contains(&sha256(&moved)), "{}", exported.stdout);

    team.registry.take_requests();
    let there = |arguments: &[&str]| team.run_with_cache("there", arguments);
    there(&["plugin", "import", "plugins.tar"]).expect_code(0);
    there(&["run", "suite.yaml", "--run-id", "there", "--locked", "--offline"]).expect_code(0);
    assert_eq!(team.registry.take_requests(), Vec::<String>::new());
    team.workspace.assert_equal_files("here", "there", &["samples.jsonl"]);

    let lock = team.workspace.read("suite.gage.lock").replace(&sha256(FIRST), &sha256(&moved));
    team.workspace.write("suite.gage.lock", lock);
    team.run(&export).expect_error(&["suite.gage.lock", "its digest does not match"]);
}

#[test]
fn archive_that_cannot_be_used_is_named_with_help() {
    let team = Team::with_first();
    team.write_suite("0.1.0", "");
    team.workspace.write("plugins.tar.gz", b"\x1f\x8b\x08\0");
    for (arguments, texts) in [
        (["plugin", "import", "missing.tar"].as_slice(), ["missing.tar: no such file", "help: "].as_slice()),
        (&["plugin", "import", "plugins.tar.gz"], &["compressed with gzip, and must be unpacked first"]),
        (
            &["plugin", "export", "--config", "suite.yaml", "-o", "missing/plugins.tar"],
            &["missing", "help: "],
        ),
        (
            &["plugin", "export", "--config", "suite.yaml", "-o", "suite.yaml"],
            &["suite.yaml exists, and is not an archive of packages", "help: "],
        ),
    ] {
        let ended = team.run(arguments).expect_error(texts);
        assert!(!ended.stderr.contains("os error"), "{}", ended.stderr);
    }
}

#[test]
fn altered_archive_is_not_imported() {
    let team = Team::with_first();
    team.write_suite("0.1.0", &format!(", sha256: {}", sha256(FIRST)));
    team.run(&["lock", "suite.yaml"]).expect_code(0);
    team.run(&["plugin", "export", "--config", "suite.yaml", "-o", "plugins.tar"]).expect_code(0);
    let archive = fs::read(team.workspace.path("plugins.tar")).expect("an archive");
    let place = archive.windows(FIRST.len()).position(|bytes| bytes == FIRST).expect("the component");
    let mut altered = archive.clone();
    altered[place + FIRST.len() / 2] ^= 1;
    let cut = &archive[..place + FIRST.len() / 2];
    for (case, bytes) in [("altered", altered.as_slice()), ("cut", cut), ("empty", &[]), ("text", b"text")] {
        team.workspace.write("bad.tar", bytes);
        let ended = team.run_with_cache("there", &["plugin", "import", "bad.tar"]).expect_error(&["bad.tar"]);
        let blobs = team.workspace.path("there/plugins/blobs/sha256");
        let found = fs::read_dir(blobs).into_iter().flatten().count();
        assert_eq!(found, 0, "{case}: {}", ended.stderr);
    }
}

#[test]
fn package_with_another_layout_is_refused() {
    let team = Team::with_first();
    let good = team.registry.manifest(REPOSITORY, "0.1.0");
    let with = |change: fn(&mut serde_json::Value)| {
        let mut manifest = good.clone();
        change(&mut manifest);
        manifest
    };
    for (tag, manifest) in [
        ("no-layer", with(|manifest| manifest["layers"] = serde_json::json!([]))),
        (
            "two-layers",
            with(|manifest| {
                let layer = manifest["layers"][0].clone();
                manifest["layers"] = serde_json::json!([layer, layer]);
            }),
        ),
        ("gzip", with(|manifest| manifest["layers"][0]["mediaType"] = "application/gzip".into())),
        ("absent", with(|manifest| manifest["layers"][0]["digest"] = format!("sha256:{:064}", 0).into())),
        ("no-digest", with(|manifest| manifest["layers"][0]["digest"] = "sha256:../../x".into())),
        ("too-large", with(|manifest| manifest["layers"][0]["size"] = (1_u64 << 40).into())),
        ("negative", with(|manifest| manifest["layers"][0]["size"] = (-1).into())),
        ("other-size", with(|manifest| manifest["layers"][0]["size"] = 1_000.into())),
    ] {
        team.registry.put_manifest(REPOSITORY, tag, &manifest);
        team.run(&["plugin", "pull", &team.reference(tag)]).expect_error(&[&team.reference(tag)]);
        team.assert_nothing_is_cached();
    }
}
