//! Brings the contract and the SDK in a project to those of this version.

use crate::files::TOOL_FOLDERS;
use crate::scaffold::sdk_files;
use crate::{Project, ToolError};
use gage_core::foreign_file::{self, FileLimit};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Files of tools inside of an SDK.
const TOOL_FILES: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Maximum size of a file that is compared with the one of this version.
const MAX_FILE_SIZE: FileLimit = FileLimit::new("a file of the contract or the SDK", 16 << 20);

/// A change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file is new in this version.
    Added,
    /// The text differs.
    Changed,
}

/// The changes that bring a project up to date. Only files below `gage/` are changed.
#[derive(Clone, Debug)]
pub struct Upgrade {
    folder: PathBuf,
    changes: Vec<(String, FileChange, &'static str)>,
    unknown: Vec<String>,
    files: usize,
}

impl Upgrade {
    /// Compares a project with this version, without changing it.
    ///
    /// # Errors
    /// If the folder is no project, or its files cannot be read.
    pub fn plan(folder: &Path) -> Result<Upgrade, ToolError> {
        let project = Project::read(folder)?;
        let sdk = format!("gage/sdk/{}", project.language);
        refuse_links(folder, &["gage", "gage/wit", "gage/sdk", sdk.as_str()])?;
        let (mut changes, mut known) = (Vec::new(), BTreeSet::new());
        for (path, text) in sdk_files(project.language) {
            let file = folder.join(&path);
            let change = match foreign_file::read_below(folder, &path, MAX_FILE_SIZE) {
                Ok(found) if found == text.as_bytes() => None,
                Ok(_) => Some(FileChange::Changed),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(FileChange::Added),
                Err(error) => return Err(ToolError::io("read", &file, &error)),
            };
            changes.extend(change.map(|change| (path.clone(), change, text)));
            known.insert(path);
        }
        let mut unknown = Vec::new();
        find_unknown(folder, "gage", &known, &mut unknown)?;
        unknown.sort();
        Ok(Upgrade { folder: folder.to_owned(), changes, unknown, files: known.len() })
    }

    /// Returns the changed files with their paths in the project, sorted.
    pub fn changes(&self) -> impl Iterator<Item = (&str, FileChange)> {
        self.changes.iter().map(|(path, change, _)| (path.as_str(), *change))
    }

    /// Returns the files below `gage/` that are not part of this version. They are left as they are.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Returns the number of files of the contract and the SDK.
    pub fn files(&self) -> usize {
        self.files
    }

    /// Writes the changed files.
    ///
    /// # Errors
    /// If a file cannot be written. Those before it are changed.
    pub fn apply(&self) -> Result<(), ToolError> {
        for (path, _, text) in &self.changes {
            let file = self.folder.join(path);
            let fail = |error: io::Error| ToolError::io("write", &file, &error);
            foreign_file::check_target(&self.folder, path).map_err(fail)?;
            if let Some(parent) = file.parent() {
                fs::create_dir_all(parent).map_err(fail)?;
            }
            let created = foreign_file::create_anew(&file);
            created.and_then(|mut created| created.write_all(text.as_bytes())).map_err(fail)?;
        }
        Ok(())
    }
}

/// Refuses folders that are links: their files belong to something else.
fn refuse_links(folder: &Path, names: &[&str]) -> Result<(), ToolError> {
    let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match names.iter().map(|name| folder.join(name)).find(is_link) {
        None => Ok(()),
        Some(link) => Err(ToolError::with_help(
            format!("{} is a link, and what it points to is not changed", link.display()),
            "replace the link by a folder",
        )),
    }
}

/// Lists files that are not part of this version. `path` is relative to the project.
fn find_unknown(
    folder: &Path,
    path: &str,
    known: &BTreeSet<String>,
    unknown: &mut Vec<String>,
) -> Result<(), ToolError> {
    let full = folder.join(path);
    let entries = match fs::read_dir(&full) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ToolError::io("read", &full, &error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| ToolError::io("read", &full, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{path}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder {
            if !TOOL_FOLDERS.contains(&name.as_str()) && !name.ends_with(".egg-info") {
                find_unknown(folder, &path, known, unknown)?;
            }
        } else if !known.contains(&path) && !TOOL_FILES.contains(&name.as_str()) && !name.starts_with('.') {
            unknown.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, NewProject, create};
    use gage_plugin::World;

    fn project(parent: &Path) -> PathBuf {
        let new = NewProject {
            language: Language::Python,
            world: World::Metric,
            name: "recall".to_owned(),
            folder: parent.to_owned(),
        };
        create(&new).unwrap().folder
    }

    fn changes(upgrade: &Upgrade) -> Vec<(&str, FileChange)> {
        upgrade.changes().collect()
    }

    #[test]
    fn only_the_files_of_the_sdk_are_renewed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = project(parent.path());
        let plan = || Upgrade::plan(&folder).unwrap();
        assert_eq!((changes(&plan()), plan().unknown().len()), (vec![], 0));
        assert!(plan().files() > 20);
        let (init, wit) = ("gage/sdk/python/src/gage_sdk/__init__.py", "gage/wit/types.wit");
        fs::write(folder.join(init), "old").unwrap();
        fs::remove_file(folder.join(wit)).unwrap();
        fs::write(folder.join("gage/wit/old.wit"), "old").unwrap();
        fs::create_dir_all(folder.join("gage/sdk/python/src/gage_sdk/__pycache__")).unwrap();
        fs::write(folder.join("gage/sdk/python/src/gage_sdk/__pycache__/a.pyc"), "").unwrap();
        fs::write(folder.join("plugin.py"), "mine").unwrap();
        let upgrade = plan();
        assert_eq!(changes(&upgrade), [(init, FileChange::Changed), (wit, FileChange::Added)]);
        assert_eq!(upgrade.unknown(), ["gage/wit/old.wit"]);
        upgrade.apply().unwrap();
        assert_eq!((changes(&plan()), plan().unknown().len()), (vec![], 1));
        assert_eq!(fs::read_to_string(folder.join("plugin.py")).unwrap(), "mine");
    }

    #[cfg(unix)]
    #[test]
    fn linked_sdk_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = project(parent.path());
        fs::rename(folder.join("gage"), parent.path().join("gage")).unwrap();
        std::os::unix::fs::symlink(parent.path().join("gage"), folder.join("gage")).unwrap();
        assert!(Upgrade::plan(&folder).unwrap_err().message.contains("is a link"));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_links_in_the_sdk() {
        use std::os::unix::fs::symlink;
        let parent = tempfile::tempdir().unwrap();
        let folder = project(parent.path());
        let (file, inner) = (folder.join("gage/wit/types.wit"), folder.join("gage/sdk/python/src"));
        let (other, others) = (parent.path().join("other"), parent.path().join("others"));
        fs::write(&other, "mine").unwrap();
        fs::create_dir(&others).unwrap();
        fs::write(&file, "old").unwrap();
        let before = Upgrade::plan(&folder).unwrap();
        // The link appears after the comparison, or is there before it.
        fs::remove_file(&file).unwrap();
        symlink(&other, &file).unwrap();
        for error in [before.apply().unwrap_err(), Upgrade::plan(&folder).unwrap_err()] {
            assert!(error.message.contains("it is a symbolic link"), "{error}");
        }
        fs::remove_file(&file).unwrap();
        fs::remove_dir_all(&inner).unwrap();
        symlink(&others, &inner).unwrap();
        let error = Upgrade::plan(&folder).unwrap_err();
        assert!(error.message.contains("is a symbolic link"), "{error}");
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(fs::read_dir(&others).unwrap().count(), 0);
    }
}
