//! `gage-host model fetch`: a model file of a hub, in the cache.

use crate::arguments::ModelFetchArguments;
use crate::commands::setup;
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress};
use gage_core::Digest;
use gage_data::hub::ModelReference;
use serde_json::json;

pub(super) fn fetch(arguments: &ModelFetchArguments) -> anyhow::Result<ExitCode> {
    let reference = match ModelReference::read(&arguments.model, &arguments.endpoint) {
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
    let progress = FetchProgress::new(arguments.quiet);
    let fetched = reference.fetch(setup::hub_token(), cache, arguments.offline, &progress, &|| false);
    let file = match fetched {
        Ok(file) => file,
        Err(error) => return Ok(terminal::refuse(&error.to_string(), None)),
    };
    if let Some(wanted) = wanted.filter(|wanted| *wanted != file.digest) {
        let message = format!("{} has the digest {}, not {wanted}", file.path, file.digest);
        let help = "it was changed since the digest was noted; name its commit after @";
        return Ok(terminal::refuse(&message, Some(help)));
    }
    if arguments.json {
        let report = json!({
            "file": file.local.display().to_string(),
            "name": file.name,
            "path": file.path,
            "commit": file.commit,
            "bytes": file.bytes,
            "digest": file.digest.to_string(),
        });
        terminal::answer(format_args!("{report:#}"))?;
    } else {
        terminal::answer(file.local.display())?;
    }
    Ok(ExitCode::Done)
}
