//! Media that one Sample refers to, in the order of first reference.

use super::error::{MediaError, MediaErrorKind};
use super::source::Source;
use super::store::{Facts, MediaStore, Medium, Purpose};
use gage_core::{MediaKind, Object};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Kinds of media with their keys in `inputs.multi_modal_data` and in `_media_meta`.
pub(super) const KINDS: [(MediaKind, &str, &str); 4] = [
    (MediaKind::Image, "image", "images"),
    (MediaKind::Audio, "audio", "audios"),
    (MediaKind::Video, "video", "videos"),
    (MediaKind::File, "file", "files"),
];

/// Media that a Sample refers to. Each source is inspected once. A file has one spelling: that of its first
/// reference.
pub(super) struct ReferenceTable<'a> {
    store: &'a MediaStore,
    purpose: Purpose,
    entries: Vec<ReferenceEntry>,
    by_source: HashMap<(MediaKind, String), usize>,
}

/// One source and its medium.
pub(super) struct ReferenceEntry {
    pub(super) kind: MediaKind,
    /// Path or URL in the Sample before embedding.
    pub(super) shown: String,
    /// URL that the Sample's parts hold.
    pub(super) url: String,
    /// Local file, without symbolic links.
    path: Option<PathBuf>,
    facts: Option<Facts>,
    references: u64,
}

impl<'a> ReferenceTable<'a> {
    pub(super) fn new(store: &'a MediaStore, purpose: Purpose) -> ReferenceTable<'a> {
        ReferenceTable { store, purpose, entries: Vec::new(), by_source: HashMap::new() }
    }

    /// Inspects a source, and counts it as referred to if it is.
    pub(super) fn resolve(
        &mut self,
        kind: MediaKind,
        written: &str,
        is_reference: bool,
    ) -> Result<&ReferenceEntry, MediaError> {
        let source = (kind, written.to_owned());
        let index = match self.by_source.get(&source) {
            Some(index) => *index,
            None if Source::is_digest(written) => self.by_digest(kind, written)?,
            None => {
                let medium = self.store.inspect(kind, written, self.purpose)?;
                let is_same = |entry: &ReferenceEntry| {
                    entry.kind == kind && entry.path.is_some() && entry.path == medium.path
                };
                let index = self.entries.iter().position(is_same).unwrap_or(self.entries.len());
                self.by_source.insert(source, index);
                if index == self.entries.len() {
                    let url = medium.embedded.unwrap_or_else(|| medium.shown.clone());
                    let Medium { shown, path, facts, .. } = medium;
                    self.entries.push(ReferenceEntry { kind, shown, url, path, facts, references: 0 });
                }
                index
            }
        };
        let entry = &mut self.entries[index];
        entry.references += u64::from(is_reference);
        Ok(entry)
    }

    /// Returns the medium with a digest. This Sample must already refer to it, because a row must not learn the
    /// content or order of other rows.
    fn by_digest(&self, kind: MediaKind, written: &str) -> Result<usize, MediaError> {
        let is_meant = |entry: &ReferenceEntry| {
            let facts = entry.facts.as_ref().filter(|_| entry.kind == kind);
            facts.is_some_and(|facts| facts.digest.to_string() == written)
        };
        self.entries.iter().position(is_meant).ok_or_else(|| {
            let message = "a digest can only name media that the same Sample refers to by a path or a URL";
            MediaError::new(MediaErrorKind::Url, message).of(written)
        })
    }

    /// Returns whether a message refers to media of this kind.
    pub(super) fn has(&self, kind: MediaKind) -> bool {
        self.referenced(kind).next().is_some()
    }

    /// Returns whether a message refers to this path or URL.
    pub(super) fn refers_to(&self, kind: MediaKind, shown: &str) -> bool {
        self.referenced(kind).any(|entry| entry.shown == shown || entry.url == shown)
    }

    /// Returns whether a message refers to this file, given without symbolic links.
    pub(super) fn refers_to_file(&self, kind: MediaKind, path: &Path) -> bool {
        self.referenced(kind).any(|entry| entry.path.as_deref() == Some(path))
    }

    /// Returns the distinct URLs of a kind.
    pub(super) fn urls(&self, kind: MediaKind) -> Vec<Value> {
        let places = self.places(kind);
        let mut urls: Vec<(&str, usize)> = places.into_iter().collect();
        urls.sort_unstable_by_key(|(_, place)| *place);
        urls.into_iter().map(|(url, _)| url.into()).collect()
    }

    /// Returns the distinct URLs of a kind, each with its position.
    fn places(&self, kind: MediaKind) -> HashMap<&str, usize> {
        let mut places = HashMap::new();
        for entry in self.referenced(kind) {
            let next = places.len();
            places.entry(entry.url.as_str()).or_insert(next);
        }
        places
    }

    /// Returns a record of each medium of a kind, without duplicates. Local and `data:` media are identified by the
    /// digest of their content, remote ones by their URL. `index` is the position of its first URL among
    /// [`ReferenceTable::urls`].
    pub(super) fn records(&self, kind: MediaKind) -> Vec<Value> {
        let places = self.places(kind);
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut records: Vec<(u64, Object)> = Vec::new();
        for entry in self.referenced(kind) {
            let identity =
                entry.facts.as_ref().map_or_else(|| entry.url.clone(), |facts| facts.digest.to_string());
            let place = *known.entry(identity).or_insert(records.len());
            if place == records.len() {
                records.push((0, record(entry, places.get(entry.url.as_str()).copied())));
            }
            if let Some((references, _)) = records.get_mut(place) {
                *references += entry.references;
            }
        }
        let finish = |(references, mut record): (u64, Object)| {
            record.insert("references".to_owned(), references.into());
            Value::Object(record)
        };
        records.into_iter().map(finish).collect()
    }

    fn referenced(&self, kind: MediaKind) -> impl Iterator<Item = &ReferenceEntry> {
        self.entries.iter().filter(move |entry| entry.kind == kind && entry.references > 0)
    }
}

fn record(entry: &ReferenceEntry, index: Option<usize>) -> Object {
    let mut record = Object::new();
    let mut put = |key: &str, value: Value| record.insert(key.to_owned(), value);
    put("index", index.into());
    let Some(facts) = &entry.facts else {
        put("url", entry.url.as_str().into());
        return record;
    };
    let digest = facts.digest.to_string();
    let is_data = entry.shown.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    put("url", if is_data { digest.as_str().into() } else { entry.shown.as_str().into() });
    put("digest", digest.into());
    put("media_type", facts.media_type.as_str().into());
    put("bytes", facts.length.into());
    if let Some((width, height)) = facts.size {
        put("width", width.into());
        put("height", height.into());
    }
    if let Some((width, height)) = facts.target {
        put("resized", json!({"width": width, "height": height}));
    }
    record
}
