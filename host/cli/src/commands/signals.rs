//! Signals: the first one ends a run gracefully, the second one ends the process.

#[cfg(unix)]
mod at_once;

use super::next_command;
#[cfg(not(unix))]
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::spawn_thread;
use gage_runner::CancelToken;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lets a signal end the process with a line, until a command handles the first one itself.
pub(super) fn end_with_line() {
    #[cfg(unix)]
    if let Err(error) = at_once::install() {
        tracing::debug!(%error, "a signal will end the process without a line");
    }
}

/// Listens for signals on its own thread, and sets the token at the first one. The second one ends the process. In both
/// cases the journal contains every acknowledged sample. `has_samples` is true once samples may be in flight. A process
/// listens once: its runs share their token.
///
/// # Errors
/// Fails if no thread or file descriptor is available.
pub(super) fn stop_on_signal(stop: CancelToken, has_samples: Arc<AtomicBool>) -> std::io::Result<()> {
    static IS_LISTENING: AtomicBool = AtomicBool::new(false);
    if IS_LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    spawn_thread("signals", move || runtime.block_on(wait_and_stop(stop, &has_samples)))?;
    Ok(())
}

/// Ends the run gracefully at the first signal.
async fn wait_and_stop(stop: CancelToken, has_samples: &AtomicBool) {
    let first = signal();
    #[cfg(unix)]
    at_once::set_final_message(format!(
        "\nended at once\nnext: {}\n",
        gage_core::printable_line(&next_command::after_abort())
    ));
    first.await;
    stop.cancel();
    // This may block, and so may every thread: the second signal needs none of them.
    let after = if has_samples.load(Ordering::Relaxed) { " after the samples in flight" } else { "" };
    terminal::eprint_line(format_args!("\nstopping{after}; press Ctrl-C again to stop at once"));
    #[cfg(not(unix))]
    {
        signal().await;
        terminal::eprint_line("ended at once");
        next_command::print(&next_command::after_abort());
        std::process::exit(ExitCode::Interrupted as i32);
    }
}

/// Ends the process at the second signal: SIGINT or SIGTERM. A hangup counts as the first signal, but not as the second:
/// both the terminal and the shell may send one.
#[cfg(unix)]
fn end_at_second_signal() -> std::io::Result<()> {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    at_once::await_first()?;
    if !IS_INSTALLED.swap(true, Ordering::SeqCst) && !is_hangup_ignored() {
        signal_hook::flag::register(signal_hook::consts::SIGHUP, &at_once::HAS_RECEIVED_ONE)?;
    }
    Ok(())
}

/// Turns the file size limit (`ulimit -f`) into a write error, as for a full disk. Otherwise it would end the process
/// without a message.
#[cfg(unix)]
pub(super) fn full_files_are_errors() {
    /// SIGXFSZ on Linux, macOS and the BSDs.
    const FILE_TOO_LARGE: i32 = 25;
    let listening = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let _entered = runtime.enter();
        // The handler stays installed, so nothing needs to be received.
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_TOO_LARGE))
    });
    if let Err(error) = listening {
        tracing::debug!(%error, "a limit on the size of files will end the process");
    }
}

#[cfg(not(unix))]
pub(super) fn full_files_are_errors() {}

/// Waits for Ctrl-C, for a scheduler's termination signal, or for the end of the terminal or the session. The last
/// one is ignored if the process was started to outlive it. A second signal ends the process.
///
/// Listens from the call on, which must be inside an async runtime, and not only once the future is polled.
#[cfg(unix)]
pub(super) fn signal() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn received(signal: Option<Signal>) {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }
    if let Err(error) = end_at_second_signal() {
        tracing::debug!(%error, "a second signal will not end the process");
    }
    let interrupt = signal(SignalKind::interrupt()).ok();
    let terminate = signal(SignalKind::terminate()).ok();
    let hangup = match is_hangup_ignored() {
        true => None,
        false => signal(SignalKind::hangup()).ok(),
    };
    async move {
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
            () = received(hangup) => terminal::hung_up(),
        }
    }
}

/// Returns true if the process was started with SIGHUP ignored. Must be called before the first listener is installed,
/// because from then on SIGHUP is no longer ignored.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    static IGNORES_HANGUP: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORES_HANGUP.get_or_init(ignores_hangup)
}

/// Returns true if the process was started with SIGHUP ignored, as by `nohup`. If the system does not report that, it
/// returns true if standard output and error are not terminals, as under `nohup`.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    use std::io::IsTerminal as _;
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    match ignored {
        Some(mask) => mask & HANGUP != 0,
        None => !std::io::stdout().is_terminal() && !std::io::stderr().is_terminal(),
    }
}

#[cfg(not(unix))]
pub(super) async fn signal() {
    drop(tokio::signal::ctrl_c().await);
}
