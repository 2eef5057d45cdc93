//! Rust projects: cargo, followed by in-process componentization.

use super::input_files::InputFiles;
use super::lock::Lock;
use super::{BuildOptions, BuildOutput, tool};
use crate::project::SETTINGS;
use crate::{Project, ToolError};
use gage_core::Digest;
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_toolchain::{Compiler, componentize, module_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const INSTALL: &str = "a plugin in Rust is built with Rust 1.95 or newer: https://rustup.rs, then \
                       rustup target add wasm32-unknown-unknown";

/// Maximum size of `Cargo.toml`.
const MAX_MANIFEST_SIZE: FileLimit = FileLimit::new("a manifest of a package", 1 << 20);

/// File with the name and the dependencies of a package.
const MANIFEST: &str = "Cargo.toml";

/// File with the exact versions of packages.
const LOCK: &str = "Cargo.lock";

/// Files that change a build if they exist.
const SETTINGS_OF_TOOLS: [&str; 4] =
    ["rust-toolchain.toml", "rust-toolchain", ".cargo/config.toml", ".cargo/config"];

/// Maximum size of cargo's list of the files that it read.
const MAX_DEPENDENCY_LIST_SIZE: FileLimit = FileLimit::new("a list of dependencies", 16 << 20);

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
    let path = project.folder.join(MANIFEST);
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
    // Build scripts generate files in the first folder, from the others; the version of the compiler stands for the rest.
    let mut foreign = vec![target.canonicalize().unwrap_or(target)];
    foreign.extend(compiler.library_sources(&project.folder));
    let inputs = inputs_of(project, &foreign, &module)?;
    let version =
        compiler.version(&project.folder).map_err(|message| ToolError::with_help(message, INSTALL))?;
    Ok(BuildOutput {
        bytes,
        with: compiler.describe().to_owned(),
        packages: Vec::new(),
        inputs,
        tools: vec![("rustc".to_owned(), version)],
    })
}

/// Returns the digests of the files that cargo read for a module: the sources that it lists beside the module, the manifests of
/// their packages, and the lock. Those in the `foreign` folders are left out.
fn inputs_of(
    project: &Project,
    foreign: &[PathBuf],
    module: &Path,
) -> Result<BTreeMap<String, Digest>, ToolError> {
    let list = module.with_extension("d");
    let text = read_named_text(&list, MAX_DEPENDENCY_LIST_SIZE)
        .map_err(|error| ToolError::io("read", &list, &error))?;
    let mut files = InputFiles::new(&project.folder);
    let mut manifests = BTreeSet::from([project.folder.join(MANIFEST)]);
    for path in paths_in(&text) {
        let path = project.folder.join(path);
        if !foreign.iter().any(|folder| path.starts_with(folder)) {
            manifests.extend(above(&path, MANIFEST));
            files.add(path)?;
        }
    }
    if let Some(lock) = above(&project.folder.join(SETTINGS), LOCK) {
        // The manifest of the workspace has the profiles.
        manifests.insert(lock.with_file_name(MANIFEST));
        files.add(lock)?;
    }
    for manifest in manifests {
        files.add(manifest)?;
    }
    files.add(SETTINGS)?;
    files.add_existing(&SETTINGS_OF_TOOLS)?;
    Ok(files.into_digests())
}

/// Returns the nearest file of a name in the folders above another file.
fn above(file: &Path, name: &str) -> Option<PathBuf> {
    file.ancestors().skip(1).map(|folder| folder.join(name)).find(|found| found.is_file())
}

/// Returns the paths in a list of dependencies, which has the form `TARGET: PATH PATH`. A space in a path is written as `\ `.
fn paths_in(text: &str) -> Vec<String> {
    let rule = text.lines().next().and_then(|line| line.split_once(": "));
    let paths = rule.map(|(_, paths)| paths.replace("\\ ", "\0")).unwrap_or_default();
    paths.split(' ').filter(|path| !path.is_empty()).map(|path| path.replace('\0', " ")).collect()
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
    fn paths_of_dependencies_may_have_spaces() {
        let paths = paths_in("/t/a.wasm: /p/src/lib.rs /p/my\\ words/b.rs\n\n/t/b: /p/c.rs\n");
        assert_eq!(paths, ["/p/src/lib.rs", "/p/my words/b.rs"]);
        assert!(paths_in("").is_empty() && paths_in("/t/a.wasm:").is_empty());
    }

    #[test]
    fn inputs_are_sources_manifests_and_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let folder = root.join("p");
        for name in ["p/src/lib.rs", "p/gage/src/lib.rs", "p/target/out/made.rs", "p/cases.jsonl"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        for name in ["Cargo.toml", "Cargo.lock", "p/Cargo.toml", "p/gage/Cargo.toml", "p/gage-plugin.toml"] {
            fs::write(root.join(name), name).unwrap();
        }
        let sources = ["src/lib.rs", "gage/src/lib.rs", "target/out/made.rs"];
        let sources = sources.map(|name| folder.join(name).display().to_string().replace(' ', "\\ "));
        fs::write(folder.join("target/a.d"), format!("a.wasm: {}\n", sources.join(" "))).unwrap();
        let project = Project {
            folder: folder.clone(),
            name: "a".to_owned(),
            world: gage_plugin::World::Metric,
            language: crate::Language::Rust,
            imports: Vec::new(),
            files: Vec::new(),
            package: crate::PackageInfo::default(),
        };
        let inputs = inputs_of(&project, &[folder.join("target")], &folder.join("target/a.wasm")).unwrap();
        let names: Vec<&str> = inputs.keys().map(String::as_str).collect();
        let expected = [
            "../Cargo.lock",
            "../Cargo.toml",
            "Cargo.toml",
            "gage-plugin.toml",
            "gage/Cargo.toml",
            "gage/src/lib.rs",
            "src/lib.rs",
        ];
        assert_eq!(names, expected);
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
