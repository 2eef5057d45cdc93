//! The identity of a run: the inputs that determine its results. The manifest stores it, and a lock pins it. Other details
//! of the backends are facts.

use crate::plan::{Plan, PlannedTask, Scoring};
use crate::session::datasets::Datasets;
use crate::session::{Session, with_permissions};
use gage_backend::{ACCEPTED_MEDIA_FACT, BackendInfo, CHAT_TEMPLATE_FACT, OpenOptions, open};
use gage_config::{PipelineConfig, PluginReference, ResourceKind, redacted_digests};
use gage_core::{Object, ROWS_PER_BATCH};
use gage_plugin::{ConfiguredMember, PluginKind, PluginOrigin, Registry};
use gage_record::{
    BackendIdentity, ComponentIdentity, DatasetIdentity, HostIdentity, PluginSigner, PromptIdentity,
    RecordedPlugin, RunIdentity, without_limits,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of the host's own scoring: its batches, the resolution of fields, aggregation and intervals. It increases
/// when the same answers would get different figures.
pub const SCORING_VERSION: u32 = 2;

/// Backend details that never affect results, or that a digest or another detail pins.
const FACTS: [&str; 6] = ["replicas", "slots", "threads", "kernel_modules", "devices", CHAT_TEMPLATE_FACT];

/// The key of the devices and the build that run a model: `CPU (its name); built for AVX2, …`.
const KERNELS: &str = "kernels";

/// Returns the configuration, data, plugins and models of a run.
pub fn identity(plan: &Plan, datasets: &Datasets, session: &Session) -> RunIdentity {
    let backends = backends(plan, session).map(|(id, backend, _)| (id, backend)).collect();
    RunIdentity { backends, ..identity_without_models(plan, datasets) }
}

/// Returns the configuration, data and plugins of a run, before any model is loaded.
pub fn identity_without_models(plan: &Plan, datasets: &Datasets) -> RunIdentity {
    let mut identity = planned_identity(plan);
    for task in &plan.tasks {
        if let Some((id, dataset)) = dataset_of(task, datasets) {
            identity.datasets.insert(id, dataset);
        }
        for (role, prompt) in task.prompts() {
            let (prompt_id, digest) = (prompt.prompt_id().to_owned(), prompt.digest().to_string());
            identity.prompts.insert(role.adapter_id.clone(), PromptIdentity { prompt_id, digest });
        }
    }
    identity
}

/// Returns the facts of a run's backends, by id: threads, slots, replicas, processor names.
pub(crate) fn facts(plan: &Plan, session: &Session) -> BTreeMap<String, Object> {
    let known = backends(plan, session).map(|(id, _, facts)| (id, facts));
    known.filter(|(_, facts)| !facts.is_empty()).collect()
}

/// Returns the origins of plugins as manifests and locks record them.
pub fn recorded_plugins(origins: &[PluginOrigin]) -> Vec<RecordedPlugin> {
    let recorded = origins.iter().map(|origin| RecordedPlugin {
        id: origin.id.clone(),
        source: gage_secrets::redact(&origin.source).into_owned(),
        digest: origin.digest.to_string(),
        manifest: origin.manifest.map(|manifest| manifest.to_string()),
        signer: origin.signer.as_ref().map(|signer| PluginSigner {
            key: signer.key.clone(),
            fingerprint: signer.fingerprint.to_string(),
        }),
    });
    recorded.collect()
}

fn dataset_of(task: &PlannedTask, datasets: &Datasets) -> Option<(String, DatasetIdentity)> {
    let id = &task.dataset.spec.dataset_id;
    let mut identity = datasets.get(id)?.located.identity.clone();
    identity.chat_template = task.dataset.tokenizer.as_ref().map(|tokenizer| tokenizer.digest.to_string());
    Some((id.clone(), identity))
}

/// Returns the open backends with their facts, including backends that only components use.
fn backends<'p>(
    plan: &'p Plan,
    session: &'p Session,
) -> impl Iterator<Item = (String, BackendIdentity, Object)> + 'p {
    plan.backends().into_iter().filter_map(move |spec| {
        let info = session.backend(&spec.backend_id)?.info();
        let (details, facts) = split(info);
        let backend = BackendIdentity {
            kind: info.kind.to_owned(),
            model: gage_secrets::redact(&info.model).into_owned(),
            details,
        };
        Some((spec.backend_id.clone(), backend, facts))
    })
}

/// Returns the facts of the backends of a plan that can be opened on their own, by id. Loads local models, and sends nothing.
pub async fn facts_before_run(
    plan: &Plan,
    registry: &Registry,
    options: &OpenOptions,
) -> BTreeMap<String, Object> {
    let options = with_permissions(options, plan);
    let mut facts = BTreeMap::new();
    for spec in plan.backends() {
        if let Ok(backend) = open(spec, registry, &options).await {
            facts.insert(spec.backend_id.clone(), split(backend.info()).1);
        }
    }
    facts
}

/// Returns the details of a backend that can affect results, and its facts.
fn split(info: &BackendInfo) -> (Object, Object) {
    let (details, mut facts) = split_facts(info.details.clone());
    let kinds: Vec<Value> = info.capabilities.media.kinds().map(|kind| kind.type_name().into()).collect();
    if !kinds.is_empty() {
        facts.insert(ACCEPTED_MEDIA_FACT.to_owned(), kinds.into());
    }
    (details, facts)
}

/// Separates details that can affect results from facts. Of `kernels`, the build can affect them; the processor name cannot.
fn split_facts(details: Object) -> (Object, Object) {
    let (mut identity, mut facts) = (Object::new(), Object::new());
    for (key, mut value) in details {
        gage_secrets::redact_value(&mut value);
        match (key.as_str(), value.as_str().and_then(|text| text.split_once("; "))) {
            (KERNELS, Some((_, build))) => {
                identity.insert(key.clone(), build.into());
                facts.insert(key, value);
            }
            (name, _) if FACTS.contains(&name) => drop(facts.insert(key, value)),
            _ => drop(identity.insert(key, value)),
        }
    }
    (identity, facts)
}

/// Returns the part of the identity that is known before data and models are loaded: the configuration and the plugins.
pub fn planned_identity(plan: &Plan) -> RunIdentity {
    let mut identity = RunIdentity {
        config: without_limits(plan.config.document.clone()),
        config_dir: plan.config.config_dir.clone(),
        host: host_identity(),
        redacted: redacted_digests(&plan.config.redacted),
        ..RunIdentity::default()
    };
    plan.tasks.iter().for_each(|task| add_components_of(&mut identity.plugins, task));
    identity
}

/// Begin of the part of a difference that names variables.
const FROM_VARIABLE: &str = "(from the variable ";

/// Returns true if [`name_variables`] named a variable of a difference.
pub fn has_variable(differences: &[String]) -> bool {
    differences.iter().any(|difference| difference.contains(FROM_VARIABLE))
}

/// Returns true if a key of a suite in short form gives the value at a place of the whole suite.
fn is_short_key(key: &str, place: &str) -> bool {
    let last = place.rsplit('.').next().unwrap_or(place);
    match key {
        "model" | "model.name" => {
            place.starts_with("backends[") && ["model", "base_url", "model_path"].contains(&last)
        }
        "prompt" => place.starts_with("prompts["),
        _ => match key.strip_prefix("model.") {
            Some(of_model) => place.starts_with("backends[") && of_model == last,
            None => place.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '['])),
        },
    }
}

/// Adds to each [difference](RunIdentity::differences) of two configurations the variables that its value comes from.
pub fn name_variables(differences: Vec<String>, config: &PipelineConfig) -> Vec<String> {
    let variables_at = |place: &str| -> Vec<String> {
        let is_source = |key: &str| key == place || is_short_key(key, place);
        let used = config.resources.used().filter(|resource| is_source(&resource.key));
        let names = used.filter_map(|resource| match &resource.kind {
            ResourceKind::Variable(name) => Some(format!("`{name}`")),
            _ => None,
        });
        names.collect()
    };
    let named = differences.into_iter().map(|difference| {
        let place = difference.split_once(": ").and_then(|(place, _)| place.strip_prefix("config."));
        let names = place.map(variables_at).unwrap_or_default();
        match names.is_empty() {
            true => difference,
            false => format!("{difference} {FROM_VARIABLE}{}; set it as it was)", names.join(", ")),
        }
    });
    named.collect()
}

/// Returns the identity of the host: the version of its own scoring.
pub(crate) fn host_identity() -> HostIdentity {
    HostIdentity { scoring_version: SCORING_VERSION, rows_per_batch: ROWS_PER_BATCH }
}

/// Adds the plugins of a task: those that prepare its samples, support its model, and judge and score its answers.
fn add_components_of(plugins: &mut BTreeMap<String, ComponentIdentity>, task: &PlannedTask) {
    let spec = &task.dataset.spec;
    for (link, preprocessor) in spec.preprocess.iter().zip(&task.dataset.chain) {
        add_member(plugins, &link.reference, preprocessor);
    }
    for (hook, (_, planned)) in spec.hooks.iter().zip(&task.dataset.hooks) {
        add_member(plugins, &hook.reference, planned);
    }
    add_scoring(plugins, &task.scoring);
    for support_role in task.support_roles() {
        if let (Some(reference), Some(adapter)) = (support_role.reference(), &support_role.adapter) {
            add_member(plugins, reference, adapter);
        }
    }
    for planned in task.judges.iter().flat_map(|judges| &judges.judges) {
        add_member(plugins, &planned.reference, &planned.judge);
    }
}

/// Returns the plugins that score the answers of tasks, by the names that the suite uses.
pub fn scoring_plugins(tasks: &[Scoring]) -> BTreeMap<String, ComponentIdentity> {
    let mut plugins = BTreeMap::new();
    tasks.iter().for_each(|scoring| add_scoring(&mut plugins, scoring));
    plugins
}

/// Adds the plugins that score the answers of a task.
pub(crate) fn add_scoring(plugins: &mut BTreeMap<String, ComponentIdentity>, scoring: &Scoring) {
    for planned in &scoring.extractors {
        add_member(plugins, &planned.reference, &planned.extractor);
    }
    for planned in &scoring.metrics {
        add_member(plugins, &planned.implementation, &planned.metric);
        if let Some(aggregator) = &planned.aggregator {
            let reference = PluginReference::Name(format!("aggregation {}", planned.aggregation));
            add_member(plugins, &reference, aggregator);
        }
    }
}

fn add_member<K: PluginKind>(
    plugins: &mut BTreeMap<String, ComponentIdentity>,
    reference: &PluginReference,
    member: &ConfiguredMember<K>,
) {
    let identity = member.identity();
    let limits = match serde_json::to_value(&identity.limits) {
        Ok(Value::Object(limits)) => limits,
        _ => Object::new(),
    };
    let component = ComponentIdentity {
        component: identity.name.clone(),
        version: identity.version.clone(),
        digest: identity.digest.to_string(),
        wit_version: identity.wit_version.clone(),
        scorer_version: member.description().version.clone(),
        limits,
    };
    plugins.insert(reference.to_string(), component);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_of_a_short_suite_give_values_of_the_whole_one() {
        for (key, place, expected) in [
            ("model", "backends[0].config.model", true),
            ("model.name", "backends[0].config.base_url", true),
            ("model.base_url", "backends[0].config.base_url", true),
            ("model.base_url", "backends[0].config.model", false),
            ("model", "backends[0].config.timeout", false),
            ("datasets[0]", "datasets[0].params.path", true),
            ("datasets[1]", "datasets[10].params.path", false),
            ("prompt", "prompts[0].template", true),
            ("metrics[0]", "backends[0].config.model", false),
        ] {
            assert_eq!(is_short_key(key, place), expected, "{key} of {place}");
        }
    }

    #[test]
    fn what_changes_no_number_is_a_fact() {
        for (details, identity, facts) in [
            (json!({"n_ctx": 512}), json!({"n_ctx": 512}), json!({})),
            (
                json!({"threads": 2, "slots": 4, "replicas": 2}),
                json!({}),
                json!({"threads": 2, "slots": 4, "replicas": 2}),
            ),
            (
                json!({"kernel_modules": {"a.so": "sha256:1"}, "devices": [{"name": "CUDA0"}]}),
                json!({}),
                json!({"kernel_modules": {"a.so": "sha256:1"}, "devices": [{"name": "CUDA0"}]}),
            ),
            (
                json!({"kernels": "CPU (its name); built for AVX2"}),
                json!({"kernels": "built for AVX2"}),
                json!({"kernels": "CPU (its name); built for AVX2"}),
            ),
            (json!({"kernels": "unknown"}), json!({"kernels": "unknown"}), json!({})),
        ] {
            let Value::Object(details) = details else { panic!("an object") };
            let (found_identity, found_facts) = split_facts(details);
            assert_eq!((Value::Object(found_identity), Value::Object(found_facts)), (identity, facts));
        }
    }
}
