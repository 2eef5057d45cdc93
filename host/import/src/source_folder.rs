//! The files that a configuration of another program may name.

/// The folder of a configuration.
pub trait SourceFolder {
    /// Reads a text file. `path` is relative to the folder, and may begin with `../`.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;

    /// Returns the paths of the YAML files in the folder and below it, sorted.
    fn yaml_files(&self) -> Vec<String>;
}

/// Returns the path of a file that another file names, relative to the folder of the configuration. `None` if the path is
/// absolute.
pub(crate) fn path_beside(file: &str, path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":") {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_at_the_file_that_names_them() {
        for (file, path, found) in [
            ("a.yaml", "b.yaml", Some("b.yaml")),
            ("sub/a.yaml", "b.yaml", Some("sub/b.yaml")),
            ("sub/a.yaml", "../b.yaml", Some("b.yaml")),
            ("a.yaml", "../other/./b.yaml", Some("../other/b.yaml")),
            ("../other/a.yaml", "../../b.yaml", Some("../../b.yaml")),
            ("a.yaml", "/etc/passwd", None),
            ("a.yaml", "C:b.yaml", None),
            ("a.yaml", "", None),
        ] {
            assert_eq!(path_beside(file, path).as_deref(), found, "{file} {path}");
        }
    }
}
