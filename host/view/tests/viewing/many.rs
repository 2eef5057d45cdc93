//! Pages of runs with many samples, whose samples come in blocks.

use crate::support::{Served, browser, complaints, forty, sample, whole};
use gage_browser::{Page, Screen};
use gage_record::SampleRecord;
use gage_record::format::PAGE_FOLDER;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const SAMPLES: u64 = 20_000;
/// Row of a sample with hostile texts.
const HOSTILE_ROW: usize = 17_003;
const MARKUP: &str =
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u{202e}";

/// Writes a run in which every fourth sample is wrong.
fn write_many(root: &Path) {
    let record = |index: u64| {
        let score = if index.is_multiple_of(4) { 0.0 } else { 1.0 };
        sample(index, &format!("answer {index}"), score)
    };
    let mut records: Vec<SampleRecord> = (0..SAMPLES).map(record).collect();
    let hostile = &mut records[HOSTILE_ROW];
    hostile.sample_id = MARKUP.to_owned();
    hostile.model_output = Some(json!({"answer": format!("hidden needle {MARKUP}")}).into());
    whole(root, "many", &records);
}

fn open(page: &Page, address: &str) {
    page.go(address).expect("the page");
    page.wait_for("document.documentElement?.dataset.ready !== undefined").expect("the report");
}

fn set(page: &Page, id: &str, value: &str) {
    let script = format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = '{value}';
            field.dispatchEvent(new Event('input', {{ bubbles: true }}));
            field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    );
    page.run(&script).expect("a filter");
}

fn wait_for_count(page: &Page, count: &str) {
    let shown = format!("document.getElementById('count').textContent === '{count} of 20,000 samples'");
    page.wait_for(&shown).expect("a count");
}

fn wait_for_first(page: &Page, id: &str) {
    page.wait_for(&format!("document.querySelector('#rows .id')?.textContent === '{id}'")).expect("a row");
}

#[test]
fn many_samples_are_sorted_filtered_searched_and_opened() {
    let Some(browser) = browser("a page of many samples") else { return };
    let root = tempfile::tempdir().expect("a folder");
    write_many(root.path());
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    // The folder of its blocks is made in the background.
    open(&page, &served.url("/runs/many"));
    wait_for_count(&page, "20,000");
    assert!(root.path().join("many").join(PAGE_FOLDER).join("index.json").exists());
    let status = served.json("/data/runs/many/page");
    assert_eq!(status, json!({"rows": SAMPLES, "columns": 2, "is_complete": true, "problem": null}));
    let blocks = page.run("document.querySelectorAll('[data-block=columns], [data-block=texts]').length");
    assert_eq!(blocks.expect("a number"), json!(0));
    wait_for_first(&page, "s-0");

    for (order, first) in [("high 0", "s-1"), ("low 0", "s-0"), ("down latency", "s-19999"), ("", "s-0")] {
        set(&page, "order", order);
        wait_for_first(&page, first);
    }
    // A heading that cannot order says why.
    for (column, is_ordered) in [("latency", true), ("sample", false), ("input", false)] {
        let heading = format!("document.querySelector('#heading [data-column={column}]')");
        let has_button = page.run(&format!("{heading}.querySelector('button') !== null"));
        assert_eq!(has_button.expect("a heading"), json!(is_ordered), "{column}");
        let title = page.text(&format!("{heading}.title")).expect("a title");
        assert_eq!(title.contains("has no order by this column"), !is_ordered, "{column}: {title}");
    }
    set(&page, "where", "exact_match < 0.5, latency > 1000");
    wait_for_count(&page, "4,754");
    set(&page, "where", "");
    page.run("document.getElementById('failed').click()").expect("a filter");
    wait_for_count(&page, "5,000");
    page.run("document.getElementById('failed').click()").expect("a filter");
    set(&page, "query", "ANSWER 12345");
    wait_for_count(&page, "1");
    wait_for_first(&page, "s-12345");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());

    // The address of a sample.
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/many#sample=s-19999&sample_index=19999"));
    page.wait_for("document.getElementById('detail-title')?.textContent.includes('s-19999')")
        .expect("the sample");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    assert!(detail.contains("What is question 19999?") && detail.contains("answer 19999"), "{detail}");
    // It is completed as soon as the journal is read.
    page.wait_for("document.querySelector('#detail .waterfall') !== null").expect("its times");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    assert!(!detail.contains("being read") && detail.contains("Calls"), "{detail}");
    page.press("Escape").expect("a key");

    // Hostile texts in the list, in the search and in an open sample are only text.
    set(&page, "query", "hidden needle");
    wait_for_count(&page, "1");
    page.wait_for("document.querySelector('#rows .id')?.textContent.includes('‹U+202E›')").expect("a row");
    page.run("document.querySelector('#rows .row').click()").expect("a click");
    page.wait_for("document.getElementById('detail-title')?.textContent.includes('‹U+202E›')")
        .expect("the sample");
    assert_eq!(page.text("document.title").expect("a title"), "many – gage-host");
    assert_eq!(page.run("document.images.length").expect("a number"), json!(0));
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// To index a journal of many samples takes seconds.
#[test]
fn first_sample_of_a_run_is_read_without_its_journal() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let journal = root.path().join("nightly/journal");
    let kept = root.path().join("nightly/kept");
    let address = |index: u64, quick: &str| format!("/data/runs/nightly/sample?task=t&index={index}{quick}");
    let served = Served::start(root.path());
    // Samples are found although the journal is gone.
    fs::rename(&journal, &kept).expect("moved");
    let quick: Vec<Value> = (0..40).map(|index| served.json(&address(index, "&quick=1"))).collect();
    fs::rename(&kept, &journal).expect("moved");
    for (quick, index) in quick.iter().zip(0..) {
        let full = served.json(&address(index, ""));
        assert_eq!((quick.get("timing"), full["timing"].is_object()), (None, true), "{index}");
        for key in ["id", "model_output", "judge_output", "error"] {
            assert_eq!(quick[key], full[key], "{key} of {index}");
        }
        assert_eq!(quick["sample"]["messages"], full["sample"]["messages"], "{index}");
        // Once the run is open, each answer is complete.
        assert_eq!(served.json(&address(index, "&quick=1")), full, "{index}");
    }
    // A file that was cut is not searched.
    let samples = root.path().join("nightly/samples.jsonl");
    let text = fs::read_to_string(&samples).expect("samples");
    fs::write(&samples, text.trim_end()).expect("cut");
    let served = Served::start(root.path());
    assert!(served.json(&address(3, "&quick=1"))["timing"].is_object());
}

#[test]
fn page_without_blocks_is_sent_as_a_whole() {
    let Some(browser) = browser("a page whose blocks cannot be written") else { return };
    let root = tempfile::tempdir().expect("a folder");
    write_many(root.path());
    // A file in place of the folder.
    fs::write(root.path().join("many").join(PAGE_FOLDER), "").expect("a file");
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/many")).expect("the page");
    page.wait_for("location.search === '?whole=1' && document.documentElement?.dataset.ready !== undefined")
        .expect("the whole page");
    wait_for_count(&page, "20,000");
    wait_for_first(&page, "s-0");
}
