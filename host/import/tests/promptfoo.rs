//! Configurations of promptfoo, converted: the suites, their rows and notes, and whether they are valid.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_config::{Environment, load};
use gage_import::{Import, NoteSeverity, SourceFolder, import_promptfoo};
use std::path::{Path, PathBuf};

/// Each file with the keys of the notes that need work.
const CASES: &[(&str, &[&str])] = &[
    ("chat", &["targets[1]", "assert.is-json"]),
    ("code", &["prompts[0]", "providers[0]", "scenarios", "tests"]),
    ("graded", &[]),
    ("table", &[]),
    ("tweets", &["assert.javascript"]),
];

/// The folder of the configurations.
struct Folder;

impl Folder {
    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promptfoo")
    }
}

impl SourceFolder for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(Folder::path().join(path)).map_err(|error| error.to_string())
    }

    fn yaml_files(&self) -> Vec<String> {
        Vec::new()
    }
}

fn import_text(name: &str, text: &str) -> Import {
    import_promptfoo(name, text, &Folder, "new.rows.jsonl")
        .unwrap_or_else(|problems| panic!("{name}: {}", problems.render(false)))
}

fn imported(file: &str) -> Import {
    let name = format!("{file}.yaml");
    import_text(&name, &Folder.read(&name).expect("a configuration"))
}

fn errors_of(suite: &str) -> Option<String> {
    let variable = |name: &str| name.ends_with("_API_KEY").then(|| "key".to_owned());
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    // Of several models and prompts a command chooses one.
    let chosen = ["model=openai:m@http://localhost:1/v1", "prompt=Say {{ question }}"].map(str::to_owned);
    let (_, problems) = load("new.yaml", suite, &chosen, &environment);
    problems.has_errors().then(|| problems.render(false))
}

#[test]
fn configurations_become_suites_and_rows() {
    for (file, _) in CASES {
        let import = imported(file);
        let [(name, rows)] = import.files.as_slice() else { panic!("{:?}", import.files) };
        insta::assert_snapshot!(format!("promptfoo_{file}"), format!("{}\n{name}:\n{rows}", import.suite));
    }
}

#[test]
fn notes_name_the_keys_that_need_work() {
    for (file, work) in CASES {
        let import = imported(file);
        let notes = import.notes.iter().filter(|note| note.severity == NoteSeverity::NeedsWork);
        let mut found: Vec<&str> = notes.map(|note| note.key.as_str()).collect();
        let mut expected = work.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{file}: {:#?}", import.notes);
    }
}

#[test]
fn converted_configurations_are_valid_suites() {
    for (file, _) in CASES {
        let suite = imported(file).suite;
        if let Some(errors) = errors_of(&suite) {
            panic!("{file}\n{errors}\n{suite}");
        }
    }
}

#[test]
fn assertions_become_metrics() {
    for (assertion, expected) in [
        ("{type: contains, value: x}", "- metric_id: contains\n    params:\n      case_sensitive: true"),
        ("{type: not-contains, value: 'a.b'}", r#"pattern: "(?s)\\A(?!.*(?:a\\.b))""#),
        ("{type: not-contains-any, value: [a, b]}", r#"pattern: "(?s)\\A(?!.*(?:a|b))""#),
        ("{type: icontains-all, value: [a, b]}", "ignore_case: true"),
        ("{type: not-starts-with, value: a}", r#"pattern: "\\A(?!a)""#),
        ("{type: not-regex, value: 'a|b'}", r#"pattern: "(?s)\\A(?!.*(?:a|b))""#),
        (
            "{type: rouge-n, value: a, threshold: 0.7}",
            "implementation: reference_rouge\n    params:\n      threshold: 0.7",
        ),
        ("{type: bleu, value: a, threshold: 0.5}", "threshold: 50.0"),
        (
            "{type: latency, threshold: 10}",
            "# the figure is the latency in ms; the limit of 10 ms has no counterpart",
        ),
        ("{type: factuality, value: a}", "implementation: judge_score"),
        ("{type: python, value: a}", "# TODO: `python` runs code: a"),
        ("{type: levenshtein, value: a}", "# TODO: the assertion `levenshtein` has no counterpart"),
    ] {
        let text = format!("prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}, assert: [{assertion}]}}]\n");
        let suite = import_text("a.yaml", &text).suite;
        assert!(suite.contains(expected), "{assertion}\n{expected}\n{suite}");
    }
}

#[test]
fn providers_become_models() {
    for (provider, expected) in [
        ("openai:gpt-4.1", "model: \"openai:gpt-4.1\""),
        ("openai:responses:o3", "model: \"openai:o3\""),
        ("google:gemini-pro", "model: \"gemini:gemini-pro\""),
        ("{id: groq:llama}", "api_key_env: GROQ_API_KEY"),
        ("{openai:gpt-4.1: {config: {apiBaseUrl: 'http://h/v1'}}}", "base_url: \"http://h/v1\""),
        ("python:mine.py", "# TODO: the provider `python:mine.py` has no counterpart"),
    ] {
        let suite =
            import_text("a.yaml", &format!("prompts: ['{{{{q}}}}']\nproviders: [{provider}]\n")).suite;
        assert!(suite.contains(expected), "{provider}\n{expected}\n{suite}");
    }
}

#[test]
fn texts_that_are_no_configurations_are_refused() {
    let problems = import_promptfoo("a.yaml", "- a\n", &Folder, "rows.jsonl").expect_err("a list");
    assert!(problems.render(false).contains("a configuration is a mapping; this is a list"));
}
