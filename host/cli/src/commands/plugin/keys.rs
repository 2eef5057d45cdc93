//! Files of keys, and errors of signature files.

use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_packages::signature_file;
use gage_signature::{KeyError, MAX_KEY_BYTES, SigningKey, VerifyingKey};
use std::io;
use std::path::Path;

/// Maximum size of a key file.
const MAX_KEY_SIZE: FileLimit = FileLimit::new("a key", MAX_KEY_BYTES as u64);

/// Commands that make a pair of keys.
pub(super) const MAKE_KEYS: &str = "make a pair of keys, keep the first file secret, and sign with --key team.key:\n\
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key\n\
    openssl pkey -in team.key -pubout -out team.pub";

/// Reads a private key.
///
/// # Errors
/// If it cannot be used. The message is printed.
pub(super) fn read_signing_key(path: &Path) -> Result<SigningKey, ExitCode> {
    let text = read_named_text(path, MAX_KEY_SIZE);
    let text = text.map_err(|error| refuse_unreadable(path, &error, Some(MAKE_KEYS)))?;
    SigningKey::from_pem(&text).map_err(|error| refuse_key(path, &error))
}

/// Reads a public key.
///
/// # Errors
/// Same as for [`read_signing_key`].
pub(super) fn read_verifying_key(path: &Path) -> Result<VerifyingKey, ExitCode> {
    let text = read_named_text(path, MAX_KEY_SIZE);
    let text = text.map_err(|error| refuse_unreadable(path, &error, None))?;
    VerifyingKey::from_pem(&text).map_err(|error| refuse_key(path, &error))
}

fn refuse_unreadable(path: &Path, error: &io::Error, help: Option<&str>) -> ExitCode {
    let reason = gage_core::system_message(error);
    terminal::usage_error(&format!("cannot read the key {}: {reason}", path.display()), help)
}

fn refuse_key(path: &Path, error: &KeyError) -> ExitCode {
    terminal::usage_error(&format!("cannot use the key {}: {error}", path.display()), None)
}

/// Prints the error of a signature beside a component file.
pub(super) fn refuse_signature_file(component: &Path, error: &io::Error) -> ExitCode {
    let reason = gage_core::system_message(error);
    let file = signature_file(component);
    terminal::usage_error(&format!("cannot read the signature {}: {reason}", file.display()), None)
}
