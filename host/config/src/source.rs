//! Locations of values in their sources.

use std::path::{Path, PathBuf};

/// Formats a path for a message: unchanged, with its absolute location.
pub fn shown_path(path: &Path) -> String {
    match std::path::absolute(path) {
        Ok(resolved) if resolved != path => format!("'{}' ({})", path.display(), resolved.display()),
        _ => format!("'{}'", path.display()),
    }
}

/// Returns the path of a text, in which a leading `~` is the user's home folder.
pub(crate) fn expand_home(text: &str) -> PathBuf {
    let below = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (below, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// A configuration text: a file, or a `--set` on the command line.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name: the file's path as given, or the flag.
    pub name: String,
    /// The text itself.
    pub text: String,
}

/// All texts of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Iterates over the texts, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Renames the texts for which `name_of` returns a name.
    pub fn rename(&mut self, name_of: impl Fn(&str) -> Option<String>) {
        for source in &mut self.0 {
            if let Some(name) = name_of(&source.name) {
                source.name = name;
            }
        }
    }

    /// Adds a text and returns its number.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.0.push(Source { name: name.into(), text: text.into() });
        self.0.len() - 1
    }

    /// Returns the text with this number.
    pub fn get(&self, number: usize) -> Option<&Source> {
        self.0.get(number)
    }
}

/// A range of bytes in one of the [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Number of the source text.
    pub source: usize,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// Returns the line and column of the first byte, both counted from 1; the column in characters.
    pub fn line_and_column(&self, sources: &Sources) -> (usize, usize) {
        let text = sources.get(self.source).map_or("", |source| source.text.as_str());
        let before = text.get(..self.start.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
