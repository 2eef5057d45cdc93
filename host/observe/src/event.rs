//! Events of a run, with the sample they concern and their severity.

use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

/// Severity of an event.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", ascii_case_insensitive)]
pub enum Level {
    /// One of many events, such as a stage of a sample.
    Debug,
    /// An event of general interest, such as the end of a task.
    Info,
    /// Something went wrong, but the run continues.
    Warn,
    /// The run, or a task, could not continue.
    Error,
}

impl Level {
    /// Names of all levels, in ascending order; [`str::parse`] accepts them in any case.
    pub const NAMES: &'static [&'static str] = <Level as strum::VariantNames>::VARIANTS;

    /// Returns the name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An event of a run. The writing thread assigns its number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// Time, in milliseconds since 1970 in UTC.
    pub unix_ms: u64,
    /// Kind of the event, as a short stable name: `task_started`.
    pub kind: Cow<'static, str>,
    /// Severity of the event.
    pub level: Level,
    /// Task that it concerns, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Sample that it concerns, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_id: Option<String>,
    /// All other data of the event.
    pub payload: Value,
}

impl Event {
    /// Creates an event with the current time.
    pub fn new(kind: impl Into<Cow<'static, str>>, level: Level, payload: Value) -> Event {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Event { kind: kind.into(), level, unix_ms, task_id: None, sample_id: None, payload }
    }

    /// Sets the task.
    #[must_use]
    pub fn of_task(mut self, task_id: &str) -> Event {
        self.task_id = Some(task_id.to_owned());
        self
    }

    /// Sets the task and the sample.
    #[must_use]
    pub fn of_sample(mut self, task_id: &str, sample_id: &str) -> Event {
        self.sample_id = Some(sample_id.to_owned());
        self.of_task(task_id)
    }

    /// Returns its line in a file, with the line break.
    pub(crate) fn line(&self, event_id: u64) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(&Line { event_id, event: self })?;
        line.push(b'\n');
        Ok(line)
    }
}

#[derive(Serialize)]
struct Line<'a> {
    event_id: u64,
    #[serde(flatten)]
    event: &'a Event,
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
        for name in Level::NAMES {
            let level: Level = name.to_uppercase().parse().unwrap();
            assert_eq!(serde_json::to_value(level).unwrap(), level.name());
            assert_eq!(level.name(), *name);
        }
        assert!("loud".parse::<Level>().is_err());
    }
}
