//! A run of the program as a child process: its duration, its processor time and its memory.

use anyhow::{Context as _, bail};
use std::collections::BTreeMap;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Sampling interval of a running process.
const LOOK: Duration = Duration::from_millis(20);
/// Time limit of a run.
const MAX_RUN_TIME: Duration = Duration::from_secs(600);
/// Ticks per second in /proc, the same on every Linux as seen by programs.
const TICKS: f64 = 100.0;

/// Standard error stream of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// A terminal of 100 columns, with the live view on it.
    Live,
    /// No terminal, and nothing is shown.
    Silent,
}

/// Resources used by a run of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) began: Instant,
    pub(crate) wall: Duration,
    /// Processor time of all its threads, including system time.
    pub(crate) processor: Duration,
    /// Peak memory in bytes; 0 if the system does not report it, or the run was not watched.
    pub(crate) peak_bytes: u64,
    /// Processor time by thread name, up to the last sample; empty if the run was not watched.
    pub(crate) threads: BTreeMap<String, Duration>,
}

/// Runs a command to its end. Its output is discarded, except for messages on failure. If watched, its threads and its
/// memory are sampled while it runs.
pub(crate) fn run(
    command: &Command,
    terminal: Terminal,
    is_watched: bool,
    folder: &Path,
) -> anyhow::Result<Ran> {
    let said = folder.join("said.txt");
    let id_file = folder.join("id.txt");
    let mut started = match terminal {
        Terminal::Live => in_terminal(command, &id_file),
        Terminal::Silent => silent(command, &said)?,
    };
    let before = processor_of_children();
    let began = Instant::now();
    let mut child = started.stdin(Stdio::null()).spawn().context("the program cannot be started")?;
    let mut id = (terminal == Terminal::Silent).then(|| child.id());
    let (mut peak_bytes, mut threads) = (0, BTreeMap::new());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > MAX_RUN_TIME {
            child.kill()?;
            child.wait()?;
            bail!("the program was still running after {} s", MAX_RUN_TIME.as_secs());
        }
        if is_watched && id.is_none() {
            id = read_to_string(&id_file).ok().and_then(|text| text.trim().parse().ok());
        }
        if let Some(id) = id.filter(|_| is_watched) {
            peak_bytes = peak_of(id).unwrap_or(peak_bytes);
            threads_of(id, &mut threads);
        }
        std::thread::sleep(LOOK);
    };
    let wall = began.elapsed();
    if !status.success() {
        bail!("the program ended with {status}: {}", read_to_string(&said).unwrap_or_default());
    }
    let processor = processor_of_children().saturating_sub(before);
    let _ = std::fs::remove_file(&id_file);
    let mut by_name: BTreeMap<String, Duration> = BTreeMap::new();
    for (name, spent) in threads.into_values() {
        *by_name.entry(name).or_default() += spent;
    }
    Ok(Ran { began, wall, processor, peak_bytes, threads: by_name })
}

/// Returns the command without output, except for messages, which go to a file.
fn silent(command: &Command, messages: &Path) -> std::io::Result<Command> {
    let mut silent = Command::new(command.get_program());
    silent.args(command.get_args()).arg("--quiet").stdout(Stdio::null());
    silent.stderr(std::fs::File::create(messages)?);
    Ok(silent)
}

/// A run that goes on while the caller does something else. It shows nothing, and it is killed when dropped.
pub(crate) struct BackgroundRun {
    child: Child,
    began: Instant,
    /// File with its messages.
    messages: PathBuf,
}

/// End of a [`BackgroundRun`].
pub(crate) struct RunEnd {
    pub(crate) exit_code: i32,
    pub(crate) messages: String,
}

impl BackgroundRun {
    /// Starts a command. Its messages are kept in a folder, which no other run may use meanwhile.
    pub(crate) fn start(command: &Command, folder: &Path) -> anyhow::Result<BackgroundRun> {
        let messages = folder.join("said.txt");
        let child = silent(command, &messages)?.stdin(Stdio::null()).spawn();
        let child = child.context("the program cannot be started")?;
        Ok(BackgroundRun { child, began: Instant::now(), messages })
    }

    /// Returns true if the run has ended.
    ///
    /// # Errors
    /// If it has run for too long.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        if self.child.try_wait()?.is_some() {
            return Ok(true);
        }
        if self.began.elapsed() > MAX_RUN_TIME {
            bail!("the program was still running after {} s", MAX_RUN_TIME.as_secs());
        }
        Ok(false)
    }

    /// Waits for the end, whatever the exit code is.
    ///
    /// # Errors
    /// If the run lasts too long, or a signal ends it.
    pub(crate) fn wait(mut self) -> anyhow::Result<RunEnd> {
        while !self.has_ended()? {
            std::thread::sleep(LOOK);
        }
        let status = self.child.wait()?;
        let messages = read_to_string(&self.messages).unwrap_or_default();
        let Some(exit_code) = status.code() else { bail!("the program ended with {status}: {messages}") };
        Ok(RunEnd { exit_code, messages })
    }
}

impl Drop for BackgroundRun {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command wrapped in a terminal from `script`. It writes its process id to a file.
fn in_terminal(command: &Command, id_file: &Path) -> Command {
    let quoted = |text: &std::ffi::OsStr| format!("'{}'", text.to_string_lossy().replace('\'', r"'\''"));
    let words: Vec<String> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(quoted).collect();
    let line = format!(
        "stty cols 100 rows 30; echo $$ > {}; exec {} --progress live",
        quoted(id_file.as_os_str()),
        words.join(" ")
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
    script.env("TERM", "xterm-256color").stdout(Stdio::null()).stderr(Stdio::null());
    script
}

/// Returns the processor time of all children that have ended.
pub(crate) fn processor_of_children() -> Duration {
    let ticks = || {
        let text = read_to_string("/proc/self/stat").ok()?;
        // The preceding name may contain anything, even a parenthesis.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u32>().ok();
        Some(f64::from(number(13)? + number(14)?))
    };
    Duration::from_secs_f64(ticks().unwrap_or(0.0) / TICKS)
}

/// Returns the peak memory of a process in bytes; `None` if the system does not report it.
pub(crate) fn peak_of(id: u32) -> Option<u64> {
    let text = read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Updates the processor time of every thread; one that has ended keeps its last value.
fn threads_of(id: u32, threads: &mut BTreeMap<String, (String, Duration)>) {
    let Ok(entries) = read_dir(format!("/proc/{id}/task")) else { return };
    for entry in entries.flatten() {
        let read = |name: &str| read_to_string(entry.path().join(name)).ok();
        let (Some(name), Some(spent)) = (read("comm"), read("schedstat")) else { continue };
        let Some(spent) = spent.split(' ').next().and_then(|text| text.parse().ok()) else { continue };
        let thread = entry.file_name().to_string_lossy().into_owned();
        threads.insert(thread, (name.trim().to_owned(), Duration::from_nanos(spent)));
    }
}
