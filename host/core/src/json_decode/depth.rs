//! Nesting depth of JSON text.

/// Returns whether objects and lists in JSON text are nested deeper than `most`.
pub fn is_nested_deeper(json: &[u8], most: usize) -> bool {
    // Most texts have few brackets, so their order does not matter.
    memchr::memchr2_iter(b'[', b'{', json).nth(most).is_some() && depth_of(json) > most
}

/// Returns the maximum nesting of brackets outside strings.
fn depth_of(json: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        let cases = [("1", 0), ("{}", 1), (r#"{"a":[{"b":"[[[["}],"c\"[":[]}"#, 3), (r#"["\\",["]"]]"#, 2)];
        for (json, expected) in cases {
            assert!(!is_nested_deeper(json.as_bytes(), expected), "{json}");
            assert_eq!(depth_of(json.as_bytes()), expected, "{json}");
        }
    }
}
