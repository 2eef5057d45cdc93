//! Versions of the files in a run folder.
//!
//! A version is increased only if an older reader would misunderstand the file. A new key that an older
//! reader may ignore does not change it. A reader rejects files of newer versions.

use crate::RecordError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Defines the version of a file format as its own type, so that versions of two formats cannot be mixed up.
macro_rules! format_versions {
    ($($(#[$documentation:meta])* $name:ident = $current:literal;)*) => {$(
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The version that this program writes.
            pub const CURRENT: $name = $name($current);

            /// The version as a number.
            pub fn number(self) -> u32 {
                self.0
            }

            /// Rejects a file version that this program cannot read.
            pub(crate) fn check(path: &Path, found: u64) -> Result<(), RecordError> {
                match found {
                    0 => Err(RecordError::invalid(path, "it has 'format_version' 0, and the first is 1")),
                    found if found > u64::from($name::CURRENT.0) => {
                        Err(RecordError::NewerFormat { path: path.to_owned(), found, supported: $name::CURRENT.0 })
                    }
                    _ => Ok(()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )*};
}

format_versions! {
    /// The version of `manifest.json`.
    ManifestVersion = 1;
    /// The version of the files in `journal/`.
    JournalVersion = 1;
}
