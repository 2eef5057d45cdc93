//! The parts of the page that do not depend on a run.

use super::page::{Parts, RenderedPage, render};

const BODY: &str = include_str!("assets/report.html");

/// One script: each file is a part of it, in the order in which they need each other.
pub(super) const SCRIPT: &str = concat!(
    include_str!("assets/data.js"),
    include_str!("assets/figures.js"),
    include_str!("assets/comparison.js"),
    include_str!("assets/selection.js"),
    include_str!("assets/list.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/main.js"),
);

pub(super) const STYLE: &str = include_str!("assets/report.css");

const DATA: &str = "<!--data-->";

/// The page before and behind its data, and what it may do.
pub(super) fn frame(title: &str, links: &str) -> (String, String, String) {
    let body = BODY.replace("<!--links-->", links);
    let parts = Parts { title, body: &body, style: STYLE, script: SCRIPT, may_ask: false };
    let RenderedPage { html, policy } = render(&parts);
    let (before, behind) = html.split_once(DATA).unwrap_or((&html, ""));
    (before.to_owned(), behind.to_owned(), policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place_and_nothing_is_fetched() {
        let (before, behind, policy) = frame("a & <b>", "");
        assert!(before.contains("<title>a &amp; &lt;b&gt;"), "{before}");
        assert!(before.contains(STYLE) && behind.contains(SCRIPT) && before.contains(&policy));
        for part in ["<!--", "/*style*/", "/*script*/"] {
            assert!(!before.contains(part) && !behind.contains(part), "{part}");
        }
        for address in ["http:", "https:", "//cdn", "@import", "url("] {
            let (before, behind) = (
                before.replace("http://www.w3.org/2000/svg", ""),
                behind.replace("http://www.w3.org/2000/svg", ""),
            );
            assert!(!before.contains(address) && !behind.contains(address), "{address}");
        }
    }
}
