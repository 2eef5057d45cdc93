//! What a suite may reach outside its text: environment variables, files and hosts.

use gage_core::printable_line;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use url::Url;

/// A host that a suite may connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// A name or an address, as written in a URL.
    name: String,
    /// The port; `None` for all ports.
    port: Option<u16>,
}

impl FromStr for AllowedHost {
    type Err = String;

    /// Parses `HOST` or `HOST:PORT`.
    fn from_str(text: &str) -> Result<AllowedHost, String> {
        let (name, port) = host_and_port(text)?;
        Ok(AllowedHost { name, port })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(formatter, "{}:{port}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

/// The variables, folders and hosts that are allowed one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedResources {
    /// The names of environment variables.
    pub env: Vec<String>,
    /// Folders that may be read and written, with everything below them.
    pub read: Vec<PathBuf>,
    /// Hosts that may be connected to.
    pub net: Vec<AllowedHost>,
}

/// What a suite may reach: everything, or only its own folder and what is allowed. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(Option<Arc<Restriction>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Restriction {
    allowed: AllowedResources,
    /// All readable folders, without links.
    folders: Vec<PathBuf>,
    /// True if nothing is fetched, so that hubs need no permission.
    is_offline: bool,
}

/// A refused access, and the flag that would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is not allowed.
    pub message: String,
    /// How to allow it.
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.message, self.help)
    }
}

impl Permissions {
    /// Returns the permissions of a stranger's suite. [`Permissions::with_folder`] adds the suite's own folder.
    pub fn restricted(allowed: AllowedResources) -> Permissions {
        let folders = allowed.read.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        Permissions(Some(Arc::new(Restriction { allowed, folders, is_offline: false })))
    }

    /// Adds the folder of a suite.
    pub fn with_folder(&self, folder: &Path) -> Permissions {
        self.changed(|restriction| restriction.folders.extend(folder.canonicalize().ok()))
    }

    /// Returns the permissions of a suite for which the user forbids the network. A dataset or a model on a hub is then
    /// read from the cache, which needs no permission. The suite itself cannot ask for this.
    pub fn offline(&self) -> Permissions {
        self.changed(|restriction| restriction.is_offline = true)
    }

    fn changed(&self, change: impl FnOnce(&mut Restriction)) -> Permissions {
        Permissions(self.0.as_ref().map(|restriction| {
            let mut restriction = Restriction::clone(restriction);
            change(&mut restriction);
            Arc::new(restriction)
        }))
    }

    /// Returns what is allowed one by one. `None` if everything is allowed.
    pub fn allowed(&self) -> Option<&AllowedResources> {
        self.0.as_ref().map(|restriction| &restriction.allowed)
    }

    /// Checks that a suite may read an environment variable.
    ///
    /// # Errors
    /// Returns the refusal if it may not.
    pub fn check_env(&self, name: &str) -> Result<(), Refusal> {
        match self.allowed() {
            Some(allowed) if !allowed.env.iter().any(|one| one == name) => Err(Refusal {
                message: format!("the suite may not read the environment variable {name}"),
                help: format!("allow it with `--allow-env {name}`"),
            }),
            _ => Ok(()),
        }
    }

    /// Checks that a suite may read or write a file or a folder. Neither the path itself nor the target of a link may be
    /// outside the allowed folders.
    ///
    /// # Errors
    /// Returns the refusal if it may not.
    pub fn check_file(&self, path: &Path) -> Result<(), Refusal> {
        let Some(restriction) = &self.0 else { return Ok(()) };
        let shown = |path: &Path| printable_line(&path.display().to_string()).into_owned();
        let (Some(place), Some(target)) = (place_of(path), resolved(path)) else {
            return Err(Refusal {
                message: format!("the path {} leads through a folder that does not exist", shown(path)),
                help: "write it without `..`, and without links to missing files".to_owned(),
            });
        };
        let is_allowed = |path: &Path| restriction.folders.iter().any(|folder| path.starts_with(folder));
        if is_allowed(&place) && is_allowed(&target) {
            return Ok(());
        }
        let noun = if target.is_dir() { "folder" } else { "file" };
        let (message, outside) = match is_allowed(&place) {
            true => (
                format!(
                    "the {noun} {} leads to {}, outside the suite's folder",
                    shown(&place),
                    shown(&target)
                ),
                &target,
            ),
            false => (format!("the {noun} {} is outside the suite's folder", shown(&place)), &place),
        };
        let folder = match outside.is_dir() {
            true => outside,
            false => outside.parent().unwrap_or(outside),
        };
        Err(Refusal { message, help: format!("allow it with `--allow-read {}`", shown(folder)) })
    }

    /// Checks that a suite may connect to a host.
    ///
    /// # Errors
    /// Returns the refusal if it may not.
    pub fn check_host(&self, name: &str, port: u16) -> Result<(), Refusal> {
        let Some(allowed) = self.allowed() else { return Ok(()) };
        let is_this = |host: &AllowedHost| host.name == name && host.port.is_none_or(|own| own == port);
        if allowed.net.iter().any(is_this) {
            return Ok(());
        }
        let shown = match port {
            80 | 443 => name.to_owned(),
            port => format!("{name}:{port}"),
        };
        let help = format!("allow it with `--allow-net {shown}`");
        Err(Refusal { message: format!("the suite may not connect to the host {shown}"), help })
    }

    /// Checks that a suite may connect to the host of an address.
    ///
    /// # Errors
    /// Returns the refusal if it may not, or if the address names no host.
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        match (self.0.is_some(), url.host_str().zip(url.port_or_known_default())) {
            (false, _) => Ok(()),
            (true, Some((name, port))) => self.check_host(name, port),
            (true, None) => Err(Refusal {
                message: "the address names no host".to_owned(),
                help: "write it like http://127.0.0.1:8000/v1".to_owned(),
            }),
        }
    }

    /// Checks that a suite may fetch from the host of a hub.
    ///
    /// # Errors
    /// Returns the refusal if it may not.
    pub fn check_hub(&self, name: &str, port: u16) -> Result<(), Refusal> {
        match &self.0 {
            Some(restriction) if restriction.is_offline => Ok(()),
            _ => self.check_host(name, port),
        }
    }
}

/// Returns where a path is: its name in its folder, whose links are resolved. A link at its end is kept.
fn place_of(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    match (whole.parent(), whole.file_name()) {
        (Some(folder), Some(name)) => Some(resolved(folder)?.join(name)),
        _ => resolved(&whole),
    }
}

/// Resolves the links and the `..` of a path. The last parts of a path may be missing. `None` if `..` follows a missing
/// part, or if a link leads nowhere: such a path could later lead elsewhere.
fn resolved(path: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(path).ok()?;
    let (there, canonical) = whole.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)))?;
    let missing = whole.strip_prefix(there).ok()?;
    let mut names = missing.components();
    if let Some(first) = missing.components().next() {
        let is_there = canonical.join(first).symlink_metadata().is_ok();
        if is_there || !names.all(|name| matches!(name, Component::Normal(_))) {
            return None;
        }
    }
    // Joining an empty path would add a separator.
    Some(if missing.as_os_str().is_empty() { canonical } else { canonical.join(missing) })
}

/// Splits `host:port`, and rejects anything beyond that.
pub(crate) fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let text = text.to_ascii_lowercase();
    if text.contains("://") || text.contains('/') || text.contains('@') {
        return Err(format!("`{text}` is more than a host name; a grant is for a whole host"));
    }
    let (host, port) = match (text.starts_with('['), text.rfind("]:"), text.rsplit_once(':')) {
        (true, Some(end), _) => (&text[..=end], Some(&text[end + 2..])),
        (true, None, _) => (text.as_str(), None),
        (false, _, Some((host, port))) => (host, Some(port)),
        (false, _, None) => (text.as_str(), None),
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => return Err(format!("`{text}` has no valid port")),
    };
    if host.contains('*') {
        return Err(format!("`{text}` is a pattern; each host is granted by its name"));
    }
    let is_name = |host: &str| host.chars().all(|one| one.is_ascii_alphanumeric() || "-._".contains(one));
    let is_address = host.starts_with('[')
        && host.ends_with(']')
        && host[1..host.len() - 1].parse::<std::net::Ipv6Addr>().is_ok();
    if host.is_empty() || !(is_name(host) || is_address) {
        let hint = if host.is_ascii() {
            ""
        } else {
            "; letters beyond ASCII are written as in xn--bcher-kva.example"
        };
        return Err(format!("`{text}` is not the name of a host{hint}"));
    }
    // Uses the spelling of URLs; otherwise it would never match.
    if is_address {
        let address = host[1..host.len() - 1].parse::<std::net::Ipv6Addr>();
        return Ok((address.map_or_else(|_| host.to_owned(), |address| format!("[{address}]")), port));
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.chars().all(|one| one.is_ascii_digit()) || last.starts_with("0x");
    if is_number && host.parse::<std::net::Ipv4Addr>().is_err() {
        return Err(format!("`{text}` is not an address of four numbers"));
    }
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests;
