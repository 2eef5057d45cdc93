//! `gage-host model fetch`: a model file of a hub, in the cache.

use crate::arguments::ModelFetchArguments;
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress};
use gage_core::Digest;
use gage_data::hub::{HubKind, HubSource, HubTimings, HubToken, fetch as fetch_files};
use serde_json::json;
use url::Url;

/// A file of a repository.
#[derive(Debug, PartialEq, Eq)]
struct Reference {
    endpoint: Url,
    name: String,
    revision: String,
    path: String,
}

pub(super) fn fetch(arguments: &ModelFetchArguments) -> anyhow::Result<ExitCode> {
    let reference = match reference(&arguments.model, &arguments.endpoint) {
        Ok(reference) => reference,
        Err(message) => {
            let help = "write hub:owner/name/file.gguf, with @revision for another than main";
            return Ok(terminal::refuse(&message, Some(help)));
        }
    };
    let wanted = match arguments
        .sha256
        .as_deref()
        .map(|text| format!("sha256:{}", text.to_lowercase()).parse::<Digest>())
    {
        None => None,
        Some(Ok(digest)) => Some(digest),
        Some(Err(error)) => return Ok(terminal::refuse(&format!("--sha256: {error}"), None)),
    };
    let Some(cache) = setup::cache_folder() else {
        return Ok(terminal::refuse("the cache has no place", Some("set GAGE_CACHE_DIR")));
    };
    let source = HubSource {
        kind: HubKind::Model,
        name: reference.name,
        revision: reference.revision,
        subset: None,
        split: None,
        data_files: vec![reference.path],
        endpoint: reference.endpoint,
        token: std::env::var("HF_TOKEN")
            .ok()
            .filter(|token| !token.trim().is_empty())
            .map(|token| HubToken::new(&token)),
        offline: arguments.offline,
        cache,
        timings: HubTimings::default(),
    };
    let progress = FetchProgress::new(arguments.quiet);
    let fetched = match fetch_files(&source, &progress, &|| false) {
        Ok(fetched) => fetched,
        Err(error) => return Ok(terminal::refuse(&error.to_string(), None)),
    };
    for file in &fetched.files {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != file.digest) {
            let message = format!("{} has the digest {}, not {wanted}", file.path, file.digest);
            return Ok(terminal::refuse(
                &message,
                Some("it was changed since the digest was noted; name its commit after @"),
            ));
        }
        if arguments.json {
            let report = json!({
                "file": file.local.display().to_string(),
                "name": fetched.name,
                "path": file.path,
                "commit": fetched.commit,
                "bytes": file.bytes,
                "digest": file.digest.to_string(),
            });
            terminal::answer(format_args!("{report:#}"))?;
        } else {
            terminal::answer(file.local.display())?;
        }
    }
    Ok(ExitCode::Done)
}

/// Reads what the user named.
fn reference(text: &str, endpoint: &str) -> Result<Reference, String> {
    let parse = |text: &str| Url::parse(text).map_err(|error| format!("`{text}` is not an address: {error}"));
    if let Some(rest) = text.strip_prefix("hub:") {
        let (path, revision) = rest.rsplit_once('@').unwrap_or((rest, "main"));
        let mut parts = path.splitn(3, '/');
        let (Some(owner), Some(name), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("`{text}` names no file"));
        };
        return Ok(Reference {
            endpoint: parse(endpoint)?,
            name: format!("{owner}/{name}"),
            revision: revision.to_owned(),
            path: path.to_owned(),
        });
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return Err(format!("`{text}` is neither a reference to a hub nor an address"));
    }
    let url = parse(text)?;
    let parts: Vec<&str> = url.path().trim_start_matches('/').splitn(5, '/').collect();
    match parts.as_slice() {
        [owner, name, "resolve" | "blob", revision, path] if !path.is_empty() => Ok(Reference {
            endpoint: parse(&url.origin().ascii_serialization())?,
            name: format!("{owner}/{name}"),
            revision: (*revision).to_owned(),
            path: (*path).to_owned(),
        }),
        _ => Err(format!(
            "`{text}` is not the address of a file on a hub, from which its digest could be known"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_addresses_are_read() {
        let hub = "https://huggingface.co";
        let shown = |text| {
            reference(text, hub)
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
        for text in ["hub:o/n", "o/n/a.gguf", "https://example.org/a.gguf", "http://"] {
            assert!(shown(text).is_err(), "{text}");
        }
    }
}
