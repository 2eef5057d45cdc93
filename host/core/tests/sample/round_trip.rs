//! Samples are written in a stable standard form.

use crate::generated::{self, UNKNOWN};
use gage_core::{EvalContext, FieldPath, JsonView, Sample};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Places and values of unknown fields.
fn unknown_fields(value: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    generated::pointers(value, "", &mut places);
    let end = format!("/{UNKNOWN}");
    places.retain(|place| place.ends_with(&end));
    places.sort();
    places
        .into_iter()
        .map(|place| (place.clone(), value.pointer(&place).cloned().unwrap_or_default()))
        .collect()
}

proptest! {
    #[test]
    fn standard_form_is_read_and_written_without_a_change(value in generated::sample()) {
        if let Ok(sample) = Sample::from_value(value) {
            let written = sample.to_value();
            let again = Sample::from_value(written.clone());
            prop_assert_eq!(&again, &Ok(sample));
            prop_assert_eq!(again.map(|sample| sample.to_value().to_string()), Ok(written.to_string()));
        }
    }

    #[test]
    fn unknown_fields_stay_where_they_stand(value in generated::sample()) {
        if let Ok(sample) = Sample::from_value(value.clone()) {
            let written = sample.to_value();
            prop_assert_eq!(unknown_fields(&value), unknown_fields(&written));
        }
    }

    #[test]
    fn every_path_leads_to_the_same_in_a_sample_as_in_its_json(value in generated::sample()) {
        if let Ok(sample) = Sample::from_value(value) {
            let (written, nothing) = (sample.to_value(), &Value::Null);
            let mut places = Vec::new();
            generated::pointers(&written, "", &mut places);
            let roots =
                |sample| EvalContext { sample, model_output: nothing.into(), judge_output: nothing, support_output: nothing };
            for place in places {
                let path = FieldPath::new(&format!("sample{}", place.replace('/', ".")));
                let found = path.resolve(roots(JsonView::Sample(&sample)));
                prop_assert_eq!(found, path.resolve(roots(JsonView::Json(&written))), "{}", path);
            }
        }
    }

    #[test]
    fn reading_never_panics(value in generated::damaged(), other in generated::any_json()) {
        let _ = Sample::from_value(value);
        let _ = Sample::from_value(other);
    }
}

#[test]
fn most_generated_samples_are_sound() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sound = 0;
    for _ in 0..200 {
        let value = generated::sample().new_tree(&mut runner).expect("a sample").current();
        sound += usize::from(Sample::from_value(value).is_ok());
    }
    assert!(sound > 60, "only {sound} of 200 generated samples can be read, so the properties show little");
}

#[test]
fn shorthands_become_their_long_form() {
    let short = json!({
        "schema_version": "v1", "id": 7, "label": 4, "options": null, "tools": [],
        "messages": [{"role": "user", "content": "2 + 2?", "name": null},
            {"role": "user", "content": ["See", {"type": "image_url", "image_url": "a.png"}]}],
        "references": ["4"],
    });
    let long = json!({
        "schema_version": "v1", "id": "7",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "2 + 2?"}]},
            {"role": "user", "content": [{"type": "text", "text": "See"},
                {"type": "image_url", "image_url": {"url": "a.png"}}]}],
        "references": [{"answer": [{"type": "text", "text": "4"}]}],
        "label": "4",
    });
    assert_eq!(Sample::from_value(short).map(|sample| sample.to_value()), Ok(long));
}
