//! Creation of new projects.

use crate::native::interpreter;
use crate::project::{SETTINGS, new_settings};
use crate::{Language, ToolError, files, name};
use gage_plugin::World;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Settings of a new project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewProject {
    /// Programming language.
    pub language: Language,
    /// The kind of plugin.
    pub world: World,
    /// Name of the project and of its folder: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Parent folder; an empty path is the working folder.
    pub folder: PathBuf,
}

/// A newly created project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedProject {
    /// The project's folder.
    pub folder: PathBuf,
    /// Commands to run next, one per line.
    pub next: Vec<String>,
}

/// Creates the folder of a new project, with the contract, the SDK, and a plugin that builds and passes its
/// cases. On an error, nothing is created.
///
/// # Errors
/// If the name is invalid, the folder exists, or it cannot be written.
pub fn create(new: &NewProject) -> Result<CreatedProject, ToolError> {
    name::check(&new.name).map_err(ToolError::new)?;
    let files = files_of(new)?;
    let target = new.folder.join(&new.name);
    let parent = if new.folder.as_os_str().is_empty() { Path::new(".") } else { new.folder.as_path() };
    if !parent.is_dir() {
        return Err(ToolError::with_help(
            format!("there is no folder {}", parent.display()),
            "make it, or name another",
        ));
    }
    check_unused(&target)?;
    let fail = |error: io::Error| ToolError::io("make", &target, &error);
    let scratch = tempfile::Builder::new().prefix(".gage-new-").tempdir_in(parent).map_err(fail)?;
    // Inside the scratch folder, which other users cannot read.
    let whole = scratch.path().join(&new.name);
    for (path, text) in &files {
        let file = whole.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        fs::write(&file, text).map_err(fail)?;
    }
    fs::rename(&whole, &target).map_err(fail)?;
    let runs_natively = new.world == World::Metric && interpreter(new.language).is_some();
    let mut next = vec![format!("cd {}", quoted(&target))];
    let native = runs_natively.then_some("gage-host plugin test --native");
    let commands = native.into_iter().chain(["gage-host plugin build", "gage-host plugin test"]);
    next.extend(commands.map(str::to_owned));
    Ok(CreatedProject { folder: target, next })
}

/// Returns the files of a project by path.
fn files_of(new: &NewProject) -> Result<BTreeMap<String, String>, ToolError> {
    let (language, kind, snake) = (new.language.name(), new.world.kind(), name::snake(&new.name));
    let fill = |text: &str| {
        text.replace("{{name}}", &new.name).replace("{{snake}}", &snake).replace("{{kind}}", kind)
    };
    let mut project = BTreeMap::new();
    let template = format!("sdk/templates/{language}/{kind}");
    for (path, text) in files::below(&template) {
        // In Python, the name becomes a function of the module.
        if new.language == Language::Python && uses(text, &snake) {
            return Err(ToolError::with_help(
                format!("the name '{}' is that of a function which the plugin uses", new.name),
                format!("choose another, such as 'my-{}'", new.name),
            ));
        }
        project.insert(fill(path), fill(text));
    }
    let common = format!("sdk/templates/{language}/common");
    project.extend(files::below(&common).map(|(path, text)| (fill(path), fill(text))));
    let cases = format!("{kind}.jsonl");
    for (_, text) in files::below("sdk/templates/cases").filter(|(path, _)| *path == cases) {
        project.insert("cases.jsonl".to_owned(), text.to_owned());
    }
    project.extend(sdk_files(new.language).into_iter().map(|(path, text)| (path, text.to_owned())));
    project.insert(SETTINGS.to_owned(), new_settings(&new.name, new.world, new.language));
    Ok(project)
}

/// Returns the contract and the SDK of a language, by path in a project; sorted.
pub(crate) fn sdk_files(language: Language) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for folder in ["wit".to_owned(), format!("sdk/{language}")] {
        let carried = files::below(&folder);
        found.extend(carried.map(|(path, text)| (format!("gage/{folder}/{path}"), text)));
    }
    found
}

/// Returns whether Python source calls or decorates with a function of this name.
fn uses(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let (before, after) = (source[..at].chars().next_back(), source[at + name.len()..].chars().next());
        let is_whole = |one: Option<char>| !one.is_some_and(|one| one.is_alphanumeric() || one == '_');
        is_whole(before)
            && is_whole(after)
            && before != Some('.')
            && (after == Some('(') || before == Some('@'))
    })
}

/// Rejects an existing path, except for an empty folder.
fn check_unused(target: &Path) -> Result<(), ToolError> {
    let in_use = |what: &str| {
        Err(ToolError::with_help(
            format!("{} {what}; nothing was changed", target.display()),
            "choose another name, or remove it first",
        ))
    };
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ToolError::io("look at", target, &error)),
        Ok(metadata) if !metadata.is_dir() => in_use("exists and is not a folder"),
        Ok(_) => {
            let mut entries = fs::read_dir(target).map_err(|error| ToolError::io("read", target, &error))?;
            if entries.next().is_some() { in_use("is a folder that is not empty") } else { Ok(()) }
        }
    }
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_./".contains(one);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(language: Language, world: World, name: &str, folder: &Path) -> NewProject {
        NewProject { language, world, name: name.to_owned(), folder: folder.to_owned() }
    }

    #[test]
    fn every_language_has_a_template_of_every_kind() {
        for language in Language::ALL {
            for world in World::ALL {
                let files = files_of(&new(language, world, "word-recall", Path::new(""))).unwrap();
                let source = match language {
                    Language::Rust => "src/lib.rs",
                    Language::Python => "plugin.py",
                    Language::JavaScript => "plugin.js",
                };
                for path in [source, "README.md", ".gitignore", "cases.jsonl", SETTINGS, "gage/wit/types.wit"]
                {
                    assert!(files.contains_key(path), "{language} {world}: {path}");
                }
                let sdk = format!("gage/sdk/{language}/");
                assert!(files.keys().any(|path| path.starts_with(&sdk)), "{language}");
                for (path, text) in files.iter().filter(|(path, _)| !path.starts_with("gage/")) {
                    for placeholder in ["{{name}}", "{{snake}}", "{{kind}}"] {
                        assert!(!text.contains(placeholder) && !path.contains(placeholder), "{path}");
                    }
                }
                // An aggregator's figure and a backend have the same name in all projects.
                let is_named = files[source].contains("word_recall") || files[source].contains("word-recall");
                let is_fixed = [World::Aggregator, World::Backend].contains(&world);
                assert!(is_named || is_fixed, "{language} {world}");
            }
        }
    }

    #[test]
    fn a_project_is_written_whole() {
        let parent = tempfile::tempdir().unwrap();
        let created = create(&new(Language::Python, World::Judge, "my_judge", parent.path())).unwrap();
        assert_eq!(created.folder, parent.path().join("my_judge"));
        assert_eq!(created.next[1..], ["gage-host plugin build", "gage-host plugin test"]);
        let settings = fs::read_to_string(created.folder.join(SETTINGS)).unwrap();
        assert!(settings.contains("name = \"my_judge\"\nkind = \"judge\"\nlanguage = \"python\""));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_folder_that_is_in_use_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let used = parent.path().join("used");
        fs::create_dir(&used).unwrap();
        let project = new(Language::Rust, World::Metric, "used", parent.path());
        fs::write(used.join("file"), "mine").unwrap();
        assert!(create(&project).unwrap_err().message.contains("is a folder that is not empty"));
        assert_eq!(fs::read_dir(&used).unwrap().count(), 1);
        fs::remove_file(used.join("file")).unwrap();
        assert!(create(&project).is_ok(), "an empty folder is filled");
        fs::write(parent.path().join("plain"), "mine").unwrap();
        let file = new(Language::Rust, World::Metric, "plain", parent.path());
        assert!(create(&file).unwrap_err().message.contains("is not a folder"));
        let nowhere = new(Language::Rust, World::Metric, "a", &parent.path().join("nowhere"));
        assert!(create(&nowhere).unwrap_err().message.contains("there is no folder"));
    }

    #[test]
    fn a_name_that_would_hide_a_function() {
        let named = |name| files_of(&new(Language::Python, World::Metric, name, Path::new("")));
        assert!(named("words").unwrap_err().message.contains("'words'"));
        assert!(named("metric").is_err());
        assert!(named("answer").is_ok());
    }

    #[test]
    fn paths_for_a_shell() {
        assert_eq!(quoted(Path::new("a/b-c")), "a/b-c");
        assert_eq!(quoted(Path::new("it's here/a")), r"'it'\''s here/a'");
    }
}
