//! The components, and the costs of their members.

use crate::document::{Kind, MemberCosts, MemberRequest};
use crate::inputs;
use crate::measure::measure;
use gage_sdk::bindings::metric::exports::gage::plugin::metric::Guest as MetricGuest;
use gage_sdk::bindings::preprocessor::exports::gage::plugin::preprocessor::{
    Guest as PreprocessorGuest, Outcome, RawRow,
};
use gage_sdk::metric::{Item, MetricSpec};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard};
use std::time::Duration;

/// The exports of a component with metrics.
struct MetricPlugin {
    name: &'static str,
    metrics: fn() -> Vec<MetricSpec>,
    score: fn(String, String, Vec<Item>) -> Vec<Result<ScoreCard, PluginError>>,
}

macro_rules! metric_plugins {
    ($($name:literal: $plugin:ident),+ $(,)?) => {
        [$(MetricPlugin {
            name: $name,
            metrics: <$plugin::NativeComponent as MetricGuest>::metrics,
            score: <$plugin::NativeComponent as MetricGuest>::score,
        }),+]
    };
}

const METRIC_PLUGINS: [MetricPlugin; 12] = metric_plugins!(
    "answer": gage_plugin_answer,
    "choice": gage_plugin_choice,
    "instruction": gage_plugin_instruction,
    "list": gage_plugin_list,
    "math": gage_plugin_math,
    "number": gage_plugin_number,
    "overlap": gage_plugin_overlap,
    "reasoning": gage_plugin_reasoning,
    "score": gage_plugin_score,
    "text": gage_plugin_text,
    "timing": gage_plugin_timing,
    "trajectory": gage_plugin_trajectory,
);

/// Measures a member.
///
/// # Errors
/// If there is no such member, or an item ends in an error.
pub(crate) fn costs(request: &MemberRequest, time: Duration) -> Result<MemberCosts, String> {
    match request.kind {
        Kind::Metric => metric_costs(request, time),
        Kind::Preprocessor => preprocessor_costs(request, time),
    }
}

fn metric_costs(request: &MemberRequest, time: Duration) -> Result<MemberCosts, String> {
    let plugin = METRIC_PLUGINS.iter().find(|plugin| plugin.name == request.plugin);
    let plugin = plugin.ok_or_else(|| format!("the component '{}' has no metrics", request.plugin))?;
    let specs = (plugin.metrics)();
    let spec = specs.iter().find(|spec| spec.name == request.member).ok_or("there is no such metric")?;
    let items = request.items.iter().map(|values| inputs::item(&spec.inputs, values));
    let items = items.collect::<Result<Vec<Item>, String>>()?;
    call_costs(request, time, &items, plugin.score, |card| Ok(card.primary_score.into()))
}

fn preprocessor_costs(request: &MemberRequest, time: Duration) -> Result<MemberCosts, String> {
    if request.plugin != "preprocess" {
        return Err(format!("the component '{}' has no preprocessors", request.plugin));
    }
    let row = |(index, body): (u64, &Value)| match body {
        Value::String(body) => Ok(RawRow { dataset: "rows".to_owned(), index, body: body.clone() }),
        other => Err(format!("a row must be a text, found {other}")),
    };
    let rows = (0..).zip(&request.items).map(row).collect::<Result<Vec<RawRow>, String>>()?;
    let convert = <gage_plugin_preprocess::NativeComponent as PreprocessorGuest>::convert;
    call_costs(request, time, &rows, convert, |outcome| match outcome {
        Outcome::Sample(text) => Ok(text.into()),
        Outcome::Skip(reason) => Err(format!("a row is skipped: {reason}")),
    })
}

/// Calls an export with a batch.
fn call_costs<I: Clone, R>(
    request: &MemberRequest,
    time: Duration,
    items: &[I],
    call: fn(String, String, Vec<I>) -> Vec<Result<R, PluginError>>,
    result: impl Fn(R) -> Result<Value, String>,
) -> Result<MemberCosts, String> {
    let prepare = || (request.member.clone(), request.params.clone(), items.to_vec());
    let call = |(member, params, items)| call(member, params, items);
    let checked = |(index, output): (usize, Result<R, PluginError>)| {
        let output = output.map_err(|error| error.message).and_then(&result);
        output.map_err(|message| format!("item {index}: {message}"))
    };
    let results = call(prepare()).into_iter().enumerate().map(checked).collect::<Result<Vec<_>, String>>()?;
    if results.is_empty() {
        return Err("no items are given".to_owned());
    }
    let timing = measure(time, prepare, call);
    // Batches are far smaller than 2^53.
    let count = items.len() as f64;
    Ok(MemberCosts {
        plugin: request.plugin.clone(),
        member: request.member.clone(),
        median_s: timing.median / count,
        least_s: timing.least / count,
        results,
    })
}
