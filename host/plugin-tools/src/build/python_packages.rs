//! Packages of a Python project: installed by pip from the locked list, and refused if they have native code.

use super::componentize_py::{GUEST_PYTHON, INSTALL, find_pip};
use super::lock::Lock;
use super::{BuildOptions, tool, write};
use crate::requirements::{self, LOCKED, ListKind, WANTED};
use crate::{Language, Project, ToolError};
use gage_core::{Digest, name_list, shown_name};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Folder of a project for packages that the author installs.
const BY_HAND: &str = "packages";

/// Advice for a package with native code.
const PURE_ONLY: &str = "a component runs no native code: use a package that is written in Python only, or write the plugin in \
                         Rust";

/// Maximum number of wheels that a message lists.
const MAX_SHOWN: usize = 5;

/// Maximum depth of the folders of packages.
const MAX_DEPTH: usize = 64;

/// Folder with the packages of a project.
pub(crate) struct Packages {
    /// The folder, with one subfolder or file for each module.
    pub(crate) folder: PathBuf,
    /// The packages, as `NAME==VERSION`.
    pub(crate) names: Vec<String>,
    /// Removes the folder if there is no cache folder.
    _scratch: Option<TempDir>,
}

impl Packages {
    fn in_folder(folder: PathBuf, scratch: Option<TempDir>) -> Packages {
        let name = |one: Distribution| match one.name.rsplit_once('-') {
            Some((name, version)) => format!("{name}=={version}"),
            None => one.name,
        };
        let mut names: Vec<String> = distributions(&folder).into_iter().map(name).collect();
        names.sort_unstable();
        Packages { folder, names, _scratch: scratch }
    }
}

/// Result of [`lock_packages`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedPackages {
    /// The list that was written.
    pub path: PathBuf,
    /// The packages, as `NAME==VERSION`.
    pub packages: Vec<String>,
}

/// Installs the locked packages of a project, if it has some. The folder in the cache is named after the list, so an unchanged
/// list needs no network.
pub(crate) fn install(project: &Project, options: &BuildOptions<'_>) -> Result<Option<Packages>, ToolError> {
    let by_hand = project.folder.join(BY_HAND);
    let Some(lines) = requirements::read(&project.folder.join(LOCKED), ListKind::Locked)? else {
        return unlocked(project, &by_hand);
    };
    if by_hand.is_dir() {
        return Err(ToolError::with_help(
            format!("there are both {LOCKED} and the folder {BY_HAND}"),
            format!("keep one of them: {LOCKED} is installed by each build, and {BY_HAND} is used as it is"),
        ));
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let text = lines.join("\n") + "\n";
    let Some(cache) = &options.cache_folder else {
        let scratch = scratch_folder()?;
        let folder = scratch.path().join(BY_HAND);
        install_into(&folder, &text, options)?;
        return Ok(Some(Packages::in_folder(folder, Some(scratch))));
    };
    let digest = Digest::of_bytes(format!("{GUEST_PYTHON}\n{text}").as_bytes());
    let folder = cache.join("python-packages").join(digest.hex());
    if !folder.is_dir() {
        let _lock = Lock::take(&folder, options.say)?;
        if !folder.is_dir() {
            let fail = |error: io::Error| ToolError::io("write", &folder, &error);
            let scratch = tempfile::Builder::new()
                .prefix(".new-")
                .tempdir_in(folder.parent().unwrap_or(cache))
                .map_err(fail)?;
            let whole = scratch.path().join(BY_HAND);
            install_into(&whole, &text, options)?;
            fs::rename(&whole, &folder).map_err(fail)?;
        }
    }
    Ok(Some(Packages::in_folder(folder, None)))
}

/// Returns the packages of a project without a locked list.
fn unlocked(project: &Project, by_hand: &Path) -> Result<Option<Packages>, ToolError> {
    if project.folder.join(WANTED).is_file() {
        return Err(ToolError::with_help(
            format!("there is {WANTED}, but no {LOCKED}"),
            format!("run `gage-host plugin lock`, which writes {LOCKED}"),
        ));
    }
    if !by_hand.is_dir() {
        return Ok(None);
    }
    refuse_native_code(by_hand)?;
    Ok(Some(Packages::in_folder(by_hand.to_owned(), None)))
}

fn scratch_folder() -> Result<TempDir, ToolError> {
    tempfile::tempdir().map_err(|error| ToolError::new(format!("cannot make a temporary folder: {error}")))
}

/// Installs packages into a new folder. pip reads the checked list, not the project's file.
fn install_into(folder: &Path, text: &str, options: &BuildOptions<'_>) -> Result<(), ToolError> {
    (options.say)(&format!("installing the packages of {LOCKED}"));
    let scratch = scratch_folder()?;
    let list = scratch.path().join(LOCKED);
    fs::write(&list, text).map_err(|error| ToolError::io("write", &list, &error))?;
    let log = scratch.path().join("pip.log");
    let mut command = pip(options, "install", &log)?;
    command
        .args(["--require-hashes", "--no-compile", "--target"])
        .arg(folder)
        .arg("--requirement")
        .arg(&list);
    run_pip(&mut command, "pip install", &log)?;
    // A list whose conditions all fail installs nothing.
    fs::create_dir_all(folder).map_err(|error| ToolError::io("write", folder, &error))?;
    refuse_native_code(folder)
}

/// Locks the packages that `requirements.in` of a project names, with those that they need: writes `requirements.txt`.
///
/// # Errors
/// If the project is not in Python, the list cannot be read, or pip fails.
pub fn lock_packages(folder: &Path, options: &BuildOptions<'_>) -> Result<LockedPackages, ToolError> {
    let project = Project::read(folder)?;
    if project.language != Language::Python {
        return Err(ToolError::with_help(
            format!("this plugin is in {}, and only packages of Python are locked here", project.language),
            "`npm install` writes package-lock.json, and cargo writes Cargo.lock",
        ));
    }
    let wanted = folder.join(WANTED);
    let Some(lines) = requirements::read(&wanted, ListKind::Wanted)? else {
        return Err(ToolError::with_help(
            format!("there is no {}", wanted.display()),
            "write the names of the packages that plugin.py imports into it, one a line",
        ));
    };
    let scratch = scratch_folder()?;
    let (list, wheels) = (scratch.path().join(WANTED), scratch.path().join("wheels"));
    let fail = |error: io::Error| ToolError::io("write", &list, &error);
    fs::write(&list, lines.join("\n") + "\n").and_then(|()| fs::create_dir(&wheels)).map_err(fail)?;
    if !lines.is_empty() {
        (options.say)("asking the index for packages");
        let log = scratch.path().join("pip.log");
        let mut command = pip(options, "download", &log)?;
        command.arg("--dest").arg(&wheels).arg("--requirement").arg(&list);
        run_pip(&mut command, "pip download", &log)?;
    }
    let packages = digests_of(&wheels).map_err(|error| ToolError::io("read", &wheels, &error))?;
    let mut text = format!("# Written by `gage-host plugin lock` from {WANTED}. Do not edit.\n");
    for (package, digest) in &packages {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{package} --hash=sha256:{}", digest.hex());
    }
    let path = folder.join(LOCKED);
    write(&path, text.as_bytes())?;
    Ok(LockedPackages { path, packages: packages.into_iter().map(|(package, _)| package).collect() })
}

/// Returns the packages of a folder of wheels, sorted by name, with the digest of each wheel.
fn digests_of(wheels: &Path) -> io::Result<Vec<(String, Digest)>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(wheels)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let mut parts = file.split('-');
        if let (Some(name), Some(version)) = (parts.next(), parts.next()) {
            let package = format!("{}=={version}", normal_name(name));
            packages.push((package, Digest::of_reader(fs::File::open(entry.path())?)?));
        }
    }
    packages.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(packages)
}

/// Returns pip with the options that admit only wheels in pure Python, for the interpreter of a component.
fn pip(options: &BuildOptions<'_>, action: &str, log: &Path) -> Result<Command, ToolError> {
    let mut command = Command::new(find_pip(options)?);
    command.args(["-m", "pip", action, "--quiet", "--disable-pip-version-check", "--no-input"]);
    command.args(["--only-binary=:all:", "--implementation=py", "--abi=none", "--platform=any"]);
    command.arg(format!("--python-version={GUEST_PYTHON}")).arg("--log").arg(log);
    Ok(command)
}

fn run_pip(command: &mut Command, doing: &str, log: &Path) -> Result<(), ToolError> {
    let output = tool::run(command, INSTALL)?;
    if output.status.success() {
        return Ok(());
    }
    let log = fs::read(log).unwrap_or_default();
    let said = tool::said(&output);
    Err(explain(&said, &String::from_utf8_lossy(&log)).unwrap_or_else(|| tool::failure(&output, doing)))
}

/// Explains that a package exists only with native code or as source, from the output of pip and its log.
fn explain(said: &str, log: &str) -> Option<ToolError> {
    const NOT_FOUND: &str = "ERROR: No matching distribution found for ";
    let wanted = said.lines().find_map(|line| line.strip_prefix(NOT_FOUND))?;
    let wanted = wanted.split(" (from").next()?.trim();
    let end = wanted.find(|one: char| !one.is_ascii_alphanumeric() && !"-_.".contains(one));
    let name = normal_name(wanted.get(..end.unwrap_or(wanted.len()))?);
    let version = wanted.split_once("==").map(|(_, version)| version);
    let mut wheels: Vec<&str> =
        log.lines().filter_map(|line| incompatible_wheel(line, &name, version)).collect();
    // An index lists the newest last.
    wheels.reverse();
    let shown = name_list(&wheels, MAX_SHOWN, ", ");
    let wanted = shown_name(wanted);
    if !wheels.is_empty() {
        return Some(ToolError::with_help(
            format!("{wanted} has no wheel in pure Python (py3-none-any), only native ones: {shown}"),
            PURE_ONLY,
        ));
    }
    let is_source = |line: &str| line.contains(&format!("No sources permitted for {name}:"));
    log.lines().any(is_source).then(|| {
        ToolError::with_help(
            format!("{wanted} has no wheel, only source code"),
            "use another version or package: building one from source would run its code on this machine",
        )
    })
}

/// Returns the wheel that a line of pip's log says is not for this interpreter, if it is of this package.
fn incompatible_wheel<'log>(line: &'log str, name: &str, version: Option<&str>) -> Option<&'log str> {
    let (_, rest) = line.split_once("none of the wheel's tags (")?;
    let address = rest.split_once("): ")?.1.split(' ').next()?;
    let file = address.rsplit('/').next()?;
    let mut parts = file.split('-');
    let is_it =
        normal_name(parts.next()?) == name && version.is_none_or(|wanted| parts.next() == Some(wanted));
    is_it.then_some(file)
}

/// Returns a name in the form in which an index compares names.
fn normal_name(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

/// Rejects packages with libraries of the machine.
fn refuse_native_code(folder: &Path) -> Result<(), ToolError> {
    let found =
        first_library(folder, Path::new(""), 0).map_err(|error| ToolError::io("read", folder, &error))?;
    let Some(library) = found else { return Ok(()) };
    let shown = shown_name(&library.display().to_string());
    let owner = distributions(folder).into_iter().find(|one| one.has(&library));
    let whose = match owner {
        Some(owner) => format!("the package {} ({})", shown_name(&owner.name), owner.tag),
        None => "a package".to_owned(),
    };
    Err(ToolError::with_help(format!("{whose} has native code: {shown}"), PURE_ONLY))
}

/// Returns the path of a native library below a folder.
fn first_library(root: &Path, below: &Path, depth: usize) -> io::Result<Option<PathBuf>> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders are nested too deeply"));
    }
    let mut entries = fs::read_dir(root.join(below))?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        if entry.file_type()?.is_dir() {
            if let Some(found) = first_library(root, &path, depth + 1)? {
                return Ok(Some(found));
            }
        } else if is_library(&name) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Libraries of WebAssembly work in a component.
fn is_library(name: &str) -> bool {
    let is_native = [".so", ".pyd", ".dll", ".dylib"].iter().any(|ending| name.ends_with(ending));
    (is_native || name.contains(".so.")) && !name.contains("wasm32-wasi")
}

/// An installed package, as its `.dist-info` describes it.
struct Distribution {
    name: String,
    tag: String,
    record: String,
}

impl Distribution {
    fn has(&self, file: &Path) -> bool {
        let start = format!("{},", file.display());
        self.record.lines().any(|line| line.starts_with(&start))
    }
}

fn distributions(folder: &Path) -> Vec<Distribution> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = file.strip_suffix(".dist-info") else { continue };
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let wheel = read("WHEEL");
        let tags: Vec<&str> = wheel.lines().filter_map(|line| line.strip_prefix("Tag: ")).collect();
        let tag = name_list(&tags, MAX_SHOWN, ", ");
        found.push(Distribution { name: name.to_owned(), tag, record: read("RECORD") });
    }
    found
}

#[cfg(test)]
mod tests;
