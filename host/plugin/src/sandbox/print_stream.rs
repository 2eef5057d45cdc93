//! A standard stream of a guest, whose lines go to its log.

use super::guest_log::GuestLog;
use super::host_fuel::HostFuel;
use crate::plugin_line::LineSource;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Maximum size of a printed line, in bytes. A longer one is continued on the next line.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Maximum number of bytes that a guest may write at once.
const MAX_WRITE_BYTES: usize = 64 << 10;

/// The standard output or error stream of one call. Clones write to the same stream.
#[derive(Clone)]
pub(super) struct PrintStream {
    source: LineSource,
    log: Arc<Mutex<GuestLog>>,
    fuel: HostFuel,
    unfinished: Arc<Mutex<Vec<u8>>>,
}

impl PrintStream {
    pub(super) fn new(source: LineSource, log: Arc<Mutex<GuestLog>>, fuel: HostFuel) -> PrintStream {
        PrintStream { source, log, fuel, unfinished: Arc::default() }
    }

    /// Logs the complete lines, and keeps the rest for later.
    fn print(&self, bytes: &[u8]) {
        let mut unfinished = self.unfinished.lock();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            for part in piece.chunks(MAX_LINE_BYTES) {
                unfinished.extend_from_slice(part);
                if part.ends_with(b"\n") || unfinished.len() >= MAX_LINE_BYTES {
                    self.log_line(&mut unfinished);
                }
            }
        }
    }

    /// Logs a line that has no end yet.
    pub(super) fn finish(&self) {
        let mut unfinished = self.unfinished.lock();
        if !unfinished.is_empty() {
            self.log_line(&mut unfinished);
        }
    }

    fn log_line(&self, line: &mut Vec<u8>) {
        let text = String::from_utf8_lossy(line).into_owned();
        line.clear();
        self.log.lock().emit(self.source, text.trim_end_matches(['\r', '\n']));
    }
}

impl IsTerminal for PrintStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for PrintStream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    /// Only other versions of WASI call it, which are not linked.
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(tokio::io::empty())
    }
}

#[async_trait::async_trait]
impl Pollable for PrintStream {
    async fn ready(&mut self) {}
}

impl OutputStream for PrintStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.fuel.use_for(bytes.len() as u64).map_err(|trap| StreamError::Trap(trap.into()))?;
        self.print(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(MAX_WRITE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_subject::CallSubject;
    use crate::limits::Limits;
    use crate::plugin_line::{LineReceiver, PluginLine};
    use wasmtime::Trap;

    #[test]
    fn printed_bytes_become_lines() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let receiver = LineReceiver::new(move |line: PluginLine| kept.lock().push(line.text));
        let log = GuestLog::new("p", CallSubject::default(), Some(receiver), &Limits::default());
        let fuel = HostFuel::new(0);
        let stream = PrintStream::new(LineSource::Stdout, Arc::new(Mutex::new(log)), fuel);
        stream.print(b"a");
        stream.clone().print(b"b\r\n\nc\xff\n");
        stream.print(&[b'x'; MAX_LINE_BYTES + 1]);
        stream.finish();
        stream.finish();
        let lines = lines.lock();
        assert_eq!(lines[..3], ["ab", "", "c\u{fffd}"]);
        let lengths: Vec<usize> = lines.iter().skip(3).map(String::len).collect();
        assert_eq!(lengths, [MAX_LINE_BYTES, 1]);
    }

    #[test]
    fn output_without_fuel_ends_the_guest() {
        let log = GuestLog::new("p", CallSubject::default(), None, &Limits::default());
        let mut stream =
            PrintStream::new(LineSource::Stdout, Arc::new(Mutex::new(log)), HostFuel::new(10_000));
        assert!(stream.write(Bytes::from_static(&[b'x'; 50])).is_ok());
        let Err(StreamError::Trap(error)) = stream.clone().write(Bytes::from_static(&[b'x'; 51])) else {
            panic!("not a trap")
        };
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::OutOfFuel));
    }
}
