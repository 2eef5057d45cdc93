//! Metrics that fail, and metrics that read a clock.

use crate::support::{Served, browser, complaints, sample, whole};
use gage_browser::Screen;
use gage_core::{Outcome, ScoreCard};
use gage_record::{ErrorNote, SampleRecord, Stage};

/// Returns a sample that one metric scored, two failed to score, and one measured with a clock.
fn half_scored(index: u64) -> SampleRecord {
    let mut record = sample(index, "a", 1.0);
    for (metric_id, outcome, error) in [
        ("bad_one", Outcome::PluginError, "KeyError: level"),
        ("bad_two", Outcome::PluginTimeout, "it is out of fuel"),
    ] {
        let mut result = record.metrics[0].clone();
        (result.metric_id, result.outcome) = (metric_id.into(), outcome);
        (result.card, result.error) = (None, Some(error.to_owned()));
        record.metrics.push(result);
    }
    let mut latency = record.metrics[0].clone();
    latency.metric_id = "latency".into();
    latency.card = Some(ScoreCard { primary_score: Some(78.25), ..ScoreCard::default() });
    record.timing_metrics = vec![latency];
    record.outcome = Outcome::PluginError;
    record.error = Some(ErrorNote {
        stage: Stage::Scoring,
        kind: "plugin_error".to_owned(),
        message: "bad_one: KeyError: level".to_owned(),
        pointer: None,
    });
    record
}

#[test]
fn every_metric_is_shown_with_its_error_or_its_unit() {
    let Some(browser) = browser("metrics") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &(0..3).map(half_scored).collect::<Vec<_>>());
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/nightly")).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
    let text = |id: &str| {
        page.text(&format!("document.getElementById('{id}').innerText.replace(/\\s+/g, ' ')")).expect(id)
    };
    for (id, parts) in [
        ("figures", &["latency ↓", "78.25 ms"][..]),
        (
            "overview",
            &[
                "The most frequent error, of 3 samples: error in scoring (plugin error): bad_one: KeyError: level",
            ],
        ),
        (
            "errors",
            &[
                "3 scoring plugin_error bad_one KeyError: level",
                "3 scoring plugin_timeout bad_two it is out of fuel",
            ],
        ),
        ("heading", &["exact_match bad_one bad_two"]),
        ("rows", &["✓ plugin error plugin timeout"]),
    ] {
        let shown = text(id);
        for part in parts {
            assert!(shown.contains(part), "{id}: {part}: {shown}");
        }
    }
    // The second group has its samples too.
    page.run("document.querySelectorAll('#errors button')[1].click()").expect("a group");
    assert_eq!(text("count"), "3 of 3 samples");
    page.press("Enter").expect("a key");
    page.wait_for("document.getElementById('detail').open").expect("opened");
    let detail = text("detail");
    assert!(detail.contains("latency 78.25 ms"), "{detail}");
    // The box of the list is as high as its rows.
    page.press("Escape").expect("a key");
    let room = "document.getElementById('list').clientHeight / parseFloat(getComputedStyle(document.documentElement)\
                .getPropertyValue('--row'))";
    let rows = page.run(room).expect("a height").as_f64().unwrap_or_default();
    assert!((3.0..3.2).contains(&rows), "{rows}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
