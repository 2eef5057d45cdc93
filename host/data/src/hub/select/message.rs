//! Server-provided names in messages.

use crate::hub::listing::HubEntry;
use crate::hub::pattern::is_ordinary;
use crate::hub::source::{HubFormat, HubKind};
use std::collections::{BTreeMap, BTreeSet};

const MAX_NAMES: usize = 20;
const MAX_NAME_CHARS: usize = 120;

/// Returns names, quoted and separated, and the number of further ones.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return "none".to_owned();
    }
    let quote = |name: &str| {
        let short: String = name.chars().take(MAX_NAME_CHARS).collect();
        format!("'{}'", gage_core::printable_line(&short))
    };
    let shown: Vec<String> = names.by_ref().take(MAX_NAMES).map(quote).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

pub(super) fn formats(formats: BTreeSet<HubFormat>) -> String {
    let names: Vec<&str> = formats.into_iter().map(HubFormat::name).collect();
    names.join(", ")
}

/// Explains why none of the files can be read.
pub(super) fn unreadable<'a>(kind: HubKind, entries: impl IntoIterator<Item = &'a HubEntry>) -> String {
    let readable = kind.readable();
    let mut endings: BTreeMap<String, u64> = BTreeMap::new();
    let paths = entries.into_iter().map(|entry| entry.path.as_str());
    for path in paths.filter(|path| is_ordinary(path)) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = match name.rsplit_once('.') {
            Some((_, ending)) => format!(".{}", ending.chars().take(16).collect::<String>()),
            None => "no ending".to_owned(),
        };
        *endings.entry(ending).or_default() += 1;
    }
    let has = |ending: &str| endings.contains_key(ending);
    let hint = match () {
        () if has(".arrow") => "; Arrow files are not read",
        () if has(".zip") || has(".tar") || has(".gz") || has(".7z") => "; archives are not unpacked",
        () if has(".py") => {
            "; scripts are not run, but the hub often keeps a Parquet version: try 'revision: refs/convert/parquet'"
        }
        () => "",
    };
    let mut found: Vec<(String, u64)> = endings.into_iter().collect();
    found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let texts: Vec<String> = found
        .into_iter()
        .take(MAX_NAMES)
        .map(|(ending, count)| format!("{count} with {}", gage_core::printable_line(&ending)))
        .collect();
    match texts.is_empty() {
        true => format!("it has no {} files; {readable}", kind.holds()),
        false => format!("no file can be read: {}; {readable}{hint}", texts.join(", ")),
    }
}
