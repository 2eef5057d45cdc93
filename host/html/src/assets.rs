//! Assets of the report: the parts of the page that do not depend on a run.

use super::error::HtmlError;
use super::page::{PageParts, RenderedPage, render};
use super::template::render_template;
use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

const BODY: &str = include_str!("assets/report.html");

/// One script, concatenated from files in order of dependency.
pub(super) const SCRIPT: &str = concat!(
    include_str!("assets/data.js"),
    include_str!("assets/paged.js"),
    include_str!("assets/figures.js"),
    include_str!("assets/errors.js"),
    include_str!("assets/comparison.js"),
    include_str!("assets/conditions.js"),
    include_str!("assets/selection.js"),
    include_str!("assets/columns.js"),
    include_str!("assets/cells.js"),
    include_str!("assets/list.js"),
    include_str!("assets/tex.js"),
    include_str!("assets/markdown.js"),
    include_str!("assets/transcript.js"),
    include_str!("assets/waterfall.js"),
    include_str!("assets/diff.js"),
    include_str!("assets/export.js"),
    include_str!("assets/notes.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/address.js"),
    include_str!("assets/main.js"),
);

pub(super) const STYLE: &str = include_str!("assets/report.css");

const DATA: &str = "<!--data-->";

/// A link above the report, for example if it is one of a server's pages.
#[derive(Clone, Debug, Serialize)]
pub struct Link {
    /// Address of its target.
    pub address: String,
    /// Text of the link.
    pub text: String,
}

/// The server that sends a report. Its page may send requests to it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageServer<'a> {
    /// Links above the report.
    #[serde(skip)]
    pub links: &'a [Link],
    /// What the page has to send with a note, which proves that this server sent the page.
    pub token: &'a str,
}

/// The page without its data.
pub(super) struct PageFrame {
    pub(super) before_data: String,
    pub(super) after_data: String,
    /// The Content-Security-Policy.
    pub(super) policy: String,
}

impl PageFrame {
    pub(super) fn new(title: &str, server: Option<&PageServer<'_>>) -> Result<PageFrame, HtmlError> {
        let links = server.map(|server| server.links).unwrap_or_default();
        let body = render_template(BODY, context! { links => Serde(links) })?;
        let may_ask = server.is_some();
        let parts = PageParts { title, body: &body, style: STYLE, script: SCRIPT, may_ask };
        let RenderedPage { html, policy } = render(&parts)?;
        let (before, after) = html.split_once(DATA).unwrap_or((&html, ""));
        Ok(PageFrame { before_data: before.to_owned(), after_data: after.to_owned(), policy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place_and_nothing_is_fetched() {
        let links = [Link { address: "/".to_owned(), text: "All <runs>".to_owned() }];
        let frame = PageFrame::new("a & <b>", Some(&PageServer { links: &links, token: "" })).unwrap();
        let PageFrame { before_data: before, after_data: behind, policy } = frame;
        assert!(before.contains("<a class=\"back\" href=\"/\">All &lt;runs&gt;</a>"), "{before}");
        assert!(before.contains("<title>a &amp; &lt;b&gt;"), "{before}");
        assert!(policy.contains("connect-src 'self'"), "{policy}");
        assert!(!PageFrame::new("", None).unwrap().policy.contains("connect-src"));
        // The script shows what has arrived, so it precedes the data.
        assert!(before.contains(STYLE) && before.contains(SCRIPT) && before.contains(&policy));
        for part in ["<!--", "{{", "{%"] {
            assert!(!before.contains(part) && !behind.contains(part), "{part}");
        }
        for address in ["http:", "https:", "//cdn", "@import", "url("] {
            let without_names = |part: &str| {
                ["http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"]
                    .iter()
                    .fold(part.to_owned(), |part, name| part.replace(name, ""))
            };
            let (before, behind) = (without_names(&before), without_names(&behind));
            assert!(!before.contains(address) && !behind.contains(address), "{address}");
        }
    }
}
