//! Labels of runs that share an id, as copies do: the label is the folder name.

use gage_figures::RecordedRun;
use std::path::{Component, Path, PathBuf};

/// Returns the label of a run whose id is shared by another run: the name of its folder, then the id if that differs.
/// Folders with the same name are prefixed with enough parent folders to distinguish them: `monday/nightly`. `None` if
/// the id is unique.
pub fn run_label<'s>(source: &RecordedRun, all: impl IntoIterator<Item = &'s RecordedRun>) -> Option<String> {
    let place = |source: &RecordedRun| canonical(Path::new(source.folder()));
    let namesakes: Vec<PathBuf> =
        all.into_iter().filter(|other| other.run_id() == source.run_id()).map(place).collect();
    (namesakes.len() > 1).then(|| label_of(&place(source), &namesakes, source.run_id()))
}

/// Canonical path of a folder, or the path as given if the folder no longer exists.
fn canonical(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Last `names` components of a path.
fn end_of(path: &Path, names: usize) -> Vec<String> {
    let normal = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    let mut names: Vec<String> = normal.take(names).collect();
    names.reverse();
    names
}

fn label_of(place: &Path, namesakes: &[PathBuf], run_id: &str) -> String {
    let others = || namesakes.iter().filter(|other| *other != place);
    let longest = place.components().count();
    let is_clear = |names: &usize| others().all(|other| end_of(other, *names) != end_of(place, *names));
    let names = end_of(place, (1..=longest).find(is_clear).unwrap_or(1));
    match names.last() {
        None => run_id.to_owned(),
        Some(last) if last == run_id => names.join("/"),
        Some(_) => format!("{} ({run_id})", names.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_told_apart_by_as_little_as_it_takes() {
        for (places, run_id, expected) in [
            (&["/r/a", "/r/b"][..], "a", &["a", "b (a)"][..]),
            (&["/mon/nightly", "/tue/nightly"], "nightly", &["mon/nightly", "tue/nightly"]),
            (&["/x/runs/n", "/y/runs/n"], "n", &["x/runs/n", "y/runs/n"]),
            (&["/x/runs/copy", "/y/runs/copy"], "n", &["x/runs/copy (n)", "y/runs/copy (n)"]),
            (
                &["/x/runs/n", "/y/runs/n", "/y/old/n", "/y/old/m"],
                "n",
                &["x/runs/n", "y/runs/n", "old/n", "m (n)"],
            ),
            // One folder is inside the other.
            (&["/n", "/n/n"], "n", &["n", "n/n"]),
            // The same folder twice.
            (&["/r/n", "/r/n"], "n", &["n", "n"]),
        ] {
            let places: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
            let labels: Vec<String> = places.iter().map(|place| label_of(place, &places, run_id)).collect();
            assert_eq!(labels, expected);
        }
    }
}
