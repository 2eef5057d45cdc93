//! Errors of the cache of packages and of packages in a file.

use gage_core::{OciReference, printable_line, system_message};
use std::io;
use std::path::{Path, PathBuf};

/// Error of reading or writing packages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("packages of plugins: cannot {action} {}: {}", path.display(), system_message(cause))]
    File {
        /// Action that failed.
        action: &'static str,
        /// File of the action.
        path: PathBuf,
        /// Cause of the failure.
        cause: io::Error,
    },
    /// A package contradicts itself, or has no valid manifest.
    #[error("the package {reference} is not valid: {reason}; nothing was saved")]
    Package {
        /// Name of the package.
        reference: Box<OciReference>,
        /// Problem with the package.
        reason: String,
    },
    /// A package is no longer in the cache, or is damaged.
    #[error(
        "the package {reference} is not in the cache, or is damaged; fetch it with `gage-host plugin pull {reference}`"
    )]
    Missing {
        /// Name of the package.
        reference: Box<OciReference>,
    },
    /// More packages than an archive may have.
    #[error("there are {count} packages to export, and an archive has at most {max}; divide the suite")]
    TooManyPackages {
        /// Number of packages.
        count: usize,
        /// Maximum number of packages in an archive.
        max: usize,
    },
    /// A file is not an archive of packages.
    #[error(
        "{} is not an archive of packages: {reason}; nothing was imported; make it with `gage-host plugin export`",
        path.display()
    )]
    Archive {
        /// The file.
        path: PathBuf,
        /// Problem with the file.
        reason: String,
    },
}

impl StoreError {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |cause| {
            gage_core::ResourceShortage::report_in(&cause);
            StoreError::File { action, path, cause }
        }
    }

    pub(crate) fn package(reference: &OciReference, reason: impl Into<String>) -> StoreError {
        StoreError::Package { reference: Box::new(reference.clone()), reason: reason.into() }
    }

    pub(crate) fn missing(reference: &OciReference) -> StoreError {
        StoreError::Missing { reference: Box::new(reference.clone()) }
    }

    pub(crate) fn archive(path: &Path, reason: impl AsRef<str>) -> StoreError {
        StoreError::Archive { path: path.to_owned(), reason: printable_line(reason.as_ref()).into_owned() }
    }
}
