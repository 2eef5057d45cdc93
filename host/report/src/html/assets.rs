//! The parts of the page that do not depend on a run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::{Digest, printable_html};

/// The page, with a place for each part.
const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");

/// One script: each file is a part of it, in the order in which they need each other.
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("assets/dom.js"),
    include_str!("assets/data.js"),
    include_str!("assets/plots.js"),
    include_str!("assets/figures.js"),
    include_str!("assets/comparison.js"),
    include_str!("assets/selection.js"),
    include_str!("assets/list.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/main.js"),
);

const DATA: &str = "<!--data-->";

/// The page before and behind its data.
pub(super) fn frame(title: &str) -> (String, String) {
    let (before, behind) = PAGE.split_once(DATA).unwrap_or((PAGE, ""));
    let before = before
        .replace("<!--policy-->", &policy())
        .replace("<!--title-->", &printable_html(title))
        .replace("/*style*/", STYLE);
    (before, behind.replace("/*script*/", SCRIPT))
}

/// What the page may do: run its own script, use its own style, show media that it holds.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; media-src data:; \
         base-uri 'none'; form-action 'none'",
        source_of(SCRIPT),
        source_of(STYLE)
    )
}

/// A text of the page as a policy names it.
fn source_of(text: &str) -> String {
    let digest = Digest::of_bytes(text.as_bytes());
    let hex = digest.hex();
    let pairs = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    let bytes: Vec<u8> = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    format!("sha256-{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place_and_nothing_is_fetched() {
        let (before, behind) = frame("a & <b>");
        assert!(before.contains("<title>a &amp; &lt;b&gt;"), "{before}");
        assert!(before.contains(STYLE) && behind.contains(SCRIPT));
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

    #[test]
    fn the_script_never_makes_markup_of_text() {
        for name in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "DOMParser",
        ] {
            assert!(!SCRIPT.contains(name), "{name}");
        }
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn a_policy_names_a_text_by_its_digest() {
        assert_eq!(source_of(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
