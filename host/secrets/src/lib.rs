//! Secrets: values that are marked when they are read, and one search that takes them out of every text that leaves the process.
//!
//! A value is a secret because somebody marked it ([`register_secret`], [`SecretString::new`]), and never because of how it
//! looks. The search is linear in the text. It finds a value as it is, with any of its characters escaped as in JSON, YAML,
//! addresses or HTML (also one inside another), in Base64 at each alignment, in hexadecimal digits, in upper and lower case,
//! and reversed.
//!
//! One rule bounds it: **a value of fewer than [`MIN_SECRET_CHARS`] characters is not searched for**, because ordinary texts
//! would contain it by chance. Documents still leave such a value out by its key.
//!
//! Imports `gage-core` only.

mod decoder;
mod examined;
mod json_numbers;
mod registry;
mod scanner;
mod secret_string;
mod spellings;

pub use registry::{
    find_secrets, redact, redact_bytes, redact_value, redact_value_and_numbers, register_secret,
    register_variable_name,
};
pub use scanner::SecretScanner;
pub use secret_string::SecretString;

/// The text that takes the place of a secret.
pub const SECRET_MARK: &str = "(secret)";

/// A value of fewer characters is not searched for.
pub const MIN_SECRET_CHARS: usize = 8;
