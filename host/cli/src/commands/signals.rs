//! Signals: the first one ends a run gracefully, the second one ends the process.

use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::spawn_thread;
use gage_runner::CancelToken;

/// Listens for signals on its own thread, and sets the token at the first one.
///
/// # Errors
/// Fails if no thread or file descriptor is available.
pub(super) fn stop_on_signal(stop: CancelToken) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    spawn_thread("signals", move || runtime.block_on(wait_and_stop(stop)))?;
    Ok(())
}

/// Ends the run gracefully at the first signal, and the process immediately at the second. In both cases the journal
/// contains every acknowledged sample.
async fn wait_and_stop(stop: CancelToken) {
    signal().await;
    stop.cancel();
    terminal::eprint_line("\nstopping after the samples in flight; press Ctrl-C again to stop at once");
    signal().await;
    std::process::exit(ExitCode::Interrupted as i32);
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
/// one is ignored if the process was started to outlive it.
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
    let interrupt = signal(SignalKind::interrupt()).ok();
    let terminate = signal(SignalKind::terminate()).ok();
    // Checked before the first listener is installed, because from then on SIGHUP is no longer ignored.
    static IGNORES_HANGUP: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let hangup = match IGNORES_HANGUP.get_or_init(ignores_hangup) {
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
