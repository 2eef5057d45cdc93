//! Projects in JavaScript and TypeScript: the SDK's own script, run by Node.

use super::{BuildOptions, BuildOutput, require, tool};
use crate::{Project, ToolError};
use gage_plugin::Capability;
use std::fs;
use std::path::Path;
use std::process::Command;

const INSTALL: &str = "a plugin in JavaScript is built with Node 20 or newer and npm: https://nodejs.org, or apt-get install nodejs npm";

/// Oldest supported Node version.
const MIN_NODE_MAJOR_VERSION: u32 = 20;

/// Packages needed by the script.
const PACKAGES: [&str; 2] = ["esbuild", "@bytecodealliance/componentize-js"];

pub(super) fn build(project: &Project, options: &BuildOptions<'_>) -> Result<BuildOutput, ToolError> {
    require(project, &["gage/wit", "gage/sdk/js"])?;
    let node = node_version()?;
    if needs_install(&project.folder) {
        (options.say)("installing packages from npm");
        let mut command = Command::new("npm");
        command.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&project.folder);
        tool::succeed(&mut command, "npm install", INSTALL)?;
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
    Ok(BuildOutput { bytes, with: format!("{}, Node {node}", componentize(&project.folder)) })
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

/// Returns whether a package is missing, or `package.json` has changed since packages were installed.
fn needs_install(folder: &Path) -> bool {
    let packages = folder.join("node_modules");
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let is_stale =
        match (changed(&folder.join("package.json")), changed(&packages.join(".package-lock.json"))) {
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

/// Returns the version of componentize-js.
fn componentize(folder: &Path) -> String {
    let path = folder.join("node_modules").join(PACKAGES[1]).join("package.json");
    let manifest: Option<serde_json::Value> =
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let version = manifest.as_ref().and_then(|manifest| manifest.get("version")?.as_str());
    format!("componentize-js {}", version.unwrap_or("of an unknown version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_the_script_stands_alone() {
        let error = explain("building a; this takes long\nerror: no member\nand more").unwrap();
        assert_eq!(error.message, "no member\nand more");
        assert_eq!(explain("error: x").unwrap().message, "x");
        assert_eq!(explain("TypeError: x\n  at y"), None);
    }

    #[test]
    fn packages_are_installed_where_they_are_missing_or_old() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "{}").unwrap();
        assert!(needs_install(folder.path()));
        write("package.json");
        for package in PACKAGES {
            fs::create_dir_all(folder.path().join("node_modules").join(package)).unwrap();
        }
        assert!(!needs_install(folder.path()), "installed by another program");
        write("node_modules/.package-lock.json");
        assert!(!needs_install(folder.path()));
        std::thread::sleep(std::time::Duration::from_millis(20));
        write("package.json");
        assert!(needs_install(folder.path()));
    }
}
