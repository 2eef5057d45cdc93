//! Suites in YAML, and suites of the older program that are imported.

use crate::fuzz_input::FuzzInput;
use crate::{Target, Verdict, mutation};
use gage_config::{Environment, Problems, load, load_recorded, parse_document};
use gage_import::import_gage;
use proptest::strategy::BoxedStrategy;

/// Suites.
pub const SUITES: Target =
    Target { name: "suites", cases: 800, seeds: suite_seeds, inputs: suite_inputs, check: check_suite };

/// Suites of the older program.
pub const IMPORTS: Target =
    Target { name: "imports", cases: 500, seeds: import_seeds, inputs: import_inputs, check: check_import };

const TOKENS: &[&str] = &[
    "\n",
    "\n  ",
    "\n- ",
    "  - ",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "\"",
    "'",
    "|-\n",
    ">\n",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "!!int ",
    "? ",
    "# ",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "null",
    "~",
    "true",
    "1e400",
    "0x",
    "${A}",
    "${N:-4}",
    "${A:-",
    "${A:?no}",
    "$${A}",
    "${",
    "dataset_id: d",
    "backend_id: b",
    "metric: m",
    "steps:",
    "a: &a [*a, *a]\n",
    "\t",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "é",
    "\\u0000",
    "\\x41",
];

/// A suite with most sections. Without keys of secrets: these would be marked for the whole process.
const SUITE: &str = r#"api_version: gage/v1alpha1
kind: PipelineConfig
metadata: {name: fuzzed, description: "a \"suite\""}
datasets:
  - dataset_id: d
    loader: jsonl
    params: &params
      path: ${A:-rows.jsonl}
      limit: ${N}
      preprocess: [{name: default, kwargs: {trim: true}}]
      filter: {subject: [law, 7]}
  - {dataset_id: e, loader: csv, params: {path: ['a.csv', 'b.csv'], columns: [q, a]}}
backends:
  - backend_id: b
    type: openai_http
    config: {base_url: 'http://localhost:8000/v1', model: m, max_concurrency: 4, default_params: {temperature: 0}}
prompts:
  - prompt_id: p
    messages:
      - {role: system, content: 'Be {{ params.tone }}.'}
      - {role: user, content: "{{ sample.id }}\n{{ row.q }}"}
    params: {tone: brief}
role_adapters:
  - {adapter_id: r, role_type: dut_model, backend_id: b, prompt_id: p}
  - {adapter_id: j, role_type: judge_model, backend_id: b}
metrics:
  - exact_match
  - {metric_id: pass, implementation: pass_at_k, params: {k: 1}, aggregation: {pass_rate: {threshold: 0.5}}}
custom:
  steps: [{step: inference}, {step: judge, judge: verdict}, {step: extract, extractors: [last_number]}, {step: auto_eval}]
tasks:
  - {task_id: t, dataset_id: d, sampling_params: {max_new_tokens: 16}}
  - task_id: u
    dataset_id: e
gate:
  - {metric: exact_match, margin: 0.02}
budget: {max_cost: 10, max_time: 1h}
cache: {path: cache, size: 1GiB}
pricing: [{backend_id: b, prompt: 1, completion: 2.5}]
"#;

const MINIMAL_SUITE: &str = r#"{"api_version": "gage/v1alpha1", "kind": "PipelineConfig",
"datasets": [{"dataset_id": "d", "loader": "jsonl", "params": {"path": "rows.jsonl"}}],
"backends": [{"backend_id": "b", "type": "llama_cpp", "config": {"model_path": "m.gguf"}}],
"role_adapters": [{"adapter_id": "r", "role_type": "dut_model", "backend_id": "b"}],
"metrics": ["latency"], "custom": {"steps": [{"step": "inference"}, {"step": "auto_eval"}]}}"#;

const OLD_SUITE: &str = "\
api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - dataset_id: rows
    loader: jsonl
    params:
      path: ${ROOT:-./data}/rows.jsonl
      doc_to_visual: gage_eval.assets.datasets.converters.image_utils:embed_local_message_images
      doc_to_visual_kwargs: {content_field: messages.0.content}
backends:
  - {backend_id: engine, type: vllm, config: {model_path: small, dtype: bfloat16}}
role_adapters:
  - {adapter_id: dut, role_type: dut_model, backend_id: engine, concurrency: 2, capabilities: [vision_chat]}
metrics:
  - exact_match
  - metric_id: acc
    implementation: mmmu_accuracy
    params: {option_label_re: '^[A-D]$'}
custom: {steps: [{step: inference}, {step: auto_eval}]}
reporting: {sinks: []}
";

fn suite_seeds() -> Vec<Vec<u8>> {
    [SUITE, MINIMAL_SUITE].iter().map(|suite| suite.as_bytes().to_vec()).collect()
}

fn suite_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(suite_seeds(), TOKENS)
}

fn import_seeds() -> Vec<Vec<u8>> {
    [OLD_SUITE, SUITE].iter().map(|suite| suite.as_bytes().to_vec()).collect()
}

fn import_inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(import_seeds(), TOKENS)
}

fn variable(name: &str) -> Option<String> {
    match name {
        "A" => Some("rows.jsonl".to_owned()),
        "N" => Some("3".to_owned()),
        _ => None,
    }
}

/// Shows problems as a command does, and checks that each error has a text.
fn check_problems(problems: &Problems) -> Result<(), String> {
    let _ = (problems.render(false), problems.to_json(), problems.counts());
    match problems.sorted().iter().any(|problem| problem.message.is_empty()) {
        true => Err("a problem without a message".to_owned()),
        false => Ok(()),
    }
}

/// A suite is read or refused. The document of one without errors is read again, as when its run is compared.
fn check_suite(input: &[u8]) -> Result<Verdict, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let (config, problems) = load("suite.yaml", text, &["metadata.tag=fuzzed".to_owned()], &environment);
    check_problems(&problems)?;
    let Some(config) = config.filter(|_| !problems.has_errors()) else { return Ok(Verdict::Refused) };
    match load_recorded(&config.document) {
        Some(_) => Ok(Verdict::Accepted),
        None => Err(format!("its document is not read again: {}", config.document)),
    }
}

/// Checks that an import is a YAML document.
fn check_import(input: &[u8]) -> Result<Verdict, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    match import_gage("old.yaml", text) {
        Err(problems) => check_problems(&problems).map(|()| Verdict::Refused),
        Ok(import) => {
            let mut problems = Problems::default();
            let document = parse_document("new.yaml", &import.suite, None, &mut problems);
            match document.is_some() && !problems.has_errors() {
                true => Ok(Verdict::Accepted),
                false => Err(format!("{}\n{}", problems.render(false), import.suite)),
            }
        }
    }
}
