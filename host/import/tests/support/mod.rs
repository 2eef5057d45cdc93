//! What the tests of importers share: their files, and checks of converted suites.

use gage_config::{Environment, load};
use gage_import::{Import, NoteSeverity, SourceFolder};
use std::path::{Path, PathBuf};

/// A folder below `tests`, by its name.
pub struct Folder(pub &'static str);

impl Folder {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(self.0)
    }
}

impl SourceFolder for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.path().join(path)).map_err(|error| error.to_string())
    }

    fn yaml_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".yaml")).collect();
        names.sort_unstable();
        names
    }
}

/// Returns the errors of a suite with settings of a command line. Keys of services are set.
pub fn errors_of(suite: &str, settings: &[&str]) -> Option<String> {
    let variable = |name: &str| name.ends_with("_API_KEY").then(|| "key".to_owned());
    let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
    let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let (_, problems) = load("new.yaml", suite, &settings, &environment);
    problems.has_errors().then(|| problems.render(false))
}

/// Checks which keys of an import need work.
pub fn assert_work(file: &str, import: &Import, work: &[&str]) {
    let notes = import.notes.iter().filter(|note| note.severity == NoteSeverity::NeedsWork);
    let mut found: Vec<&str> = notes.map(|note| note.key.as_str()).collect();
    let mut expected = work.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{file}: {:#?}", import.notes);
}
