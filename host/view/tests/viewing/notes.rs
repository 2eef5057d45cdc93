//! Labels and notes of a person.

use crate::support::{Served, browser, complaints, forty, whole};
use gage_browser::Screen;
use serde_json::json;

#[test]
fn labels_and_notes_are_kept_next_to_the_run() {
    let Some(browser) = browser("notes") else { return };
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "nightly", &forty(0));
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    let address = served.url("/runs/nightly#sample=s-3");
    let open = || {
        page.go(&address).expect("the page");
        page.wait_for("document.getElementById('detail')?.open").expect("a sample");
    };
    let is_saved = "document.querySelector('#detail .note [role=status]').textContent === 'Saved.'";
    open();
    page.run("document.querySelector('#detail .note [data-label=\"1\"]').click()").expect("a label");
    page.wait_for(is_saved).expect("saved");
    let write = "(() => { const field = document.querySelector('#detail textarea'); field.value = 'good <b>'; \
                 field.dispatchEvent(new Event('change')); })()";
    page.run(write).expect("a note");
    page.wait_for(is_saved).expect("saved");
    let notes = served.json("/data/runs/nightly/notes");
    assert_eq!(notes.as_array().map(Vec::len), Some(1), "{notes}");
    assert_eq!(
        (&notes[0]["task_id"], &notes[0]["sample_id"], &notes[0]["label"], &notes[0]["note"]),
        (&json!("t"), &json!("s-3"), &json!(1.0), &json!("good <b>"))
    );
    let file = std::fs::read_to_string(root.path().join("nightly/notes.jsonl")).expect("notes");
    assert_eq!(file.lines().count(), 1, "{file}");

    // They are there when the page is opened again.
    page.go(&served.url("/")).expect("the list");
    open();
    let shown = "`${document.querySelector('#detail [aria-pressed=true]').textContent} ${document.querySelector('#detail textarea').value}`";
    assert_eq!(page.text(shown).expect("a note"), "Right good <b>");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
