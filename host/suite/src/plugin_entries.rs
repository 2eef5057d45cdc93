//! The entries of `plugins` in the text of a suite. An edit keeps comments, indentation, line breaks and flow style. The
//! edited text is parsed again, and must differ only in the entry.

mod layout;
#[cfg(test)]
mod tests;
mod yaml_text;

use crate::document::exact_json;
use crate::{SuiteError, files};
use gage_config::{Entry, Node, NodeValue, Problems, Span, parse_document, shown_path};
use gage_core::Digest;
use layout::{edits_of_new_entry, edits_of_update, entry_lines};
use std::path::{Path, PathBuf};

/// Section of the plugins.
const PLUGINS: &str = "plugins";
const ID: &str = "id";
const SOURCE: &str = "source";
const SHA256: &str = "sha256";

/// An entry of `plugins`: what names and pins a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginPin {
    /// The name that other parts of the suite use.
    pub id: String,
    /// The source, as in the suite.
    pub source: String,
    /// The required digest of the component. `None` if the suite has none, or no valid one.
    pub sha256: Option<Digest>,
}

/// The text of a suite, whose `plugins` can be edited.
#[derive(Clone, Debug)]
pub struct SuitePlugins {
    path: PathBuf,
    text: String,
    root: Node,
}

impl SuitePlugins {
    /// Reads the suite in a file.
    ///
    /// # Errors
    /// If it cannot be read, is not YAML, or cannot have its own plugins.
    pub fn open(path: &Path) -> Result<SuitePlugins, SuiteError> {
        let text = files::read(path)?;
        SuitePlugins::of_text(path, text)
    }

    /// Parses the text of a suite. `path` is used in messages.
    fn of_text(path: &Path, text: String) -> Result<SuitePlugins, SuiteError> {
        let root = parsed(path, &text)?;
        let shown = shown_path(path);
        if root.text_of("kind") == Some("RunConfig") {
            return Err(SuiteError::refused(
                format!("{shown} is a RunConfig, and its plugins are those of its template"),
                "make a suite of the template with `gage-host init --mode pipeline-config`, and edit that",
            ));
        }
        if root.get("definition").is_some() {
            return Err(SuiteError::refused(
                format!("{shown} is a template, and its digest covers its plugins"),
                "edit the suite, and make the next version with `gage-host distill`",
            ));
        }
        Ok(SuitePlugins { path: path.to_owned(), text, root })
    }

    /// Returns the text, with all edits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the entries that have an id and a source.
    pub fn pins(&self) -> Vec<PluginPin> {
        let items = self.root.get(PLUGINS).and_then(Node::as_list).unwrap_or_default();
        let pin = |item: &Node| {
            Some(PluginPin {
                id: item.text_of(ID)?.to_owned(),
                source: item.text_of(SOURCE)?.to_owned(),
                sha256: item.text_of(SHA256).and_then(|text| text.parse().ok()),
            })
        };
        items.iter().filter_map(pin).collect()
    }

    /// Returns the line with the source of an entry, counted from 1. `None` if there is no such entry.
    pub fn source_line(&self, id: &str) -> Option<usize> {
        let items = self.root.get(PLUGINS).and_then(Node::as_list).unwrap_or_default();
        let item = items.iter().find(|item| item.text_of(ID) == Some(id))?;
        let before = self.text.get(..item.get(SOURCE)?.span.start)?;
        Some(before.matches('\n').count() + 1)
    }

    /// Checks that a new entry may have an id.
    ///
    /// # Errors
    /// If the id is invalid or taken.
    pub fn check_new_id(&self, id: &str) -> Result<(), SuiteError> {
        check_id(id)?;
        let items = self.root.get(PLUGINS).and_then(Node::as_list).unwrap_or_default();
        if items.iter().any(|item| item.text_of(ID) == Some(id)) {
            return Err(SuiteError::refused(
                format!("{} has a plugin `{id}` already", shown_path(&self.path)),
                "choose another id with --id, or change the version with `gage-host plugin update`",
            ));
        }
        Ok(())
    }

    /// Adds an entry at the end of `plugins`, and the section if it is missing.
    ///
    /// # Errors
    /// If the id is invalid or taken, or the place of the entry cannot be found. The hint has the entry to paste.
    pub fn add(&mut self, new: &PluginPin) -> Result<(), SuiteError> {
        self.check_new_id(&new.id)?;
        let expected = with_entry(&self.root, new);
        let edited = edits_of_new_entry(&self.text, &self.root, new)
            .and_then(|edits| self.checked(&yaml_text::apply(&self.text, edits), &expected?));
        self.replace_with(edited, || format!("add the entry yourself:\n{}", to_paste(new)))
    }

    /// Changes the source and the digest of an entry.
    ///
    /// # Errors
    /// If there is no such entry, or its values are not plain texts of this file. The hint has the lines to write.
    pub fn update(&mut self, pin: &PluginPin) -> Result<(), SuiteError> {
        let expected = with_update(&self.root, pin);
        let edited = edits_of_update(&self.text, &self.root, pin)
            .and_then(|edits| self.checked(&yaml_text::apply(&self.text, edits), &expected?));
        self.replace_with(edited, || format!("change the entry yourself:\n{}", to_paste(pin)))
    }

    /// Writes the text to the file. A link stays one, and the file keeps its permissions.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<(), SuiteError> {
        let fail = |source| SuiteError::io("write", &self.path, source);
        let target = self.path.canonicalize().map_err(fail)?;
        let permissions = std::fs::metadata(&target).map_err(fail)?.permissions();
        files::replace(&target, &self.text)?;
        std::fs::set_permissions(&target, permissions).map_err(fail)
    }

    /// Parses an edited text, and checks that it has the expected values.
    fn checked(&self, text: &str, expected: &Node) -> Result<(String, Node), String> {
        const REASON: &str = "an edit would change more than this entry";
        let root = parsed(&self.path, text).map_err(|_| REASON.to_owned())?;
        match exact_json(&root) == exact_json(expected) {
            true => Ok((text.to_owned(), root)),
            false => Err(REASON.to_owned()),
        }
    }

    fn replace_with(
        &mut self,
        edited: Result<(String, Node), String>,
        help: impl FnOnce() -> String,
    ) -> Result<(), SuiteError> {
        match edited {
            Ok((text, root)) => {
                (self.text, self.root) = (text, root);
                Ok(())
            }
            Err(reason) => {
                let message = format!("{} was not changed: {reason}", shown_path(&self.path));
                Err(SuiteError::refused(message, help()))
            }
        }
    }
}

/// Checks that an id can name a plugin.
fn check_id(id: &str) -> Result<(), SuiteError> {
    const HELP: &str = "choose one with --id: letters, digits, `-` and `_`";
    gage_core::check_name(id).map_err(|message| SuiteError::refused(message, HELP))?;
    match id.contains('.') {
        true => Err(SuiteError::refused(format!("the id `{id}` of a plugin has a dot"), HELP)),
        false => Ok(()),
    }
}

/// Formats an entry for a person to paste.
fn to_paste(pin: &PluginPin) -> String {
    format!("plugins:\n{}", entry_lines(pin, 2, 2, false, "\n"))
}

fn parsed(path: &Path, text: &str) -> Result<Node, SuiteError> {
    let mut problems = Problems::default();
    let root = parse_document(&path.display().to_string(), text, None, &mut problems);
    match root.filter(|_| !problems.has_errors()) {
        Some(root) => Ok(root),
        None => Err(SuiteError::document(path, problems)),
    }
}

/// Returns the keys of an entry with their values.
fn values_of(pin: &PluginPin) -> Vec<(&'static str, String)> {
    let digest = pin.sha256.map(|digest| (SHA256, digest.hex()));
    [(ID, pin.id.clone()), (SOURCE, pin.source.clone())].into_iter().chain(digest).collect()
}

/// Returns the document with a new entry.
fn with_entry(root: &Node, new: &PluginPin) -> Result<Node, String> {
    let mut root = root.clone();
    let span = root.span;
    let entry = |(key, value): (&'static str, String)| Entry::new(key, Node::text(value, span));
    let item = Node::map(values_of(new).into_iter().map(entry).collect(), span);
    let entries = root.entries_mut().ok_or("the document is not a mapping")?;
    match entries.iter_mut().find(|entry| entry.key == PLUGINS) {
        None => entries.push(Entry::new(PLUGINS, Node::new(NodeValue::List(vec![item]), span))),
        Some(section) => match &mut section.node.value {
            NodeValue::List(items) => items.push(item),
            NodeValue::Null => section.node = Node::new(NodeValue::List(vec![item]), span),
            _ => return Err("`plugins` is not a list".to_owned()),
        },
    }
    Ok(root)
}

/// Returns the document with the source and the digest of an entry changed.
fn with_update(root: &Node, pin: &PluginPin) -> Result<Node, String> {
    let mut root = root.clone();
    let items = root.get_mut(PLUGINS).and_then(Node::items_mut);
    let mut items = items.into_iter().flatten();
    let item = items.find(|item| item.text_of(ID) == Some(pin.id.as_str()));
    let entries = item.and_then(Node::entries_mut).ok_or_else(|| no_entry(&pin.id))?;
    let place = entries.iter().position(|entry| entry.key == SOURCE).ok_or_else(|| no_entry(&pin.id))?;
    let span = entries[place].node.span;
    entries[place].node = Node::text(pin.source.clone(), span);
    let Some(digest) = pin.sha256 else { return Ok(root) };
    match entries.iter_mut().find(|entry| entry.key == SHA256) {
        Some(entry) => entry.node = Node::text(spelled_digest(entry.node.as_text(), digest), span),
        None => entries.insert(place + 1, Entry::new(SHA256, Node::text(digest.hex(), span))),
    }
    Ok(root)
}

/// Formats a digest as the one that it replaces: with the name of the function, or only its digits.
fn spelled_digest(before: Option<&str>, digest: Digest) -> String {
    match before {
        Some(before) if before.starts_with("sha256:") => digest.to_string(),
        _ => digest.hex(),
    }
}

fn no_entry(id: &str) -> String {
    format!("`plugins` has no entry `{id}` with a source")
}

/// Returns whether a value is written at its own place: behind its key, and not through an alias.
fn is_at(span: Span, position: usize) -> bool {
    span.start >= position
}
