//! Errors that prevent the server from starting.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Error of the server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The folder cannot be read.
    #[error("cannot read the folder {}: {source}", folder.display())]
    Folder {
        /// Path of the folder.
        folder: PathBuf,
        /// Cause of the failure.
        source: io::Error,
    },

    /// The folder is that of a single run.
    #[error("{} is the folder of one run, and not one of runs", folder.display())]
    OneRun {
        /// Path of the folder.
        folder: PathBuf,
    },

    /// The server cannot listen at the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Address to listen at.
        address: SocketAddr,
        /// Cause of the failure.
        source: io::Error,
    },

    /// The index of the folder cannot be used.
    #[error(transparent)]
    History(#[from] gage_history::HistoryError),

    /// A page cannot be rendered from its template.
    #[error(transparent)]
    Page(#[from] gage_html::HtmlError),

    /// The server stopped unexpectedly.
    #[error("the server ended")]
    Serve(#[source] io::Error),
}

impl ViewError {
    /// Returns advice on fixing the error, if there is any.
    pub fn help(&self) -> Option<String> {
        match self {
            ViewError::Folder { .. } => Some("name the folder that holds the folders of runs".to_owned()),
            ViewError::OneRun { folder } => {
                let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = parent.map_or_else(|| ".".into(), |parent| parent.display().to_string());
                Some(format!("name its parent folder ({parent}), or write its report with gage-host report"))
            }
            ViewError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                Some("another program listens there; choose another --port, or 0 for any".to_owned())
            }
            ViewError::Listen { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("choose a --port above 1023, or 0 for any".to_owned())
            }
            ViewError::Listen { .. } => Some("name an address of this machine with --host".to_owned()),
            ViewError::History(_) | ViewError::Page(_) | ViewError::Serve(_) => None,
        }
    }
}
