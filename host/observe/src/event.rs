//! Events: what happened, to which sample, and how much it matters.

use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// How much an event matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::EnumString, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", ascii_case_insensitive)]
pub enum Level {
    /// One of many, as a stage of a sample.
    Debug,
    /// What everybody wants to know, as the end of a task.
    Info,
    /// Something went wrong, and the run goes on.
    Warn,
    /// The run, or a task, could not go on.
    Error,
}

impl Level {
    /// Every level, the least first.
    pub const ALL: [Level; 4] = [Level::Debug, Level::Info, Level::Warn, Level::Error];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The level with this name, whatever its case.
    pub fn from_name(name: &str) -> Option<Level> {
        name.parse().ok()
    }
}

/// Something that happened. Its number is given by the thread that writes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened, as a short stable name: `task_started`.
    pub kind: Cow<'static, str>,
    /// How much it matters.
    pub level: Level,
    /// When, in milliseconds since 1970 in UTC.
    pub unix_ms: u64,
    /// The task, where it is about one.
    pub task_id: Option<String>,
    /// The sample, where it is about one.
    pub sample_id: Option<String>,
    /// What else is to be known.
    pub payload: Value,
}

impl Event {
    /// An event that happens now.
    pub fn new(kind: impl Into<Cow<'static, str>>, level: Level, payload: Value) -> Event {
        let unix_ms = unix_milliseconds();
        Event { kind: kind.into(), level, unix_ms, task_id: None, sample_id: None, payload }
    }

    /// The same, about a task.
    #[must_use]
    pub fn of_task(mut self, task_id: &str) -> Event {
        self.task_id = Some(task_id.to_owned());
        self
    }

    /// The same, about a sample of a task.
    #[must_use]
    pub fn of_sample(mut self, task_id: &str, sample_id: &str) -> Event {
        self.sample_id = Some(sample_id.to_owned());
        self.of_task(task_id)
    }

    /// Its line in a file, with the line break.
    pub(crate) fn line(&self, event_id: u64) -> serde_json::Result<Vec<u8>> {
        let line = Line {
            event_id,
            unix_ms: self.unix_ms,
            kind: &self.kind,
            level: self.level,
            task_id: self.task_id.as_deref(),
            sample_id: self.sample_id.as_deref(),
            payload: &self.payload,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        Ok(text)
    }
}

#[derive(Serialize)]
struct Line<'a> {
    event_id: u64,
    unix_ms: u64,
    kind: &'a str,
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_id: Option<&'a str>,
    payload: &'a Value,
}

/// Milliseconds since 1970 in UTC.
pub(crate) fn unix_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_holds_what_is_known_and_no_more() {
        let event = Event { unix_ms: 5, ..Event::new("a", Level::Info, json!({"text": "one\ntwo"})) };
        let line = String::from_utf8(event.line(7).unwrap()).unwrap();
        let expected = "{\"event_id\":7,\"unix_ms\":5,\"kind\":\"a\",\"level\":\"info\",\"payload\":{\"text\":\"one\\ntwo\"}}\n";
        assert_eq!(line, expected);
        let line = event.of_sample("t", "s").line(8).unwrap();
        let value: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&value["task_id"], &value["sample_id"]), (&json!("t"), &json!("s")));
    }

    #[test]
    fn levels_have_names() {
        for level in Level::ALL {
            assert_eq!(Level::from_name(&level.name().to_uppercase()), Some(level));
            assert_eq!(serde_json::to_value(level).unwrap(), level.name());
        }
        assert_eq!(Level::from_name("loud"), None);
    }
}
