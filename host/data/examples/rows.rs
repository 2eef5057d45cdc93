//! Measures the speed and memory of converting a dataset into Samples, compared to a loop that reads and parses
//! lines.
//!
//! `cargo run --release --package gage-data --example rows -- PROGRAM [ROWS]`: creates a file of rows in the folder
//! for temporary files, default 1,000,000, and runs `PROGRAM data validate` on it.

use std::error::Error;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("give the path of gage-host")?;
    let rows: u32 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.jsonl");
    write(&path, rows)?;
    // Compiles the components, and loads the file into the page cache.
    validate(&program, &path)?;
    for round in 1..=3 {
        let plain = parse(&path)?;
        let (seconds, peak) = validate(&program, &path)?;
        let rate = |seconds: f64| f64::from(rows) / seconds;
        println!(
            "round {round}: a loop of serde_json {:.0} rows/s, data validate {:.0} rows/s ({:.2} of it), peak {peak}",
            rate(plain),
            rate(seconds),
            plain / seconds,
        );
    }
    Ok(())
}

/// Writes rows as in older datasets: a question, an answer, and a few further fields.
fn write(path: &Path, rows: u32) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let filler = "because the river bends to the north before it meets the sea and the old town ";
    for number in 0..rows {
        writeln!(
            file,
            r#"{{"id":"q{number}","question":"What is {number} plus {}, {filler}?","answer":"{}","level":{},"topic":"sums","source":{{"page":{},"book":"one"}}}}"#,
            number % 97,
            number + number % 97,
            number % 5,
            number % 300,
        )?;
    }
    Ok(file.flush()?)
}

/// Counts and parses lines. Returns the seconds taken.
fn parse(path: &Path) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    let mut file = BufReader::with_capacity(1 << 18, std::fs::File::open(path)?);
    let (mut line, mut objects) = (String::new(), 0_u64);
    while file.read_line(&mut line)? > 0 {
        let value: serde_json::Value = serde_json::from_str(&line)?;
        objects += u64::from(value.is_object());
        line.clear();
    }
    println!("  {objects} objects of {} bytes in all", std::fs::metadata(path)?.len());
    Ok(began.elapsed().as_secs_f64())
}

/// Validates the file. Returns the seconds taken, and the peak memory as reported by the system.
fn validate(program: &str, path: &Path) -> Result<(f64, String), Box<dyn Error>> {
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(["data", "validate", "--quiet"])
        .arg(path)
        .stdout(std::process::Stdio::null())
        .spawn()?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = "unknown".to_owned();
    let status = loop {
        if let Ok(text) = std::fs::read_to_string(&status_file)
            && let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))
        {
            line.trim().clone_into(&mut peak);
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    match status.success() {
        true => Ok((began.elapsed().as_secs_f64(), peak)),
        false => Err(format!("{program} ended with {status}").into()),
    }
}
