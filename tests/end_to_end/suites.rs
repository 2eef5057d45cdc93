//! Frozen suites: distill, init, lock, run --locked and verify, and their refusals.

use crate::files::texts_below;
use crate::server::{Server, completion};
use crate::support::{Workspace, repository, rows};
use crate::words_suite::{LOCK, RUN_CONFIG, freeze, write_suite};

const SECRET: &str = "sk-live-0123456789abcdef";

/// Returns the backend of a server with an API key.
fn backend_with_key(server: &Server, key: &str) -> String {
    format!(
        "type: openai_http\n    config: {{base_url: '{}/v1', model: m, api_key: {key}}}",
        server.server.uri()
    )
}

#[test]
fn suite_is_frozen_run_and_verified_by_one_command_each() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &backend_with_key(&server, "'${THE_KEY}'"), "");
    let run = |arguments: &[&str]| workspace.run_with_env([("THE_KEY", SECRET)], arguments);
    run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"]).expect_code(0);
    run(&["init", "words"]).expect_code(0);
    run(&["lock", RUN_CONFIG]).expect_code(0);
    run(&["run", RUN_CONFIG, "--locked", "--run-id", "one", "--concurrency", "1"]).expect_code(0);
    let verified = run(&["verify", "one"]).expect_code(0);
    assert!(verified.stdout.contains("2 figures and every sample is the same"), "{}", verified.stdout);
    // The same commands give the same files.
    let again = run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"]).expect_code(0);
    assert!(again.stdout.contains("nothing written"), "{}", again.stdout);
    let again = run(&["init", "words"]).expect_code(0);
    assert!(again.stdout.contains("nothing written"), "{}", again.stdout);
    run(&["lock", RUN_CONFIG, "--check"]).expect_code(0);
    run(&["run", RUN_CONFIG, "--frozen", "--run-id", "many", "--concurrency", "64"]).expect_code(0);
    let files = ["samples.jsonl", "summary.json", "gage.lock", "config.yaml"];
    workspace.assert_equal_files("one", "many", &files);
    // The lock of a locked run is the lock of its suite, with the number of rows, which only `lock` counts.
    assert_eq!(workspace.read("runs/one/gage.lock"), workspace.read(LOCK));
    assert!(workspace.read(LOCK).contains("rows: 40"), "{}", workspace.read(LOCK));
    for (file, text) in
        [texts_below(&workspace.path("runs")), texts_below(&workspace.path("config"))].concat()
    {
        assert!(!text.contains(SECRET), "{file}");
    }
}

#[test]
fn no_secret_is_written_wherever_it_comes_from() {
    let server = Server::answering();
    for (case, key, variable) in [
        ("a literal", SECRET.to_owned(), None),
        ("a default", format!("'${{THE_KEY:-{SECRET}}}'"), None),
        ("a default of a default", format!("'${{THE_KEY:-${{OTHER:-{SECRET}}}}}'"), None),
        ("a variable", "'${THE_KEY}'".to_owned(), Some(("THE_KEY", SECRET))),
        ("a variable of an innocent name", "'${PATIENCE}'".to_owned(), Some(("PATIENCE", SECRET))),
        ("a header", format!("'', headers: {{Authorization: Bearer {SECRET}}}"), None),
        (
            "an item of a list",
            "'', extra_body: {tags: [a, '${A_TOKEN}']}".to_owned(),
            Some(("A_TOKEN", SECRET)),
        ),
        (
            "an alias",
            "'', extra_body: {one: &token '${A_TOKEN}', other: *token}".to_owned(),
            Some(("A_TOKEN", SECRET)),
        ),
        ("a part", "'sk-live-${REST}'".to_owned(), Some(("REST", "0123456789abcdef"))),
    ] {
        let workspace = Workspace::new();
        write_suite(&workspace, &backend_with_key(&server, &key), "");
        let run = |arguments: &[&str]| workspace.run_with_env(variable, arguments).expect_code(0);
        run(&["run", "config/custom/words.yaml", "--run-id", "r"]);
        let set = "backends.model.config.extra_body.user=${SET_KEY}";
        let variables = variable.into_iter().chain([("SET_KEY", SECRET)]);
        let arguments = ["run", "config/custom/words.yaml", "--run-id", "set", "--set", set];
        workspace.run_with_env(variables, &arguments).expect_code(0);
        run(&["distill", "config/custom/words.yaml", "--builtin-name", "words"]);
        run(&["init", "words"]);
        run(&["init", "words", "--mode", "pipeline-config"]);
        run(&["lock", RUN_CONFIG]);
        run(&["run", RUN_CONFIG, "--locked", "--run-id", "locked"]);
        for folder in ["runs", "config/builtin_templates", "config/run_configs"] {
            for (file, text) in texts_below(&workspace.path(folder)) {
                assert!(!text.contains("0123456789abcdef"), "{case}: {file}");
            }
        }
        assert!(!workspace.read("config/custom/words_from_v1_1.yaml").contains("0123456789abcdef"), "{case}");
    }
}

#[test]
fn lock_shows_checks_and_accepts_differences() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    freeze(&workspace);
    workspace.write("config/data/rows.jsonl", rows(41));
    let json = workspace.run(&["lock", RUN_CONFIG, "--check", "--json"]).expect_code(3);
    let report = json.stdout_json();
    let fields: Vec<&str> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["field"].as_str())
        .collect();
    assert_eq!(fields, ["datasets.rows.digest", "datasets.rows.bytes", "datasets.rows.rows"]);
    let refused = workspace.run(&["run", RUN_CONFIG, "--locked"]).expect_code(3);
    assert!(refused.stderr.contains("locked") && refused.stderr.contains("found"), "{}", refused.stderr);
    let again = workspace.run(&["lock", RUN_CONFIG]).expect_code(3);
    assert!(again.stderr.contains("datasets.rows.digest"), "{}", again.stderr);
    assert!(again.stderr.contains("the lock is unchanged"), "{}", again.stderr);
    let again = workspace.run(&["lock", RUN_CONFIG, "--json"]).expect_code(3);
    assert_eq!(again.stdout_json(), report);
    workspace.run(&["lock", RUN_CONFIG, "--update", "prompts"]).expect_code(0);
    workspace.run(&["lock", RUN_CONFIG, "--check"]).expect_code(3);
    workspace.run(&["lock", RUN_CONFIG, "--update", "datasets.rows"]).expect_code(0);
    workspace.run(&["lock", RUN_CONFIG, "--check"]).expect_code(0);
    let same = workspace.run(&["lock", RUN_CONFIG]).expect_code(0);
    assert!(same.stdout.contains("as it was"), "{}", same.stdout);
    workspace.run(&["lock", RUN_CONFIG, "--update", "data"]).expect_code(2);
    let fewer = workspace.run(&["run", RUN_CONFIG, "--locked", "--max-samples", "3"]).expect_code(3);
    assert!(fewer.stderr.contains("--max-samples"), "{}", fewer.stderr);
    let set = workspace.run(&["run", RUN_CONFIG, "--locked", "--set", "metrics=[contains]"]).expect_code(3);
    assert!(set.stderr.contains("settings.metrics"), "{}", set.stderr);
    // The lock of another suite, and a missing lock.
    workspace.write(
        "config/other.yaml",
        workspace
            .read("config/custom/words.yaml")
            .replace("name: words", "name: other")
            .replace("${config_dir}/", "${config_dir}/custom/"),
    );
    let other = workspace.run(&["run", "config/other.yaml", "--locked", "--lock", LOCK]).expect_code(3);
    assert!(other.stderr.contains("is of the suite `words`, but this is `other`"), "{}", other.stderr);
    // An unusable suite is reported before the lock of another suite.
    workspace.write(
        "config/broken.yaml",
        workspace.read("config/other.yaml").replace("metrics: [", "metrics: [no_such, "),
    );
    workspace.run(&["run", "config/broken.yaml", "--locked", "--lock", LOCK]).expect_code(2);
    let none = workspace.run(&["run", "config/other.yaml", "--locked"]).expect_code(2);
    assert!(none.stderr.contains("there is no lock"), "{}", none.stderr);
    let idle = workspace.run(&["run", "config/other.yaml", "--lock", LOCK]).expect_code(2);
    assert!(idle.stderr.contains("--locked"), "{}", idle.stderr);
}

/// The values under `global` reach every placeholder, also those that `init` copied into the RunConfig.
#[test]
fn run_config_values_fill_every_placeholder() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let text = workspace.read("config/custom/words.yaml");
    let limited = text.replace("    params:\n", "    params:\n      limit: ${runtime.global.key_rows:-2}\n");
    workspace.write("config/custom/words.yaml", limited);
    freeze(&workspace);
    let made = workspace.read(RUN_CONFIG);
    assert!(
        made.contains("limit: \"${runtime.global.key_rows:-2}\"")
            || made.contains("limit: ${runtime.global.key_rows:-2}")
    );
    let lines = |run_id: &str| workspace.samples(run_id).len();
    workspace.run(&["run", RUN_CONFIG, "--run-id", "two"]).expect_code(0);
    let (before, _) = made.split_once("global:").expect("what the template takes");
    let set = made.replace(&made[before.len()..], "global: {key_rows: 3}\n");
    workspace.write(RUN_CONFIG, set);
    workspace.run(&["run", RUN_CONFIG, "--run-id", "three"]).expect_code(0);
    assert_eq!((lines("two"), lines("three")), (2, 3));
    workspace.run(&["run", RUN_CONFIG, "--locked"]).expect_code(3);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn invalid_run_configs_are_refused_with_the_position() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let text = workspace.read("config/custom/words.yaml");
    workspace.write(
        "config/custom/words.yaml",
        text.replace("case_sensitive", "").replace(
            "metrics: [exact_match, words]",
            "metrics: [exact_match, {regex_match: {pattern: '${runtime.global.pattern:-answer}'}}]",
        ),
    );
    freeze(&workspace);
    let good = workspace.read(RUN_CONFIG);
    for (case, bad, expected) in [
        ("logic", format!("{good}metrics: [contains]\n"), "a RunConfig cannot have `metrics`"),
        ("a setting of a task", good.replace("max_samples: 20", "steps: []"), "`steps` cannot be set here"),
        (
            "a dataset that is not there",
            good.replace("  datasets:\n    rows:", "  datasets:\n    row:"),
            "no `row` among its datasets",
        ),
        ("an unknown key", format!("{good}runtimes: {{}}\n"), "unknown key `runtimes`"),
        (
            "another digest",
            good.replace("template_digest: \"sha256:", "template_digest: \"sha256:0"),
            "differs from the one that this file names",
        ),
        (
            "a parameter that is another",
            format!(
                "{}global: {{pattern: '${{runtime.global.other:-x}}'}}\n",
                good.split_once("global:").expect("what the template takes").0
            ),
            "`runtime.global.pattern` takes its value from another parameter",
        ),
        (
            "no digest",
            good.replace("template_digest", "# template_digest"),
            "needs the key `template_digest`",
        ),
        (
            "another version",
            good.replace("template_version: v1", "template_version: v2"),
            "there is no template builtin_templates/words/v2.yaml",
        ),
        (
            "a placeholder that is not there",
            good.replace("pattern:", "patterns:"),
            "no placeholder ${runtime.global.patterns}",
        ),
        ("a mapping within", good.replace("pattern: answer", "pattern: {a: 1}"), "pattern"),
        ("a step out", good.replace("builtin/words", "builtin/../words"), "must name a template"),
    ] {
        assert_ne!(bad, good, "{case}");
        workspace.write(RUN_CONFIG, &bad);
        let ended = workspace.run(&["validate", RUN_CONFIG]);
        assert_eq!(ended.code, Some(2), "{case}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{case}: {}", ended.transcript());
    }
    // A value that is set is used; the template has the default.
    workspace.write(RUN_CONFIG, good.replace("pattern: answer", "pattern: question"));
    workspace.run(&["run", RUN_CONFIG, "--run-id", "set"]).expect_code(0);
    workspace.write(RUN_CONFIG, good.replace("  global:\n    pattern: answer\n", ""));
    workspace.run(&["run", RUN_CONFIG, "--run-id", "left"]).expect_code(0);
    let value = |run: &str| workspace.json(run, "summary.json")["metrics"][1]["value"].clone();
    assert_eq!((value("set"), value("left")), (0.0.into(), 1.0.into()));
    // A suite with a placeholder that nothing fills.
    workspace.write(
        "config/custom/open.yaml",
        text.replace("max_samples: 20", "max_samples: '${runtime.global.most}'"),
    );
    let open = workspace.run(&["validate", "config/custom/open.yaml"]).expect_code(2);
    assert!(open.stderr.contains("the parameter ${runtime.global.most} has no value"), "{}", open.stderr);
}

#[test]
fn several_tasks_are_frozen_together_only_on_request() {
    let workspace = Workspace::new();
    let suite = repository().join("config/custom/tiny.yaml");
    let suite = suite.to_str().expect("a path");
    let refused = workspace.run(&["distill", suite, "--builtin-name", "all"]).expect_code(2);
    assert!(
        refused.stderr.contains("4 tasks") && refused.stderr.contains("--force-merge"),
        "{}",
        refused.stderr
    );
    assert!(!workspace.path("config").exists());
    let merged =
        workspace.run(&["distill", suite, "--builtin-name", "all", "--force-merge", "--json"]).expect_code(0);
    let report = merged.stdout_json();
    assert_eq!((report["mode"].as_str(), report["version"].as_str()), (Some("monolithic"), Some("v1")));
    assert!(report["parameters"].as_array().is_some_and(|all| all.len() == 5), "{report}");
    let taken = workspace
        .run(&["distill", suite, "--builtin-name", "all", "--force-merge", "--version", "1"])
        .expect_code(2);
    assert!(taken.stderr.contains("v1.yaml already"), "{}", taken.stderr);
    workspace
        .run(&["distill", suite, "--builtin-name", "all", "--force-merge", "--version", "v7"])
        .expect_code(0);
    workspace.run(&["init", "all", "--version", "v2"]).expect_code(2);
    workspace.run(&["init", "none"]).expect_code(2);
    // A suite made of a template gives the same template again.
    workspace.run(&["init", "all", "--version", "v1", "--mode", "pipeline-config"]).expect_code(0);
    let back = workspace
        .run(&[
            "distill",
            "config/custom/all_from_v1_1.yaml",
            "--builtin-name",
            "back",
            "--force-merge",
            "--json",
        ])
        .expect_code(0);
    let back = back.stdout_json();
    assert_eq!(back["digest"], report["digest"]);
    let bound = workspace.run(&["init", "all"]).expect_code(0);
    assert!(bound.stdout.contains("all v7"), "{}", bound.stdout);
    let nested = workspace
        .run(&["distill", "config/run_configs/all_run_1.yaml", "--builtin-name", "n", "--force-merge"])
        .expect_code(2);
    assert!(nested.stderr.contains("is not a PipelineConfig"), "{}", nested.stderr);
}

#[test]
fn label_files_are_pinned_by_a_suite_and_by_its_lock() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    let labels = |last: &str| (0..39).map(|number| format!("{number}\n")).collect::<String>() + last;
    workspace.write("config/data/labels.txt", labels("39\n"));
    let suite = workspace.read("config/custom/words.yaml");
    let with = |digest: &str| {
        let keys = format!(
            "params:\n      labels_path: ${{config_dir}}/../data/labels.txt\n      labels_sha256: {digest}"
        );
        workspace.write("config/custom/words.yaml", suite.replace("params:", &keys));
        workspace.run(&["run", "config/custom/words.yaml", "--max-samples", "1"])
    };
    let wrong = with(&"0".repeat(64)).expect_code(2);
    let found = wrong.stderr.split(", found ").nth(1).and_then(|rest| rest.get(..64)).expect("a digest");
    assert!(wrong.stderr.contains("sha256 mismatch for"), "{}", wrong.stderr);
    with(found).expect_code(0);
    let of_nothing = suite.replace("params:", &format!("params:\n      labels_sha256: {found}"));
    workspace.write("config/custom/nothing.yaml", of_nothing);
    let ended = workspace.run(&["validate", "config/custom/nothing.yaml"]).expect_code(2);
    assert!(ended.stderr.contains("`labels_sha256` without `labels_path`"), "{}", ended.stderr);
    // The lock holds the digest if the suite does not.
    let keys = "params:\n      labels_path: ${config_dir}/../data/labels.txt";
    workspace.write("config/custom/words.yaml", suite.replace("params:", keys));
    workspace.run(&["lock", "config/custom/words.yaml"]).expect_code(0);
    workspace.write("config/data/labels.txt", labels("38\n"));
    let locked = workspace.run(&["run", "config/custom/words.yaml", "--locked"]).expect_code(3);
    assert!(locked.stderr.contains("datasets.rows.labels.digest"), "{}", locked.stderr);
}

#[test]
fn changed_image_is_refused_by_lock_and_resume() {
    let server = Server::start(|_| completion("red"));
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("data")).expect("a folder");
    let picture = repository().join("tests/datasets/image-qa/media/red-square.png");
    std::fs::copy(picture, workspace.path("data/a.png")).expect("copied");
    let content = r#"[{"type":"image_url","image_url":{"url":"a.png"}},{"type":"text","text":"?"}]"#;
    let row = format!(r#"{{"id":"a","label":"red","messages":[{{"role":"user","content":{content}}}]}}"#);
    workspace.write("data/rows.jsonl", row + "\n");
    let suite = crate::support::suite(&server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", suite.replace("rows.jsonl", "data/rows.jsonl"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--resume", "r"]).expect_code(0);
    workspace.run(&["lock", "suite.yaml"]).expect_code(0);
    assert!(workspace.read("suite.gage.lock").contains("media: \"sha256:"));
    workspace.run(&["run", "suite.yaml", "--locked"]).expect_code(0);
    // A byte after the end of the image changes no pixel, but makes another file.
    let mut bytes = std::fs::read(workspace.path("data/a.png")).expect("a file");
    bytes.push(0);
    std::fs::write(workspace.path("data/a.png"), bytes).expect("written");
    let ended = workspace.run(&["run", "suite.yaml", "--resume", "r"]).expect_code(3);
    assert!(ended.stderr.contains("data/rows.jsonl: row 0 "), "{}", ended.stderr);
    let locked = workspace.run(&["run", "suite.yaml", "--locked"]).expect_code(3);
    assert!(locked.stderr.contains("datasets.rows.media"), "{}", locked.stderr);
}

#[test]
fn the_documentation_names_every_part_of_a_lock_and_no_other() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    workspace.run(&["lock", "config/custom/words.yaml"]).expect_code(0);
    let lock = workspace.read("config/custom/words.gage.lock");
    let keys = lock.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let mut keys: Vec<&str> = keys.filter_map(|line| Some(line.split_once(':')?.0)).collect();
    keys.retain(|key| !["format", "format_version", "must-understand", "digest"].contains(key));
    let page =
        std::fs::read_to_string(repository().join("docs/concepts/reproducibility.md")).expect("a page");
    let table = page.split("| part | pinned |\n").nth(1).expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let documented: Vec<&str> = rows.filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(documented, keys);
    // The facts that the page names for backends and plugins are there too.
    for fact in ["digest", "version", "scorer_version", "wit_version", "limits", "rows", "scoring_version"] {
        assert!(lock.contains(&format!(" {fact}: ")) || lock.contains(&format!(" {fact}:\n")), "{fact}");
    }
}
