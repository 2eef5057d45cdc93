//! Digests of the files that a build reads.

use crate::ToolError;
use crate::files::TOOL_FOLDERS;
use gage_core::Digest;
use gage_core::foreign_file::{FileLimit, open_named};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::iter;
use std::path::Path;

/// Maximum number of files that a build reads.
const MAX_INPUT_FILES: usize = 20_000;

/// Maximum size of one of them.
const MAX_INPUT_SIZE: FileLimit = FileLimit::new("an input of a build", 256 << 20);

/// Maximum depth of their folders.
const MAX_DEPTH: usize = 64;

/// The files that a build reads, by their paths relative to the project's folder. Neither the folder nor any other path of the
/// machine is part of them.
pub(super) struct InputFiles<'p> {
    folder: &'p Path,
    digests: BTreeMap<String, Digest>,
}

impl<'p> InputFiles<'p> {
    /// Creates an empty list for a project. `folder` is absolute.
    pub(super) fn new(folder: &'p Path) -> InputFiles<'p> {
        InputFiles { folder, digests: BTreeMap::new() }
    }

    /// Adds a file. `path` is absolute, or relative to the project's folder.
    pub(super) fn add(&mut self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        let path = self.folder.join(path);
        self.try_add(&path).map_err(|error| ToolError::io("read", &path, &error))
    }

    /// Adds those of some files that exist.
    pub(super) fn add_existing(&mut self, names: &[&str]) -> Result<(), ToolError> {
        for name in names {
            let path = self.folder.join(name);
            match self.try_add(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(ToolError::io("read", &path, &error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Adds a file, or the files below a folder with one of some endings; every file if there are none. Links below a folder,
    /// hidden files, and folders of tools are left out.
    pub(super) fn add_below(&mut self, name: &str, endings: &[&str]) -> Result<(), ToolError> {
        let path = self.folder.join(name);
        let result = match path.is_dir() {
            true => self.add_folder(&path, endings, 0),
            false => self.try_add(&path),
        };
        result.map_err(|error| ToolError::io("read", &path, &error))
    }

    /// Returns the digest of each file, sorted by path.
    pub(super) fn into_digests(self) -> BTreeMap<String, Digest> {
        self.digests
    }

    fn add_folder(&mut self, folder: &Path, endings: &[&str], depth: usize) -> io::Result<()> {
        if depth == MAX_DEPTH {
            return Err(io::Error::other(format!("its folders are nested deeper than {MAX_DEPTH} levels")));
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (name, path, kind) = (entry.file_name(), entry.path(), entry.file_type()?);
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                // A folder with `pyvenv.cfg` is an environment of Python.
                let is_of_tools = TOOL_FOLDERS.contains(&&*name) || path.join("pyvenv.cfg").is_file();
                if !is_of_tools && !name.ends_with(".egg-info") {
                    self.add_folder(&path, endings, depth + 1)?;
                }
            } else if kind.is_file() && has_ending(&name, endings) {
                self.try_add(&path)?;
            }
        }
        Ok(())
    }

    fn try_add(&mut self, path: &Path) -> io::Result<()> {
        let digest = Digest::of_reader(open_named(path, MAX_INPUT_SIZE)?)?;
        self.digests.insert(relative_name(self.folder, path), digest);
        if self.digests.len() > MAX_INPUT_FILES {
            let message = format!("the build reads more than {MAX_INPUT_FILES} files");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(())
    }
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    endings.is_empty() || name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

/// Returns a path relative to a folder, with `/` between its parts.
fn relative_name(folder: &Path, path: &Path) -> String {
    let shared = folder.components().zip(path.components()).take_while(|(one, other)| one == other).count();
    let ups = iter::repeat_n(Cow::Borrowed(".."), folder.components().count() - shared);
    let rest = path.components().skip(shared).map(|part| part.as_os_str().to_string_lossy());
    ups.chain(rest).collect::<Vec<Cow<'_, str>>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: InputFiles<'_>) -> Vec<String> {
        files.into_digests().into_keys().collect()
    }

    #[test]
    fn paths_are_relative_to_the_project() {
        for (path, expected) in [
            ("/home/a/p/src/lib.rs", "src/lib.rs"),
            ("/home/a/shared/lib.rs", "../shared/lib.rs"),
            ("/home/a/pp/x", "../pp/x"),
        ] {
            assert_eq!(relative_name(Path::new("/home/a/p"), Path::new(path)), expected);
        }
    }

    #[test]
    fn folders_of_tools_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "plugin.py",
            "words/a.py",
            "words/a.csv",
            "target/b.py",
            "node_modules/c.py",
            ".venv/d.py",
            "venv/pyvenv.cfg",
            "venv/e.py",
            "f.egg-info/g.py",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let mut files = InputFiles::new(folder.path());
        files.add_below(".", &["py"]).unwrap();
        files.add_below("words", &[]).unwrap();
        files.add_existing(&["requirements.txt"]).unwrap();
        assert_eq!(names(files), ["plugin.py", "words/a.csv", "words/a.py"]);
        let error = InputFiles::new(folder.path()).add("missing.py").unwrap_err();
        assert!(error.message.contains("cannot read ") && error.message.contains("missing.py"), "{error}");
    }

    #[test]
    fn folders_have_a_maximum_depth() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(vec!["a"; MAX_DEPTH + 1].join("/"))).unwrap();
        let error = InputFiles::new(folder.path()).add_below("a", &[]).unwrap_err();
        assert!(error.message.ends_with("its folders are nested deeper than 64 levels"), "{error}");
    }

    #[test]
    fn digest_is_that_of_the_text() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        let mut files = InputFiles::new(folder.path());
        files.add(folder.path().join("a")).unwrap();
        assert_eq!(files.into_digests()["a"], Digest::of_bytes(b"one"));
    }
}
