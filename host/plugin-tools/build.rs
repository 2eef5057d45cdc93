//! Collects the files from which new projects are created, for `src/files.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Embedded folders of the repository, each with the file extensions to include.
const CARRIED: [(&str, &[&str]); 5] = [
    ("wit", &["wit"]),
    ("sdk/rust", &["rs", "toml", "md"]),
    ("sdk/python", &["py", "typed", "toml", "md"]),
    ("sdk/js", &["js", "mjs", "ts", "json", "md"]),
    ("sdk/templates", &["rs", "py", "js", "ts", "json", "jsonl", "toml", "md", "gitignore"]),
];

/// Excluded subfolders: tests, releases of the contract, and build output.
const LEFT_OUT: [&str; 7] = ["tests", "test", "released", "target", "node_modules", "dist", "__pycache__"];

fn main() {
    if let Err(error) = collect() {
        eprintln!("collecting the files of new projects: {error}");
        std::process::exit(1);
    }
}

fn collect() -> Result<(), String> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let root = Path::new("../..").canonicalize().map_err(|error| format!("../..: {error}"))?;
    let mut files = Vec::new();
    for (folder, endings) in CARRIED {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        walk(&root, folder, endings, &mut files).map_err(|error| format!("{folder}: {error}"))?;
    }
    files.sort();
    let mut text = String::from(
        "/// Path from the root of the repository, with `/` between folders, and text; sorted by path.\n\
         pub const FILES: &[(&str, &str)] = &[\n",
    );
    for path in files {
        let file = root.join(&path);
        let _ = writeln!(text, "    ({path:?}, include_str!({:?})),", file.display().to_string());
    }
    text.push_str("];\n");
    let target = out.join("files.rs");
    fs::write(&target, text).map_err(|error| format!("{}: {error}", target.display()))
}

/// Adds the files below a folder.
fn walk(root: &Path, folder: &str, endings: &[&str], files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) && !name.starts_with('.') && !name.ends_with(".egg-info") {
                walk(root, &path, endings, files)?;
            }
        } else if kind.is_file()
            // For .gitignore, the whole name is the extension.
            && name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
            && name != "package-lock.json"
        {
            files.push(path);
        }
    }
    Ok(())
}
