//! Projects in JavaScript and TypeScript: the SDK's own script, run by Node.

use super::input_files::InputFiles;
use super::{BuildOptions, BuildOutput, tool};
use crate::project::SETTINGS;
use crate::{Project, ToolError};
use gage_core::Digest;
use gage_core::foreign_file::{FileLimit, open_named};
use gage_core::name_list;
use gage_plugin::Capability;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

const INSTALL: &str = "a plugin in JavaScript is built with Node 20 or newer and npm: https://nodejs.org, or apt-get install nodejs npm";

/// Oldest supported Node version.
const MIN_NODE_MAJOR_VERSION: u32 = 20;

/// File with the names and versions of packages.
const MANIFEST: &str = "package.json";

/// Maximum size of the files that npm reads.
const MAX_PACKAGE_FILE_SIZE: FileLimit = FileLimit::new("a list of packages", 64 << 20);

/// File with the exact versions and digests of packages.
const LOCK: &str = "package-lock.json";

/// Start of a line in which the script names a package of the bundle.
const PACKAGE_LINE: &str = "package: ";

/// Start of a line in which the script names a file of the bundle that belongs to no package.
const INPUT_LINE: &str = "input: ";

/// Maximum number of packages that a message lists.
const MAX_SHOWN: usize = 5;

/// Packages needed by the script.
const PACKAGES: [&str; 2] = ["esbuild", "@bytecodealliance/componentize-js"];

pub(super) fn build(project: &Project, options: &BuildOptions<'_>) -> Result<BuildOutput, ToolError> {
    project.require_folders(&["gage/wit", "gage/sdk/js"])?;
    check_package_files(&project.folder)?;
    let node = node_version()?;
    if needs_install(&project.folder) {
        (options.say)("installing packages from npm");
        install(&project.folder)?;
    }
    let scratch = tempfile::tempdir()
        .map_err(|error| ToolError::new(format!("cannot make a temporary folder: {error}")))?;
    let component = scratch.path().join("component.wasm");
    let imports: Vec<&str> = project.imports.iter().copied().map(Capability::name).collect();
    let mut command = Command::new("node");
    command.args(["gage/sdk/js/build.mjs", "--wit", "gage/wit", "--kind", project.world.kind()]);
    command.args(["--imports", &imports.join(",")]).arg("--output").arg(&component);
    (options.say)("building with componentize-js, which takes some tens of seconds");
    let output = tool::run(command.current_dir(&project.folder), INSTALL)?;
    if !output.status.success() {
        return Err(explain(&tool::said(&output)).unwrap_or_else(|| tool::failure(&output, "building")));
    }
    let bytes = fs::read(&component).map_err(|error| ToolError::io("read", &component, &error))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let packages = lines_after(&said, PACKAGE_LINE).map(str::to_owned).collect();
    let inputs = inputs_of(project, lines_after(&said, INPUT_LINE))?;
    let [esbuild, componentize] = PACKAGES.map(|package| version_of(&project.folder, package));
    let with = format!("componentize-js {componentize}, Node {node}");
    let tools = [("componentize-js", componentize), ("esbuild", esbuild), ("node", node)];
    let tools = tools.map(|(name, version)| (name.to_owned(), version)).into();
    Ok(BuildOutput { bytes, with, packages, inputs, tools })
}

/// Returns the ends of the lines that begin with a text.
fn lines_after<'t>(said: &'t str, start: &'static str) -> impl Iterator<Item = &'t str> {
    said.lines().filter_map(move |line| line.strip_prefix(start))
}

/// Returns the digests of the files of a bundle, of the scripts that make it and its component, and of the lists of packages.
fn inputs_of<'t>(
    project: &Project,
    bundled: impl Iterator<Item = &'t str>,
) -> Result<BTreeMap<String, Digest>, ToolError> {
    let mut files = InputFiles::new(&project.folder);
    for file in bundled {
        files.add(file)?;
    }
    files.add_below("gage/sdk/js", &["mjs"])?;
    files.add_below("gage/wit", &["wit"])?;
    files.add_existing(&[SETTINGS, MANIFEST, LOCK, "tsconfig.json"])?;
    Ok(files.into_digests())
}

/// Checks that npm can read its files at once: it would wait for a pipe.
fn check_package_files(folder: &Path) -> Result<(), ToolError> {
    for name in [MANIFEST, LOCK] {
        let path = folder.join(name);
        match open_named(&path, MAX_PACKAGE_FILE_SIZE) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(ToolError::io("read", &path, &error));
            }
            // npm reports a file that is missing and needed.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Installs the locked packages, or the wanted ones if none are locked, which locks them. Scripts of packages do not run: they
/// would run without a sandbox, and only native code needs them.
fn install(folder: &Path) -> Result<(), ToolError> {
    let is_locked = folder.join(LOCK).is_file();
    let action = if is_locked { "ci" } else { "install" };
    let mut command = Command::new("npm");
    command.args([action, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    let output = tool::run(command.current_dir(folder), INSTALL)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let differences = differences_in(&said);
    if is_locked && !differences.is_empty() {
        return Err(ToolError::with_help(
            format!("{MANIFEST} differs from {LOCK}: {}", name_list(&differences, MAX_SHOWN, "; ")),
            "run npm install --ignore-scripts in the project's folder",
        ));
    }
    Err(tool::failure(&output, &format!("npm {action}")))
}

/// Returns the packages that are not as locked, from the output of `npm ci`.
fn differences_in(said: &str) -> Vec<&str> {
    let difference = |line: &str| ["Missing: ", "Invalid: "].iter().find_map(|word| line.find(word));
    said.lines().filter_map(|line| line.get(difference(line)?..)).collect()
}

/// Returns the version of Node, if it is new enough.
fn node_version() -> Result<String, ToolError> {
    let output = tool::succeed(Command::new("node").arg("--version"), "node --version", INSTALL)?;
    let version = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned();
    match version.split('.').next().and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major < MIN_NODE_MAJOR_VERSION => {
            Err(ToolError::with_help(format!("Node {version} is too old to build plugins"), INSTALL))
        }
        _ => Ok(version),
    }
}

/// Returns whether a package is missing, or `package.json` or its lock has changed since packages were installed.
fn needs_install(folder: &Path) -> bool {
    let packages = folder.join("node_modules");
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let wanted = changed(&folder.join(MANIFEST)).max(changed(&folder.join(LOCK)));
    let is_stale = match (wanted, changed(&packages.join(".package-lock.json"))) {
        (Some(wanted), Some(installed)) => wanted > installed,
        // A package manager other than npm installed them and decides when to do so again.
        _ => false,
    };
    is_stale || PACKAGES.iter().any(|package| !packages.join(package).is_dir())
}

/// Extracts the script's error message, without its progress output.
fn explain(said: &str) -> Option<ToolError> {
    let at = if said.starts_with("error: ") { 0 } else { said.find("\nerror: ")? + 1 };
    Some(ToolError::new(said.get(at + "error: ".len()..)?))
}

/// Returns the version of an installed package.
fn version_of(folder: &Path, package: &str) -> String {
    let path = folder.join("node_modules").join(package).join(MANIFEST);
    let manifest: Option<serde_json::Value> =
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let version = manifest.as_ref().and_then(|manifest| manifest.get("version")?.as_str());
    version.unwrap_or("of an unknown version").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[cfg(unix)]
    #[test]
    fn files_that_npm_reads_are_regular() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        check_package_files(folder).unwrap();
        fs::write(folder.join(MANIFEST), "{}").unwrap();
        check_package_files(folder).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(folder.join(LOCK)).unwrap();
        let error = check_package_files(folder).unwrap_err();
        assert!(error.message.ends_with("package-lock.json: it is a socket, not a regular file"), "{error}");
        drop(socket);
    }

    #[test]
    fn the_error_of_the_script_stands_alone() {
        let error = explain("building a; this takes long\nerror: no member\nand more").unwrap();
        assert_eq!(error.message, "no member\nand more");
        assert_eq!(explain("error: x").unwrap().message, "x");
        assert_eq!(explain("TypeError: x\n  at y"), None);
    }

    #[test]
    fn packages_that_are_not_locked_are_named() {
        let said = "npm error code EUSAGE\nnpm error Missing: a@1.0.0 from lock file\nnpm ERR! Invalid: b@2 does not satisfy b@1\n";
        let expected = ["Missing: a@1.0.0 from lock file", "Invalid: b@2 does not satisfy b@1"];
        assert_eq!(differences_in(said), expected);
        assert!(differences_in("npm error network").is_empty());
    }

    #[test]
    fn packages_are_installed_where_they_are_missing_or_old() {
        let folder = tempfile::tempdir().unwrap();
        // The time of a file's last change, in seconds.
        let write = |name: &str, seconds: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        };
        assert!(needs_install(folder.path()));
        write("package.json", 10);
        for package in PACKAGES {
            fs::create_dir_all(folder.path().join("node_modules").join(package)).unwrap();
        }
        assert!(!needs_install(folder.path()), "installed by another program");
        write("node_modules/.package-lock.json", 20);
        for (name, seconds, expected) in [
            ("package.json", 15, false),
            ("package.json", 25, true),
            ("package.json", 15, false),
            (LOCK, 15, false),
            (LOCK, 25, true),
        ] {
            write(name, seconds);
            assert_eq!(needs_install(folder.path()), expected, "{name} {seconds}");
        }
    }
}
