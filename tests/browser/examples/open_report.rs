//! Opens a report in a browser, filters and searches it, and prints the time for that and the time without a response.
//!
//!     cargo run --release -p gage-browser --example open_report -- report.html [SCREENSHOTS]
//!
//! With a folder it also writes screenshots there, in light and dark, on a desktop and a phone.

#![expect(clippy::unwrap_used, reason = "an example fails by panicking")]

use gage_browser::{Browser, Page, Screen};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs before any script of the page: records each task that blocks the page for more than 50 ms.
const WATCH: &str = "window.longest = 0; window.busy = 0; new PerformanceObserver((list) => {
    for (const task of list.getEntries()) { window.longest = Math.max(window.longest, task.duration); window.busy += task.duration; }
  }).observe({ type: 'longtask', buffered: true });";

/// Sets a value as a person does, and waits until the list shows the result.
const FILTER: &str = "((id, value, done) => new Promise((resolve) => {
    const began = performance.now();
    const before = document.getElementById('count').textContent;
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.dispatchEvent(new Event('change', { bubbles: true }));
    const look = () => {
      const text = document.getElementById('count').textContent;
      if (done(text, before)) requestAnimationFrame(() => resolve(`${Math.round(performance.now() - began)} ms: ${text}`));
      else setTimeout(look, 2);
    };
    setTimeout(look);
  }))";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = PathBuf::from(arguments.next().unwrap()).canonicalize().unwrap();
    let browser = Browser::start(&Browser::installed().unwrap()).unwrap();
    let page = browser.page(&Screen::DESKTOP).unwrap();
    println!("file: {} bytes", std::fs::metadata(&file).unwrap().len());
    page.before_scripts(WATCH).unwrap();
    let began = Instant::now();
    page.go(&format!("file://{}", file.display())).unwrap();
    page.wait_for("document.documentElement.dataset.ready !== undefined").unwrap();
    println!("can be filtered after: {} ms", began.elapsed().as_millis());
    print_blocked_time(&page, "opening");
    let filter = |id: &str, value: &str, done: &str| {
        let text = page.text(&format!("{FILTER}('{id}', '{value}', {done})")).unwrap();
        println!("{id} '{value}': {text}");
        print_blocked_time(&page, id);
    };
    const CHANGED: &str = "(text, before) => text !== before && !text.includes('searching')";
    filter("outcome", "1", CHANGED);
    filter("outcome", "", CHANGED);
    filter("order", "low 0", "() => true");
    filter("order", "", "() => true");
    // An id is found at once, a text only after a search of all texts.
    filter("query", "reading-0500", CHANGED);
    filter("query", "question 12345:", "(text) => /^[1-9]/.test(text) && !text.includes('searching')");
    let memory = page.run("performance.memory.usedJSHeapSize").unwrap();
    println!("memory of the script: {} MB", memory.as_u64().unwrap() / 1_000_000);
    if let Some(folder) = arguments.next() {
        write_screenshots(&page, Path::new(&folder));
    }
}

fn print_blocked_time(page: &Page, what: &str) {
    let text = "(() => { const text = `${Math.round(window.longest)} ms at a time, ${Math.round(window.busy)} ms in all`; window.longest = 0; window.busy = 0; return text; })()";
    println!("  {what} did not respond for at most {}", page.text(text).unwrap());
}

fn write_screenshots(page: &Page, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, screen) in [("desktop", Screen::DESKTOP), ("phone", Screen::PHONE)] {
        for (colours, screen) in [("light", screen), ("dark", screen.dark())] {
            page.show_on(&screen).unwrap();
            page.screenshot(&folder.join(format!("{name}-{colours}.png")), true).unwrap();
        }
    }
}
