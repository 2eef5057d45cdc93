//! Events of a run: emitted from any thread without waiting, written by one thread.

use crate::Level;
use crate::event::Event;
use crate::recorder::Recorder;
use gage_core::{ResourceShortage, spawn_thread};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of events waiting for the writing thread. An event is a few hundred bytes.
const QUEUE_CAPACITY: usize = 16_384;
/// Above this many waiting events, only failures and events of the run or a task are accepted.
const SAMPLE_EVENT_CAPACITY: usize = QUEUE_CAPACITY / 4 * 3;
/// Maximum delay before an event can be read in the file.
const MAX_FLUSH_DELAY: Duration = Duration::from_millis(250);

/// Accepts the events of a run. Clones share the same state. Events emitted before [`Trace::finish`] are recorded.
#[derive(Clone)]
pub struct Trace(Arc<TraceState>);

struct TraceState {
    sender: SyncSender<Message>,
    waiting: AtomicUsize,
    lost: AtomicU64,
    writer: Mutex<Option<JoinHandle<u64>>>,
}

enum Message {
    Event(Box<Event>),
    Finish(Instant),
}

impl Trace {
    /// Starts the writing thread, with `first_id` as the ID of the first event.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(recorders: Vec<Box<dyn Recorder>>, first_id: u64) -> std::io::Result<Trace> {
        let (sender, receiver) = sync_channel(QUEUE_CAPACITY);
        let shared = Arc::new(TraceState {
            sender,
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            writer: Mutex::new(None),
        });
        // A strong handle would keep the thread's own sender alive.
        let counts = Arc::downgrade(&shared);
        let writer = spawn_thread("events", move || {
            let mut writer = Writer { recorders, next_id: first_id, lost: 0 };
            let by = writer.run(&receiver, || {
                if let Some(shared) = counts.upgrade() {
                    shared.waiting.fetch_sub(1, Ordering::Relaxed);
                }
            });
            writer.finish(by)
        });
        let writer = writer.map_err(ResourceShortage::report)?;
        *shared.writer.lock() = Some(writer);
        Ok(Trace(shared))
    }

    /// Accepts an event of the run, of a task or of a failure. Never waits. The event is dropped only if the capacity
    /// reserved for such events is exhausted.
    pub fn emit(&self, event: Event) {
        self.put(event, QUEUE_CAPACITY);
    }

    /// Accepts one of many events. If the writing thread cannot keep up, the event is dropped and counted.
    pub fn emit_best_effort(&self, event: Event) {
        self.put(event, SAMPLE_EVENT_CAPACITY);
    }

    /// Returns the number of events dropped so far because the queue was full.
    pub(crate) fn lost_events(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Writes the emitted events, and ends the thread. Waits for servers until `by` at most. Returns the number of
    /// events lost on the way or by a recorder. Later events are lost.
    pub fn finish(&self, by: Instant) -> u64 {
        let writer = self.0.writer.lock().take();
        let Some(writer) = writer else { return self.lost_events() };
        let lost = self.lost_events();
        if lost > 0 {
            tracing::warn!(lost, "events are lost: they came faster than they could be written");
            self.emit(Event::new("events_lost", Level::Warn, json!({"count": lost})));
        }
        // Fails only if the thread has ended.
        let _ = self.0.sender.send(Message::Finish(by));
        lost + writer.join().unwrap_or(0)
    }

    fn put(&self, event: Event, capacity: usize) {
        let waiting = self.0.waiting.fetch_add(1, Ordering::Relaxed);
        let is_full = waiting >= capacity
            || match self.0.sender.try_send(Message::Event(Box::new(event))) {
                Ok(()) => false,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => true,
            };
        if is_full {
            self.0.waiting.fetch_sub(1, Ordering::Relaxed);
            self.0.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Writer {
    recorders: Vec<Box<dyn Recorder>>,
    next_id: u64,
    lost: u64,
}

impl Writer {
    /// Runs the thread. Returns the deadline for servers.
    fn run(&mut self, receiver: &Receiver<Message>, taken: impl Fn()) -> Instant {
        let mut held_since: Option<Instant> = None;
        loop {
            let message = match held_since {
                None => receiver.recv().map_err(RecvTimeoutError::from),
                Some(since) => receiver.recv_timeout(MAX_FLUSH_DELAY.saturating_sub(since.elapsed())),
            };
            if held_since.is_some_and(|since| since.elapsed() >= MAX_FLUSH_DELAY) {
                self.recorders.iter_mut().for_each(|recorder| recorder.flush());
                held_since = None;
            }
            match message {
                Ok(Message::Event(mut event)) => {
                    taken();
                    gage_secrets::redact_value(&mut event.payload);
                    self.record(&event);
                    held_since.get_or_insert_with(Instant::now);
                }
                Ok(Message::Finish(by)) => return by,
                Err(RecvTimeoutError::Timeout) => {}
                // The last handle is gone, so there is nothing to wait for.
                Err(RecvTimeoutError::Disconnected) => return Instant::now(),
            }
        }
    }

    fn record(&mut self, event: &Event) {
        match event.line(self.next_id) {
            Ok(line) => {
                self.next_id += 1;
                self.recorders.iter_mut().for_each(|recorder| recorder.record(event, &line));
            }
            Err(error) => {
                tracing::warn!(kind = %event.kind, %error, "an event is lost, because it is not JSON");
                self.lost += 1;
            }
        }
    }

    fn finish(mut self, by: Instant) -> u64 {
        self.lost + self.recorders.iter_mut().map(|recorder| recorder.finish(by)).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileRecorder, MemoryRecorder};
    use serde_json::Value;

    #[test]
    fn events_are_written_in_order_and_their_ids_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        for round in 0..2 {
            let file = FileRecorder::open(&path).unwrap();
            let first = file.lines();
            let memory = MemoryRecorder::default();
            let trace = Trace::start(vec![Box::new(file), Box::new(memory.clone())], first).unwrap();
            for number in 0..100 {
                trace.emit(Event::new("tick", Level::Info, json!({"round": round, "number": number})));
            }
            assert_eq!(trace.finish(Instant::now()), 0);
            assert_eq!(memory.events().len(), 100);
            assert_eq!(trace.finish(Instant::now()), 0);
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let ids: Vec<u64> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_id"].as_u64().unwrap())
            .collect();
        assert_eq!(ids, (0..200).collect::<Vec<u64>>());
    }

    /// Takes an event only when permitted.
    struct SlowRecorder(Receiver<()>, MemoryRecorder);

    impl Recorder for SlowRecorder {
        fn record(&mut self, event: &Event, line: &[u8]) {
            let _ = self.0.recv();
            self.1.record(event, line);
        }
    }

    #[test]
    fn a_slow_disk_blocks_no_emitter_and_failures_are_kept() {
        gage_recorded_messages::record_warnings("observing");
        let (allow, allowed) = std::sync::mpsc::channel();
        let memory = MemoryRecorder::default();
        let trace = Trace::start(vec![Box::new(SlowRecorder(allowed, memory.clone()))], 0).unwrap();
        for _ in 0..QUEUE_CAPACITY {
            trace.emit_best_effort(Event::new("sample", Level::Debug, Value::Null));
        }
        trace.emit(Event::new("failure", Level::Warn, Value::Null));
        let lost = trace.lost_events();
        assert!(lost > 0 && lost as usize >= QUEUE_CAPACITY - SAMPLE_EVENT_CAPACITY - 1, "{lost}");
        // Without a sender, everything is permitted.
        drop(allow);
        assert_eq!(trace.finish(Instant::now()), lost);
        let events = memory.events();
        let kinds: Vec<&str> = events.iter().rev().take(2).map(|event| event.kind.as_ref()).collect();
        assert_eq!(kinds, ["events_lost", "failure"]);
        assert_eq!(events[events.len() - 1].payload["count"], lost);
        assert_eq!(events.len() as u64, QUEUE_CAPACITY as u64 - lost + 2);
    }

    #[test]
    fn a_trace_that_nobody_finishes_ends_with_its_last_handle() {
        let memory = MemoryRecorder::default();
        let trace = Trace::start(vec![Box::new(memory.clone())], 0).unwrap();
        trace.emit(Event::new("a", Level::Info, Value::Null));
        let writer = trace.0.writer.lock().take().unwrap();
        drop(trace);
        assert_eq!(writer.join().unwrap(), 0);
        assert_eq!(memory.events().len(), 1);
    }
}
