//! `gage-host plugin pull`: fetches a package into the cache, and may write its component to a file.

use super::package::{fetch, refuse_store, store};
use super::signers::SignerFacts;
use super::whole_file;
use crate::arguments::PluginPullArguments;
use crate::commands::next_command;
use crate::commands::permissions;
use crate::exit_code::ExitCode;
use crate::terminal::{self, shell_word};
use gage_config::Permissions;
use gage_packages::{NewPackage, PackageOrigin, StoredPackage, Trust, signature_file};
use gage_signature::{Signature, Subject};
use serde_json::json;
use std::path::Path;
use std::slice;

pub(super) fn pull(arguments: &PluginPullArguments) -> anyhow::Result<ExitCode> {
    let trust = permissions::trust()?;
    let store = store()?;
    let fetched = fetch(&arguments.reference, Permissions::default(), arguments.print.quiet)?;
    let stored = store.save(&fetched).map_err(|error| refuse_store(&error))?;
    let subject = Subject {
        component: stored.component,
        manifest: Some(stored.manifest),
        name: arguments.reference.name(),
    };
    let origin = PackageOrigin::Registry(&arguments.reference);
    let facts = SignerFacts::of(&trust, origin, &subject, &stored.signatures);
    if let Some(file) = &arguments.output {
        write_beside(file, &fetched, bundle_of(&trust, &subject, &stored.signatures))?;
    }
    show(arguments, &stored, fetched.component.len(), &facts)?;
    if let Some(refusal) = &facts.refusal {
        terminal::eprint_line(format_args!("warning: the policy refuses this plugin: {refusal}"));
    } else if !arguments.print.quiet {
        let reference = shell_word(&arguments.reference);
        next_command::print(&format!("gage-host plugin add {reference}"));
    }
    Ok(ExitCode::Done)
}

/// Writes the component to a file, and a bundle of signatures beside it. Both are checked before one is written.
fn write_beside(file: &Path, fetched: &NewPackage, bundle: Option<&[u8]>) -> Result<(), ExitCode> {
    let beside = signature_file(file);
    whole_file::check_free(file, &fetched.component)?;
    if let Some(bundle) = bundle {
        whole_file::check_free(&beside, bundle)?;
        whole_file::write(&beside, bundle)?;
    }
    whole_file::write(file, &fetched.component)
}

/// Returns the bundle that is kept beside a file: one that a key of the policy made, or else the first one.
fn bundle_of<'s>(trust: &Trust, subject: &Subject, signatures: &'s [Signature]) -> Option<&'s [u8]> {
    let is_accepted = |signature: &Signature| {
        let mut keys = trust.keys().iter();
        keys.any(|trusted| {
            let (signatures, keys) = (slice::from_ref(signature), slice::from_ref(&trusted.key));
            gage_signature::verify(signatures, subject, keys).is_ok()
        })
    };
    let bundles = || {
        signatures.iter().filter_map(|signature| match signature {
            Signature::Bundle(bytes) => Some((signature, bytes.as_slice())),
            Signature::Simple { .. } => None,
        })
    };
    let accepted = bundles().find(|(signature, _)| is_accepted(signature));
    accepted.or_else(|| bundles().next()).map(|(_, bytes)| bytes)
}

fn show(
    arguments: &PluginPullArguments,
    stored: &StoredPackage,
    size: usize,
    facts: &SignerFacts,
) -> anyhow::Result<()> {
    let pinned = arguments.reference.with_digest(stored.manifest);
    let file = arguments.output.as_deref().unwrap_or(&stored.file);
    if arguments.print.json {
        let mut answer = json!({
            "reference": arguments.reference.to_string(),
            "pinned": pinned.to_string(),
            "manifest": stored.manifest,
            "component": stored.component,
            "size": size,
            "file": file.display().to_string(),
        });
        answer["signatures"] = facts.to_json();
        return terminal::print_json(format_args!("{answer:#}"));
    }
    let file = file.display().to_string();
    terminal::print_line(format_args!(
        "{pinned}\ndigest      {}\nsize        {}\nfile        {}\nsignature   {}",
        stored.component,
        super::inspect::size(size),
        gage_core::printable_line(&file),
        facts.shown()
    ))
}
