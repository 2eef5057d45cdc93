//! The list of runs, and the history of a suite.

use crate::support::{Served, browser, complaints, forty, whole};
use gage_browser::Screen;
use serde_json::json;

#[test]
fn runs_are_found_and_two_of_them_compared_by_keys() {
    let Some(browser) = browser("the list of runs") else { return };
    let root = tempfile::tempdir().expect("a folder");
    for (number, run) in ["monday", "tuesday", "wednesday"].iter().enumerate() {
        whole(root.path(), run, &forty(number as u64));
    }
    std::fs::create_dir(root.path().join("broken")).expect("a folder");
    std::fs::write(root.path().join("broken/manifest.json"), "{").expect("a manifest");
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 4").expect("four runs");
    let text = page.text("document.getElementById('runs').innerText").expect("the list");
    for part in
        ["monday", "sums", "tiny-model", "complete", "t exact_match", "97.5 %", "unreadable", "manifest.json"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(&root.path().display().to_string()), "{text}");

    page.press("/").expect("a key");
    page.type_text("day").expect("typed");
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 3").expect("three runs");
    page.press("Enter").expect("a key");
    // What begins within one second is in the order of the names, the last first.
    for key in ["j", "x", "k", "x", "c"] {
        page.press(key).expect("a key");
    }
    page.wait_for("document.getElementById('comparison')?.innerText.includes('wednesday against tuesday')")
        .expect("compared");
    assert_eq!(complaints(page.said(), Some(&served)), Vec::<String>::new());
}

#[test]
fn a_suite_has_a_line_for_each_metric() {
    let Some(browser) = browser("the history of a suite") else { return };
    let root = tempfile::tempdir().expect("a folder");
    for number in 0..5 {
        whole(root.path(), &format!("night-{number}"), &forty(number));
    }
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/history")).expect("the history");
    page.wait_for("document.querySelectorAll('.trend a').length === 5").expect("five points");
    let points = page
        .text("document.querySelector('.trend a:last-of-type').getAttribute('aria-label')")
        .expect("a point");
    assert!(points.starts_with("night-4,") && points.contains("39 of 40 samples"), "{points}");
    let overview = page.text("document.getElementById('overview').innerText").expect("the suite");
    assert!(overview.contains("sums") && overview.contains('5'), "{overview}");
    // What is not drawn with colour alone stands in a table.
    page.run("document.querySelector('#trends summary').click()").expect("the table");
    let rows = page.run("document.querySelectorAll('#trends tbody tr').length").expect("rows");
    assert_eq!(rows, json!(5));
    page.run("document.querySelector('#trends tbody a').click()").expect("to a run");
    page.wait_for("document.getElementById('count')?.textContent === '40 of 40 samples'")
        .expect("its report");
    assert_eq!(complaints(page.said(), Some(&served)), Vec::<String>::new());
}
