//! The share of the reference's words that the answer contains: the metric of the templates, written directly
//! against the contract in `wit/`. Any language with WIT bindings can do the same.

use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

wit_bindgen::generate!({ path: "../../../wit", world: "metric-plugin", generate_all });

use exports::gage::plugin::metric::{
    Guest, InputSpec, Item, MetricSpec, PluginError, PluginInfo, ScoreCard, ValueSpec,
};
use gage::plugin::types::{ErrorKind, SubScore, Value, ValueKind};

const NAME: &str = "word_recall";

struct WordRecall;

impl Guest for WordRecall {
    fn describe() -> PluginInfo {
        PluginInfo {
            name: "word-recall".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: "Whether an answer says what its reference says".to_owned(),
            extra: "{}".to_owned(),
        }
    }

    fn metrics() -> Vec<MetricSpec> {
        let properties = json!({ "case_sensitive": { "type": "boolean", "default": false } });
        let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
        vec![MetricSpec {
            name: NAME.to_owned(),
            description: "Share of the reference's words that the answer contains".to_owned(),
            scorer_version: "1".to_owned(),
            inputs: vec![
                input("prediction", "prediction_field", "model_output.answer"),
                input("reference", "label_field", "sample.label"),
            ],
            values: vec![value("score", Some(1.0)), value("found", None), value("wanted", None)],
            default_aggregation: "mean".to_owned(),
            params_schema: schema.to_string(),
        }]
    }

    fn check(metric: String, params: String) -> Result<(), PluginError> {
        is_case_sensitive(&metric, &params).map(drop)
    }

    fn score(metric: String, params: String, items: Vec<Item>) -> Vec<Result<ScoreCard, PluginError>> {
        match is_case_sensitive(&metric, &params) {
            Ok(case_sensitive) => items.iter().map(|item| Ok(score(&item.inputs, case_sensitive))).collect(),
            Err(error) => items.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

export!(WordRecall);

fn input(name: &str, path_param: &str, default_path: &str) -> InputSpec {
    InputSpec {
        name: name.to_owned(),
        path_params: vec![path_param.to_owned()],
        default_paths: vec![default_path.to_owned()],
        kind: ValueKind::Text,
    }
}

fn value(name: &str, maximum: Option<f64>) -> ValueSpec {
    ValueSpec { name: name.to_owned(), higher_is_better: true, minimum: Some(0.0), maximum }
}

/// Returns the only parameter. The host has already checked it against the schema.
fn is_case_sensitive(metric: &str, params: &str) -> Result<bool, PluginError> {
    let error = |kind, message| PluginError { kind, message, pointer: None, retryable: false };
    if metric != NAME {
        return Err(error(ErrorKind::Unsupported, format!("no metric '{metric}' in this component")));
    }
    let params: Json = serde_json::from_str(params).map_err(|parse_error| {
        error(ErrorKind::InvalidConfig, format!("the parameters are not JSON: {parse_error}"))
    })?;
    Ok(params["case_sensitive"].as_bool().unwrap_or(false))
}

/// Scores one item. Its inputs are in the declared order.
fn score(inputs: &[Value], case_sensitive: bool) -> ScoreCard {
    let text = |index: usize| match inputs.get(index) {
        Some(Value::Text(text)) if case_sensitive => text.clone(),
        Some(Value::Text(text)) => text.to_lowercase(),
        _ => String::new(),
    };
    let (prediction, reference) = (without_thoughts(text(0)), text(1));
    let given: BTreeSet<&str> = prediction.split_whitespace().collect();
    let wanted: BTreeSet<&str> = reference.split_whitespace().collect();
    let mut card = ScoreCard {
        primary_score: None,
        pass: None,
        sub_scores: Vec::new(),
        error_tags: Vec::new(),
        explain: None,
        detail: "{}".to_owned(),
    };
    if wanted.is_empty() {
        card.explain = Some("the reference has no words".to_owned());
        return card;
    }
    let found = wanted.intersection(&given).count();
    let sub_score = |name: &str, value: usize| SubScore { name: name.to_owned(), value: value as f64 };
    card.primary_score = Some(found as f64 / wanted.len() as f64);
    card.pass = Some(found == wanted.len());
    card.sub_scores = vec![sub_score("found", found), sub_score("wanted", wanted.len())];
    if found < wanted.len() {
        card.error_tags.push("missing_words".to_owned());
    }
    card
}

/// Removes the spans between `<think>` and `</think>`; an unclosed one extends to the end.
fn without_thoughts(text: String) -> String {
    let mut kept = String::new();
    let mut rest = text.as_str();
    while let Some((before, thought)) = rest.split_once("<think>") {
        kept.push_str(before);
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    // A closing tag alone ends a thought that began before the text.
    kept.push_str(rest);
    kept.rsplit_once("</think>").map_or(kept.as_str(), |(_, answer)| answer).to_owned()
}
