//! Tasks of lm-evaluation-harness, converted: questions, answers and options of the rows, and what has no counterpart.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use gage_import::{Import, SourceFolder, import_lm_eval};
use support::{Folder, assert_work, errors_of};

/// A folder whose tasks are not read.
const TASKS: Folder = Folder("lm_eval");

fn import_text(text: &str) -> Import {
    import_lm_eval("own.yaml", text, &TASKS).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

#[test]
fn questions_have_text_in_every_row() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n";
    const IN_PROMPT: &str = "question: \"\\\"see the prompt\\\"\"\n";
    for (keys, expected, is_computed) in [
        ("doc_to_text: q\ndoc_to_target: a", "question_field: q\n", false),
        ("doc_to_text: 'Q: {{q.strip()}}? {{q}}'\ndoc_to_target: a", "question_field: q\n", false),
        ("doc_to_text: '{{passage}} {{question}}'\ndoc_to_target: a", "answer_field: a\n", false),
        (
            "doc_to_text: '{{ctx}}{{q}}'\ndoc_to_target: a",
            "        question: \"ctx ~ ' ' ~ q\"\n      preprocess_kwargs:\n        answer_field: a\n",
            true,
        ),
        ("doc_to_text: '{{d.x}}{{d.y}}'\ndoc_to_target: a", "question: \"d.x ~ ' ' ~ d.y\"\n", true),
        ("doc_to_text: '{% if ctx %}{{ctx}}{% endif %}{{q}}'\ndoc_to_target: a", IN_PROMPT, true),
        ("doc_to_text: '{% if a %}{{q}}{% endif %}'\ndoc_to_target: a", IN_PROMPT, true),
        ("doc_to_text: 'Pick: {{l[0]}}'\ndoc_to_target: a", "question: \"l[0]\"\n", true),
        ("doc_to_text: 'Pick one.'\ndoc_to_target: a", r#"question: "\"Pick one.\"""#, true),
        // The preprocessor takes the answer out of the row.
        ("doc_to_text: 'Say {{q}}'\ndoc_to_target: q", "        question: q\n", true),
        ("doc_to_text: q\ndoc_to_target: '{{q.text}}'", "question: q\n", true),
        // A column of the same name is read by a template.
        ("doc_to_text: '{{a}}{{b}}'\ndoc_to_target: question", "question_of_row: \"a ~ ' ' ~ b\"\n", true),
        // Of the texts of the prompt, only the fields.
        (
            "doc_to_text: \"1: {{a}} 2: {{b}} Is '{{a[1:2]}}' in {{ b }}?\"\ndoc_to_target: c",
            "question: \"a ~ ' ' ~ b\"\n",
            true,
        ),
        ("doc_to_text: 'In {{a}}: {{Question}}'\ndoc_to_target: c", "question_field: Question\n", false),
        ("doc_to_text: '{{a}} {{query}}'\ndoc_to_target: c", "question_field: query\n", false),
        // The question may be empty, and the row is still kept.
        (
            "doc_to_text: '{{question}} {{a}}'\ndoc_to_target: c",
            "question_of_row: \"question ~ ' ' ~ a\"\n",
            true,
        ),
        ("doc_to_text: '{{question}} {{l[0]}}'\ndoc_to_target: a", "answer_field: a\n", false),
        ("doc_to_text: '{{Question}} {{A}} {{B}}'\ndoc_to_target: c", "question_field: Question\n", false),
        // Statements and expressions name the question.
        (
            "doc_to_text: '{% if a %}{{question + 1}}{% else %}{{2 + question}}{% endif %}'\ndoc_to_target: b",
            "answer_field: b\n",
            false,
        ),
        (
            "doc_to_text: '{{question.a}}{{question.b}}'\ndoc_to_target: c",
            "question.a ~ ' ' ~ question.b",
            true,
        ),
    ] {
        let suite = import_text(&format!("{HEAD}{keys}\n")).suite;
        assert!(suite.contains(expected), "{keys}\n{expected}\n{suite}");
        assert_eq!(suite.contains("fields:"), is_computed, "{keys}\n{suite}");
        assert_eq!(errors_of(&suite, &[]), None, "{keys}\n{suite}");
    }
}

#[test]
fn answers_of_options_are_numbers_or_texts() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_text: '{{q}}'\n\
                        output_type: multiple_choice\n";
    const PLACE: &str =
        "(opts|zip(range(opts|length))|selectattr(0, 'eq', answer)|first|default([answer, answer]))[1]";
    for (choices, target, expected) in [
        // The preprocessor finds these by their texts.
        ("[\"no\", \"yes\"]", "answer", None),
        ("[\"A\", \"B\"]", "answer", None),
        ("[\"(A)\", \"(B)\"]", "'{{answer}}'", None),
        // These have other texts than labels.
        (
            "[\"1\", \"2\"]",
            "answer",
            Some(r#"target: "{\"1\": 0, \"2\": 1}.get(answer, answer)""#.to_owned()),
        ),
        (
            "[\"B\", \"A\", \"B\"]",
            "'{{answer}}'",
            Some(r#"target: "{\"B\": 0, \"A\": 1}.get(answer, answer)""#.to_owned()),
        ),
        ("[\"B\", \"1\", \"A\"]", "'{{answer}}'", Some(r#"{\"B\": 0, \"A\": 2}.get"#.to_owned())),
        ("[\"False\", \"True\"]", "answer", None),
        ("opts", "answer", Some(format!("answer|int if answer is number else {PLACE}"))),
        ("'{{opts}}'", "'{{answer}}'", Some(format!("answer|int if (answer|string).isdigit() else {PLACE}"))),
    ] {
        let keys = format!("doc_to_choice: {choices}\ndoc_to_target: {target}\n");
        let suite = import_text(&format!("{HEAD}{keys}")).suite;
        let unfolded = suite.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_found = match &expected {
            Some(expected) => unfolded.contains(expected) && suite.contains("answer_index_base: 0\n"),
            None => !suite.contains("target:") && !suite.contains("answer_index_base"),
        };
        assert!(is_found, "{keys}\n{expected:?}\n{suite}");
        assert_eq!(errors_of(&suite, &[]), None, "{keys}\n{suite}");
    }
}

#[test]
fn places_of_options_are_read_as_they_are() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_text: '{{q}}'\n\
                        output_type: multiple_choice\n";
    for (choices, target, answer, has_base) in [
        ("'{{opts}}'", "label", "answer_field: label\n", true),
        ("opts", "'{{gold}}'", "answer_field: gold\n", true),
        ("'{{[a, b, c]}}'", "'{{right.answer_idx}}'", "answer_field: right.answer_idx\n", true),
        ("[\"1\", \"2\"]", "'{{a}}'", "answer_field: a\n", true),
        ("[\"no\", \"yes\"]", "'{{a}}'", "answer_field: a\n", false),
        // A boolean is a place if it becomes a number, and a text if the template writes it.
        ("[\"no\", \"yes\"]", "'{{a|int}}'", "target: \"a|int\"\n", true),
        ("[\"False\", \"True\"]", "'{{a}}'", "target: \"a|string if a is boolean else a\"\n", true),
    ] {
        let keys = format!("doc_to_choice: {choices}\ndoc_to_target: {target}\n");
        let suite = import_text(&format!("{HEAD}{keys}")).suite;
        assert!(suite.contains(answer), "{keys}\n{answer}\n{suite}");
        assert_eq!(suite.contains("answer_index_base: 0\n"), has_base, "{keys}\n{suite}");
        assert_eq!(suite.contains("target:"), answer.starts_with("target"), "{keys}\n{suite}");
        assert_eq!(errors_of(&suite, &[]), None, "{keys}\n{suite}");
    }
}

#[test]
fn answers_of_examples_are_options() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\ndoc_to_text: '{{q}}'\nnum_fewshot: 1\n\
                        output_type: multiple_choice\n";
    for (target, answer, expected) in [
        (
            "'{{a - 1}}'",
            "1",
            "[(example.a - 1)|int] if ((example.a - 1)|string).isdigit() else (example.a - 1) }}",
        ),
        ("'{{a|lower}}'", "MAYBE", "else (example.a|lower) }}"),
        ("\"{{['no', 'yes'][a]}}\"", "1", "{{example.q}} {{ ['no', 'yes'][example.a] }}"),
        // The examples have the texts.
        ("a", "'yes'", "{{example.q}} {{ example.a }}"),
        ("'{{a}}'", "'yes'", "{{example.q}} {{example.a}}"),
        ("a", "1", "[example.a|int] }}"),
        ("'{{a}}'", "'1'", "[example.a|int] if"),
    ] {
        let samples = format!("{{sampler: first_n, samples: [{{q: S, a: {answer}}}]}}");
        let keys = format!(
            "doc_to_choice: \"{{{{['no', 'yes']}}}}\"\ndoc_to_target: {target}\nfewshot_config: {samples}\n"
        );
        let import = import_text(&format!("{HEAD}{keys}"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_work(&keys, &import, &[]);
        assert_eq!(errors_of(&import.suite, &[]), None, "{keys}\n{}", import.suite);
    }
}

#[test]
fn whole_texts_are_those_of_the_target() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: loglikelihood_rolling\n";
    for (keys, expected, work) in [
        ("doc_to_target: '{{text}}'", "preprocess_kwargs:\n        question_field: text\n", &[][..]),
        ("doc_to_target: page", "fields:\n        text: page\n", &[]),
        ("doc_to_target: '{{page|upper}}'", "fields:\n        text: \"page|upper\"\n", &[]),
        ("doc_to_target: \"{{text|replace('x', 'y')}}\"", "text: \"text|replace('x', 'y')\"\n", &[]),
        ("doc_to_target: '{{page}} '", r#"text: "page ~ \" \"""#, &[]),
        (
            "doc_to_target: '{% if page %}{{page}}{% endif %}'",
            "# TODO: no built-in preprocessor makes these rows",
            &["doc_to_target"],
        ),
        ("doc_to_target: [page]", "# TODO: no built-in preprocessor", &["doc_to_target"]),
        (
            "doc_to_target: '{{text}}'\ngen_prefix: So",
            "# `gen_prefix` has no effect: lm-eval scores whole texts without it",
            &[],
        ),
    ] {
        let import = import_text(&format!("{HEAD}{keys}\n"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_work(keys, &import, work);
    }
}

#[test]
fn names_that_templates_lack_need_work() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n";
    for (keys, expected, key) in [
        (
            "doc_to_text: \"{{q|regex_replace('a', 'b')}}\"\ndoc_to_target: a",
            "# TODO: `doc_to_text` has the filter `regex_replace`, which prompts do not have",
            Some("doc_to_text"),
        ),
        ("doc_to_text: '{{q}}'\ndoc_to_target: \"{{a|regex_replace('a', 'b')}}\"", "regex_replace", None),
        (
            "doc_to_text: '{{q}}'\ndoc_to_target: '{{a.zfill(3)}}'",
            "# TODO: `doc_to_target` has the method `zfill`, which computed fields do not have",
            Some("doc_to_target"),
        ),
        (
            "description: \"{{'%s' % q}} \"\ndoc_to_text: '{{q}}'\ndoc_to_target: a",
            "# TODO: `description` has `%` after a text, which prompts do not have",
            Some("description"),
        ),
    ] {
        let import = import_text(&format!("{HEAD}{keys}\n"));
        assert!(import.suite.contains(expected), "{keys}\n{expected}\n{}", import.suite);
        assert_work(keys, &import, key.as_slice());
    }
}

#[test]
fn a_name_that_templates_lack_is_noted_once() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n";
    for (keys, work) in [
        ("doc_to_text: '{{q|truncate(9)}}'\ndoc_to_target: a", &["doc_to_text"][..]),
        ("doc_to_text: '{{q|truncate(9)}}'\ndoc_to_target: '{{a|truncate(9)}}'", &["doc_to_text"]),
    ] {
        let import = import_text(&format!("{HEAD}{keys}\n"));
        assert_eq!(import.suite.matches("the filter `truncate`").count(), 1, "{}", import.suite);
        assert_work(keys, &import, work);
    }
}

#[test]
fn notes_say_what_lm_eval_does() {
    const HEAD: &str = "task: t\ndataset_path: a/b\ntest_split: test\noutput_type: generate_until\n\
                        doc_to_text: '{{q}}'\ndoc_to_target: a\n";
    for (keys, key, message, help) in [
        (
            "filter_list: [{filter: [{function: regex, regex_pattern: (.), fallback: none}]}]",
            "filter_list[0]",
            "lm-eval counts it as right if the target is `none`",
            None,
        ),
        (
            "use_prompt: 'promptsource:GPT-3'",
            "use_prompt",
            "`use_prompt: promptsource:GPT-3` has no counterpart",
            Some("write its text into `prompt`"),
        ),
        ("doc_to_image: image", "doc_to_image", "has no counterpart", Some("`doc_to_visual`")),
    ] {
        let notes = import_text(&format!("{HEAD}{keys}\n")).notes;
        let note = notes.iter().find(|note| note.key == key).expect(key);
        assert!(note.message.contains(message), "{note:?}");
        let found = note.help.as_deref().unwrap_or_default();
        assert!(help.is_none_or(|help| found.contains(help)), "{note:?}");
    }
}

/// Files of a folder, each with its text.
struct Files(&'static [(&'static str, &'static str)]);

impl SourceFolder for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "there is no such file".to_owned())
    }

    fn yaml_files(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}

#[test]
fn a_task_of_two_groups_is_one_task() {
    const FILES: Files = Files(&[
        ("one.yaml", "task: one\ndataset_path: a/b\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"),
        ("two.yaml", "include: one.yaml\ntask: two\n"),
    ]);
    for (inner, work) in [
        ("{group: s1, task: [one]}, {group: s2, task: [one, two]}", &[][..]),
        ("two, {task: one, num_fewshot: 0}, {task: one, doc_to_text: other}", &["task.one"]),
    ] {
        let text = format!("group: all\ntask: [{inner}]\n");
        let import = import_lm_eval("all.yaml", &text, &FILES)
            .unwrap_or_else(|problems| panic!("{}", problems.render(false)));
        assert_eq!(import.suite.matches("task_id: one\n").count(), 1, "{}", import.suite);
        assert_work(inner, &import, work);
        assert_eq!(errors_of(&import.suite, &[]), None, "{}", import.suite);
    }
}
