//! Numbers of layers on GPUs with which a run began.
//!
//! Without `gpu_layers` in the suite, the number depends on the memory that is free when the model is loaded. A resumed
//! run must compute as it began.

use gage_record::Manifest;
use std::collections::BTreeMap;
use std::path::Path;

/// Key of the number in the details of a backend.
const GPU_LAYERS: &str = "gpu_layers";

/// Returns the number of each model of a run, by backend id. Empty for a new run. An unreadable run is refused later.
pub(crate) fn recorded_gpu_layers(run: &Path) -> BTreeMap<String, u32> {
    let Ok(manifest) = Manifest::read(run) else { return BTreeMap::new() };
    let layers = manifest.identity.backends.into_iter().filter_map(|(backend_id, backend)| {
        let layers = backend.details.get(GPU_LAYERS)?.as_u64()?;
        Some((backend_id, u32::try_from(layers).ok()?))
    });
    layers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_record::{BackendIdentity, RunFolder, RunIdentity};
    use serde_json::{Value, json};

    #[test]
    fn layers_are_those_of_the_manifest() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("r");
        assert!(recorded_gpu_layers(&path).is_empty(), "a new run");
        let mut identity = RunIdentity::default();
        for (backend_id, details) in [
            ("partial", json!({"gpu_layers": 20, "slots": 4})),
            ("on_processor", json!({"gpu_layers": 0})),
            ("server", json!({"url": "http://x"})),
            ("edited", json!({"gpu_layers": -1})),
        ] {
            let Value::Object(details) = details else { panic!("an object") };
            let (kind, model) = ("llama_cpp".to_owned(), "m.gguf".to_owned());
            identity.backends.insert(backend_id.to_owned(), BackendIdentity { kind, model, details });
        }
        let folder = RunFolder::create(root.path(), "r").expect("a folder");
        Manifest::new("r", "0", identity).write(&folder).expect("written");
        let expected = [("on_processor".to_owned(), 0), ("partial".to_owned(), 20)];
        assert_eq!(recorded_gpu_layers(&path), BTreeMap::from(expected));
    }
}
