//! `visual_from_field` and `audio_from_field`: media named by fields of a Sample.

use gage_row_kit::fields::{Fields, find, pointer, unusable};
use gage_row_kit::media::{Kind, Source, read};
use gage_sdk::doc_hook::{DocHook, HookKind, HookSpec, MediaKind, MediaSource};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;

/// Images, videos or documents.
pub struct VisualFromField {
    places: Places,
    kind: Kind,
}

/// Audio clips.
pub struct AudioFromField(Places);

/// Paths of media in a Sample.
struct Places {
    paths: Vec<String>,
    required: bool,
}

impl DocHook for VisualFromField {
    fn name() -> &'static str {
        "visual_from_field"
    }

    fn spec() -> HookSpec {
        let mut properties = properties();
        properties["kind"] = json!({
            "enum": ["image", "video", "file"], "default": "image", "description": "Type of the media in the fields",
        });
        let description = "Adds images, videos or documents named by fields of a Sample";
        HookSpec::new(HookKind::Visual, MemberSpec::new("1", description, properties))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| PARAMS.into_iter().chain(["kind"]))?;
        let kinds = [("image", Kind::Image), ("video", Kind::Video), ("file", Kind::File)];
        let kind = params.one_of("kind", &kinds, Kind::Image)?;
        Ok(VisualFromField { places: Places::read(&params)?, kind })
    }

    fn to_media(&self, sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        self.places.media(sample, self.kind)
    }
}

impl DocHook for AudioFromField {
    fn name() -> &'static str {
        "audio_from_field"
    }

    fn spec() -> HookSpec {
        let description = "Adds sounds named by fields of a Sample";
        HookSpec::new(HookKind::Audio, MemberSpec::new("1", description, properties()))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Places::read(&Params::new(params)?.known(|| PARAMS)?).map(AudioFromField)
    }

    fn to_media(&self, sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        self.0.media(sample, Kind::Audio)
    }
}

/// Parameters of both hooks.
const PARAMS: [&str; 3] = ["fields", "content_field", "required"];

fn properties() -> Value {
    json!({
        "fields": {
            "type": "array", "items": { "type": "string", "minLength": 1 }, "default": [],
            "description": "Paths in the Sample, such as `metadata.image` or `raw_assets.pages`",
        },
        "content_field": {
            "type": ["string", "null"], "minLength": 1, "description": "Former name, for a single path",
        },
        "required": {
            "type": "boolean", "default": false,
            "description": "Fail Samples in which a field is missing or empty",
        },
    })
}

impl Places {
    fn read(params: &Params) -> Result<Places, PluginError> {
        let mut paths: Vec<String> = params.parsed("fields")?.unwrap_or_default();
        // An older name, for a single path.
        paths.extend(params.parsed::<String>("content_field")?);
        if paths.is_empty() {
            return Err(PluginError::invalid_config(
                "params: 'fields' must name at least one path into the Sample",
            )
            .at("/fields"));
        }
        Ok(Places { paths, required: params.parsed("required")?.unwrap_or(false) })
    }

    /// Returns the media at all paths, in order.
    fn media(&self, sample: &Value, kind: Kind) -> Result<Vec<MediaSource>, PluginError> {
        let no_fields = Fields::new();
        let fields = sample.as_object().unwrap_or(&no_fields);
        let mut media = Vec::new();
        for path in &self.paths {
            let value = find(fields, path).cloned().unwrap_or_default();
            let sources = read(value, kind).map_err(|why| unusable(path, &why))?;
            if sources.is_empty() && self.required {
                let message = format!("field '{path}' is missing or empty");
                return Err(PluginError::missing_field(message).at(pointer(path)));
            }
            media.extend(sources.into_iter().map(|source| media_source(source, kind)));
        }
        Ok(media)
    }
}

/// Converts a source to the type that the host takes.
pub(crate) fn media_source(source: Source, kind: Kind) -> MediaSource {
    let kind = match kind {
        Kind::Image => MediaKind::Image,
        Kind::Audio => MediaKind::Audio,
        Kind::Video => MediaKind::Video,
        Kind::File => MediaKind::File,
    };
    MediaSource { extra: Value::Object(source.extra).to_string(), ..MediaSource::new(kind, source.url) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::ErrorKind;

    fn sources<H: DocHook>(params: Value, sample: &Value) -> Result<Vec<String>, PluginError> {
        let media = H::prepare(params)?.to_media(sample)?;
        Ok(media.into_iter().map(|media| media.source).collect())
    }

    #[test]
    fn media_are_found() {
        let sample = json!({ "metadata": {
            "image": "a.png", "pages": [{ "path": "b.png", "bytes": null }, { "url": "c.png" }], "sound": "d.wav",
        } });
        for (params, expected) in [
            (json!({ "fields": ["metadata.image", "metadata.pages"] }), vec!["a.png", "b.png", "c.png"]),
            (json!({ "content_field": "metadata.pages.1" }), vec!["c.png"]),
            (json!({ "fields": ["metadata.none"] }), vec![]),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(sources::<VisualFromField>(params, &sample), Ok(expected));
        }
        let params = json!({ "fields": ["metadata.sound"] });
        assert_eq!(sources::<AudioFromField>(params, &sample), Ok(vec!["d.wav".to_owned()]));
    }

    #[test]
    fn what_else_is_said_is_kept() {
        let sample = json!({ "a": { "url": "v.mp4", "detail": "low" } });
        let hook = VisualFromField::prepare(json!({ "fields": ["a"], "kind": "video" }));
        let media = hook.and_then(|hook| hook.to_media(&sample)).unwrap_or_default();
        assert_eq!((media[0].kind, media[0].extra.as_str()), (MediaKind::Video, r#"{"detail":"low"}"#));
    }

    #[test]
    fn errors_name_the_field() {
        for (params, kind, expected) in [
            (json!({ "fields": ["a.b"], "required": true }), ErrorKind::MissingField, "/a/b"),
            (json!({ "fields": ["empty"], "required": true }), ErrorKind::MissingField, "/empty"),
            (json!({ "fields": ["number"] }), ErrorKind::InvalidInput, "/number"),
            (json!({}), ErrorKind::InvalidConfig, "/fields"),
        ] {
            let error = sources::<VisualFromField>(params, &json!({ "number": 1, "empty": [] })).err();
            let error = error.map(|error| (error.kind, error.pointer.unwrap_or_default()));
            assert_eq!(error, Some((kind, expected.to_owned())));
        }
        assert!(AudioFromField::prepare(json!({ "fields": ["a"], "kind": "video" })).is_err());
    }
}
