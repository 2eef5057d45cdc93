//! What must be equal for a run to be resumed, and what a lock pins.

use crate::plan::{Plan, Scoring};
use crate::session::Session;
use crate::session::datasets::Datasets;
use gage_config::{PluginReference, withheld_json};
use gage_core::Object;
use gage_plugin::PluginIdentity;
use serde_json::{Value, json};

/// The version of what the host itself does to answers and scores: batches of scoring, resolution of fields, aggregation
/// and intervals. It grows when the same answers would get other figures.
pub const SCORING_VERSION: u32 = 2;

/// The configuration, the data, the plugins and the models of a run.
pub fn identity(plan: &Plan, datasets: &Datasets, session: &Session) -> Value {
    of(plan, datasets, session)
}

pub(crate) fn of(plan: &Plan, datasets: &Datasets, session: &Session) -> Value {
    let mut data = Object::new();
    let mut prompts = Object::new();
    let mut plugins = Object::new();
    let mut backends = Object::new();
    for task in &plan.tasks {
        let spec = &task.dataset.spec;
        if let Some(dataset) = datasets.get(&spec.dataset_id) {
            let mut identity = dataset.located.identity.clone();
            if let Some(tokenizer) = &task.dataset.tokenizer {
                identity["chat_template"] = json!(tokenizer.digest);
            }
            data.insert(spec.dataset_id.clone(), identity);
        }
        let judges = task.judges.iter().flat_map(|judges| &judges.judges);
        for (role, prompt) in task.prompts() {
            prompts.insert(
                role.adapter_id.clone(),
                json!({"prompt_id": prompt.prompt_id(), "digest": prompt.digest()}),
            );
        }
        for (link, preprocessor) in spec.preprocess.iter().zip(&task.dataset.chain) {
            note(&mut plugins, &link.reference, preprocessor.identity(), &preprocessor.description().version);
        }
        for (hook, (_, planned)) in spec.hooks.iter().zip(&task.dataset.hooks) {
            note(&mut plugins, &hook.reference, planned.identity(), &planned.description().version);
        }
        of_scoring(&mut plugins, &task.scoring);
        for helper in task.helpers() {
            if let (Some(reference), Some(adapter)) = (helper.reference(), &helper.adapter) {
                note(&mut plugins, reference, adapter.identity(), &adapter.description().version);
            }
        }
        for planned in judges {
            note(
                &mut plugins,
                &planned.reference,
                planned.judge.identity(),
                &planned.judge.description().version,
            );
        }
    }
    // With those that only components ask.
    for spec in plan.backends() {
        if let Some(backend) = session.backend(&spec.backend_id) {
            let info = backend.info();
            backends.insert(
                spec.backend_id.clone(),
                json!({"type": info.kind, "model": info.model, "details": info.details}),
            );
        }
    }
    let mut backends = Value::Object(backends);
    gage_core::redact_value(&mut backends);
    let mut identity = json!({
        "config": identity_of_config(plan),
        "host": host(),
        "datasets": data,
        "plugins": plugins,
        "prompts": prompts,
        "backends": backends,
    });
    put_withheld(&mut identity, withheld_json(&plan.config.withheld));
    identity
}

/// Puts the digests of what is not written down of the configuration, where there are any.
pub(crate) fn put_withheld(identity: &mut Value, withheld: Value) {
    if withheld.as_object().is_some_and(|all| !all.is_empty()) {
        identity[WITHHELD] = withheld;
    }
}

/// The key of the digests of what is not written down. Programs before it wrote none.
pub(crate) const WITHHELD: &str = "withheld";

/// Keys of the suite that say how much a run may take, how many tasks it runs at a time and whether a question is
/// asked twice; what comes of a sample does not depend on them, so that a run may be resumed with others.
const LIMITS: [&str; 4] = ["budget", "cache", "pricing", "task_parallelism"];

/// The configuration, as the identity of a run holds it.
pub fn identity_of_config(plan: &Plan) -> Value {
    without_limits(plan.config.document.clone())
}

/// A configuration without what says how much a run may take.
pub fn without_limits(mut document: Value) -> Value {
    if let Value::Object(keys) = &mut document {
        for key in LIMITS {
            keys.shift_remove(key);
        }
    }
    document
}

/// A configuration of whose `metadata` only the name is left, by which suites are told apart: the rest is for people, so that
/// a run may be resumed with another.
pub fn without_notes(mut document: Value) -> Value {
    if let Value::Object(keys) = &mut document
        && let Some(Value::Object(metadata)) = keys.get_mut("metadata")
    {
        metadata.retain(|key, _| key == "name");
        if metadata.is_empty() {
            keys.shift_remove("metadata");
        }
    }
    document
}

/// What of the host itself counts.
pub(crate) fn host() -> Value {
    json!({"scoring_version": SCORING_VERSION})
}

/// The plugins that score the answers of a task.
pub(crate) fn of_scoring(plugins: &mut Object, scoring: &Scoring) {
    for planned in &scoring.extractors {
        let extractor = &planned.extractor;
        note(plugins, &planned.reference, extractor.identity(), &extractor.description().version);
    }
    for planned in &scoring.metrics {
        let metric = &planned.metric;
        note(plugins, &planned.implementation, metric.identity(), &metric.description().version);
        if let Some(aggregator) = &planned.aggregator {
            let reference = PluginReference::Name(format!("aggregation {}", planned.aggregation));
            note(plugins, &reference, aggregator.identity(), &aggregator.description().version);
        }
    }
}

fn note(plugins: &mut Object, reference: &PluginReference, identity: &PluginIdentity, version: &str) {
    let entry = json!({
        "component": identity.name,
        "version": identity.version,
        "digest": identity.digest,
        "wit_version": identity.wit_version,
        "scorer_version": version,
        "limits": identity.limits,
    });
    plugins.insert(reference.to_string(), entry);
}
