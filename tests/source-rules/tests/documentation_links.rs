//! Checks that every link of a Markdown page leads to an existing file and heading. Also checks that the table of
//! contents lists every page of the site.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The links and the anchors of a page.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn find_pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        let is_skipped =
            ["target", ".git", ".ci", "node_modules", "templates"].iter().any(|skipped| name == *skipped);
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_skipped {
            find_pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Returns the id that mdBook and GitHub give to a heading.
fn anchor(title: &str) -> String {
    let title = title.trim().to_lowercase();
    title
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

fn read(path: &Path) -> Page {
    let text = fs::read_to_string(path).expect("a page");
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.to_string())
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let base = anchor(&heading.take().unwrap_or_default());
                let mut name = base.clone();
                let mut number = 0;
                while !page.anchors.insert(name.clone()) {
                    number += 1;
                    name = format!("{base}-{number}");
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    page
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[test]
fn links_lead_somewhere() {
    let repository = repository();
    let mut files = Vec::new();
    find_pages(&repository, &mut files);
    let pages: BTreeMap<PathBuf, Page> = files.into_iter().map(|path| (path.clone(), read(&path))).collect();
    let mut broken = String::new();
    let mut count = 0;
    for (path, page) in &pages {
        for link in page
            .links
            .iter()
            .filter(|link| !link.contains("://") && !link.starts_with("mailto:") && !link.is_empty())
        {
            count += 1;
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let folder = path.parent().expect("a folder");
            let target = if file.is_empty() { path.clone() } else { normal(&folder.join(file)) };
            let is_found = match pages.get(&target) {
                Some(page) => fragment.is_empty() || page.anchors.contains(fragment),
                None => target.exists() && fragment.is_empty(),
            };
            // The site only contains files below `docs`.
            let docs = repository.join("docs");
            if !is_found || path.starts_with(&docs) && !target.starts_with(&docs) {
                broken.push_str(&format!(
                    "{}: {link}\n",
                    path.strip_prefix(&repository).unwrap_or(path).display()
                ));
            }
        }
    }
    assert!(count > 100, "{count} links were found");
    assert!(broken.is_empty(), "links that lead nowhere:\n{broken}");
}

#[test]
fn table_of_contents_has_every_page() {
    let docs = repository().join("docs");
    let mut files = Vec::new();
    find_pages(&docs, &mut files);
    let listed: BTreeSet<PathBuf> =
        read(&docs.join("SUMMARY.md")).links.iter().map(|link| normal(&docs.join(link))).collect();
    let missing: Vec<_> =
        files.iter().filter(|path| !path.ends_with("SUMMARY.md") && !listed.contains(*path)).collect();
    assert!(missing.is_empty(), "pages that SUMMARY.md does not list: {missing:?}");
}
