//! Tasks of lm-evaluation-harness, converted: the suites, their notes, and whether they are valid.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use gage_import::{Import, SourceFolder, import_lm_eval};
use support::{Folder, assert_work, errors_of};

/// Each file with the keys of the notes that need work.
const CASES: &[(&str, &[&str])] = &[
    ("exam", &["task.gone"]),
    ("exam_law", &[]),
    ("last_word", &[]),
    ("pages", &["doc_to_target"]),
    ("pairs", &[]),
    ("passage", &[]),
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
    ("science_hard", &[]),
    ("sums", &[]),
    ("trivia", &[]),
    ("worked", &["filter_list[0]"]),
];

/// Files that other cases include.
const INCLUDED: &[&str] = &["exam_music"];

/// The folder of the tasks.
const TASKS: Folder = Folder("lm_eval");

fn imported(file: &str) -> Import {
    let name = format!("{file}.yaml");
    let text = TASKS.read(&name).expect("a task");
    import_lm_eval(&name, &text, &TASKS)
        .unwrap_or_else(|problems| panic!("{name}: {}", problems.render(false)))
}

/// Returns the conversion of a task that is not in the folder.
fn import_text(text: &str) -> Import {
    import_lm_eval("own.yaml", text, &TASKS).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
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
        assert_work(file, &imported(file), work);
    }
}

#[test]
fn converted_tasks_are_valid_suites() {
    for (file, _) in CASES {
        let suite = imported(file).suite;
        if let Some(errors) = errors_of(&suite, &[]) {
            panic!("{file}\n{errors}\n{suite}");
        }
    }
}

#[test]
fn every_task_of_the_folder_has_a_case() {
    let known = |name: &str| CASES.iter().any(|(file, _)| *file == name) || INCLUDED.contains(&name);
    for file in TASKS.yaml_files() {
        assert!(known(file.trim_end_matches(".yaml")), "{file}");
    }
}

#[test]
fn prompts_and_delimiters_are_those_of_the_task() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_target: answer\n";
    for (keys, expected) in [
        ("doc_to_text: question\n", "prompt: \"{{ question }}\""),
        ("doc_to_text: 'Q: {{q}}?'\ngen_prefix: 'So:'\n", "prompt: \"Q: {{q}}? So:\""),
        (
            "doc_to_text: '{{q}}'\ntarget_delimiter: '_'\ngen_prefix: 'So'\n",
            "prompt: \"{% set question_text %}{{q}}{% endset %}{{ question_text }}\
             {% if question_text[-1:]|trim %}_{% endif %}So\"",
        ),
        ("doc_to_text: \"{{q}}\\nA:\\n\"\n", "prompt: |-\n  {{q}}\n  A:{{ '\\n' }}\n"),
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
fn targets_and_options_are_read_as_in_the_task() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_text: '{{q}}'\noutput_type: ";
    for (keys, expected) in [
        // A list of letters: the preprocessor reads them.
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: \"{{['A', 'B'].index(key)}}\"\n",
            "answer_field: key\n        style:",
        ),
        // Other lists: the place is that of the list.
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: \"{{['1', '2'].index(number)}}\"\n",
            "target: \"{'1': 0, '2': 1}[number]\"",
        ),
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: '{{[1, 0].index(label)}}'\n",
            "target: \"{1: 0, 0: 1}[label]\"",
        ),
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: '{{[False, True].index(is_so)}}'\n",
            "target: \"{False: 0, True: 1}[is_so]\"",
        ),
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: '{{list.index(right[0])}}'\n",
            "# TODO: no built-in preprocessor makes these rows: `doc_to_target: {{list.index(right[0])}}` is not",
        ),
        (
            "multiple_choice\ndoc_to_target: label\ndoc_to_choice: '{{[a+\", so \"+b, a+\", but \"+b]}}'\n",
            "choices: \"[a+\\\", so \\\"+b, a+\\\", but \\\"+b]\"",
        ),
        (
            "multiple_choice\ndoc_to_target: label\ndoc_to_choice: \"{{list|map(attribute='text')|list}}\"\n",
            "choices: \"list|map(attribute='text')|list\"",
        ),
        ("generate_until\ndoc_to_target: 'is {{a}}.'\n", "target: \"\\\"is \\\" ~ a ~ \\\".\\\"\""),
        ("generate_until\ndoc_to_target: \" {{a}}\\n\"\n", r#"target: "\" \" ~ a ~ \"\\n\"""#),
        ("generate_until\ndoc_to_target: [a, 7]\n", r#"target: "[\"a\",\"7\"]""#),
        (
            "generate_until\ndoc_to_target: [a]\n",
            "any_reference: true\n      label_field: sample.references\n",
        ),
        (
            "multiple_choice\ndoc_to_choice: '{{list}}'\ndoc_to_target: [0, 1]\n",
            "# TODO: no built-in preprocessor makes these rows: `doc_to_target: a list` is not",
        ),
        (
            "loglikelihood\ndoc_to_target: [a]\n",
            "# TODO: no built-in preprocessor makes these rows: `doc_to_target: a list` is not",
        ),
        ("loglikelihood\ndoc_to_target: ' {{a}}'\n", r#"choices: "[\" \" ~ a]""#),
        ("generate_until\ndoc_to_target: 0\n", "target: \"\\\"0\\\"\""),
        ("generate_until\ndoc_to_target: '{% if a %}{{a}}{% endif %}'\n", "# TODO: no built-in preprocessor"),
        ("generate_until\ndoc_to_target: Answer Key\n", "# TODO: no built-in preprocessor"),
        (
            "generate_until\ndoc_to_target: a\nmetric_list: [{metric: math_verify}]\n",
            "- metric_id: math_verify\n    implementation: math_equal",
        ),
    ] {
        let import = import_text(&format!("{HEAD}{keys}"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        if !expected.starts_with("# TODO") {
            assert_eq!(errors_of(&import.suite, &[]), None, "{keys}\n{}", import.suite);
        }
    }
}

#[test]
fn columns_that_are_lists_of_answers_are_known() {
    for (dataset, target, path, is_list) in [
        ("google-research-datasets/nq_open", "'{{answer}}'", "answer", true),
        ("nq_open", "answer", "answer", true),
        ("mandarjoshi/trivia_qa", "'{{answer.aliases}}'", "answer.aliases", true),
        ("own/questions", "'{{answers}}'", "answers", true),
        ("own/questions", "'{{answer}}'", "answer", false),
    ] {
        let task = format!(
            "task: t\ndataset_path: {dataset}\ntest_split: test\nfewshot_split: train\nnum_fewshot: 1\n\
             output_type: generate_until\ndoc_to_text: '{{{{question}}}}'\ndoc_to_target: {target}\n"
        );
        let suite = import_text(&task).suite;
        let example = match is_list {
            true => format!("{{{{ example.{path}[0] if example.{path} is sequence else example.{path} }}}}"),
            false => format!("{{{{example.{path}}}}}"),
        };
        assert!(suite.contains(&example), "{task}\n{example}\n{suite}");
        let parameters = "any_reference: true\n      label_field: sample.references\n";
        assert_eq!(suite.contains(parameters), is_list, "{task}\n{suite}");
        assert_eq!(errors_of(&suite, &[]), None, "{task}\n{suite}");
    }
}

#[test]
fn options_without_a_prompt_need_work() {
    const TASK: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: multiple_choice\n\
                        doc_to_text: ''\ndoc_to_choice: '{{[good, bad]}}'\ndoc_to_target: 0\n";
    let import = import_text(TASK);
    assert_work(TASK, &import, &["doc_to_text"]);
    for expected in [
        "# TODO: the options are scored without a prompt; here a prompt must have text",
        "question: \"choices[0]\"",
        "choices: \"[good, bad]\"",
    ] {
        assert!(import.suite.contains(expected), "{expected}\n{}", import.suite);
    }
}

#[test]
fn a_ready_suite_is_named_if_a_task_needs_python() {
    const NOTE: &str =
        "the ready suite `drop` reads this dataset without Python: `gage-host suites show drop`";
    for (keys, is_named) in [
        ("dataset_path: EleutherAI/drop\nprocess_results: !function utils.f1\n", true),
        ("dataset_path: EleutherAI/drop\nmetric_list: [{metric: !function utils.f1}]\n", true),
        ("dataset_path: EleutherAI/drop\n", false),
        ("dataset_path: own/drop\nprocess_results: !function utils.f1\n", false),
    ] {
        let task = format!(
            "task: t\noutput_type: generate_until\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n{keys}"
        );
        let import = import_text(&task);
        assert_eq!(import.notes.iter().any(|note| note.message == NOTE), is_named, "{keys}");
    }
}

#[test]
fn examples_of_a_split_come_from_its_files() {
    const HEAD: &str = "task: t\ndataset_path: json\ntest_split: test\nfewshot_split: train\nnum_fewshot: 2\n\
                        output_type: generate_until\ndoc_to_text: question\ndoc_to_target: answer\n";
    for (files, expected, work) in [
        ("{test: rows.jsonl, train: shots.jsonl}", "path: shots.jsonl", 0),
        ("{test: rows.jsonl}", "path: examples.jsonl", 1),
    ] {
        let import = import_text(&format!("{HEAD}dataset_kwargs: {{data_files: {files}}}\n"));
        let (_, shots) = import.suite.split_once("few_shot:").expect("examples");
        assert!(shots.contains(expected) && !shots.contains("split: train"), "{files}\n{}", import.suite);
        let of_files = import.notes.iter().filter(|note| note.key.ends_with("data_files"));
        assert_eq!(of_files.count(), work, "{files}: {:#?}", import.notes);
        assert_eq!(errors_of(&import.suite, &[]), None, "{files}\n{}", import.suite);
    }
}

#[test]
fn examples_that_differ_from_lm_eval_need_work() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\nnum_fewshot: 1\n\
                        output_type: generate_until\ndoc_to_text: '{{q}}'\ndoc_to_target: a\n";
    const ROWS: &str = "samples: [{q: 1, a: 2}, {q: 3, a: 4}]";
    for (keys, expected, work) in [
        (format!("fewshot_config: {{sampler: first_n, {ROWS}}}"), "in params.examples", &[][..]),
        (
            format!("fewshot_config: {{{ROWS}}}"),
            "# TODO: lm-eval draws 1 of the 2 examples at random for each row; here they are the first ones",
            &["fewshot_config.samples"],
        ),
        (
            "fewshot_config: {samples: !function utils.shots}".to_owned(),
            "# TODO: the examples are made by `utils.shots` of Python; they are left out",
            &["fewshot_config.samples"],
        ),
        (
            format!("fewshot_config: {{sampler: first_n, doc_to_text: !function utils.shot, {ROWS}}}"),
            "# TODO: `doc_to_text` of the examples is `utils.shot` of Python",
            &["fewshot_config.doc_to_text"],
        ),
        (format!("fewshot_split: train\nfewshot_config: {{{ROWS}}}"), "in few_shot", &[]),
        ("fewshot_config: {split: dev}".to_owned(), "split: dev", &[]),
    ] {
        let import = import_text(&format!("{HEAD}{keys}\n"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_work(&keys, &import, work);
        assert_eq!(errors_of(&import.suite, &[]), None, "{keys}\n{}", import.suite);
    }
}

#[test]
fn files_of_the_hub_are_read_from_it() {
    const HEAD: &str = "task: t\ndataset_path: json\ntest_split: test\noutput_type: generate_until\n\
                        doc_to_text: question\ndoc_to_target: answer\n";
    const FILE: &str = "hf://datasets/owner/name@v1/data/test.jsonl";
    for (keys, expected, work) in [
        (
            format!("dataset_kwargs: {{data_files: {{test: '{FILE}'}}}}"),
            "loader: hf_hub\n    params:\n      hub_id: owner/name\n      revision: v1\n      \
             data_files: data/test.jsonl\n",
            &[][..],
        ),
        (
            format!("dataset_kwargs: {{data_files: {{test: '{FILE}'}}, field: rows}}"),
            "# TODO: the rows are in a field of the files, which a dataset of the hub cannot have",
            &["dataset_kwargs.field"],
        ),
        (
            format!("dataset_kwargs: {{data_files: {{test: ['{FILE}', other.jsonl]}}}}"),
            "# TODO: the files are not all in one dataset of the hub",
            &["dataset_kwargs.data_files"],
        ),
        (
            format!(
                "dataset_kwargs: {{data_files: {{test: '{FILE}'}}}}\nfewshot_split: train\nnum_fewshot: 2"
            ),
            "# TODO: examples come from a split of the hub, which `data_files` does not name",
            &["dataset_kwargs.data_files"],
        ),
    ] {
        let import = import_text(&format!("{HEAD}{keys}\n"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_work(&keys, &import, work);
    }
}

#[test]
fn filters_become_extractors_or_patterns_of_metrics() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n\
                        doc_to_text: '{{q}}'\ndoc_to_target: a\n";
    const LETTER: &str = "{function: multi_choice_regex}";
    const PATTERN: &str = "{function: regex, regex_pattern: (.)(.)}";
    for (filters, metrics, expected, extracts, work) in [
        (PATTERN.to_owned(), "exact_match", "pattern: \"(.)(.)\"\n", false, &[][..]),
        (PATTERN.to_owned(), "f1", "# TODO: lm-eval takes the first group", true, &["filter_list[0]"]),
        (
            format!("{{function: lowercase}}, {PATTERN}"),
            "exact_match, ignore_case: true",
            "pattern: \"(?i)(.)(.)\"",
            false,
            &[],
        ),
        (
            "{function: uppercase}".to_owned(),
            "exact_match",
            "# TODO: `lowercase` and `uppercase` change the answer, and lm-eval compares it with the target",
            false,
            &["filter_list[0]"],
        ),
        (
            format!("{{function: remove_whitespace}}, {PATTERN}"),
            "exact_match",
            "# TODO: `remove_whitespace` comes before the pattern; here the pattern also sees",
            false,
            &["filter_list[0]"],
        ),
        (LETTER.to_owned(), "exact_match", "ignore_punctuation: true", true, &[]),
        (
            format!("{{function: regex, regex_pattern: (.)}}, {LETTER}"),
            "exact_match",
            "# TODO: the filters find the answer one after another; here the first extractor",
            true,
            &["filter_list[0]"],
        ),
        (
            "{function: regex, regex_pattern: (.), fallback: none, group_select: 1}".to_owned(),
            "exact_match",
            "# `fallback: none` has no effect: an answer in which the pattern finds nothing is wrong",
            false,
            &["filter_list[0]"],
        ),
        (
            "{function: take_first}".to_owned(),
            "exact_match, ignore_numbers: true",
            "# `extracted_match` ignores white space around the answer, which lm-eval compares",
            false,
            &[],
        ),
    ] {
        let keys = format!("filter_list: [{{filter: [{filters}]}}]\nmetric_list: [{{metric: {metrics}}}]\n");
        let import = import_text(&format!("{HEAD}{keys}"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_eq!(import.suite.contains("step: extract"), extracts, "{keys}\n{}", import.suite);
        assert_work(&keys, &import, work);
        assert_eq!(errors_of(&import.suite, &[]), None, "{keys}\n{}", import.suite);
    }
}

#[test]
fn each_alternative_of_a_pattern_is_examined() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n\
                        doc_to_text: '{{q}}'\ndoc_to_target: a\n";
    const WITH_SPACE: &str = "here the pattern also sees the white space around the answer";
    const FIRST_GROUP: &str = "lm-eval takes the first group that is not empty; here it is the whole match";
    for (filters, metric, message, written) in [
        (
            "{function: remove_whitespace}, {function: regex, regex_pattern: '(a)|(.)'}",
            "exact_match",
            Some(WITH_SPACE),
            "(a)|(.)",
        ),
        (
            "{function: remove_whitespace}, {function: regex, regex_pattern: '^(a)$|^(b)'}",
            "exact_match",
            None,
            r"^\\s*(a)\\s*$|^\\s*(b)",
        ),
        ("{function: regex, regex_pattern: '(a)|x(b)|(c)'}", "f1", Some(FIRST_GROUP), "(a)|x(b)|(c)"),
        ("{function: regex, regex_pattern: '(a)|(b)|(c)'}", "f1", None, "(a)|(b)|(c)"),
    ] {
        let keys = format!("filter_list: [{{filter: [{filters}]}}]\nmetric_list: [{{metric: {metric}}}]\n");
        let import = import_text(&format!("{HEAD}{keys}"));
        assert!(import.suite.contains(&format!("pattern: \"{written}\"\n")), "{keys}\n{}", import.suite);
        let has_note = |message: &str| import.notes.iter().any(|note| note.message.contains(message));
        assert!(message.is_none_or(has_note), "{keys}\n{:#?}", import.notes);
        assert_work(&keys, &import, if message.is_some() { &["filter_list[0]"] } else { &[] });
        assert_eq!(errors_of(&import.suite, &[]), None, "{keys}\n{}", import.suite);
    }
}

#[test]
fn files_that_are_no_tasks_are_refused() {
    for (text, message) in [
        ("- a\n", "a task is a mapping; this is a list"),
        (
            "colour: red\n",
            "this mapping is no task: it has none of `task`, `group`, `include` and `dataset_path`",
        ),
        ("include: gone.yaml\n", "cannot read the included file `gone.yaml`"),
        ("include: /etc/passwd\n", "the path is absolute; write it relative to the file"),
    ] {
        let problems = import_lm_eval("own.yaml", text, &TASKS).expect_err(text);
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
