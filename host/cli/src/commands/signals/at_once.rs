//! The end of the process within the handler of a signal, without an exit handler, a lock or a thread: it works even if all
//! threads are busy or wait for a full stream. Its last line is left out if the standard error stream is full.

use crate::exit_code::ExitCode;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// True once a command waits for the first signal, which then does not end the process.
static IS_AWAITED: AtomicBool = AtomicBool::new(false);
/// True once there was a signal that a command waits for.
pub(super) static HAS_RECEIVED_ONE: AtomicBool = AtomicBool::new(false);
/// The lines that are printed after the second signal.
static FINAL_MESSAGE: OnceLock<String> = OnceLock::new();

/// Lets SIGINT and SIGTERM end the process with a line, from now on.
pub(super) fn install() -> std::io::Result<()> {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    if IS_INSTALLED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    for signal in [SIGINT, SIGTERM] {
        register(signal)?;
    }
    Ok(())
}

/// Lets a command handle the first signal. Only the second one ends the process.
pub(super) fn await_first() -> std::io::Result<()> {
    install()?;
    IS_AWAITED.store(true, Ordering::SeqCst);
    Ok(())
}

/// Sets the lines after the second signal.
pub(super) fn set_final_message(text: String) {
    let _ = FINAL_MESSAGE.set(text);
}

#[expect(unsafe_code, reason = "no safe function writes a line in the handler of a signal")]
fn register(signal: i32) -> std::io::Result<()> {
    // SAFETY: the handler only loads atomics, and calls `poll`, `write` and `_exit`, which may be called in a handler.
    unsafe { low_level::register(signal, on_signal) }.map(drop)
}

fn on_signal() {
    if !IS_AWAITED.load(Ordering::SeqCst) {
        end("\ninterrupted\n");
    }
    if HAS_RECEIVED_ONE.swap(true, Ordering::SeqCst) {
        end(FINAL_MESSAGE.get().map_or("\nended at once\n", String::as_str));
    }
}

fn end(text: &str) -> ! {
    let stream = std::io::stderr();
    let mut polled = [PollFd::new(&stream, PollFlags::OUT)];
    let is_ready = poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
    if is_ready && polled.iter().any(|one| one.revents().contains(PollFlags::OUT)) {
        // The process ends anyway.
        let _ = rustix::io::write(&stream, text.as_bytes());
    }
    low_level::exit(ExitCode::Interrupted as i32)
}
