//! The pages that ask this server for what they show. They hold nothing of a run.

use gage_report::html::{Parts, Rendered, render};

const STYLE: &str = include_str!("../assets/view.css");

/// Pages that are the same for every folder.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) runs: Rendered,
    pub(crate) live: Rendered,
    pub(crate) history: Rendered,
}

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
        }
    }
}

fn page(title: &str, body: &str, script: &str) -> Rendered {
    let script = format!("{COMMON}{script}");
    render(&Parts { title, body, style: STYLE, script: &script, may_ask: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_report::html::FORBIDDEN_IN_SCRIPTS;

    #[test]
    fn no_page_makes_markup_of_text_or_asks_elsewhere() {
        let pages = Pages::new();
        for page in [&pages.runs, &pages.live, &pages.history] {
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
}
