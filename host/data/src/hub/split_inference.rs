//! Inference of the split and the subset of a file from its path alone.
//!
//! The rules are the hub's own: `data/NAME-00000-of-00001.parquet` names its split; otherwise a folder that contains
//! a split word does, and otherwise the file name. Words are separated by `-`, `_`, `.`, spaces and digits. If no
//! file names a split, all are `train`. In addition to these rules, a folder that names no split is a subset.

use super::pattern::is_ordinary;

/// Splits with words of their own.
const WORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "val", "dev"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// Subset of files without a folder of their own.
pub(super) const DEFAULT_SUBSET: &str = "default";

/// Subset and splits inferred for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedSplit<'a> {
    /// Subset; [`DEFAULT_SUBSET`] if none.
    pub(super) subset: String,
    /// Splits. A name that contains the words of two splits lists both.
    pub(super) splits: Vec<String>,
    /// Path of the file.
    pub(super) path: &'a str,
}

/// Returns the split that a word stands for. An unknown word is its own split.
pub(super) fn canonical(word: &str) -> &str {
    let known = WORDS.iter().find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word)));
    known.map_or(word, |(split, _)| split)
}

/// Returns the places of all paths in a folder that may be data. If no file of a subset names its split, all are
/// `train`.
pub(super) fn places<'a>(paths: impl Iterator<Item = &'a str>, folder: Option<&str>) -> Vec<NamedSplit<'a>> {
    let mut places: Vec<NamedSplit<'a>> = paths
        .filter_map(|path| {
            let within = match folder {
                Some(folder) => path.strip_prefix(folder)?.strip_prefix('/')?,
                None => path,
            };
            is_ordinary(within).then(|| NamedSplit { subset: subset(within), splits: splits(within), path })
        })
        .collect();
    let with_split: std::collections::HashSet<String> =
        places.iter().filter(|place| !place.splits.is_empty()).map(|place| place.subset.clone()).collect();
    for place in &mut places {
        if !with_split.contains(&place.subset) {
            place.splits = vec!["train".to_owned()];
        }
    }
    places
}

/// Returns the folders before the first that names a split, without a leading `data`.
fn subset(path: &str) -> String {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let folders = folders.split('/').enumerate().filter(|(index, part)| *index > 0 || *part != "data");
    let named: Vec<&str> =
        folders.map(|(_, part)| part).take_while(|part| words(part).is_empty() && !part.is_empty()).collect();
    match named.is_empty() {
        true => DEFAULT_SUBSET.to_owned(),
        false => named.join("/"),
    }
}

fn splits(path: &str) -> Vec<String> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_data = folders.split('/').next() == Some("data");
    let owned = |splits: Vec<&str>| splits.into_iter().map(str::to_owned).collect();
    let shard = shard_name(name);
    if let Some(shard) = shard.filter(|_| folders == "data") {
        return vec![shard.to_owned()];
    }
    if let Some(found) = folders.split('/').map(words).find(|found| !found.is_empty()) {
        return owned(found);
    }
    match shard {
        Some(shard) if in_data || !words(shard).is_empty() => vec![shard.to_owned()],
        _ => owned(words(name)),
    }
}

/// Returns `NAME` of `NAME-00000-of-00001.ending`, if it can be the name of a split.
fn shard_name(file: &str) -> Option<&str> {
    let (front, after) = file.rsplit_once("-of-")?;
    let (name, number) = front.rsplit_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = after.split(['.', '-']).next()?;
    let is_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
    (is_number(number) && is_number(count) && !name.is_empty() && name.chars().all(is_word)).then_some(name)
}

/// Returns the splits whose words occur in a text.
fn words(text: &str) -> Vec<&'static str> {
    let is_separator = |character: char| matches!(character, '-' | '.' | '_' | ' ' | '0'..='9');
    let tokens: Vec<&str> = text.split(is_separator).collect();
    let occurs =
        |words: &[&str]| words.iter().any(|word| tokens.iter().any(|token| token.eq_ignore_ascii_case(word)));
    WORDS.iter().filter(|(_, words)| occurs(words)).map(|(split, _)| *split).collect()
}

#[cfg(test)]
mod tests;
