//! Tries new inputs of each target for some minutes of processor time:
//!
//! ```text
//! cargo run -p gage-fuzz --example fuzz -- MINUTES [TARGET…]
//! ```
//!
//! Each target runs in a process of its own, so that one that is killed does not stop the others. Failing inputs are in
//! `target/fuzz`. The file `current` there is the input that was tried last: after a crash, it is the one that crashed.

use gage_fuzz::campaign::{
    FailingInput, InputChoice, InputCounts, failures_folder, on_thread, save, try_inputs,
};
use gage_fuzz::{TARGETS, Target};
use rustix::time::{ClockId, clock_gettime};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Option of the processes that run one target.
const OF_ONE_TARGET: &str = "--one";

/// Inputs between two looks at the clock.
const BATCH_INPUTS: u32 = 256;

/// Failing inputs after which a target ends.
const MAX_FAILURES: usize = 10;

/// Maximum memory of a target, in bytes. No input is larger than 64 KiB.
const MAX_MEMORY_BYTES: u64 = 2 << 30;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [OF_ONE_TARGET, minutes, name] => minutes_of(minutes).and_then(|time| run_one(name, time)),
        [minutes, names @ ..] => minutes_of(minutes).and_then(|_| run_all(minutes, names)),
        [] => Err("usage: fuzz MINUTES [TARGET…]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn minutes_of(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| *minutes > 0.0);
    let time = minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    time.ok_or_else(|| format!("`{text}` is not a number of minutes"))
}

fn target_named(name: &str) -> Result<&'static Target, String> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .ok_or_else(|| format!("there is no target `{name}`; targets are: {}", names()))
}

/// Runs the named targets, or all of them, one after another.
fn run_all(minutes: &str, names: &[&str]) -> Result<(), String> {
    let names: Vec<&str> = match names {
        [] => TARGETS.iter().map(|target| target.name).collect(),
        names => names.to_vec(),
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut failed = Vec::new();
    for name in names {
        let target = target_named(name)?;
        let status = Command::new(&program).args([OF_ONE_TARGET, minutes, name]).status();
        let status = status.map_err(|error| error.to_string())?;
        // A signal has no code.
        if status.code().is_none() {
            let input = failures_folder(target).join("current");
            eprintln!("{name}: {status}; the input is in {}", input.display());
        }
        if !status.success() {
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// Runs a target for some time of the processor, and prints what it tried.
fn run_one(name: &str, time: Duration) -> Result<(), String> {
    let target = target_named(name)?;
    on_thread(target, || {
        let folder = failures_folder(target);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let current = folder.join("current");
        // If an input cannot be written, only a crash loses it.
        let before = |input: &[u8]| drop(std::fs::write(&current, input));
        let (mut tried, mut accepted, mut failures) = (0, 0, Vec::new());
        while processor_time() < time && failures.len() < MAX_FAILURES {
            match try_inputs(target, BATCH_INPUTS, InputChoice::New, &before) {
                Ok(counts) => {
                    tried += counts.tried;
                    accepted += counts.accepted;
                }
                Err(failing) => {
                    let path = save(target, &failing).map_err(|error| error.to_string())?;
                    eprintln!("{name}: {}: {}", path.display(), shown(&failing));
                    failures.push(path);
                }
            }
            if peak_memory() > MAX_MEMORY_BYTES {
                return Err(format!(
                    "{name}: more than {} MiB of memory were in use",
                    MAX_MEMORY_BYTES >> 20
                ));
            }
        }
        let counts = InputCounts { tried, accepted };
        println!("{}", summary(name, counts, failures.len()));
        if failures.is_empty() { Ok(()) } else { Err(format!("{name}: {} inputs fail", failures.len())) }
    })?
}

/// Returns the reason and the start of the input.
fn shown(failing: &FailingInput) -> String {
    let text = format!("{}: {:?}", failing.reason, failing.input);
    text.chars().take(2_000).collect()
}

fn summary(name: &str, counts: InputCounts, failures: usize) -> String {
    let InputCounts { tried, accepted } = counts;
    let (seconds, memory) = (processor_time().as_secs(), peak_memory() >> 20);
    format!("{name}: {tried} inputs, {accepted} accepted, {failures} failed, {seconds} s, {memory} MiB")
}

/// Returns the processor time of this process.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Returns the largest memory that this process has used, in bytes; 0 if the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap_or_default();
    kibibytes << 10
}
