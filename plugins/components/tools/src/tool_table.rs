//! `tool_table`: recorded results of tools.

use crate::table::Row;
use gage_sdk::role_adapter::{Generation, Preparation, RoleAdapter};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use gage_text_kit::json::at_path;
use gage_trajectory_kit::{Arguments, Call};

/// Default path of a Sample's table.
const DEFAULT_FIELD: &str = "metadata.tool_results";
const UNKNOWN: [&str; 2] = ["tell", "fail"];

/// Answers a tool call from a table: a list of `{name, arguments, result}`. A row without `arguments` matches any call
/// of the tool.
///
/// The first matching row wins. The rows of `table` come first, then those of the table in the Sample at `table_field`
/// (default `metadata.tool_results`). Unless `golden` is false, the Sample's golden trajectories follow, in which calls
/// precede their results. `arguments` sets how much must agree, as for the metric `trajectory_match`: `exact` (the
/// default), `subset` or `ignore`.
///
/// The output has `content`, the result as a text or as JSON, and `found`. A call without a matching row is answered
/// with an error that the model can read, or fails the sample with `unknown: fail`.
pub struct ToolTable {
    rows: Vec<Row>,
    field: String,
    arguments: Arguments,
    uses_golden: bool,
    fails: bool,
}

impl RoleAdapter for ToolTable {
    fn name() -> &'static str {
        "tool_table"
    }

    fn spec() -> MemberSpec {
        let row = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "arguments": {}, "result": {}},
            "required": ["name", "result"],
            "additionalProperties": false,
        });
        let properties = json!({
            "table": {"type": "array", "items": row, "description": "rows with a tool's name, arguments and \
             result"},
            "table_field": {"type": "string", "minLength": 1, "default": DEFAULT_FIELD, "description": "path of the Sample's own table"},
            "golden": {"type": "boolean", "default": true, "description": "use golden trajectories as tables too"},
            "arguments": {"enum": Arguments::NAMES.map(|(name, _)| name), "default": "exact", "description": "how \
             the arguments of a call are compared with those of a row; `subset` allows additional \
             arguments"},
            "unknown": {"enum": UNKNOWN, "default": "tell", "description": "treatment of a call without a row"},
        });
        MemberSpec::new("1", "Answers tool calls from a table", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        let table = params.get("table").unwrap_or(&Value::Null);
        let rows = Row::all(table, "params")
            .map_err(|error| PluginError::invalid_config(error.message).at("/table"))?;
        Ok(ToolTable {
            rows,
            field: params.text_or("table_field", DEFAULT_FIELD)?,
            arguments: params.one_of("arguments", &Arguments::NAMES, Arguments::Exact)?,
            uses_golden: params.flag("golden", true)?,
            fails: params.text("unknown")? == Some("fail"),
        })
    }

    fn request(&self, payload: &Value) -> Result<Preparation, PluginError> {
        let Some(made) = payload.get("tool_call") else {
            return Err(PluginError::invalid_input(
                "the payload holds no 'tool_call'; name this adapter in `tools`",
            ));
        };
        let call =
            Call::read(made).map_err(|error| PluginError::invalid_input(format!("the call {error}")))?;
        let sample = payload.get("sample").unwrap_or(&Value::Null);
        let field = self.field.strip_prefix("sample.").unwrap_or(&self.field);
        let own = Row::all(at_path(sample, field.split('.')).unwrap_or(&Value::Null), &self.field)?;
        let golden = match sample.get("golden_trajectories") {
            Some(golden) if self.uses_golden => Row::of_golden(golden),
            _ => Vec::new(),
        };
        let rows: Vec<&Row> = self.rows.iter().chain(&own).chain(&golden).collect();
        let fitting = rows.iter().find(|row| row.answers(&call, self.arguments));
        if let Some(row) = fitting {
            return Ok(Preparation::Output(json!({ "content": row.result, "found": true })));
        }
        let message = unknown(&call, &rows);
        if self.fails {
            return Err(PluginError::invalid_input(message));
        }
        let content = json!({ "error": message }).to_string();
        Ok(Preparation::Output(json!({ "content": content, "found": false })))
    }

    fn parse(&self, _payload: &Value, _reply: &Generation) -> Result<Value, PluginError> {
        Err(PluginError::unsupported("tool_table asks no model"))
    }
}

/// Returns the reason why a call has no result.
fn unknown(call: &Call, rows: &[&Row]) -> String {
    if rows.iter().any(|row| row.name() == call.name) {
        return format!("the tool '{}' has no result for these arguments", call.name);
    }
    let mut names: Vec<&str> = rows.iter().map(|row| row.name()).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => format!("there is no tool '{}'", call.name),
        false => format!("there is no tool '{}'; there are {}", call.name, names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(params: Value, sample: Value, call: Value) -> Result<Value, String> {
        let adapter = ToolTable::prepare(params).map_err(|error| error.message)?;
        let payload = json!({ "sample": sample, "tool_call": call });
        match adapter.request(&payload).map_err(|error| error.message)? {
            Preparation::Output(output) => Ok(output),
            Preparation::Ask(_) => Err("it asks".to_owned()),
        }
    }

    #[test]
    fn the_first_row_that_fits_answers() {
        let sample = json!({
            "metadata": {"tool_results": [{"name": "f", "arguments": {"x": 2}, "result": {"own": 2}}]},
            "golden_trajectories": [[
                {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\"x\": 3}"}}]},
                {"role": "tool", "tool_call_id": "1", "content": "golden"},
            ]],
        });
        let table =
            json!([{"name": "f", "arguments": {"x": 1}, "result": "one"}, {"name": "any", "result": 7}]);
        let call = |name: &str, arguments: Value| json!({"id": "c", "name": name, "arguments": arguments});
        let found = |params: Value, call: Value| {
            output(params, sample.clone(), call)
                .map(|output| (output["content"].clone(), output["found"].clone()))
        };
        let with_table = || json!({ "table": table });
        for (made, expected) in [
            (call("f", json!({"x": 1.0})), json!("one")),
            (call("f", json!({"x": 2})), json!({"own": 2})),
            (call("f", json!({"x": 3})), json!("golden")),
            (call("any", json!({"y": []})), json!(7)),
        ] {
            assert_eq!(found(with_table(), made), Ok((expected, json!(true))));
        }
        let (content, is_found) = found(with_table(), call("f", json!({"x": 4}))).expect("an answer");
        assert!(
            content.as_str().is_some_and(|text| text.contains("no result for these")) && is_found == false
        );
        let (content, _) = found(with_table(), call("g", json!({}))).expect("an answer");
        assert!(content.as_str().is_some_and(|text| text.contains("there are any, f")), "{content}");
        let failed = found(json!({"unknown": "fail", "golden": false}), call("f", json!({"x": 3})));
        assert!(failed.is_err_and(|error| error.contains("no result")));
        let wider = found(json!({"arguments": "subset"}), call("f", json!({"x": 2, "y": 1})));
        assert_eq!(wider, Ok((json!({"own": 2}), json!(true))));
    }

    #[test]
    fn what_cannot_be_used_is_an_error() {
        let call = || json!({"name": "f"});
        assert!(output(json!({"table": [{"name": "f"}]}), json!({}), call()).is_err());
        let sample = json!({"metadata": {"tool_results": 7}});
        assert!(
            output(json!({}), sample, call()).is_err_and(|error| error.contains("metadata.tool_results"))
        );
        let adapter = ToolTable::prepare(json!({})).expect("no parameters are needed");
        assert!(adapter.request(&json!({"sample": {}})).is_err());
    }
}
