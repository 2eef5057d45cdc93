use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Returns the value at a path of a row that was built.
fn find<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    match value {
        Value::Object(object) => object.get(path).or_else(|| {
            let dots = path.char_indices().rev().filter(|(_, character)| *character == '.');
            dots.filter_map(|(dot, _)| Some((path.get(..dot)?, path.get(dot + 1..)?)))
                .find_map(|(name, rest)| find(object.get(name)?, rest))
        }),
        Value::Array(items) => {
            let (index, rest) =
                path.split_once('.').map_or((path, None), |(index, rest)| (index, Some(rest)));
            let item = items.get(index.parse::<usize>().ok()?)?;
            rest.map_or(Some(item), |rest| find(item, rest))
        }
        _ => None,
    }
}

/// Returns texts of JSON values, whose objects may have several members of the same name.
fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("null".to_owned()), Just("0.5".to_owned()), Just("\"x\\\"y\"".to_owned())];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let name = "(a|b|a\\.b|0|1)?";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((name, inner), 0..4).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| format!("\"{name}\": {value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn the_field_is_that_of_the_built_row(text in texts(), path in "(a|b|0|1|\\.){0,7}") {
        let row: Value = serde_json::from_str(&text).expect("JSON");
        let expected = find(&row, &path).cloned().map(RowField::Value);
        prop_assert_eq!(field_of(&text, &path), expected, "{} {}", text, path);
    }
}

#[test]
fn fields_that_no_filter_can_name_are_not_built() {
    let kind = |value: &str| field_of(&format!("{{\"x\": [{}0], \"a\": {value}}}", "{},".repeat(9)), "a");
    for inner in ["0,", "{},", "[0],", "{\"k\":[]},"] {
        let list = format!("[{}0]", inner.repeat(MAX_FIELD_VALUES));
        assert_eq!(kind(&list), Some(RowField::Large("a list")), "{inner}");
        assert_eq!(kind(&format!("{{\"l\": {list}}}")), Some(RowField::Large("an object")), "{inner}");
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(matches!(kind(&nested(MAX_FIELD_DEPTH)), Some(RowField::Value(_))));
    assert_eq!(kind(&nested(100_000)), Some(RowField::Large("a list")));
    let long = json!({"a": "x".repeat(1 << 20)}).to_string();
    assert_eq!(field_of(&long, "a").map(|field| field.kind()), Some("a text"));
}

#[test]
fn names_are_those_of_two_levels() {
    let row = format!(
        "{{\"a\": {{\"b\": {{\"c\": 1}}}}, \"{}\": 1, \"d\": [{{\"e\": 1}}], \"a\": 2}}",
        "n".repeat(300)
    );
    let names = |most: usize| {
        let mut names = vec!["x".to_owned()];
        RowFields::new(&row).add_names(&mut names, most);
        names
    };
    assert_eq!(names(9), ["x", "a.b", "a", "d"]);
    assert_eq!(names(2), ["x", "a.b"]);
    assert_eq!(names(1), ["x"]);
}

#[test]
fn a_field_is_read_once() {
    let mut fields = RowFields::new(r#"{"a": 1}"#);
    assert_eq!(fields.get(1, "a"), Some(&RowField::Value(json!(1))));
    fields.row = "{}";
    assert_eq!(fields.get(1, "a"), Some(&RowField::Value(json!(1))));
    assert_eq!(fields.get(0, "a"), None);
}
