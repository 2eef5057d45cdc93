//! Hostile text has no effect other than being displayed.

use crate::support::{Served, append, begin, browser, complaints, failed, sample, whole};
use gage_browser::Screen;
use gage_record::format::EVENTS_FILE;
use serde_json::json;

const MARKUP: &str = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\
    <style>body{display:none}</style><base href=//evil.example/><a href=javascript:alert(1)>";

#[test]
fn markup_escapes_directions_and_a_megabyte_are_only_text() {
    let Some(browser) = browser("hostile text in a report") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let ansi = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J";
    let directions = "\u{202e}gnp.exe\u{2066}\u{200f} שלום العربية";
    let long = "long ".repeat(1 << 18);
    let mut records =
        vec![sample(0, MARKUP, 0.0), sample(1, ansi, 0.0), sample(2, directions, 0.0), sample(3, &long, 0.0)];
    records[0].sample_id = MARKUP.to_owned();
    records[0].judge_output = Some(json!({"explanation": MARKUP, "replies": [MARKUP]}));
    records[0].metrics[0].card.as_mut().expect("a card").error_tags = vec![MARKUP.to_owned()];
    records[0].metrics[0].card.as_mut().expect("a card").explain = Some(MARKUP.to_owned());
    records.push(failed(4, MARKUP));
    whole(root.path(), "hostile", &records);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/hostile")).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
    let scripts = page.run("document.querySelectorAll('script:not([data-block])').length").expect("scripts");
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("Home").expect("a key");
    page.press("Enter").expect("a key");
    let shown = [
        "javascript:alert(1)",
        "␛[31mred␛]0;title␇‹U+009B›2J",
        "‹U+202E›gnp.exe‹U+2066›‹U+200F›",
        "Show all 1,310,720 characters",
        "timeout",
    ];
    for (number, text) in shown.iter().enumerate() {
        let title = format!("'{} of 5'", number + 1);
        page.wait_for(&format!("document.getElementById('detail-title')?.textContent.includes({title})"))
            .expect("a sample");
        let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
        assert!(detail.contains(text), "{text}: {}", &detail[..detail.len().min(2_000)]);
        assert!(detail.len() < 100_000, "the end of a long text waits: {} bytes", detail.len());
        if *text == "Show all 1,310,720 characters" {
            page.run("[...document.querySelectorAll('#detail button')].find((one) => one.textContent.startsWith('Show all')).click()")
                .expect("all of it");
            let length = page.run("document.getElementById('detail').innerText.length").expect("a length");
            assert!(length.as_u64() > Some(1_310_000), "{length}");
        }
        page.press("j").expect("a key");
    }
    assert_eq!(page.text("document.title").expect("a title"), "hostile – gage-host");
    assert_eq!(
        page.run("document.querySelectorAll('script:not([data-block])').length").expect("scripts"),
        scripts
    );
    assert_eq!(
        page.run("document.images.length + document.querySelectorAll('base').length").expect("none"),
        json!(0)
    );
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// A browser recomputes the layout of a word for every line that it is broken into, up to a place where letters do
/// not touch. With kerning, joining or combining letters, that is the whole word, and the page freezes for seconds.
#[test]
fn words_of_any_length_are_laid_out_in_pieces() {
    let Some(browser) = browser("long words in a report") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let words = ["A", "\u{645}", "\u{e01}\u{e34}", "e\u{301}", "\u{1f469}\u{200d}", "\u{6f22}"];
    let records: Vec<_> = (0..)
        .zip(words)
        .map(|(index, letters)| sample(index, &letters.repeat(60_000 / letters.chars().count()), 0.0))
        .collect();
    whole(root.path(), "words", &records);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/words")).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("Enter").expect("a key");
    // The longest text without a line break opportunity, in code points, and the whole text read.
    let longest = "(() => { const walker = document.createTreeWalker(document.getElementById('detail'), NodeFilter.SHOW_TEXT);
        let longest = 0; while (walker.nextNode()) for (const word of walker.currentNode.data.split(/\\s/)) longest = Math.max(longest, [...word].length);
        return longest; })()";
    let answer = "document.querySelector('#detail .answer pre').textContent";
    for (number, record) in records.iter().enumerate() {
        let title = format!("'{} of 6'", number + 1);
        page.wait_for(&format!("document.getElementById('detail-title')?.textContent.includes({title})"))
            .expect("a sample");
        let show_all = "[...document.querySelectorAll('#detail button')].find((one) => one.textContent.startsWith('Show all'))";
        for is_whole in [false, true] {
            if is_whole {
                page.run(&format!("{show_all}.click()")).expect("all of it");
            }
            let pieces = page.run(longest).expect("a length").as_u64().expect("a number");
            assert!((200..=270).contains(&pieces), "{title}, {is_whole}: {pieces}");
            let shown = page.text(answer).expect("an answer");
            let written =
                record.model_output.as_ref().expect("an answer")["answer"].as_str().expect("a text");
            assert!(written.starts_with(&shown), "{title}, {is_whole}");
            assert!(!is_whole || shown == written, "{title}");
        }
        page.press("j").expect("a key");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

/// Markdown and TeX that are deep, long or without an end are shown as source.
#[test]
fn bombs_of_markdown_and_tex_stay_small() {
    let Some(browser) = browser("bombs in a report") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let bombs = [
        format!("${}a{}$", "\\frac{".repeat(300), "}{b}".repeat(300)),
        format!("$${}$$", "\\begin{matrix}a&".repeat(120)),
        "\\(x".repeat(13_000),
        "> ".repeat(19_000) + "a",
        "[".repeat(39_000),
        "**a _b_ ".repeat(4_900),
        "- a\n\n".repeat(7_000),
        format!("|{}\n|{}", "a|".repeat(9_000), "-|".repeat(9_000)),
        "`".repeat(39_000),
        format!("# {}x", " ".repeat(39_000)),
    ];
    let records: Vec<_> = (0..).zip(&bombs).map(|(index, bomb)| sample(index, bomb, 0.0)).collect();
    whole(root.path(), "bombs", &records);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/bombs")).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("Enter").expect("a key");
    for number in 1..=bombs.len() {
        let title = format!("'{number} of {}'", bombs.len());
        page.wait_for(&format!("document.getElementById('detail-title')?.textContent.includes({title})"))
            .expect("a sample");
        let elements = page.run("document.querySelectorAll('#detail *').length").expect("a number");
        assert!(elements.as_u64() < Some(8_000), "{number}: {elements}");
        page.press("j").expect("a key");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn markdown_makes_no_link_picture_or_markup() {
    let Some(browser) = browser("hostile Markdown") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let answer = format!(
        "# {MARKUP}\n\n**bold {MARKUP}**\n\n[a link](javascript:alert(1)) ![a picture](//evil.example/x.png)\n\n```html\n{MARKUP}\n```\n\n\
         $x^2 < \\text{{{MARKUP}}}$ $\\constructor$"
    );
    let mut record = sample(0, &answer, 0.0);
    let picture = format!("data:image/png;base64,{}", "A".repeat(9_000_000));
    record.sample = json!({
        "id": "s-0",
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What *is* it?"}, {"type": "image_url", "image_url": {"url": picture}},
        ]}],
    })
    .into();
    whole(root.path(), "markdown", &[record]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/runs/markdown")).expect("the page");
    page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the report");
    page.run("document.getElementById('list').focus()").expect("focus");
    page.press("Enter").expect("a key");
    page.wait_for("document.querySelector('#detail .answer strong') !== null").expect("Markdown");
    let found = "['a', 'script', 'base', 'style', 'img', 'iframe'].map((name) => document.querySelectorAll(`#detail ${name}`).length).join()";
    assert_eq!(page.text(found).expect("a text"), "0,0,0,0,0,0");
    let detail = page.text("document.getElementById('detail').innerText").expect("a sample");
    for part in [
        "<img src=x onerror=",
        "a link (javascript:alert(1)",
        "[picture: a picture //evil.example/x.png]",
        "\\constructor",
        "Show image/png of 6.8 MB",
    ] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
    assert_eq!(page.text("document.title").expect("a title"), "markdown – gage-host");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn what_goes_on_is_only_text_as_well() {
    let Some(browser) = browser("hostile text in a live page") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let (folder, _manifest, mut writer) = begin(root.path(), "running");
    append(&mut writer, &[sample(0, "a", 1.0), failed(1, MARKUP)]);
    let event = json!({
        "kind": "sample_not_scored", "level": "warn", "unix_ms": 1, "task_id": "t", "sample_id": MARKUP,
        "payload": {"outcome": "backend_error", "error": {"message": format!("{MARKUP}\u{202e}\u{1b}[2J")}},
    });
    std::fs::write(folder.path().join(EVENTS_FILE), format!("{event}\n")).expect("events");
    let served = Served::start(root.path());
    let page = browser.page(&Screen::PHONE).expect("a page");
    page.go(&served.url("/runs/running")).expect("the page");
    page.wait_for("document.getElementById('events').innerText.includes('javascript:alert(1)')")
        .expect("events");
    let happened = page.text("document.getElementById('events').innerText").expect("events");
    assert!(happened.contains("‹U+202E›␛[2J"), "{happened}");
    assert!(!page.text("document.title").expect("a title").contains("owned"));
    assert_eq!(page.run("document.images.length").expect("none"), json!(0));
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}

#[test]
fn scores_as_large_as_numbers_go_are_drawn() {
    let Some(browser) = browser("huge scores in a report") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let scores = [f64::MAX, -f64::MAX, 1e308, 5.0, 0.0, -1e-308, f64::MIN_POSITIVE, 1e100];
    let records: Vec<_> = (0..).zip(scores).map(|(index, score)| sample(index, "a", score)).collect();
    whole(root.path(), "huge", &records);
    whole(root.path(), "largest", &[sample(0, "a", f64::MAX), sample(1, "b", f64::MAX)]);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    // Broken or out-of-range numbers cannot be drawn.
    let broken = "[...document.querySelectorAll('svg *')].flatMap((one) => [...one.attributes])\
        .filter((one) => /NaN|Infinity|undefined/.test(one.value)).map((one) => one.value).join(' | ')";
    for (path, shown) in [
        ("/runs/huge", "document.querySelectorAll('#distributions rect').length >= 3"),
        ("/runs/largest", "document.querySelectorAll('#distributions rect').length === 1"),
        ("/compare?run=huge&run=largest", "document.querySelectorAll('#distributions rect').length >= 4"),
        ("/history", "document.querySelectorAll('#trends circle').length > 0"),
        ("/", "document.querySelectorAll('#runs tbody tr').length === 2"),
    ] {
        page.go(&served.url(path)).expect("the page");
        page.wait_for("document.documentElement.dataset.ready !== undefined").expect("the page");
        page.wait_for(shown).expect("what is drawn");
        assert_eq!(page.text(broken).expect("a text"), "", "{path}");
        let text = page.text("document.body.innerText").expect("a text");
        assert!(!text.contains("NaN") && !text.contains("Infinity"), "{path}: {text}");
    }
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
