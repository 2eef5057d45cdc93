use crate::pipeline::{Environment, PipelineConfig, load, parse_document};
use crate::problems::Problems;
use crate::short_form::choices;
use serde_json::{Value, json};

const SHORT: &str =
    "datasets: [rows.jsonl]\nmodel: openai:gpt-x\nprompt: 'Q: {{ question }}'\nmetrics: [exact_match]\n";

const LONG: &str = r#"
api_version: gage/v1alpha1
kind: PipelineConfig
datasets: [{dataset_id: rows, loader: jsonl, params: {path: rows.jsonl}}]
backends:
  - {backend_id: server, type: openai_http, config: {base_url: "http://h", model: m, default_params: {max_new_tokens: 9}}}
role_adapters:
  - {adapter_id: solver, role_type: dut_model, backend_id: server, prompt_id: ask}
  - {adapter_id: judge, role_type: judge_model, backend_id: server}
prompts: [{prompt_id: ask, template: "{{ question }}"}]
metrics: [exact_match]
pricing: [{backend_id: server, prompt: 1, completion: 2}]
custom: {steps: [{step: inference}, {step: judge}, {step: auto_eval}]}
"#;

fn read(text: &str, overrides: &[&str], variables: &[(&str, &str)]) -> (Option<PipelineConfig>, Problems) {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    load("suite.yaml", text, &overrides, &environment)
}

/// Returns the suite in long form.
fn long_form(text: &str, overrides: &[&str], variables: &[(&str, &str)]) -> Value {
    let (config, problems) = read(text, overrides, variables);
    assert!(!problems.has_errors(), "{text}\n{}", problems.render(false));
    config.expect("a suite").document
}

fn backend_of(model: &str, variables: &[(&str, &str)]) -> Value {
    let document = long_form(&format!("datasets: rows.jsonl\nmodel: {model}\n"), &[], variables);
    let mut backend = document["backends"][0].clone();
    assert_eq!(backend["backend_id"].take(), "model");
    json!([backend["type"], backend["config"]])
}

#[test]
fn short_suite_is_a_whole_suite() {
    let document = long_form(SHORT, &[], &[]);
    let expected = json!({
        "api_version": "gage/v1alpha1",
        "kind": "PipelineConfig",
        "datasets": [{"dataset_id": "rows", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
        "backends": [
            {"backend_id": "model", "type": "openai_http", "config": {"model": "gpt-x", "api_key_env": "OPENAI_API_KEY"}}
        ],
        "role_adapters": [
            {"adapter_id": "dut", "role_type": "dut_model", "backend_id": "model", "prompt_id": "prompt"}
        ],
        "prompts": [{"prompt_id": "prompt", "template": "Q: {{ question }}"}],
        "metrics": ["exact_match"],
        "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]},
    });
    assert_eq!(document, expected);
}

#[test]
fn long_form_is_read_as_it_is_written() {
    let document = long_form(LONG, &[], &[]);
    let again = long_form(&serde_json::to_string(&document).expect("JSON"), &[], &[]);
    assert_eq!(again, document);
}

#[test]
fn model_names_its_backend() {
    let openai = [("OPENAI_BASE_URL", "http://localhost:1/v1")];
    for (model, variables, expected) in [
        ("./m.gguf", &[][..], json!(["llama_cpp", {"model_path": "./m.gguf"}])),
        ("hub:a/b/c.gguf@main", &[], json!(["llama_cpp", {"model_path": "hub:a/b/c.gguf@main"}])),
        ("${M:-x.gguf}", &[], json!(["llama_cpp", {"model_path": "x.gguf"}])),
        ("tgi:http://h:8080", &[], json!(["tgi", {"base_url": "http://h:8080"}])),
        ("anthropic:c", &[], json!(["anthropic_http", {"model": "c", "api_key_env": "ANTHROPIC_API_KEY"}])),
        ("gemini:g", &[], json!(["gemini_http", {"model": "g", "api_key_env": "GEMINI_API_KEY"}])),
        (
            "openai:org/m@v1@http://h:1/v1",
            &[],
            json!(["openai_http", {"model": "org/m@v1", "base_url": "http://h:1/v1"}]),
        ),
        (
            "openai:m",
            &openai,
            json!(["openai_http", {"model": "m", "base_url": "http://localhost:1/v1", "api_key": "${OPENAI_API_KEY:-}"}]),
        ),
        (
            "{name: 'openai:m', base_url: 'http://h', temperature: 0.5, timeout: 9}",
            &openai,
            json!(["openai_http", {
                "model": "m", "base_url": "http://h", "timeout": 9, "default_params": {"temperature": 0.5}
            }]),
        ),
    ] {
        assert_eq!(backend_of(model, variables), expected, "{model}");
    }
}

#[test]
fn text_that_names_no_model_is_an_error_with_the_forms() {
    for (model, part) in [
        ("gpt-4", "`gpt-4` does not name a model"),
        ("'openai:'", "`openai:` does not name a model"),
        ("''", "an empty text does not name a model"),
        ("7", "`model` must be a string, a mapping, or a list of them, found a number"),
        ("{temperature: 1}", "needs the key `name`"),
        ("[]", "`model` is an empty list, and needs at least one"),
        ("[./a.gguf, {name: ./a.gguf, seed: 1}]", "the suite lists the model ./a.gguf twice"),
        ("[./a.gguf, ./b.gguf]", "choose one with --model: ./a.gguf, ./b.gguf"),
    ] {
        let (_, problems) = read(&format!("datasets: rows.jsonl\nmodel: {model}\n"), &[], &[]);
        let shown = problems.render(false);
        assert!(shown.contains(part), "{model}\n{shown}");
    }
}

#[test]
fn several_models_of_the_command_name_its_option() {
    let text = "datasets: rows.jsonl\nmodel: ./c.gguf\n";
    let (_, problems) = read(text, &["model=[./a.gguf, ./b.gguf]"], &[]);
    let shown = problems.render(false);
    let expected = "error: `--model` gives 2 models, and this command needs one";
    assert!(
        shown.contains(expected) && shown.contains("choose one with --model: ./a.gguf, ./b.gguf"),
        "{shown}"
    );
    assert!(!shown.contains("--set"), "{shown}");
}

#[test]
fn a_name_that_is_listed_twice_is_refused() {
    let text = "datasets: rows.jsonl\nmodel: ./c.gguf\n";
    let prompts = "prompt: [{prompt_id: a, template: 'A'}, {prompt_id: a, template: 'B'}, 'C']\n";
    let prompted = format!("{text}{prompts}");
    let models = "datasets: rows.jsonl\nmodel: [./a.gguf, ./b.gguf, {name: ./a.gguf, seed: 1}]\n";
    for (text, overrides, part) in [
        (text, &["model=[./a.gguf, ./a.gguf]"][..], "error: `--model` names ./a.gguf twice"),
        (text, &["model=[./a.gguf, ./b.gguf, ./a.gguf]"], "= help: name it once"),
        (text, &["prompt=[brief, brief]"], "error: `--prompt` names brief twice"),
        (prompted.as_str(), &[], "the suite lists the prompt a twice"),
        (prompted.as_str(), &["prompt=a"], "give each prompt its own `prompt_id`"),
        (models, &["model=./a.gguf"], "the suite lists the model ./a.gguf twice"),
    ] {
        let (_, problems) = read(text, overrides, &[]);
        let shown = problems.render(false);
        assert!(shown.contains(part) && !shown.contains("needs one"), "{overrides:?}\n{shown}");
    }
    // The others can be chosen.
    assert_eq!(
        long_form(models, &["model=./b.gguf"], &[])["backends"][0]["config"]["model_path"],
        "./b.gguf"
    );
}

#[test]
fn an_empty_list_of_prompts_is_refused() {
    for (prompt, part) in [
        ("7", "`prompt` must be a string, a mapping, or a list of them, found a number"),
        ("[]", "`prompt` is an empty list, and needs at least one"),
    ] {
        let (_, problems) =
            read(&format!("datasets: rows.jsonl\nmodel: ./c.gguf\nprompt: {prompt}\n"), &[], &[]);
        let shown = problems.render(false);
        assert!(shown.contains(part), "{prompt}\n{shown}");
    }
}

#[test]
fn other_model_replaces_the_backend_of_the_tested_model() {
    let document = long_form(LONG, &["model=x.gguf"], &[]);
    let expected = json!([
        {"backend_id": "server", "type": "openai_http",
         "config": {"base_url": "http://h", "model": "m", "default_params": {"max_new_tokens": 9}}},
        {"backend_id": "model", "type": "llama_cpp",
         "config": {"model_path": "x.gguf", "default_params": {"max_new_tokens": 9}}},
    ]);
    assert_eq!(document["backends"], expected);
    let solver =
        json!({"adapter_id": "solver", "role_type": "dut_model", "prompt_id": "ask", "backend_id": "model"});
    assert_eq!(document["role_adapters"][0], solver);
    assert_eq!(document["role_adapters"][1]["backend_id"], "server");

    // A judge keeps the backend whose id the model would have.
    let document =
        long_form(&LONG.replace("backend_id: server", "backend_id: model"), &["model=x.gguf"], &[]);
    assert_eq!(document["role_adapters"][0]["backend_id"], "model_under_test");
    assert_eq!(document["role_adapters"][1]["backend_id"], "model");

    // Without a judge on the same server, nothing asks the server any more.
    let alone = LONG.replace("  - {adapter_id: judge, role_type: judge_model, backend_id: server}\n", "");
    let document = long_form(&alone.replace("{step: judge}, ", ""), &["model=x.gguf"], &[]);
    let expected = json!([{"backend_id": "model", "type": "llama_cpp",
                           "config": {"model_path": "x.gguf", "default_params": {"max_new_tokens": 9}}}]);
    assert_eq!((&document["backends"], &document["pricing"]), (&expected, &json!([])));
}

#[test]
fn entry_of_a_list_is_chosen_by_its_name() {
    let text = "datasets: rows.jsonl\nmodel: [{name: ./a.gguf, seed: 7}, ./b.gguf]\n\
                prompts: [{prompt_id: brief, template: 'B'}]\nprompt: [brief, 'L: {{ question }}']\n";
    let root = parse_document("suite.yaml", text, None, &mut Problems::default()).expect("a document");
    let known = choices(&root);
    assert_eq!(known.models, ["./a.gguf", "./b.gguf"]);
    assert_eq!(known.prompts, ["brief", "prompt-2"]);

    let document = long_form(text, &["model=./a.gguf", "prompt=prompt-2"], &[]);
    assert_eq!(
        document["backends"][0]["config"],
        json!({"model_path": "./a.gguf", "default_params": {"seed": 7}})
    );
    assert_eq!(document["role_adapters"][0]["prompt_id"], "prompt");
    assert_eq!(document["prompts"][1], json!({"prompt_id": "prompt", "template": "L: {{ question }}"}));

    let document = long_form(text, &["model=./c.gguf", "prompt=brief"], &[]);
    assert_eq!(document["backends"][0]["config"], json!({"model_path": "./c.gguf"}));
    assert_eq!(document["role_adapters"][0]["prompt_id"], "brief");
}

#[test]
fn other_model_keeps_the_sampling_parameters() {
    let text = "datasets: rows.jsonl\nmodel: {name: ./a.gguf, seed: 7, context_length: 64}\n";
    let document = long_form(text, &["model=./b.gguf"], &[]);
    assert_eq!(
        document["backends"][0]["config"],
        json!({"model_path": "./b.gguf", "default_params": {"seed": 7}})
    );
    let document = long_form(SHORT, &["model.temperature=0.5"], &[]);
    assert_eq!(document["backends"][0]["config"]["default_params"], json!({"temperature": 0.5}));
}

#[test]
fn steps_follow_from_the_roles() {
    let without =
        LONG.replace("custom: {steps: [{step: inference}, {step: judge}, {step: auto_eval}]}\n", "");
    assert_eq!(long_form(&without, &[], &[]), long_form(LONG, &[], &[]));
}

#[test]
fn answers_take_the_place_of_the_model() {
    let backend = json!([{"backend_id": "answers", "type": "answers", "config": {"path": "a.jsonl"}}]);
    for (text, overrides) in [
        ("datasets: rows.jsonl\nanswers: a.jsonl\nmetrics: [exact_match]\n", &[][..]),
        ("datasets: rows.jsonl\nanswers: {path: a.jsonl}\nmetrics: [exact_match]\n", &[]),
        (SHORT, &["answers=a.jsonl"]),
        ("datasets: rows.jsonl\nmodel: [./a.gguf, ./b.gguf]\nmetrics: [exact_match]\n", &["answers=a.jsonl"]),
        ("datasets: rows.jsonl\nmetrics: [exact_match]\n", &["answers=a.jsonl"]),
    ] {
        let document = long_form(text, overrides, &[]);
        assert_eq!(document["backends"], backend, "{text}");
        assert_eq!(document["role_adapters"][0]["backend_id"], "answers", "{text}");
        assert_eq!(document["custom"]["steps"][0]["step"], "inference", "{text}");
    }
    // A model of the command line replaces the answers of the suite.
    let document = long_form("datasets: rows.jsonl\nanswers: a.jsonl\n", &["model=./m.gguf"], &[]);
    assert_eq!(document["backends"][0]["type"], "llama_cpp");
    // The judge keeps its server.
    let document = long_form(LONG, &["answers=a.jsonl"], &[]);
    assert_eq!(document["backends"][0]["backend_id"], "server");
    assert_eq!(document["backends"][1], backend[0]);
    // A setting of the backend is an override of its id.
    let document = long_form(SHORT, &["answers=a.jsonl", "backends.answers.config.match_by=order"], &[]);
    assert_eq!(document["backends"][0]["config"], json!({"path": "a.jsonl", "match_by": "order"}));
}

#[test]
fn suite_that_only_scores_takes_answers() {
    let text = "datasets: rows.jsonl\nmetrics: [exact_match]\ncustom: {steps: [{step: auto_eval}]}\n";
    let document = long_form(text, &["answers=a.jsonl"], &[]);
    assert_eq!(document["custom"]["steps"], json!([{"step": "inference"}, {"step": "auto_eval"}]));
    let (_, problems) = read(&format!("{text}model: ./m.gguf\n"), &[], &[]);
    assert!(problems.render(false).contains("--answers FILE"), "{}", problems.render(false));
}

#[test]
fn wrong_answers_are_errors_with_the_forms() {
    for (lines, part) in [
        ("answers: 7", "must be a string or a mapping, found a number"),
        ("answers: a.eval", "inspect log dump"),
        ("answers: {answer_field: x}", "path"),
        ("answers: a.jsonl\nmodel: ./m.gguf", "both `model` and `answers`"),
        ("answers: {path: a.jsonl, match_by: order, id_field: x}", "has no effect"),
    ] {
        let (_, problems) = read(&format!("datasets: rows.jsonl\n{lines}\n"), &[], &[]);
        let shown = problems.render(false);
        assert!(problems.has_errors() && shown.contains(part), "{lines}\n{shown}");
    }
}

#[test]
fn likelihoods_are_asked_for_with_echo() {
    let steps = |request: &str| format!("custom: {{steps: [{{step: inference, request: {request}}}]}}\n");
    let given = "model: {name: 'openai:m@http://h/v1', loglikelihood: prompt_logprobs}\n";
    for (model, steps, expected) in [
        ("model: openai:m@http://h/v1\n", steps("loglikelihood"), json!("echo")),
        ("model: openai:m@http://h/v1\n", steps("rolling_loglikelihood"), json!("echo")),
        ("model: openai:m@http://h/v1\n", steps("generate"), Value::Null),
        (given, steps("loglikelihood"), json!("prompt_logprobs")),
        ("model: ./m.gguf\n", steps("loglikelihood"), Value::Null),
    ] {
        let document = long_form(&format!("datasets: rows.jsonl\n{model}{steps}"), &[], &[]);
        assert_eq!(document["backends"][0]["config"]["loglikelihood"], expected, "{model}{steps}");
    }
}

#[test]
fn suite_chooses_the_template_unless_the_model_does() {
    let none = "custom: {chat_template: none}\n";
    for (text, overrides, expected) in [
        (format!("datasets: rows.jsonl\nmodel: ./m.gguf\n{none}"), &[][..], json!("none")),
        (format!("{SHORT}{none}"), &[], json!("none")),
        (format!("{SHORT}{none}"), &["model.chat_template=model"], json!("model")),
        (format!("{SHORT}{none}"), &["custom.chat_template=model"], Value::Null),
        (format!("{SHORT}{none}"), &["model=anthropic:c"], Value::Null),
        (SHORT.to_owned(), &["custom.chat_template=none"], json!("none")),
        (SHORT.to_owned(), &[], Value::Null),
    ] {
        let document = long_form(&text, overrides, &[]);
        assert_eq!(document["backends"][0]["config"]["chat_template"], expected, "{text}{overrides:?}");
    }
    // A judge on the same server keeps its template.
    let shared = LONG.replace("custom: {", "custom: {chat_template: none, ");
    let (config, problems) = read(&shared, &[], &[]);
    let document = config.expect("a suite").document;
    assert_eq!(document["backends"][0]["config"]["chat_template"], Value::Null);
    let shown = problems.render(false);
    assert!(shown.contains("the backend `server` keeps its chat template"), "{shown}");
    let (_, problems) = read(&format!("{SHORT}custom: {{chat_template: jinja}}\n"), &[], &[]);
    assert!(problems.render(false).contains("`jinja` is not a known value of `chat_template`"));
}
