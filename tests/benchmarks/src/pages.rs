//! Time until a browser shows the page of a large run, and can filter it.

use crate::lab::{Lab, SHORT_ANSWERS, short_suite};
use crate::process::{Terminal, peak_of, run};
use crate::server::TimedServer;
use crate::table::{Table, whole};
use crate::viewer::Viewer;
use anyhow::{Context as _, ensure};
use gage_browser::{Browser, Page, Screen};
use gage_load_server::completion;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Requests in flight.
const IN_FLIGHT: usize = 256;

/// Becomes true when the list has samples, and when the page has all of them and can be filtered.
const HAS_ROWS: &str = "document.querySelector('#rows .row') !== null";
const IS_READY: &str = "document.documentElement?.dataset.ready !== undefined";
/// Memory of the script, in bytes.
const SCRIPT_MEMORY: &str = "performance.memory.usedJSHeapSize";
/// Folder with the blocks of a page, in the folder of a run.
const PAGE_FOLDER: &str = "page";

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let Some(program) = Browser::installed() else {
        println!("**Pages** are not measured: there is no Chromium here.\n");
        return Ok(());
    };
    let answer = completion(SHORT_ANSWERS[0]).prepared();
    let server = TimedServer::start(Duration::ZERO, move |_| Some(answer.clone()))?;
    let browser = Browser::start(&program)?;
    let mut table = Table::new(["page", "samples", "first rows", "can be filtered", "script", "viewer"]);
    let many = lab.either(1_000_000, 50_000);
    let runs = tempfile::tempdir_in(lab.folder.path())?;
    let folder = write_run(lab, runs.path(), &server, many)?;
    let viewer = Viewer::start(lab, &runs.path().join("runs"))?;
    let address = format!("http://{}/runs/run", viewer.address());
    // The viewer answers its first request when it has opened its index.
    opened(&browser, &format!("http://{}/", viewer.address()), "document.readyState === 'complete'")?;
    for (name, is_built) in [("`view`", true), ("`view`, blocks to be built", false)] {
        if !is_built {
            fs::remove_dir_all(folder.join(PAGE_FOLDER)).context("the run has no blocks")?;
        }
        let shown = shown(&browser, &address)?;
        let peak_bytes = peak_of(viewer.process_id()).unwrap_or(0);
        table.row(shown.cells(name, many, &megabytes(peak_bytes)));
    }
    drop(viewer);
    let fewer = lab.either(100_000, 20_000);
    let runs = tempfile::tempdir_in(lab.folder.path())?;
    let folder = write_run(lab, runs.path(), &server, fewer)?;
    let report = runs.path().join("report.html");
    let mut command = Command::new(&lab.program);
    command.arg("report").arg(&folder).arg("--output").arg(&report);
    run(&command, Terminal::Silent, true, runs.path())?;
    let shown = shown(&browser, &format!("file://{}", report.display()))?;
    table.row(shown.cells("`report`", fewer, "–"));
    table.print("Pages");
    println!(
        "From the request until a headless Chromium shows the first rows of the list, and until the page has all samples and \
         draws its plots. The aims are 2 s for `view` of 1,000,000 and 3 s for `report` of 100,000.\n"
    );
    Ok(())
}

/// Runs a suite of short rows, and returns the folder of the run.
fn write_run(lab: &Lab, folder: &Path, server: &TimedServer, rows: usize) -> anyhow::Result<PathBuf> {
    let suite = short_suite(folder, rows, IN_FLIGHT, &server.url())?;
    let runs = folder.join("runs");
    let mut command = Command::new(&lab.program);
    command.args(["run", "--run-id", "run", "--concurrency"]).arg(IN_FLIGHT.to_string());
    command.arg("--output-dir").arg(&runs).arg(&suite);
    run(&command, Terminal::Silent, true, folder)?;
    let requests = server.arrivals().count();
    ensure!(requests == rows, "{requests} requests came from a run of {rows} samples");
    Ok(runs.join("run"))
}

/// Time and memory that a browser needed for a page.
struct ShownPage {
    first_rows: Duration,
    ready: Duration,
    script_bytes: u64,
}

impl ShownPage {
    fn cells(&self, name: &str, samples: usize, viewer: &str) -> [String; 6] {
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        [
            name.to_owned(),
            whole(samples as f64),
            seconds(self.first_rows),
            seconds(self.ready),
            megabytes(self.script_bytes),
            viewer.to_owned(),
        ]
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", whole(bytes as f64 / 1e6))
}

/// Opens the page of a run, and waits until it can be filtered.
fn shown(browser: &Browser, address: &str) -> anyhow::Result<ShownPage> {
    let began = Instant::now();
    let page = opened(browser, address, HAS_ROWS)?;
    let first_rows = began.elapsed();
    page.wait_for(IS_READY)?;
    let ready = began.elapsed();
    let script_bytes = page.run(SCRIPT_MEMORY)?.as_u64().unwrap_or(0);
    Ok(ShownPage { first_rows, ready, script_bytes })
}

/// Opens a page, and waits for a condition.
fn opened(browser: &Browser, address: &str, condition: &str) -> anyhow::Result<Page> {
    let page = browser.page(&Screen::DESKTOP)?;
    page.go(address)?;
    page.wait_for(condition)?;
    Ok(page)
}
