//! Time and memory of `merge`, by the number of samples and of shards.

use crate::lab::{Lab, SHORT_ANSWERS, short_suite, size_of};
use crate::process::{Terminal, run};
use crate::server::TimedServer;
use crate::table::{Table, whole};
use anyhow::{Context as _, ensure};
use gage_load_server::completion;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Requests in flight.
const IN_FLIGHT: usize = 256;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let answer = completion(SHORT_ANSWERS[0]).prepared();
    let server = TimedServer::start(Duration::ZERO, move |_| Some(answer.clone()))?;
    let mut table = Table::new([
        "samples",
        "shards",
        "`run`, all shards",
        "`merge`",
        "samples/s",
        "journals read, MB/s",
        "peak memory",
        "undivided `run`, peak memory",
    ]);
    let most = lab.either(1_000_000, 20_000);
    for (rows, shards) in [(most / 10, 1), (most / 10, 8), (most / 10, 64), (most, 8)] {
        let figures = figures(lab, &server, rows, shards);
        table.row(figures.with_context(|| format!("with {rows} samples in {shards} shards"))?);
    }
    table.print("Merge");
    println!(
        "A server that answers at once; rows of about 78 bytes, `exact_match`. The shards run one after another, and `merge` is one \
         process from its start to its end. The results have the same bytes as those of the undivided run.\n"
    );
    Ok(())
}

/// Returns the cells of one line of the table.
fn figures(lab: &Lab, server: &TimedServer, rows: usize, shards: usize) -> anyhow::Result<[String; 8]> {
    let folder = tempfile::tempdir_in(lab.folder.path())?;
    let folder = folder.path();
    let suite = short_suite(folder, rows, IN_FLIGHT, &server.url())?;
    let runs = folder.join("runs");
    let run_as = |id: &str| {
        let mut command = Command::new(&lab.program);
        command.args(["run", "--run-id", id, "--concurrency"]).arg(IN_FLIGHT.to_string());
        command.arg("--output-dir").arg(&runs).arg(&suite);
        command
    };
    let whole_run = run(&run_as("whole"), Terminal::Silent, true, folder)?;
    let mut spent = Duration::ZERO;
    for number in 1..=shards {
        let mut command = run_as("parts");
        command.arg("--shard").arg(format!("{number}/{shards}"));
        spent += run(&command, Terminal::Silent, false, folder)?.wall;
    }
    let mut journals = 0;
    for shard in fs::read_dir(runs.join("parts/shards"))? {
        let shard = shard?.path();
        if shard.is_dir() {
            journals += size_of(&shard.join("journal"))?;
        }
    }
    let mut merge = Command::new(&lab.program);
    merge.arg("merge").arg(runs.join("parts"));
    let merged = run(&merge, Terminal::Silent, true, folder)?;
    for file in ["samples.jsonl", "summary.json"] {
        let [one, other] = ["whole", "parts"].map(|id| fs::read(runs.join(id).join(file)));
        ensure!(one? == other?, "{file} of the merged run is not that of the undivided run");
    }
    let seconds = merged.wall.as_secs_f64();
    Ok([
        whole(rows as f64),
        shards.to_string(),
        format!("{:.1} s", spent.as_secs_f64()),
        format!("{seconds:.2} s"),
        whole(rows as f64 / seconds),
        format!("{:.1}", journals as f64 / 1e6 / seconds),
        format!("{} MB", whole(merged.peak_bytes as f64 / 1e6)),
        format!("{} MB", whole(whole_run.peak_bytes as f64 / 1e6)),
    ])
}
