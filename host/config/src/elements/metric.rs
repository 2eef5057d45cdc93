//! `metrics[]` and `metric_overrides[]`: the metrics that score answers.
//!
//! An entry is one of
//!
//! ```yaml
//! - exact_match                                # a name
//! - regex_match(pattern='\d+')                 # a call
//! - numeric_match: {tolerance: 0.1}            # a name with its parameters
//! - metric_id: strict                          # in full
//!   implementation: exact_match
//!   aggregation: mean                          # or a component: ece(bins=15)
//!   params: {case_sensitive: true}
//! ```

use crate::elements::metric_call::parse_call;
use crate::elements::plugin_call::{PluginCall, params_of};
use crate::elements::{PluginReference, check_unique, is_aggregation, refuse_python};
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;

/// Method that combines scores into one figure.
#[derive(Clone, Debug)]
pub enum AggregationSpec {
    /// One of the aggregations that the host ships.
    Host(String),
    /// A component.
    Plugin(PluginCall),
}

/// A metric.
#[derive(Clone, Debug)]
pub struct MetricSpec {
    /// The name in results.
    pub metric_id: String,
    /// The plugin that computes it.
    pub implementation: PluginReference,
    /// Method that combines the scores of the samples; default: the metric's own.
    pub aggregation: Option<AggregationSpec>,
    /// The parameters: a mapping, with the spans of its values.
    pub params: Node,
    /// Span of the entry.
    pub span: Span,
}

impl MetricSpec {
    /// Reads a list of metrics.
    pub(crate) fn read_list(
        table: &mut MappingReader<'_>,
        key: &'static str,
        problems: &mut Problems,
    ) -> Vec<MetricSpec> {
        let metrics: Vec<MetricSpec> = table
            .list(key, problems)
            .into_iter()
            .filter_map(|(node, path)| MetricSpec::read(node, path, problems))
            .collect();
        check_unique(
            "metric_id",
            metrics.iter().map(|metric| (metric.metric_id.as_str(), metric.span)),
            problems,
        );
        metrics
    }

    fn read(node: &Node, path: String, problems: &mut Problems) -> Option<MetricSpec> {
        match &node.value {
            NodeValue::Text(text) => MetricSpec::read_text(text, node, &path, problems),
            NodeValue::Map(entries) => {
                let is_full =
                    entries.iter().any(|entry| matches!(entry.key.as_str(), "metric_id" | "implementation"));
                match entries.as_slice() {
                    _ if is_full => MetricSpec::read_full(node, path, problems),
                    [entry] => {
                        let mut params = params_of(entry, &path, problems)?;
                        let aggregation = lift_aggregation(&mut params, &path, problems);
                        let place = MetricPosition { node, path: &path, span: entry.key_span };
                        let spec = MetricSpec::of(&entry.key, params, place, problems)?;
                        Some(MetricSpec { aggregation, ..spec })
                    }
                    _ => {
                        problems
                            .error(node.span, &path, "a metric in full needs a `metric_id`")
                            .help("or write one name with its parameters: {numeric_match: {tolerance: 0.1}}");
                        None
                    }
                }
            }
            _ => {
                problems
                    .error(node.span, &path, format!("expected a metric, found {}", node.kind()))
                    .help("write a name, a call, {name: {params}}, or a mapping with `metric_id`");
                None
            }
        }
    }

    fn read_text(text: &str, node: &Node, path: &str, problems: &mut Problems) -> Option<MetricSpec> {
        let (name, mut params) = match parse_call(text, node.span) {
            Ok(call) => call,
            Err(message) => {
                problems
                    .error(node.span, path, message)
                    .help("write it like regex_match(pattern='a,b', ignore_case=true)");
                return None;
            }
        };
        let aggregation = lift_aggregation(&mut params, path, problems);
        let spec = MetricSpec::of(&name, params, MetricPosition { node, path, span: node.span }, problems)?;
        Some(MetricSpec { aggregation, ..spec })
    }

    fn of(
        name: &str,
        params: Node,
        place: MetricPosition<'_>,
        problems: &mut Problems,
    ) -> Option<MetricSpec> {
        let implementation = PluginReference::read(place.node.span, place.path, name, "metric", problems)?;
        let metric_id = match &implementation {
            PluginReference::Name(name) => name.clone(),
            PluginReference::Member { member, .. } | PluginReference::File { member: Some(member), .. } => {
                member.clone()
            }
            PluginReference::File { path, .. } => {
                path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
            }
        };
        if let Err(message) = gage_core::check_name(&metric_id) {
            problems.error(place.span, place.path, message);
            return None;
        }
        Some(MetricSpec { metric_id, implementation, aggregation: None, params, span: place.span })
    }

    fn read_full(node: &Node, path: String, problems: &mut Problems) -> Option<MetricSpec> {
        let mut table = MappingReader::open(node, path.clone(), problems)?;
        for key in ["class_path", "module_path"] {
            if let Some(node) = table.refused(key) {
                refuse_python(node.span, &table.path_of(key), &format!("`{key}`"), "metric", problems);
                return None;
            }
        }
        let metric_id = table.text("metric_id", problems);
        let implementation = table.text("implementation", problems);
        let place = table.path_of("aggregation");
        let aggregation = table.get("aggregation").and_then(|node| read_aggregation(node, &place, problems));
        let params =
            table.free_map("params", problems).cloned().unwrap_or_else(|| Node::empty_map(node.span));
        let place = table.get("implementation").or_else(|| table.get("metric_id")).unwrap_or(node);
        table.finish(problems);
        let name = implementation.or_else(|| metric_id.clone())?;
        let place = MetricPosition { node: place, path: &path, span: place.span };
        let spec = MetricSpec::of(&name, params, place, problems)?;
        let metric_id = metric_id.unwrap_or_else(|| spec.metric_id.clone());
        if let Err(message) = gage_core::check_name(&metric_id) {
            problems.error(spec.span, &path, message);
        }
        Some(MetricSpec { metric_id, aggregation, ..spec })
    }
}

/// Takes `aggregation` out of the parameters of a short form, where it has no other place.
fn lift_aggregation(params: &mut Node, path: &str, problems: &mut Problems) -> Option<AggregationSpec> {
    let NodeValue::Map(entries) = &mut params.value else { return None };
    let place = entries.iter().position(|entry| entry.key == "aggregation")?;
    let entry = entries.remove(place);
    read_aggregation(&entry.node, &format!("{path}.aggregation"), problems)
}

/// Reads a name that the host knows, or a component in the forms that metrics have.
fn read_aggregation(node: &Node, path: &str, problems: &mut Problems) -> Option<AggregationSpec> {
    match &node.value {
        NodeValue::Null => None,
        NodeValue::Text(name) if is_aggregation(name) => Some(AggregationSpec::Host(name.clone())),
        _ => PluginCall::read(node, path, "aggregator", problems).map(AggregationSpec::Plugin),
    }
}

struct MetricPosition<'a> {
    node: &'a Node,
    path: &'a str,
    span: Span,
}
