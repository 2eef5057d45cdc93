//! JSON text of rows in many forms: known names with any values, odd spellings, duplicates, errors.

use gage_sdk::serde_json::{self, Value};
use proptest::prelude::*;

/// JSON text of numbers in many spellings.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON knows no others", |number| number.is_finite())
            .prop_map(|number| format!("{number:e}")),
        proptest::sample::select(
            &[
                "0",
                "-0",
                "1",
                "2",
                "1.0",
                "1.50",
                "1E5",
                "1.0e2",
                "-0.0",
                "1e-9",
                "18446744073709551615",
                "18446744073709551616",
                "-9223372036854775809",
                "123456789012345678901234567890",
                "1e999",
                "01",
            ][..]
        )
        .prop_map(str::to_owned),
    ]
}

/// JSON text of texts: words with a meaning in a row, and any others, with escapable characters in either spelling.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(&[
            "", "a", "b", "A", "B", "b)", "a. x", "x", "y", " x ", "1", "0", "multi choice", "qa", "a.png",
        ][..]).prop_map(|text| Value::from(text).to_string()),
        2 => ".{0,8}".prop_map(|text| Value::from(text).to_string()),
        1 => proptest::sample::select(&[
            r#""\u0061""#, r#""\/""#, r#""\u4e2d\ud83d\ude00""#, r#""\ud83d""#, r#""\u001c a \u00a0""#, r#""\"\\\b\f\n\r\t""#,
            r#"" \n""#, r#""\u001F""#, "\"\u{7f}\u{2028}\u{3000}\"", "\"\u{1}\"", r#""\x""#, "\"Ｂ\"",
        ][..]).prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![4 => text(), 2 => number(), 1 => proptest::sample::select(&["null", "true", "false"][..]).prop_map(str::to_owned)]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![5 => Just(""), 1 => Just(" "), 1 => Just("\n\t \r")]
}

/// Names with a meaning in a row, and a few others; some are spelled with escapes.
fn name() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(
        &[
            "schema_version",
            "id",
            "task_type",
            "question_type",
            "messages",
            "question",
            "prompt",
            "text",
            "options",
            "choices",
            "answer",
            "answers",
            "references",
            "label",
            "metadata",
            "data_tag",
            "tools",
            "inputs",
            "predict_result",
            "cache_suffix",
            "raw_assets",
            "image",
            "file",
            "option_map",
            "correct_choice",
            "role",
            "content",
            "type",
            "meta",
            "own",
            "",
            "$serde_json::private::Number",
        ][..],
    );
    prop_oneof![
        8 => known.prop_map(|name| Value::from(name).to_string()),
        1 => text(),
        1 => proptest::sample::select(&[r#""\u0069d""#, r#""a\"b""#, r#""labe\u006c""#][..]).prop_map(str::to_owned),
    ]
}

fn list(items: Vec<String>, space: &str) -> String {
    format!("[{space}{}{space}]", items.join(&format!("{space},{space}")))
}

fn object(members: Vec<(String, String)>, space: &str) -> String {
    let members = members.iter().map(|(name, value)| format!("{name}{space}:{space}{value}"));
    format!("{{{space}{}{space}}}", members.collect::<Vec<_>>().join(&format!(",{space}")))
}

fn any_value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (proptest::collection::vec(inner.clone(), 0..4), space())
                .prop_map(|(items, space)| list(items, space)),
            (proptest::collection::vec((name(), inner), 0..4), space())
                .prop_map(|(members, space)| object(members, space)),
        ]
    })
}

/// Generates a value that often has the form that its field requires.
fn value_of(name: &str) -> BoxedStrategy<String> {
    let texts =
        || (proptest::collection::vec(text(), 0..5), space()).prop_map(|(items, space)| list(items, space));
    let part = || {
        prop_oneof![
            3 => text().prop_map(|text| format!(r#"{{"type":"text", "text":{text}}}"#)),
            1 => text().prop_map(|url| format!(r#"{{"type":"image_url","image_url":{{"url":{url}}}}}"#)),
            1 => any_value(),
        ]
    };
    let parts = || proptest::collection::vec(part(), 0..3).prop_map(|parts| list(parts, ""));
    let shaped = match name {
        "messages" => {
            let role = proptest::sample::select(&["user", "assistant", "system"][..]);
            let message = (role, prop_oneof![parts(), text()])
                .prop_map(|(role, content)| format!(r#"{{"role":"{role}","content": {content}}}"#));
            proptest::collection::vec(prop_oneof![5 => message, 1 => any_value()], 0..3)
                .prop_map(|messages| list(messages, " "))
                .boxed()
        }
        "references" => {
            let reference = prop_oneof![
                5 => parts().prop_map(|parts| format!(r#"{{"answer": {parts}}}"#)),
                1 => parts().prop_map(|parts| format!(r#"{{"answer":{parts},"type":"text"}}"#)),
                1 => any_value(),
            ];
            proptest::collection::vec(reference, 0..3).prop_map(|references| list(references, "")).boxed()
        }
        "options" | "choices" => {
            let option = (text(), text()).prop_map(|(id, text)| format!(r#"{{"id":{id},"content":{text}}}"#));
            let options = proptest::collection::vec(option, 0..4).prop_map(|options| list(options, " "));
            prop_oneof![texts(), options].boxed()
        }
        "answer" | "answers" | "label" => prop_oneof![3 => scalar(), 1 => texts(), 1 => part()].boxed(),
        "metadata" | "data_tag" => proptest::collection::vec((self::name(), scalar()), 0..4)
            .prop_map(|members| object(members, " "))
            .boxed(),
        _ => scalar().boxed(),
    };
    prop_oneof![5 => shaped, 1 => any_value()].boxed()
}

/// JSON text of rows and non-rows.
pub(super) fn rows() -> impl Strategy<Value = String> {
    let field = || {
        name().prop_flat_map(|name| {
            let plain = serde_json::from_str::<String>(&name).unwrap_or_default();
            value_of(&plain).prop_map(move |value| (name.clone(), value))
        })
    };
    let beginning = prop_oneof![
        3 => value_of("question").prop_map(|question| vec![(r#""question""#.to_owned(), question)]),
        2 => value_of("messages").prop_map(|messages| {
            vec![(r#""schema_version""#.to_owned(), r#""v1""#.to_owned()), (r#""messages""#.to_owned(), messages)]
        }),
        1 => Just(Vec::new()),
    ];
    (beginning, proptest::collection::vec(field(), 0..6), space()).prop_map(|(mut fields, others, space)| {
        fields.extend(others);
        object(fields, space)
    })
}
