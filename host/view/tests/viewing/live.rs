//! Live view of a run.

use crate::support::{Served, append, begin, browser, complaints, end, failed, sample};
use gage_browser::Screen;
use gage_record::format::EVENTS_FILE;
use serde_json::json;

/// Tasks run one after another: the samples of those that have not started are not counted yet.
#[test]
fn tasks_that_have_not_begun_are_to_come() {
    let Some(browser) = browser("a run of several tasks") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let (folder, mut manifest, mut writer) = begin(root.path(), "nightly");
    manifest.identity.config["tasks"] =
        json!([{"task_id": "t", "dataset_id": "t"}, {"task_id": "later", "dataset_id": "t"}]);
    manifest.write(&folder).expect("a manifest");
    let event = |kind: &str, task_id: &str, total: u64| {
        json!({"kind": kind, "level": "info", "unix_ms": 1, "task_id": task_id, "payload": {"total": total}})
            .to_string()
            + "\n"
    };
    let first = event("task_started", "t", 0) + &event("samples_planned", "t", 4);
    std::fs::write(folder.path().join(EVENTS_FILE), &first).expect("events");
    append(&mut writer, &[sample(0, "a", 1.0), sample(1, "b", 0.0)]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/nightly")).expect("its page");
    let overview = "document.getElementById('overview').innerText.replace(/\\s+/g, ' ')";
    let lines = "[...document.querySelectorAll('#progress tbody tr')].map((one) => one.innerText.replace(/\\s+/g, ' ')).join('|')";
    page.wait_for(&format!("{overview}.includes('Samples 2 of 4+')")).expect("what is known");
    let said = page.text(overview).expect("a text");
    assert!(said.contains("Tasks not started 1 of 2") && !said.contains("Time left"), "{said}");
    let rows = page.text(lines).expect("rows");
    assert_eq!(rows, "t 2 of 4 50.0 % 0 none|later not started – – –");
    assert!(!page.text("document.title").expect("a title").contains('%'));
    // The second task starts.
    let second = event("task_started", "later", 0) + &event("samples_planned", "later", 6);
    std::fs::write(folder.path().join(EVENTS_FILE), first + &second).expect("events");
    page.wait_for(&format!("{overview}.includes('Samples 2 of 10')")).expect("all is known");
    let rows = page.text(lines).expect("rows");
    assert!(rows.ends_with("|later 0 of 6 0.0 % 0 none"), "{rows}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn the_page_of_a_live_run_becomes_its_report() {
    let Some(browser) = browser("a run that goes on") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.getElementById('runs').innerText.includes('no runs in this folder yet')")
        .expect("none");

    let (folder, manifest, mut writer) = begin(root.path(), "nightly");
    let planned = json!({"kind": "samples_planned", "level": "info", "unix_ms": 1, "task_id": "t", "payload": {"total": 4}});
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{planned}\n")).expect("events");
    page.wait_for("document.querySelector('#runs .status.live') !== null").expect("it appears");
    page.run("document.querySelector('#runs tbody a').click()").expect("to its page");
    page.wait_for("document.getElementById('progress')?.innerText.includes('0 of 4')").expect("its progress");

    append(&mut writer, &[sample(0, "a", 1.0), sample(1, "b", 0.0)]);
    page.wait_for("document.getElementById('progress').innerText.includes('2 of 4')").expect("more");
    page.wait_for("document.getElementById('figures').innerText.includes('0.5000')").expect("a figure");
    let covered = page.text("document.getElementById('figures').innerText").expect("figures");
    assert!(covered.contains("100.0 %") && covered.contains("2 of 2"), "{covered}");
    assert!(page.text("document.title").expect("a title").starts_with("50 %"));
    append(&mut writer, &[failed(2, "no answer"), sample(3, "d", 1.0)]);
    page.wait_for("document.getElementById('progress').innerText.includes('backend error 1')")
        .expect("a failure");

    // The samples so far are readable.
    page.run("document.getElementById('samples').click()").expect("the samples");
    page.wait_for("document.getElementById('count')?.textContent === '4 of 4 samples'").expect("the samples");
    page.go(&served.url("/runs/nightly")).expect("back");
    page.wait_for("document.getElementById('progress')?.innerText.includes('4 of 4')").expect("its progress");

    drop(writer);
    end(&folder, manifest);
    page.wait_for("document.getElementById('count')?.textContent === '4 of 4 samples'").expect("its report");
    let figures = page.text("document.getElementById('figures').innerText").expect("figures");
    assert!(figures.contains("0.6667") && figures.contains("75.0 %"), "{figures}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
