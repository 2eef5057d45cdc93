//! Tables of tool results.

use crate::text_of;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_trajectory_kit::{Arguments, Call};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 10_000;

/// A call with its result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    call: Call,
    /// True if the row matches any call of the tool, regardless of arguments.
    is_any: bool,
    pub(crate) result: Value,
}

impl Row {
    pub(crate) fn name(&self) -> &str {
        &self.call.name
    }

    pub(crate) fn answers(&self, call: &Call, arguments: Arguments) -> bool {
        call.meets(&self.call, if self.is_any { Arguments::Ignore } else { arguments })
    }

    /// Reads the rows of a table. `name` names its owner in errors.
    ///
    /// # Errors
    /// `invalid-input` if it is not a list of objects with `name` and `result`.
    pub(crate) fn all(table: &Value, name: &str) -> Result<Vec<Row>, PluginError> {
        let refuse = |message: String| PluginError::invalid_input(format!("{name}: {message}"));
        let rows = match table {
            Value::Null => return Ok(Vec::new()),
            Value::Array(rows) if rows.len() > MAX_ROWS => {
                return Err(refuse(format!("has {} rows; at most {MAX_ROWS} are read", rows.len())));
            }
            Value::Array(rows) => rows,
            _ => return Err(refuse("must be a list of {name, arguments, result}".to_owned())),
        };
        let read = rows.iter().enumerate().map(|(place, row)| {
            let call = Call::read(row).map_err(|_| refuse(format!("row {place} has no 'name'")))?;
            let result = row.get("result").ok_or_else(|| refuse(format!("row {place} has no 'result'")))?;
            let is_any = row.get("arguments").or_else(|| row.get("args")).is_none();
            Ok(Row { call, is_any, result: result.clone() })
        });
        read.collect()
    }

    /// Returns the rows of golden trajectories: each call with the tool message that answers it.
    pub(crate) fn of_golden(golden: &Value) -> Vec<Row> {
        let mut rows = Vec::new();
        let trajectories = golden.as_array().map(Vec::as_slice).unwrap_or_default();
        for trajectory in trajectories.iter().filter_map(Value::as_array) {
            // Calls without a result yet, with their ids.
            let mut open: Vec<(Option<&str>, Call)> = Vec::new();
            for message in trajectory {
                for made in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                    if let Ok(call) = Call::read(made) {
                        open.push((made.get("id").and_then(Value::as_str), call));
                    }
                }
                if message.get("role").and_then(Value::as_str) != Some("tool") {
                    continue;
                }
                let id = message.get("tool_call_id").and_then(Value::as_str);
                let place = open.iter().position(|(known, _)| id.is_none() || *known == id);
                let text = message.get("content").and_then(text_of);
                if let (Some(place), Some(text)) = (place, text) {
                    let (_, call) = open.remove(place);
                    rows.push(Row { call, is_any: false, result: text.into() });
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn golden_trajectories_are_tables() {
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let golden = json!([[
            {"role": "assistant", "tool_calls": [call("1", "a", "{\"x\":1}"), call("2", "b", "")]},
            {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "of b"}]},
            {"role": "tool", "tool_call_id": "1", "content": "of a"},
            {"role": "tool", "tool_call_id": "9", "content": "of nobody"},
            {"role": "assistant", "content": "done"},
        ]]);
        let rows = Row::of_golden(&golden);
        let found: Vec<(&str, &Value)> = rows.iter().map(|row| (row.name(), &row.result)).collect();
        assert_eq!(found, [("b", &json!("of b")), ("a", &json!("of a"))]);
        assert!(Row::of_golden(&json!(null)).is_empty() && Row::of_golden(&json!([7])).is_empty());
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        for (table, expected) in [
            (json!({}), "must be a list"),
            (json!([{"result": 1}]), "row 0 has no 'name'"),
            (json!([{"name": "a"}]), "row 0 has no 'result'"),
        ] {
            let error = Row::all(&table, "table").map_err(|error| error.message);
            assert!(error.as_ref().is_err_and(|error| error.contains(expected)), "{error:?}");
        }
        assert_eq!(Row::all(&json!(null), "table"), Ok(Vec::new()));
    }
}
