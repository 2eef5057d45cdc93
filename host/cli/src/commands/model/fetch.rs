//! `gage-host model fetch`: downloads a model file from a hub, or from any server, to the cache.

use crate::arguments::ModelFetchArguments;
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal::{self, FetchProgress};
use gage_core::Digest;
use gage_data::hub::{HubTimings, ModelHub, ModelReference, UrlFetchOptions, WebModel};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) fn fetch(arguments: &ModelFetchArguments) -> anyhow::Result<ExitCode> {
    let sha256 = arguments.sha256.as_deref();
    let wanted = sha256.map(|text| format!("sha256:{}", text.to_lowercase()).parse::<Digest>()).transpose();
    let wanted = wanted.map_err(|error| terminal::usage_error(&format!("--sha256: {error}"), None))?;
    let reference = match ModelReference::read(&arguments.model, &arguments.endpoint) {
        Ok(reference) => reference,
        // The address of a file outside any hub.
        Err(message) => match WebModel::read(&arguments.model) {
            Ok(model) => return fetch_from_web(&model, wanted, arguments),
            Err(_) => {
                let help = "write hub:owner/name/file.gguf, with @revision if it is not main, or an address";
                return Ok(terminal::usage_error(&message, Some(help)));
            }
        },
    };
    let (cache, progress) = (cache_folder()?, FetchProgress::new(arguments.print.quiet));
    let hub = ModelHub { endpoint: arguments.endpoint.clone(), token: gage_runner::hub_token() };
    // The command has no suite, so nothing is refused.
    let token = hub.token_for(&reference).ok().flatten();
    let fetched = reference.fetch(token, cache, arguments.offline, &progress, &|| false);
    let file = fetched.map_err(|error| terminal::usage_error(&error.to_string(), None))?;
    if let Some(wanted) = wanted.filter(|wanted| *wanted != file.digest) {
        let message = format!("{} has the digest {}, not {wanted}", file.path, file.digest);
        let help = "the file has changed since the digest was noted; name its commit after @";
        return Ok(terminal::usage_error(&message, Some(help)));
    }
    let report = json!({
        "file": file.local.display().to_string(),
        "name": file.name,
        "path": file.path,
        "commit": file.commit,
        "bytes": file.bytes,
        "digest": file.digest.to_string(),
    });
    print(arguments, &file.local, &report)
}

fn cache_folder() -> Result<PathBuf, ExitCode> {
    let help = Some("set GAGE_CACHE_DIR");
    environment::cache_folder().ok_or_else(|| terminal::usage_error("there is no cache folder", help))
}

fn print(arguments: &ModelFetchArguments, file: &Path, report: &Value) -> anyhow::Result<ExitCode> {
    match arguments.print.json {
        true => terminal::print_json(format_args!("{report:#}"))?,
        false => terminal::print_line(file.display())?,
    }
    Ok(ExitCode::Done)
}

/// Downloads from a server that does not supply digests. Prints the actual digest if none was required.
fn fetch_from_web(
    model: &WebModel,
    wanted: Option<Digest>,
    arguments: &ModelFetchArguments,
) -> anyhow::Result<ExitCode> {
    let (cache, progress) = (cache_folder()?, FetchProgress::new(arguments.print.quiet));
    let options = UrlFetchOptions {
        cache: &cache,
        offline: arguments.offline,
        timings: HubTimings::default(),
        progress: &progress,
        is_cancelled: &|| false,
    };
    let fetched = model.fetch(wanted, options);
    let file = fetched.map_err(|error| terminal::usage_error(&error.to_string(), None))?;
    if wanted.is_none() && !arguments.print.quiet {
        let digest = file.digest.hex();
        terminal::eprint_line(format_args!(
            "note: no expected digest was given for this file; it has {digest}, which is recorded. To \
             require it: --sha256 {digest}"
        ));
    }
    let report = json!({
        "file": file.local.display().to_string(),
        "address": file.address,
        "bytes": file.bytes,
        "digest": file.digest.to_string(),
    });
    print(arguments, &file.local, &report)
}
