//! The project file `gage-plugin.toml`.

use crate::{Language, ToolError, name};
use gage_core::foreign_file::{FileLimit, read_named_text};
use gage_core::{printable_line, shortened, shown_name};
use gage_plugin::{Capability, World};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::{Component, Path, PathBuf};

/// File that marks a folder as a project.
pub const SETTINGS: &str = "gage-plugin.toml";

/// Maximum size of a project file.
const MAX_SETTINGS_SIZE: FileLimit = FileLimit::new("a project file", 1 << 20);

/// Maximum length of a message about a project file, in characters.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// A folder with a plugin project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder with `gage-plugin.toml`.
    pub folder: PathBuf,
    /// The plugin's name, also used for the component's file.
    pub name: String,
    /// The kind of plugin.
    pub world: World,
    /// Programming language.
    pub language: Language,
    /// Capabilities that it imports.
    pub imports: Vec<Capability>,
    /// Files and folders that a plugin in Python reads when it runs, relative to the project's folder.
    pub files: Vec<String>,
    /// What `plugin push` tells the users of a registry.
    pub package: PackageInfo,
}

/// The table `[package]` of a project file. Nothing depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PackageInfo {
    /// Version of the package.
    pub version: Option<String>,
    /// Description in a sentence.
    pub description: Option<String>,
    /// License, as an SPDX expression: `Apache-2.0`.
    pub license: Option<String>,
    /// Address of the source.
    pub source: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(deserialize_with = "read_name")]
    name: String,
    #[serde(deserialize_with = "read_kind")]
    kind: World,
    language: Language,
    #[serde(default)]
    imports: Vec<toml::Spanned<Import>>,
    #[serde(default)]
    files: Vec<toml::Spanned<String>>,
    #[serde(default)]
    package: PackageInfo,
}

#[derive(Clone, Copy)]
struct Import(Capability);

impl Project {
    /// Reads the project in a folder.
    ///
    /// # Errors
    /// If there is none, or its `gage-plugin.toml` is invalid; the message names the line.
    pub fn read(folder: &Path) -> Result<Project, ToolError> {
        let path = folder.join(SETTINGS);
        let text = read_named_text(&path, MAX_SETTINGS_SIZE).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ToolError::with_help(
                format!("there is no plugin in {}: it has no {SETTINGS}", folder.display()),
                "go to the folder of a plugin, or make one: gage-host plugin new --lang LANGUAGE --kind KIND NAME",
            ),
            _ => ToolError::io("read", &path, &error),
        })?;
        Project::parse(folder, &text)
    }

    /// Returns the path of the built component: `NAME.wasm` in the folder.
    pub fn component(&self) -> PathBuf {
        self.folder.join(format!("{}.wasm", self.name))
    }

    /// Checks that the folders needed by the project's tools exist.
    pub(crate) fn require_folders(&self, folders: &[&str]) -> Result<(), ToolError> {
        match folders.iter().map(|folder| self.folder.join(folder)).find(|folder| !folder.is_dir()) {
            None => Ok(()),
            Some(missing) => Err(ToolError::with_help(
                format!("there is no folder {}", missing.display()),
                "gage/ holds the contract and the SDK; `gage-host plugin upgrade` writes it",
            )),
        }
    }

    fn parse(folder: &Path, text: &str) -> Result<Project, ToolError> {
        let path = folder.join(SETTINGS);
        let place = |at: usize| {
            let line = text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1;
            format!("{}:{line}", path.display())
        };
        let settings: Settings = toml::from_str(text).map_err(|error| {
            // Missing keys have no position.
            let place = match error.span() {
                Some(span) if span.end > 0 => place(span.start),
                _ => path.display().to_string(),
            };
            // The message may repeat any text of the file.
            let message = shortened(error.message(), MAX_MESSAGE_CHARS);
            ToolError::new(format!("{place}: {}", printable_line(&message)))
        })?;
        let mut imports = Vec::new();
        for import in &settings.imports {
            let Import(capability) = *import.get_ref();
            if !capability.worlds().contains(&settings.kind) {
                let kinds: Vec<&str> = capability.worlds().iter().map(|world| world.kind()).collect();
                return Err(ToolError::with_help(
                    format!(
                        "{}: a plugin of the kind {} cannot import {}",
                        place(import.span().start),
                        settings.kind,
                        capability.name()
                    ),
                    format!("kinds that may: {}", kinds.join(", ")),
                ));
            }
            if !imports.contains(&capability) {
                imports.push(capability);
            }
        }
        let files = checked_files(&settings, place)?;
        Ok(Project {
            folder: folder.to_owned(),
            name: settings.name,
            world: settings.kind,
            language: settings.language,
            imports,
            files,
            package: settings.package,
        })
    }
}

/// Returns the listed files, which must be below the project's folder. `place` describes a position in the text.
fn checked_files(settings: &Settings, place: impl Fn(usize) -> String) -> Result<Vec<String>, ToolError> {
    let mut files = Vec::new();
    for file in &settings.files {
        let (place, path) = (place(file.span().start), file.get_ref());
        if settings.language != Language::Python {
            return Err(ToolError::with_help(
                format!("{place}: `files` is for plugins in Python"),
                "include_str! embeds a file in Rust, and an import of a .json, .txt, .csv or .bin file does in JavaScript",
            ));
        }
        let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if path.is_empty() || path.contains('\\') || !Path::new(path).components().all(is_below) {
            return Err(ToolError::with_help(
                format!("{place}: '{}' is not a path below the folder of the project", shown_name(path)),
                "write it with `/` between folders, without `..` and without a `/` in front",
            ));
        }
        files.push(path.clone());
    }
    Ok(files)
}

/// Returns the text of a new project's `gage-plugin.toml`.
pub(crate) fn new_settings(name: &str, world: World, language: Language) -> String {
    format!(
        "name = \"{name}\"\nkind = \"{world}\"\nlanguage = \"{language}\"\n\
         # Capabilities that the plugin needs from the host: media, http, llm.\nimports = []\n"
    )
}

fn read_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    name::check(&name).map_err(D::Error::custom)?;
    Ok(name)
}

fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<World, D::Error> {
    let kind = String::deserialize(deserializer)?;
    World::of_kind(&kind).ok_or_else(|| {
        let kinds = World::ALL.map(World::kind).join(", ");
        D::Error::custom(format!("there is no kind '{}'; use one of {kinds}", shown_name(&kind)))
    })
}

impl<'de> Deserialize<'de> for Import {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Import, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = Capability::ALL.into_iter().find(|capability| capability.name() == name);
        found.map(Import).ok_or_else(|| {
            let names = Capability::ALL.map(Capability::name).join(", ");
            D::Error::custom(format!("there is no import '{}'; use {names}", shown_name(&name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Project::parse(Path::new("p"), text).unwrap_err().message
    }

    #[test]
    fn a_new_project_can_be_read() {
        for world in World::ALL {
            for language in Language::ALL {
                let project = Project::parse(Path::new("p"), &new_settings("a-b", world, language)).unwrap();
                assert_eq!((project.world, project.language), (world, language));
                assert_eq!(project.component(), Path::new("p/a-b.wasm"));
                assert_eq!(project.imports, []);
            }
        }
    }

    #[test]
    fn imports_of_a_backend() {
        let text = "name = 'a'\nkind = 'backend'\nlanguage = 'js'\nimports = ['llm', 'http', 'llm']";
        let project = Project::parse(Path::new("p"), text).unwrap();
        assert_eq!(project.imports, [Capability::Llm, Capability::Http]);
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let start = "name = 'a'\nkind = 'metric'\n";
        assert_eq!(
            error(&format!("{start}lang = 'js'")),
            "p/gage-plugin.toml:3: unknown field `lang`, expected one of `name`, `kind`, `language`, `imports`, `files`, \
             `package`"
        );
        assert_eq!(error(start), "p/gage-plugin.toml: missing field `language`");
        assert!(error(&format!("{start}language = 'go'")).starts_with(
            "p/gage-plugin.toml:3: unknown variant `go`, expected one of `rust`, `python`, `js`"
        ));
        assert!(
            error("kind = 'metrics'").starts_with("p/gage-plugin.toml:1: there is no kind 'metrics'; use")
        );
        assert!(error("name = 'A B'").starts_with("p/gage-plugin.toml:1: the name 'A B' cannot be used"));
        assert!(error(&format!("{start}language 4")).starts_with("p/gage-plugin.toml:3: "));
        let imports = |what: &str| error(&format!("{start}language = 'js'\nimports = [\n  '{what}',\n]"));
        assert!(imports("files").starts_with("p/gage-plugin.toml:4: there is no import"));
        assert_eq!(imports("http"), "p/gage-plugin.toml:5: a plugin of the kind metric cannot import http");
    }

    #[test]
    fn a_package_is_described() {
        let start = "name = 'a'\nkind = 'metric'\nlanguage = 'js'\n[package]\n";
        let package = Project::parse(Path::new("p"), &format!("{start}license = 'MIT'")).unwrap().package;
        assert_eq!(package, PackageInfo { license: Some("MIT".to_owned()), ..PackageInfo::default() });
        let message = error(&format!("{start}licence = 'MIT'"));
        assert!(message.starts_with("p/gage-plugin.toml:5: unknown field `licence`"), "{message}");
        assert!(error(&format!("{start}version = 1")).starts_with("p/gage-plugin.toml:5: invalid type"));
    }

    #[test]
    fn files_are_below_the_folder() {
        let files = |language: &str, path: &str| {
            let text = format!("name = 'a'\nkind = 'metric'\nlanguage = '{language}'\nfiles = ['{path}']");
            Project::parse(Path::new("p"), &text)
        };
        assert_eq!(files("python", "./tables/a b.csv").unwrap().files, ["./tables/a b.csv"]);
        for path in ["../a", "a/../../b", "/etc/passwd", "", "a\\b"] {
            let message = files("python", path).unwrap_err().message;
            assert!(message.starts_with("p/gage-plugin.toml:4: "), "{path}: {message}");
        }
        assert!(files("js", "a").unwrap_err().help.unwrap().contains("import of a .json"));
    }

    #[test]
    fn names_in_messages_are_short_and_on_one_line() {
        let hostile = format!("a\\nerror: b\\u202e\\u001b{}", "x".repeat(100_000));
        for text in [
            format!("name = \"{hostile}\""),
            format!("kind = \"{hostile}\""),
            format!("language = \"{hostile}\""),
            format!("imports = [\"{hostile}\"]"),
            format!("\"{hostile}\" = 1"),
        ] {
            let message = error(&text);
            assert!(message.contains("a\\nerror: b\\u{202e}\\u{1b}xx"), "{message}");
            assert!(message.chars().count() < 1_500, "{}", message.len());
        }
    }

    #[test]
    fn a_folder_without_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let error = Project::read(folder.path()).unwrap_err();
        assert!(error.message.contains("it has no gage-plugin.toml"));
        assert!(error.help.unwrap().contains("plugin new"));
    }
}
