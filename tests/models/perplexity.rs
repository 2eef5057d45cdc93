//! Perplexity of whole texts, with the tiny model.

use crate::support::{Workspace, repository};
use serde_json::{Value, json};

/// Returns the suite that scores the shipped texts.
fn suite() -> String {
    repository().join("config/custom/tiny_perplexity.yaml").display().to_string()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn rolling(workspace: &Workspace, run_id: &str) -> Vec<Value> {
    workspace.samples(run_id).into_iter().map(|sample| sample["model_output"]["rolling"].clone()).collect()
}

fn sum(texts: &[Value], key: &str) -> f64 {
    texts.iter().map(|text| number(&text[key])).sum()
}

fn figures(workspace: &Workspace, run_id: &str) -> Vec<(String, f64)> {
    let summary = workspace.json(run_id, "summary.json");
    let figures = summary["metrics"].as_array().cloned().unwrap_or_default();
    let of = |figure: &Value| {
        (figure["metric_id"].as_str().unwrap_or_default().to_owned(), number(&figure["value"]))
    };
    figures.iter().map(of).collect()
}

/// Writes the same texts as the only continuation of an empty prompt, each a separate request.
fn as_continuations(workspace: &Workspace, model: &str) {
    let texts =
        std::fs::read_to_string(repository().join("config/data/tiny/texts.jsonl")).expect("the texts");
    let rows: String = texts
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).expect("JSON");
            let prompt = json!([{"role": "user", "content": [{"type": "text", "text": ""}]}]);
            let options = json!([{"id": "A", "content": row["text"]}]);
            json!({"schema_version": "v1", "id": row["id"], "messages": prompt, "options": options, "label": "A"})
                .to_string()
                + "\n"
        })
        .collect();
    workspace.write("rows.jsonl", rows);
    workspace.write(
        "suite.yaml",
        format!(
            "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: texts, loader: jsonl, params: {{path: rows.jsonl}}}}]
backends:
  - backend_id: tiny
    type: llama_cpp
    config: {{model_path: {model}, context_length: 1024, slots: 1, deterministic: true, chat_template: none}}
role_adapters: [{{adapter_id: dut, role_type: dut_model, backend_id: tiny}}]
metrics: [loglikelihood_accuracy]
custom: {{steps: [{{step: inference, request: loglikelihood}}, {{step: auto_eval}}]}}
"
        ),
    );
}

#[test]
fn figures_are_those_of_the_sums_and_of_single_log_likelihoods() {
    let workspace = Workspace::new();
    let context = "backends.tiny.config.context_length=1024";
    workspace.run(&["run", &suite(), "--run-id", "whole", "--set", context]).expect_code(0);
    let texts = rolling(&workspace, "whole");
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    as_continuations(&workspace, &model);
    workspace.run(&["run", "suite.yaml", "--run-id", "single"]).expect_code(0);
    let single: Vec<Value> = workspace
        .samples("single")
        .into_iter()
        .map(|sample| sample["model_output"]["continuations"][0].clone())
        .collect();
    assert_eq!(single.len(), texts.len());
    for (text, single) in texts.iter().zip(&single) {
        let (found, expected) = (number(&text["loglikelihood"]), number(&single["logprob"]));
        assert!((found - expected).abs() <= 1e-3 * expected.abs(), "{text} {single}");
        assert_eq!(
            (&text["token_count"], &text["byte_count"]),
            (&single["token_count"], &single["byte_count"])
        );
    }
    // lm-evaluation-harness: exp(−Σ log-likelihood / Σ units), and in bits per byte.
    let loss = -single.iter().map(|one| number(&one["logprob"])).sum::<f64>();
    let expected = [
        ("word_perplexity", (loss / sum(&texts, "word_count")).exp()),
        ("byte_perplexity", (loss / sum(&single, "byte_count")).exp()),
        ("bits_per_byte", loss / sum(&single, "byte_count") / std::f64::consts::LN_2),
        ("token_perplexity", (loss / sum(&single, "token_count")).exp()),
    ];
    for ((name, value), (metric, expected)) in figures(&workspace, "whole").iter().zip(expected) {
        assert_eq!(name, metric);
        assert!((value.ln() - f64::ln(expected)).abs() <= 1e-2, "{name}: {value} {expected}");
    }
    let summary = workspace.json("whole", "summary.json");
    let figure = &summary["metrics"][3];
    assert_eq!(figure["aggregation"], "corpus_perplexity");
    let slices: Vec<&str> =
        figure["slices"].as_array().into_iter().flatten().filter_map(|slice| slice["key"].as_str()).collect();
    assert_eq!(slices, ["long", "prose", "questions"]);
    assert!(number(&figure["stderr"]) > 0.0 && figure["coverage"] == 1.0, "{figure}");
    assert_eq!(number(&texts[9]["word_count"]), 9.0, "line breaks are white space");
}

/// A text that is longer than the context is scored in windows: each token once, some with less text before them.
#[test]
fn a_text_that_is_longer_than_the_context_is_scored_in_windows() {
    let workspace = Workspace::new();
    for (run_id, length) in [("windows", 64), ("whole", 1024)] {
        let set = format!("backends.tiny.config.context_length={length}");
        workspace.run(&["run", &suite(), "--run-id", run_id, "--set", &set]).expect_code(0);
    }
    let (windows, whole) = (rolling(&workspace, "windows"), rolling(&workspace, "whole"));
    assert!(whole.iter().any(|text| number(&text["token_count"]) >= 256.0));
    for (cut, whole) in windows.iter().zip(&whole) {
        for key in ["token_count", "byte_count", "word_count"] {
            assert_eq!(cut[key], whole[key]);
        }
        let (cut_sum, sum) = (number(&cut["loglikelihood"]), number(&whole["loglikelihood"]));
        let difference = (cut_sum - sum).abs() / sum.abs();
        // A window holds the token before its first and 63 more.
        match number(&whole["token_count"]) {
            ..64.0 => assert!(difference < 1e-9, "{cut} {whole}"),
            256.0.. => assert!(difference > 1e-4, "{cut} {whole}"),
            _ => {}
        }
    }
}

#[test]
fn whole_texts_are_cached_rescored_and_resumed() {
    let workspace = Workspace::new();
    let run = |run_id: &str, further: &[&str]| {
        let suite = suite();
        let arguments = ["run", &suite, "--run-id", run_id, "--quiet"];
        workspace.run(&[&arguments[..], further].concat())
    };
    run("first", &["--cache=kept"]).expect_code(0);
    run("second", &["--cache=kept", "--concurrency", "1"]).expect_code(0);
    let cache = |run_id: &str| workspace.json(run_id, "timings.json")["backends"]["tiny"]["cache"].clone();
    assert_eq!((&cache("first")["kept"], &cache("second")["hits"]), (&json!(12), &json!(12)));
    for file in ["samples.jsonl", "summary.json"] {
        let of = |run_id: &str| workspace.read(&format!("runs/{run_id}/{file}"));
        assert_eq!(of("first"), of("second"), "{file}");
    }
    workspace.run(&["verify", "first"]).expect_code(0);
    workspace.run(&["score", "runs/first", "--run-id", "again"]).expect_code(0);
    assert_eq!(workspace.read("runs/again/summary.json"), workspace.read("runs/first/summary.json"));
    run("twice", &["--set", "tasks.texts.repeat=2"]).expect_code(0);
    assert_eq!(workspace.samples("twice").len(), 24);
    for ((_, once), (name, twice)) in figures(&workspace, "first").iter().zip(figures(&workspace, "twice")) {
        assert!((once - twice).abs() < 1e-9 * once, "{name}");
    }
    // A budget counted in the tokens of the texts ends the run; the rest is done later.
    let stopped = run("part", &["--max-tokens-total", "60", "--concurrency", "1"]);
    assert_eq!(stopped.code, Some(4), "{}", stopped.stderr);
    run("part", &["--resume"]).expect_code(0);
    for file in ["samples.jsonl", "summary.json"] {
        let of = |run_id: &str| workspace.read(&format!("runs/{run_id}/{file}"));
        assert_eq!(of("part"), of("first"), "{file}");
    }
    let plan = workspace.run(&["plan", &suite(), "--json"]).expect_code(0);
    let plan: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    let counted = number(&plan["prompt_tokens"]["low"]);
    let tokens = sum(&rolling(&workspace, "first"), "token_count");
    assert_eq!(plan["tasks"][0]["tokens_by"], "model");
    assert!((counted - tokens).abs() <= 0.1 * tokens, "{counted} {tokens}");
    assert_eq!(number(&plan["completion_tokens"]["high"]), 0.0);
}

#[test]
fn who_cannot_score_texts_is_told_before_anything_is_asked() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", "{\"id\":\"a\",\"text\":\"A text.\"}\n{\"id\":\"b\",\"text\":\"\"}\n");
    let suite = |backend: &str, request: &str, metric: &str| {
        crate::support::suite(backend, &format!("[{metric}]"))
            .replace("{step: inference}", &format!("{{step: inference{request}}}"))
    };
    let server = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";
    let scripted = "type: custom_script\n    config: {component: ./scripted.wasm}";
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    let asks = ", request: rolling_loglikelihood";
    for (backend, request, metric, expected) in [
        (server, asks, "bits_per_byte", "the backend `model` gives no log-likelihoods of whole texts"),
        (scripted, asks, "bits_per_byte", "use a backend of the type `llama_cpp`"),
        (server, "", "bits_per_byte", "the task `rows` has no `request: rolling_loglikelihood`"),
        (
            server,
            ", request: rolling_loglikelihood, continuation: id",
            "bits_per_byte",
            "belong to `request: loglikelihood`",
        ),
        (
            server,
            ", request: rolling_loglikelihood, tools: x",
            "bits_per_byte",
            "with `request: rolling_loglikelihood` no tool",
        ),
    ] {
        workspace.write("suite.yaml", suite(backend, request, metric));
        let ended = workspace.run(&["validate", "suite.yaml"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{expected}\n{}", ended.stderr);
    }
    // An empty text is a row without any request.
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    let tiny = format!("type: llama_cpp\n    config: {{model_path: '{model}', slots: 1}}");
    workspace.write(
        "suite.yaml",
        suite(&tiny, asks, "bits_per_byte").replace("path: rows.jsonl", "path: rows.jsonl, max_invalid: 1"),
    );
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]);
    let samples = workspace.samples("r");
    assert_eq!(
        (&samples[0]["outcome"], &samples[1]["outcome"]),
        (&json!("scored"), &json!("invalid_sample"))
    );
}

/// Likelihoods given in the rows: one text is too unlikely for its own perplexity, and pages have two texts each.
#[test]
fn the_figure_of_a_corpus_has_all_texts_and_knows_its_clusters() {
    let workspace = Workspace::new();
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    let texts = [(-800.0, 1, "x"), (-5.0, 10, "x"), (-2.0, 9, "y"), (-33.0, 20, "y")];
    let row = |(number, (loglikelihood, words, page)): (usize, &(f64, u64, &str))| {
        let rolling = json!({"loglikelihood": loglikelihood, "word_count": words, "byte_count": words, "token_count": words});
        json!({"id": format!("q{number}"), "question": "?", "answer": "a", "rolling": rolling, "page": page})
            .to_string()
    };
    workspace.write("rows.jsonl", texts.iter().enumerate().map(row).collect::<Vec<_>>().join("\n"));
    let (loss, words) = (840.0, 40.0);
    let expected = f64::exp(loss / words);
    let residuals = |sets: &[&[usize]]| -> f64 {
        let of = |set: &&[usize]| {
            set.iter().map(|at| -texts[*at].0 - loss / words * texts[*at].1 as f64).sum::<f64>()
        };
        let (count, squares) = (sets.len() as f64, sets.iter().map(of).map(|sum| sum * sum).sum::<f64>());
        (squares * count / (count - 1.0)).sqrt() / words * expected
    };
    for (run_id, further, stderr) in [
        ("plain", "", residuals(&[&[0], &[1], &[2], &[3]])),
        ("clustered", ", cluster_by: metadata.page", residuals(&[&[0, 1], &[2, 3]])),
    ] {
        workspace.write(
            "suite.yaml",
            format!(
                "api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{{dataset_id: texts, loader: jsonl, params: {{path: rows.jsonl}}}}]
backends: [{{backend_id: model, type: custom_script, config: {{component: ./scripted.wasm, config: {{default: a}}}}}}]
role_adapters: [{{adapter_id: dut, role_type: dut_model, backend_id: model}}]
metrics: [{{word_perplexity: {{rolling_field: metadata.rolling}}}}]
custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]{further}}}
"
            ),
        );
        workspace.run(&["run", "suite.yaml", "--run-id", run_id]).expect_code(0);
        let figure = &workspace.json(run_id, "summary.json")["metrics"][0];
        assert!((number(&figure["value"]) / expected - 1.0).abs() < 1e-12, "{figure}");
        assert!((number(&figure["stderr"]) / stderr - 1.0).abs() < 1e-9, "{figure}, not {stderr}");
        assert_eq!((&figure["n"], &figure["coverage"]), (&json!(4), &json!(1.0)), "{figure}");
        assert_eq!(workspace.samples(run_id)[0]["metrics"][0]["card"]["primary_score"], Value::Null);
    }
}

#[test]
fn options_are_scored_without_the_question_too() {
    let workspace = Workspace::new();
    let model = repository().join("config/models/gage-tiny.gguf").display().to_string();
    as_continuations(&workspace, &model);
    let row = |id: &str, prompt: &str, unconditioned: Value| {
        let prompt = json!([{"role": "user", "content": [{"type": "text", "text": prompt}]}]);
        let options = json!([{"id": "A", "content": " red"}, {"id": "B", "content": " blue"}]);
        let mut row =
            json!({"schema_version": "v1", "id": id, "messages": prompt, "options": options, "label": "B"});
        row["unconditioned_input"] = unconditioned;
        row.to_string() + "\n"
    };
    let rows = [
        row("one", "The sky is", json!("Answer:")),
        row("each", "The sky is", json!(["Answer:", "Color:"])),
        row("plain", "Answer:", Value::Null),
        row("few", "The sky is", json!(["Answer:"])),
        row("empty", "The sky is", json!("")),
    ];
    workspace.write("rows.jsonl", rows.concat());
    // Two of the samples cannot be asked.
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(4);
    let samples = workspace.samples("r");
    let logprobs = |index: usize, key: &str| -> Vec<Value> {
        let scores = samples[index]["model_output"]["continuations"].as_array().cloned().unwrap_or_default();
        scores.iter().map(|score| score[key].clone()).collect()
    };
    let plain = logprobs(2, "logprob");
    assert_eq!(logprobs(0, "unconditioned_logprob"), plain);
    let each = logprobs(1, "unconditioned_logprob");
    assert!(each[0] == plain[0] && each[1].is_number() && each[1] != plain[1], "{each:?} {plain:?}");
    assert_eq!(logprobs(2, "unconditioned_logprob"), [Value::Null, Value::Null]);
    let conditioned = logprobs(0, "logprob");
    let gain = |index: usize| number(&conditioned[index]) - number(&plain[index]);
    let card = &samples[0]["metrics"][0]["card"];
    let sub_score = |card: &Value| card["sub_scores"]["acc_mutual_info"].as_f64();
    assert_eq!(sub_score(card), Some(if gain(1) > gain(0) { 1.0 } else { 0.0 }), "{card}");
    assert_eq!(sub_score(&samples[2]["metrics"][0]["card"]), None);
    for (index, expected) in [(3, "has 1 text for 2 options"), (4, "must be a text that is not empty")] {
        let error = &samples[index]["error"];
        assert_eq!(
            (&error["kind"], &error["pointer"]),
            (&json!("unconditioned_input"), &json!("/unconditioned_input"))
        );
        assert!(error["message"].as_str().is_some_and(|message| message.contains(expected)), "{error}");
    }
}
