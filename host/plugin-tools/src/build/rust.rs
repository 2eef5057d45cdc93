//! Rust projects: cargo, followed by in-process componentization.

use super::lock::Lock;
use super::{BuildOptions, BuildOutput, tool};
use crate::{Project, ToolError};
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_toolchain::{Compiler, componentize, module_of};
use std::fs;
use std::io;
use std::path::Path;

const INSTALL: &str = "a plugin in Rust is built with Rust 1.95 or newer: https://rustup.rs, then \
                       rustup target add wasm32-unknown-unknown";

/// Maximum size of `Cargo.toml`.
const MAX_MANIFEST_SIZE: FileLimit = FileLimit::new("a manifest of a package", 1 << 20);

/// Variables with flags meant for the author's machine, not for a component.
const FLAGS: [&str; 4] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "CARGO_BUILD_TARGET"];

#[derive(serde::Deserialize)]
struct Manifest {
    package: Package,
    lib: Option<Library>,
}

#[derive(serde::Deserialize)]
struct Package {
    name: String,
}

#[derive(serde::Deserialize)]
struct Library {
    name: Option<String>,
}

pub(super) fn build(project: &Project, options: &BuildOptions<'_>) -> Result<BuildOutput, ToolError> {
    let path = project.folder.join("Cargo.toml");
    let (package, library) = names_in(&path)?;
    let compiler = Compiler::find_or_install(&project.folder, options.say)
        .map_err(|message| ToolError::with_help(message, INSTALL))?;
    // A shared folder avoids rebuilding the standard library for each project. Otherwise nothing is worth
    // sharing: with an installed target, the folder is `target`, as usual.
    let (target, _lock) = match (&compiler, &options.cache_folder) {
        (Compiler::Debian, Some(cache)) => {
            let shared = cache.join("rust-target");
            let lock = Lock::take(&shared, options.say)?;
            forget_others(&shared, &library, &project.folder)
                .map_err(|error| ToolError::io("prepare", &shared, &error))?;
            (shared, Some(lock))
        }
        _ => (project.folder.join("target"), None),
    };
    (options.say)(&format!("building with {}", compiler.describe()));
    let module = module_of(&target, &library);
    if compiler == Compiler::Debian && !module.parent().is_some_and(Path::is_dir) {
        (options.say)("the first time this takes some minutes");
    }
    // Cargo restores the module even if it is up to date, so any module found later is from this build.
    remove(&module).map_err(|error| ToolError::io("remove", &module, &error))?;
    let mut command = compiler.cargo_build(&path, &target);
    command.args(["--quiet", "--lib", "--package", &package]).current_dir(&project.folder);
    for name in FLAGS {
        command.env_remove(name);
    }
    let output = tool::succeed(&mut command, "cargo build", INSTALL)?;
    // In quiet mode, these lines are warnings.
    for line in tool::said(&output).lines() {
        (options.say)(line);
    }
    let bytes = fs::read(&module).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ToolError::with_help(
            format!("cargo built no {}", module.display()),
            "Cargo.toml needs crate-type = [\"cdylib\"] under [lib]",
        ),
        _ => ToolError::io("read", &module, &error),
    })?;
    let bytes = componentize(&bytes).map_err(|error| {
        ToolError::with_help(
            format!("what cargo built {error}"),
            "the library must use one of gage_sdk's macros, such as gage_sdk::metrics!",
        )
    })?;
    Ok(BuildOutput { bytes, with: compiler.describe().to_owned(), packages: Vec::new() })
}

/// Returns the names of the package and of its library.
fn names_in(path: &Path) -> Result<(String, String), ToolError> {
    let text =
        read_named_text(path, MAX_MANIFEST_SIZE).map_err(|error| ToolError::io("read", path, &error))?;
    let manifest: Manifest = toml::from_str(&text)
        .map_err(|error| ToolError::new(format!("{}: {}", path.display(), error.message())))?;
    let package = manifest.package.name;
    let library = manifest.lib.and_then(|library| library.name).unwrap_or_else(|| package.clone());
    Ok((package, library))
}

/// Removes the module of another project with the same name from a shared folder. Cargo uses the same file
/// for both and does not notice which project wrote it.
fn forget_others(shared: &Path, library: &str, project: &Path) -> io::Result<()> {
    let module = module_of(shared, library);
    let note = shared.join(format!("{library}.project"));
    let owner = project.as_os_str().as_encoded_bytes();
    if fs::read(&note).is_ok_and(|written| written == owner) {
        return Ok(());
    }
    remove(&module.with_file_name("deps").join(module.file_name().unwrap_or_default()))?;
    remove(&module)?;
    fs::create_dir_all(shared)?;
    fs::write(note, owner)
}

/// Removes a file if it exists.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Cargo.toml");
        let names = |text: &str| {
            fs::write(&path, text).unwrap();
            names_in(&path)
        };
        let named = |one: &str, two: &str| Ok((one.to_owned(), two.to_owned()));
        assert_eq!(names("[package]\nname = 'a-b'\n[lib]\ncrate-type = ['cdylib']"), named("a-b", "a-b"));
        assert_eq!(names("[package]\nname = 'a-b'\n[lib]\nname = 'c'"), named("a-b", "c"));
        assert!(names("[workspace]").unwrap_err().message.contains("missing field `package`"));
    }

    #[test]
    fn a_module_of_another_project_is_not_taken_for_this_one() {
        let shared = tempfile::tempdir().unwrap();
        let module = module_of(shared.path(), "a-b");
        fs::create_dir_all(module.parent().unwrap().join("deps")).unwrap();
        let deps = module.with_file_name("deps").join("a_b.wasm");
        let build = |project: &str| {
            forget_others(shared.path(), "a-b", Path::new(project)).unwrap();
            let was_kept = (module.exists(), deps.exists());
            fs::write(&module, "").unwrap();
            fs::write(&deps, "").unwrap();
            was_kept
        };
        assert_eq!(build("one"), (false, false));
        assert_eq!(build("one"), (true, true));
        assert_eq!(build("two"), (false, false));
        assert_eq!(build("one"), (false, false));
    }
}
