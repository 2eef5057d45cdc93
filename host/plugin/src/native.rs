//! Metrics that run outside the sandbox, in their author's interpreter. Declarations, inputs and results are those of a
//! component, as JSON, and are checked by the same code.

use crate::batch::ItemError;
use crate::bindings::metric_exports::{MetricSpec, ValueSpec};
use crate::bindings::types::{
    ErrorKind, InputSpec, Item, PluginError, ScoreCard as GuestCard, SubScore, Value as GuestValue, ValueKind,
};
use crate::component_members::{Member, member_index, read_members};
use crate::inputs::{Inputs, MetricItem, with_sound_items};
use crate::kinds::metric::{MetricKind, declared};
use crate::limits::Limits;
use crate::member_description::MemberDescription;
use crate::validate_output;
use crate::world::World;
use gage_core::{EvalContext, FieldError, Object, ScoreCard};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The metrics of a program outside the sandbox.
pub struct NativeMetrics {
    descriptions: Vec<MemberDescription>,
    members: Vec<Member<MetricKind>>,
    limits: Limits,
}

/// A native metric with its parameters, ready to score.
pub struct NativeMetric {
    metrics: Arc<NativeMetrics>,
    index: usize,
    inputs: Inputs,
    params: String,
}

#[derive(Deserialize)]
struct Declaration {
    name: String,
    description: String,
    version: String,
    inputs: Vec<DeclaredInput>,
    values: Vec<DeclaredValue>,
    default_aggregation: String,
    params_schema: String,
}

#[derive(Deserialize)]
struct DeclaredInput {
    name: String,
    path_params: Vec<String>,
    default_paths: Vec<String>,
    kind: String,
}

#[derive(Deserialize)]
struct DeclaredValue {
    name: String,
    higher_is_better: bool,
    minimum: Option<f64>,
    maximum: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Ok(Value),
    Error(ReplyError),
}

#[derive(Deserialize)]
struct ReplyError {
    kind: String,
    message: String,
    #[serde(default)]
    pointer: Option<String>,
}

#[derive(Deserialize)]
struct ReplyCard {
    #[serde(default)]
    primary_score: Value,
    #[serde(default)]
    pass: Option<bool>,
    sub_scores: Vec<ReplySubScore>,
    error_tags: Vec<String>,
    #[serde(default)]
    explain: Option<String>,
    detail: String,
}

#[derive(Deserialize)]
struct ReplySubScore {
    name: String,
    value: Value,
}

impl NativeMetrics {
    /// Reads the declarations of a program: a list of metrics.
    ///
    /// # Errors
    /// If a component with these declarations would be refused.
    pub fn read(declarations: Value) -> Result<NativeMetrics, String> {
        let declarations: Vec<Declaration> = serde_json::from_value(declarations)
            .map_err(|error| format!("its declarations cannot be read: {error}"))?;
        let specs: Result<Vec<MetricSpec>, String> = declarations.into_iter().map(spec_of).collect();
        let limits = Limits::of_interpreter();
        let (descriptions, members) = read_members(specs?.into_iter().map(declared).collect(), &limits)?;
        Ok(NativeMetrics { descriptions, members, limits })
    }

    /// Configures one of the metrics, or the only one if no name is given. The program has not checked the parameters yet.
    ///
    /// # Errors
    /// All problems with the name and the parameters. Pointers refer to `params`.
    pub fn configure(
        self: &Arc<NativeMetrics>,
        name: Option<&str>,
        params: Value,
    ) -> Result<NativeMetric, Vec<FieldError>> {
        let index = member_index(World::Metric, &self.descriptions, name)?;
        let (inputs, own) = self.members[index].split(params, World::Metric)?;
        let params = Value::Object(own).to_string();
        Ok(NativeMetric { metrics: Arc::clone(self), index, inputs, params })
    }
}

impl NativeMetric {
    /// Returns the metric's description.
    pub fn description(&self) -> &MemberDescription {
        &self.metrics.descriptions[self.index]
    }

    /// Returns the parameters for the program, as JSON.
    pub fn params(&self) -> &str {
        &self.params
    }

    /// Reads the program's reply to a check of the parameters.
    ///
    /// # Errors
    /// The problem with the parameters.
    pub fn checked(&self, reply: Value) -> Result<(), Vec<FieldError>> {
        self.read_reply(reply).map(drop).map_err(|error| {
            vec![FieldError { pointer: error.pointer.unwrap_or_default(), message: error.message }]
        })
    }

    /// Resolves the inputs of one sample.
    pub fn resolve(&self, sample_id: &str, roots: EvalContext<'_>) -> MetricItem {
        let inputs = self.inputs.resolve(&self.description().name, sample_id, roots);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Takes the inputs by name, without a sample.
    pub fn item(&self, sample_id: &str, values: &Object) -> MetricItem {
        let inputs = self.inputs.by_name(values);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Scores a batch with a call of the program, which replies to each item. Its failure is that of all items.
    pub fn score(
        &self,
        items: Vec<MetricItem>,
        call: impl FnOnce(Vec<Value>) -> Result<Vec<Value>, ItemError>,
    ) -> Vec<Result<ScoreCard, ItemError>> {
        with_sound_items(items, |sound| {
            let count = sound.len();
            if count == 0 {
                return Vec::new();
            }
            let replies = call(sound.iter().map(item_to_json).collect()).and_then(|replies| {
                match replies.len() == count {
                    true => Ok(replies),
                    false => {
                        let message = format!("returned {} results for {count} items", replies.len());
                        Err(ItemError::new("trap", message))
                    }
                }
            });
            match replies {
                Ok(replies) => replies.into_iter().map(|reply| self.card(reply)).collect(),
                Err(error) => (0..count).map(|_| Err(error.clone())).collect(),
            }
        })
    }

    fn card(&self, reply: Value) -> Result<ScoreCard, ItemError> {
        let card: ReplyCard =
            serde_json::from_value(self.read_reply(reply)?).map_err(|error| unreadable(&error))?;
        let sub_score =
            |sub_score: ReplySubScore| SubScore { name: sub_score.name, value: number(&sub_score.value) };
        let card = GuestCard {
            primary_score: (!card.primary_score.is_null()).then(|| number(&card.primary_score)),
            pass: card.pass,
            sub_scores: card.sub_scores.into_iter().map(sub_score).collect(),
            error_tags: card.error_tags,
            explain: card.explain,
            detail: card.detail,
        };
        let card = validate_output::card(card, &self.metrics.limits)?;
        validate_output::within_bounds(&card, &self.description().values)?;
        Ok(card)
    }

    fn read_reply(&self, reply: Value) -> Result<Value, ItemError> {
        match serde_json::from_value::<Reply>(reply).map_err(|error| unreadable(&error))? {
            Reply::Ok(value) => Ok(value),
            Reply::Error(ReplyError { kind, message, pointer }) => {
                let error = PluginError { kind: error_kind(&kind), message, pointer, retryable: false };
                Err(validate_output::error(error, &self.metrics.limits))
            }
        }
    }
}

fn unreadable(error: &serde_json::Error) -> ItemError {
    ItemError::new("invalid_result", format!("the result cannot be read: {error}"))
}

/// Reads a number. JSON has none for infinity, so that a program writes it as a text, like everything that is no number.
fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) if text == "Infinity" => f64::INFINITY,
        Value::String(text) if text == "-Infinity" => f64::NEG_INFINITY,
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}

fn spec_of(declaration: Declaration) -> Result<MetricSpec, String> {
    let input = |input: DeclaredInput| {
        let kind = match input.kind.as_str() {
            "any" => ValueKind::Any,
            "text" => ValueKind::Text,
            "number" => ValueKind::Number,
            "texts" => ValueKind::Texts,
            "json" => ValueKind::Json,
            other => return Err(format!("the input '{}' has the unknown kind '{other}'", input.name)),
        };
        let DeclaredInput { name, path_params, default_paths, .. } = input;
        Ok(InputSpec { name, path_params, default_paths, kind })
    };
    let value = |value: DeclaredValue| ValueSpec {
        name: value.name,
        higher_is_better: value.higher_is_better,
        minimum: value.minimum,
        maximum: value.maximum,
    };
    Ok(MetricSpec {
        name: declaration.name,
        description: declaration.description,
        scorer_version: declaration.version,
        inputs: declaration.inputs.into_iter().map(input).collect::<Result<_, String>>()?,
        values: declaration.values.into_iter().map(value).collect(),
        default_aggregation: declaration.default_aggregation,
        params_schema: declaration.params_schema,
    })
}

fn error_kind(name: &str) -> ErrorKind {
    match name.replace('-', "_").as_str() {
        "invalid_config" => ErrorKind::InvalidConfig,
        "invalid_input" => ErrorKind::InvalidInput,
        "missing_field" => ErrorKind::MissingField,
        "unsupported" => ErrorKind::Unsupported,
        "denied" => ErrorKind::Denied,
        "limit_exceeded" => ErrorKind::LimitExceeded,
        "upstream" => ErrorKind::Upstream,
        _ => ErrorKind::Internal,
    }
}

fn item_to_json(item: &Item) -> Value {
    let value = |value: &GuestValue| match value {
        GuestValue::Absent => json!({"tag": "absent"}),
        GuestValue::Text(text) => json!({"tag": "text", "val": text}),
        GuestValue::Number(number) => json!({"tag": "number", "val": number}),
        GuestValue::Boolean(boolean) => json!({"tag": "boolean", "val": boolean}),
        GuestValue::Texts(texts) => json!({"tag": "texts", "val": texts}),
        GuestValue::Json(text) => json!({"tag": "json", "val": text}),
    };
    json!({"sample_id": item.sample_id, "inputs": item.inputs.iter().map(value).collect::<Vec<Value>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics() -> Arc<NativeMetrics> {
        let input = |name: &str, kind: &str| json!({"name": name, "path_params": [], "default_paths": [], "kind": kind});
        let declarations = json!([{
            "name": "recall",
            "description": "Share of words.",
            "version": "1",
            "inputs": [input("prediction", "text"), input("reference", "any")],
            "values": [{"name": "score", "higher_is_better": true, "minimum": 0, "maximum": 1}],
            "default_aggregation": "mean",
            "params_schema": r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": false}"#,
        }]);
        Arc::new(NativeMetrics::read(declarations).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Scores one item with a program that gives this reply.
    fn scored(reply: &Value) -> Result<Option<f64>, String> {
        let metric = metrics().configure(None, json!({})).unwrap_or_else(|problems| panic!("{problems:?}"));
        let values =
            Object::from_iter([("prediction".to_owned(), json!(3)), ("reference".to_owned(), json!([1]))]);
        let items = vec![metric.item("q1", &values)];
        let mut results = metric.score(items, |items| {
            let inputs = json!([{"tag": "text", "val": "3"}, {"tag": "json", "val": "[1]"}]);
            assert_eq!(items, [json!({"sample_id": "q1", "inputs": inputs})]);
            Ok(vec![reply.clone()])
        });
        let result = results.pop().expect("a result");
        result.map(|card| card.primary_score).map_err(|error| format!("{}: {}", error.kind, error.message))
    }

    #[test]
    fn replies_are_checked_like_results_of_components() {
        let card = |score: Value| json!({"ok": {"primary_score": score, "sub_scores": [], "error_tags": [], "detail": "{}"}});
        assert_eq!(scored(&card(json!(0.5))), Ok(Some(0.5)));
        assert_eq!(scored(&card(Value::Null)), Ok(None));
        for (reply, expected) in [
            (card(json!("NaN")), "invalid_result: the primary score is NaN"),
            (card(json!("-Infinity")), "invalid_result: the primary score is -inf"),
            (card(json!(2)), "invalid_result: the value 'score' is 2"),
            (json!({"ok": {"detail": "{}"}}), "invalid_result: the result cannot be read: missing field"),
            (json!({"error": {"kind": "invalid-input", "message": "no"}}), "invalid_input: no"),
            (json!([]), "invalid_result: the result cannot be read"),
        ] {
            let error = scored(&reply).expect_err(expected);
            assert!(error.starts_with(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn parameters_and_names_are_checked() {
        let metrics = metrics();
        let problem = |name: Option<&str>, params: Value| {
            metrics.configure(name, params).err().map(|problems| problems[0].to_string()).unwrap_or_default()
        };
        assert_eq!(problem(Some("recall"), json!({"n": 1})), "");
        assert!(problem(None, json!({"n": "x"})).contains("is not of type"));
        assert!(problem(Some("other"), json!({})).contains("no metric 'other'; it has recall"));
        assert!(NativeMetrics::read(json!([])).is_err_and(|error| error == "it has no metric"));
    }
}
