//! Suites of the older program, converted: their notes, and whether the result is a suite.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_config::{Environment, load};
use gage_import::{Import, NoteSeverity, import_gage};
use std::path::{Path, PathBuf};

/// A suite with the notes that it must cause, and all those that need work.
struct Case {
    file: &'static str,
    /// Keys with the first letter of their severity.
    notes: &'static [&'static str],
    work: &'static [&'static str],
}

const fn done(file: &'static str, notes: &'static [&'static str]) -> Case {
    Case { file, notes, work: &[] }
}

const CASES: &[Case] = &[
    done(
        "01_piqa_struct_only",
        &[
            "c datasets[0].params.preprocess",
            "d prompts[0].renderer",
            "c prompts[0].template",
            "c prompts[0].params",
            "c role_adapters[0].concurrency",
            "d tasks[0].reporting",
        ],
    ),
    done(
        "02_vllm_async",
        &[
            "d models",
            "d parameters",
            "c datasets[0].params.preprocess",
            "c backends[0].type",
            "c backends[0].config.model_path",
            "c backends[0].config.base_url",
            "c backends[0].config.sampling_params",
            "d backends[0].config.default_params.top_k",
            "d backends[0].config.dtype",
            "d backends[0].config.max_model_len",
            "d backends[0].config.tensor_parallel_size",
            "d backends[0].config.tokenizer_path",
            "c role_adapters[0].resource_requirement",
            "d builtin.pipeline_id",
            "d builtin.params",
            "d builtin",
            "c custom.steps",
        ],
    ),
    done(
        "03_local_judge",
        &[
            "d reporting",
            "c datasets[0].hub",
            "c datasets[0].hub_params",
            "d datasets[0].params.trust_remote_code",
            "c datasets[0].params.preprocess",
            "c backends[0].type",
            "c backends[1].config.host",
            "c role_adapters[0].role_type",
            "d role_adapters[0].class_path",
            "c role_adapters[1].role_type",
            "c role_adapters[1].concurrency",
            "c metrics[1].params.label_field",
        ],
    ),
    done(
        "04_multi_task_http",
        &[
            "c datasets[1].params.path",
            "c datasets[1].params.image_root",
            "d datasets[1].params.doc_to_visual",
            "c backends[0].config.api_base",
            "c backends[0].config.model_name",
            "c backends[0].config.timeout_s",
            "d backends[0].config.some_future_param",
            "c tasks[0].metric_overrides[0].aggregation",
            "c tasks[1].metric_overrides[0].aggregation",
            "d tasks[1].reporting",
        ],
    ),
    done(
        "05_mmmu_vision",
        &[
            "c datasets[0].params.preprocess",
            "c datasets[0].params.doc_to_visual",
            "c role_adapters[0].backend.type",
            "c role_adapters[0].backend.config.model_name_or_path",
            "d role_adapters[0].backend.config.dtype",
            "c role_adapters[0].resource_requirement",
            "c metrics[0]",
            "c metrics[0].params.prediction_field",
        ],
    ),
    done(
        "06_gsm8k",
        &[
            "c api_version",
            "c datasets[0].params.preprocess",
            "c metrics[0]",
            "d metrics[0].params.label_field",
            "c custom.steps",
            "d tasks[0].reporting",
        ],
    ),
    done(
        "07_math500",
        &[
            "c datasets[0].hub",
            "c backends[0].type",
            "c backends[0].config.model",
            "c metrics[0]",
            "c custom.steps",
        ],
    ),
    done(
        "08_aime",
        &[
            "c api_version",
            "d datasets[1].params.split",
            "c backends[0].type",
            "d backends[0].config.default_params.n",
            "c role_adapters[0].params.temperature",
            "c role_adapters[0].params.prompt_params",
            "c tasks[0].steps",
            "c tasks[1].steps",
        ],
    ),
    Case {
        file: "09_static_scene",
        notes: &["c backends[0].type", "c metrics[0]", "c custom.steps"],
        work: &["scene"],
    },
    Case {
        file: "10_mmlu_pro_bundle",
        notes: &["d backends[0].config.device_map", "c datasets[0].params.preprocess"],
        work: &["datasets[0].bundle", "datasets[0].bundle_kwargs"],
    },
    Case {
        file: "11_gpqa",
        notes: &["c datasets[0].params.preprocess", "c backends[0].type"],
        work: &["datasets[0].params.preprocess"],
    },
    done(
        "12_simpleqa",
        &[
            "c backends[0].config.model",
            "c backends[0].config.base_url",
            "c backends[1].config.generation_kwargs",
            "c prompts[0].messages[1].content",
            "c metrics[0]",
            "c metrics[1].aggregation",
        ],
    ),
    done("13_hle_cleaner", &["c api_version", "d prompts[0].renderer", "c custom.steps[1]", "c metrics[0]"]),
    Case {
        file: "14_code",
        notes: &["c backends[0].type"],
        work: &["sandbox_profiles", "datasets[0].params.preprocess", "metrics[0]", "metrics"],
    },
    Case {
        file: "15_finance",
        notes: &[
            "c datasets[0].params.tokenizer_path",
            "c backends[0].type",
            "d backends[0].config.responses",
        ],
        work: &["summary_generators", "metrics[0]", "metrics[1].aggregation", "metrics[1]"],
    },
    done(
        "16_global_piqa",
        &[
            "c datasets[0].hub_params.subset",
            "d observability",
            "d datasets[0].params.cache_dir",
            "c datasets[0].params.shuffle_seed",
            "c datasets[0].params.max_samples",
            "c backends[0].config.chat_template_kwargs",
            "d role_adapters[0].resource_requirement.cpus",
            "d custom.params",
            "c custom.steps",
            "d tasks[0].max_samples",
            "d tasks[0].mode",
            "d tasks[0].keep_shuffle_artifacts",
        ],
    ),
    done(
        "17_mathvista",
        &["c datasets[0].params.preprocess", "c backends[0].type", "c tasks[0].steps", "c tasks[1].steps"],
    ),
    Case {
        file: "18_game",
        notes: &["d backends[0].config.provider"],
        work: &[
            "environments",
            "agents",
            "dut_agents",
            "benchmarks",
            "arena",
            "role_adapters[1].role_type",
            "role_adapters[0].params.scheme_id",
            "custom.steps[0]",
            "custom.steps",
            "metrics[0]",
            "metrics",
        ],
    },
    Case {
        file: "19_retrieval_script",
        notes: &[
            "c datasets[0].params.preprocess",
            "c role_adapters[0].role_type",
            "c role_adapters[1].role_type",
            "c metrics[0].aggregation",
        ],
        work: &[
            "datasets[0].params.doc_to_text",
            "prompts[0].renderer",
            "role_adapters[0].class_path",
            "backends[0].config",
        ],
    },
    done("20_template", &["c kind", "c backends[0].type"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites")
}

fn import(name: &str, text: &str) -> Import {
    import_gage(name, text).unwrap_or_else(|problems| panic!("{name}: {}", problems.render(false)))
}

fn imported(file: &str) -> Import {
    let text = std::fs::read_to_string(folder().join(format!("{file}.yaml"))).expect("a suite");
    import(&format!("{file}.yaml"), &text)
}

/// Returns the errors of a suite, as the program shows them.
fn errors_of(suite: &str) -> Option<String> {
    let variable = |name: &str| match name {
        "DOCVQA_JSONL_PATH" | "GOALS_LANGUAGE" => Some("value".to_owned()),
        _ => None,
    };
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let (_, problems) = load("new.yaml", suite, &[], &environment);
    problems.has_errors().then(|| problems.render(false))
}

#[test]
fn old_suites_convert_with_the_expected_notes() {
    for case in CASES {
        let import = imported(case.file);
        let notes: Vec<String> = import
            .notes
            .iter()
            .map(|note| {
                let letter = note.severity.name().chars().next().unwrap_or(' ');
                format!("{letter} {}", note.key)
            })
            .collect();
        for expected in case.notes {
            assert!(notes.iter().any(|note| note == expected), "{}: {expected}: {notes:#?}", case.file);
        }
        let is_work = |note: &&gage_import::Note| note.severity == NoteSeverity::NeedsWork;
        let mut work: Vec<&str> = import.notes.iter().filter(is_work).map(|note| note.key.as_str()).collect();
        let mut expected = case.work.to_vec();
        work.sort_unstable();
        expected.sort_unstable();
        assert_eq!(work, expected, "{}\n{}", case.file, import.suite);
    }
}

#[test]
fn converted_suites_without_work_are_valid() {
    for case in CASES.iter().filter(|case| case.work.is_empty()) {
        let import = imported(case.file);
        if let Some(errors) = errors_of(&import.suite) {
            panic!("{}\n{errors}\n{}", case.file, import.suite);
        }
    }
}

#[test]
fn converted_suites_need_no_second_conversion() {
    for case in CASES.iter().filter(|case| case.work.is_empty()) {
        let suite = imported(case.file).suite;
        let again = import("again.yaml", &suite);
        assert!(again.notes.is_empty(), "{}: {:#?}\n{suite}", case.file, again.notes);
    }
}

/// Returns the conversion of a suite with one task, and the number of notes that need work.
fn import_with(metrics: &str, prompts: &str) -> (Import, usize) {
    let text = format!(
        "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
         datasets: [{{dataset_id: d, loader: jsonl, params: {{path: d.jsonl, preprocess: piqa_struct_only}}}}]\n\
         backends: [{{backend_id: b, type: openai_http, config: {{model: m}}}}]\n\
         role_adapters: [{{adapter_id: dut, role_type: dut_model, backend_id: b, prompt_id: ask}}, \
         {{adapter_id: judge, role_type: judge_model, backend_id: b, prompt_id: grade}}]\n\
         prompts: [{prompts}]\n\
         custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]}}\n\
         metrics: [{metrics}]\n"
    );
    let import = import("old.yaml", &text);
    let work = import.notes.iter().filter(|note| note.severity == NoteSeverity::NeedsWork).count();
    (import, work)
}

#[test]
fn metrics_share_the_step_extract_of_their_task() {
    for (metrics, step, written, expected_work) in [
        ("gsm8k_accuracy, mmlu_pro_accuracy, text_length", "last_number", 2, 0),
        ("mmlu_pro_accuracy, gsm8k_accuracy", "last_number", 1, 0),
        ("mme_accuracy, multi_choice_accuracy, latency", "yes|no", 1, 0),
        ("mme_accuracy, {contains: {prediction_field: judge_output.answer}}", "yes|no", 0, 0),
        ("mme_accuracy, {exact_match: {prediction_field: model_output.answer}}", "yes|no", 1, 0),
        ("mme_accuracy, gsm8k_accuracy", "yes|no", 1, 1),
        ("mme_accuracy, {metric_id: own, implementation: ./own.wasm}", "yes|no", 0, 1),
        ("gsm8k_accuracy, {metric_id: g, implementation: gsm8k_accuracy}", "last_number", 0, 0),
        ("exact_match, text_length", "", 0, 0),
    ] {
        let (import, work) = import_with(metrics, "");
        let found = import.suite.matches("model_output.written").count();
        assert_eq!((found, work), (written, expected_work), "{metrics}\n{}", import.suite);
        assert!(import.suite.contains(step), "{metrics}\n{}", import.suite);
        assert_eq!(import.suite.matches("step: extract").count(), usize::from(!step.is_empty()), "{metrics}");
    }
}

#[test]
fn old_results_in_prompts_become_answers_or_work() {
    const RESULT: &str = "{{ sample.predict_result[0].message.content[0].text }}";
    for (prompt, old, new, expected_work) in [
        ("grade", RESULT, "{{ payload.model_output.answer }}", 0),
        ("ask", RESULT, RESULT, 1),
        ("unused", RESULT, RESULT, 1),
        ("grade", "{{ sample.eval_result.acc }}", "{{ sample.eval_result.acc }}", 1),
        ("grade", "{{ sample.get('question') }}", "{{ row.get('question', '') }}", 0),
        ("ask", "{{ sample.goal }}{{ sample.note }}", "{{ row.goal }}{{ row.note|default('') }}", 0),
    ] {
        let prompts = format!("{{prompt_id: {prompt}, template: \"{old}\"}}");
        let (import, work) = import_with("exact_match", &prompts);
        assert!(import.suite.contains(new), "{prompt} {old}\n{}", import.suite);
        assert_eq!(work, expected_work, "{prompt} {old}");
    }
}

#[test]
fn parts_of_messages_stay_the_images_of_documents() {
    let suite = imported("04_multi_task_http").suite;
    assert!(suite.contains("content_field: messages.0.content\n"), "{suite}");
    assert!(!suite.contains("image_field"), "{suite}");
}

#[test]
fn every_suite_of_the_folder_has_a_case() {
    let files =
        std::fs::read_dir(folder()).expect("the folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = files.map(|name| name.to_string_lossy().replace(".yaml", "")).collect();
    names.sort_unstable();
    assert_eq!(names, CASES.iter().map(|case| case.file).collect::<Vec<_>>());
}

#[test]
fn work_names_the_command_that_makes_a_plugin() {
    let import = imported("15_finance");
    let help: Vec<&str> = import.notes.iter().filter_map(|note| note.help.as_deref()).collect();
    let command = "gage-host plugin new --lang python --kind metric forecast-score";
    assert!(help.iter().any(|help| help.contains(command)), "{help:#?}");
    assert!(import.suite.contains("./forecast-score/forecast-score.wasm"), "{}", import.suite);
    assert!(import.suite.contains("# TODO: "), "{}", import.suite);
}

#[test]
fn texts_that_are_no_suite_are_refused() {
    for (text, message) in [
        ("", "empty"),
        ("- a\n", "a suite is a mapping; this is a list"),
        ("a: [\n", "this is not YAML"),
        ("a: 1\na: 2\n", "occurs twice"),
    ] {
        let problems = import_gage("old.yaml", text).expect_err(text);
        assert!(problems.render(false).contains(message), "{text:?}: {}", problems.render(false));
    }
}
