//! Embedded files from which new projects are created.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Folders that the tools of a language make in a project.
pub(crate) const TOOL_FOLDERS: [&str; 4] = ["node_modules", "target", "dist", "__pycache__"];

/// Returns the files below a folder, as relative paths and texts.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| Some((path.strip_prefix(folder)?.strip_prefix('/')?, *text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_sorted_and_nothing_that_tools_leave_is_among_them() {
        assert!(FILES.is_sorted());
        for (path, _) in FILES {
            for left in
                ["/test", "/node_modules/", "/target/", "__pycache__", "_cache/", "released", "-lock."]
            {
                assert!(!path.contains(left), "{path}");
            }
        }
    }

    #[test]
    fn below_gives_paths_from_the_folder() {
        let names: Vec<&str> = below("wit").map(|(path, _)| path).collect();
        assert_eq!(names, ["host.wit", "plugin.wit", "types.wit"]);
        assert_eq!(below("wi").count(), 0);
    }
}
