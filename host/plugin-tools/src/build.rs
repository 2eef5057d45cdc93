//! Builds projects into components.

mod componentize_py;
mod javascript;
mod lock;
mod python;
mod rust;
mod tool;

use crate::project::SETTINGS;
use crate::{Language, Project, ToolError};
use gage_plugin::{Capability, summarise};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How to build.
#[derive(Clone)]
pub struct BuildOptions<'a> {
    /// Where tools that are fetched are kept, and what all projects share; `None` where there is
    /// no such folder. It is made if need be.
    pub cache_folder: Option<PathBuf>,
    /// Takes lines that tell of progress, and warnings of the tools.
    pub say: &'a dyn Fn(&str),
}

/// What was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltComponent {
    /// The file.
    pub component: PathBuf,
    /// The size.
    pub bytes: usize,
    /// How long it took.
    pub took: Duration,
    /// The tools that built it, with versions.
    pub with: String,
}

/// A component that is not checked yet, and the tools that built it.
struct BuildOutput {
    bytes: Vec<u8>,
    with: String,
}

/// Builds the project in a folder, and writes `NAME.wasm` there. Runs the tools of its language,
/// which may fetch packages; on an error the file stays what it was.
///
/// # Errors
/// When the project cannot be read, a tool is missing or fails, or what was built is not what
/// `gage-plugin.toml` says.
pub fn build(folder: &Path, options: &BuildOptions<'_>) -> Result<BuiltComponent, ToolError> {
    let started = Instant::now();
    let mut project = Project::read(folder)?;
    let component = project.component();
    // Tools run within the folder, and some are told of files elsewhere.
    project.folder = folder.canonicalize().map_err(|error| ToolError::io("read", folder, &error))?;
    let made = match project.language {
        Language::Rust => rust::build(&project, options),
        Language::Python => python::build(&project, options),
        Language::JavaScript => javascript::build(&project, options),
    }?;
    check(&project, &made.bytes, options.say)?;
    write(&component, &made.bytes)?;
    Ok(BuiltComponent { component, bytes: made.bytes.len(), took: started.elapsed(), with: made.with })
}

/// Looks for folders of a project that its tools need.
fn require(project: &Project, folders: &[&str]) -> Result<(), ToolError> {
    match folders.iter().map(|folder| project.folder.join(folder)).find(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(missing) => Err(ToolError::with_help(
            format!("there is no folder {}", missing.display()),
            "gage/ holds the contract and the SDK; copy it from a project that `gage-host plugin new` makes",
        )),
    }
}

/// Refuses a component that is not what its project says.
fn check(project: &Project, bytes: &[u8], say: &dyn Fn(&str)) -> Result<(), ToolError> {
    let summary = summarise(&project.name, bytes).map_err(|error| ToolError {
        message: format!("what was built cannot be used: {}", error.message),
        help: error.help,
    })?;
    if summary.world != project.world {
        return Err(ToolError::with_help(
            format!(
                "what was built is a plugin of the kind {}, where {SETTINGS} says kind = \"{}\"",
                summary.world, project.world
            ),
            "correct the one or the other",
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
            format!("the plugin uses {}, which {SETTINGS} does not ask for", names(&missing)),
            format!("write imports = [{}] there, or use it no more", quoted.join(", ")),
        ));
    }
    let unused: Vec<Capability> = project.imports.iter().filter(is_unused).copied().collect();
    if !unused.is_empty() {
        say(&format!("note: {SETTINGS} asks for {}, which the plugin does not use", names(&unused)));
    }
    Ok(())
}

fn names(capabilities: &[Capability]) -> String {
    let names: Vec<&str> = capabilities.iter().map(|one| one.name()).collect();
    names.join(" and ")
}

/// Puts a file in its place when it is whole.
fn write(path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    let fail = |error: std::io::Error| ToolError::io("write", path, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A folder, since the file within it gets the usual permissions.
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
        // Header; then a type section with an instance type, imports of it, and the export of one.
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
            "what was built is a plugin of the kind metric, where gage-plugin.toml says kind = \"judge\""
        );
        let error = check(&project("judge", ""), b"\0asm\x01\0\0\0", &silent).unwrap_err();
        assert!(error.message.starts_with("what was built cannot be used: "));
    }

    #[test]
    fn imports_must_be_asked_for() {
        let said = std::cell::RefCell::new(Vec::new());
        let say = |line: &str| said.borrow_mut().push(line.to_owned());
        let bytes = component(&["http", "media"], "backend");
        let error = check(&project("backend", "'media', 'llm'"), &bytes, &say).unwrap_err();
        assert_eq!(error.message, "the plugin uses http, which gage-plugin.toml does not ask for");
        assert!(error.help.unwrap().contains(r#"imports = ["media", "llm", "http"]"#));
        assert_eq!(check(&project("backend", "'media', 'llm', 'http'"), &bytes, &say), Ok(()));
        assert_eq!(*said.borrow(), ["note: gage-plugin.toml asks for llm, which the plugin does not use"]);
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
