//! Secrets: values that are marked when they are read, and one search that removes them from every text that leaves
//! the process.
//!
//! A value is a secret only if it was marked ([`register_secret`], [`SecretString::new`]), and never because of its
//! form. The search is linear in the text. It finds a value verbatim, reversed, and in upper and lower case. It also
//! finds any of its characters escaped as in JSON, YAML, addresses or HTML, even if nested. Base64 at each alignment
//! and hexadecimal digits are found too.
//!
//! One rule limits it: **values of fewer than [`MIN_SECRET_CHARS`] characters are not searched for**, because
//! ordinary text would contain them by chance. Documents still omit such values based on their keys.
//!
//! Searches may be called on the async runtime. A search of more than 64 KiB leaves the runtime's thread to other tasks.
//!
//! Imports `gage-core` only.

mod decoder;
mod examined;
mod json_numbers;
mod off_runtime;
mod registry;
mod scanner;
mod secret_string;
mod spellings;

#[cfg(feature = "fuzzing")]
pub use examined::examined_bytes;
pub use registry::{
    find_secrets, redact, redact_bytes, redact_value, redact_value_and_numbers, register_secret,
    register_variable_name,
};
pub use scanner::SecretScanner;
pub use secret_string::SecretString;

/// Text that replaces a secret.
pub const SECRET_MARK: &str = "(secret)";

/// Minimum length of a value that is searched for, in characters.
pub const MIN_SECRET_CHARS: usize = 8;
