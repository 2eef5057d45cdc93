//! Verdicts are visible on a phone without scrolling sideways.

use crate::support::{Served, append, begin, browser, complaints, forty, sample, whole};
use gage_browser::{Page, Screen};

/// Waits until an element exists, and returns the parts of it that are not on the screen, or only after scrolling
/// sideways.
fn outside(page: &Page, selector: &str) -> String {
    let seen = format!(
        "[...document.querySelectorAll({selector:?})].filter((one) => one.getClientRects().length > 0)"
    );
    page.wait_for(&format!("{seen}.length > 0")).expect(selector);
    let is_outside = "(one) => { const at = one.getBoundingClientRect(); const around = one.closest('.scroll'); \
                      return at.left < 0 || at.right > innerWidth || (around && around.scrollWidth > around.clientWidth); }";
    page.text(&format!("{seen}.filter({is_outside}).map((one) => one.textContent).join(', ')"))
        .expect(selector)
}

#[test]
fn what_decides_is_on_the_screen_of_a_phone() {
    let Some(browser) = browser("a phone") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &forty(0));
    whole(root.path(), "new", &forty(1));
    let (_folder, _manifest, mut writer) = begin(root.path(), "nightly");
    append(&mut writer, &[sample(0, "a", 1.0), sample(1, "b", 0.0)]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::PHONE).expect("a page");
    for (path, selectors) in [
        (
            "/compare?run=base&run=new",
            &["#comparison td.decisive", "#comparison td .verdict", "#figures td", "#outcomes td"][..],
        ),
        ("/runs/base", &["#figures td", "#outcomes td", "#facts dd", "#heading .number", "#rows .score"]),
        ("/", &["#runs input", "#runs .interval", "#runs .status"]),
        ("/history", &["#overview dd", ".trend"]),
        ("/runs/nightly", &["#figures td", "#progress td"]),
    ] {
        page.go(&served.url(path)).expect(path);
        for selector in selectors {
            assert_eq!(outside(&page, selector), "", "{path}: {selector}");
        }
        assert_eq!(page.run("document.documentElement.scrollWidth").expect("a width"), 390, "{path}");
    }
    // One score has room in the list, with its owner above it.
    page.go(&served.url("/runs/base")).expect("a report");
    page.wait_for("document.querySelector('#rows .score') !== null").expect("samples");
    let names = page
        .text("[...document.querySelectorAll('#heading .number')].filter((one) => one.getClientRects().length > 0).map((one) => one.textContent).join()")
        .expect("headings");
    assert_eq!(names, "exact_match");
    let edges = page
        .text("['#heading .number', '#rows .score', '#rows .time'].map((one) => Math.round(document.querySelector(one).getBoundingClientRect().right)).join()")
        .expect("edges");
    let edges: Vec<&str> = edges.split(',').collect();
    assert_eq!((edges.len(), edges[1]), (3, edges[2]), "{edges:?}");
    // The boxes take no more room than a finger.
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.querySelector('#runs .pick') !== null").expect("runs");
    let width = page.run("document.querySelector('#runs .pick').offsetWidth").expect("a width");
    assert!(width.as_f64().is_some_and(|width| width <= 44.0), "{width}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
