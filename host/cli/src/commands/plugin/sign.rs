//! `gage-host plugin sign`: signs a component file or a package of a registry.

use super::build::progress;
use super::keys::{MAKE_KEYS, read_signing_key, refuse_signature_file};
use super::package::{client, refuse_registry, start_runtime};
use super::{file_of, read, whole_file};
use crate::arguments::{ComponentTarget, PluginSignArguments};
use crate::commands::next_command;
use crate::exit_code::ExitCode;
use crate::terminal::{self, shell_word};
use gage_config::Permissions;
use gage_core::{Digest, OciReference};
use gage_packages::{signature_file, signatures_beside};
use gage_plugin::InstanceSetup;
use gage_signature::{Signature, SigningKey, Subject, claimed_subjects, sign_bundle, sign_simple, verify};
use serde_json::json;
use std::path::Path;
use std::slice;

/// Advice if a signature beside a file would be lost.
const KEEP_BOTH: &str = "a file has room for one signature: move that one away first; or push the component, and sign the \
    package, because a registry keeps all signatures";

pub(super) fn sign(arguments: &PluginSignArguments) -> anyhow::Result<ExitCode> {
    let Some(path) = &arguments.key else {
        return Ok(terminal::usage_error("a signature needs a private key", Some(MAKE_KEYS)));
    };
    let key = read_signing_key(path)?;
    match &arguments.target {
        ComponentTarget::File(file) => sign_file(arguments, &key, file),
        ComponentTarget::Package(reference) => sign_package(arguments, &key, reference),
    }
}

fn sign_file(arguments: &PluginSignArguments, key: &SigningKey, file: &Path) -> anyhow::Result<ExitCode> {
    let file = file_of(Some(file))?;
    if !file.is_file() {
        let message = format!("there is no file {}", file.display());
        return Ok(terminal::usage_error(&message, Some("only files and packages are signed")));
    }
    let component = Digest::of_bytes(&read(&file, &InstanceSetup::default())?);
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let subject = Subject { component, manifest: None, name };
    check_replaceable(&file, key, &subject)?;
    let bundle = sign_bundle(key, &subject)?;
    let target = signature_file(&file);
    whole_file::write(&target, &bundle)?;
    let fingerprint = key.verifying_key().fingerprint();
    let shown = target.display().to_string();
    if arguments.print.json {
        let answer = json!({"component": component, "key": fingerprint, "file": shown});
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        let shown = gage_core::printable_line(&shown);
        terminal::print_line(format_args!("{shown}: signed with the key {fingerprint}"))?;
    }
    print_next(arguments, file.display());
    Ok(ExitCode::Done)
}

/// Checks that a new signature beside a file replaces none that is still needed. Those of the same key may be replaced, and
/// those about other bytes.
///
/// # Errors
/// If a signature would be lost. The message is printed.
fn check_replaceable(file: &Path, key: &SigningKey, subject: &Subject) -> Result<(), ExitCode> {
    let found = signatures_beside(file).map_err(|error| refuse_signature_file(file, &error))?;
    let Some(Signature::Bundle(bundle)) = found.first() else { return Ok(()) };
    let own = key.verifying_key();
    if verify(&found, subject, slice::from_ref(&own)).is_ok() {
        return Ok(());
    }
    let problem = match claimed_subjects(bundle) {
        Some(subjects) if !subjects.contains(&subject.component) => return Ok(()),
        Some(_) => "is a signature of this component that this key did not make",
        None => "is not a signature that can be read here",
    };
    let message = format!("{} {problem}, and would be lost", signature_file(file).display());
    Err(terminal::usage_error(&message, Some(KEEP_BOTH)))
}

/// Adds two forms of a signature to the registry: a bundle as a referrer, and cosign's tag for older programs.
fn sign_package(
    arguments: &PluginSignArguments,
    key: &SigningKey,
    reference: &OciReference,
) -> anyhow::Result<ExitCode> {
    let say = progress(arguments.print.quiet);
    say(&format!("reading the manifest of {reference}"));
    let client = client(Permissions::default())?;
    let runtime = start_runtime()?;
    let resolved = runtime.block_on(client.resolve(reference)).map_err(|error| refuse_registry(&error))?;
    let pinned = reference.with_digest(resolved.manifest);
    if reference.digest().is_none() {
        terminal::eprint_line(format_args!(
            "warning: a tag can move: this signs what it names now, {pinned}. To sign what you pushed, give its digest"
        ));
    }
    let subject =
        Subject { component: resolved.component, manifest: Some(resolved.manifest), name: reference.name() };
    let bundle = sign_bundle(key, &subject)?;
    let simple = sign_simple(key, &pinned, resolved.manifest)?;
    say("pushing the signature");
    for signature in [Signature::Bundle(bundle), simple] {
        let attached = runtime.block_on(client.attach(&pinned, resolved.manifest, &signature));
        attached.map_err(|error| refuse_registry(&error))?;
    }
    let fingerprint = key.verifying_key().fingerprint();
    if arguments.print.json {
        let answer = json!({
            "pinned": pinned.to_string(),
            "manifest": resolved.manifest,
            "component": resolved.component,
            "key": fingerprint,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    } else {
        terminal::print_line(format_args!("{pinned}: signed with the key {fingerprint}"))?;
    }
    print_next(arguments, &pinned);
    Ok(ExitCode::Done)
}

fn print_next(arguments: &PluginSignArguments, signed: impl std::fmt::Display) {
    if !arguments.print.quiet {
        next_command::print(&format!("gage-host plugin verify --key PUB {}", shell_word(signed)));
    }
}
