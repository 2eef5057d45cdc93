//! A Markdown page and its fenced blocks.

use crate::support::repository;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub(super) struct Page {
    pub(super) path: PathBuf,
    pub(super) blocks: Vec<Block>,
    /// True if the program's tests write the page.
    pub(super) is_generated: bool,
}

/// A block of code.
pub(super) struct Block {
    /// The line of the fence.
    pub(super) line: usize,
    /// The first word of the info string; empty for an indented block.
    pub(super) language: String,
    /// The remaining words of the info string.
    attributes: Vec<String>,
    pub(super) text: String,
}

impl Page {
    pub(super) fn read(path: &Path) -> Page {
        let text = std::fs::read_to_string(path).expect("a page");
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (event, range) in Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter() {
            match (event, &mut open) {
                (Event::Start(Tag::CodeBlock(kind)), _) => {
                    let info = if let CodeBlockKind::Fenced(info) = &kind { info } else { "" };
                    let mut words = info.split_whitespace().map(str::to_owned);
                    open = Some(Block {
                        line: 1 + text[..range.start].matches('\n').count(),
                        language: words.next().unwrap_or_default(),
                        attributes: words.collect(),
                        text: String::new(),
                    });
                }
                (Event::Text(part), Some(block)) => block.text.push_str(&part),
                (Event::End(TagEnd::CodeBlock), _) => blocks.extend(open.take()),
                _ => {}
            }
        }
        Page { path: path.to_owned(), blocks, is_generated: text.starts_with("<!-- Generated") }
    }

    /// Returns the path below the repository.
    pub(super) fn name(&self) -> String {
        self.path.strip_prefix(repository()).unwrap_or(&self.path).display().to_string()
    }
}

impl Block {
    pub(super) fn has(&self, attribute: &str) -> bool {
        self.attributes.iter().any(|word| word == attribute)
    }

    /// Returns the value of an attribute such as `file=suite.yaml`.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns whether the block is not run.
    pub(super) fn is_skipped(&self) -> bool {
        self.has("skip")
    }
}
