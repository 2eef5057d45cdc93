//! Errors from looking up or adding a plugin.

use crate::component::LoadError;
use crate::world::World;
use gage_config::shown_path;
use gage_core::Digest;
use gage_packages::TrustError;
use std::path::PathBuf;

/// Maximum number of plugins that a message lists.
const MAX_LISTED_PLUGINS: usize = 20;

/// Error from looking up or adding a plugin.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No plugin has this name.
    #[error("there is no {world} '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// The requested world.
        world: World,
        /// The known names.
        known: Vec<String>,
    },
    /// No plugin has this id.
    #[error("there is no plugin '{id}'")]
    UnknownPlugin {
        /// The id.
        id: String,
        /// The known ids.
        known: Vec<String>,
    },
    /// Several plugins have a member with this name.
    #[error("the {world} '{name}' is in several plugins: {}", list(plugins))]
    Ambiguous {
        /// The name.
        name: String,
        /// The requested world.
        world: World,
        /// The plugins, each with its source.
        plugins: Vec<String>,
        /// The unambiguous names.
        known: Vec<String>,
    },
    /// Another plugin already has this id.
    #[error("the id '{id}' is taken by {by}")]
    IdTaken {
        /// The id.
        id: String,
        /// The plugin with this id.
        by: String,
    },
    /// The file cannot be read.
    #[error("cannot read the plugin {}: {error}", shown_path(path))]
    Unreadable {
        /// The path as written.
        path: PathBuf,
        /// The cause.
        error: String,
    },
    /// The file differs from the one named in the suite.
    #[error("sha256 mismatch for {}: expected {}, found {}", .path.display(), .wanted.hex(), .found.hex())]
    Digest {
        /// The file.
        path: PathBuf,
        /// Digest in the suite.
        wanted: Digest,
        /// Digest of the file.
        found: Digest,
    },
    /// The package is not in the cache.
    #[error("{} is not in the cache", package(reference, sha256.as_ref()))]
    NotFetched {
        /// The address of the package.
        reference: String,
        /// The digest of the wanted component.
        sha256: Option<Digest>,
    },
    /// The policy does not allow the component.
    #[error(transparent)]
    Untrusted(Box<TrustError>),
    /// An optional component is not part of this installation.
    #[error("the {world} '{name}' is not installed: {}", lacking_file(name, searched))]
    NotInstalled {
        /// Name of the component.
        name: String,
        /// The world of the component.
        world: World,
        /// The folders that were searched for its file.
        searched: Vec<PathBuf>,
        /// Purpose of the component, and the way to get it.
        remedy: &'static str,
    },
    /// The component cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl RegistryError {
    /// Returns the error of an entry with the id of a bundled component.
    pub fn taken_by_bundled(id: &str) -> RegistryError {
        let by = "a component that comes with the program".to_owned();
        RegistryError::IdTaken { id: id.to_owned(), by }
    }

    /// Returns advice, if there is any beyond the message.
    pub fn help(&self) -> Option<String> {
        match self {
            RegistryError::Ambiguous { known, .. } => Some(format!("name one of them: {}", list(known))),
            RegistryError::IdTaken { .. } => Some("give the entry another id".to_owned()),
            RegistryError::Digest { .. } => {
                Some("restore the intended file; or, if you trust the new one, write its sha256".to_owned())
            }
            RegistryError::NotFetched { reference, .. } => Some(format!(
                "fetch it with `gage-host plugin pull {reference}`; `run`, `lock` and `score` fetch it too if the suite has \
                 no other error, unless they are offline"
            )),
            RegistryError::Untrusted(error) => error.help().map(str::to_owned),
            RegistryError::NotInstalled { remedy, .. } => Some((*remedy).to_owned()),
            RegistryError::Load(error) => error.help.clone(),
            RegistryError::Unknown { .. }
            | RegistryError::UnknownPlugin { .. }
            | RegistryError::Unreadable { .. } => None,
        }
    }
}

fn list(names: &[String]) -> String {
    gage_core::name_list(names, MAX_LISTED_PLUGINS, ", ")
}

/// Names a package, and its component if only that one is wanted.
fn package(reference: &str, sha256: Option<&Digest>) -> String {
    match sha256 {
        Some(digest) => format!("the component {digest} of {reference}"),
        None => format!("the package {reference}"),
    }
}

/// Says where the file of an optional component is missing.
fn lacking_file(name: &str, searched: &[PathBuf]) -> String {
    let folders: Vec<String> = searched.iter().map(|folder| folder.display().to_string()).collect();
    match folders.is_empty() {
        true => "the folder of this program is unknown".to_owned(),
        false => format!("there is no {name}.wasm in {}", folders.join(" or ")),
    }
}
