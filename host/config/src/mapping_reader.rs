//! Reads a mapping key by key; missing, mistyped and unknown keys become problems.

use crate::document_limits::MAX_LIST_ENTRIES;
use crate::node::{Entry, Node, NodeValue};
use crate::old_names::old_key;
use crate::problems::{Problem, Problems};
use crate::resources::ResourceKind;
use crate::source::Span;
use std::path::Path;
use strum::VariantArray;

#[cfg(test)]
pub(crate) mod asked_keys;

/// The entries of a mapping that were not read yet.
pub(crate) struct MappingReader<'n> {
    entries: &'n [Entry],
    asked: Vec<&'static str>,
    /// Keys that are rejected with their own message, and not suggested.
    refused: Vec<&'static str>,
    /// The path of the mapping, for messages.
    pub(crate) path: String,
    /// Span of the mapping.
    pub(crate) span: Span,
}

impl<'n> MappingReader<'n> {
    /// Starts reading a mapping; anything else is a problem.
    pub(crate) fn open(
        node: &'n Node,
        path: impl Into<String>,
        problems: &mut Problems,
    ) -> Option<MappingReader<'n>> {
        let path = path.into();
        match node.as_map() {
            Some(entries) => {
                Some(MappingReader { entries, asked: Vec::new(), refused: Vec::new(), path, span: node.span })
            }
            None => {
                problems.error(node.span, &path, format!("expected a mapping, found {}", node.kind()));
                None
            }
        }
    }

    /// Starts reading the mapping under a key; it has no entries if the key is missing.
    pub(crate) fn section(
        &self,
        node: Option<&'n Node>,
        key: &str,
        problems: &mut Problems,
    ) -> MappingReader<'n> {
        let (path, span) = (self.path_of(key), self.span);
        let read = node.and_then(|node| MappingReader::open(node, path.clone(), problems));
        read.unwrap_or(MappingReader { entries: &[], asked: Vec::new(), refused: Vec::new(), path, span })
    }

    /// Returns the whole mapping as JSON that may be recorded.
    pub(crate) fn to_public_json(&self) -> serde_json::Value {
        Node::new(NodeValue::Map(self.entries.to_vec()), self.span).backend_to_public_json()
    }

    /// Returns the path of a key of this mapping.
    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Returns the span of a key's value, or that of the mapping if the key is missing.
    pub(crate) fn span_of(&self, key: &str) -> Span {
        let written = self.entries.iter().find(|entry| entry.key == key && !entry.node.is_null());
        written.map_or(self.span, |entry| entry.node.span)
    }

    /// Records that the value of a key names something outside the suite's text.
    pub(crate) fn uses(&self, key: &str, kind: ResourceKind, problems: &mut Problems) {
        problems.add_resource(self.span_of(key), &self.path_of(key), kind);
    }

    /// Records that the value of a key names a file or a folder.
    pub(crate) fn uses_file(&self, key: &str, path: &Path, problems: &mut Problems) {
        self.uses(key, ResourceKind::File(path.to_owned()), problems);
    }

    /// Reports an error in the value of a key.
    pub(crate) fn error<'p>(
        &self,
        key: &str,
        message: impl Into<String>,
        problems: &'p mut Problems,
    ) -> &'p mut Problem {
        problems.error(self.span_of(key), &self.path_of(key), message)
    }

    /// Returns the entry of a key; null counts as missing.
    pub(crate) fn entry(&mut self, key: &'static str) -> Option<&'n Entry> {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        #[cfg(test)]
        asked_keys::record(&self.path, key);
        self.entries.iter().find(|entry| entry.key == key && !entry.node.is_null())
    }

    /// Returns true if a key is missing, and another one is probably meant to be it.
    pub(crate) fn is_misspelt(&self, key: &str) -> bool {
        let is_similar = |entry: &Entry| gage_core::nearest(&entry.key, [key]).is_some();
        !self.entries.iter().any(|entry| entry.key == key) && self.entries.iter().any(is_similar)
    }

    /// Returns the value of a key that is no longer supported, so that its reader can name the replacement.
    pub(crate) fn refused(&mut self, key: &'static str) -> Option<&'n Node> {
        self.refused.push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// Returns the span of a key that is written without a value.
    pub(crate) fn key_without_value(&self, key: &str) -> Option<Span> {
        let written = self.entries.iter().find(|entry| entry.key == key && entry.node.is_null());
        written.map(|entry| entry.key_span)
    }

    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn required(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'n Node> {
        let node = self.get(key);
        if node.is_none() {
            let path = if self.path.is_empty() { "the document" } else { &self.path };
            problems.error(self.span, &self.path, format!("{path} needs the key `{key}`"));
        }
        node
    }

    pub(crate) fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<String> {
        let node = self.get(key)?;
        self.text_of(node, key, problems)
    }

    pub(crate) fn required_text(&mut self, key: &'static str, problems: &mut Problems) -> Option<String> {
        let node = self.required(key, problems)?;
        self.text_of(node, key, problems)
    }

    fn text_of(&self, node: &Node, key: &str, problems: &mut Problems) -> Option<String> {
        match (&node.value, &node.plain) {
            (NodeValue::Text(text), _) => Some(text.clone()),
            (_, Some(text)) => Some(text.clone()),
            _ => self.mistyped(node, key, "a string", problems),
        }
    }

    /// Reads a non-empty text that is used as a name.
    pub(crate) fn required_id(&mut self, key: &'static str, problems: &mut Problems) -> Option<String> {
        let id = self.required_text(key, problems)?;
        if let Err(message) = gage_core::check_name(&id) {
            self.error(key, message, problems);
        }
        Some(id)
    }

    pub(crate) fn boolean(&mut self, key: &'static str, problems: &mut Problems) -> Option<bool> {
        let node = self.get(key)?;
        match node.value {
            NodeValue::Bool(value) => Some(value),
            _ => self.mistyped(node, key, "true or false", problems),
        }
    }

    /// Reads a whole number within bounds.
    pub(crate) fn integer(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<u64> {
        let node = self.get(key)?;
        let number = match node.value {
            NodeValue::Int(number) => u64::try_from(number).ok().filter(|number| allowed.contains(number)),
            _ => None,
        };
        if number.is_none() {
            let (least, most) = (allowed.start(), allowed.end());
            let wanted = if *most == u64::MAX {
                format!("a whole number of at least {least}")
            } else {
                format!("a whole number from {least} to {most}")
            };
            return self.mistyped(node, key, &wanted, problems);
        }
        number
    }

    /// Reads a whole number within bounds that fits a smaller type.
    pub(crate) fn number<T: TryFrom<u64>>(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<T> {
        self.integer(key, allowed, problems).and_then(|number| T::try_from(number).ok())
    }

    /// Reads a number within bounds.
    pub(crate) fn float(
        &mut self,
        key: &'static str,
        allowed: std::ops::RangeInclusive<f64>,
        problems: &mut Problems,
    ) -> Option<f64> {
        let node = self.get(key)?;
        let number = match node.value {
            // Whole numbers in a configuration stay far below 2^53.
            NodeValue::Int(number) => Some(number as f64),
            NodeValue::Float(number) => Some(number),
            _ => None,
        };
        let number = number.filter(|number| allowed.contains(number));
        if number.is_none() {
            let wanted = format!("a number from {} to {}", allowed.start(), allowed.end());
            return self.mistyped(node, key, &wanted, problems);
        }
        number
    }

    /// Reads one of several names.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let node = self.get(key)?;
        let text = self.text_of(node, key, problems)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            problems
                .error(node.span, &self.path_of(key), format!("`{text}` is not a known value of `{key}`"))
                .known(&text, choices.iter().map(|(name, _)| *name));
        }
        found
    }

    /// Reads one of the names of an enum's variants.
    pub(crate) fn variant<T: VariantArray + Copy + Into<&'static str>>(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
    ) -> Option<T> {
        let choices: Vec<_> = T::VARIANTS.iter().map(|value| ((*value).into(), *value)).collect();
        self.choice(key, &choices, problems)
    }

    /// Returns the items of a list, each with its path.
    pub(crate) fn list(&mut self, key: &'static str, problems: &mut Problems) -> Vec<(&'n Node, String)> {
        let Some(node) = self.get(key) else { return Vec::new() };
        let path = self.path_of(key);
        match node.as_list() {
            Some(items) if items.len() > MAX_LIST_ENTRIES => {
                self.report_long_list(node, key, items.len(), problems);
                Vec::new()
            }
            Some(items) => {
                items.iter().enumerate().map(|(index, item)| (item, format!("{path}[{index}]"))).collect()
            }
            None => self.mistyped(node, key, "a list", problems).unwrap_or_default(),
        }
    }

    /// Reads the items of a list, each as an element of a suite.
    pub(crate) fn read_all<T>(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
        read: fn(&Node, String, &mut Problems) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(key, problems);
        items.into_iter().filter_map(|(node, path)| read(node, path, problems)).collect()
    }

    /// Reads a list of strings; a single string is a list of one.
    pub(crate) fn texts(&mut self, key: &'static str, problems: &mut Problems) -> Option<Vec<String>> {
        let node = self.get(key)?;
        if let Some(text) = node.as_text() {
            return Some(vec![text.to_owned()]);
        }
        let Some(items) = node.as_list() else {
            return self.mistyped(node, key, "a string or a list of strings", problems);
        };
        if items.len() > MAX_LIST_ENTRIES {
            self.report_long_list(node, key, items.len(), problems);
            return None;
        }
        items.iter().map(|item| self.text_of(item, key, problems)).collect()
    }

    fn report_long_list(&self, node: &Node, key: &str, entries: usize, problems: &mut Problems) {
        let message = format!("`{key}` has {entries} entries; at most {MAX_LIST_ENTRIES} are allowed");
        problems.error(node.span, &self.path_of(key), message);
    }

    /// Returns a mapping that is passed on unchanged.
    pub(crate) fn free_map(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'n Node> {
        let node = self.get(key)?;
        if node.as_map().is_none() {
            return self.mistyped(node, key, "a mapping", problems);
        }
        Some(node)
    }

    /// Returns the unknown entries, and the names of the known ones.
    pub(crate) fn further(self) -> (Vec<&'n Entry>, Vec<&'static str>) {
        let is_further = |entry: &&Entry| {
            let key = entry.key.as_str();
            !self.asked.contains(&key) && !self.refused.contains(&key)
        };
        (self.entries.iter().filter(is_further).collect(), self.asked)
    }

    /// Reports the unknown keys. One of the older program has its own help, and is a warning if it had no effect.
    pub(crate) fn finish(self, problems: &mut Problems) {
        for entry in self.entries {
            let key = entry.key.as_str();
            if self.asked.contains(&key) || self.refused.contains(&key) {
                continue;
            }
            let place =
                if self.path.is_empty() { "the document".to_owned() } else { format!("`{}`", self.path) };
            let path = self.path_of(key);
            let message = format!("unknown key `{key}` in {place}");
            match old_key(&self.path, key) {
                Some(old) if old.is_inert(&entry.node) => {
                    problems.warning(entry.key_span, &path, message).help(old.help);
                }
                Some(old) => {
                    problems.error(entry.key_span, &path, message).help(old.help);
                }
                None if problems.is_full() => {
                    problems.error(entry.key_span, &path, message);
                }
                None => {
                    problems.error(entry.key_span, &path, message).known(key, self.asked.iter().copied());
                }
            }
        }
    }

    pub(crate) fn mistyped<T>(
        &self,
        node: &Node,
        key: &str,
        wanted: &str,
        problems: &mut Problems,
    ) -> Option<T> {
        let found = match &node.value {
            NodeValue::List(_) | NodeValue::Map(_) | NodeValue::Null => node.kind().to_owned(),
            _ => format!("{} ({})", node.to_json(), node.kind()),
        };
        problems.error(node.span, &self.path_of(key), format!("`{key}` must be {wanted}, found {found}"));
        None
    }
}
