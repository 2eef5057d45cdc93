//! Time until the first events of a run.

use crate::lab::{Lab, Suite};
use crate::server::TimedServer;
use crate::table::{Table, median};
use anyhow::{Context as _, ensure};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Number of rows of a large suite in use, and of a first try.
const ROWS: usize = 14_000;
const FEW_ROWS: usize = 10;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let mut table = Table::new(["from the start of the process", "median", "at best"]);
    let mut row = |name: &str, values: Vec<f64>| {
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        table.row([name.to_owned(), format!("{:.1} ms", median(values)), format!("{best:.1} ms")]);
    };
    let mut helped = Vec::new();
    for _ in 0..lab.either(40, 10) {
        let began = Instant::now();
        let status = Command::new(&lab.program).arg("--help").stdout(Stdio::null()).status()?;
        helped.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(status.success(), "--help ended with {status}");
    }
    row("to the end of `--help`", helped);
    let server = TimedServer::start(Duration::ZERO, |_| None)?;
    let url = server.url();
    let suite = Suite::silent(&url, ROWS);
    // Compiles the components, and loads the file into the system's cache.
    lab.run(&suite)?;
    server.arrivals();
    let mut first = Vec::new();
    for _ in 0..lab.either(9, 3) {
        let finished = lab.run(&suite)?;
        let came = server.arrivals().first().context("no request came")?;
        first.push((came - finished.ran.began).as_secs_f64() * 1e3);
    }
    row("to the first request, 14,000 rows, compiled components in the cache", first);
    let (mut first, mut last, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..lab.either(40, 10) {
        let (began, ended) = lab.run_briefly(&url, FEW_ROWS)?;
        let arrivals = server.arrivals();
        let since = |time: Instant| (time - began).as_secs_f64() * 1e3;
        let came = arrivals.first().context("no request came")?;
        first.push(since(came));
        last.push(since(came + arrivals.lasted()));
        whole.push(since(ended));
    }
    row("to the first request, 10 rows, compiled components in the cache", first);
    row("to the last answer", last);
    row("to the end of the process", whole);
    table.print("Start");
    Ok(())
}
