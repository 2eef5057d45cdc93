//! A Markdown page and its fenced blocks.

use crate::support::repository;
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) blocks: Vec<Block>,
    /// Whether the program's tests write the page.
    pub(super) is_generated: bool,
}

/// A fenced block.
pub(super) struct Block {
    /// The line of the fence.
    pub(super) line: usize,
    pub(super) language: String,
    /// The further words of the info string.
    attributes: Vec<String>,
    pub(super) text: String,
}

impl Page {
    pub(super) fn read(path: &Path) -> Page {
        let text = std::fs::read_to_string(path).expect("a page");
        let is_generated = text.starts_with("<!-- Generated");
        let mut blocks: Vec<Block> = Vec::new();
        let mut fence: Option<(usize, usize)> = None;
        for (number, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
            match (fence, blocks.last_mut()) {
                (Some((open, _)), _) if ticks >= open && trimmed.trim_matches('`').trim().is_empty() => {
                    fence = None
                }
                (Some((_, indent)), Some(block)) => {
                    block.text.push_str(line.get(indent.min(line.len())..).unwrap_or(line));
                    block.text.push('\n');
                }
                (None, _) if ticks >= 3 => {
                    let mut words = trimmed.trim_start_matches('`').split_whitespace().map(str::to_owned);
                    let language = words.next().unwrap_or_default();
                    let attributes = words.collect();
                    blocks.push(Block { line: number + 1, language, attributes, text: String::new() });
                    fence = Some((ticks, line.len() - trimmed.len()));
                }
                _ => {}
            }
        }
        Page { path: path.to_owned(), blocks, is_generated }
    }

    /// The path below the repository.
    pub(super) fn name(&self) -> String {
        self.path.strip_prefix(repository()).unwrap_or(&self.path).display().to_string()
    }
}

impl Block {
    pub(super) fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|word| word == attribute)
    }

    /// The value of an attribute such as `file=suite.yaml`.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns whether the block is not run.
    pub(super) fn is_skipped(&self) -> bool {
        self.has("skip")
    }
}
