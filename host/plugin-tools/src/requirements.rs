//! Lists of Python packages: `requirements.in` with what a project wants, and `requirements.txt` with what it gets.
//!
//! A line names one package. Options, addresses and paths are refused, so that a list cannot lead pip elsewhere.

use crate::ToolError;
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_core::shown_name;
use std::path::Path;

/// The list of packages with exact versions and digests.
pub(crate) const LOCKED: &str = "requirements.txt";

/// The list of packages that the author wants.
pub(crate) const WANTED: &str = "requirements.in";

/// Maximum size of a list.
const MAX_SIZE: FileLimit = FileLimit::new("a list of packages", 1 << 20);

/// Characters that a line may have besides letters and digits. There is no `/`, `@`, `$` or `\`, which addresses, paths
/// and variables need.
const ALLOWED: &str = " .-_[],=<>!~;'\"()+*";

/// Start of a digest.
const HASH: &str = "--hash=sha256:";

/// Kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Packages with any versions.
    Wanted,
    /// Packages with one version and its digests each.
    Locked,
}

/// Reads a list of packages, one line for each. Returns `None` if the file does not exist.
///
/// # Errors
/// If the file cannot be read, or has a line that is not allowed. The message names the line.
pub(crate) fn read(path: &Path, kind: ListKind) -> Result<Option<Vec<String>>, ToolError> {
    match read_named_text(path, MAX_SIZE) {
        Ok(text) => parse(&text, &path.display().to_string(), kind).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::io("read", path, &error)),
    }
}

fn parse(text: &str, path: &str, kind: ListKind) -> Result<Vec<String>, ToolError> {
    let mut packages = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (place, line) in text.lines().enumerate() {
        let (start, mut whole) = open.take().unwrap_or_else(|| (place + 1, String::new()));
        let line = without_comment(line);
        whole.push_str(line.strip_suffix('\\').unwrap_or(line));
        whole.push(' ');
        if line.ends_with('\\') {
            open = Some((start, whole));
        } else {
            packages.extend(package_of(&whole, &format!("{path}:{start}"), kind)?);
        }
    }
    if let Some((start, whole)) = open {
        packages.extend(package_of(&whole, &format!("{path}:{start}"), kind)?);
    }
    Ok(packages)
}

/// A comment begins a line, or follows a space.
fn without_comment(line: &str) -> &str {
    let comment = line.match_indices('#').find(|(at, _)| {
        let before = line.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with(char::is_whitespace)
    });
    comment.and_then(|(at, _)| line.get(..at)).unwrap_or(line).trim()
}

/// Checks a line, and returns it with single spaces. Returns `None` if it is empty.
fn package_of(line: &str, place: &str, kind: ListKind) -> Result<Option<String>, ToolError> {
    let (options, words): (Vec<&str>, Vec<&str>) =
        line.split_whitespace().partition(|word| word.starts_with('-'));
    let (package, shown) = (words.join(" "), shown_name(line.trim()));
    if options.is_empty() && package.is_empty() {
        return Ok(None);
    }
    let is_hash = |option: &&str| {
        let digits = option.strip_prefix(HASH);
        digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|one| one.is_ascii_hexdigit()))
    };
    let may_have_hashes = kind == ListKind::Locked && !package.is_empty();
    if let Some(option) = options.iter().find(|option| !may_have_hashes || !is_hash(option)) {
        return Err(ToolError::with_help(
            format!("{place}: '{}' is not allowed here", shown_name(option)),
            "a line names one package, and in requirements.txt its digests as --hash=sha256:…; \
             set another index for the whole machine: pip config set global.index-url URL",
        ));
    }
    let is_allowed = |one: char| one.is_ascii_alphanumeric() || ALLOWED.contains(one);
    if !package.starts_with(|first: char| first.is_ascii_alphanumeric()) || !package.chars().all(is_allowed) {
        return Err(ToolError::with_help(
            format!("{place}: '{shown}' is not the name of a package"),
            "name packages of an index; addresses, paths and variables are not allowed",
        ));
    }
    if kind == ListKind::Locked && (options.is_empty() || !has_exact_version(&package)) {
        return Err(ToolError::with_help(
            format!("{place}: '{shown}' is not locked: it needs NAME==VERSION and --hash=sha256:…"),
            "name the package in requirements.in, and run `gage-host plugin lock`, which writes requirements.txt; \
             `pip-compile --generate-hashes` does the same",
        ));
    }
    let hashes: String = options.iter().flat_map(|option| [" ", *option]).collect();
    Ok(Some(package + &hashes))
}

/// Returns whether a package has the form `NAME==VERSION`, perhaps with extras or a condition.
fn has_exact_version(package: &str) -> bool {
    let package = package.split(';').next().unwrap_or_default();
    let Some((name, version)) = package.split_once("==") else { return false };
    let is_plain = |one: char| one.is_ascii_alphanumeric() || ".-_+!".contains(one);
    let is_name = |one: char| is_plain(one) || "[], ".contains(one);
    let version = version.trim();
    !version.is_empty() && version.chars().all(is_plain) && name.chars().all(is_name) && !name.contains('!')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash() -> String {
        format!("{HASH}{}", "0a".repeat(32))
    }

    fn locked(text: &str) -> Result<Vec<String>, ToolError> {
        parse(text, "r.txt", ListKind::Locked)
    }

    #[test]
    fn lines_of_pip_compile_are_read() {
        let hash = hash();
        let text = format!(
            "# This file is autogenerated\n\nsix==1.17.0 \\\n    {hash} \\\n    {hash}\n    # via -r x.in\n\
             a.b[c,d]==2!1.0+x ; python_version >= \"3.8\" {hash}  # note\n"
        );
        assert_eq!(
            locked(&text).unwrap(),
            [
                format!("six==1.17.0 {hash} {hash}"),
                format!("a.b[c,d]==2!1.0+x ; python_version >= \"3.8\" {hash}")
            ]
        );
        assert_eq!(locked("").unwrap(), Vec::<String>::new());
        assert_eq!(
            parse("six\nurllib3 >=2, <3\n", "r.in", ListKind::Wanted).unwrap(),
            ["six", "urllib3 >=2, <3"]
        );
    }

    #[test]
    fn lines_without_a_lock_are_refused() {
        let hash = hash();
        for line in
            ["six".to_owned(), "six==1.17.0".to_owned(), format!("six>=1 {hash}"), format!("six==1.* {hash}")]
        {
            let error = locked(&format!("# one\n{line}\n")).unwrap_err();
            assert!(
                error.message.starts_with("r.txt:2: 'six") && error.message.contains("is not locked"),
                "{error}"
            );
            assert!(error.help.unwrap().contains("plugin lock"));
        }
    }

    #[test]
    fn lines_that_lead_elsewhere_are_refused() {
        let hash = hash();
        for line in [
            "-r other.txt",
            "--index-url https://example.com/simple",
            "-e .",
            "six==1.17.0 --hash=md5:00",
            "six==1.17.0 --hash=sha256:00",
            "six==1.17.0 --config-settings=a",
        ] {
            let error = locked(line).unwrap_err();
            assert!(
                error.message.starts_with("r.txt:1: '-") && error.message.contains("is not allowed"),
                "{error}"
            );
        }
        for line in [
            "https://example.com/six.whl",
            "six @ https://example.com/six.whl",
            "./six.whl",
            "../six",
            "six==${VERSION}",
            "C:\\six",
            "six==1\u{202e}",
        ] {
            let error = locked(&format!("{line} {hash}")).unwrap_err();
            assert!(error.message.contains("is not the name of a package"), "{line}: {error}");
            assert!(parse(line, "r.in", ListKind::Wanted).is_err(), "{line}");
        }
        assert!(locked(&hash).is_err() && parse(&format!("six {hash}"), "r.in", ListKind::Wanted).is_err());
        assert!(locked(&format!("six==1 \\\n{hash} \\\n-r x")).unwrap_err().message.starts_with("r.txt:1: "));
    }
}
