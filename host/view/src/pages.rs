//! The pages that ask this server for what they show. They hold nothing of a run.

use gage_core::{printable_html, printable_line};
use gage_html::{Parts, RenderedPage, render};

const STYLE: &str = include_str!("../assets/view.css");

/// Pages that are the same for every folder.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) runs: RenderedPage,
    pub(crate) live: RenderedPage,
    pub(crate) history: RenderedPage,
    refusal: RenderedPage,
}

/// Where the words of a refusal go.
const TITLE: &str = "<!--refused-->";
const MESSAGE: &str = "<!--message-->";

/// What each script begins with.
const COMMON: &str = include_str!("../assets/common.js");

impl Pages {
    pub(crate) fn new() -> Pages {
        Pages {
            runs: page("Runs", include_str!("../assets/runs.html"), include_str!("../assets/runs.js")),
            live: page("Run", include_str!("../assets/live.html"), include_str!("../assets/live.js")),
            history: page(
                "History",
                include_str!("../assets/history.html"),
                include_str!("../assets/history.js"),
            ),
            refusal: page(
                "gage-host",
                include_str!("../assets/refusal.html"),
                include_str!("../assets/refusal.js"),
            ),
        }
    }

    /// The page that says why there is nothing else. The message may hold anything: none of it is markup.
    pub(crate) fn refusal(&self, title: &str, message: &str) -> RenderedPage {
        let RenderedPage { html, policy } = self.refusal.clone();
        let html = html.replacen(TITLE, &printable_html(title), 1).replacen(
            MESSAGE,
            &printable_html(&printable_line(message)),
            1,
        );
        RenderedPage { html, policy }
    }
}

fn page(title: &str, body: &str, script: &str) -> RenderedPage {
    let script = format!("{COMMON}{script}");
    render(&Parts { title, body, style: STYLE, script: &script, may_ask: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_html::FORBIDDEN_IN_SCRIPTS;

    #[test]
    fn no_page_makes_markup_of_text_or_asks_elsewhere() {
        let pages = Pages::new();
        for page in [&pages.runs, &pages.live, &pages.history, &pages.refusal] {
            let (_, script) = page.html.rsplit_once("<script>").unwrap();
            let script = script.split_once("</script>").unwrap().0;
            for name in FORBIDDEN_IN_SCRIPTS {
                assert!(!script.contains(name), "{name}");
            }
            let without_drawings = page.html.replace("http://www.w3.org/2000/svg", "");
            for address in ["http:", "https:", "//cdn", "@import", "url("] {
                assert!(!without_drawings.contains(address), "{address}");
            }
            assert!(page.policy.contains("connect-src 'self'") && !page.html.contains("<!--body"));
        }
    }

    #[test]
    fn what_is_refused_is_only_text() {
        let page = Pages::new().refusal("No <b>", "run '<!--refused--><script>x</script>\u{202e}'\n");
        assert!(page.html.contains("No &lt;b&gt;") && page.html.contains("&lt;script&gt;x&lt;/script&gt;"));
        assert!(!page.html.contains("<script>x") && !page.html.contains('\u{202e}'), "{}", page.html);
        assert_eq!(page.policy, Pages::new().refusal("", "").policy);
    }
}
