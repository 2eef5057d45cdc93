//! Open samples: their verdict, their scores, failed calls, costs, and the answers of two runs.

use crate::support::{Served, append, begin, browser, complaints, end, failed, forty, sample, whole};
use gage_browser::{Page, Screen};
use gage_compare::comparisons_with_first;
use gage_figures::RecordedRun;
use gage_html::write_html_file;
use gage_record::SampleRecord;
use serde_json::json;
use std::path::Path;

const DETAIL: &str = "document.getElementById('detail').innerText.replace(/\\s+/g, ' ')";

fn open(page: &Page, address: &str) {
    page.go(address).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
}

/// Opens a page, and in it a sample of its last run.
fn open_sample(page: &Page, address: &str, index: u64) {
    open(page, address);
    page.run(&format!("void openRowDetail(rows.id.lastIndexOf('s-{index}'))")).expect("a sample");
    page.wait_for("document.getElementById('detail').open").expect("opened");
}

fn text(page: &Page, selector: &str) -> String {
    let script =
        format!("document.querySelector({selector:?})?.innerText.replace(/\\s+/g, ' ').trim() ?? 'nothing'");
    page.text(&script).expect(selector)
}

/// Returns a sample whose answer is wrong, with a reason.
fn explained() -> SampleRecord {
    let mut record = sample(0, "wrong", 0.0);
    let card = record.metrics[0].card.as_mut().expect("a card");
    card.explain = Some("'wrong' does not equal 'right 0'".to_owned());
    record.judge_output = Some(json!({"score": 0, "replies": [{"answer": "why\n".repeat(200)}]}));
    record
}

#[test]
fn opened_sample_begins_with_its_verdict() {
    let Some(browser) = browser("the verdict of a sample") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &[explained()]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    for width in [1280, 1024, 768, 390] {
        page.show_on(&Screen { width, ..Screen::DESKTOP }).expect("a screen");
        open_sample(&page, &served.url("/runs/nightly"), 0);
        assert_eq!(
            text(&page, "#detail .verdict-line"),
            "exact_match 0 · scored · ended by itself · 20 ms",
            "{width}"
        );
        assert_eq!(
            text(&page, "#detail .scores .whole"),
            "wrong_number: 'wrong' does not equal 'right 0'",
            "{width}"
        );
        // Nothing is wider than its side.
        let wide = "[...document.querySelectorAll('#detail .side')].filter((one) => one.scrollWidth > one.clientWidth).length";
        assert_eq!(page.run(wide).expect("a number"), json!(0), "{width}");
    }
    // On a desktop, each side scrolls on its own, so the answer stays.
    page.show_on(&Screen::DESKTOP).expect("a screen");
    let scrolled = "(() => { const [answer, scores] = document.querySelectorAll('#detail .side'); scores.scrollTop = 500;
        return `${scores.scrollTop > 0} ${answer.scrollTop} ${answer.getBoundingClientRect().top > 0}`; })()";
    assert_eq!(page.text(scrolled).expect("places"), "true 0 true");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn a_failed_call_has_its_attempts_and_no_times() {
    let Some(browser) = browser("attempts of a call") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut lost = failed(0, "status 500 (tried 6 times)");
    lost.timing.attempts = 6;
    lost.timing.stages.preprocess_ms = 0.3;
    let mut retried = sample(1, "right", 1.0);
    retried.timing.attempts = 3;
    let mut silent = sample(2, "", 0.0);
    silent.model_output =
        Some(json!({"answer": "", "trajectory": [{"role": "assistant", "content": []}]}).into());
    whole(root.path(), "nightly", &[retried, silent, lost]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    for (index, shown, has_waterfall) in [
        (
            0,
            &["Error in inference (timeout)", "6 attempts, all failed", "The error of the last one"][..],
            false,
        ),
        (1, &["3 attempts, 2 failed", "model, last of 3 calls"], true),
        (2, &["(empty answer)"], true),
    ] {
        open_sample(&page, &served.url("/runs/nightly"), index);
        let detail = page.text(DETAIL).expect("a sample");
        for part in shown {
            assert!(detail.contains(part), "{index} {part}: {detail}");
        }
        let waterfalls =
            page.run("document.querySelectorAll('#detail .waterfall').length").expect("a number");
        assert_eq!(waterfalls, json!(u8::from(has_waterfall)), "{index}");
    }
    let answers = page.run("document.querySelectorAll('#detail .message.assistant.answer, #detail .side:first-child .message.assistant').length");
    assert_eq!(answers.expect("a number"), json!(1), "an empty answer is drawn once");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// Writes a run whose judge has a price, and whose model has one only if `is_priced`.
fn with_costs(root: &Path, run_id: &str, is_priced: bool) {
    let (folder, mut manifest, mut writer) = begin(root, run_id);
    let config = &mut manifest.identity.config;
    let backend = json!({
        "backend_id": "of_judge", "type": "openai_http",
        "config": {"base_url": "http://127.0.0.1:1/v1", "model": "critical"},
    });
    config["backends"].as_array_mut().expect("backends").push(backend);
    let judge = json!({"adapter_id": "critic", "role_type": "judge_model", "backend_id": "of_judge"});
    config["role_adapters"].as_array_mut().expect("roles").push(judge);
    manifest.costs.insert("of_judge".to_owned(), 0.0086);
    if is_priced {
        manifest.costs.insert("b".to_owned(), 0.02);
    } else {
        manifest.unpriced.insert("b".to_owned());
    }
    manifest.write(&folder).expect("a manifest");
    let mut record = sample(0, "right", 1.0);
    record.judge_output =
        Some(json!({"score": 1, "cost": 0.25, "usage": {"prompt_tokens": 50, "completion_tokens": 7}}));
    append(&mut writer, &[record]);
    drop(writer);
    end(&folder, manifest);
}

#[test]
fn a_cost_says_what_it_covers() {
    let Some(browser) = browser("costs") else { return };
    let root = tempfile::tempdir().expect("a folder");
    with_costs(root.path(), "priced", true);
    with_costs(root.path(), "unpriced", false);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    for (run, cost, of_sample) in [
        ("priced", "0.0286 (model 0.0200, judges 0.0086)", "Cost judges 0.2500"),
        (
            "unpriced",
            "0.0086, judges only: no price for `tiny-model`",
            "Cost 0.2500, judges only: no price for `tiny-model`",
        ),
    ] {
        open_sample(&page, &served.url(&format!("/runs/{run}")), 0);
        let head = page.text("document.querySelector('main').textContent").expect("a page");
        assert!(head.contains(cost) && head.contains("50 of prompts + 7 of replies"), "{head}");
        let detail = page.text(DETAIL).expect("a sample");
        assert!(detail.contains(of_sample), "{detail}");
    }
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.querySelector('#runs .status') !== null").expect("runs");
    let runs = text(&page, "#runs");
    assert!(runs.contains("cost 0.0086, judges only: no price for `tiny-model`"), "{runs}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn two_answers_are_compared_by_lines_and_then_words() {
    let Some(browser) = browser("two answers") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let cases = [
        ["one two three\nsame\nfour", "one two 3\nsame\nfive", "del three|ins 3|del four|ins five"],
        ["It is 6650.", "About 4,132 miles", "The answers differ: 0 of 4 words in common"],
        ["same", "same", "The answers are the same."],
    ];
    let records = |answer: usize| -> Vec<SampleRecord> {
        (0_u64..).zip(&cases).map(|(index, case)| sample(index, case[answer], 1.0)).collect()
    };
    whole(root.path(), "base", &records(0));
    let mut new = records(1);
    new[0].metrics = explained().metrics;
    whole(root.path(), "new", &new);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    let address = served.url("/compare?run=base&run=new");
    for (index, [_, _, expected]) in (0_u64..).zip(&cases) {
        open_sample(&page, &address, index);
        let marks = "[...document.querySelectorAll('.changes .difference > *')].map((one) => `${one.tagName.toLowerCase()} ${one.textContent}`).join('|') \
                     || (document.querySelector('.changes summary') ?? document.querySelector('.changes')).innerText.trim()";
        assert_eq!(&page.text(marks).expect("a difference"), expected);
    }
    // Deleted text does not run into inserted text.
    open_sample(&page, &address, 0);
    let difference = page.text("document.querySelector('.changes .difference').textContent").expect("a text");
    assert_eq!(difference, "one two three 3\nsame\nfour five");
    // One table has the scores of both.
    let scores = text(&page, "#detail .scores");
    assert_eq!(
        scores,
        "Metric base new Change exact_match 1.0000 0.0000 −1.0000 \
         new: wrong_number: 'wrong' does not equal 'right 0'"
    );
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn a_number_of_failed_samples_leads_to_them() {
    let Some(browser) = browser("failed samples") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    for (place, link, listed) in [
        (0, "11 of 40 samples failed", "11 of 40 samples"),
        (1, "1 backend error", "1 of 40 samples"),
        (2, "10 scored 0", "10 of 40 samples"),
    ] {
        let button = format!("document.querySelectorAll('#overview .notice.bad button')[{place}]");
        assert_eq!(page.text(&format!("{button}.textContent")).expect("a link"), link);
        page.run(&format!("{button}.click()")).expect("a click");
        assert_eq!(text(&page, "#count"), listed, "{link}");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn given_answer_stands_below_its_question() {
    let Some(browser) = browser("a given answer") else { return };
    let root = tempfile::tempdir().expect("a folder");
    for (id, answer) in [("given", "Lima"), ("other", "Quito")] {
        whole(root.path(), id, &[sample(0, answer, 1.0)]);
    }
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    let judge =
        json!({"adapter_id": "judge", "judge_id": "j", "messages": [{"role": "user", "content": "Why?"}]});
    let model = json!({"adapter_id": "dut", "messages": [{"role": "user", "content": "Say it."}]});
    let cases = [
        (json!([]), &["given"][..], "question What is question 0?"),
        (json!([judge]), &["given"], "question What is question 0?"),
        (json!([judge]), &["given", "other"], "question What is question 0?"),
        (json!([model, judge]), &["given"], "user Say it."),
    ];
    for (number, (requests, runs, shown)) in cases.into_iter().enumerate() {
        let open_run = |run: &&str| RecordedRun::open(&root.path().join(run)).expect("a run");
        let sources: Vec<RecordedRun> = runs.iter().map(open_run).collect();
        let comparisons = comparisons_with_first(&sources).expect("comparisons");
        let path = root.path().join(format!("report-{number}.html"));
        write_html_file(&path, &sources, &comparisons, &|_, _| Some(requests.clone())).expect("a report");
        open(&page, &format!("file://{}", path.display()));
        page.run("void openRowDetail(rows.id.lastIndexOf('s-0'))").expect("a sample");
        page.wait_for("document.getElementById('detail').open").expect("opened");
        let first = "(() => { const one = document.querySelector('#detail .side:first-child .message:not(.reference)');
            return `${one.querySelector('.role').firstChild.textContent} ${one.children[1].textContent}`; })()";
        assert_eq!(page.text(first).expect("a message"), shown, "{requests} {runs:?}");
    }
    assert_eq!(complaints(page.take_log(), None), Vec::<String>::new());
}

#[test]
fn rate_of_samples_is_that_of_the_terminal() {
    let Some(browser) = browser("the rate of samples") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let path = root.path().join("nightly/timings.json");
    let text = std::fs::read_to_string(&path).expect("timings");
    let mut timings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    timings["throughput_total_samples_per_s"] = json!(27.2);
    timings["throughput_inference_samples_per_s"] = json!(90.3);
    std::fs::write(&path, timings.to_string()).expect("written");
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    let facts = "[...document.querySelectorAll('#timing .facts > div')].map((one) => one.textContent).join()";
    page.wait_for("document.querySelector('#timing .facts') !== null").expect("timings");
    let facts = page.text(facts).expect("facts");
    assert!(facts.contains("Samples per second27.2,"), "{facts}");
}
