//! `gage-host plugin verify`: says which key signed a component, or why no signature was accepted.

use super::keys::{read_verifying_key, refuse_signature_file};
use super::package::read_package;
use super::signers::{shown_key, signers_of};
use super::{file_of, read};
use crate::arguments::{ComponentTarget, PluginVerifyArguments};
use crate::commands::permissions;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{Digest, OciReference};
use gage_packages::{PackageOrigin, Signer, Trust, signatures_beside};
use gage_plugin::InstanceSetup;
use gage_signature::{Signature, Subject};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A component, and the signatures that were found.
struct SignedComponent<'a> {
    /// The name that the user gave.
    name: String,
    origin: PackageOrigin<'a>,
    subject: Subject,
    signatures: Vec<Signature>,
}

/// Result of a verification.
enum Verdict {
    Accepted(Signer),
    /// The message, and advice.
    Refused(String, Option<&'static str>),
}

pub(super) fn verify(arguments: &PluginVerifyArguments) -> anyhow::Result<ExitCode> {
    match &arguments.target {
        ComponentTarget::File(file) => {
            let file = file_of(Some(file.as_path()))?;
            verify_signed(arguments, &signed_file(&file)?)
        }
        ComponentTarget::Package(reference) => {
            verify_signed(arguments, &signed_package(arguments, reference)?)
        }
    }
}

fn signed_file(file: &Path) -> anyhow::Result<SignedComponent<'_>> {
    let component = Digest::of_bytes(&read(file, &InstanceSetup::default())?);
    let signatures = signatures_beside(file).map_err(|error| refuse_signature_file(file, &error))?;
    let name = file.display().to_string();
    let subject = Subject { component, manifest: None, name: name.clone() };
    Ok(SignedComponent { name, origin: PackageOrigin::File(file), subject, signatures })
}

fn signed_package<'a>(
    arguments: &PluginVerifyArguments,
    reference: &'a OciReference,
) -> anyhow::Result<SignedComponent<'a>> {
    let package = read_package(reference, arguments.offline, arguments.print.quiet)?;
    let subject = package.subject();
    let name = package.pinned().to_string();
    Ok(SignedComponent {
        name,
        origin: PackageOrigin::Registry(reference),
        subject,
        signatures: package.signatures,
    })
}

fn verify_signed(
    arguments: &PluginVerifyArguments,
    signed: &SignedComponent<'_>,
) -> anyhow::Result<ExitCode> {
    let verdict = match arguments.keys.as_slice() {
        [] => of_policy(&*permissions::trust()?, signed)?,
        paths => of_keys(paths, signed)?,
    };
    if arguments.print.json {
        let (signer, reason) = match &verdict {
            Verdict::Accepted(signer) => {
                (json!({"key": signer.key, "fingerprint": signer.fingerprint}), json!(null))
            }
            Verdict::Refused(reason, _) => (json!(null), json!(reason)),
        };
        let answer = json!({
            "name": signed.name,
            "component": signed.subject.component,
            "manifest": signed.subject.manifest,
            "signatures": signed.signatures.len(),
            "signer": signer,
            "refusal": reason,
        });
        terminal::print_json(format_args!("{answer:#}"))?;
    }
    match verdict {
        Verdict::Accepted(signer) => {
            if !arguments.print.json {
                let (name, key) = (&signed.name, shown_key(&signer.key, signer.fingerprint));
                let name = gage_core::printable_line(name);
                terminal::print_line(format_args!("{name}: signed by {key}"))?;
            }
            Ok(ExitCode::Done)
        }
        Verdict::Refused(reason, help) => {
            terminal::usage_error(&reason, help);
            Ok(ExitCode::LockMismatch)
        }
    }
}

/// Verifies with keys of the command line.
fn of_keys(paths: &[PathBuf], signed: &SignedComponent<'_>) -> Result<Verdict, ExitCode> {
    let keys = paths.iter().map(|path| read_verifying_key(path)).collect::<Result<Vec<_>, _>>()?;
    if signed.signatures.is_empty() {
        return Ok(not_signed(signed));
    }
    Ok(match gage_signature::verify(&signed.signatures, &signed.subject, &keys) {
        Ok(key) => {
            let fingerprint = key.fingerprint();
            let place = keys.iter().position(|known| known.fingerprint() == fingerprint);
            let path = place.and_then(|place| paths.get(place));
            let name = path.and_then(|path| path.file_name()).unwrap_or_default();
            Verdict::Accepted(Signer { key: name.to_string_lossy().into_owned(), fingerprint })
        }
        Err(error) => Verdict::Refused(format!("{}: {error}", signed.name), None),
    })
}

/// Verifies with the keys of the policy, if it has any.
fn of_policy(trust: &Trust, signed: &SignedComponent<'_>) -> Result<Verdict, ExitCode> {
    if trust.keys().is_empty() {
        let help = "give one with --key PUB, or name the key in `trust` of the policy file";
        return Err(terminal::usage_error("there is no key: the policy names none", Some(help)));
    }
    if signed.signatures.is_empty() {
        return Ok(not_signed(signed));
    }
    let signatures = || signed.signatures.clone();
    Ok(match trust.check(signed.origin, &signed.subject, true, &signatures) {
        Ok(Some(signer)) => Verdict::Accepted(signer),
        Ok(None) => not_of_policy(trust, signed),
        Err(error) => Verdict::Refused(error.to_string(), None),
    })
}

/// Returns the verdict if the policy accepts the component without a signature.
fn not_of_policy(trust: &Trust, signed: &SignedComponent<'_>) -> Verdict {
    let help = "to verify with other keys, give them with --key PUB";
    match signers_of(trust, &signed.subject, &signed.signatures).into_iter().next() {
        Some(signer) => Verdict::Accepted(signer),
        None => {
            let message = format!("{}: no key of the policy made one of its signatures", signed.name);
            Verdict::Refused(message, Some(help))
        }
    }
}

fn not_signed(signed: &SignedComponent<'_>) -> Verdict {
    let message = format!("{}: it has no signature", signed.name);
    Verdict::Refused(message, Some("its author signs it with `gage-host plugin sign`"))
}
