//! Choice of the files of a subset and a split.

mod message;

use super::card;
use super::error::HubError;
use super::listing::{HubEntry, Listing};
use super::paths::check_path;
use super::pattern::Pattern;
use super::source::{HubFormat, HubSource};
use super::split_inference::{self, DEFAULT_SUBSET};
use message::{formats, listed, unreadable};
use std::collections::BTreeSet;

/// The chosen files, in order, and their common format.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) entries: Vec<&'a HubEntry>,
    pub(super) format: HubFormat,
}

/// Chooses by `data_files`, else by the card's `configs`, else by the file names.
pub(super) fn select<'a>(source: &HubSource, listing: &'a Listing) -> Result<Choice<'a>, HubError> {
    let choice = Selector { source, listing }.select()?;
    for entry in &choice.entries {
        check_path(&entry.path)
            .map_err(|reason| HubError::Path { path: entry.path.chars().take(200).collect(), reason })?;
    }
    Ok(choice)
}

/// A request and the files of the repository.
struct Selector<'s, 'a> {
    source: &'s HubSource,
    listing: &'a Listing,
}

impl<'a> Selector<'_, 'a> {
    fn select(&self) -> Result<Choice<'a>, HubError> {
        if !self.source.data_files.is_empty() {
            return self.by_patterns();
        }
        let subsets = card::subsets(self.listing.card.as_deref().unwrap_or_default()).map_err(|reason| {
            let advice = "choose the files with 'data_files'";
            self.error("hub_id", format!("the dataset card cannot be used: {reason}; {advice}"))
        })?;
        match subsets.is_empty() {
            true => self.by_name(None, self.source.subset.as_deref()),
            false => self.by_card(&subsets),
        }
    }

    fn error(&self, key: &'static str, message: String) -> HubError {
        let HubSource { kind, name, .. } = self.source;
        HubError::Choice { key, message: format!("{} '{name}': {message}", kind.noun()) }
    }

    fn refuse<T>(&self, key: &'static str, message: String) -> Result<T, HubError> {
        Err(self.error(key, message))
    }

    fn format(&self, entry: &HubEntry) -> Option<HubFormat> {
        self.source.kind.format(&entry.path)
    }

    fn by_patterns(&self) -> Result<Choice<'a>, HubError> {
        let chosen = self.matching("data_files", None, &self.source.data_files)?;
        let found: BTreeSet<HubFormat> = chosen.iter().filter_map(|entry| self.format(entry)).collect();
        if found.len() > 1 {
            let (formats, example) = (formats(found), HubFormat::Jsonl.name());
            let advice = format!("write patterns that choose one of them, such as '*.{example}'");
            let message = format!("'data_files' choose files of several formats: {formats}; {advice}");
            return self.refuse("data_files", message);
        }
        self.one_format(chosen)
    }

    /// Returns the files that patterns select, in the order of the patterns and without duplicates. Each pattern must
    /// match.
    fn matching(
        &self,
        key: &'static str,
        folder: Option<&str>,
        patterns: &[String],
    ) -> Result<Vec<&'a HubEntry>, HubError> {
        let mut chosen: Vec<&HubEntry> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for text in patterns {
            let full = match folder {
                Some(folder) => format!("{folder}/{}", text.trim_start_matches("./")),
                None => text.clone(),
            };
            let shown = gage_core::printable_line(&full);
            let pattern = Pattern::parse(&full).map_err(|reason| {
                self.error(key, format!("'{shown}' cannot be used as a pattern: {reason}"))
            })?;
            let files = self.listing.files.iter();
            let mut selected: Vec<&HubEntry> = files.filter(|entry| pattern.selects(&entry.path)).collect();
            if selected.is_empty() {
                let files = listed(self.listing.files.iter().map(|entry| entry.path.as_str()));
                return self.refuse(key, format!("no file matches '{shown}'; there are {files}"));
            }
            if pattern.is_plain() && selected.iter().any(|entry| self.format(entry).is_none()) {
                let readable = self.source.kind.readable();
                return self.refuse(key, format!("'{shown}' cannot be read; {readable}"));
            }
            selected.sort_by(|one, other| one.path.cmp(&other.path));
            chosen.extend(selected.into_iter().filter(|entry| known.insert(&entry.path)));
        }
        Ok(chosen)
    }

    fn by_card(&self, subsets: &[card::Subset]) -> Result<Choice<'a>, HubError> {
        let names = || listed(subsets.iter().map(|subset| subset.name.as_str()));
        let subset = match (&self.source.subset, subsets) {
            (Some(wanted), _) => subsets.iter().find(|subset| subset.name == *wanted),
            (None, [only]) => Some(only),
            (None, _) => subsets.iter().find(|subset| subset.is_default),
        };
        let Some(subset) = subset else {
            return match &self.source.subset {
                Some(wanted) => self.no_subset(wanted, &names()),
                None => {
                    let advice = format!("write 'subset:' and one of {}", names());
                    self.refuse("subset", format!("it has several subsets and none is its default; {advice}"))
                }
            };
        };
        let Some(splits) = &subset.splits else { return self.by_name(subset.folder.as_deref(), None) };
        let split = self.one_split(&subset.name, splits.iter().map(|(split, _)| split.as_str()))?;
        let patterns =
            splits.iter().find(|(name, _)| *name == split).map_or(&[][..], |(_, patterns)| patterns);
        self.one_format(self.matching("hub_id", subset.folder.as_deref(), patterns)?)
    }

    fn no_subset<T>(&self, wanted: &str, names: &str) -> Result<T, HubError> {
        let wanted = gage_core::printable_line(wanted);
        self.refuse("subset", format!("there is no subset '{wanted}'; there are {names}"))
    }

    /// Chooses by file names in a folder, or in the whole repository.
    fn by_name(&self, folder: Option<&str>, subset: Option<&str>) -> Result<Choice<'a>, HubError> {
        let readable = || self.listing.files.iter().filter(|entry| self.format(entry).is_some());
        let paths = || readable().map(|entry| entry.path.as_str());
        let all = split_inference::places(paths(), folder);
        if all.is_empty() {
            return self.refuse("hub_id", unreadable(self.source.kind, &self.listing.files));
        }
        let names: BTreeSet<&str> = all.iter().map(|place| place.subset.as_str()).collect();
        let known = listed(names.iter().copied());
        let (wanted, places) = match subset {
            None if names.len() == 1 => (names.first().copied().unwrap_or(DEFAULT_SUBSET), all.clone()),
            None => {
                let advice =
                    format!("write 'subset:' and one of {known}, or choose the files with 'data_files'");
                return self.refuse("subset", format!("its folders hold several subsets; {advice}"));
            }
            Some(wanted) => {
                let within = |folder: &str| {
                    let mut places = split_inference::places(paths(), Some(folder));
                    places.retain(|place| place.subset == DEFAULT_SUBSET);
                    places
                };
                let mut found = [within(wanted), within(&format!("data/{wanted}"))].concat();
                if found.is_empty() {
                    found.extend(all.iter().filter(|place| place.subset == wanted).cloned());
                }
                if found.is_empty() {
                    return self.no_subset(wanted, &known);
                }
                (wanted, found)
            }
        };
        let splits: BTreeSet<&str> =
            places.iter().flat_map(|place| place.splits.iter().map(String::as_str)).collect();
        let split = self.one_split(wanted, splits.iter().copied())?;
        let of_split: BTreeSet<&str> =
            places.iter().filter(|place| place.splits.contains(&split)).map(|place| place.path).collect();
        let mut chosen: Vec<&HubEntry> =
            readable().filter(|entry| of_split.contains(entry.path.as_str())).collect();
        chosen.sort_by(|one, other| one.path.cmp(&other.path));
        self.one_format(chosen)
    }

    /// Returns the requested split, or the only one. Accepts a synonym, such as `val` for `validation`.
    fn one_split<'n>(
        &self,
        subset: &str,
        splits: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<String, HubError> {
        let subset = gage_core::printable_line(subset);
        let splits: Vec<&str> = splits.collect();
        let names = || listed(splits.iter().copied());
        let Some(wanted) = &self.source.split else {
            return match splits.as_slice() {
                [only] => Ok((*only).to_owned()),
                _ => {
                    let advice = format!("write 'split:' and one of {}", names());
                    self.refuse("split", format!("its subset '{subset}' has several splits; {advice}"))
                }
            };
        };
        let is_same = |split: &&&str| split_inference::canonical(split) == split_inference::canonical(wanted);
        let same: Vec<&&str> = splits.iter().filter(is_same).collect();
        match (splits.contains(&wanted.as_str()), same.as_slice()) {
            (true, _) => Ok(wanted.clone()),
            (false, [only]) => Ok((**only).to_owned()),
            (false, _) => {
                let wanted = gage_core::printable_line(wanted);
                let message = format!("the subset '{subset}' has no split '{wanted}'; there are {}", names());
                self.refuse("split", message)
            }
        }
    }

    /// Keeps the files of one format, preferring Parquet.
    fn one_format(&self, chosen: Vec<&'a HubEntry>) -> Result<Choice<'a>, HubError> {
        let key = if self.source.data_files.is_empty() { "hub_id" } else { "data_files" };
        let found: BTreeSet<HubFormat> = chosen.iter().filter_map(|entry| self.format(entry)).collect();
        let format = match found.first() {
            _ if found.contains(&HubFormat::Parquet) => HubFormat::Parquet,
            Some(only) if found.len() == 1 => *only,
            Some(_) => {
                let formats = formats(found);
                let advice = "choose those of one with 'data_files'";
                return self.refuse(key, format!("the files are of several formats: {formats}; {advice}"));
            }
            None if chosen.is_empty() => {
                return self.refuse(key, unreadable(self.source.kind, &self.listing.files));
            }
            None => return self.refuse(key, unreadable(self.source.kind, chosen)),
        };
        let count = chosen.len();
        let entries: Vec<&HubEntry> =
            chosen.into_iter().filter(|entry| self.format(entry) == Some(format)).collect();
        if entries.len() < count {
            tracing::warn!(
                "{} '{}': {} of the files that match are not {} and are left out",
                self.source.kind.noun(),
                self.source.name,
                count - entries.len(),
                format.name()
            );
        }
        Ok(Choice { entries, format })
    }
}

#[cfg(test)]
mod tests;
