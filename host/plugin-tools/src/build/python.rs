//! Python projects: componentize-py, with a world that imports only what the project requests.

use super::componentize_py::{INSTALL, VERSION, find_or_install};
use super::input_files::InputFiles;
use super::{BuildOptions, BuildOutput, python_imports, python_packages, tool};
use crate::project::SETTINGS;
use crate::requirements::LOCKED;
use crate::{Project, ToolError};
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, shown_name};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::Command;

/// Maximum number of files that a plugin lists, with those in listed folders.
const MAX_LISTED_FILES: usize = 10_000;

/// Maximum size of all listed files together, in bytes. The component holds them.
const MAX_LISTED_BYTES: u64 = 256 << 20;

/// Maximum size of a file of the contract.
const MAX_CONTRACT_SIZE: FileLimit = FileLimit::new("a file of the contract", 1 << 20);

/// Advice for an import that fails.
const MISSING_MODULE: &str = "a package of an index: write its name into requirements.in, run `gage-host plugin lock`, and \
                              build again. Modules of the standard library that need threads, processes, sockets or C \
                              libraries are not in a component";

pub(super) fn build(project: &Project, options: &BuildOptions<'_>) -> Result<BuildOutput, ToolError> {
    project.require_folders(&["gage/wit", "gage/sdk/python/src"])?;
    check_files(project)?;
    let inputs = inputs_of(project)?;
    let program = find_or_install(options)?;
    let packages = python_packages::install(project, options)?;
    let sdk = project.folder.join("gage/sdk/python/src");
    let folders = [
        Some(project.folder.as_path()),
        Some(sdk.as_path()),
        packages.as_ref().map(|one| one.folder.as_path()),
    ];
    python_imports::check(&folders.into_iter().flatten().collect::<Vec<_>>())?;
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
    Ok(BuildOutput {
        bytes,
        with: format!("componentize-py {VERSION}{count}"),
        packages,
        inputs,
        tools: vec![("componentize-py".to_owned(), VERSION.to_owned())],
    })
}

/// Returns the digests of the files that a component is made of: modules, the contract, listed files, and the list of packages.
fn inputs_of(project: &Project) -> Result<BTreeMap<String, Digest>, ToolError> {
    let mut files = InputFiles::new(&project.folder);
    files.add_below(".", &["py", "wit"])?;
    files.add_existing(&[SETTINGS, LOCKED])?;
    for file in &project.files {
        files.add_below(file, &[])?;
    }
    Ok(files.into_digests())
}

/// Checks that the files that the plugin reads when it runs are in the project, and that a component can hold them.
fn check_files(project: &Project) -> Result<(), ToolError> {
    let mut sizes = ListedSizes::default();
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
        sizes.add(&found).map_err(|error| {
            ToolError::with_help(
                format!("{SETTINGS} lists '{}': {error}", shown_name(file)),
                format!(
                    "list regular files and folders of them: at most {MAX_LISTED_FILES} files with {} MiB",
                    MAX_LISTED_BYTES >> 20
                ),
            )
        })?;
    }
    Ok(())
}

/// The number and size of listed files.
#[derive(Default)]
struct ListedSizes {
    files: usize,
    bytes: u64,
}

impl ListedSizes {
    /// Adds a file, or the files below a folder. Links are not followed.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let metadata = fs::symlink_metadata(path)?;
        if metadata.is_dir() {
            for entry in fs::read_dir(path)? {
                self.add(&entry?.path())?;
            }
            return Ok(());
        }
        let named = |error: io::Error| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            io::Error::new(error.kind(), format!("'{}': {error}", shown_name(&name)))
        };
        foreign_file::check(&metadata, FileLimit::NONE).map_err(named)?;
        self.files += 1;
        self.bytes = self.bytes.saturating_add(metadata.len());
        if self.files > MAX_LISTED_FILES || self.bytes > MAX_LISTED_BYTES {
            let message = "there are too many files, or they are too large";
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(())
    }
}

/// Copies the contract and adds the world `built`, which imports only the requested interfaces.
fn write_contract(project: &Project, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    let contract = project.folder.join("gage/wit");
    let mut package = None;
    for entry in fs::read_dir(&contract)? {
        let name = entry?.file_name();
        if Path::new(&name).extension() == Some(OsStr::new("wit")) {
            let text = foreign_file::read_below(&contract, &name, MAX_CONTRACT_SIZE)?;
            package = package.or_else(|| package_of(&text));
            fs::write(folder.join(&name), text)?;
        }
    }
    let imports: String =
        project.imports.iter().map(|capability| format!("  import {};\n", capability.name())).collect();
    // The contract of the project may be older than that of this program.
    let package = package.unwrap_or_else(|| format!("package gage:plugin@{};", gage_plugin::WIT_VERSION));
    let world = format!(
        "{package}\n\nworld built {{\n  import log;\n{imports}  export {};\n}}\n",
        project.world.interface()
    );
    fs::write(folder.join("build.wit"), world)
}

/// Returns the line of a file of the contract that names its package and version.
fn package_of(text: &[u8]) -> Option<String> {
    let text = str::from_utf8(text).ok()?;
    text.lines().find(|line| line.starts_with("package ")).map(str::to_owned)
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

    fn project(folder: &Path, files: &[&str]) -> Project {
        Project {
            folder: folder.canonicalize().unwrap(),
            name: "a".to_owned(),
            world: gage_plugin::World::Metric,
            language: crate::Language::Python,
            imports: Vec::new(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            package: crate::PackageInfo::default(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn listed_files_are_regular_and_of_bounded_size() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("p");
        for name in ["good", "linked", "wide"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("good/words.txt"), "a").unwrap();
        fs::write(root.path().join("secret"), "s").unwrap();
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
        };
        link("/dev/zero", "linked/zero");
        link("../secret", "outside");
        link("good", "inside");
        let huge = fs::File::create(folder.join("wide/huge")).unwrap();
        huge.set_len(MAX_LISTED_BYTES + 1).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        for (file, expected) in [
            ("good", None),
            ("good/words.txt", None),
            ("inside", None),
            ("linked", Some("'zero': it is a symbolic link")),
            ("outside", Some("which is outside the project")),
            ("wide", Some("they are too large")),
            ("socket", Some("'socket': it is a socket")),
            ("missing", Some("lists the file 'missing'")),
        ] {
            let message = check_files(&project(&folder, &[file])).err().map(|error| error.message);
            let is_expected = match (&message, expected) {
                (None, None) => true,
                (Some(message), Some(part)) => message.contains(part),
                _ => false,
            };
            assert!(is_expected, "{file}: {message:?}");
        }
        drop(socket);
    }

    #[cfg(unix)]
    #[test]
    fn links_in_the_contract_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let contract = folder.path().join("gage/wit");
        fs::create_dir_all(&contract).unwrap();
        std::os::unix::fs::symlink("/dev/zero", contract.join("types.wit")).unwrap();
        let error = write_contract(&project(folder.path(), &[]), &folder.path().join("copy")).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }

    #[test]
    fn the_world_imports_what_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let contract = folder.path().join("gage/wit");
        fs::create_dir_all(&contract).unwrap();
        fs::write(contract.join("types.wit"), "package gage:plugin@0.1.0;\n\ninterface types {}\n").unwrap();
        fs::write(contract.join("README.md"), "no").unwrap();
        let project = Project {
            folder: folder.path().to_owned(),
            name: "a".to_owned(),
            world: gage_plugin::World::Extractor,
            language: crate::Language::Python,
            imports: vec![gage_plugin::Capability::Media],
            files: Vec::new(),
            package: crate::PackageInfo::default(),
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
