//! A page in the style of the report: its stylesheet, the scripts that every page needs, and a policy that limits
//! what it may do.

use super::error::HtmlError;
use super::template::render_template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::Digest;
use minijinja::context;

/// The page, with placeholders for each part.
const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");

/// Script at the start of every page.
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("assets/dom.js"),
    include_str!("assets/plots.js"),
    include_str!("assets/theme.js"),
);

/// Parts that are specific to one page.
#[derive(Clone, Copy, Debug)]
pub struct PageParts<'a> {
    /// The title, as plain text.
    pub title: &'a str,
    /// The elements, as markup without untrusted text.
    pub body: &'a str,
    /// Style that follows the shared style.
    pub style: &'a str,
    /// Script that follows the shared script. It may call functions such as `make`, `table` and `plot`, from
    /// `dom.js`, `plots.js` and `theme.js`.
    pub script: &'a str,
    /// True if it may send requests to its own server.
    pub may_ask: bool,
}

/// A rendered page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPage {
    /// The document.
    pub html: String,
    /// The Content-Security-Policy, which the document also contains.
    pub policy: String,
}

/// Renders a page. Its policy allows its own script, its own style and embedded media.
///
/// # Errors
/// Fails if the template cannot be rendered.
pub fn render(parts: &PageParts<'_>) -> Result<RenderedPage, HtmlError> {
    let style = format!("{STYLE}{}", parts.style);
    let script = format!("{SCRIPT}{}", parts.script);
    let connect = if parts.may_ask { " connect-src 'self';" } else { "" };
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; media-src data:;{connect} \
         base-uri 'none'; form-action 'none'",
        source_of(&script),
        source_of(&style)
    );
    let values =
        context! { title => parts.title, body => parts.body, policy => policy.as_str(), style, script };
    let html = render_template(PAGE, values)?;
    Ok(RenderedPage { html, policy })
}

/// Returns the source expression of a text for a policy.
fn source_of(text: &str) -> String {
    let digest = Digest::of_bytes(text.as_bytes());
    let hex = digest.hex();
    let pairs = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    let bytes: Vec<u8> = pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    format!("sha256-{}", STANDARD.encode(bytes))
}

/// Names that let a script turn text into markup. No page's script contains one.
pub const FORBIDDEN_IN_SCRIPTS: [&str; 9] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "setHTMLUnsafe",
    "document.write",
    "eval(",
    "Function(",
    "DOMParser",
    "</script",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_parts_and_may_do_what_it_says() {
        let parts =
            PageParts { title: "<t>", body: "<main></main>", style: "a{}", script: "b();", may_ask: true };
        let page = render(&parts).unwrap();
        assert!(page.html.contains("<title>&lt;t&gt; – gage-host"), "{}", page.html);
        assert!(page.html.contains("<main></main>") && page.html.contains("a{}</style>"));
        assert!(page.html.contains("b();</script>") && page.html.contains(&page.policy));
        assert!(page.policy.contains("connect-src 'self'"), "{}", page.policy);
        assert!(!render(&PageParts { may_ask: false, ..parts }).unwrap().policy.contains("connect-src"));
    }

    #[test]
    fn no_script_makes_markup_of_text() {
        for text in [SCRIPT, crate::assets::SCRIPT] {
            for name in FORBIDDEN_IN_SCRIPTS {
                assert!(!text.contains(name), "{name}");
            }
        }
        assert!(!STYLE.contains("</style") && !crate::assets::STYLE.contains("</style"));
    }

    #[test]
    fn a_policy_names_a_text_by_its_digest() {
        assert_eq!(source_of(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
