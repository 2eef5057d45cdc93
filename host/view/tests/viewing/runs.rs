//! List of runs, and history of a suite.

use crate::support::{Served, browser, complaints, forty, whole};
use gage_browser::Screen;
use gage_history::History;
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
        ["monday", "sums", "tiny-model", "complete", "exact_match", "97.5 %", "unreadable", "manifest.json"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(&root.path().display().to_string()), "{text}");

    page.press("/").expect("a key");
    page.type_text("day").expect("typed");
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 3").expect("three runs");
    page.press("Enter").expect("a key");
    // Runs that start within the same second are sorted by name, the last first.
    for key in ["j", "x", "k", "x", "c"] {
        page.press(key).expect("a key");
    }
    page.wait_for("document.getElementById('comparison')?.innerText.includes('wednesday against tuesday')")
        .expect("compared");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn runs_are_ordered_by_their_headings() {
    let Some(browser) = browser("headings of the list of runs") else { return };
    let root = tempfile::tempdir().expect("a folder");
    for (number, run) in ["monday", "tuesday", "wednesday"].iter().enumerate() {
        whole(root.path(), run, &forty(number as u64));
    }
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 3").expect("three runs");
    let listed = "[...document.querySelectorAll('#runs tbody tr')].map((row) => row.dataset.name).join()";
    let sorted = "document.querySelector('#runs th[aria-sort]').getAttribute('aria-sort')";
    for (names, sort, heading) in [
        ("monday,tuesday,wednesday", "ascending", "Run ▲"),
        ("wednesday,tuesday,monday", "descending", "Run ▼"),
        ("wednesday,tuesday,monday", "none", "Run"),
    ] {
        page.run("document.querySelector('#runs thead [data-key=Run]').click()").expect("a click");
        assert_eq!(page.text(listed).expect("runs"), names, "{heading}");
        assert_eq!(page.text(sorted).expect("an order"), sort, "{heading}");
        let text = page.text("document.querySelector('#runs thead [data-key=Run]').textContent");
        assert_eq!(text.expect("a heading"), heading);
    }
    // The time is below the status, and has a heading beside it.
    page.run("document.querySelector('#runs thead [data-key=Time]').click()").expect("a click");
    let sort =
        "document.querySelector('#runs thead [data-key=Time]').closest('th').getAttribute('aria-sort')";
    assert_eq!(page.text(sort).expect("an order"), "ascending");
    let by_time = "(() => {
        order = { key: 'Time', isDown: true };
        const run = (name, end) => ({ name, created_at: '2026-01-02T03:04:05Z', finished_at: end });
        const runs = [run('live', null), run('short', '2026-01-02T03:04:06Z'), run('long', '2026-01-02T03:05:00Z')];
        const names = inOrder(runs).map((run) => run.name).join();
        order = null;
        return names; })()";
    assert_eq!(page.text(by_time).expect("an order"), "long,short,live");
    // The headings name the parts of a figure; a run with one task does not repeat its name.
    let headings =
        "[...document.querySelectorAll('#runs thead .figures > span')].map((one) => one.textContent).join()";
    assert_eq!(page.text(headings).expect("headings"), "Metric,Value,95 % interval,On its scale,Coverage");
    assert_eq!(
        page.text("document.querySelector('#runs tbody .figures .name').textContent").expect("a name"),
        "exact_match"
    );
    let why = "whyIncomplete({ status: 'incomplete', figures: [{ metric_id: 'm', coverage: 0.844 }, { metric_id: 'n', coverage: 1 }], not_reached: 0 }).textContent";
    assert_eq!(page.text(why).expect("a reason"), "m: coverage 84.4 %");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn the_baseline_is_marked_and_copies_have_names_of_their_own() {
    let root = tempfile::tempdir().expect("a folder");
    for (number, run) in ["monday", "tuesday"].iter().enumerate() {
        whole(root.path(), run, &forty(number as u64));
    }
    let mut history = History::open(root.path()).expect("a history");
    history.refresh().expect("up to date");
    let monday = history.run("monday").expect("a run");
    history.choose_baseline(&monday).expect("chosen");
    drop(history);
    let copy = root.path().join("copy");
    std::fs::create_dir(&copy).expect("a folder");
    for entry in std::fs::read_dir(root.path().join("monday")).expect("a run") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            std::fs::copy(&path, copy.join(path.file_name().expect("a name"))).expect("copied");
        }
    }
    let served = Served::start(root.path());
    let listed = served.json("/data/runs");
    let runs = listed["runs"].as_array().expect("runs");
    let of = |name: &str| runs.iter().find(|run| run["name"] == name).expect(name);
    assert_eq!((&of("monday")["baseline"], &of("monday")["label"]), (&json!("there"), &json!("monday")));
    assert_eq!((of("copy").get("baseline"), &of("copy")["label"]), (None, &json!("copy (monday)")));
    assert_eq!(served.json("/data/history?suite=sums")["baseline"]["folder"], "monday");

    let Some(browser) = browser("the mark of a baseline") else { return };
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.querySelectorAll('#runs tbody tr').length === 3").expect("three runs");
    let marked = page
        .text("[...document.querySelectorAll('.baseline-mark')].map((mark) => mark.closest('tr').dataset.name + ' ' + mark.textContent).join()")
        .expect("marks");
    assert_eq!(marked, "monday baseline");
    page.go(&served.url("/compare?run=monday&run=copy")).expect("a comparison");
    page.wait_for(
        "document.getElementById('comparison')?.innerText.includes('copy (monday) against monday')",
    )
    .expect("names of their own");
    page.go(&served.url("/history")).expect("the history");
    page.wait_for("document.querySelectorAll('.trend path.baseline').length === 1").expect("a baseline");
    // The table marks the baseline at one run, and every point links to its own run.
    let notes = page
        .text("[...document.querySelectorAll('#trends tbody tr')].filter((row) => row.textContent.includes('baseline')).map((row) => row.querySelector('a').textContent).join()")
        .expect("notes");
    assert_eq!(notes, "monday");
    let links = page
        .text("[...document.querySelectorAll('#trends tbody a')].map((one) => one.getAttribute('href')).sort().join()")
        .expect("links");
    assert_eq!(links, "/runs/copy,/runs/monday,/runs/tuesday");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
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
    // Information that is shown by colour is also in a table.
    page.run("document.querySelector('#trends summary').click()").expect("the table");
    let rows = page.run("document.querySelectorAll('#trends tbody tr').length").expect("rows");
    assert_eq!(rows, json!(5));
    page.run("document.querySelector('#trends tbody a').click()").expect("to a run");
    page.wait_for("document.getElementById('count')?.textContent === '40 of 40 samples'")
        .expect("its report");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
