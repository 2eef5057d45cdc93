//! Options in all their shapes, and what answers mean among them.

use super::*;
use gage_sdk::json;

#[test]
fn labels_are_resolved() {
    for (answer, options, index_base, expected) in [
        (json!("A"), json!(["x", "y"]), 0, Some("A")),
        (json!("a"), json!(["x", "y"]), 0, Some("A")),
        (json!(0), json!(["x", "y"]), 0, Some("A")),
        (json!(1), json!(["x", "y"]), 1, Some("A")),
        (json!(1.0), json!(["x", "y"]), 0, Some("B")),
        (json!("0"), json!(["x", "y"]), 0, Some("A")),
        (json!(-1), json!(["x", "y"]), 0, None),
        (json!(0), json!(["x", "y"]), 1, None),
        (json!("Y "), json!(["x", "y"]), 0, Some("B")),
        (json!("B."), json!(["x", "y"]), 0, Some("B")),
        (json!("（Ｂ）"), json!(["x", "y"]), 0, Some("B")),
        (json!("B) y"), json!(["x", "y"]), 0, Some("B")),
        (json!(null), json!(["x", "y"]), 0, None),
        (json!(true), json!(["x", "y"]), 0, None),
        (json!(""), json!(["x", ""]), 0, None),
        (json!("a.m."), json!(["x", "y"]), 0, None),
        (json!("C"), json!(["x", "y"]), 0, None),
        (json!("A"), json!({ "A": "x", "B": "y" }), 0, Some("A")),
        (json!("B"), json!([{ "id": "A", "content": "x" }, { "id": "B", "content": "y" }]), 0, Some("B")),
        (json!("2"), json!({ "text": ["x", "y"], "label": ["1", "2"] }), 0, Some("B")),
        (json!(2), json!([{ "id": 1, "content": "x" }, { "id": 2, "content": "y" }]), 0, Some("B")),
        (json!("1"), json!(["0", "1"]), 0, Some("B")),
        (json!("2"), json!(["1", "2", "3"]), 1, Some("B")),
        (json!("5"), json!(["3", "5", "7"]), 0, Some("B")),
        (json!("7"), json!([3, 5, 7]), 1, Some("C")),
        (json!("12"), json!(["x", "y"]), 0, None),
        (json!(5), json!(["3", "5", "7"]), 0, Some("B")),
        (json!(0.5), json!([0.25, 0.5]), 0, Some("B")),
        (json!(2), json!(["1", "2", "3"]), 0, Some("C")),
        (json!("A"), json!("x"), 0, Some("A")),
        (json!("A"), json!([1, 2]), 0, Some("A")),
        (json!("B"), json!("['x', 'y']"), 0, Some("B")),
        (json!("y"), json!([{ "label": "B", "text": "x" }, { "label": "A", "text": "y" }]), 0, Some("A")),
    ] {
        let read = read(&options, Labels::Letters);
        let places = Places::OrTexts(index_base);
        let resolved = read.as_ref().ok().map(|options| resolve(&answer, options, places));
        let resolved = resolved.unwrap_or(Ok(None)).expect("clear");
        assert_eq!(resolved.map(|option| option.label.as_str()), expected, "{answer} {options}");
    }
}

#[test]
fn what_may_mean_two_options_means_none() {
    let advice = "; give the letter of the option, or a number for its place. `multi_choice` with \
                  `answer_index_base: 0` takes it as a place, with `answer_index_base: null` as a text";
    for (answer, options, base, why) in [
        (
            "2",
            json!(["1", "2", "3"]),
            0,
            r#"is "2", which is what option B says, while as a place, counted from 0, it is option C ("3")"#,
        ),
        (
            "2",
            json!(["1", "2"]),
            0,
            r#"is "2", which is what option B says, and may be a place that is not counted from 0"#,
        ),
        (
            "0",
            json!(["1", "0"]),
            1,
            r#"is "0", which is what option B says, and may be a place that is not counted from 1"#,
        ),
    ] {
        let options = read(&options, Labels::Letters).unwrap_or_default();
        let resolved = |places| {
            let found = resolve(&json!(answer), &options, places);
            found.map(|option| option.map(|option| option.label.as_str())).map_err(|error| error.to_string())
        };
        assert_eq!(resolved(Places::OrTexts(base)), Err(format!("{why}{advice}")));
        assert_eq!(resolved(Places::Never), Ok(Some("B")));
        let at_place = answer.parse::<usize>().ok().and_then(|place| at_index(&options, place, base));
        assert_eq!(resolved(Places::Always(base)), Ok(at_place.map(|option| option.label.as_str())));
    }
}

#[test]
fn options_keep_their_white_space() {
    let read = read(&json!([" x ", 2, { "id": "c", "content": "z" }]), Labels::Letters).unwrap_or_default();
    let texts: Vec<&str> = read.iter().map(|option| option.text.as_str()).collect();
    assert_eq!(texts, [" x ", "2", "z"]);
    let labels: Vec<&str> = read.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["A", "B", "C"]);
}

#[test]
fn unusable_options_are_refused() {
    let many: Vec<usize> = (0..703).collect();
    for options in [json!([]), json!({}), json!([null]), json!(many), json!("['a' 'b']"), json!([["x"]])] {
        assert!(read(&options, Labels::Letters).is_err(), "{options}");
    }
}

#[test]
fn own_names_may_be_labels() {
    let options = json!([{ "id": "first", "content": "x" }, { "id": "second", "content": "y" }]);
    let read = read(&options, Labels::Own).unwrap_or_default();
    assert_eq!(sample_options(&read), options);
    let second = resolve(&json!("second"), &read, Places::OrTexts(0)).ok().flatten();
    assert_eq!(second.map(|option| option.label.as_str()), Some("second"));
}
