//! OCI manifests of packages: one configuration and one layer, which is the component.

use gage_core::{Digest, shown_name};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Media type of an OCI image manifest.
pub const MANIFEST_MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// Media type of an OCI image index.
pub const INDEX_MEDIA_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// Media type of a container image of Docker. Packages do not have it.
pub const DOCKER_MANIFEST_MEDIA_TYPE: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// Media type of several container images of Docker. Packages do not have it.
pub const DOCKER_INDEX_MEDIA_TYPE: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// Media type of a component.
pub const COMPONENT_MEDIA_TYPE: &str = "application/wasm";

/// Media type of a package's configuration.
pub const CONFIG_MEDIA_TYPE: &str = "application/vnd.wasm.config.v0+json";

/// Annotation of a layer: its file name. oras writes only layers that have one.
const FILE_NAME_ANNOTATION: &str = "org.opencontainers.image.title";

/// Maximum size of a manifest or an index, as registries have it.
pub const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// Maximum size of a package's configuration.
pub const MAX_CONFIG_BYTES: usize = 1 << 20;

/// Description of a blob or a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Media type of the content.
    pub media_type: String,
    /// Digest of the content.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
    /// Kind of a described manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Annotations of the content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Describes some bytes.
    pub fn of_bytes(media_type: &str, bytes: &[u8]) -> Descriptor {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: Digest::of_bytes(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// Any OCI image manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageManifest {
    /// Kind of an artifact.
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The layers.
    pub layers: Vec<Descriptor>,
    /// Manifest that this one is about.
    pub subject: Option<Descriptor>,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
}

/// The manifest of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageManifest {
    /// The configuration.
    pub config: Descriptor,
    /// The component.
    pub component: Descriptor,
    /// Annotations of the manifest; advice only.
    pub annotations: BTreeMap<String, String>,
}

/// An OCI image index: a list of manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageIndex {
    /// The manifests.
    pub manifests: Vec<Descriptor>,
}

/// Reason why a document is not a manifest of a package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is too large.
    #[error("its manifest has more than {MAX_MANIFEST_BYTES} bytes")]
    TooLarge,
    /// It is not JSON of the expected form.
    #[error("its manifest cannot be read: {0}")]
    Syntax(String),
    /// It is a list of manifests.
    #[error("it is an index of several manifests, and a plugin has a single manifest")]
    Index,
    /// It is not an index.
    #[error("it is not an index of manifests")]
    NoIndex,
    /// It is a manifest of another kind.
    #[error("its manifest has the media type '{0}', and that of a plugin has '{MANIFEST_MEDIA_TYPE}'")]
    MediaType(String),
    /// It has another number of layers.
    #[error("its manifest has {0} layers, and that of a plugin has one, the component")]
    Layers(usize),
    /// Its layer is not a component.
    #[error("its layer has the media type '{0}', and a component has '{COMPONENT_MEDIA_TYPE}'")]
    LayerType(String),
    /// Its configuration is not that of a component.
    #[error("its configuration has the media type '{0}', and that of a component has '{CONFIG_MEDIA_TYPE}'")]
    ConfigType(String),
}

/// A manifest or an index, as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    subject: Option<Descriptor>,
    manifests: Option<Vec<Descriptor>>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Document {
    fn parse(bytes: &[u8]) -> Result<Document, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge);
        }
        let document: Document = serde_json::from_slice(bytes)
            .map_err(|error| ManifestError::Syntax(shown_name(&error.to_string())))?;
        match document.schema_version {
            2 => Ok(document),
            version => {
                Err(ManifestError::Syntax(format!("its schemaVersion is {version}, and 2 is expected")))
            }
        }
    }
}

impl ImageManifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// If it is too large, is not JSON, or is an index or another kind of document.
    pub fn parse(bytes: &[u8]) -> Result<ImageManifest, ManifestError> {
        let document = Document::parse(bytes)?;
        match document.media_type.as_deref() {
            None | Some(MANIFEST_MEDIA_TYPE) => {}
            Some(INDEX_MEDIA_TYPE | DOCKER_INDEX_MEDIA_TYPE) => return Err(ManifestError::Index),
            Some(other) => return Err(ManifestError::MediaType(shown_name(other))),
        }
        if document.manifests.is_some() {
            return Err(ManifestError::Index);
        }
        let Document { artifact_type, config, layers, subject, annotations, .. } = document;
        let config = config.ok_or_else(|| ManifestError::Syntax("it has no `config`".to_owned()))?;
        let layers = layers.ok_or_else(|| ManifestError::Syntax("it has no `layers`".to_owned()))?;
        Ok(ImageManifest {
            artifact_type,
            config,
            layers,
            subject,
            annotations: annotations.unwrap_or_default(),
        })
    }
}

impl PackageManifest {
    /// Parses the manifest of a package.
    ///
    /// # Errors
    /// Same as for [`ImageManifest::parse`], and if it has another number of layers or other media types.
    pub fn parse(bytes: &[u8]) -> Result<PackageManifest, ManifestError> {
        ImageManifest::parse(bytes)?.try_into()
    }
}

impl TryFrom<ImageManifest> for PackageManifest {
    type Error = ManifestError;

    fn try_from(manifest: ImageManifest) -> Result<PackageManifest, ManifestError> {
        let ImageManifest { config, layers, annotations, .. } = manifest;
        let count = layers.len();
        let mut layers = layers.into_iter();
        let (Some(component), None) = (layers.next(), layers.next()) else {
            return Err(ManifestError::Layers(count));
        };
        if component.media_type != COMPONENT_MEDIA_TYPE {
            return Err(ManifestError::LayerType(shown_name(&component.media_type)));
        }
        if config.media_type != CONFIG_MEDIA_TYPE {
            return Err(ManifestError::ConfigType(shown_name(&config.media_type)));
        }
        Ok(PackageManifest { config, component, annotations })
    }
}

impl ImageIndex {
    /// Parses an index.
    ///
    /// # Errors
    /// If it is too large, is not JSON, or is not an index.
    pub fn parse(bytes: &[u8]) -> Result<ImageIndex, ManifestError> {
        let document = Document::parse(bytes)?;
        let is_index = document.media_type.as_deref().is_none_or(|kind| kind == INDEX_MEDIA_TYPE);
        let manifests = document.manifests.filter(|_| is_index).ok_or(ManifestError::NoIndex)?;
        Ok(ImageIndex { manifests })
    }

    /// Returns the text of the index.
    pub fn to_bytes(&self) -> Vec<u8> {
        let manifests = &self.manifests;
        json!({"schemaVersion": 2, "mediaType": INDEX_MEDIA_TYPE, "manifests": manifests})
            .to_string()
            .into_bytes()
    }
}

/// Writes the manifest of a package. `file_name` is the name under which other programs save the component. Equal parts
/// give equal bytes.
pub fn package_manifest(
    config: &[u8],
    component: &[u8],
    file_name: &str,
    annotations: &BTreeMap<String, String>,
) -> Vec<u8> {
    let mut layer = Descriptor::of_bytes(COMPONENT_MEDIA_TYPE, component);
    layer.annotations.insert(FILE_NAME_ANNOTATION.to_owned(), file_name.to_owned());
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_MEDIA_TYPE,
        "config": Descriptor::of_bytes(CONFIG_MEDIA_TYPE, config),
        "layers": [layer],
    });
    if !annotations.is_empty() {
        manifest["annotations"] = json!(annotations);
    }
    manifest.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use serde_json::Value;

    fn manifest() -> Value {
        let annotations = BTreeMap::from([("org.opencontainers.image.title".to_owned(), "x".to_owned())]);
        serde_json::from_slice(&package_manifest(b"{}", b"component", "x.wasm", &annotations)).unwrap()
    }

    #[test]
    fn a_manifest_describes_its_parts_and_comes_back() {
        let bytes = package_manifest(b"{}", b"component", "x.wasm", &BTreeMap::new());
        let parsed = PackageManifest::parse(&bytes).unwrap();
        let file_name = BTreeMap::from([("org.opencontainers.image.title".to_owned(), "x.wasm".to_owned())]);
        let component = Descriptor::of_bytes(COMPONENT_MEDIA_TYPE, b"component");
        assert_eq!(parsed.component, Descriptor { annotations: file_name, ..component });
        assert_eq!(parsed.config, Descriptor::of_bytes(CONFIG_MEDIA_TYPE, b"{}"));
        assert_eq!(bytes, package_manifest(b"{}", b"component", "x.wasm", &BTreeMap::new()));
        let with_title = PackageManifest::parse(manifest().to_string().as_bytes()).unwrap();
        assert_eq!(with_title.annotations["org.opencontainers.image.title"], "x");
    }

    #[test]
    fn other_documents_are_refused() {
        let layer = manifest()["layers"][0].clone();
        for (pointer, value, reason) in [
            ("/schemaVersion", json!(1), "its schemaVersion is 1"),
            ("/mediaType", json!(INDEX_MEDIA_TYPE), "it is an index of several manifests"),
            ("/mediaType", json!(DOCKER_INDEX_MEDIA_TYPE), "it is an index of several manifests"),
            ("/mediaType", json!(DOCKER_MANIFEST_MEDIA_TYPE), "its manifest has the media type"),
            ("/layers", json!([layer, layer]), "its manifest has 2 layers"),
            ("/layers", json!([]), "its manifest has 0 layers"),
            ("/layers", Value::Null, "it has no `layers`"),
            ("/config", Value::Null, "it has no `config`"),
            ("/layers/0/mediaType", json!("application/vnd.oci.image.layer.v1.tar"), "a component has"),
            ("/config/mediaType", json!("application/vnd.oci.image.config.v1+json"), "that of a component"),
            ("/layers/0/digest", json!("sha512:1234"), "is not a SHA-256 digest"),
            ("/layers/0/size", json!(-1), "its manifest cannot be read"),
            ("/layers/0/size", json!("9"), "its manifest cannot be read"),
        ] {
            let mut changed = manifest();
            *changed.pointer_mut(pointer).unwrap() = value;
            let message =
                PackageManifest::parse(changed.to_string().as_bytes()).unwrap_err().recorded("plugins");
            assert!(message.contains(reason), "{pointer}: {message}");
        }
        let nested = "[".repeat(100_000);
        assert!(matches!(PackageManifest::parse(nested.as_bytes()), Err(ManifestError::Syntax(_))));
        let large = vec![b' '; MAX_MANIFEST_BYTES + 1];
        let message = PackageManifest::parse(&large).unwrap_err().recorded("plugins");
        assert_eq!(message, "its manifest has more than 4194304 bytes");
    }

    #[test]
    fn an_index_lists_manifests() {
        let index = ImageIndex { manifests: vec![Descriptor::of_bytes(MANIFEST_MEDIA_TYPE, b"x")] };
        assert_eq!(ImageIndex::parse(&index.to_bytes()).unwrap(), index);
        assert!(matches!(PackageManifest::parse(&index.to_bytes()), Err(ManifestError::Index)));
        assert_eq!(ImageIndex::parse(manifest().to_string().as_bytes()), Err(ManifestError::NoIndex));
    }
}
