//! The list of samples: its place, columns, order, filters and addresses.

use crate::support::{Served, append, begin_with_two_tasks, browser, complaints, forty, sample, whole};
use gage_browser::{Page, Screen};
use gage_record::SampleRecord;
use serde_json::json;

const TABLET: Screen = Screen { width: 768, height: 1024, is_dark: false, is_phone: false };
const LAPTOP: Screen = Screen { width: 1440, height: 900, is_dark: false, is_phone: false };

fn open(page: &Page, address: &str) {
    page.go(address).expect("the page");
    page.wait_for("document.documentElement?.dataset.ready !== undefined").expect("the report");
}

/// Types into a field.
fn fill(page: &Page, id: &str, text: &str) {
    let script = format!(
        "(() => {{ const field = document.getElementById('{id}'); field.value = '{text}';
            field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    );
    page.run(&script).expect("a text");
}

fn click(page: &Page, selector: &str) {
    page.run(&format!("document.querySelector({selector:?}).click()")).expect(selector);
}

fn wait_for_count(page: &Page, count: &str) {
    let shown = format!("document.getElementById('count').textContent === '{count}'");
    page.wait_for(&shown).expect(count);
}

/// Adds metrics with long names.
fn with_metrics(mut records: Vec<SampleRecord>) -> Vec<SampleRecord> {
    for record in records.iter_mut().filter(|record| !record.metrics.is_empty()) {
        for name in ["trajectory_match", "judge_score_of_answers"] {
            let mut metric = record.metrics[0].clone();
            metric.metric_id = name.into();
            record.metrics.push(metric);
        }
    }
    records
}

#[test]
fn menu_of_columns_is_inside_the_window_and_closes() {
    let Some(browser) = browser("the menu of columns") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    for screen in [LAPTOP, TABLET, Screen::PHONE] {
        let page = browser.page(&screen).expect("a page");
        open(&page, &served.url("/runs/nightly"));
        fill(&page, "where", "colour = red");
        page.wait_for("document.getElementById('where-problem').textContent !== ''").expect("a reason");
        for close in ["document.body.click()", ""] {
            click(&page, ".columns summary");
            let is_inside = "(() => { const [menu, problem, number] = ['columns', 'where-problem', 'count'].map((id) => document.getElementById(id).getBoundingClientRect());
                return menu.width > 0 && menu.left >= 0 && menu.right <= innerWidth && problem.bottom <= menu.top && number.bottom <= menu.bottom && number.top < menu.top; })()";
            assert_eq!(page.run(is_inside).expect("a place"), json!(true), "{} wide", screen.width);
            if close.is_empty() {
                page.press("Escape").expect("a key");
            } else {
                page.run(close).expect("a click elsewhere");
            }
            let is_open = page.run("document.querySelector('.columns').open").expect("a state");
            assert_eq!(is_open, json!(false), "{} wide: {close}", screen.width);
        }
        assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
    }
}

#[test]
fn list_folds_columns_and_fits_into_every_window() {
    let Some(browser) = browser("narrow windows") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &with_metrics(forty(0)));
    whole(root.path(), "new", &with_metrics(forty(1)));
    let served = Served::start(root.path());
    for width in [390, 600, 761, 768, 900, 1024, 1100, 1440] {
        let page = browser.page(&Screen { width, ..TABLET }).expect("a page");
        for path in ["/runs/base", "/compare?run=base&run=new"] {
            open(&page, &served.url(path));
            let overflow = "Math.max(document.documentElement.scrollWidth - innerWidth, ...['heading', 'list'].map((id) => document.getElementById(id)).map((one) => one.scrollWidth - one.clientWidth))";
            assert_eq!(page.run(overflow).expect("a width"), json!(0), "{path}, {width} wide");
        }
    }
    let page = browser.page(&TABLET).expect("a page");
    open(&page, &served.url("/compare?run=base&run=new"));
    let folded = page.text("document.querySelector('.columns summary').textContent").expect("a number");
    assert!(folded.starts_with("Columns, ") && folded.ends_with(" folded"), "{folded}");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn list_begins_on_the_first_screen() {
    let Some(browser) = browser("the first screen") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &forty(0));
    whole(root.path(), "new", &forty(1));
    let served = Served::start(root.path());
    for (screen, most) in [(LAPTOP, 600), (Screen::PHONE, 844)] {
        let page = browser.page(&screen).expect("a page");
        for path in ["/runs/base", "/compare?run=base&run=new"] {
            open(&page, &served.url(path));
            let top =
                page.run("document.getElementById('list').getBoundingClientRect().top").expect("a place");
            assert!(top.as_f64().is_some_and(|top| top < f64::from(most)), "{path}: {top}");
        }
        let scores = page.text("document.querySelector('.head-scores .value').textContent").expect("scores");
        assert!(scores.contains(" → "), "{scores}");
        let line = page.text("document.querySelector('.head-line').textContent").expect("a line");
        assert_eq!(line, "sums · tiny-model · 40 samples");
    }
}

#[test]
fn hits_are_marked_and_each_filter_can_be_removed() {
    let Some(browser) = browser("marks and filters") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&LAPTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    let active = "[...document.querySelectorAll('.chip > span')].map((one) => one.textContent).join('|')";
    assert_eq!(page.text(active).expect("filters"), "");
    fill(&page, "query", "WRONG 8");
    wait_for_count(&page, "1 of 40 samples");
    page.wait_for("document.querySelector('#rows .answer mark')?.textContent === 'wrong 8'").expect("a mark");
    fill(&page, "where", "outcome = scored");
    page.run("document.getElementById('failed').click()").expect("a filter");
    page.wait_for(&format!("{active} === 'Search: WRONG 8|Where: outcome = scored|failed only'"))
        .expect("filters");
    click(&page, ".chip button");
    wait_for_count(&page, "10 of 40 samples");
    assert_eq!(page.text(active).expect("filters"), "Where: outcome = scored|failed only");
    assert_eq!(page.run("document.querySelectorAll('#rows mark').length").expect("a number"), json!(0));

    // Without a hit, the headings stay.
    let headings = "document.getElementById('heading').innerText.replace(/\\s+/g, ' ')";
    let before = page.text(headings).expect("headings");
    assert!(before.contains("exact_match"), "{before}");
    fill(&page, "query", "nowhere");
    page.wait_for("!document.getElementById('no-match').hidden").expect("a message");
    let message = page.text("document.getElementById('no-match').innerText").expect("a message");
    assert_eq!(message, "No sample matches. Clear filters");
    assert_eq!(page.text(headings).expect("headings"), before);
    click(&page, "#no-match button");
    wait_for_count(&page, "40 of 40 samples");
    assert_eq!(page.run("document.getElementById('no-match').hidden").expect("a state"), json!(true));

    // Conditions are offered behind those that are typed.
    fill(&page, "where", "latency > 1, ");
    let offered =
        page.text("[...document.querySelectorAll('#conditions option')].map((one) => one.value).join('|')");
    let offered = offered.expect("conditions");
    for condition in ["latency > 1, exact_match < 0.5", "latency > 1, outcome = backend error"] {
        assert!(offered.split('|').any(|one| one == condition), "{condition}: {offered}");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn headings_order_the_list_and_say_so() {
    let Some(browser) = browser("headings of the list") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&LAPTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    let state = "(() => { const sorted = document.querySelector('#heading [aria-sort=ascending], #heading [aria-sort=descending]');
        return `${document.querySelector('#rows .id').textContent} ${sorted ? `${sorted.textContent} ${sorted.getAttribute('aria-sort')}` : 'none'}`; })()";
    for (column, states) in [
        ("sample", ["s-0 Sample ▲ ascending", "s-39 Sample ▼ descending", "s-0 none"]),
        ("answer", ["s-1 Answer ▲ ascending", "s-36 Answer ▼ descending", "s-0 none"]),
        ("scores", ["s-0 exact_match ▲ ascending", "s-1 exact_match ▼ descending", "s-0 none"]),
        ("outcome", ["s-13 Outcome ▲ ascending", "s-0 Outcome ▼ descending", "s-0 none"]),
        ("latency", ["s-39 Latency ▼ descending", "s-0 Latency ▲ ascending", "s-0 none"]),
    ] {
        for expected in states {
            click(&page, &format!("#heading [data-column={column}] button"));
            page.wait_for(&format!("{state} === '{expected}'")).expect(expected);
        }
    }
    // The order is in the address.
    click(&page, "#heading [data-column=answer] button");
    page.wait_for("location.hash === '#order=up+answer'").expect("an address");
    let elsewhere = browser.page(&LAPTOP).expect("a page");
    open(&elsewhere, &page.text("location.href").expect("an address"));
    elsewhere.wait_for(&format!("{state} === 's-1 Answer ▲ ascending'")).expect("an order");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn rows_of_a_comparison_have_both_answers_and_the_change() {
    let Some(browser) = browser("rows of a comparison") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "base", &forty(0));
    whole(root.path(), "new", &forty(1));
    let served = Served::start(root.path());
    let page = browser.page(&LAPTOP).expect("a page");
    open(&page, &served.url("/compare?run=base&run=new"));
    wait_for_count(&page, "40 of 40 samples of new");
    let headings = page.text("document.getElementById('heading').innerText").expect("headings");
    assert!(headings.contains("Answer of base") && headings.contains("Answer of new"), "{headings}");
    let cells = |place: usize| {
        format!(
            "(() => {{ const row = document.querySelectorAll('#rows .row')[{place}];
                return ['.base', '.answer', '.score'].map((name) => row.querySelector(name).textContent).join() + ',' + row.querySelector('.change').title; }})()"
        )
    };
    for (place, expected) in [
        (0, "wrong 0,right 0,✓,▲ exact_match 0 → 1"),
        (1, "right 1,right 1,✓,"),
        (3, "right 3,wrong 3,✗,▼ exact_match 1 → 0"),
    ] {
        page.wait_for(&format!("{} === '{expected}'", cells(place))).expect(expected);
    }
    // The signs have a text.
    let sign = page.text("document.querySelectorAll('#rows .row')[3].querySelector('.sign').ariaLabel");
    assert_eq!(sign.expect("a text"), "failed, 0");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn samples_are_opened_by_id() {
    let Some(browser) = browser("addresses of samples") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let mut writer = begin_with_two_tasks(root.path(), "two");
    let mut other = sample(0, "Lima", 1.0);
    other.task_id = "later".to_owned();
    append(&mut writer, &[sample(0, "a", 0.5), other, sample(1, "b", 1.0)]);
    let served = Served::start(root.path());
    let address = served.url("/runs/two/report");
    let title =
        "document.getElementById('detail').open && document.getElementById('detail-title').textContent";
    for (keys, expected) in
        [("sample=s-1", "s-1 t"), ("sample=s-0", "s-0 t"), ("sample=s-0&sample_task=later", "s-0 later")]
    {
        let page = browser.page(&LAPTOP).expect("a page");
        open(&page, &format!("{address}#{keys}"));
        page.wait_for(&format!("String({title}).startsWith('{expected} ')")).expect(keys);
        // The page writes the same address.
        page.run("isFollowing = false; writeAddress(false)").expect("an address");
        assert_eq!(page.text("location.hash").expect("an address"), format!("#{keys}"));
    }
    let page = browser.page(&LAPTOP).expect("a page");
    open(&page, &format!("{address}#sample=s-7"));
    let notice = "[document.getElementById('notice')].filter((one) => !one.hidden).map((one) => one.textContent).join()";
    assert_eq!(
        page.text(notice).expect("a message"),
        "This report has no sample “s-7”. Search for a part of its id."
    );
    page.run("location.hash = '#sample=s-1'").expect("another address");
    page.wait_for(&format!("String({title}).startsWith('s-1 t ')")).expect("opened");
    assert_eq!(page.text(notice).expect("no message"), "");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn formula_of_its_own_line_is_inside_the_line_of_a_row() {
    let Some(browser) = browser("formulas in rows") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let cases = [
        ("say:\n$$x^2$$", "math"),
        ("$$x^2$$", "math"),
        ("say: \\[x^2\\] then", "math"),
        ("say: $$\\unknown{x}$$", "code"),
    ];
    let records: Vec<SampleRecord> =
        (0_u64..).zip(&cases).map(|(index, (text, _))| sample(index, text, 1.0)).collect();
    whole(root.path(), "nightly", &records);
    let served = Served::start(root.path());
    let page = browser.page(&LAPTOP).expect("a page");
    open(&page, &served.url("/runs/nightly"));
    page.wait_for("document.querySelectorAll('#rows .row .answer').length === 4").expect("rows");
    page.wait_for("document.querySelector('#rows .row .answer').textContent !== ''").expect("texts");
    for (row, (text, element)) in cases.iter().enumerate() {
        // It has a size, and is inside its cell.
        let script = format!(
            "(() => {{ const cell = document.querySelectorAll('#rows .row .answer')[{row}]; const one = cell.querySelector('math, .tex');
                const [inner, outer] = [one, cell].map((element) => element.getBoundingClientRect());
                const isInside = inner.width > 0 && inner.top >= outer.top - 4 && inner.bottom <= outer.bottom + 4;
                return `${{one.localName}} ${{isInside}} ${{cell.querySelectorAll('div, pre').length}}`; }})()"
        );
        assert_eq!(page.text(&script).expect("a cell"), format!("{element} true 0"), "{text}");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
