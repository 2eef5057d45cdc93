//! Takes screenshots of an address, in light and dark, on a desktop and a phone.
//!
//!     cargo run -p gage-browser --example screenshots -- http://127.0.0.1:7878/ FOLDER NAME [SCRIPT]
//!
//! The script runs on the page before its screenshot, for instance to open a sample.

#![expect(clippy::unwrap_used, reason = "an example fails by panicking")]

use gage_browser::{Browser, Screen};
use std::path::PathBuf;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap();
    let folder = PathBuf::from(arguments.next().unwrap());
    let name = arguments.next().unwrap();
    let script = arguments.next();
    std::fs::create_dir_all(&folder).unwrap();
    let browser = Browser::start(&Browser::installed().unwrap()).unwrap();
    for (size, screen) in [("desktop", Screen::DESKTOP), ("phone", Screen::PHONE)] {
        for (colours, screen) in [("light", screen), ("dark", screen.dark())] {
            let page = browser.page(&screen).unwrap();
            page.go(&address).unwrap();
            page.wait_for("document.documentElement.dataset.ready !== undefined").unwrap();
            if let Some(script) = &script {
                page.run(script).unwrap();
            }
            page.screenshot(&folder.join(format!("{name}-{size}-{colours}.png")), script.is_none()).unwrap();
            let width = page.run("document.documentElement.scrollWidth").unwrap();
            println!("{name} {size} {colours}: {width} pixels wide {:?}", page.take_log());
        }
    }
}
