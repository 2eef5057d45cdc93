//! Suites whose text is large, repeats itself, or refers to itself.

use crate::support::{Workspace, suite};

const BACKEND: &str = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";

/// Returns a suite with further text at its end.
fn with(text: &str) -> String {
    suite(BACKEND, "[exact_match]") + text
}

/// Returns `variables` nested to a depth: `${A:-${A:-…}}`.
fn nested_defaults(levels: usize) -> String {
    format!("metadata: {{name: \"{}x{}\"}}\n", "${A:-".repeat(levels), "}".repeat(levels))
}

#[test]
fn schemas_of_answers_have_limits() {
    let optional: String = (0..5_000).map(|number| format!("k{number}: {{type: string}}, ")).collect();
    let values = "0, ".repeat(20_000);
    for (constraint, part) in [
        (format!("json_schema: {{properties: {{{optional}}}}}"), "5000 properties; at most 256"),
        (format!("json_schema: {{enum: [{values}]}}"), "at most 10000 are allowed"),
        (format!("grammar: '{}'", "a ::= \"x\" ".repeat(2_000)), "2000 rules; at most 1000"),
    ] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", "{\"id\": \"q\", \"question\": \"q\", \"answer\": \"a\"}\n");
        let backend = format!("type: llama_cpp\n    config: {{model_path: m.gguf, {constraint}}}");
        workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        let shown = ended.stderr.get(..2_000).unwrap_or(&ended.stderr);
        assert!(ended.stderr.contains(part), "{shown}");
    }
}

#[test]
fn hostile_suites_end_with_a_typed_error() {
    let keys = |count: usize| (0..count).map(|number| format!("key_{number}: 0\n")).collect::<String>();
    let entries = |count: usize| (0..count).map(|number| format!("k{number}: 0, ")).collect::<String>();
    let merged = format!("a: &a {{{}}}\nb: {{<<: *a, {}}}\n", entries(60_000), entries(60_000));
    let anchored = format!(
        "a: {}{}{}\n",
        (0..60).map(|level| format!("&a{level} [")).collect::<String>(),
        "0, ".repeat(10_000),
        "]".repeat(60)
    );
    let tasks = (0..10_000).map(|number| format!("  - {{task_id: t{number}, dataset_id: rows}}\n"));
    let metrics = (0..200).map(|number| format!("m{number}")).collect::<Vec<_>>().join(", ");
    let product = with(&format!("tasks:\n{}", tasks.collect::<String>()))
        .replace("metrics: [exact_match]", &format!("metrics: [{metrics}]"));
    let slices = (0..60).map(|number| format!("metadata.k{number}")).collect::<Vec<_>>().join(", ");
    let sliced = with(&format!("tasks: [{{task_id: t, dataset_id: rows, slices: [{slices}]}}]\n"))
        .replace("metrics: [exact_match]", &format!("metrics: [{metrics}]"));
    let secrets = (0..1_100).map(|number| format!("k{number}: {{token: value-of-{number}}}\n"));
    for (name, text, part) in [
        ("many keys of one mapping", with(&format!("m: {{{}}}\n", entries(190_000))), "unknown key `m`"),
        ("many unknown keys", with(&keys(50_000)), "further errors, which are not shown"),
        ("repeated keys", with(&"k: 0\n".repeat(50_000)), "the key `k` occurs twice"),
        ("merged mappings", with(&merged), "unknown key `b`"),
        ("a long key", with(&format!("? {}\n: 0\n", "k".repeat(2_000))), "the key has 2000 bytes"),
        ("comments", with(&"# a comment\n".repeat(1_500_000)), "at most 16 MiB are allowed for a suite"),
        ("a question of marks", with(&format!("k: 0 # a://{}\n", "?".repeat(200_000))), "unknown key `k`"),
        ("nested defaults", with(&nested_defaults(30_000)), "nested more than 64 levels deep"),
        ("unclosed defaults", with(&format!("k: '{}'\n", "${A:-".repeat(30_000))), "no closing brace"),
        (
            "many variables",
            with(&format!("k: [{}]\n", "'${A:-x}', ".repeat(40_000))),
            "262144 bytes together",
        ),
        (
            "an alias of a long text",
            with(&format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(40))),
            "copy more than",
        ),
        ("anchors around anchors", with(&anchored), "copy more than"),
        ("tasks times metrics", product, "the product may be up to 1000000"),
        ("slices times metrics", sliced, "12000 pairs of a path of `slices` and a metric; up to 10000"),
        ("many secrets", with(&secrets.collect::<String>()), "more than 1000 secrets"),
        (
            "a list of many entries",
            with(&format!("tasks: [{}]\n", "{}, ".repeat(10_001))),
            "`tasks` has 10001 entries",
        ),
    ] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", "{\"id\": \"q\", \"question\": \"q\", \"answer\": \"a\"}\n");
        workspace.write("suite.yaml", text);
        let ended = workspace.run(&["validate", "suite.yaml"]);
        let shown = ended.stderr.get(..2_000).unwrap_or(&ended.stderr);
        assert_eq!(ended.code, Some(2), "{name}: {shown}");
        assert!(ended.stderr.contains(part), "{name}: {shown}");
        assert!(ended.stderr.len() < 1 << 20, "{name}: {} bytes", ended.stderr.len());
    }
}
