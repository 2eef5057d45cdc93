//! Python projects: componentize-py, with a world that imports only what the project requests.

use super::componentize_py::{INSTALL, VERSION, find_or_install};
use super::{BuildOptions, BuildOutput, python_packages, tool};
use crate::project::SETTINGS;
use crate::{Project, ToolError};
use gage_core::shown_name;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Advice for an import that fails.
const MISSING_MODULE: &str = "a package of an index: write its name into requirements.in, run `gage-host plugin lock`, and \
                              build again. Modules of the standard library that need threads, processes, sockets or C \
                              libraries are not in a component";

pub(super) fn build(project: &Project, options: &BuildOptions<'_>) -> Result<BuildOutput, ToolError> {
    project.require_folders(&["gage/wit", "gage/sdk/python/src"])?;
    check_files(project)?;
    let program = find_or_install(options)?;
    let packages = python_packages::install(project, options)?;
    let scratch = tempfile::tempdir()
        .map_err(|error| ToolError::new(format!("cannot make a temporary folder: {error}")))?;
    let (contract, empty) = (scratch.path().join("wit"), scratch.path().join("empty"));
    write_contract(project, &contract)
        .and_then(|()| fs::create_dir_all(empty.join("lib/python3/site-packages")))
        .map_err(|error| {
            ToolError::new(format!(
                "cannot copy the contract, {}: {error}",
                project.folder.join("gage/wit").display()
            ))
        })?;
    let component = scratch.path().join("component.wasm");
    let mut command = Command::new(&program);
    command.arg("--quiet").arg("--wit-path").arg(&contract).args(["--world", "built", "componentize"]);
    command.arg(format!("gage_sdk.components.{}", project.world.kind().replace('-', "_")));
    command.args(["-p", ".", "-p", "gage/sdk/python/src"]);
    if let Some(packages) = &packages {
        command.arg("-p").arg(&packages.folder);
    }
    command.arg("--output").arg(&component).current_dir(&project.folder);
    isolate(&mut command, &empty);
    (options.say)("building with componentize-py, which takes some tens of seconds");
    let output = tool::run(&mut command, INSTALL)?;
    if !output.status.success() {
        let explained = explain(&tool::said(&output));
        return Err(explained.unwrap_or_else(|| tool::failure(&output, "building")));
    }
    let bytes = fs::read(&component).map_err(|error| ToolError::io("read", &component, &error))?;
    let packages = packages.map(|packages| packages.names).unwrap_or_default();
    let count = match packages.len() {
        0 => String::new(),
        1 => " and 1 package".to_owned(),
        count => format!(" and {count} packages"),
    };
    Ok(BuildOutput { bytes, with: format!("componentize-py {VERSION}{count}"), packages })
}

/// Checks that the files that the plugin reads when it runs are in the project.
fn check_files(project: &Project) -> Result<(), ToolError> {
    for file in &project.files {
        let path = project.folder.join(file);
        let found = path.canonicalize().map_err(|error| {
            ToolError::with_help(
                format!("{SETTINGS} lists the file '{}': {error}", shown_name(file)),
                "`files` has files and folders of the project that the plugin reads when it runs",
            )
        })?;
        if !found.starts_with(&project.folder) {
            return Err(ToolError::with_help(
                format!("{SETTINGS} lists '{}', which is outside the project", shown_name(file)),
                "copy it into the project",
            ));
        }
    }
    Ok(())
}

/// Copies the contract and adds the world `built`, which imports only the requested interfaces.
fn write_contract(project: &Project, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for entry in fs::read_dir(project.folder.join("gage/wit"))? {
        let entry = entry?;
        if Path::new(&entry.file_name()).extension() == Some(OsStr::new("wit")) {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    let imports: String =
        project.imports.iter().map(|capability| format!("  import {};\n", capability.name())).collect();
    let world = format!(
        "package gage:plugin@{};\n\nworld built {{\n  import log;\n{imports}  export {};\n}}\n",
        gage_plugin::WIT_VERSION,
        project.world.interface()
    );
    fs::write(folder.join("build.wit"), world)
}

/// Extracts the relevant parts of a Python traceback: the error, and the calls starting at the author's file. Adds advice on
/// failed imports.
fn explain(said: &str) -> Option<ToolError> {
    let lines: Vec<&str> = said.lines().take_while(|line| !line.starts_with("Caused by:")).collect();
    let (error, calls) = lines.split_last()?;
    if !lines.iter().any(|line| line.starts_with("Traceback ")) {
        return None;
    }
    let mut message = format!("the plugin cannot be loaded: {error}");
    let is_own = |line: &&str| line.trim_start().starts_with("File \"/0/");
    let first = calls.iter().position(is_own).unwrap_or(calls.len());
    for line in &calls[first..] {
        message.push('\n');
        // Folder names inside the component.
        let line = line.replace("\"/0/", "\"").replace("\"/1/", "\"gage/sdk/python/src/");
        message.push_str(&line.replace("\"/2/", "\"packages/"));
    }
    if error.contains("ModuleNotFoundError") {
        return Some(ToolError::with_help(message, MISSING_MODULE));
    }
    Some(ToolError::new(message))
}

/// Keeps packages of the system's Python out of the component, and native backtraces out of error messages.
fn isolate(command: &mut Command, empty_venv: &Path) {
    command.env_clear();
    for name in ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("VIRTUAL_ENV", empty_venv);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceback_begins_at_the_file_of_the_author() {
        let said = "Traceback (most recent call last):\n  File \"/usr/bin/componentize-py\", line 8\n\
                    AssertionError: Traceback (most recent call last):\n  File \"/1/gage_sdk/a.py\", line 1\n  \
                    File \"/0/plugin.py\", line 12\n    @metric(\n  File \"/1/gage_sdk/b.py\", line 9\n\
                    TypeError: no doc string\nCaused by:\n    TypeError: no doc string";
        assert_eq!(
            explain(said).unwrap().message,
            "the plugin cannot be loaded: TypeError: no doc string\n  File \"plugin.py\", line 12\n    @metric(\n  \
             File \"gage/sdk/python/src/gage_sdk/b.py\", line 9"
        );
        let said = "Traceback (most recent call last):\n  File \"/0/plugin.py\", line 1\n  File \"/2/b.py\", line 2\n\
                    ModuleNotFoundError: No module named 'c'";
        let error = explain(said).unwrap();
        assert!(error.message.ends_with("\n  File \"packages/b.py\", line 2"), "{error}");
        assert!(error.help.unwrap().contains("plugin lock"));
        let said =
            "Traceback (most recent call last):\n  File \"/1/gage_sdk/a.py\", line 1\nValueError: none";
        assert_eq!(explain(said).unwrap().message, "the plugin cannot be loaded: ValueError: none");
        assert_eq!(explain("Error: no such world"), None);
        assert_eq!(explain(""), None);
    }

    #[test]
    fn the_world_imports_what_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let contract = folder.path().join("gage/wit");
        fs::create_dir_all(&contract).unwrap();
        fs::write(contract.join("types.wit"), "types").unwrap();
        fs::write(contract.join("README.md"), "no").unwrap();
        let project = Project {
            folder: folder.path().to_owned(),
            name: "a".to_owned(),
            world: gage_plugin::World::Extractor,
            language: crate::Language::Python,
            imports: vec![gage_plugin::Capability::Media],
            files: Vec::new(),
        };
        let copy = folder.path().join("copy");
        write_contract(&project, &copy).unwrap();
        assert_eq!(
            fs::read_to_string(copy.join("build.wit")).unwrap(),
            "package gage:plugin@0.1.0;\n\nworld built {\n  import log;\n  import media;\n  export answer-extractor;\n}\n"
        );
        assert!(copy.join("types.wit").exists() && !copy.join("README.md").exists());
    }
}
