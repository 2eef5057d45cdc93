//! Builds projects into components.

mod componentize_py;
mod input_files;
mod javascript;
mod lock;
mod provenance;
mod python;
mod python_imports;
pub(crate) mod python_packages;
mod rust;
mod tool;

pub use python_packages::{LockedPackages, lock_packages};

use crate::cases::{CASES, cases_in};
use crate::project::SETTINGS;
use crate::{Language, Project, ToolError};
use gage_core::Digest;
use gage_plugin::{Capability, note_packages, summarise};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Ending of the file with the provenance of a component.
const PROVENANCE_ENDING: &str = "intoto.json";

/// Options of a build.
#[derive(Clone)]
pub struct BuildOptions<'a> {
    /// Folder for downloaded tools and files shared by all projects; `None` if there is no such folder.
    /// Created if necessary.
    pub cache_folder: Option<PathBuf>,
    /// Receives progress messages, and warnings from the tools.
    pub say: &'a dyn Fn(&str),
}

/// Result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltComponent {
    /// Path of the component.
    pub component: PathBuf,
    /// Path of the statement about its provenance.
    pub provenance: PathBuf,
    /// Size of the component, in bytes.
    pub bytes: usize,
    /// Duration of the build.
    pub took: Duration,
    /// Tools used for the build, with versions.
    pub with: String,
}

/// An unchecked component, and the tools that built it.
struct BuildOutput {
    bytes: Vec<u8>,
    with: String,
    /// Packages that the component contains and that do not note themselves in it.
    packages: Vec<String>,
    /// Digests of the files that the build read, by their paths in the project.
    inputs: BTreeMap<String, Digest>,
    /// Names and versions of the tools.
    tools: Vec<(String, String)>,
}

/// Builds the project in a folder, and writes `NAME.wasm` there, with its provenance in `NAME.intoto.json`. Runs the tools of its
/// language, which may download packages. If the build fails, the existing files are unchanged.
///
/// # Errors
/// If the project or its cases cannot be read, a tool is missing or fails, or the component does not match
/// `gage-plugin.toml`.
pub fn build(folder: &Path, options: &BuildOptions<'_>) -> Result<BuiltComponent, ToolError> {
    let started = Instant::now();
    let mut project = Project::read(folder)?;
    let component = project.component();
    // A build takes long, and a mistake in the cases should be known before.
    let cases = folder.join(CASES);
    if cases.exists() {
        cases_in(&cases, project.world)?;
    }
    // Tools run in the project folder, and some receive paths of files elsewhere.
    project.folder = folder.canonicalize().map_err(|error| ToolError::io("read", folder, &error))?;
    let mut made = match project.language {
        Language::Rust => rust::build(&project, options),
        Language::Python => python::build(&project, options),
        Language::JavaScript => javascript::build(&project, options),
    }?;
    check(&project, &made.bytes, options.say)?;
    note_packages(&mut made.bytes, &made.packages);
    write(&component, &made.bytes)?;
    let provenance = component.with_extension(PROVENANCE_ENDING);
    write(&provenance, provenance::statement(&project, &made).as_bytes())?;
    Ok(BuiltComponent {
        component,
        provenance,
        bytes: made.bytes.len(),
        took: started.elapsed(),
        with: made.with,
    })
}

/// Rejects a component that does not match its project.
fn check(project: &Project, bytes: &[u8], say: &dyn Fn(&str)) -> Result<(), ToolError> {
    let summary = summarise(&project.name, bytes).map_err(|error| ToolError {
        message: format!("the built component cannot be used: {}", error.message),
        help: error.help,
    })?;
    if summary.world != project.world {
        return Err(ToolError::with_help(
            format!(
                "the built component is a plugin of the kind {}, but {SETTINGS} says kind = \"{}\"",
                summary.world, project.world
            ),
            "correct one of them",
        ));
    }
    let used = summary.capabilities();
    let is_missing = |capability: &&Capability| !project.imports.contains(capability);
    let is_unused = |capability: &&Capability| !used.contains(capability);
    let missing: Vec<Capability> = used.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        let wanted: Vec<Capability> = project.imports.iter().chain(&missing).copied().collect();
        let quoted: Vec<String> = wanted.iter().map(|one| format!("\"{}\"", one.name())).collect();
        return Err(ToolError::with_help(
            format!("the plugin uses {}, which {SETTINGS} does not list", names(&missing)),
            format!("write imports = [{}] there, or stop using it", quoted.join(", ")),
        ));
    }
    let unused: Vec<Capability> = project.imports.iter().filter(is_unused).copied().collect();
    if !unused.is_empty() {
        say(&format!("note: {SETTINGS} lists {}, which the plugin does not use", names(&unused)));
    }
    Ok(())
}

fn names(capabilities: &[Capability]) -> String {
    let names: Vec<&str> = capabilities.iter().map(|one| one.name()).collect();
    names.join(" and ")
}

/// Moves a file into place once it is complete.
fn write(path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    let fail = |error: std::io::Error| ToolError::io("write", path, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary folder rather than a file, since a file inside it gets the usual permissions.
    let scratch = tempfile::Builder::new().prefix(".gage-build-").tempdir_in(folder).map_err(fail)?;
    let whole = scratch.path().join("component");
    fs::write(&whole, bytes).map_err(fail)?;
    fs::rename(&whole, path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(kind: &str, imports: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("name = 'a'\nkind = '{kind}'\nlanguage = 'js'\nimports = [{imports}]\n");
        fs::write(folder.path().join(SETTINGS), text).unwrap();
        Project::read(folder.path()).unwrap()
    }

    /// A component that imports and exports empty instances.
    fn component(imports: &[&str], export: &str) -> Vec<u8> {
        // Header; then a type section with an instance type, imports of that type, and an export of one.
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        let mut section = |id: u8, content: Vec<u8>| {
            bytes.push(id);
            bytes.push(u8::try_from(content.len()).unwrap());
            bytes.extend(content);
        };
        let name = |name: &str| {
            let mut content = vec![0, u8::try_from(name.len()).unwrap()];
            content.extend(name.as_bytes());
            content
        };
        section(7, vec![1, 0x42, 0]);
        let names = imports.iter().map(|import| format!("gage:plugin/{import}@0.1.0"));
        for import in names.chain(["gage:plugin/log@0.1.0".to_owned()]) {
            let mut content = vec![1];
            content.extend(name(&import));
            content.extend([5, 0]);
            section(10, content);
        }
        let mut content = vec![1];
        content.extend(name(&format!("gage:plugin/{export}@0.1.0")));
        content.extend([5, 0, 0]);
        section(11, content);
        bytes
    }

    #[test]
    fn the_kind_must_be_that_of_the_project() {
        let silent = |_: &str| {};
        assert_eq!(check(&project("metric", ""), &component(&[], "metric"), &silent), Ok(()));
        let error = check(&project("judge", ""), &component(&[], "metric"), &silent).unwrap_err();
        assert_eq!(
            error.message,
            "the built component is a plugin of the kind metric, but gage-plugin.toml says kind = \"judge\""
        );
        let error = check(&project("judge", ""), b"\0asm\x01\0\0\0", &silent).unwrap_err();
        assert!(error.message.starts_with("the built component cannot be used: "));
    }

    #[test]
    fn imports_must_be_asked_for() {
        let said = std::cell::RefCell::new(Vec::new());
        let say = |line: &str| said.borrow_mut().push(line.to_owned());
        let bytes = component(&["http", "media"], "backend");
        let error = check(&project("backend", "'media', 'llm'"), &bytes, &say).unwrap_err();
        assert_eq!(error.message, "the plugin uses http, which gage-plugin.toml does not list");
        assert!(error.help.unwrap().contains(r#"imports = ["media", "llm", "http"]"#));
        assert_eq!(check(&project("backend", "'media', 'llm', 'http'"), &bytes, &say), Ok(()));
        assert_eq!(*said.borrow(), ["note: gage-plugin.toml lists llm, which the plugin does not use"]);
    }

    #[test]
    fn a_file_takes_its_place_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        for text in ["first", "second"] {
            write(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
