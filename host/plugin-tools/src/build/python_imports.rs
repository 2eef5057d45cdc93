//! Imports of a Python project, checked before the build, which takes long to find a missing module.

use super::componentize_py::{INSTALL, find_python};
use super::tool;
use crate::{Language, ToolError};
use gage_core::shown_name;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Prints the first import that cannot succeed.
const SCRIPT: &str = include_str!("missing_import.py");

/// Checks that the modules which a plugin imports while it is loaded exist. `folders` are those of a component's modules, the
/// project's first. What cannot be read here is left to the build.
///
/// # Errors
/// If a module is certainly missing.
pub(super) fn check(folders: &[&Path]) -> Result<(), ToolError> {
    let Some(missing) = missing_import(folders) else { return Ok(()) };
    let text = |key: &str| shown_name(missing[key].as_str().unwrap_or_default());
    let (file, line, module) = (text("file"), &missing["line"], text("module"));
    Err(ToolError::with_help(
        format!("the plugin cannot be loaded: there is no module `{module}`, which {file}:{line} imports"),
        Language::Python.package_advice(&module),
    ))
}

/// Returns the first import that cannot succeed.
fn missing_import(folders: &[&Path]) -> Option<Value> {
    let mut command = Command::new(find_python().ok()?);
    command.args(["-I", "-B", "-X", "utf8", "-c", SCRIPT]).args(folders);
    let output = tool::run(&mut command, INSTALL).ok().filter(|output| output.status.success())?;
    serde_json::from_slice(&output.stdout).ok().filter(|missing: &Value| missing.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missing_modules_are_found_before_the_build() {
        // The language is optional.
        if find_python().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (project, packages) = (folder.path().join("project"), folder.path().join("packages"));
        fs::create_dir_all(project.join("tables")).unwrap();
        fs::create_dir_all(packages.join("lexicon")).unwrap();
        fs::write(project.join("words.py"), "import json\n\nimport absent.part\n").unwrap();
        for (source, expected) in [
            ("import json, wit_world, tomllib\nfrom lexicon import known\nimport tables\n", None),
            ("import absent\n", Some("`absent`, which plugin.py:1 imports")),
            ("\nfrom absent.part import x\n", Some("`absent`, which plugin.py:2 imports")),
            ("import words\n", Some("`absent`, which words.py:3 imports")),
            // These imports may not run, or may find what the others do not.
            ("try:\n    import absent\nexcept ImportError:\n    pass\n", None),
            ("def late():\n    import absent\n", None),
            ("import sys\nsys.path.insert(0, 'tables')\nimport absent\n", None),
            ("import absent\nnot = Python\n", None),
        ] {
            fs::write(project.join("plugin.py"), source).unwrap();
            let checked = check(&[&project, &packages]);
            let message = checked.err().map(|error| error.message);
            assert_eq!(message.is_some(), expected.is_some(), "{source}: {message:?}");
            assert!(message.unwrap_or_default().ends_with(expected.unwrap_or_default()), "{source}");
        }
    }
}
