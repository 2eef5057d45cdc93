//! Writes the report of one or more runs, and prints how long it took.
//!
//!     cargo run --release -p gage-html --example html_report -- report.html RUN [RUN…]

use gage_compare::{CompareOptions, compare};
use gage_figures::RecordedRun;
use gage_html::write_html_file;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let output = arguments.next().ok_or("usage: html_report FILE RUN [RUN…]")?;
    let began = Instant::now();
    let sources = arguments.map(|run| RecordedRun::open(&run)).collect::<Result<Vec<_>, _>>()?;
    let mut comparisons = Vec::new();
    for new in sources.iter().skip(1) {
        comparisons.push(compare(&sources[0], new, &CompareOptions::default())?);
    }
    println!("read and compared: {:.2} s", began.elapsed().as_secs_f64());
    let written = write_html_file(&output, &sources, &comparisons, &|_, _| None)?;
    println!("{} samples, {} bytes: {:.2} s", written.samples, written.bytes, began.elapsed().as_secs_f64());
    Ok(())
}
