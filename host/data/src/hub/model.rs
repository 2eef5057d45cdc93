//! References to a model file of a hub.

use super::{HubError, HubFile, HubKind, HubProgress, HubSource, HubTimings, fetch};
use gage_config::{HUB_TOKEN_VARIABLE, Permissions, Refusal};
use gage_core::Digest;
use gage_secrets::SecretString;
use std::path::PathBuf;
use url::Url;

/// Hub that models are fetched from.
#[derive(Clone, Debug)]
pub struct ModelHub {
    /// Hub of `hub:` references; usually `https://huggingface.co`.
    pub endpoint: String,
    /// Sent only to the hub. See [`ModelHub::token_for`].
    pub token: Option<SecretString>,
}

impl ModelHub {
    /// Returns the token for the requests of a model. `None` if there is none, or if the model is on another server than
    /// the hub.
    ///
    /// # Errors
    /// Returns the refusal if the suite of the model may not read the token's variable.
    pub fn token_for(&self, model: &ModelReference) -> Result<Option<SecretString>, Refusal> {
        let is_own = Url::parse(&self.endpoint).is_ok_and(|hub| hub.origin() == model.endpoint.origin());
        match self.token.clone().filter(|_| is_own) {
            Some(token) => model.permissions.check_env(HUB_TOKEN_VARIABLE).map(|()| Some(token)),
            None => Ok(None),
        }
    }
}

/// A file of a model's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReference {
    endpoint: Url,
    name: String,
    revision: String,
    path: String,
    permissions: Permissions,
}

/// A fetched model file.
#[derive(Clone, Debug)]
pub struct FetchedModel {
    /// `owner/name`.
    pub name: String,
    /// Commit that the revision resolves to.
    pub commit: String,
    /// Path in the repository.
    pub path: String,
    /// Local path.
    pub local: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
}

impl ModelReference {
    /// Returns whether a text is a reference rather than a path.
    pub fn is_one(text: &str) -> bool {
        ["hub:", "https://", "http://"].iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads `hub:owner/name/file.gguf`, with `@revision` for a revision other than `main`, or the address of a file
    /// on a hub.
    ///
    /// # Errors
    /// When it is neither.
    pub fn read(text: &str, endpoint: &str) -> Result<ModelReference, String> {
        let parse =
            |text: &str| Url::parse(text).map_err(|error| format!("`{text}` is not an address: {error}"));
        if let Some(rest) = text.strip_prefix("hub:") {
            let (path, revision) = rest.rsplit_once('@').unwrap_or((rest, "main"));
            let parts: Vec<&str> = path.splitn(3, '/').collect();
            let [owner, name, path] = parts.as_slice() else { return Err(format!("`{text}` names no file")) };
            if [owner, name, path].iter().any(|part| part.is_empty()) || revision.is_empty() {
                return Err(format!("`{text}` names no file"));
            }
            return Ok(ModelReference {
                endpoint: parse(endpoint)?,
                name: format!("{owner}/{name}"),
                revision: revision.to_owned(),
                path: (*path).to_owned(),
                permissions: Permissions::default(),
            });
        }
        if !ModelReference::is_one(text) {
            return Err(format!("`{text}` is neither a reference to a hub nor an address"));
        }
        let url = parse(text)?;
        let parts: Vec<&str> = url.path().trim_start_matches('/').splitn(5, '/').collect();
        match parts.as_slice() {
            [owner, name, "resolve" | "blob", revision, path] if !path.is_empty() => Ok(ModelReference {
                endpoint: parse(&url.origin().ascii_serialization())?,
                name: format!("{owner}/{name}"),
                revision: (*revision).to_owned(),
                path: (*path).to_owned(),
                permissions: Permissions::default(),
            }),
            _ => Err(format!(
                "`{text}` is not the address of a file on a hub, from which its digest could be known; fetch it with \
                 `gage-host model fetch`, and write the path that this prints"
            )),
        }
    }

    /// Returns the reference of a suite that may connect only to some hosts.
    pub fn restricted(self, permissions: &Permissions) -> ModelReference {
        ModelReference { permissions: permissions.clone(), ..self }
    }

    /// Fetches the file into the cache, unless it is there. `token` is sent to its hub.
    ///
    /// # Errors
    /// As for [`fetch`]; also when the path is a pattern that matches several files.
    pub fn fetch(
        self,
        token: Option<SecretString>,
        cache: PathBuf,
        offline: bool,
        progress: &dyn HubProgress,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<FetchedModel, HubError> {
        let source = HubSource {
            kind: HubKind::Model,
            name: self.name,
            revision: self.revision,
            subset: None,
            split: None,
            data_files: vec![self.path.clone()],
            endpoint: self.endpoint,
            token,
            offline,
            cache,
            timings: HubTimings::default(),
            permissions: self.permissions,
        };
        let fetched = fetch(&source, progress, is_cancelled)?;
        let Ok([HubFile { path, local, bytes, digest }]) = <[HubFile; 1]>::try_from(fetched.files) else {
            let (name, path) = (fetched.name, self.path);
            let message = format!("model '{name}': `{path}` is not the path of one file; name one");
            return Err(HubError::Choice { key: "hub_id", message });
        };
        Ok(FetchedModel { name: fetched.name, commit: fetched.commit, path, local, bytes, digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::AllowedResources;

    #[test]
    fn token_needs_the_hub_itself_and_a_permission() {
        let hub = ModelHub {
            endpoint: "https://hub.example/".to_owned(),
            token: Some(SecretString::unmarked("HF_TOKEN", "hf_secret")),
        };
        let restricted = |env: &[&str]| {
            let env = env.iter().map(|name| (*name).to_owned()).collect();
            Permissions::restricted(AllowedResources { env, ..AllowedResources::default() })
        };
        let token = |text: &str, permissions: &Permissions| {
            let model = ModelReference::read(text, &hub.endpoint).expect("a reference");
            let token = hub.token_for(&model.restricted(permissions)).map_err(|refusal| refusal.help)?;
            Ok::<_, String>(token.map(|token| token.reveal().to_owned()))
        };
        let sent = Ok(Some("hf_secret".to_owned()));
        let refused = Err("allow it with `--allow-env HF_TOKEN`".to_owned());
        for (text, permissions, expected) in [
            ("hub:o/n/a.gguf", Permissions::default(), &sent),
            ("https://hub.example/o/n/resolve/main/a.gguf", Permissions::default(), &sent),
            ("https://other.example/o/n/resolve/main/a.gguf", Permissions::default(), &Ok(None)),
            ("https://hub.example:444/o/n/resolve/main/a.gguf", Permissions::default(), &Ok(None)),
            ("http://hub.example/o/n/resolve/main/a.gguf", Permissions::default(), &Ok(None)),
            ("hub:o/n/a.gguf", restricted(&[]), &refused),
            ("hub:o/n/a.gguf", restricted(&["TOKEN"]), &refused),
            ("hub:o/n/a.gguf", restricted(&["HF_TOKEN"]), &sent),
            ("https://other.example/o/n/resolve/main/a.gguf", restricted(&["HF_TOKEN"]), &Ok(None)),
        ] {
            assert_eq!(&token(text, &permissions), expected, "{text}");
        }
    }

    #[test]
    fn references_and_addresses_are_read() {
        let hub = "https://huggingface.co";
        let shown = |text| {
            ModelReference::read(text, hub)
                .map(|found| format!("{} {} {} {}", found.endpoint, found.name, found.revision, found.path))
        };
        for (text, expected) in [
            ("hub:o/n/a.gguf", "https://huggingface.co/ o/n main a.gguf"),
            ("hub:o/n/deeper/a.gguf@v1", "https://huggingface.co/ o/n v1 deeper/a.gguf"),
            (
                "http://127.0.0.1:8000/o/n/resolve/main/q/a.gguf?download=true",
                "http://127.0.0.1:8000/ o/n main q/a.gguf",
            ),
            ("https://huggingface.co/o/n/blob/v2/a.gguf", "https://huggingface.co/ o/n v2 a.gguf"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "hub:o/n",
            "hub:o//a.gguf",
            "hub:o/n/a.gguf@",
            "o/n/a.gguf",
            "https://example.org/a.gguf",
            "http://",
        ] {
            assert!(shown(text).is_err(), "{text}");
        }
    }
}
