//! Tasks of lm-evaluation-harness, converted: the suites, their notes, and whether they are valid.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_config::{Environment, load};
use gage_import::{Import, NoteSeverity, SourceFolder, import_lm_eval};
use std::path::{Path, PathBuf};

/// Each file with the keys of the notes that need work.
const CASES: &[(&str, &[&str])] = &[
    ("exam", &["task.gone"]),
    ("exam_law", &[]),
    ("pages", &["doc_to_target"]),
    ("pairs", &[]),
    ("passage", &["doc_to_choice"]),
    (
        "python",
        &[
            "doc_to_target",
            "process_docs",
            "doc_to_text",
            "filter_list[0]",
            "metric_list[0]",
            "metric_list[0].aggregation",
        ],
    ),
    ("science", &[]),
    ("science_hard", &["num_fewshot"]),
    ("sums", &["num_fewshot"]),
    ("trivia", &[]),
    ("worked", &["filter_list[0]"]),
];

/// Files that other cases include.
const INCLUDED: &[&str] = &["exam_music"];

/// The folder of the tasks.
struct Tasks;

impl Tasks {
    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lm_eval")
    }
}

impl SourceFolder for Tasks {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(Tasks::path().join(path)).map_err(|error| error.to_string())
    }

    fn yaml_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(Tasks::path()).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".yaml")).collect();
        names.sort_unstable();
        names
    }
}

fn imported(file: &str) -> Import {
    let name = format!("{file}.yaml");
    let text = Tasks.read(&name).expect("a task");
    import_lm_eval(&name, &text, &Tasks)
        .unwrap_or_else(|problems| panic!("{name}: {}", problems.render(false)))
}

/// Returns the conversion of a task that is not in the folder.
fn import_text(text: &str) -> Import {
    import_lm_eval("own.yaml", text, &Tasks).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

fn errors_of(suite: &str) -> Option<String> {
    let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
    let (_, problems) = load("new.yaml", suite, &[], &environment);
    problems.has_errors().then(|| problems.render(false))
}

#[test]
fn tasks_become_suites() {
    for (file, _) in CASES {
        insta::assert_snapshot!(format!("lm_eval_{file}"), imported(file).suite);
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
fn converted_tasks_are_valid_suites() {
    for (file, _) in CASES {
        let suite = imported(file).suite;
        if let Some(errors) = errors_of(&suite) {
            panic!("{file}\n{errors}\n{suite}");
        }
    }
}

#[test]
fn every_task_of_the_folder_has_a_case() {
    let known = |name: &str| CASES.iter().any(|(file, _)| *file == name) || INCLUDED.contains(&name);
    for file in Tasks.yaml_files() {
        assert!(known(file.trim_end_matches(".yaml")), "{file}");
    }
}

#[test]
fn prompts_and_delimiters_are_those_of_the_task() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_target: answer\n";
    for (keys, expected) in [
        ("doc_to_text: question\n", "prompt: \"{{ question }}\""),
        ("doc_to_text: 'Q: {{q}}'\ngen_prefix: 'So:'\n", "prompt: \"Q: {{q}} So:\""),
        ("doc_to_text: '{{q}}'\ntarget_delimiter: '_'\ngen_prefix: 'So'\n", "prompt: \"{{q}}_So\""),
        (
            "doc_to_text: '{{q}}'\nnum_fewshot: 1\nfewshot_delimiter: '|'\nfewshot_config: {samples: [{q: a, answer: b}]}\n",
            "template: \"{% for example in params.examples %}{{example.q}} {{ example.answer }}|{% endfor %}{{q}}\"",
        ),
        ("doc_to_text: '{{q}}'\n", "    stop:\n      - \"\\n\\n\"\n"),
        ("doc_to_text: '{{q}}'\ngeneration_kwargs: {until: []}\n", "    temperature: 0\n  score_outcomes"),
        ("doc_to_text: '{{q}}'\ngeneration_kwargs: {do_sample: true}\n", "    temperature: 1\n"),
        ("doc_to_text: '{{q}}'\nrepeats: 3\n", "  repeat: 3\n"),
        ("doc_to_text: 'costs ${x}'\n", "prompt: \"costs $${x}\""),
    ] {
        let suite = import_text(&format!("{HEAD}output_type: generate_until\n{keys}")).suite;
        assert!(suite.contains(expected), "{keys}\n{expected}\n{suite}");
    }
}

#[test]
fn files_that_are_no_tasks_are_refused() {
    for (text, message) in [
        ("- a\n", "a task is a mapping; this is a list"),
        ("include: gone.yaml\n", "cannot read the included file `gone.yaml`"),
        ("include: /etc/passwd\n", "the path is absolute; write it relative to the file"),
    ] {
        let problems = import_lm_eval("own.yaml", text, &Tasks).expect_err(text);
        assert!(problems.render(false).contains(message), "{text:?}: {}", problems.render(false));
    }
    /// A file that includes itself.
    struct Circle;
    impl SourceFolder for Circle {
        fn read(&self, _path: &str) -> Result<String, String> {
            Ok("include: a.yaml\n".to_owned())
        }

        fn yaml_files(&self) -> Vec<String> {
            Vec::new()
        }
    }
    let problems = import_lm_eval("a.yaml", "include: a.yaml\n", &Circle).expect_err("a circle");
    assert!(
        problems.render(false).contains("more than 16 files include one another"),
        "{}",
        problems.render(false)
    );
}
