//! Settings of the client.

use gage_config::Permissions;
use gage_core::variable;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct OciSettings {
    /// Time limit for a connection; default 10 s.
    pub connect: Duration,
    /// Time limit for the next bytes; default 60 s.
    pub stall: Duration,
    /// Time before the speed of a download counts; default 30 s.
    pub slow_start: Duration,
    /// Wait before a request is sent again to a busy registry; the next wait is twice as long. Default 1 s.
    pub first_retry_wait: Duration,
    /// Docker's configuration, which may hold credentials. By default `$DOCKER_CONFIG/config.json`, or else
    /// `~/.docker/config.json`.
    pub docker_config: Option<PathBuf>,
    /// The hosts that may be connected to, those of redirects included. By default all.
    pub permissions: Permissions,
}

impl Default for OciSettings {
    fn default() -> OciSettings {
        OciSettings {
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            slow_start: Duration::from_secs(30),
            first_retry_wait: Duration::from_secs(1),
            docker_config: docker_config(),
            permissions: Permissions::default(),
        }
    }
}

fn docker_config() -> Option<PathBuf> {
    let is_set = |value: &String| !value.is_empty();
    let folder = variable("DOCKER_CONFIG")
        .filter(is_set)
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&variable("HOME").filter(is_set)?).join(".docker")))?;
    Some(folder.join("config.json"))
}
