//! Adds the images that a Sample names in its metadata.

use gage_sdk::doc_hook::{DocHook, HookKind, HookSpec, MediaKind, MediaSource};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, from_params, json};

/// The parameters in a suite.
#[derive(serde::Deserialize)]
#[serde(default)]
struct Images {
    field: String,
}

impl Default for Images {
    fn default() -> Images {
        Images { field: "image".to_owned() }
    }
}

impl DocHook for Images {
    fn name() -> &'static str {
        "{{snake}}"
    }

    // A hook of the kind `Audio` also implements `to_media`, one of the kind `Text` implements `to_text`.
    // Increase the version, "1", when its results could change.
    fn spec() -> HookSpec {
        let properties = json!({ "field": { "type": "string", "default": "image" } });
        let description = "Images that a field of the metadata names: a path or a list of them";
        HookSpec::new(HookKind::Visual, MemberSpec::new("1", description, properties))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        from_params(params)
    }

    fn to_media(&self, sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        let found = &sample["metadata"][&self.field];
        let paths = match found {
            Value::Null => &[],
            Value::Array(paths) => paths.as_slice(),
            path => std::slice::from_ref(path),
        };
        let image = |path: &Value| match path.as_str() {
            Some(path) => Ok(MediaSource::new(MediaKind::Image, path)),
            None => Err(PluginError::invalid_input(format!("an image must be a path, found {path}"))
                .at(format!("/metadata/{}", self.field))),
        };
        paths.iter().map(image).collect()
    }
}

// The list may hold several hooks.
gage_sdk::doc_hooks!(name: "{{name}}", description: "Images of samples", doc_hooks: [Images]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_paths() {
        let sample = json!({ "metadata": { "image": ["a.png", "b.png"] } });
        let media = Images::default().to_media(&sample).unwrap();
        assert_eq!(media[1].source, "b.png");
    }
}
