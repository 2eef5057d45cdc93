//! Messages to and from a browser: JSON objects, each followed by a zero byte.

use crate::{BrowserError, TIMEOUT};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A connection that several pages share.
pub(crate) struct Connection {
    requests: Mutex<ChildStdin>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    waiting: Vec<(u64, Sender<Value>)>,
    /// The sessions whose events are sent on.
    subscribers: Vec<(String, Sender<Value>)>,
}

impl Connection {
    pub(crate) fn new(requests: ChildStdin, replies: ChildStdout) -> Connection {
        let state = Arc::new(Mutex::new(State::default()));
        let of_thread = Arc::clone(&state);
        // The thread ends with the browser.
        std::thread::spawn(move || {
            let mut replies = BufReader::new(replies);
            let mut message = Vec::new();
            while replies.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice::<Value>(&message) {
                    dispatch(&mut lock(&of_thread), value);
                }
                message.clear();
            }
            // Drops the senders, so that no caller waits for a browser that has ended.
            *lock(&of_thread) = State { last_id: u64::MAX, ..State::default() };
        });
        Connection { requests: Mutex::new(requests), state }
    }

    /// Calls a method, and waits for its result.
    pub(crate) fn call(
        &self,
        method: &str,
        parameters: Value,
        session: Option<&str>,
    ) -> Result<Value, BrowserError> {
        let timed_out = || BrowserError::Timeout(method.to_owned());
        let (sender, receiver) = channel();
        let id = {
            let mut state = lock(&self.state);
            state.last_id = state.last_id.checked_add(1).ok_or_else(timed_out)?;
            let id = state.last_id;
            state.waiting.push((id, sender));
            id
        };
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let text = format!("{message}\0");
            requests.write_all(text.as_bytes()).and_then(|()| requests.flush()).map_err(|_| timed_out())?;
        }
        let mut value = receiver.recv_timeout(TIMEOUT).map_err(|_| timed_out())?;
        match value.get("error") {
            Some(error) => Err(BrowserError::Refused {
                method: method.to_owned(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
            None => Ok(value["result"].take()),
        }
    }

    /// Subscribes to all later events of a session.
    pub(crate) fn subscribe(&self, session: &str) -> Events {
        let (sender, receiver) = channel();
        lock(&self.state).subscribers.push((session.to_owned(), sender));
        Events { receiver, pending: RefCell::default() }
    }
}

/// The events of a session.
pub(crate) struct Events {
    receiver: Receiver<Value>,
    /// Events that were received and are not taken yet.
    pending: RefCell<Vec<Value>>,
}

impl Events {
    /// Calls `begin`, and waits for the event that it causes.
    pub(crate) fn wait_after(
        &self,
        method: &str,
        begin: impl FnOnce() -> Result<(), BrowserError>,
    ) -> Result<(), BrowserError> {
        self.pending.borrow_mut().extend(self.receiver.try_iter());
        begin()?;
        let until = Instant::now() + TIMEOUT;
        let timed_out = || BrowserError::Timeout(format!("the wait for {method}"));
        loop {
            let left = until.checked_duration_since(Instant::now()).ok_or_else(timed_out)?;
            let event = self.receiver.recv_timeout(left).map_err(|_| timed_out())?;
            let is_wanted = event["method"] == method;
            self.pending.borrow_mut().push(event);
            if is_wanted {
                return Ok(());
            }
        }
    }

    /// Takes the events since the last call.
    pub(crate) fn take_pending(&self) -> Vec<Value> {
        let mut events = self.pending.take();
        events.extend(self.receiver.try_iter());
        events
    }
}

fn dispatch(state: &mut State, value: Value) {
    if let Some(id) = value["id"].as_u64() {
        if let Some(index) = state.waiting.iter().position(|(waiting, _)| *waiting == id) {
            let (_, sender) = state.waiting.swap_remove(index);
            // The caller may have timed out.
            let _ = sender.send(value);
        }
        return;
    }
    let Some(session) = value["sessionId"].as_str() else { return };
    state
        .subscribers
        .retain(|(subscribed, sender)| subscribed != session || sender.send(value.clone()).is_ok());
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
