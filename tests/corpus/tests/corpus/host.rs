//! Runs members of the corpus in the real host.

use gage_config::PluginLimits;
use gage_core::{EvalContext, Outcome};
use gage_plugin::{
    BackendPluginComponent, ConfiguredMember, GenerateRequest, HostOptions, InstanceSetup, ItemError,
    LoadError, LoglikelihoodRequest, MediaSet, Message, Metric, MetricComponent, PluginComponent, PluginHost,
    PreprocessorComponent, PreprocessorOutput, RawRow, Role,
};
use gage_test_corpus::{Kind, Member};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// End of a component.
#[derive(Clone, Debug, PartialEq)]
pub enum CallEnd {
    /// Failed to load.
    Load(String),
    /// Failed while its parameters were checked.
    Check(String),
    /// Ended with an item that has no result.
    Item(Outcome, String),
    /// Returned this score; 1 for anything other than a metric.
    Score(f64),
}

pub fn host() -> PluginHost {
    PluginHost::new(&HostOptions::default()).expect("an engine")
}

/// Returns limits with less fuel than usual, so that loops end soon, and more time, so that fuel ends them. The memory
/// is the same for all, including those that import WASI.
pub fn setup() -> InstanceSetup {
    InstanceSetup::with_limits(PluginLimits {
        memory_bytes: Some(64 << 20),
        table_elements: Some(20_000),
        fuel_per_item: Some(100_000_000),
        wall_time: Some(Duration::from_secs(5)),
        ..PluginLimits::default()
    })
}

/// Loads a member, uses it once, and returns how that ended.
pub fn run(host: &PluginHost, member: &Member) -> CallEnd {
    let ended = match member.kind {
        Kind::Metric => metric(host, member.name, &member.bytes, json!({})).map(|metric| score(&metric)),
        Kind::Preprocessor => convert(host, member.name, &member.bytes),
        Kind::Backend => answer(host, member.name, &member.bytes),
    };
    ended.unwrap_or_else(|ended| ended)
}

fn failed(error: ItemError) -> CallEnd {
    CallEnd::Item(error.outcome, error.message)
}

fn first<T>(results: Vec<Result<T, ItemError>>) -> Result<T, CallEnd> {
    assert_eq!(results.len(), 1, "one result for one item");
    results.into_iter().next().expect("there is one").map_err(failed)
}

/// Loads a metric.
pub fn load(host: &PluginHost, name: &str, bytes: &[u8]) -> Result<Arc<MetricComponent>, CallEnd> {
    Ok(Arc::new(loaded(MetricComponent::load(host, name, bytes, &setup()))?))
}

/// Loads a metric with parameters.
pub fn metric(host: &PluginHost, name: &str, bytes: &[u8], params: Value) -> Result<Metric, CallEnd> {
    configured(&load(host, name, bytes)?, params)
}

/// Configures the only member of a family with parameters.
pub fn configured<K: gage_plugin::PluginKind>(
    family: &Arc<PluginComponent<K>>,
    params: Value,
) -> Result<ConfiguredMember<K>, CallEnd> {
    family.configure(None, params).map_err(|problems| CallEnd::Check(format!("{problems:?}")))
}

fn loaded<T>(family: Result<T, LoadError>) -> Result<T, CallEnd> {
    family.map_err(|error| CallEnd::Load(error.message))
}

/// Scores one item.
pub fn score(metric: &Metric) -> CallEnd {
    let output = json!({"answer": "yes"});
    let roots = EvalContext {
        sample: (&Value::Null).into(),
        model_output: (&output).into(),
        judge_output: &Value::Null,
        support_output: &Value::Null,
    };
    match first(metric.score(vec![metric.resolve("1", roots)]).results) {
        Ok(card) => CallEnd::Score(card.primary_score.unwrap_or(f64::NAN)),
        Err(ended) => ended,
    }
}

fn convert(host: &PluginHost, name: &str, bytes: &[u8]) -> Result<CallEnd, CallEnd> {
    let family = Arc::new(loaded(PreprocessorComponent::load(host, name, bytes, &setup()))?);
    let preprocessor = configured(&family, json!({}))?;
    let row = RawRow { dataset: "data".to_owned(), index: 0, body: "{}".to_owned() };
    match first(preprocessor.convert(&[row]))? {
        PreprocessorOutput::Sample(text) => Ok(text.parse().map_or_else(failed, |_| CallEnd::Score(1.0))),
        PreprocessorOutput::Skipped(_) => Ok(CallEnd::Score(1.0)),
    }
}

fn answer(host: &PluginHost, name: &str, bytes: &[u8]) -> Result<CallEnd, CallEnd> {
    let family = Arc::new(loaded(BackendPluginComponent::load(host, name, bytes, &setup()))?);
    let backend = configured(&family, json!({}))?;
    let message = || Message { role: Role::User, content: "yes or no?".to_owned(), extra: "{}".to_owned() };
    let scored = LoglikelihoodRequest {
        id: "1".to_owned(),
        messages: vec![message()],
        continuations: vec!["yes".to_owned()],
    };
    let asked = GenerateRequest { id: "1".to_owned(), messages: vec![message()], params: "{}".to_owned() };
    first(backend.loglikelihood(&[scored]))?;
    first(backend.generate(&[asked], MediaSet::default()))?;
    Ok(CallEnd::Score(1.0))
}
