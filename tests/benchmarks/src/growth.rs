//! Time and memory of a run of short rows, and of the commands that read the run, by the number of its samples.

use crate::lab::{Lab, SHORT_ANSWERS, short_suite, size_of};
use crate::process::{Ran, Terminal, peak_of, run};
use crate::server::TimedServer;
use crate::table::{Table, whole};
use crate::viewer::Viewer;
use anyhow::{Context as _, ensure};
use gage_load_server::completion;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Requests in flight.
const IN_FLIGHT: usize = 256;
/// The server gives the first answer, except to every tenth request, so that runs differ.
const OTHER_ANSWER_EVERY: usize = 10;
/// Time limit of each read from the viewer.
const MAX_PAGE_WAIT: Duration = Duration::from_secs(600);

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let asked = AtomicUsize::new(0);
    let [usual, other] = SHORT_ANSWERS.map(|answer| completion(answer).prepared());
    let server = TimedServer::start(Duration::ZERO, move |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        Some(if number.is_multiple_of(OTHER_ANSWER_EVERY) { other.clone() } else { usual.clone() })
    })?;
    let mut table = Table::new([
        "samples",
        "`run`, a sample",
        "peak memory",
        "on disk a sample",
        "`report`",
        "`view`",
        "`compare`",
        "`resume`",
        "`verify`",
        "`score`",
    ]);
    for factor in [1, 10, 100] {
        let rows = lab.either(10_000, 1_000) * factor;
        table.row(figures(lab, &server, rows).with_context(|| format!("with {rows} samples"))?);
    }
    table.print("Growth");
    println!(
        "A server that answers at once, {IN_FLIGHT} in flight; rows of about 78 bytes, `exact_match`. Each command is one \
         process from its start to its end, with its peak memory; `run` is the second of two runs, which `compare` compares. \
         `view` is the page with all samples, from its request to the end of the answer. `resume` is of the complete run, and `score` \
         is by `contains`.\n"
    );
    Ok(())
}

/// Returns the cells of one line of the table.
fn figures(lab: &Lab, server: &TimedServer, rows: usize) -> anyhow::Result<[String; 10]> {
    let folder = tempfile::tempdir_in(lab.folder.path())?;
    let folder = folder.path();
    let suite = short_suite(folder, rows, IN_FLIGHT, &server.url())?;
    let runs = folder.join("runs");
    let (base, new) = (runs.join("a"), runs.join("b"));
    let command = |name: &str| {
        let mut command = Command::new(&lab.program);
        command.arg(name);
        command
    };
    let run_as = |id: &str| {
        let mut command = command("run");
        command.args(["--run-id", id, "--concurrency"]).arg(IN_FLIGHT.to_string());
        command.arg("--output-dir").arg(&runs).arg(&suite);
        command
    };
    let watched = |command: &Command| run(command, Terminal::Silent, true, folder);
    watched(&run_as("a"))?;
    let ran = watched(&run_as("b"))?;
    let requests = server.arrivals().count();
    ensure!(requests == 2 * rows, "{requests} requests came from two runs of {rows} samples");
    let bytes = size_of(&new)?;
    let report = watched(command("report").arg(&base).arg("--output").arg(folder.join("report.html")))?;
    let view = view(lab, &runs, "a")?;
    let compare = watched(command("compare").arg(&base).arg(&new))?;
    let resume = watched(run_as("a").arg("--resume"))?;
    ensure!(server.arrivals().count() == 0, "the complete run asked again when it was resumed");
    let verify = watched(command("verify").arg(&base))?;
    let score = watched(command("score").arg(&base).args(["--metric", "contains", "--run-id", "scored"]))?;
    let of_process = |ran: &Ran| cost(ran.wall, ran.peak_bytes);
    Ok([
        whole(rows as f64),
        format!("{:.1} µs", ran.wall.as_secs_f64() * 1e6 / rows as f64),
        megabytes(ran.peak_bytes),
        format!("{} B", whole(bytes as f64 / rows as f64)),
        of_process(&report),
        format!("{}, {:.1} MB sent", cost(view.wall, view.peak_bytes), view.sent as f64 / 1e6),
        of_process(&compare),
        of_process(&resume),
        of_process(&verify),
        of_process(&score),
    ])
}

fn cost(wall: Duration, peak_bytes: u64) -> String {
    format!("{:.2} s, {}", wall.as_secs_f64(), megabytes(peak_bytes))
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", whole(bytes as f64 / 1e6))
}

/// The page of a run.
struct RunPage {
    wall: Duration,
    /// Peak memory of the viewer after the page.
    peak_bytes: u64,
    /// Bytes of the answer, including its headers.
    sent: usize,
}

/// Starts a viewer and requests the page with all samples of a run from it. The page requests nothing more.
fn view(lab: &Lab, runs: &Path, id: &str) -> anyhow::Result<RunPage> {
    let viewer = Viewer::start(lab, runs)?;
    let address = viewer.address();
    // The viewer answers its first request when it has opened its index.
    page(address, "/")?;
    let began = Instant::now();
    let answer = page(address, &format!("/runs/{id}?whole=1"))?;
    let wall = began.elapsed();
    // The report is sent in chunks, and the last one is empty.
    ensure!(answer.ends_with(b"\r\n0\r\n\r\n"), "the page of the run is not complete");
    let peak_bytes = peak_of(viewer.process_id()).unwrap_or(0);
    Ok(RunPage { wall, peak_bytes, sent: answer.len() })
}

/// Requests a page and returns the whole answer.
fn page(address: &str, path: &str) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(MAX_PAGE_WAIT))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let status = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
    ensure!(status.starts_with(b"HTTP/1.1 200 "), "{path}: {}", String::from_utf8_lossy(status));
    Ok(answer)
}
