//! Configurations of promptfoo, converted: the suites, their rows and notes, and whether they are valid.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use gage_import::{Import, SourceFolder as _, import_promptfoo};
use support::{Folder, assert_work, errors_of};

/// Each file with the keys of the notes that need work.
const CASES: &[(&str, &[&str])] = &[
    ("chat", &["targets[1]", "assert.is-json"]),
    ("code", &["prompts[0]", "providers[0]", "scenarios", "tests"]),
    ("graded", &[]),
    ("table", &[]),
    ("tweets", &["assert.javascript"]),
];

/// The folder of the configurations.
const CONFIGURATIONS: Folder = Folder("promptfoo");

/// Settings that choose one of several models and prompts.
const CHOSEN: [&str; 2] = ["model=openai:m@http://localhost:1/v1", "prompt=Say {{ question }}"];

fn import_text(name: &str, text: &str) -> Import {
    import_promptfoo(name, text, &CONFIGURATIONS, "new.rows.jsonl")
        .unwrap_or_else(|problems| panic!("{name}: {}", problems.render(false)))
}

fn imported(file: &str) -> Import {
    let name = format!("{file}.yaml");
    import_text(&name, &CONFIGURATIONS.read(&name).expect("a configuration"))
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
        assert_work(file, &imported(file), work);
    }
}

#[test]
fn converted_configurations_are_valid_suites() {
    for (file, _) in CASES {
        let suite = imported(file).suite;
        if let Some(errors) = errors_of(&suite, &CHOSEN) {
            panic!("{file}\n{errors}\n{suite}");
        }
    }
}

#[test]
fn assertions_become_metrics() {
    for (assertion, expected) in [
        ("{type: contains, value: x}", "- metric_id: contains\n    params:\n      case_sensitive: true"),
        ("{type: not-contains, value: 'a.b'}", r#"pattern: "\\A(?!(?s:.*)(?:a\\.b))""#),
        ("{type: not-contains-any, value: [a, b]}", r#"pattern: "\\A(?!(?s:.*)(?:a|b))""#),
        ("{type: icontains-all, value: [a, b]}", "ignore_case: true"),
        ("{type: contains-all, value: [a, b]}", r#"pattern: "\\A(?s:(?=.*a)(?=.*b))""#),
        ("{type: not-contains-all, value: [a, b]}", r#"pattern: "\\A(?!\\A(?s:(?=.*a)(?=.*b)))""#),
        ("{type: contains-any, value: 'a,, b'}", "any_reference: true"),
        ("{type: equals, value: ''}", r#"pattern: "\\A\\Z""#),
        ("{type: contains, value: ' '}", r#"pattern: "(?: )""#),
        ("{type: contains-any, value: ['', a]}", r#"pattern: "(?:|a)""#),
        ("{type: contains-any, value: []}", r#"pattern: "(?:(?!))""#),
        ("{type: not-contains-any, value: []}", r#"pattern: "\\A(?!(?s:.*)(?:(?!)))""#),
        ("{type: not-starts-with, value: a}", r#"pattern: "\\A(?!a)""#),
        ("{type: not-regex, value: 'a|b'}", r#"pattern: "\\A(?!(?s:.*)(?:a|b))""#),
        ("{type: regex, value: '^\\d+$'}", r#"pattern: "^[0-9]+\\Z""#),
        ("{type: not-regex, value: '^.*$'}", r#"pattern: "\\A(?!(?s:.*)(?:^[^\\n\\r\\u2028\\u2029]*\\Z))""#),
        ("{type: regex, value: ''}", r#"pattern: "(?:)""#),
        ("{type: regex, value: '(a)\\1'}", "# JavaScript and Python may read this pattern in different ways"),
        (
            "{type: contains, value: ''}",
            "# `contains` expects an empty text: here every answer contains it, and newer versions of promptfoo",
        ),
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
        (
            "{type: llm-rubric, value: a, threshold: 0.8}",
            "# the threshold 0.8 of `llm-rubric` is left out: PASS is 1, FAIL is 0",
        ),
        ("{type: python, value: a}", "# TODO: `python` runs code: a"),
        ("{type: levenshtein, value: a}", "# TODO: the assertion `levenshtein` has no counterpart"),
    ] {
        let text = format!("prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}, assert: [{assertion}]}}]\n");
        let suite = import_text("a.yaml", &text).suite;
        assert!(suite.contains(expected), "{assertion}\n{expected}\n{suite}");
    }
}

#[test]
fn values_of_assertions_are_read_from_files() {
    for (assertion, key, expected) in [
        ("{type: equals, value: 'file://files/answer.txt'}", "equals", "an answer"),
        ("{type: contains-any, value: ['file://files/answer.txt']}", "contains-any", "an answer"),
        ("{type: llm-rubric, value: 'file://files/answer.txt'}", "criteria", "an answer"),
    ] {
        let text = format!("prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}, assert: [{assertion}]}}]\n");
        let import = import_text("a.yaml", &text);
        let row: serde_json::Value = serde_json::from_str(import.files[0].1.trim()).expect("a row");
        let found = &row["expected"][key];
        let found = found.as_str().or_else(|| found[0].as_str());
        assert_eq!(found, Some(expected), "{assertion}");
        assert_work(assertion, &import, &[]);
    }
}

#[test]
fn parts_of_assertions_without_a_counterpart_are_noted() {
    for (assertion, key, expected) in [
        (
            "{type: contains, value: '{{ q | upper }}'}",
            "assert.contains",
            "# TODO: `contains` has `{{ q | upper }}`, which is not a variable of the test",
        ),
        (
            "{type: equals, value: 'file://gone.txt'}",
            "assert.equals",
            "# TODO: cannot read `gone.txt`, which an assertion expects: ",
        ),
        (
            "{type: equals, value: 'file://make.py'}",
            "assert.equals",
            "# TODO: cannot read `make.py`, which an assertion expects: it is code, or not a text",
        ),
        (
            "{type: llm-rubric, value: a, provider: 'openai:gpt-4o'}",
            "assert.provider",
            "# TODO: `provider` of an assertion is left out: one model serves all assertions",
        ),
        (
            "{type: llm-rubric, value: a, rubricPrompt: b}",
            "assert.rubricPrompt",
            "# TODO: `rubricPrompt` of an assertion is left out: the judge has the prompt `judge`",
        ),
    ] {
        let text = format!("prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}, assert: [{assertion}]}}]\n");
        let import = import_text("a.yaml", &text);
        assert!(import.suite.contains(expected), "{assertion}\n{expected}\n{}", import.suite);
        assert_work(assertion, &import, &[key]);
    }
}

#[test]
fn parts_of_tests_without_a_counterpart_are_noted() {
    for (test, key, expected) in [
        (
            "{vars: {q: a}, options: {provider: 'openai:gpt-4o'}}",
            "tests.options.provider",
            "# TODO: `options.provider` of a test is left out: one judge checks all tests",
        ),
        (
            "{vars: {q: a}, providerOutput: b}",
            "tests.providerOutput",
            "# TODO: `providerOutput` of a test is an answer, and is left out",
        ),
        ("{vars: 'file://gone.yaml'}", "tests.vars", "# TODO: cannot read the variables `gone.yaml`: "),
        (
            "{vars: 'file://files/answer.txt'}",
            "tests.vars",
            "# TODO: cannot read the variables `files/answer.txt`: it is not a mapping",
        ),
        (
            "file://files/settings.csv",
            "tests",
            "# TODO: the column `__config:__expected:threshold` of `files/settings.csv` sets up assertions, and is",
        ),
    ] {
        let import = import_text("a.yaml", &format!("prompts: ['{{{{q}}}}']\ntests: [{test}]\n"));
        assert!(import.suite.contains(expected), "{test}\n{expected}\n{}", import.suite);
        assert_work(test, &import, &[key]);
    }
}

#[test]
fn variables_of_a_test_may_be_files() {
    for vars in ["'file://files/vars.yaml'", "['file://files/vars.yaml']"] {
        let text = format!("prompts: ['{{{{q}}}}']\ntests: [{{vars: {vars}}}]\n");
        let import = import_text("a.yaml", &text);
        let row: serde_json::Value = serde_json::from_str(import.files[0].1.trim()).expect("a row");
        assert_eq!(row["q"], "from a file", "{vars}");
        assert_work(vars, &import, &[]);
    }
}

#[test]
fn tables_and_lines_become_prompts() {
    for (file, expected, work) in [
        ("prompts.csv", &["prompt_id: short", "\"Say {{q}}\"", "prompt_id: prompt-2"][..], &[][..]),
        ("lines.csv", &["\"Say {{q}}\"", "\"Write {{q}}\""], &[]),
        ("prompts.jsonl", &["content: \"Say {{q}}\"", "content: \"Write {{q}}\""], &[]),
        ("settings.csv", &["# TODO: the table `files/settings.csv` has no column `prompt`"], &["prompts[0]"]),
    ] {
        let text = format!("prompts: ['file://files/{file}']\ntests: [{{vars: {{q: a}}}}]\n");
        let import = import_text("a.yaml", &text);
        for part in expected {
            assert!(import.suite.contains(part), "{file} {part}\n{}", import.suite);
        }
        assert_work(file, &import, work);
    }
}

#[test]
fn criteria_of_judges_are_texts_of_the_row() {
    for (assertion, expected) in [
        ("{type: llm-rubric, value: is short}", "is short"),
        ("{type: g-eval, value: [is short, is true]}", "is short\nis true"),
        ("{type: factuality, value: '{{query}} is 4'}", "The answer agrees with this: 2 + 2 is 4"),
        ("{type: answer-relevance}", "The answer is about this question: 2 + 2"),
        ("{type: context-recall, value: 'four'}", "This context supports `four`: a table"),
        ("{type: context-relevance}", "This context is needed to answer `2 + 2`: a table"),
        ("{type: context-faithfulness}", "The answer says only what this context supports: a table"),
    ] {
        let text = format!(
            "prompts: ['{{{{query}}}}']\ntests: [{{vars: {{query: 2 + 2, context: a table}}, assert: [{assertion}]}}]\n"
        );
        let import = import_text("a.yaml", &text);
        let row: serde_json::Value = serde_json::from_str(import.files[0].1.trim()).expect("a row");
        assert_eq!(row["expected"]["criteria"], expected, "{assertion}");
    }
}

#[test]
fn judges_get_the_prompt_if_there_is_no_query() {
    for (prompts, vars, criteria, work, expected) in [
        ("['What is {{q}}?']", "{q: 2 + 2}", "What is 2 + 2?", &[][..], None),
        ("['[{role: system, content: Hi}, {role: user, content: \"{{q}}\"}]']", "{q: 2}", "2", &[], None),
        ("['{{q}}']", "{q: 2, query: 3}", "2", &[], None),
        (
            "['{{q | upper}}']",
            "{q: two}",
            "{{q | upper}}",
            &["assert.answer-relevance"],
            Some(
                "# TODO: `answer-relevance` reads the prompt, and its `{{q | upper}}` is not a variable of the test",
            ),
        ),
        (
            "['{{q}}{% for x in l %}{{x}}{% endfor %}']",
            "{q: two, l: [a, b]}, options: {disableVarExpansion: true}",
            "two{% for x in l %}{{x}}{% endfor %}",
            &["assert.answer-relevance"],
            Some("# TODO: `answer-relevance` reads the prompt, which loops over the items of `l`; the judge"),
        ),
        (
            "['Say {{q}}', 'Write {{q}}']",
            "{q: two}",
            "Say two",
            &[],
            Some("# `answer-relevance` without a variable `query` reads the first prompt for all prompts"),
        ),
    ] {
        let test = format!("{{vars: {vars}, assert: [{{type: answer-relevance}}]}}");
        let import = import_text("a.yaml", &format!("prompts: {prompts}\ntests: [{test}]\n"));
        let row: serde_json::Value = serde_json::from_str(import.files[0].1.trim()).expect("a row");
        let found = row["expected"]["criteria"].as_str().unwrap_or_default();
        assert_eq!(found, format!("The answer is about this question: {criteria}"), "{prompts}");
        if let Some(expected) = expected {
            assert!(import.suite.contains(expected), "{prompts} {expected}\n{}", import.suite);
        }
        assert_work(prompts, &import, work);
    }
}

#[test]
fn prompts_of_programs_and_services_need_work() {
    for (prompt, expected) in [
        ("exec:./x.sh one", "# TODO: the prompt is made by the program `./x.sh one`"),
        ("./make.sh", "# TODO: the prompt is made by the code of `./make.sh`"),
        ("make.py:run", "# TODO: the prompt is made by the code of `make.py:run`"),
        (
            "langfuse://my prompt:1:text",
            "# TODO: the prompt `langfuse://my prompt:1:text` is kept by a service",
        ),
        ("helicone://a", "# TODO: the prompt `helicone://a` is kept by a service"),
        ("https://example.com/a.txt", "# TODO: the prompt `https://example.com/a.txt` is kept by a service"),
    ] {
        let import = import_text("a.yaml", &format!("prompts: ['{prompt}']\ntests: [{{vars: {{q: a}}}}]\n"));
        assert!(import.suite.contains(expected), "{expected}\n{}", import.suite);
        assert_work(prompt, &import, &["prompts[0]"]);
    }
    let text = "prompts: ['Read https://example.com/{{q}}']\ntests: [{vars: {q: a}}]\n";
    assert_work(text, &import_text("a.yaml", text), &[]);
}

#[test]
fn lists_of_variables_may_stay_lists() {
    const KEEPS: &str = "options: {disableVarExpansion: true}";
    for (usual, own, prompt, rows, work) in [
        ("{}", "vars: {l: [p1, p2]}".to_owned(), "{{l[0]}}", 2, &[][..]),
        ("{}", format!("vars: {{l: [p1, p2]}}, {KEEPS}"), "{{l[0]}}", 1, &[]),
        (format!("{{{KEEPS}}}").as_str(), "vars: {l: [p1, p2]}".to_owned(), "{{l[0]}}", 1, &[]),
        (
            format!("{{{KEEPS}}}").as_str(),
            "vars: {l: [p1, p2]}, options: {disableVarExpansion: false}".to_owned(),
            "{{l[0]}}",
            2,
            &[],
        ),
        ("{}", format!("vars: {{l: [p1, p2]}}, {KEEPS}"), "{{l}}", 1, &["tests.vars"]),
    ] {
        let text = format!("prompts: ['{prompt}']\ndefaultTest: {usual}\ntests: [{{{own}}}]\n");
        let import = import_text("a.yaml", &text);
        assert_eq!(import.files[0].1.lines().count(), rows, "{text}");
        assert_work(&text, &import, work);
    }
}

#[test]
fn descriptions_of_tests_are_noted() {
    let text = "prompts: ['{{q}}']\ntests: [{description: one, vars: {q: a}}]\n";
    let suite = import_text("a.yaml", text).suite;
    let expected = "# `description` of a test is left out: no figure depends on it";
    assert!(suite.contains(expected), "{suite}");
}

#[test]
fn a_metric_says_all_that_its_judge_checks() {
    let text = "prompts: ['{{query}}']\ntests:\n- vars: {query: q, context: c}\n  assert:\n  \
                - {type: llm-rubric, value: a}\n  - {type: context-relevance}\n  - {type: llm-rubric, value: b}\n";
    let suite = import_text("a.yaml", text).suite;
    let (_, metrics) = suite.split_once("\nmetrics:\n").expect("metrics");
    let comments: Vec<&str> = metrics.lines().filter(|line| line.trim_start().starts_with('#')).collect();
    assert_eq!(comments.len(), 2, "{suite}");
    assert!(comments[0].contains("`llm-rubric`") && comments[1].contains("`context-relevance`"), "{suite}");
    assert_eq!(metrics.matches("metric_id").count(), 1, "{suite}");
}

#[test]
fn assertions_may_be_named() {
    const TEMPLATES: &str = "assertionTemplates:\n  short: {type: icontains, value: ahoy}\n  \
                             circle: {type: assert-set, assert: [{$ref: '#/assertionTemplates/circle'}]}\n";
    for (assertion, expected, work) in [
        ("{$ref: '#/assertionTemplates/short'}", "metric_id: icontains", &[][..]),
        ("{$ref: '#/gone'}", "# TODO: `$ref: #/gone` names no assertion of this file", &["assert.$ref"]),
        (
            "{$ref: '#/assertionTemplates/circle'}",
            "# TODO: only the first 1000 assertions of a test are converted",
            &["assert"],
        ),
        (
            "{type: icontains, value: a, transform: output.b}",
            "# TODO: `transform` of an assertion changes answers by code, and has no counterpart",
            &["assert.transform"],
        ),
    ] {
        let text = format!(
            "{TEMPLATES}prompts: ['{{{{q}}}}']\ntests: [{{vars: {{q: a}}, assert: [{assertion}]}}]\n"
        );
        let import = import_text("a.yaml", &text);
        assert!(import.suite.contains(expected), "{assertion}\n{expected}\n{}", import.suite);
        assert_work(assertion, &import, work);
    }
}

#[test]
fn parts_of_prompts_without_a_counterpart_are_noted() {
    for (text, work, expected) in [
        (
            "prompts: ['{% for one in _conversation %}{{one.input}}{% endfor %}{{q}}']\ntests: [{vars: {q: a}}]\n",
            "prompts[0]",
            "# TODO: the prompt reads earlier tests as `_conversation`; here each test is on its own",
        ),
        (
            "prompts: ['{{(q | load).tone}}']\ntests: [{vars: {q: '{}'}}]\n",
            "prompts[0]",
            "# TODO: the filter `load`, which reads JSON, has no counterpart",
        ),
        (
            "prompts: ['{{q}}']\ntests: [{vars: {q: a}, options: {rubricPrompt: r}}]\n",
            "tests.options.rubricPrompt",
            "# TODO: `options.rubricPrompt` is left out: the judge has the prompt `judge`",
        ),
    ] {
        let import = import_text("a.yaml", text);
        assert!(import.suite.contains(expected), "{expected}\n{}", import.suite);
        assert_work(text, &import, &[work]);
    }
}

#[test]
fn the_question_is_the_field_that_is_named_so() {
    for (prompt, vars, expected) in [
        ("{{language}} {{input}}", "{language: French, input: Hello}", "question_field: input"),
        ("{{language}} {{word}}", "{language: French, word: Hello}", "question_field: language"),
        ("{{input}} {{word}}", "{input: 1, word: Hello}", "question_field: word"),
    ] {
        let text = format!("prompts: ['{prompt}']\ntests: [{{vars: {vars}}}]\n");
        let suite = import_text("a.yaml", &text).suite;
        assert!(suite.contains(expected), "{prompt} {expected}\n{suite}");
    }
}

#[test]
fn variables_are_read_as_in_promptfoo() {
    let chat = CONFIGURATIONS.read("chat.json").expect("a file");
    for (vars, expected) in [
        ("{a: 'hello {{name}}', name: Bob}", "hello Bob"),
        ("{a: \"fr\\n\"}", "fr"),
        ("{a: 'file://chat.json'}", chat.trim()),
    ] {
        let text = format!(
            "prompts: ['{{{{a}}}}']\ntests: [{{vars: {vars}, assert: [{{type: equals, value: '{{{{a}}}}'}}]}}]\n"
        );
        let import = import_text("a.yaml", &text);
        let row: serde_json::Value = serde_json::from_str(import.files[0].1.trim()).expect("a row");
        let expected = serde_json::Value::from(expected);
        assert_eq!((&row["a"], &row["expected"]["equals"]), (&expected, &expected), "{vars}");
        assert_work(vars, &import, &[]);
    }
    let text = "prompts: ['{{a}}']\ntests:\n- vars: {a: 'hello {{name}}', name: Bob}\n  \
                assert: [{type: starts-with, value: '{{a}}'}]\n";
    let suite = import_text("a.yaml", text).suite;
    assert!(suite.contains(r#"pattern: "\\Ahello Bob""#), "{suite}");
}

#[test]
fn values_that_are_no_texts_need_work() {
    for (test, key, expected) in [
        (
            "{vars: {q: a}, assert: [{type: equals, value: {a: 1}}]}",
            "assert.equals",
            "# TODO: `equals` compares a list or a mapping, which has no counterpart",
        ),
        (
            "{vars: {q: a}, assert: [{type: contains-any, value: [a, [b]]}]}",
            "assert.contains-any",
            "# TODO: `contains-any` compares a list or a mapping, which has no counterpart",
        ),
        (
            "{vars: {q: {a: 1}}, assert: [{type: contains, value: '{{q}}'}]}",
            "tests.vars",
            "# TODO: `q` is a list or a mapping, and cannot be part of a text",
        ),
        (
            "{vars: {q: 'file://make.py'}}",
            "tests.vars",
            "# TODO: cannot read `make.py` of the variable `q`: promptfoo does not send its text",
        ),
        (
            format!("{{vars: {{q: '{{{{a}}}}', a: '{{{{b}}}}', b: {}}}}}", "x".repeat(1 << 20)).as_str(),
            "tests.vars",
            "# TODO: variables add more than 1024 KiB to variables of a test",
        ),
    ] {
        let import = import_text("a.yaml", &format!("prompts: ['{{{{q}}}}']\ntests: [{test}]\n"));
        assert!(import.suite.contains(expected), "{test}\n{expected}\n{}", import.suite);
        assert_work(test, &import, &[key]);
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
        (
            "{id: 'openai:m', prompts: [short]}",
            "# TODO: `prompts` of `openai:m` is left out: here each model gets each prompt",
        ),
        (
            "{id: 'openai:m', transform: output.a}",
            "# TODO: `transform` of `openai:m` changes answers by code, and has no counterpart",
        ),
        ("{id: 'openai:m', delay: 5}", "# `delay` of `openai:m` is left out"),
    ] {
        let suite =
            import_text("a.yaml", &format!("prompts: ['{{{{q}}}}']\nproviders: [{provider}]\n")).suite;
        assert!(suite.contains(expected), "{provider}\n{expected}\n{suite}");
    }
}

#[test]
fn texts_that_are_no_configurations_are_refused() {
    let problems = import_promptfoo("a.yaml", "- a\n", &CONFIGURATIONS, "rows.jsonl").expect_err("a list");
    assert!(problems.render(false).contains("a configuration is a mapping; this is a list"));
}
