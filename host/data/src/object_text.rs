//! Additions to the text of a JSON object, which is never built.

/// Returns the text of an object with a further member, whose value is JSON. If the object has the name already, it has
/// it twice then, and the last one counts.
pub(crate) fn with_member(object: &str, name: &str, value: &str) -> String {
    let front = object.rfind('}').and_then(|end| object.get(..end)).unwrap_or(object).trim_ascii_end();
    let comma = if front.ends_with('{') { "" } else { "," };
    format!("{front}{comma}{}:{value}}}", serde_json::Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_last_member_counts() {
        for (object, expected) in [
            ("{}", json!({"a\"b": [1]})),
            (" { } ", json!({"a\"b": [1]})),
            ("{\"x\":{}}\n", json!({"x": {}, "a\"b": [1]})),
            ("{\"x\":\"{\"}", json!({"x": "{", "a\"b": [1]})),
            ("{\"a\\\"b\":2,\"x\":3}", json!({"x": 3, "a\"b": [1]})),
        ] {
            let text = with_member(object, "a\"b", "[1]");
            assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(expected), "{object}");
        }
    }
}
