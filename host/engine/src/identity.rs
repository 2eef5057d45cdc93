//! What must be equal for a run to be resumed.

use crate::plan::Plan;
use crate::session::Session;
use gage_core::Object;
use gage_data::DataError;
use serde_json::{Value, json};

/// The configuration, the data, the plugins and the models of a run.
pub(crate) fn of(plan: &Plan, session: &Session) -> Result<Value, DataError> {
    let mut datasets = Object::new();
    let mut plugins = Object::new();
    let mut backends = Object::new();
    for task in &plan.tasks {
        if !datasets.contains_key(&task.dataset.dataset_id) {
            datasets.insert(task.dataset.dataset_id.clone(), gage_data::digests(&task.dataset)?);
        }
        let mut note = |reference: &gage_config::PluginReference,
                        identity: &gage_plugin::PluginIdentity,
                        version: &str| {
            let entry = json!({
                "component": identity.name,
                "version": identity.version,
                "digest": identity.digest,
                "wit_version": identity.wit_version,
                "scorer_version": version,
            });
            plugins.insert(reference.to_string(), entry);
        };
        let preprocessor = &task.preprocessor;
        note(&task.dataset.preprocess, preprocessor.identity(), &preprocessor.description().version);
        for planned in &task.metrics {
            note(&planned.implementation, planned.metric.identity(), &planned.metric.description().version);
        }
        if let Some(backend) = session.backend(&task.role.backend_id) {
            let info = backend.info();
            backends.insert(
                task.role.backend_id.clone(),
                json!({"type": info.kind, "model": info.model, "details": info.details}),
            );
        }
    }
    Ok(
        json!({"config": plan.config.document, "datasets": datasets, "plugins": plugins, "backends": backends}),
    )
}
