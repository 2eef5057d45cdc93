//! The pages of the documentation do what they show: every command runs, every suite and fragment is valid.
//!
//! A page is one session in one folder. The info string of a fenced block says how it is tested: CONTRIBUTING.md lists the rules.

mod fragment;
mod page;
mod session;

use crate::support::repository;
use page::{Block, Page};
use session::Session;
use std::path::Path;

/// Commands that may be left out in all pages together.
const MAX_SKIPPED: usize = 15;

/// Returns the handwritten pages, including the README.
fn pages() -> Vec<Page> {
    let docs = repository().join("docs");
    let mut files = vec![repository().join("README.md")];
    let mut folders = vec![docs];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            match entry.is_dir() {
                true => folders.push(entry),
                false if entry.extension().is_some_and(|extension| extension == "md") => files.push(entry),
                false => {}
            }
        }
    }
    files.sort();
    let pages: Vec<Page> =
        files.iter().map(|file| Page::read(file)).filter(|page| !page.is_generated).collect();
    assert!(pages.len() > 20, "{} pages", pages.len());
    pages
}

/// Runs the pages of a part of the documentation; several at a time would disturb one another's timing.
#[track_caller]
fn run_part(is_in_part: fn(&Path) -> bool) {
    let mut failures = String::new();
    let mut count = 0;
    for page in pages().iter().filter(|page| is_in_part(&page.path)) {
        count += 1;
        let mut session = Session::start();
        for block in &page.blocks {
            if let Err(failure) = session.run(block) {
                failures.push_str(&format!("\n{}:{}: {failure}\n", page.name(), block.line));
                break;
            }
        }
    }
    assert!(count > 0, "no pages");
    assert!(failures.is_empty(), "{failures}");
}

fn top_folder(path: &Path) -> String {
    let below = path.strip_prefix(repository().join("docs")).unwrap_or(Path::new(""));
    let folder = below.parent().and_then(|folder| folder.iter().next());
    folder.map_or_else(String::new, |folder| folder.to_string_lossy().into_owned())
}

#[test]
fn readme_and_first_pages_work() {
    run_part(|path| matches!(top_folder(path).as_str(), "" | "start"));
}

#[test]
fn guides_work() {
    run_part(|path| top_folder(path) == "guides");
}

#[test]
fn concepts_reference_and_contributing_work() {
    run_part(|path| matches!(top_folder(path).as_str(), "concepts" | "reference" | "contributing"));
}

/// `docs/contributing/skipped-commands.md` lists every block that is not run, with the reason.
#[test]
fn skipped_commands_are_listed_with_reasons() {
    let list =
        std::fs::read_to_string(repository().join("docs/contributing/skipped-commands.md")).expect("a list");
    let mut listed: Vec<(String, String)> = Vec::new();
    for line in list.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [page, command, reason] = cells.as_slice() else { panic!("three cells: {line}") };
        assert!(reason.split_whitespace().count() > 3, "a reason: {line}");
        listed.push((page.trim_matches('`').to_owned(), command.trim_matches('`').to_owned()));
    }
    let mut skipped = Vec::new();
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.is_skipped()) {
            let first = block.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
            skipped.push((
                page.name().trim_start_matches("docs/").to_owned(),
                first.unwrap_or_default().to_owned(),
            ));
        }
    }
    listed.sort();
    skipped.sort();
    assert_eq!(listed, skipped);
    assert!(skipped.len() <= MAX_SKIPPED, "{} commands are skipped", skipped.len());
}

/// Every fenced block has a language, so that none escapes these tests by accident.
#[test]
fn every_block_has_a_language() {
    let without: Vec<String> = pages()
        .iter()
        .flat_map(|page| {
            let blocks = page.blocks.iter().filter(|block| block.language.is_empty());
            blocks.map(|block: &Block| format!("{}:{}", page.name(), block.line)).collect::<Vec<_>>()
        })
        .collect();
    assert!(without.is_empty(), "{without:?}");
}
