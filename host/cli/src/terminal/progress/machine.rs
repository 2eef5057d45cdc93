//! Progress as JSON, one object per line.

use super::pace::Pace;
use super::tally::Snapshot;
use crate::terminal::safe_text::json_with_escapes;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the state of a task. `event` is `task_started`, `progress` or `task_finished`.
pub(super) fn object(event: &str, task: &Snapshot, pace: &Pace) -> Value {
    let score = task.score.as_ref().map(|(metric_id, score)| {
        let interval = score.interval.map(|(low, high)| json!({"low": low, "high": high, "level": 0.95}));
        json!({"metric_id": metric_id, "mean": score.mean, "scored": score.scored, "interval": interval})
    });
    let failures: serde_json::Map<String, Value> =
        task.failures.iter().map(|(kind, count)| (kind.clone(), (*count).into())).collect();
    json!({
        "event": event,
        "unix_ms": unix_ms(),
        "task_id": task.task_id,
        "total": task.total,
        "done": task.done,
        "in_flight": task.in_flight,
        "held": (!task.held.is_empty()).then(|| task.held.join("; ")),
        "elapsed_s": task.elapsed.as_secs_f64(),
        "samples_per_s": pace.rate(),
        "eta_s": pace.left(task.total).map(|left| left.as_secs_f64()),
        "score": score,
        "failures": failures,
    })
}

/// Returns an object as a line. Texts of suites and servers are in it, so what would steer a terminal is escaped as JSON
/// allows.
pub(super) fn json_line(object: &Value) -> String {
    json_with_escapes(&object.to_string())
}

/// Returns the current time in milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::snapshot;
    use super::*;

    #[test]
    fn everything_of_a_line_is_there_and_what_is_unknown_is_null() {
        let object = object("progress", &snapshot("t"), &Pace::default());
        let text = object.to_string();
        assert!(!text.contains('\n'));
        assert_eq!(
            (&object["done"], &object["total"], &object["eta_s"]),
            (&120.into(), &500.into(), &Value::Null)
        );
        assert_eq!(object["failures"], json!({"timeout": 3, "truncated": 1}));
        assert_eq!(object["score"]["interval"]["low"], 0.6896);
    }

    #[test]
    fn texts_of_a_run_cannot_steer_the_terminal() {
        let object = object("progress", &snapshot("t\u{9b}2J\u{202e}\u{1b}"), &Pace::default());
        let line = json_line(&object);
        assert!(line.contains(r"t\u009b2J\u202e\u001b"), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).ok(), Some(object));
    }
}
