//! Requirements of the specification that no other test shows.

use crate::server::{Server, completion};
use crate::support::{Workspace, judged_suite, rows, suite};
use crate::words_suite::{RUN_CONFIG, freeze, write_suite};
use serde_json::{Value, json};

/// A picture of one pixel, as a `data:` URL.
pub(crate) const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const RUN: [&str; 4] = ["run", "suite.yaml", "--run-id", "r"];

fn choice_row(id: &str, label: &str) -> String {
    json!({
        "schema_version": "v1", "id": id, "messages": [{"role": "user", "content": "Which letter?"}], "label": label,
        "options": [{"id": "A", "content": "first"}, {"id": "B", "content": "second"}, {"id": "C", "content": "third"}],
        "references": [{"answer": label}],
    })
    .to_string()
        + "\n"
}

#[test]
fn builtin_is_another_name_of_custom() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let text = suite(&server.backend(""), "[exact_match]");
    workspace.write("suite.yaml", text.replace("custom:", "builtin:"));
    workspace.run(&RUN).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    workspace.write("suite.yaml", format!("{text}builtin: {{steps: [{{step: inference}}]}}\n"));
    let refused = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(refused.stderr.contains("not both"), "{}", refused.stderr);
}

#[test]
fn letter_of_a_judge_is_scored_in_place_of_the_answer() {
    let model = Server::start(|_| completion("A"));
    let judge = Server::start(|_| completion("CORRECT: C\nSCORE: 1.0"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", choice_row("a", "A") + &choice_row("c", "C"));
    let metrics = "[{metric_id: judged, implementation: multi_choice_accuracy, params: {prediction_field: judge_output.answer}}, \
                   {metric_id: own, implementation: multi_choice_accuracy}, \
                   {metric_id: took, implementation: latency, params: {target_field: judge_output.latency_ms}}]";
    let steps = "[{step: inference}, {step: judge}, {step: auto_eval}]";
    workspace
        .write("suite.yaml", judged_suite(&model.backend(""), &judge.backend(""), "", metrics, steps, ""));
    workspace.run(&RUN).expect_code(0);
    let scores = |place: usize| -> Vec<Value> {
        let of = |sample: &Value| sample["metrics"][place]["card"]["primary_score"].clone();
        workspace.samples("r").iter().map(of).collect()
    };
    assert_eq!((scores(0), scores(1)), (vec![json!(0.0), json!(1.0)], vec![json!(1.0), json!(0.0)]));
    let timings = workspace.json("r", "timings.json");
    assert!(timings["stages"]["judge_total_s"].as_f64().is_some_and(|time| time > 0.0), "{timings}");
    let took = timings.to_string();
    assert!(took.contains("\"took\""), "{took}");
}

#[test]
fn every_stage_of_a_sample_has_an_event_and_a_time() {
    let model = Server::answering();
    let judge = Server::start(|_| completion("CORRECT: yes\nSCORE: 1.0"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let steps =
        "[{step: inference}, {step: judge}, {step: extract, extractors: [final_answer]}, {step: auto_eval}]";
    workspace.write(
        "suite.yaml",
        judged_suite(&model.backend(""), &judge.backend(""), "", "[judge_score]", steps, ""),
    );
    workspace.run(&[&RUN[..], &["--observability"]].concat()).expect_code(0);
    let events = workspace.read("runs/r/events.jsonl");
    let stages = workspace.json("r", "timings.json")["stages"].clone();
    for stage in ["preprocess", "prompt", "judge", "extract"] {
        let is_named = |line: &str| line.contains("stage_finished") && line.contains(&format!("\"{stage}\""));
        assert_eq!(events.lines().filter(|line| is_named(line)).count(), 2, "{stage}: {events}");
        assert!(stages[format!("{stage}_total_s")].is_number(), "{stage}: {stages}");
    }
}

#[test]
fn hooks_inherit_the_parameters_of_the_preprocessor() {
    let server = Server::start(|_| completion("x"));
    let workspace = Workspace::new();
    workspace.write(
        "rows.jsonl",
        json!({"id": "a", "question": "What?", "answers": ["x"], "page": PICTURE}).to_string() + "\n",
    );
    let text = suite(&server.backend(""), "[exact_match]").replace(
        "path: rows.jsonl",
        "path: rows.jsonl, preprocess: docvqa, preprocess_kwargs: {content_field: page}, doc_to_visual: visual_from_field",
    );
    workspace.write("suite.yaml", text);
    workspace.run(&RUN).expect_code(0);
    let sent = server.bodies()[0].to_string();
    assert_eq!(sent.matches(PICTURE).count(), 1, "{sent}");
}

#[test]
fn pictures_need_no_text() {
    let server = Server::start(|_| completion("a dot"));
    let picture = json!({"type": "image_url", "image_url": {"url": PICTURE}});
    let empty = json!({"type": "text", "text": ""});
    // A prompt without any text is sent and scored too.
    let contents = [json!([picture]), json!([picture, picture]), json!([empty, picture]), json!([empty])];
    for content in contents {
        let workspace = Workspace::new();
        let row = json!({"schema_version": "v1", "id": "a", "messages": [{"role": "user", "content": content}], "references": [{"answer": "a dot"}]});
        workspace.write("rows.jsonl", format!("{row}\n"));
        workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
        workspace.run(&RUN).expect_code(0);
        assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0, "{content}");
    }
}

#[test]
fn templates_cannot_reach_the_program() {
    let server = Server::answering();
    for template in [
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ sample.__class__.__init__ }}",
        "{% import 'os' as os %}{{ os }}",
    ] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(1));
        let text = suite(&server.backend(""), "[exact_match]")
            .replace("backend_id: model}", "backend_id: model, prompt_id: ask}")
            + &format!("prompts: [{{prompt_id: ask, template: {}}}]\n", json!(template));
        workspace.write("suite.yaml", text);
        workspace.run(&RUN).expect_code(2);
    }
    assert_eq!(server.requests(), 0);
}

#[test]
fn templates_do_not_see_raw_assets() {
    let server = Server::start(|_| completion("a"));
    let workspace = Workspace::new();
    let row = json!({"id": "q", "messages": [{"role": "user", "content": "?"}], "references": ["a"],
        "raw_assets": {"document": "SECRET"}});
    workspace.write("rows.jsonl", format!("{row}\n"));
    let text = suite(&server.backend(""), "[exact_match]")
        .replace("backend_id: model}", "backend_id: model, prompt_id: ask}")
        + "prompts: [{prompt_id: ask, template: '{{ sample.raw_assets is defined }} {{ sample }}'}]\n";
    workspace.write("suite.yaml", text);
    workspace.run(&RUN).expect_code(0);
    let sent = server.bodies()[0].to_string();
    assert!(sent.contains("False {") && !sent.contains("SECRET"), "{sent}");
}

#[test]
fn the_smaller_of_two_sample_limits_applies() {
    let server = Server::answering();
    for (of_task, of_variable) in [(3, "5"), (5, "3")] {
        let workspace = Workspace::new();
        workspace.write("rows.jsonl", rows(6));
        let task = format!("tasks: [{{task_id: t, dataset_id: rows, max_samples: {of_task}}}]\n");
        workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]") + &task);
        workspace.run_with_env([("GAGE_EVAL_MAX_SAMPLES", of_variable)], &RUN).expect_code(0);
        assert_eq!(workspace.samples("r").len(), 3, "{of_task} {of_variable}");
    }
}

#[test]
fn old_names_of_answers_and_hooks_have_hints() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    let metric = "[{exact_match: {prediction_field: sample.predict_result.0.message.content.0.text}}]";
    workspace.write("suite.yaml", suite(&server.backend(""), metric));
    let ended = workspace.run(&RUN).expect_code(4);
    assert!(ended.stderr.contains("did you mean `model_output.answer`?"), "{}", ended.stderr);

    let hook = "path: rows.jsonl, doc_to_visual: 'gage_eval.hooks:embed_local_message_images'";
    let flat = "type: custom_script\n    config: {component: ./x.wasm, some_extra_flag: 1}";
    for (text, help) in [
        (
            suite(&server.backend(""), "[exact_match]").replace("path: rows.jsonl", hook),
            "a hook of this name is built in",
        ),
        (suite(flat, "[exact_match]"), "expected one of: component, config, default_params"),
        (
            suite(&server.backend(""), "[exact_match]")
                .replace("role_type: dut_model", "role_type: dut_model, class_path: 'a.b.C'"),
            "--kind backend",
        ),
    ] {
        workspace.write("suite.yaml", text);
        let refused = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(refused.stderr.contains(help), "{help}: {}", refused.stderr);
    }
}

#[test]
fn edited_templates_are_refused() {
    let server = Server::answering();
    let workspace = Workspace::new();
    write_suite(&workspace, &server.backend(""), "");
    freeze(&workspace);
    for (key, value) in [("concurrency", "2"), ("prefetch_factor", "3")] {
        let set = format!("runtime.tasks.rows.{key}={value}");
        workspace.run(&["validate", RUN_CONFIG, "--set", &set]).expect_code(0);
    }
    let text = workspace.read(RUN_CONFIG);
    workspace.write(RUN_CONFIG, text.replace("template_version: v1", "template_version: V1"));
    workspace.run(&["validate", RUN_CONFIG]).expect_code(0);

    let template = "config/builtin_templates/words/v1.yaml";
    let edited = workspace.read(template).replace("max_samples: 20", "max_samples: 19");
    workspace.write(template, edited);
    let refused = workspace.run(&["validate", RUN_CONFIG]).expect_code(2);
    assert!(refused.stderr.contains("does not match the digest"), "{}", refused.stderr);
    assert_eq!(server.requests(), 0);
}
