//! Messages to a browser and from it: objects of JSON, each ended by a byte 0.

use crate::{BrowserError, PATIENCE};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A connection that several pages share.
pub(crate) struct Connection {
    asks: Mutex<ChildStdin>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    waiting: Vec<(u64, Sender<Value>)>,
    /// Those who hear of what happens in a session.
    listening: Vec<(String, Sender<Value>)>,
}

impl Connection {
    pub(crate) fn new(asks: ChildStdin, answers: ChildStdout) -> Connection {
        let state = Arc::new(Mutex::new(State::default()));
        let of_thread = Arc::clone(&state);
        // It ends with the browser.
        std::thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice::<Value>(&message) {
                    hear(&mut open(&of_thread), value);
                }
                message.clear();
            }
            // Nobody waits for a browser that is gone.
            *open(&of_thread) = State { last_id: u64::MAX, ..State::default() };
        });
        Connection { asks: Mutex::new(asks), state }
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(
        &self,
        method: &str,
        parameters: Value,
        session: Option<&str>,
    ) -> Result<Value, BrowserError> {
        let silent = || BrowserError::Silent(method.to_owned());
        let (answer, answered) = channel();
        let id = {
            let mut state = open(&self.state);
            state.last_id = state.last_id.checked_add(1).ok_or_else(silent)?;
            let id = state.last_id;
            state.waiting.push((id, answer));
            id
        };
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        {
            let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
            let text = format!("{message}\0");
            asks.write_all(text.as_bytes()).and_then(|()| asks.flush()).map_err(|_| silent())?;
        }
        let mut value = answered.recv_timeout(PATIENCE).map_err(|_| silent())?;
        match value.get("error") {
            Some(error) => Err(BrowserError::Refused {
                method: method.to_owned(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
            None => Ok(value["result"].take()),
        }
    }

    /// Hears of everything that happens in a session from now on.
    pub(crate) fn listen(&self, session: &str) -> Events {
        let (tell, told) = channel();
        open(&self.state).listening.push((session.to_owned(), tell));
        Events { told, kept: RefCell::default() }
    }
}

/// What happens in a session.
pub(crate) struct Events {
    told: Receiver<Value>,
    /// What was heard while something else was waited for.
    kept: RefCell<Vec<Value>>,
}

impl Events {
    /// Waits for an event that comes after `begin` was called, which makes it come.
    pub(crate) fn wait_after(
        &self,
        method: &str,
        begin: impl FnOnce() -> Result<(), BrowserError>,
    ) -> Result<(), BrowserError> {
        self.kept.borrow_mut().extend(self.told.try_iter());
        begin()?;
        let until = Instant::now() + PATIENCE;
        let silent = || BrowserError::Silent(format!("the wait for {method}"));
        loop {
            let left = until.checked_duration_since(Instant::now()).ok_or_else(silent)?;
            let event = self.told.recv_timeout(left).map_err(|_| silent())?;
            let is_wanted = event["method"] == method;
            self.kept.borrow_mut().push(event);
            if is_wanted {
                return Ok(());
            }
        }
    }

    /// What has happened since this was asked last.
    pub(crate) fn so_far(&self) -> Vec<Value> {
        let mut events = self.kept.take();
        events.extend(self.told.try_iter());
        events
    }
}

fn hear(state: &mut State, value: Value) {
    if let Some(id) = value["id"].as_u64() {
        if let Some(place) = state.waiting.iter().position(|(waiting, _)| *waiting == id) {
            let (_, answer) = state.waiting.swap_remove(place);
            // Whoever asked may have given up.
            let _ = answer.send(value);
        }
        return;
    }
    let Some(session) = value["sessionId"].as_str() else { return };
    state.listening.retain(|(listening, tell)| listening != session || tell.send(value.clone()).is_ok());
}

fn open(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
