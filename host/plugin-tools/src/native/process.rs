//! The process of an interpreter: requests and replies as lines of JSON.

use gage_core::{MAX_SHOWN_NAME_CHARS, printable_line, shortened, spawn_thread};
use gage_plugin::{LineSource, PluginLine};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// Maximum size of a message of the interpreter, in bytes.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;

/// Maximum size of a line of the standard error stream, in bytes. Longer ones are split.
const MAX_ERROR_BYTES: u64 = 1 << 20;

/// Maximum number of messages and lines that wait to be read. Then the interpreter waits.
const MAX_QUEUED_EVENTS: usize = 16;

/// Interval at which a call looks whether it is stopped.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Time that the output of an ended process may take to arrive.
const MAX_END_TIME: Duration = Duration::from_secs(1);

/// Reason that a call has no reply.
pub(super) enum CallFailure {
    /// The interpreter could not be started.
    NotStarted(String),
    /// The plugin's code could not be loaded.
    NotLoaded {
        /// The traceback.
        text: String,
        /// The module that was not found, if that is the reason.
        missing: Option<String>,
    },
    /// The call took longer than this.
    TimedOut(Duration),
    /// The process ended, in this way.
    Ended(String),
    /// The process wrote something else than a reply.
    Unreadable(String),
    /// The user stopped the test.
    Stopped,
}

/// A message of the process.
enum Event {
    Message(Value),
    /// A line of the standard error stream.
    Error(String),
    Unreadable(String),
}

/// A running interpreter. It ends when this is dropped, with the processes that it started.
pub(super) struct NativeProcess {
    child: Child,
    /// Requests to the thread that writes them: a process that does not read must not stop the clock of a call.
    requests: Sender<String>,
    events: Receiver<Event>,
    last_error: Option<String>,
}

impl NativeProcess {
    /// Starts the interpreter.
    pub(super) fn start(command: &mut Command) -> Result<NativeProcess, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Its own processes are in its group.
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (send, events) = sync_channel(MAX_QUEUED_EVENTS);
        let (requests, to_write) = channel::<String>();
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut input), Some(output), Some(errors)) = streams else {
            return Err("its streams are not connected".to_owned());
        };
        let process = NativeProcess { child, requests, events, last_error: None };
        let sender = send.clone();
        let write_requests = move || {
            // A process that has ended does not read; its output says why.
            while let Ok(request) = to_write.recv() {
                let _ = input.write_all(request.as_bytes()).and_then(|()| input.flush());
            }
        };
        // On an error, the process is dropped, which ends it.
        spawn_thread("native-out", move || read_lines(output, &sender, MAX_MESSAGE_BYTES, message_of))
            .and_then(|_| {
                spawn_thread("native-err", move || read_lines(errors, &send, MAX_ERROR_BYTES, error_of))
            })
            .and_then(|_| spawn_thread("native-in", write_requests))
            .map_err(|shortage| shortage.report().to_string())?;
        Ok(process)
    }

    /// Sends a request, and waits for its reply. Lines that the plugin prints meanwhile go to `on_line`.
    pub(super) fn call(
        &mut self,
        request: &Value,
        time: Duration,
        is_stopped: &dyn Fn() -> bool,
        on_line: &dyn Fn(PluginLine),
    ) -> Result<Value, CallFailure> {
        // Fails only if the thread ended, which ends with the process.
        let _ = self.requests.send(format!("{request}\n"));
        let member = request["member"].as_str();
        let deadline = Instant::now() + time;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if is_stopped() {
                return Err(CallFailure::Stopped);
            }
            if left.is_zero() {
                return Err(CallFailure::TimedOut(time));
            }
            let message = match self.events.recv_timeout(left.min(STOP_INTERVAL)) {
                Ok(Event::Message(message)) => message,
                Ok(Event::Error(text)) => {
                    self.last_error = Some(text.clone());
                    on_line(PluginLine { source: LineSource::Stderr, member: None, text });
                    continue;
                }
                Ok(Event::Unreadable(text)) => return Err(CallFailure::Unreadable(text)),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(CallFailure::Ended(self.ending())),
            };
            match read(message, member) {
                Message::Reply(reply) => return Ok(reply),
                Message::Line(line) => on_line(line),
                Message::Failure(failure) => return Err(failure),
            }
        }
    }

    /// Waits for the end of the process, and describes it.
    fn ending(&mut self) -> String {
        let deadline = Instant::now() + MAX_END_TIME;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
                Ok(Some(status)) => break status.to_string(),
                Ok(None) => break "it closed its output".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        match &self.last_error {
            None => status,
            Some(error) => format!("{status}; its last line: {}", shortened(error, MAX_SHOWN_NAME_CHARS)),
        }
    }
}

impl Drop for NativeProcess {
    fn drop(&mut self) {
        // These fail only if the processes have ended.
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A message of the interpreter, by its meaning.
enum Message {
    Reply(Value),
    Line(PluginLine),
    Failure(CallFailure),
}

fn read(mut message: Value, member: Option<&str>) -> Message {
    if let Some(reply) = message.get_mut("reply") {
        return Message::Reply(reply.take());
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(text) = text(&message["failure"]) {
        let missing = message["missing_module"].as_str().map(str::to_owned);
        return Message::Failure(CallFailure::NotLoaded { text, missing });
    }
    let line = &message["line"];
    match (line["source"].as_str().and_then(LineSource::of_name), text(&line["text"])) {
        (Some(source), Some(text)) => {
            Message::Line(PluginLine { source, member: member.map(str::to_owned), text })
        }
        _ => Message::Failure(CallFailure::Unreadable(unreadable(&message.to_string()))),
    }
}

fn unreadable(text: &str) -> String {
    let text = shortened(text, MAX_SHOWN_NAME_CHARS);
    format!("the interpreter wrote no reply, but: {}", printable_line(&text))
}

fn message_of(line: &[u8]) -> Event {
    match serde_json::from_slice(line) {
        Ok(message) => Event::Message(message),
        Err(_) => Event::Unreadable(unreadable(&String::from_utf8_lossy(line))),
    }
}

fn error_of(line: &[u8]) -> Event {
    Event::Error(String::from_utf8_lossy(line).into_owned())
}

/// Sends each line of a stream, until its end or until nobody receives.
fn read_lines(stream: impl Read, send: &SyncSender<Event>, max_bytes: u64, event_of: fn(&[u8]) -> Event) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(max_bytes).read_until(b'\n', &mut line);
        if !read.is_ok_and(|count| count > 0) || send.send(event_of(line.trim_ascii_end())).is_err() {
            return;
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::cell::RefCell;

    fn outcome(script: &str, time: Duration) -> (String, Vec<String>) {
        outcome_of(&json!({"call": "score", "member": "m"}), script, time)
    }

    fn outcome_of(request: &Value, script: &str, time: Duration) -> (String, Vec<String>) {
        let mut process = NativeProcess::start(Command::new("sh").args(["-c", script])).unwrap();
        let lines = RefCell::new(Vec::new());
        let on_line =
            |line: PluginLine| lines.borrow_mut().push(format!("{} {}", line.source.name(), line.text));
        let outcome = match process.call(request, time, &|| false, &on_line) {
            Ok(reply) => reply.to_string(),
            Err(CallFailure::TimedOut(_)) => "timed out".to_owned(),
            Err(CallFailure::Ended(how)) => format!("ended: {how}"),
            Err(CallFailure::Unreadable(text)) => text,
            Err(CallFailure::NotLoaded { text, missing }) => format!("{text} {missing:?}"),
            Err(CallFailure::NotStarted(text)) => text,
            Err(CallFailure::Stopped) => "stopped".to_owned(),
        };
        (outcome, lines.into_inner())
    }

    #[test]
    fn messages_of_a_process() {
        let long = Duration::from_secs(60);
        for (script, expected, lines) in [
            (r#"read x; echo '{"reply": [1]}'"#, "[1]", vec![]),
            (
                r#"read x; echo '{"line": {"source": "stdout", "text": "a"}}'; echo '{"reply": 2}'"#,
                "2",
                vec!["stdout a"],
            ),
            (
                "echo broken >&2; exit 3",
                "ended: exit status: 3; its last line: broken",
                vec!["stderr broken"],
            ),
            ("echo hello", "the interpreter wrote no reply, but: hello", vec![]),
            (r#"echo '{"a": 1}'"#, r#"the interpreter wrote no reply, but: {"a":1}"#, vec![]),
            (r#"echo '{"failure": "f", "missing_module": "numpy"}'"#, r#"f Some("numpy")"#, vec![]),
        ] {
            let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            assert_eq!(outcome(script, long), (expected.to_owned(), lines), "{script}");
        }
    }

    #[test]
    fn process_without_a_reply_is_ended() {
        assert_eq!(outcome("exec sleep 600", Duration::from_millis(20)).0, "timed out");
        // It does not read a request that is larger than the buffer of a pipe.
        let request = json!({"call": "score", "member": "m", "inputs": "x".repeat(4 << 20)});
        assert_eq!(outcome_of(&request, "exec sleep 600", Duration::from_millis(20)).0, "timed out");
    }

    /// A process that a metric had started once lived on after the time limit.
    #[test]
    fn processes_of_the_process_end_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = "(sleep 5; echo alive) > pipe & wait";
        let command = &mut Command::new("sh");
        let process = NativeProcess::start(command.args(["-c", script]).current_dir(folder.path())).unwrap();
        // Opens when the inner process has opened the other end, and reads until it ends.
        let mut reader = std::fs::File::open(&pipe).unwrap();
        drop(process);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
    }

    #[test]
    fn lines_that_nobody_takes_make_the_process_wait() {
        let script = "read x; echo '{\"reply\": 1}'; exec yes >&2";
        let mut process = NativeProcess::start(Command::new("sh").args(["-c", script])).unwrap();
        let request = json!({"call": "score", "member": "m"});
        let reply = process.call(&request, Duration::from_secs(60), &|| false, &|_| ());
        assert!(matches!(reply, Ok(reply) if reply == json!(1)));
        // Its endless lines fill the queue, and no more of them are read.
        assert_eq!(process.events.iter().take(MAX_QUEUED_EVENTS).count(), MAX_QUEUED_EVENTS);
    }
}
