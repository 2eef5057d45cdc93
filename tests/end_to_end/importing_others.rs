//! `gage-host import lm-eval`, `import promptfoo` and `import inspect`.

use crate::server::{Server, completion};
use crate::support::{Workspace, repository};
use serde_json::{Value, json};

const TASK: &str = "\
include: base.yaml
task: sums
filter_list:
  - name: first
    filter: [{function: regex, regex_pattern: \"#### ([0-9]+)\"}, {function: take_first}]
";

const BASE: &str = "\
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: \"Q: {{question}}\\nA:\"
doc_to_target: answer
metric_list: [{metric: exact_match}]
";

/// Returns the figures of a run that printed JSON, sorted by metric.
fn figures(report: &Value) -> Vec<(String, Value)> {
    let metrics = report["summary"]["metrics"].as_array().expect("metrics");
    let figure = |metric: &Value| {
        (metric["metric_id"].as_str().unwrap_or_default().to_owned(), metric["value"].clone())
    };
    let mut figures: Vec<(String, Value)> = metrics.iter().map(figure).collect();
    figures.sort_by(|one, other| one.0.cmp(&other.0));
    figures
}

#[test]
fn lm_eval_task_with_include_runs_after_import() {
    let server = Server::start(|request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let question = body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        completion(if question == "Q: 2 + 2\nA:" { "So it is\n#### 4" } else { "#### 1 or #### 2" })
    });
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        "{\"question\": \"2 + 2\", \"answer\": \"4\"}\n{\"question\": \"1\", \"answer\": \"2\"}\n",
    );
    workspace.write("base.yaml", BASE);
    workspace.write("sums.yaml", TASK);
    let converted = workspace.run(&["import", "lm-eval", "sums.yaml", "-o", "new.yaml"]).expect_code(0);
    assert!(
        converted.stderr.ends_with("0 changed, 0 dropped, 0 to do\nnext: gage-host validate new.yaml\n"),
        "{}",
        converted.stderr
    );
    workspace.run(&["validate", "new.yaml"]).expect_code(0);
    let model = format!("openai:m@{}/v1", server.server.uri());
    let ended = workspace.run(&["run", "new.yaml", "--model", &model, "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    assert_eq!(figures(&report), [("exact_match".to_owned(), json!(0.5))], "{report:#}");
}

#[test]
fn lm_eval_import_names_missing_files_and_work() {
    let workspace = Workspace::new();
    workspace.write("sums.yaml", TASK);
    let refused = workspace.run(&["import", "lm-eval", "sums.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("cannot read the included file `base.yaml`"), "{}", refused.stderr);
    workspace.write("base.yaml", BASE.replace("doc_to_text: ", "doc_to_text: !function utils.prompt #"));
    let work = workspace.run(&["import", "lm-eval", "sums.yaml", "--json"]).expect_code(2).stdout_json();
    assert_eq!(work["needs_work"], true);
    assert_eq!(work["notes"][0]["key"], "doc_to_text", "{work:#}");
}

/// An example, to which further keys are added.
const EXAMPLE: &str =
    "num_fewshot: 1\nfewshot_config: {sampler: first_n, samples: [{question: S, answer: \"1\"}]";

/// Keys of a task, with the prompts that lm-eval 0.4.13 makes of two rows. The keys of the third text follow [`EXAMPLE`].
const PROMPTS: &[(&str, [&str; 2], Option<&str>)] = &[
    ("doc_to_text: \"Q: {{question}}\\nA:\\n\"\n", ["Q: Q1?\nA:\n", "Q: Q2? \nA:\n"], None),
    ("doc_to_text: \"{{question}}\\n\\n\"\n", ["Q1?\n\n", "Q2? \n\n"], None),
    ("doc_to_text: question\ngen_prefix: \"So:\\n\"\n", ["Q1? So:\n", "Q2? So:\n"], None),
    (
        "doc_to_text: '{{question}}'\ntarget_delimiter: \"\\n\"\ngen_prefix: The answer is\n",
        ["S\nThe answer is 1\n\nQ1?\nThe answer is", "S\nThe answer is 1\n\nQ2? The answer is"],
        Some(""),
    ),
    (
        "gen_prefix: ' So'\n",
        ["Q: S\nA: Thus\n1{{Q: Q1?\nA: So", "Q: S\nA: Thus\n1{{Q: Q2? \nA: So"],
        Some(", gen_prefix: \"Thus\\n\", fewshot_delimiter: '{{'"),
    ),
    (
        "description: \"D\\n\"\ndoc_to_text: '{{- question -}}'\ndoc_to_target: \"{{answer}}\\n\"\n\
         target_delimiter: \"\\n\"\n",
        ["D\nS\n1\n\n\nQ1?", "D\nS\n1\n\n\nQ2? "],
        Some(""),
    ),
    // Without a prefix, the delimiter stands before the answer of an example.
    (
        "gen_prefix: \"{% if question == 'S' %}{% else %}So{% endif %}\"\n",
        ["Q: S\nA: 1\n\nQ: Q1?\nA: So", "Q: S\nA: 1\n\nQ: Q2? \nA: So"],
        Some(""),
    ),
    (
        "doc_to_text: \"{{question}}\\n\"\ngen_prefix: \"{% if question == 'S' %}{% else %}So{% endif %}\"\n",
        ["S\n 1\n\nQ1?\nSo", "S\n 1\n\nQ2? \nSo"],
        Some(""),
    ),
    (
        "gen_prefix: \"{% if question == 'S' %}Thus{% endif %}\"\n",
        ["Q: S\nA: Thus 1\n\nQ: Q1?\nA:", "Q: S\nA: Thus 1\n\nQ: Q2? \nA:"],
        Some(""),
    ),
    // Jinja reads each line break of a template as `\n`. Those of delimiters stay.
    ("doc_to_text: \"Q: {{question}}\\r\\nA:\\r\"\n", ["Q: Q1?\nA:\n", "Q: Q2? \nA:\n"], None),
    (
        "doc_to_text: |-\r\n  Q: {{question}}\r\n  A:\r\ntarget_delimiter: \"\\r\\n\"\n\
         description: \"D\\r\\n\"\n",
        ["D\nQ: S\nA:\r\n1\n\nQ: Q1?\nA:", "D\nQ: S\nA:\r\n1\n\nQ: Q2? \nA:"],
        Some(""),
    ),
    (
        "gen_prefix: \"So\\r\\n\"\ndoc_to_target: \"{{answer}}\\r!\"\n",
        ["Q: S\nA: So\n1\n!\n\nQ: Q1?\nA: So\n", "Q: S\nA: So\n1\n!\n\nQ: Q2? \nA: So\n"],
        Some(""),
    ),
    ("doc_to_target: ['7', '{{x}}']\n", ["Q: S\nA: 7\n\nQ: Q1?\nA:", "Q: S\nA: 7\n\nQ: Q2? \nA:"], Some("")),
];

#[test]
fn prompts_are_those_of_lm_eval() {
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        "{\"question\": \"Q1?\", \"answer\": \"7\"}\n{\"question\": \"Q2? \", \"answer\": \"8\"}\n",
    );
    workspace.write("base.yaml", BASE);
    for (keys, expected, example) in PROMPTS {
        let example = example.map(|further| format!("{EXAMPLE}{further}}}\n")).unwrap_or_default();
        workspace.write("task.yaml", format!("include: base.yaml\ntask: t\n{keys}{example}"));
        workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
        let shown =
            workspace.run(&["data", "preview", "new.yaml", "--rendered", "--json"]).expect_code(0).stdout;
        let prompt = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("JSON");
            row["requests"][0]["messages"][0]["content"][0]["text"].clone()
        };
        let prompts: Vec<Value> = shown.lines().map(prompt).collect();
        assert_eq!(prompts, *expected, "{keys}\n{}", workspace.read("new.yaml"));
    }
}

/// A task with options: keys of its target and options, a row, and the label of its right option in lm-eval 0.4.13.
const OPTION_CASES: &[(&str, &str, &str)] = &[
    ("doc_to_choice: ['1', '2', '3']\ndoc_to_target: a\n", r#"{"q": "Q", "a": "1"}"#, "A"),
    ("doc_to_choice: ['1', '2', '3']\ndoc_to_target: a\n", r#"{"q": "Q", "a": 1}"#, "B"),
    ("doc_to_choice: ['1', '2', '3']\ndoc_to_target: '{{a}}'\n", r#"{"q": "Q", "a": "1"}"#, "B"),
    ("doc_to_choice: o\ndoc_to_target: a\n", r#"{"q": "Q", "o": ["B", "A"], "a": "A"}"#, "B"),
    ("doc_to_choice: '{{o}}'\ndoc_to_target: '{{a}}'\n", r#"{"q": "Q", "o": ["B", "A"], "a": "B"}"#, "A"),
    ("doc_to_choice: o\ndoc_to_target: a\n", r#"{"q": "Q", "o": ["x", "y"], "a": true}"#, "B"),
    ("doc_to_choice: ['False', 'True']\ndoc_to_target: '{{a}}'\n", r#"{"q": "Q", "a": false}"#, "A"),
    ("doc_to_choice: ['(A)', '(B)']\ndoc_to_target: a\n", r#"{"q": "Q", "a": "(B)"}"#, "B"),
    ("doc_to_choice: ['no', 'yes']\ndoc_to_target: '{{a|int}}'\n", r#"{"q": "Q", "a": true}"#, "B"),
    // Lists of right options; the label is the first.
    (
        "doc_to_choice: '{{o}}'\ndoc_to_target: '{{gold}}'\n",
        r#"{"q": "Q", "o": ["x", "y"], "gold": [1]}"#,
        "B",
    ),
    ("doc_to_choice: '{{o}}'\ndoc_to_target: '{{a}}'\n", r#"{"q": "Q", "o": ["x", "y"], "a": [1]}"#, "B"),
    ("doc_to_choice: o\ndoc_to_target: a\n", r#"{"q": "Q", "o": ["x", "y", "z"], "a": [1, 2]}"#, "B"),
    ("doc_to_choice: ['1', '2', '3']\ndoc_to_target: a\n", r#"{"q": "Q", "a": [1]}"#, "B"),
    ("doc_to_choice: o\ndoc_to_target: gold\n", r#"{"q": "Q", "o": ["1", "0"], "gold": 1}"#, "B"),
];

#[test]
fn right_options_are_those_of_lm_eval() {
    let workspace = Workspace::new();
    let base = BASE.replace("generate_until", "multiple_choice").replace("exact_match", "acc");
    let base = base.replace("doc_to_target: answer\n", "").replace("{{question}}", "{{q}}");
    for (keys, row, label) in OPTION_CASES {
        workspace.write("rows.jsonl", format!("{row}\n"));
        workspace.write("task.yaml", format!("{base}task: t\n{keys}"));
        workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
        let shown = workspace.run(&["data", "preview", "new.yaml", "--json"]).expect_code(0).stdout_json();
        assert_eq!(shown["label"], *label, "{keys}{row}\n{}", workspace.read("new.yaml"));
    }
}

#[test]
fn answers_that_are_no_options_are_named_after_import() {
    let workspace = Workspace::new();
    let base = BASE.replace("generate_until", "multiple_choice").replace("exact_match", "acc");
    let base = base.replace("doc_to_target: answer\n", "").replace("{{question}}", "{{q}}");
    workspace
        .write("rows.jsonl", "{\"q\": \"Q\", \"o\": [\"x\", \"y\"], \"a\": \"nope\", \"gold\": \"nope\"}\n");
    for (choices, target) in
        [("o", "a"), ("o", "'{{a}}'"), ("o", "gold"), ("['1', '2']", "a"), ("['B', 'A']", "'{{a}}'")]
    {
        let keys = format!("doc_to_choice: {choices}\ndoc_to_target: {target}\n");
        workspace.write("task.yaml", format!("{base}task: t\n{keys}"));
        workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
        let shown = workspace.run(&["data", "preview", "new.yaml", "--json"]);
        let said = format!("{}{}", shown.stdout, shown.stderr);
        assert!(said.contains("which is none of the 2 options"), "{keys}{said}");
    }
}

#[test]
fn examples_show_answers_as_lm_eval() {
    let workspace = Workspace::new();
    let base = BASE.replace("generate_until", "multiple_choice").replace("exact_match", "acc");
    let base = base.replace("doc_to_target: answer\n", "");
    workspace.write("rows.jsonl", "{\"question\": \"Q\", \"answer\": 0}\n");
    for (choices, target, answer, expected) in [
        ("['A', 'B']", "answer", "B", "B"),
        ("['A', 'B']", "'{{answer}}'", "'B'", "B"),
        ("['no', 'yes']", "answer", "1", "yes"),
        ("['no', 'yes']", "answer", "true", "yes"),
        ("['no', 'yes']", "'{{answer}}'", "'1'", "yes"),
        ("['no', 'yes']", "answer", "'1'", "1"),
        ("\"{{['no', 'yes']}}\"", "answer", "maybe", "maybe"),
    ] {
        let keys = format!("doc_to_choice: {choices}\ndoc_to_target: {target}\n");
        let samples = format!("[{{question: S, answer: {answer}}}]");
        let examples = format!("num_fewshot: 1\nfewshot_config: {{sampler: first_n, samples: {samples}}}\n");
        workspace.write("task.yaml", format!("{base}task: t\n{keys}{examples}"));
        workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
        let preview = ["data", "preview", "new.yaml", "--rendered", "--json"];
        let shown = workspace.run(&preview).expect_code(0).stdout_json();
        let prompt = &shown["requests"][0]["messages"][0]["content"][0]["text"];
        assert_eq!(*prompt, format!("Q: S\nA: {expected}\n\nQ: Q\nA:"), "{}", workspace.read("new.yaml"));
    }
}

#[test]
fn rows_without_one_question_are_kept_after_import() {
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        "{\"c\": \"\", \"q\": \"Q\", \"l\": [\"x\"]}\n{\"c\": \"C\", \"q\": \"R\", \"l\": [\"y\"]}\n",
    );
    let base = BASE.replace("doc_to_text: \"Q: {{question}}\\nA:\"\n", "");
    for (text, target, expected) in [
        ("{{c}}{{q}}", "q", ["Q", "CR"]),
        ("{% if c %}{{c}} {% endif %}{{q}}", "q", ["Q", "C R"]),
        ("Pick: {{l[0]}}", "q", ["Pick: x", "Pick: y"]),
        ("Say {{q}}", "q", ["Say Q", "Say R"]),
    ] {
        let base = base.replace("doc_to_target: answer", &format!("doc_to_target: {target}"));
        workspace.write("task.yaml", format!("{base}task: t\ndoc_to_text: \"{text}\"\n"));
        workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"]).expect_code(0);
        let preview = ["data", "preview", "new.yaml", "--rendered", "--json"];
        let shown = workspace.run(&preview).expect_code(0).stdout;
        let prompt = |line: &str| {
            let row: Value = serde_json::from_str(line).expect("JSON");
            row["requests"][0]["messages"][0]["content"][0]["text"].clone()
        };
        let prompts: Vec<Value> = shown.lines().map(prompt).collect();
        assert_eq!(prompts, expected, "{text}\n{}", workspace.read("new.yaml"));
    }
}

#[test]
fn every_target_of_a_list_counts_after_import() {
    let workspace = Workspace::new();
    workspace
        .write("rows.jsonl", "{\"id\": \"1\", \"question\": \"Q\"}\n{\"id\": \"2\", \"question\": \"Q\"}\n");
    let base = BASE.replace("doc_to_target: answer", "doc_to_target: [Lima, Quito]");
    workspace.write("task.yaml", format!("{base}task: t\n"));
    workspace.write(
        "answers.jsonl",
        "{\"id\": \"1\", \"answer\": \"Quito\"}\n{\"id\": \"2\", \"answer\": \"Lim\"}\n",
    );
    workspace.run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml"]).expect_code(0);
    let run = ["run", "new.yaml", "--answers", "answers.jsonl", "--run-id", "r", "--json"];
    let report = workspace.run(&run).expect_code(0).stdout_json();
    assert_eq!(figures(&report), [("exact_match".to_owned(), json!(0.5))], "{report:#}");
}

/// A task with filters, and the figures of its run: the first of two answers is right.
struct FilterCase {
    filters: &'static str,
    metrics: &'static str,
    target: &'static str,
    answer: &'static str,
    /// Exit code of the import.
    code: i32,
    figures: &'static [(&'static str, f64)],
}

/// A case without filters, flags and notes.
const PLAIN: FilterCase = FilterCase {
    filters: "",
    metrics: "{metric: exact_match}",
    target: "Lima",
    answer: "Lima",
    code: 0,
    figures: &[("exact_match", 0.5)],
};

const FILTER_CASES: &[FilterCase] = &[
    PLAIN,
    // A pattern and a letter.
    FilterCase {
        filters: "{name: strict, filter: [{function: regex, regex_pattern: '(?<=the answer is )(.*)(?=.)'}]}, \
                  {name: flexible, filter: [{function: multi_choice_regex, regex_pattern: '(\\([A-Z]\\))'}]}",
        target: "(A)",
        answer: "So the answer is (A).",
        figures: &[("flexible", 0.5), ("strict", 0.5)],
        ..PLAIN
    },
    // A pattern and a filter that a person has to write.
    FilterCase {
        filters: "{name: strict, filter: [{function: regex, regex_pattern: 'is (\\w+)'}]}, \
                  {name: own, filter: [{function: map, mapping_dict: {a: b}}]}",
        answer: "It is Lima.",
        code: 2,
        figures: &[("own", 0.0), ("strict", 0.5)],
        ..PLAIN
    },
    // Two patterns.
    FilterCase {
        filters: "{name: strict, filter: [{function: regex, regex_pattern: '#### (\\w+)'}]}, \
                  {name: flexible, filter: [{function: regex, group_select: -1, regex_pattern: '(\\d)|(\\w+)'}]}",
        answer: "So it is\n#### Lima",
        figures: &[("flexible", 0.5), ("strict", 0.5)],
        ..PLAIN
    },
    // A pattern in what another one finds.
    FilterCase {
        filters: "{filter: [{function: regex, regex_pattern: '^(.*?)(?=\\n|$)'}, {function: remove_whitespace}, \
                  {function: regex, regex_pattern: 'is (\\w+)'}, {function: take_first}]}",
        answer: "It is Lima.\nQuito is no answer.",
        ..PLAIN
    },
    // A majority vote, with flags.
    FilterCase {
        filters: "{name: maj, filter: [{function: regex, regex_pattern: 'is ([0-9,]+)'}, {function: majority_vote}]}",
        metrics: "{metric: exact_match, regexes_to_ignore: [',', '(?s).*#### ']}",
        target: "so\n#### 1200",
        answer: "The answer is 1,200",
        code: 2,
        ..PLAIN
    },
    FilterCase {
        filters: "{filter: [{function: lowercase}, {function: regex, regex_pattern: 'answer is (\\w+)'}]}",
        target: "lima",
        answer: "The ANSWER is LIMA.",
        code: 2,
        ..PLAIN
    },
    FilterCase { filters: "{filter: [{function: remove_whitespace}]}", answer: " Lima ", ..PLAIN },
    // A pattern of the whole answer, without the white space around it.
    FilterCase {
        filters: "{filter: [{function: remove_whitespace}, {function: regex, regex_pattern: '^(\\w+)$'}]}",
        answer: "\n  Lima \n",
        ..PLAIN
    },
    // The answer is in the second alternative of a pattern.
    FilterCase {
        filters: "{filter: [{function: remove_whitespace}, \
                  {function: regex, regex_pattern: 'is (\\d+)$|^(\\w+)$'}]}",
        answer: "\n  Lima \n",
        ..PLAIN
    },
    // Flags without a filter.
    FilterCase {
        metrics: "{metric: exact_match, ignore_case: true, ignore_punctuation: true, ignore_numbers: true, \
                  regexes_to_ignore: ['(?s).*#### ']}",
        target: "note #### Lima",
        answer: "LIMA1!",
        ..PLAIN
    },
    // A metric that cannot find the answer itself.
    FilterCase {
        filters: "{filter: [{function: regex, regex_pattern: 'answer is (.*)'}]}",
        metrics: "{metric: exact_match}, {metric: f1}",
        answer: "The answer is Lima",
        figures: &[("exact_match", 0.5), ("f1", 0.5)],
        ..PLAIN
    },
];

#[test]
fn right_answers_count_after_import_of_each_filter() {
    let workspace = Workspace::new();
    for (number, case) in FILTER_CASES.iter().enumerate() {
        let (filters, run_id) = (case.filters, format!("r{number}"));
        let base = BASE.replace("[{metric: exact_match}]", &format!("[{}]", case.metrics));
        workspace.write("task.yaml", format!("{base}task: t\nfilter_list: [{filters}]\n"));
        let row = |id: &str| json!({"id": id, "question": "Which?", "answer": case.target});
        workspace.write("rows.jsonl", format!("{}\n{}\n", row("1"), row("2")));
        let answer = |id: &str, answer: &str| json!({"id": id, "answer": answer});
        workspace
            .write("answers.jsonl", format!("{}\n{}\n", answer("1", case.answer), answer("2", "no idea")));
        workspace
            .run(&["import", "lm-eval", "task.yaml", "-o", "new.yaml", "--force"])
            .expect_code(case.code);
        let run = ["run", "new.yaml", "--answers", "answers.jsonl", "--run-id", run_id.as_str(), "--json"];
        let report = workspace.run(&run).expect_code(0).stdout_json();
        let expected = case.figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        assert_eq!(
            figures(&report),
            expected.collect::<Vec<_>>(),
            "{filters}\n{}",
            workspace.read("new.yaml")
        );
    }
}

#[test]
fn promptfoo_configuration_runs_after_import() {
    let server = Server::start(|_| completion("It is Lima."));
    let workspace = Workspace::new();
    workspace.write(
        "promptfooconfig.yaml",
        "prompts: ['Capital of {{country}}?']\n\
         defaultTest: {assert: [{type: not-contains, value: sorry}]}\n\
         tests:\n\
         - {vars: {country: Peru}, assert: [{type: icontains, value: lima}]}\n\
         - {vars: {country: Chile}, assert: [{type: icontains, value: santiago}]}\n",
    );
    let shown = workspace.run(&["import", "promptfoo", "promptfooconfig.yaml"]).expect_code(0).stderr;
    let end = "note: promptfooconfig.rows.jsonl is written only with -o, beside the suite\n\
               next: gage-host import promptfoo promptfooconfig.yaml -o suite.yaml\n";
    assert!(shown.ends_with(end), "{shown}");
    workspace.run(&["import", "promptfoo", "promptfooconfig.yaml", "-o", "new.yaml"]).expect_code(0);
    assert_eq!(workspace.read("new.rows.jsonl").lines().count(), 2);
    let refused =
        workspace.run(&["import", "promptfoo", "promptfooconfig.yaml", "-o", "new.yaml"]).expect_code(2);
    let exists = refused.stderr.contains("'new.rows.jsonl'") && refused.stderr.contains("exists already");
    assert!(exists, "{}", refused.stderr);
    let model = format!("openai:m@{}/v1", server.server.uri());
    let ended = workspace.run(&["run", "new.yaml", "--model", &model, "--run-id", "r", "--json"]);
    let report = ended.expect_code(0).stdout_json();
    let expected = [("icontains".to_owned(), json!(0.5)), ("not-contains".to_owned(), json!(1.0))];
    assert_eq!(figures(&report), expected, "{report:#}");
}

/// Assertions about an answer, with the scores that promptfoo gives.
const ASSERTIONS: &[(&str, &str, f64)] = &[
    ("42\n", "{type: regex, value: '^\\d+$'}", 0.0),
    ("42\n", "{type: not-regex, value: '^.*$'}", 1.0),
    ("42\n", "{type: regex, value: '^[\\w\\W]+$'}", 1.0),
    ("\u{664}\u{662}", "{type: regex, value: '\\d'}", 0.0),
    ("a\u{2028}b", "{type: regex, value: 'a.b'}", 0.0),
    ("über", "{type: regex, value: '\\bber'}", 1.0),
    ("A b", "{type: not-contains-all, value: [A, b]}", 0.0),
    ("A b", "{type: not-contains-all, value: [A, c]}", 1.0),
    ("A b", "{type: contains, value: ''}", 1.0),
    ("A b", "{type: contains-any, value: ['', c]}", 1.0),
    ("A b", "{type: contains-any, value: []}", 0.0),
    ("A b", "{type: not-contains-any, value: []}", 1.0),
    ("A b", "{type: contains, value: ' '}", 1.0),
    ("A b", "{type: equals, value: ''}", 0.0),
];

#[test]
fn promptfoo_assertions_have_their_scores_after_import() {
    let workspace = Workspace::new();
    let (mut tests, mut answers, mut expected) = (String::new(), String::new(), Vec::new());
    for (place, (answer, assertion, score)) in ASSERTIONS.iter().enumerate() {
        // Each assertion is a task of its own.
        let name = format!("m{place:02}");
        let named = assertion.replace("{type", &format!("{{metric: {name}, type"));
        tests.push_str(&format!("- {{vars: {{q: a}}, assert: [{named}]}}\n"));
        let line = json!({"task_id": name, "sample_id": format!("test-{}", place + 1), "answer": answer});
        answers.push_str(&format!("{line}\n"));
        expected.push((name, json!(score)));
    }
    workspace.write("answers.jsonl", answers);
    workspace.write("promptfooconfig.yaml", format!("prompts: ['{{{{q}}}}']\ntests:\n{tests}"));
    workspace.run(&["import", "promptfoo", "promptfooconfig.yaml", "-o", "new.yaml"]).expect_code(0);
    let run = ["run", "new.yaml", "--answers", "answers.jsonl", "--run-id", "r", "--json"];
    let report = workspace.run(&run).expect_code(0).stdout_json();
    assert_eq!(figures(&report), expected, "{}", workspace.read("new.yaml"));
}

#[test]
fn inspect_log_becomes_a_run_with_its_scores() {
    let workspace = Workspace::new();
    let log = repository().join("host/import/tests/inspect/sums.eval");
    let log = log.to_str().expect("a path");
    let arguments = ["import", "inspect", log, "-o", "sums", "--run-id", "recorded", "--json"];
    let report = workspace.run(&arguments).expect_code(0).stdout_json();
    let figures_of_log = figures(&report);
    let names: Vec<&str> = figures_of_log.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["includes", "match"]);
    for (name, value) in &figures_of_log {
        let value = value.as_f64().expect("a figure");
        assert!((value - 2.0 / 3.0).abs() < 1e-12, "{name} {value}");
    }
    let scored = ["run", "sums/suite.yaml", "--answers", "sums/answers.jsonl", "--run-id", "own", "--json"];
    let own = workspace.run(&scored).expect_code(0).stdout_json();
    assert_eq!(figures(&own), figures_of_log);
    let again = workspace.run(&arguments).expect_code(2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let compared = ["compare", "runs/recorded", "runs/own", "--allow", "settings", "--allow", "plugins"];
    workspace.run(&compared).expect_code(0);
}

#[test]
fn inspect_import_that_needs_work_has_exit_code_2() {
    let workspace = Workspace::new();
    let sample = |id: u64| {
        json!({
            "id": id, "input": "q", "target": "a", "output": {"completion": "a"}, "scores": {"own": {"value": "C"}},
        })
    };
    let failed = json!({"id": 3, "input": "q", "target": "a", "error": {"message": "ValueError('boom')"}});
    for (name, samples, code) in
        [("done", vec![sample(1), sample(2)], 2), ("failed", vec![sample(1), sample(2), failed], 4)]
    {
        let log = json!({
            "version": 2, "status": "success", "eval": {"task": "t", "scorers": [{"name": "own"}]},
            "samples": samples,
        });
        workspace.write("log.json", log.to_string());
        let import = ["import", "inspect", "log.json", "-o", name, "--run-id", name];
        let ended = workspace.run(&import).expect_code(code);
        assert!(ended.stderr.contains("needs work: eval.scorers.own: "), "{}", ended.stderr);
        assert_eq!(workspace.json(name, "summary.json")["tasks"][0]["metrics"][0]["value"], 1.0, "{name}");
    }
    let error = workspace.samples("failed")[2]["error"]["message"].clone();
    let error = error.as_str().unwrap_or_default();
    assert!(error.ends_with("has an error in the place of an answer: ValueError('boom')"), "{error}");
}

#[test]
fn files_that_are_no_inspect_logs_are_refused() {
    let workspace = Workspace::new();
    workspace.write("other.json", "{\"a\": 1}");
    let refused = workspace.run(&["import", "inspect", "other.json", "-o", "out"]).expect_code(2);
    for part in ["cannot read 'other.json'", "this is not a log of Inspect"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let failed = json!({"id": 1, "input": "q", "target": "a", "error": {"message": "gone"}});
    let log = json!({"version": 2, "status": "error", "eval": {"task": "t"}, "samples": [failed]});
    workspace.write("failed.json", log.to_string());
    let refused = workspace.run(&["import", "inspect", "failed.json", "-o", "out"]).expect_code(2);
    let reason = "all 1 samples ended with an error in Inspect; there is nothing to compare";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    let absent = workspace.run(&["import", "inspect", "absent.eval", "-o", "out"]).expect_code(2);
    assert!(absent.stderr.contains("cannot read 'absent.eval'"), "{}", absent.stderr);
    assert!(!workspace.path("out").exists());
}
