//! Valid names and paths. All of them become file names.

use super::error::HubError;
use super::source::HubKind;
use url::Url;

const MAX_NAME_BYTES: usize = 96;
const MAX_REVISION_BYTES: usize = 200;
const MAX_PATH_BYTES: usize = 1_024;
const MAX_COMPONENT_BYTES: usize = 255;
const MAX_COMPONENTS: usize = 64;

/// A checked name of a repository: `owner/name` or `name`.
#[derive(Clone, Debug)]
pub(super) struct RepositoryName(String);

impl RepositoryName {
    pub(super) fn parse(kind: HubKind, name: &str) -> Result<RepositoryName, HubError> {
        let invalid = |reason: &str| {
            HubError::Invalid(format!(
                "'{}' is not the name of a {noun}: {reason}; write 'owner/name', as in the address of the \
                 {noun}'s page",
                gage_core::printable_line(name),
                noun = kind.noun()
            ))
        };
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(invalid("one or two parts separated by '/' are expected"));
        }
        if parts.iter().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(invalid("a part is longer than 96 characters"));
        }
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        if let Some(bad) = name.chars().find(|character| *character != '/' && !is_allowed(*character)) {
            return Err(invalid(&format!("it contains the character {bad:?}")));
        }
        let is_bad = |part: &&str| {
            part.starts_with(['.', '-'])
                || part.ends_with(['.', '-'])
                || part.contains("--")
                || part.contains("..")
        };
        if parts.iter().any(is_bad) {
            return Err(invalid("no part may begin or end with '.' or '-', or hold '--' or '..'"));
        }
        Ok(RepositoryName(name.to_owned()))
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns its folder in the cache. Names contain no `--`, so no two share one.
    pub(super) fn folder(&self) -> String {
        self.0.replace('/', "--")
    }
}

impl std::fmt::Display for RepositoryName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns whether a text is a full commit ID: 40 hexadecimal digits.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks a revision by git's rules for branch and tag names.
pub(super) fn check_revision(revision: &str) -> Result<(), HubError> {
    let is_bad = |character: char| {
        character.is_control() || character.is_whitespace() || "\\:?*[^~".contains(character)
    };
    let is_well_formed = !revision.is_empty()
        && revision.len() <= MAX_REVISION_BYTES
        && !revision.contains("..")
        && !revision.chars().any(is_bad)
        && revision.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    match is_well_formed {
        true => Ok(()),
        false => Err(HubError::Revision(format!(
            "'{}' is not a revision; write a branch, a tag or a commit, such as 'main'",
            gage_core::printable_line(revision)
        ))),
    }
}

/// Returns the file name of a revision. Letters, digits, `_`, `-` and dots within the name are kept; every other byte
/// is written as `%` and two hexadecimal digits. Thus no two revisions share a name.
pub(super) fn revision_file(revision: &str) -> String {
    use std::fmt::Write as _;
    revision.bytes().fold(String::new(), |mut name, byte| {
        let _ = match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'-' | b'.' => {
                write!(name, "{}", char::from(byte))
            }
            byte => write!(name, "%{byte:02x}"),
        };
        name
    })
}

/// Checks that a path from the server stays within its target folder on every system. The error describes the
/// problem.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("it is longer than {MAX_PATH_BYTES} bytes"));
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.len() > MAX_COMPONENTS {
        return Err(format!("it has more than {MAX_COMPONENTS} parts"));
    }
    parts.into_iter().try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), String> {
    if part.is_empty() || part == "." || part == ".." {
        return Err("it has a part that is empty, '.' or '..'".to_owned());
    }
    if part.len() > MAX_COMPONENT_BYTES {
        return Err(format!("it has a part that is longer than {MAX_COMPONENT_BYTES} bytes"));
    }
    if let Some(bad) =
        part.chars().find(|character| character.is_control() || "\\:*?\"<>|".contains(*character))
    {
        return Err(format!("it contains the character {bad:?}"));
    }
    if part.ends_with(['.', ' ']) {
        return Err("it has a part that ends with a dot or a space".to_owned());
    }
    let stem = part.split('.').next().unwrap_or(part).trim_end().to_ascii_lowercase();
    let is_numbered = |prefix: &str| {
        stem.strip_prefix(prefix).is_some_and(|rest| {
            let mut rest = rest.chars();
            rest.next().is_some_and(|digit| "0123456789¹²³".contains(digit)) && rest.next().is_none()
        })
    };
    if ["con", "prn", "aux", "nul", "conin$", "conout$"].contains(&stem.as_str())
        || is_numbered("com")
        || is_numbered("lpt")
    {
        return Err(format!("'{stem}' is the name of a device on some systems"));
    }
    Ok(())
}

/// Returns a URL below the endpoint. Each part is encoded, including any `/` within it.
pub(super) fn below<'a>(endpoint: &Url, parts: impl IntoIterator<Item = &'a str>) -> Result<Url, HubError> {
    let mut url = endpoint.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.path_segments_mut()
        .map_err(|()| {
            HubError::Invalid(
                "the endpoint of the hub cannot be a base of addresses; write it like \
                'https://huggingface.co'"
                    .to_owned(),
            )
        })?
        .pop_if_empty()
        .extend(parts);
    Ok(url)
}

#[cfg(test)]
mod tests;
