//! Generators of Samples in all spellings, valid and damaged.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Key of every unknown field. Each object may have one.
pub const UNKNOWN: &str = "x_of_tomorrow";

type Values = BoxedStrategy<Value>;

fn tool_choices() -> Values {
    select(vec!["auto", "none", "required", "any"]).prop_map(Value::from).boxed()
}

/// A Sample that is valid in every field, with shorthands, nulls and unknown fields.
pub fn sample() -> Values {
    let optional = vec![
        ("id", prop_oneof![words(), number(), Just(Value::Null)].boxed()),
        ("task_type", words()),
        ("options", options()),
        ("label", scalar()),
        ("few_shot_examples", list(few_shot())),
        ("golden_trajectories", list(list(message()))),
        ("sandbox", sandbox()),
        ("metadata", free()),
        ("data_tag", json_of(prop_oneof![scalar(), list(scalar())].boxed())),
        ("raw_assets", free()),
        ("tools", list(tool("parameters", free()))),
        ("tool_choice", prop_oneof![tool_choices(), free()].boxed()),
        ("sampling_params", free()),
        ("generation_params", free()),
        ("eval_config", free()),
        ("unconditioned_input", prop_oneof![words(), list(any_json())].boxed()),
        ("predict_result", list(any_json())),
        ("eval_result", free()),
        ("choices", list(any_json())),
        ("inputs", free()),
        ("_dataset_id", words()),
        ("_dataset_metadata", free()),
        ("chat_template_mode", words()),
        ("rendered_by", words()),
        ("template_source", words()),
        ("cache_suffix", words()),
        ("_tokenizer_path", words()),
        ("_media_meta", free()),
    ];
    let required = vec![
        ("schema_version", Just(json!("v1")).boxed()),
        ("messages", list(message())),
        ("references", list(reference())),
    ];
    object(required, optional)
}

/// A Sample with one of its values replaced or removed.
pub fn damaged() -> Values {
    (sample(), any::<Index>(), prop::option::of(any_json()))
        .prop_map(|(mut sample, at, other)| {
            let mut places = Vec::new();
            pointers(&sample, "", &mut places);
            let place: &String = at.get(&places);
            replace(&mut sample, place, other);
            sample
        })
        .boxed()
}

/// Lists the pointers to all values below a value.
pub fn pointers(value: &Value, here: &str, all: &mut Vec<String>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in members {
        let pointer = format!("{here}/{key}");
        pointers(value, &pointer, all);
        all.push(pointer);
    }
}

fn replace(sample: &mut Value, pointer: &str, other: Option<Value>) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer below the root");
    match (sample.pointer_mut(parent).expect("the parent is there"), other) {
        (Value::Object(object), None) => {
            object.shift_remove(&key.replace("~1", "/").replace("~0", "~"));
        }
        (Value::Array(items), None) => {
            items.remove(key.parse().expect("an index"));
        }
        (_, Some(other)) => *sample.pointer_mut(pointer).expect("the value is there") = other,
        _ => {}
    }
}

fn message() -> Values {
    let parts = || ("content", parts());
    let optional = || vec![("name", words()), ("tool_call_id", words())];
    let calls = || ("tool_calls", prop::collection::vec(call(), 1..3).prop_map(Value::from).boxed());
    let role = || ("role", select(vec!["system", "user", "assistant", "tool"]).prop_map(Value::from).boxed());
    prop_oneof![
        4 => object(vec![role(), parts()], optional()),
        1 => object(vec![role(), calls()], [optional(), vec![parts()]].concat()),
    ]
    .boxed()
}

fn call() -> Values {
    tool("arguments", prop_oneof![words(), free()].boxed())
}

fn tool(what: &'static str, content: Values) -> Values {
    let function = object(vec![("name", "[a-z_]{1,4}".prop_map(Value::from).boxed())], vec![(what, content)]);
    object(vec![("function", function)], vec![("id", words()), ("type", Just(json!("function")).boxed())])
}

fn parts() -> Values {
    let text = object(vec![("type", Just(json!("text")).boxed()), ("text", words())], vec![]);
    let media = select(vec!["image_url", "audio_url", "video_url", "file_url"]).prop_flat_map(|kind| {
        let url = object(vec![("url", words())], vec![("detail", words())]);
        object(vec![("type", Just(json!(kind)).boxed()), (kind, prop_oneof![words(), url].boxed())], vec![])
    });
    prop_oneof![words(), list(prop_oneof![words(), text, media].boxed())].boxed()
}

fn reference() -> Values {
    prop_oneof![words(), object(vec![("answer", parts())], vec![("meta", free())])].boxed()
}

fn options() -> Values {
    list(object(vec![("id", "[A-F]{1,2}".prop_map(Value::from).boxed()), ("content", words())], vec![]))
}

fn few_shot() -> Values {
    let optional = vec![
        ("options", options()),
        ("label", scalar()),
        ("tools", list(tool("parameters", free()))),
        ("tool_choice", tool_choices()),
        ("sandbox", Just(Value::Null).boxed()),
    ];
    object(vec![("messages", list(message())), ("references", list(reference()))], optional)
}

fn sandbox() -> Values {
    let strings = |keys: &'static str| {
        prop::collection::btree_map(keys, words(), 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
            .boxed()
    };
    let files = strings("(\\.\\.)?[a-c][a-c/\\\\:. ]{0,4}");
    object(
        vec![],
        vec![("image", words()), ("setup", words()), ("files", files), ("env", strings("[A-Z]{1,3}"))],
    )
}

/// An object with all required members, some of the optional ones (which may be null), and sometimes an
/// unknown one, in any order.
fn object(required: Vec<(&'static str, Values)>, optional: Vec<(&'static str, Values)>) -> Values {
    let unknown =
        prop::option::weighted(0.3, any_json().prop_map(|value| (UNKNOWN.to_owned(), value))).boxed();
    let mut members: Vec<BoxedStrategy<Option<(String, Value)>>> = vec![unknown];
    for (key, values) in required {
        members.push(values.prop_map(move |value| Some((key.to_owned(), value))).boxed());
    }
    for (key, values) in optional {
        let values = prop_oneof![9 => values, 1 => Just(Value::Null)];
        members.push(
            prop::option::weighted(0.25, values.prop_map(move |value| (key.to_owned(), value))).boxed(),
        );
    }
    members
        .prop_shuffle()
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect::<Map<String, Value>>()))
        .boxed()
}

fn list(items: Values) -> Values {
    prop::collection::vec(items, 0..3).prop_map(Value::from).boxed()
}

fn json_of(values: Values) -> Values {
    prop::collection::btree_map("[a-z_]{1,4}", values, 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
        .boxed()
}

fn free() -> Values {
    json_of(any_json())
}

fn words() -> Values {
    "[a-zé1 .]{1,6}".prop_map(Value::from).boxed()
}

fn number() -> Values {
    prop_oneof![any::<i32>().prop_map(Value::from), (0.0..1e6).prop_map(Value::from)].boxed()
}

fn scalar() -> Values {
    prop_oneof![words(), number(), any::<bool>().prop_map(Value::from)].boxed()
}

/// Arbitrary JSON with a few levels.
pub fn any_json() -> Values {
    prop_oneof![4 => scalar(), 1 => Just(Value::Null), 1 => "[\\x00-\\x20a./\\\\=]{0,3}".prop_map(Value::from)]
        .prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z./=]{0,4}", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
        .boxed()
}
