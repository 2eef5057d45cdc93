//! Pages that load their data from this server. They contain no data of a run.

use gage_core::printable_line;
use gage_html::{HtmlError, PageParts, RenderedPage, render, render_template};
use minijinja::context;

const STYLE: &str = include_str!("../assets/view.css");

/// Pages that are the same for every folder.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) runs: RenderedPage,
    pub(crate) live: RenderedPage,
    pub(crate) history: RenderedPage,
    pub(crate) shards: RenderedPage,
}

/// Common beginning of all scripts.
const COMMON: &str = include_str!("../assets/common.js");

impl Pages {
    pub(crate) fn new() -> Result<Pages, HtmlError> {
        Ok(Pages {
            runs: page("Runs", include_str!("../assets/runs.html"), include_str!("../assets/runs.js"))?,
            live: page("Run", include_str!("../assets/live.html"), include_str!("../assets/live.js"))?,
            history: page(
                "History",
                include_str!("../assets/history.html"),
                include_str!("../assets/history.js"),
            )?,
            shards: page(
                "Shards",
                include_str!("../assets/shards.html"),
                include_str!("../assets/shards.js"),
            )?,
        })
    }

    /// Returns a page that explains a refusal. The message may contain anything: it is escaped.
    pub(crate) fn refusal(title: &str, message: &str) -> Result<RenderedPage, HtmlError> {
        let message = printable_line(message);
        let body = render_template(include_str!("../assets/refusal.html"), context! { title, message })?;
        page("gage-host", &body, include_str!("../assets/refusal.js"))
    }
}

fn page(title: &str, body: &str, script: &str) -> Result<RenderedPage, HtmlError> {
    let script = format!("{COMMON}{script}");
    render(&PageParts { title, body, style: STYLE, script: &script, may_ask: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_html::FORBIDDEN_IN_SCRIPTS;

    #[test]
    fn no_page_makes_markup_of_text_or_asks_elsewhere() {
        let pages = Pages::new().unwrap();
        let refusal = Pages::refusal("No", "run").unwrap();
        for page in [&pages.runs, &pages.live, &pages.history, &pages.shards, &refusal] {
            let (_, script) = page.html.rsplit_once("<script>").unwrap();
            let script = script.split_once("</script>").unwrap().0;
            for name in FORBIDDEN_IN_SCRIPTS {
                assert!(!script.contains(name), "{name}");
            }
            let without_drawings = page.html.replace("http://www.w3.org/2000/svg", "");
            for address in ["http:", "https:", "//cdn", "@import", "url("] {
                assert!(!without_drawings.contains(address), "{address}");
            }
            assert!(page.policy.contains("connect-src 'self'") && !page.html.contains("{{"));
        }
    }

    #[test]
    fn what_is_refused_is_only_text() {
        let page = Pages::refusal("No <b>", "run '{{ title }}<script>x</script>\u{202e}'\n").unwrap();
        assert!(page.html.contains("No &lt;b&gt;") && page.html.contains("&lt;script&gt;x&lt;/script&gt;"));
        assert!(!page.html.contains("<script>x") && !page.html.contains('\u{202e}'), "{}", page.html);
        assert_eq!(page.policy, Pages::refusal("", "").unwrap().policy);
    }
}
