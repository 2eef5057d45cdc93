//! The description of a component that is pushed with it. It is advice for listings, and nothing trusts it.

use gage_core::Digest;
use serde_json::json;
use std::collections::BTreeMap;

/// Description of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageDescription {
    /// Interfaces that it imports.
    pub imports: Vec<String>,
    /// Interfaces that it exports.
    pub exports: Vec<String>,
    /// World that it is built for.
    pub target: Option<String>,
    /// Annotations of the manifest, such as `org.opencontainers.image.source`.
    pub annotations: BTreeMap<String, String>,
}

impl PackageDescription {
    /// Writes the configuration of a component. The time is fixed, so that the same component has the same
    /// manifest.
    pub(crate) fn config(&self, component: Digest) -> Vec<u8> {
        let mut described = json!({"exports": self.exports, "imports": self.imports});
        if let Some(target) = &self.target {
            described["target"] = json!(target);
        }
        json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [component],
            "component": described,
        })
        .to_string()
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_depends_only_on_the_component() {
        let description = PackageDescription {
            imports: vec!["gage:plugin/log".to_owned()],
            exports: vec!["gage:plugin/metric".to_owned()],
            target: Some("metric".to_owned()),
            annotations: BTreeMap::new(),
        };
        let digest = Digest::of_bytes(b"component");
        let config = description.config(digest);
        assert_eq!(config, description.config(digest));
        let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        assert_eq!(config["layerDigests"][0], digest.to_string());
        assert_eq!(config["component"]["imports"][0], "gage:plugin/log");
        assert_eq!((&config["os"], &config["architecture"]), (&json!("wasip2"), &json!("wasm")));
    }
}
