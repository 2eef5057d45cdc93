//! The most memory that a run takes, by the number of its samples.

use crate::lab::{Lab, Suite};
use crate::process::Terminal;
use crate::server::TimedServer;
use crate::table::{Table, whole};
use std::time::Duration;

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let server = TimedServer::start(Duration::ZERO, |_| None)?;
    let url = server.url();
    let mut table = Table::new(["samples", "peak memory", "samples/s", "processor a sample"]);
    for rows in [1_000, 100_000, lab.either(1_000_000, 300_000)] {
        let finished = lab.run(&Suite {
            rows,
            url: &url,
            in_flight: 256,
            keys: "",
            arguments: &[],
            terminal: Terminal::Silent,
            is_watched: true,
            output: None,
        })?;
        server.arrivals();
        anyhow::ensure!(finished.samples == rows, "{} of {rows} samples are there", finished.samples);
        table.row([
            whole(rows as f64),
            format!("{} MB", whole(finished.ran.peak_bytes as f64 / 1e6)),
            whole(rows as f64 / finished.ran.wall.as_secs_f64()),
            format!("{} µs", whole(finished.ran.processor.as_secs_f64() * 1e6 / rows as f64)),
        ]);
    }
    table.print("Memory");
    println!("The whole process, reports included; a server that answers at once, 256 in flight.\n");
    Ok(())
}
