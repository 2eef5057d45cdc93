//! The file `.env` in the working folder: variables for suites, such as keys of servers.

use crate::terminal;
use gage_core::foreign_file::{self, FileLimit};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file.
const FILE_NAME: &str = ".env";

/// Maximum size of the file.
const MAX_FILE_SIZE: FileLimit = FileLimit::new("a file of variables", 1 << 20);

/// Reads the file, if there is one. Suites see its variables unless the process sets them. The options of this program do not
/// read it. A file that cannot be read is reported, and has no effect.
pub(crate) fn read() {
    match variables_of(Path::new(FILE_NAME)) {
        Ok(variables) => gage_core::set_file_variables(variables),
        Err(message) => terminal::eprint_line(format_args!(
            "warning: {FILE_NAME} has no effect: {}",
            gage_core::printable_line(&message)
        )),
    }
}

fn variables_of(path: &Path) -> Result<BTreeMap<String, String>, String> {
    if path.is_dir() {
        // Python's virtual environments often have this name.
        let is_environment = path.join("pyvenv.cfg").is_file();
        return match is_environment {
            true => Ok(BTreeMap::new()),
            false => Err("it is a folder; variables are read from a file".to_owned()),
        };
    }
    let text = match foreign_file::read_named_text(path, MAX_FILE_SIZE) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(gage_core::system_message(&error)),
    };
    let text = text.trim_start_matches('\u{feff}');
    let mut variables = BTreeMap::new();
    for entry in dotenvy::from_read_iter(text.as_bytes()) {
        let (name, value) = entry.map_err(|error| match error {
            // The text may be a secret, so it is not shown.
            dotenvy::Error::LineParse(line, _) => {
                let number = text.lines().position(|whole| whole.contains(line.trim()));
                let place = number.map_or_else(String::new, |number| format!("line {}: ", number + 1));
                format!("{place}expected NAME=VALUE; put a value with blanks or quotes into quotes")
            }
            error => error.to_string(),
        })?;
        variables.insert(name, value);
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_holds_a_variable_in_each_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".env");
        assert_eq!(variables_of(&path), Ok(BTreeMap::new()), "there need not be a file");
        std::fs::write(&path, "# keys\nexport A_KEY='a b'\nB=2 # two\n\nEMPTY=\n").expect("written");
        let found = variables_of(&path).expect("variables");
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, [("A_KEY", "a b"), ("B", "2"), ("EMPTY", "")]);
        std::fs::write(&path, "A=1\nMY_KEY=very secret words\n").expect("written");
        let message = variables_of(&path).expect_err("blanks without quotes");
        assert!(message.starts_with("line 2: expected NAME=VALUE"), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }

    #[test]
    fn a_folder_is_reported_unless_it_is_a_virtual_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let message = variables_of(folder.path()).expect_err("a folder");
        assert_eq!(message, "it is a folder; variables are read from a file");
        std::fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin\n").expect("written");
        assert_eq!(variables_of(folder.path()), Ok(BTreeMap::new()));
    }
}
