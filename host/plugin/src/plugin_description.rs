//! A component's description of itself. Those of bundled components are recorded, so that listing them compiles nothing.

use crate::any_component::AnyComponent;
use crate::member_description::MemberDescription;

/// A component's description of itself and of its members.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PluginDescription {
    /// Description in one sentence.
    pub description: String,
    /// Version of the component.
    pub version: String,
    /// Descriptions of the members.
    pub members: Vec<MemberDescription>,
}

impl PluginDescription {
    /// Returns the description that a loaded component gives.
    pub fn of(component: &AnyComponent) -> PluginDescription {
        PluginDescription {
            description: component.description().to_owned(),
            version: component.identity().version.clone(),
            members: component.descriptions().to_vec(),
        }
    }

    /// Reads a recorded description; `None` if none is recorded.
    pub fn from_json(text: &str) -> Option<PluginDescription> {
        serde_json::from_str(text).ok()
    }

    /// Formats it for recording, with a newline at the end.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_value(self).unwrap_or_default();
        format!("{json:#}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member_description::{InputDescription, ValueDescription};
    use serde_json::json;

    #[test]
    fn a_recorded_description_is_read_back() {
        let member = MemberDescription {
            name: "m".to_owned(),
            description: "Measures".to_owned(),
            version: "2".to_owned(),
            hook: Some("text".to_owned()),
            inputs: vec![InputDescription {
                name: "prediction".to_owned(),
                path_params: vec!["prediction_path".to_owned()],
                default_paths: Vec::new(),
            }],
            values: vec![ValueDescription {
                name: "m".to_owned(),
                higher_is_better: true,
                minimum: Some(0.0),
                maximum: None,
            }],
            default_aggregation: Some("mean".to_owned()),
            params_schema: json!({"type": "object", "properties": {"top": {"default": 0.5}}}),
        };
        let plain =
            MemberDescription { hook: None, inputs: Vec::new(), values: Vec::new(), ..member.clone() };
        let described = PluginDescription {
            description: "Measures".to_owned(),
            version: "0.1.0".to_owned(),
            members: vec![member, plain],
        };
        assert_eq!(PluginDescription::from_json(&described.to_json()), Some(described));
        assert_eq!(PluginDescription::from_json("null\n"), None);
    }
}
