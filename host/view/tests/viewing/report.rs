//! Reports of runs.

use crate::support::{
    Served, append, begin_with_two_tasks, browser, complaints, failed, forty, sample, stopped, whole,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_browser::{Page, Screen};
use gage_compare::comparisons_with_first;
use gage_figures::RecordedRun;
use gage_figures::{Completeness, TaskCompleteness};
use gage_html::write_html_file;
use serde_json::json;
use std::path::Path;

/// A picture of one pixel, in Base64.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Writes a report as a file, as `gage-host report` does, and returns its address.
fn file(root: &Path, runs: &[&str]) -> String {
    let open = |run: &&str| RecordedRun::open(&root.join(run)).expect("a run");
    let sources: Vec<RecordedRun> = runs.iter().map(open).collect();
    let comparisons = comparisons_with_first(&sources).expect("comparisons");
    let path = root.join("report.html");
    write_html_file(&path, &sources, &comparisons, &|_, _| None).expect("a report");
    format!("file://{}", path.display())
}

fn open(page: &Page, address: &str) {
    page.go(address).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
}

fn counted(page: &Page) -> String {
    page.text("document.getElementById('count').textContent").expect("a count")
}

/// Sets a filter as a person does.
fn filter(page: &Page, id: &str, value: &str) {
    let script = format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = '{value}';
            field.dispatchEvent(new Event('input', {{ bubbles: true }}));
            field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    );
    page.run(&script).expect("a filter");
}

#[test]
fn a_file_is_searched_filtered_and_read_without_a_mouse() {
    let Some(browser) = browser("the report as a file") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &file(root.path(), &["nightly"]));
    assert_eq!(counted(&page), "40 of 40 samples");
    let head = page.text("document.querySelector('main').innerText.replace(/\\s+/g, ' ')").expect("a head");
    for part in
        ["Suite sums", "Model tiny-model", "Dataset t (rows.jsonl)", "Tokens 351 of prompts + 117 of answers"]
    {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(
        head.contains(
            "11 of 40 samples failed: 1 has no score (1 backend error), 10 scored 0. \
             The most frequent error, of 1 sample: error in inference (timeout): no answer in 60 s"
        ),
        "{head}"
    );
    let figures = page.text("document.getElementById('figures').textContent").expect("figures");
    assert!(figures.contains("39 of 40") && figures.contains("97.5 %"), "{figures}");

    // Using keys only: to the search, for a text that only an answer contains, and back to the list.
    page.press("/").expect("a key");
    page.type_text("WRONG 8").expect("typed");
    page.wait_for("document.getElementById('count').textContent === '1 of 40 samples'").expect("found");
    page.press("Enter").expect("a key");
    page.press("Enter").expect("a key");
    page.wait_for("document.getElementById('detail').open").expect("opened");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    for part in ["s-8", "What is question 8?", "wrong 8", "right 8", "wrong_number", "judged so", "SCORE: 1"]
    {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    page.press("Escape").expect("a key");
    page.wait_for("!document.getElementById('detail').open").expect("closed");

    page.run("document.querySelector('#filters button[type=reset]').click()").expect("cleared");
    for (id, value, expected) in [
        ("outcome", "1", "1 of 40 samples"),
        ("outcome", "", "40 of 40 samples"),
        ("tag", "0", "10 of 40 samples"),
    ] {
        filter(&page, id, value);
        assert_eq!(counted(&page), expected, "{id} {value}");
    }
    page.run("document.getElementById('failed').click()").expect("a filter");
    assert_eq!(counted(&page), "10 of 40 samples");
    filter(&page, "tag", "");
    assert_eq!(counted(&page), "11 of 40 samples");

    // From sample to sample.
    page.run("document.getElementById('list').focus()").expect("focus");
    for key in ["j", "j", "k", "Enter", "j"] {
        page.press(key).expect("a key");
    }
    page.wait_for("document.querySelector('#detail-title')?.textContent.includes('3 of 11')")
        .expect("the third");
    assert_eq!(complaints(page.take_log(), None), Vec::<String>::new());
}

#[test]
fn sample_shows_what_was_sent_and_the_media_of_the_answer() {
    let Some(browser) = browser("requests and media") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut record = sample(0, "Here it is.", 1.0);
    // A picture of one pixel, and one that is gone.
    let bytes = STANDARD.decode(PIXEL).expect("base64");
    let part = |url: &str| json!({"type": "image_url", "image_url": {"url": url}, "media_type": "image/png"});
    let name = format!("media/{}.png", gage_core::Digest::of_bytes(&bytes).hex());
    record.model_output =
        Some(json!({"answer": "Here it is.", "media": [part(&name), part("media/gone.png")]}).into());
    whole(root.path(), "painted", &[record]);
    let run = root.path().join("painted");
    std::fs::create_dir(run.join("media")).expect("a folder");
    std::fs::write(run.join(&name), bytes).expect("a picture");

    let sources = [RecordedRun::open(&run).expect("a run")];
    let requests = json!([
        {"adapter_id": "dut", "messages": [{"role": "system", "content": "Paint."}, {"role": "user", "content": "A dot"}]},
        {"adapter_id": "judge", "judge_id": "critic", "messages": [{"role": "user", "content": "Is it a dot?"}]},
    ]);
    let path = root.path().join("report.html");
    write_html_file(&path, &sources, &[], &|_, _| Some(requests.clone())).expect("a report");
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &format!("file://{}", path.display()));
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("j").expect("a key");
    page.press("Enter").expect("a key");
    page.wait_for("document.querySelector('#detail img')?.naturalWidth === 1").expect("the picture");
    page.run("document.querySelectorAll('#detail details').forEach((one) => { one.open = true; })")
        .expect("opened");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    for shown in
        ["Paint.", "A dot", "what the judge critic was asked", "Is it a dot?", "image_url: media/gone.png"]
    {
        assert!(detail.contains(shown), "{shown}: {detail}");
    }
    assert_eq!(complaints(page.take_log(), None), Vec::<String>::new());
}

#[test]
fn colours_follow_the_system_and_the_reader() {
    let Some(browser) = browser("light and dark") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let address = file(root.path(), &["nightly"]);
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    let background = "getComputedStyle(document.body).backgroundColor";
    open(&page, &address);
    assert_eq!(page.text(background).expect("a colour"), "rgb(253, 253, 251)");
    page.show_on(&Screen::DESKTOP.dark()).expect("dark");
    assert_eq!(page.text(background).expect("a colour"), "rgb(22, 24, 27)");
    filter(&page, "theme", "light");
    assert_eq!(page.text(background).expect("a colour"), "rgb(253, 253, 251)");
    // On a phone, nothing is wider than the screen.
    page.show_on(&Screen::PHONE).expect("a phone");
    assert_eq!(page.run("document.documentElement.scrollWidth").expect("a width"), json!(390));
}

#[test]
fn two_runs_are_compared_with_their_flips() {
    let Some(browser) = browser("a comparison") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &forty(0));
    whole(root.path(), "new", &forty(1));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/compare?run=base&run=new"));
    let comparison = page.text("document.getElementById('comparison').innerText").expect("a comparison");
    assert!(comparison.contains("new against base") && comparison.contains("▼ "), "{comparison}");
    assert!(comparison.contains("p of “worse”") && comparison.contains("p after Holm"), "{comparison}");
    filter(&page, "change", "worse");
    let worse = counted(&page);
    assert!(worse.starts_with("9 of 40") || worse.starts_with("10 of 40"), "{worse}");
    // A flip links to its sample, with both answers.
    page.run("document.querySelector('#comparison details[open] button.link').click()").expect("a flip");
    page.wait_for("document.getElementById('detail').open").expect("opened");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    assert!(detail.contains("Answer of base") && detail.contains("Answer of new"), "{detail}");
    assert!(
        detail.contains("right ") && detail.contains("wrong ") && detail.contains("exact_match worse by 1"),
        "{detail}"
    );
    let changed = "[...document.querySelectorAll('#detail .difference > *')].map((one) => `${one.tagName} ${one.textContent}`).join()";
    assert_eq!(page.text(changed).expect("a difference"), "DEL right,INS wrong");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn samples_that_a_run_did_not_come_to_stand_beside_its_outcomes() {
    let Some(browser) = browser("a run that was stopped") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let reaches = |of_t: TaskCompleteness, later: TaskCompleteness| {
        Completeness::from([("t".into(), of_t), ("later".into(), later)])
    };
    stopped(root.path(), "known", &forty(0), &reaches(TaskCompleteness::Of(100), TaskCompleteness::Of(30)));
    stopped(
        root.path(),
        "unknown",
        &forty(0),
        &reaches(TaskCompleteness::Unknown, TaskCompleteness::Unknown),
    );
    whole(root.path(), "whole", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    let table = "[...document.querySelectorAll('#outcomes tr')].map((one) => one.innerText.replace(/\\s+/g, ' ').trim()).join('|')";
    for (run, expected) in [
        ("known", "Task Samples scored backend error not reached|t 100 39 1 60|later 30 0 0 30"),
        ("unknown", "Task Samples scored backend error not reached|t 40+ 39 1 unknown|later 0+ 0 0 unknown"),
        ("whole", "Task Samples scored backend error|t 40 39 1"),
    ] {
        open(&page, &served.url(&format!("/runs/{run}")));
        assert_eq!(page.text(table).expect("a table"), expected, "{run}");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// Adds a second metric, by which only sample 2 became worse.
fn with_lengths(mut records: Vec<gage_record::SampleRecord>, of_two: f64) -> Vec<gage_record::SampleRecord> {
    for record in records.iter_mut().filter(|record| !record.metrics.is_empty()) {
        let mut length = record.metrics[0].clone();
        length.metric_id = "length".into();
        let card = length.card.as_mut().expect("a card");
        card.primary_score = Some(if record.index == 2 { of_two } else { 0.5 });
        card.pass = None;
        record.metrics.push(length);
    }
    records
}

#[test]
fn a_number_of_changes_leads_to_those_of_its_metric() {
    let Some(browser) = browser("changes by metric") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &with_lengths(forty(0), 0.5));
    whole(root.path(), "new", &with_lengths(forty(1), 0.25));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/compare?run=base&run=new"));
    let comparison = page.text("document.getElementById('comparison').innerText").expect("a comparison");
    assert!(comparison.contains("length"), "{comparison}");
    let links = "[...document.querySelectorAll('#comparison table button.link')].filter((one) => one.textContent.startsWith('▼'))";
    for place in 0..2 {
        let text = page.text(&format!("{links}[{place}].textContent")).expect("a number");
        page.run(&format!("{links}[{place}].click()")).expect("a click");
        let number = text.trim_start_matches("▼ ");
        assert_eq!(counted(&page), format!("{number} of 40 samples of new"), "{text}");
    }
    // By the second metric, only that sample is listed, with its loss.
    let listed = page.text("document.getElementById('rows').innerText").expect("a sample");
    assert!(listed.contains("s-2") && listed.contains("0.5 → 0.25"), "{listed}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn the_page_of_the_server_is_that_of_the_file_with_a_way_back() {
    let Some(browser) = browser("the report of the server") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    assert_eq!(counted(&page), "40 of 40 samples");
    page.run("document.querySelector('a.back').click()").expect("back");
    page.wait_for("document.querySelector('#runs a') !== null").expect("the list");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// The address of what is shown can be sent, and the browser can go back.
#[test]
fn address_keeps_filters_and_the_open_sample() {
    let Some(browser) = browser("the address of a sample") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    filter(&page, "where", "exact_match < 0.5");
    page.wait_for("document.getElementById('count').textContent === '10 of 40 samples'").expect("found");
    page.run("document.getElementById('list').focus()").expect("focus");
    for key in ["j", "Enter"] {
        page.press(key).expect("a key");
    }
    page.wait_for("location.hash.includes('sample=s-4')").expect("an address");
    let address = page.text("location.href").expect("an address");

    let elsewhere = browser.page(&Screen::DESKTOP).expect("a page");
    open(&elsewhere, &address);
    elsewhere.wait_for("document.getElementById('detail').open").expect("opened");
    let title = elsewhere.text("document.getElementById('detail-title').textContent").expect("a title");
    assert!(title.contains("s-4") && title.contains("2 of 10"), "{title}");

    page.run("history.back()").expect("back");
    page.wait_for("!document.getElementById('detail').open").expect("closed");
    assert_eq!(counted(&page), "10 of 40 samples");
    page.run("history.forward()").expect("forward");
    page.wait_for("document.getElementById('detail').open").expect("opened");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn samples_are_found_by_scores_metadata_and_errors() {
    let Some(browser) = browser("conditions") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut records: Vec<_> = (0..4).map(|index| sample(index, "a", index as f64 / 4.0)).collect();
    for (record, level) in records.iter_mut().zip(["easy", "hard", "hard", "easy"]) {
        record.sample = json!({"id": record.sample_id, "metadata": {"level": level}}).into();
    }
    records.extend((4..6).map(|index| failed(index, &format!("status 400: request {index} was rejected"))));
    whole(root.path(), "nightly", &records);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    for (conditions, expected) in [
        ("exact_match >= 0.5", "2 of 6 samples"),
        ("level = hard", "2 of 6 samples"),
        ("level = hard, exact_match < 0.5", "1 of 6 samples"),
        ("\"level\" != \"hard\"", "4 of 6 samples"),
        ("latency > 21", "4 of 6 samples"),
    ] {
        filter(&page, "where", conditions);
        page.wait_for(&format!("document.getElementById('count').textContent === '{expected}'"))
            .expect(conditions);
    }
    filter(&page, "where", "colour = red");
    page.wait_for("document.getElementById('where-problem').textContent.includes('there is no colour: known are exact_match, level')")
        .expect("a reason");
    page.run("document.querySelector('#filters button[type=reset]').click()").expect("cleared");

    // Messages that differ only in numbers are one group.
    let errors = page.text("document.getElementById('errors').innerText").expect("errors");
    assert!(
        errors.contains("status 400: request 4 was rejected") && !errors.contains("request 5"),
        "{errors}"
    );
    page.run("document.querySelector('#errors button').click()").expect("a group");
    assert_eq!(counted(&page), "2 of 6 samples");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn rows_show_texts_and_the_scores_of_their_own_task() {
    let Some(browser) = browser("a list of two tasks") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut writer = begin_with_two_tasks(root.path(), "two");
    let mut other = sample(0, "Lima", 1.0);
    other.task_id = "later".to_owned();
    other.metrics[0].metric_id = "contains".into();
    append(&mut writer, &[sample(0, "a", 0.5), other]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/two/report"));
    page.wait_for("document.getElementById('rows').innerText.includes('What is question 0?')")
        .expect("texts");
    let rows = "[...document.querySelectorAll('#rows .row')].map((one) => one.innerText.replace(/\\s+/g, ' ')).join('|')";
    assert_eq!(
        page.text(rows).expect("rows"),
        "s-0 What is question 0? right 0 a exact_match 0.5000 scored 20 ms|s-0 What is question 0? right 0 Lima contains ✓ scored 20 ms"
    );
    // The samples of one task have its metrics in columns.
    filter(&page, "task", "1");
    let heading =
        page.text("document.getElementById('heading').innerText.replace(/\\s+/g, ' ')").expect("a heading");
    assert_eq!(heading, "Sample Input Target Answer contains Outcome Latency");
    // Columns that a reader chooses are in the address.
    page.run("document.querySelector(\"#columns input[value=tags]\").click()").expect("a column");
    page.wait_for(
        "location.hash.includes('tags') && document.getElementById('heading').innerText.includes('Tags')",
    )
    .expect("a column");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn sample_shows_its_transcript_and_its_stages() {
    let Some(browser) = browser("a transcript") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut record = sample(0, "It is **19** degrees.", 1.0);
    record.model_output = Some(
        json!({"answer": "It is **19** degrees, $x^2$.", "turns": 2, "trajectory": [
            {"role": "assistant", "content": "I look.", "reasoning": "A tool knows.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Lima\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "19 degrees"},
            {"role": "assistant", "content": "It is **19** degrees, $x^2$."},
        ]})
        .into(),
    );
    record.timing.queue_ms = 5.0;
    record.timing.stages.judge_ms = 7.0;
    whole(root.path(), "agent", &[record]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/agent#sample=s-0"));
    page.wait_for("document.getElementById('detail').open").expect("opened");
    let roles = "[...document.querySelectorAll('#detail .side:first-child .role')].map((one) => one.firstChild.textContent).join()";
    assert_eq!(page.text(roles).expect("roles"), "user,assistant,result of weather,assistant");
    let call =
        page.text("document.querySelector('#detail .call').innerText.replace(/\\s+/g, ' ')").expect("a call");
    assert_eq!(call, "weather city Lima");
    let reasoning = page
        .text("document.querySelector('#detail .message.assistant details').textContent")
        .expect("reasoning");
    assert_eq!(reasoning, "reasoningA tool knows.");
    let stages = "[...document.querySelectorAll('#detail .waterfall tbody tr')].map((one) => one.innerText.replace(/\\s+/g, ' ')).join()";
    assert_eq!(page.text(stages).expect("stages"), "queue 5.0 ms,model 20 ms,judge 7.0 ms");
    // Markdown and TeX are rendered; a key shows what was written.
    let rendered = "['strong', 'math'].map((name) => document.querySelectorAll(`#detail .markdown ${name}`).length).join()";
    assert_eq!(page.text(rendered).expect("elements"), "1,1");
    page.press("m").expect("a key");
    page.wait_for("document.querySelectorAll('#detail .markdown').length === 0").expect("source");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    assert!(detail.contains("It is **19** degrees, $x^2$."), "{detail}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// Pages of many samples do not hold all texts.
#[test]
fn texts_that_are_not_in_the_page_are_asked_for() {
    let Some(browser) = browser("texts on demand") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    page.run("rows.text.fill(NO_TEXT)").expect("no texts");
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("Enter").expect("a key");
    page.wait_for("document.getElementById('detail').innerText.includes('What is question 0?')")
        .expect("texts");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn marked_samples_are_written_as_json_lines() {
    let Some(browser) = browser("an export") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    open(&page, &file(root.path(), &["nightly"]));
    // The file is read rather than saved.
    page.run("URL.createObjectURL = (blob) => { blob.text().then((text) => { window.written = text; }); return 'data:,'; }")
        .expect("a stand-in");
    page.run("document.getElementById('list').focus()").expect("focus");
    for key in ["x", "j", "j", "x"] {
        page.press(key).expect("a key");
    }
    assert_eq!(
        page.text("document.getElementById('export').textContent").expect("a button"),
        "Export 2 marked"
    );
    page.run("document.getElementById('export').click()").expect("a click");
    page.wait_for("window.written !== undefined").expect("lines");
    let written = page.text("window.written").expect("lines");
    let lines: Vec<serde_json::Value> =
        written.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids: Vec<&serde_json::Value> = lines.iter().map(|line| &line["sample_id"]).collect();
    assert_eq!(ids, ["s-0", "s-2"]);
    assert_eq!(
        (&lines[1]["scores"]["exact_match"], &lines[1]["model_output"]["answer"]),
        (&json!(1), &json!("right 2"))
    );
}
