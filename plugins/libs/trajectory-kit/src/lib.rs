//! Tool calls in trajectories, and the test whether one meets a reference call.

use gage_sdk::PluginError;
use gage_sdk::serde_json::{self, Number, Value};

/// Maximum number of calls in a trajectory. Finding the best match takes cubic time at worst.
pub const MAX_CALLS: usize = 256;

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name of the tool.
    pub name: String,
    /// Arguments of the call: an object, or the text if that is not JSON.
    pub arguments: Value,
}

/// Degree to which the arguments of two calls must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// All arguments; numbers are compared by value, members of objects in any order.
    Exact,
    /// Every member that the reference has; others are allowed.
    Subset,
    /// No arguments: the name of the tool is enough.
    Ignore,
}

impl Arguments {
    /// Names of the modes in parameters.
    pub const NAMES: [(&'static str, Arguments); 3] =
        [("exact", Arguments::Exact), ("subset", Arguments::Subset), ("ignore", Arguments::Ignore)];
}

impl Call {
    /// Reads the calls of a trajectory, in order: messages with `tool_calls`, or the calls themselves.
    ///
    /// # Errors
    /// `invalid-input` if it is neither, or has more than [`MAX_CALLS`].
    pub fn all(trajectory: &Value, name: &str) -> Result<Vec<Call>, PluginError> {
        let refuse = |message: String| PluginError::invalid_input(format!("{name}: {message}"));
        let steps = match trajectory {
            Value::Null => return Ok(Vec::new()),
            Value::Array(steps) => steps,
            _ => return Err(refuse("must be a list of messages or of calls".to_owned())),
        };
        let mut calls = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let is_message = step.get("role").is_some() || step.get("tool_calls").is_some();
            match step.get("tool_calls") {
                Some(Value::Array(made)) => {
                    for call in made {
                        calls
                            .push(Call::read(call).map_err(|error| refuse(format!("step {index} {error}")))?);
                    }
                }
                None | Some(Value::Null) if is_message => {}
                Some(_) => return Err(refuse(format!("step {index} has 'tool_calls' that are not a list"))),
                None => {
                    calls.push(Call::read(step).map_err(|error| refuse(format!("step {index} {error}")))?)
                }
            }
        }
        if calls.len() > MAX_CALLS {
            return Err(refuse(format!("has {} calls; at most {MAX_CALLS} can be compared", calls.len())));
        }
        Ok(calls)
    }

    /// Reads a call as servers write it, `{"function": {"name", "arguments"}}`, or `{"name", "arguments"}`.
    ///
    /// # Errors
    /// Says what the value is instead, in words that follow the name of a step.
    pub fn read(call: &Value) -> Result<Call, String> {
        let function = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            return Err("is neither a message nor a call with a 'name'".to_owned());
        };
        let arguments = match function.get("arguments").or_else(|| function.get("args")) {
            // Servers write the arguments as text; an empty text means no arguments.
            Some(Value::String(text)) if text.trim().is_empty() => Value::Object(Default::default()),
            Some(Value::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
            None | Some(Value::Null) => Value::Object(Default::default()),
            Some(other) => other.clone(),
        };
        Ok(Call { name: name.to_owned(), arguments })
    }

    /// Returns whether this call is the one that a reference requires.
    pub fn meets(&self, reference: &Call, arguments: Arguments) -> bool {
        self.name == reference.name
            && match arguments {
                Arguments::Exact => same(&self.arguments, &reference.arguments),
                Arguments::Subset => covers(&self.arguments, &reference.arguments),
                Arguments::Ignore => true,
            }
    }
}

/// Returns whether two values are equal, numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// Returns whether every member of the reference is in the value and equal there.
fn covers(value: &Value, reference: &Value) -> bool {
    match (value, reference) {
        (Value::Object(value), Value::Object(reference)) => reference
            .iter()
            .all(|(key, reference)| value.get(key).is_some_and(|value| covers(value, reference))),
        _ => same(value, reference),
    }
}

fn same_number(left: &Number, right: &Number) -> bool {
    // Integers that an f64 does not hold still compare as different.
    left == right || (!(is_integer(left) && is_integer(right)) && left.as_f64() == right.as_f64())
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    fn call(name: &str, arguments: Value) -> Call {
        Call { name: name.to_owned(), arguments }
    }

    #[test]
    fn calls_of_messages_and_calls_themselves() {
        let made = json!({"type": "function", "function": {"name": "a", "arguments": "{\"x\": 1}"}});
        for (trajectory, expected) in [
            (json!(null), vec![]),
            (json!([{"role": "assistant", "content": "done"}]), vec![]),
            (
                json!([{"role": "assistant", "tool_calls": [made.clone()]}, {"role": "tool", "content": "2"}]),
                vec![call("a", json!({"x": 1}))],
            ),
            (json!([made]), vec![call("a", json!({"x": 1}))]),
            (
                json!([{"name": "b"}, {"name": "c", "args": {"y": []}}]),
                vec![call("b", json!({})), call("c", json!({"y": []}))],
            ),
            (json!([{"name": "b", "arguments": "{not"}]), vec![call("b", json!("{not"))]),
            (json!([{"name": "b", "arguments": " "}]), vec![call("b", json!({}))]),
        ] {
            assert_eq!(Call::all(&trajectory, "trajectory"), Ok(expected), "{trajectory}");
        }
        let long = json!(vec![json!({"name": "a"}); MAX_CALLS + 1]);
        for (trajectory, expected) in [
            (json!({"name": "a"}), "a list of messages"),
            (json!([7]), "step 0 is neither"),
            (json!([{"role": "assistant", "tool_calls": 7}]), "not a list"),
            (json!([{"role": "assistant", "tool_calls": [{"function": 7}]}]), "step 0 is neither"),
            (long, "at most 256"),
        ] {
            let error = Call::all(&trajectory, "trajectory").map_err(|error| error.message);
            assert!(error.as_ref().is_err_and(|error| error.contains(expected)), "{error:?}");
        }
    }

    #[test]
    fn arguments_agree_by_value() {
        for (value, reference, exact, subset) in [
            (json!({"a": 1, "b": [1.0]}), json!({"b": [1], "a": 1.0}), true, true),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), false, true),
            (json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 1}}), false, true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false, false),
            (json!({"a": "1"}), json!({"a": 1}), false, false),
            (json!({"a": 9_007_199_254_740_993_i64}), json!({"a": 9_007_199_254_740_992_i64}), false, false),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), false, false),
            (json!("{not"), json!("{not"), true, true),
        ] {
            let (made, wanted) = (call("t", value), call("t", reference));
            assert_eq!(made.meets(&wanted, Arguments::Exact), exact, "{made:?} {wanted:?}");
            assert_eq!(made.meets(&wanted, Arguments::Subset), subset, "{made:?} {wanted:?}");
            assert!(made.meets(&wanted, Arguments::Ignore));
            assert!(!made.meets(&call("other", wanted.arguments), Arguments::Ignore));
        }
    }
}
