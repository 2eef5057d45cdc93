//! Chooses the files of a subset and a split.

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

/// The files that were chosen, in order, and what all of them are.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) entries: Vec<&'a HubEntry>,
    pub(super) format: HubFormat,
}

/// Chooses by `data_files`, else by the card's `configs`, else by the names of the files.
pub(super) fn select<'a>(source: &HubSource, listing: &'a Listing) -> Result<Choice<'a>, HubError> {
    let choice = match source.data_files.as_slice() {
        [] => {
            let subsets = card::subsets(listing.card.as_deref().unwrap_or_default()).map_err(|reason| {
                refuse(
                    source,
                    "hub_id",
                    format!("the dataset card cannot be used: {reason}; choose the files with 'data_files'"),
                )
            })?;
            match subsets.is_empty() {
                true => by_name(source, listing, None, source.subset.as_deref())?,
                false => by_card(source, listing, &subsets)?,
            }
        }
        patterns => by_patterns(source, listing, patterns)?,
    };
    for entry in &choice.entries {
        check_path(&entry.path)
            .map_err(|reason| HubError::Path { path: entry.path.chars().take(200).collect(), reason })?;
    }
    Ok(choice)
}

fn refuse(source: &HubSource, key: &'static str, message: String) -> HubError {
    HubError::Choice { key, message: format!("{} '{}': {message}", source.kind.noun(), source.name) }
}

fn by_patterns<'a>(
    source: &HubSource,
    listing: &'a Listing,
    patterns: &[String],
) -> Result<Choice<'a>, HubError> {
    let chosen = matching(source, listing, ("data_files", None), patterns)?;
    let found: BTreeSet<HubFormat> =
        chosen.iter().filter_map(|entry| source.kind.format(&entry.path)).collect();
    if found.len() > 1 {
        let formats = formats(found);
        return Err(refuse(
            source,
            "data_files",
            format!(
                "'data_files' choose files of several formats: {formats}; write patterns that choose one of them, such as '*.{}'",
                HubFormat::Jsonl.name()
            ),
        ));
    }
    one_format(source, listing, chosen)
}

/// The files that patterns select: in the order of the patterns, each once. Each pattern must
/// select something.
fn matching<'a>(
    source: &HubSource,
    listing: &'a Listing,
    (key, folder): (&'static str, Option<&str>),
    patterns: &[String],
) -> Result<Vec<&'a HubEntry>, HubError> {
    let mut chosen: Vec<&HubEntry> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for text in patterns {
        let full = match folder {
            Some(folder) => format!("{folder}/{}", text.trim_start_matches("./")),
            None => text.clone(),
        };
        let shown = gage_core::printable_line(&full).into_owned();
        let pattern = Pattern::parse(&full).map_err(|reason| {
            refuse(source, key, format!("'{shown}' cannot be used as a pattern: {reason}"))
        })?;
        let mut selected: Vec<&HubEntry> =
            listing.files.iter().filter(|entry| pattern.selects(&entry.path)).collect();
        if selected.is_empty() {
            let files = listed(listing.files.iter().map(|entry| entry.path.as_str()));
            return Err(refuse(source, key, format!("no file is '{shown}'; there are {files}")));
        }
        if pattern.is_plain() && selected.iter().any(|entry| source.kind.format(&entry.path).is_none()) {
            return Err(refuse(source, key, format!("'{shown}' cannot be read; {}", source.kind.readable())));
        }
        selected.sort_by(|one, other| one.path.cmp(&other.path));
        chosen.extend(selected.into_iter().filter(|entry| known.insert(&entry.path)));
    }
    Ok(chosen)
}

fn by_card<'a>(
    source: &HubSource,
    listing: &'a Listing,
    subsets: &[card::Subset],
) -> Result<Choice<'a>, HubError> {
    let names = || listed(subsets.iter().map(|subset| subset.name.as_str()));
    let subset = match (&source.subset, subsets) {
        (Some(wanted), _) => subsets.iter().find(|subset| subset.name == *wanted).ok_or_else(|| {
            let wanted = gage_core::printable_line(wanted);
            refuse(source, "subset", format!("there is no subset '{wanted}'; there are {}", names()))
        })?,
        (None, [only]) => only,
        (None, _) => subsets.iter().find(|subset| subset.is_default).ok_or_else(|| {
            refuse(
                source,
                "subset",
                format!(
                    "it has several subsets and none is its default; write 'subset:' and one of {}",
                    names()
                ),
            )
        })?,
    };
    let Some(splits) = &subset.splits else {
        return by_name(source, listing, subset.folder.as_deref(), None);
    };
    let split = one_split(source, &subset.name, splits.iter().map(|(split, _)| split.as_str()))?;
    let patterns = splits.iter().find(|(name, _)| *name == split).map_or(&[][..], |(_, patterns)| patterns);
    let chosen = matching(source, listing, ("hub_id", subset.folder.as_deref()), patterns)?;
    one_format(source, listing, chosen)
}

/// Chooses by the names of the files in a folder, or of all.
fn by_name<'a>(
    source: &HubSource,
    listing: &'a Listing,
    folder: Option<&str>,
    subset: Option<&str>,
) -> Result<Choice<'a>, HubError> {
    let readable = || listing.files.iter().filter(|entry| source.kind.format(&entry.path).is_some());
    let paths = || readable().map(|entry| entry.path.as_str());
    let all = split_inference::places(paths(), folder);
    if all.is_empty() {
        return Err(refuse(
            source,
            "hub_id",
            unreadable(source.kind, listing.files.iter().map(|entry| entry.path.as_str())),
        ));
    }
    let names: BTreeSet<&str> = all.iter().map(|place| place.subset.as_str()).collect();
    let (wanted, places) = match subset {
        None => match names.len() {
            1 => (names.first().copied().unwrap_or(DEFAULT_SUBSET), all.clone()),
            _ => {
                let names = listed(names.into_iter());
                return Err(refuse(
                    source,
                    "subset",
                    format!(
                        "its folders hold several subsets; write 'subset:' and one of {names}, or choose the files with 'data_files'"
                    ),
                ));
            }
        },
        Some(wanted) => {
            let within = |folder: &str| {
                let mut places = split_inference::places(paths(), Some(folder));
                places.retain(|place| place.subset == DEFAULT_SUBSET);
                places
            };
            let found = [within(wanted), within(&format!("data/{wanted}"))].concat();
            let found = match found.is_empty() {
                true => all.iter().filter(|place| place.subset == wanted).cloned().collect(),
                false => found,
            };
            if found.is_empty() {
                let names = listed(names.into_iter());
                let wanted = gage_core::printable_line(wanted);
                return Err(refuse(
                    source,
                    "subset",
                    format!("there is no subset '{wanted}'; there are {names}"),
                ));
            }
            (wanted, found)
        }
    };
    let splits: BTreeSet<&str> =
        places.iter().flat_map(|place| place.splits.iter().map(String::as_str)).collect();
    let split = one_split(source, wanted, splits.iter().copied())?;
    let of_split: BTreeSet<&str> =
        places.iter().filter(|place| place.splits.contains(&split)).map(|place| place.path).collect();
    let mut chosen: Vec<&HubEntry> =
        readable().filter(|entry| of_split.contains(entry.path.as_str())).collect();
    chosen.sort_by(|one, other| one.path.cmp(&other.path));
    one_format(source, listing, chosen)
}

/// The split that is asked for, or the only one. A word that means the same will do, such as
/// `val` for `validation`.
fn one_split<'a>(
    source: &HubSource,
    subset: &str,
    splits: impl Iterator<Item = &'a str> + Clone,
) -> Result<String, HubError> {
    let subset = gage_core::printable_line(subset);
    let names = || listed(splits.clone());
    let Some(wanted) = &source.split else {
        let mut all = splits.clone();
        return match (all.next(), all.next()) {
            (Some(only), None) => Ok(only.to_owned()),
            _ => Err(refuse(
                source,
                "split",
                format!("its subset '{subset}' has several splits; write 'split:' and one of {}", names()),
            )),
        };
    };
    let same: Vec<&str> = splits
        .clone()
        .filter(|split| split_inference::canonical(split) == split_inference::canonical(wanted))
        .collect();
    match (splits.clone().find(|split| split == wanted), same.as_slice()) {
        (Some(exact), _) => Ok(exact.to_owned()),
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => {
            let wanted = gage_core::printable_line(wanted);
            Err(refuse(
                source,
                "split",
                format!("the subset '{subset}' has no split '{wanted}'; there are {}", names()),
            ))
        }
    }
}

/// The key that chose the files.
fn chosen_by(source: &HubSource) -> &'static str {
    if source.data_files.is_empty() { "hub_id" } else { "data_files" }
}

/// Leaves the files of one format: those of Parquet where there are any.
fn one_format<'a>(
    source: &HubSource,
    listing: &Listing,
    chosen: Vec<&'a HubEntry>,
) -> Result<Choice<'a>, HubError> {
    let count = chosen.len();
    let known: Vec<(HubFormat, &HubEntry)> = chosen
        .iter()
        .filter_map(|entry| source.kind.format(&entry.path).map(|format| (format, *entry)))
        .collect();
    let found: BTreeSet<HubFormat> = known.iter().map(|(format, _)| *format).collect();
    let format = match (found.contains(&HubFormat::Parquet), found.first()) {
        (true, _) => HubFormat::Parquet,
        (false, Some(only)) if found.len() == 1 => *only,
        (false, Some(_)) => {
            let formats = formats(found);
            return Err(refuse(
                source,
                chosen_by(source),
                format!("the files are of several formats: {formats}; choose those of one with 'data_files'"),
            ));
        }
        (false, None) => {
            let paths = match chosen.is_empty() {
                true => &listing.files.iter().collect(),
                false => &chosen,
            };
            return Err(refuse(
                source,
                chosen_by(source),
                unreadable(source.kind, paths.iter().map(|entry| entry.path.as_str())),
            ));
        }
    };
    let entries: Vec<&HubEntry> =
        known.into_iter().filter(|(found, _)| *found == format).map(|(_, entry)| entry).collect();
    if entries.len() < count {
        tracing::warn!(
            "{} '{}': {} of the files that match are not {} and are left out",
            source.kind.noun(),
            source.name,
            count - entries.len(),
            format.name()
        );
    }
    Ok(Choice { entries, format })
}

#[cfg(test)]
mod tests;
