use super::*;
use crate::testing::{assert_near, figures, row, value};
use gage_sdk::ScoreCard;

fn pair(reference: &Value, prediction: &Value) -> Row {
    row("s", ScoreCard::of(0.0).detail(&json!({ "prediction": prediction, "reference": reference })))
}

fn found(params: Value, pairs: &[(Value, Value)]) -> Vec<Figure> {
    let rows = pairs.iter().map(|(reference, prediction)| pair(reference, prediction)).collect();
    match figures::<Confusion>(params, rows) {
        Ok(figures) => figures,
        Err(error) => panic!("rows are taken in: {error:?}"),
    }
}

/// The example in scikit-learn's documentation of `f1_score`: y_true = [0, 1, 2, 0, 1, 2], y_pred = [0, 2, 1, 0, 0, 1].
/// It gives a macro F1 of 0.26, a micro F1 of 0.33 and a weighted F1 of 0.26; F1 by class is 0.8, 0 and 0.
#[test]
fn the_example_of_scikit_learn() {
    let pairs: Vec<(Value, Value)> = [(0, 0), (1, 2), (2, 1), (0, 0), (1, 0), (2, 1)]
        .map(|(left, right)| (json!(left), json!(right)))
        .into();
    let figures = found(json!({}), &pairs);
    for (name, expected) in [
        ("macro_f1", 0.8 / 3.0),
        ("micro_f1", 1.0 / 3.0),
        ("weighted_f1", 0.8 / 3.0),
        ("accuracy", 1.0 / 3.0),
        ("macro_precision", 2.0 / 9.0),
        ("macro_recall", 1.0 / 3.0),
        ("categories", 3.0),
        ("f1: 0", 0.8),
        ("precision: 0", 2.0 / 3.0),
        ("recall: 0", 1.0),
        ("f1: 2", 0.0),
    ] {
        assert_near(&figures, name, expected, 1e-12);
    }
    assert_eq!(figures.len(), 8 + 9);
    let [precision] = figures.iter().filter(|figure| figure.name == "precision: 1").collect::<Vec<_>>()[..]
    else {
        panic!("each category has its figures")
    };
    assert_eq!(precision.count, 2);
}

/// The example in the Wikipedia article "Cohen's kappa": 20 and 15 of 50 agree, 5 and 10 do not: 0.4.
#[test]
fn kappa() {
    let mut pairs = Vec::new();
    for (left, right, count) in [("yes", "yes", 20), ("yes", "no", 5), ("no", "yes", 10), ("no", "no", 15)] {
        pairs.extend(std::iter::repeat_n((json!(left), json!(right)), count));
    }
    assert_near(&found(json!({}), &pairs), "cohen_kappa", 0.4, 1e-12);
    let same = found(json!({}), &[(json!("a"), json!("a"))]);
    assert_eq!(value(&same, "cohen_kappa"), None);
    assert_near(&same, "macro_f1", 1.0, 0.0);
}

#[test]
fn what_is_missing() {
    let pairs = [
        (json!("a"), json!(null)),
        (json!("a"), json!(" a ")),
        (json!(null), json!("a")),
        (json!(" "), json!("a")),
    ];
    let figures = found(json!({}), &pairs);
    for (name, expected) in [
        ("accuracy", 0.5),
        ("precision: a", 1.0),
        ("recall: a", 0.5),
        ("micro_f1", 2.0 / 3.0),
        // Chance is 1/2 · 1, so half right is no better than chance.
        ("cohen_kappa", 0.0),
    ] {
        assert_near(&figures, name, expected, 1e-12);
    }
    assert_eq!(found(json!({}), &[]), []);
    let expected = ScoreCard::of(1.0).detail(&json!({ "prediction": "A", "expected": "A" }));
    let Ok(other) = crate::testing::figures::<Confusion>(json!({}), vec![row("s", expected)]) else {
        panic!("the detail of multi_choice_accuracy is read")
    };
    assert_near(&other, "accuracy", 1.0, 0.0);
}

#[test]
fn names_and_limits() {
    let pairs: Vec<(Value, Value)> =
        (0..100).map(|number| (json!(format!("c\u{1b}{number}")), json!(true))).collect();
    let figures = found(json!({ "per_category": 16 }), &pairs);
    assert_eq!(figures.len(), 8 + 48);
    assert!(figures.iter().all(|figure| !figure.name.contains('\u{1b}')));
    let alike = found(json!({}), &[(json!("a!"), json!("a?")), (json!("a?"), json!("a?"))]);
    assert_near(&alike, "recall: a_", 0.0, 0.0);
    assert_near(&alike, "recall: a_:2", 1.0, 0.0);
    let rows = (0..=MAX_CATEGORIES).map(|number| pair(&json!(number), &json!(0))).collect();
    let many = figures_of(rows);
    assert!(many.is_err_and(|error| error.kind == ErrorKind::LimitExceeded));
    assert!(Confusion::prepare(json!({ "per_category": 17 })).is_err());
}

/// Computes the figures in one call, without saving the state after each row.
fn figures_of(rows: Vec<Row>) -> Result<Vec<Figure>, PluginError> {
    let aggregator = Confusion::prepare(json!({}))?;
    let mut state = ConfusionState::default();
    rows.into_iter().try_for_each(|row| aggregator.add(&mut state, row))?;
    aggregator.finish(state)
}

#[test]
fn categories_are_those_that_the_metric_compared() {
    let card =
        |pass: bool, detail: Value| ScoreCard::of(f64::from(u8::from(pass))).pass(pass).detail(&detail);
    let rows = || {
        vec![
            row(
                "1",
                card(
                    true,
                    json!({ "prediction": "PARIS", "reference": "Paris", "normalized": { "prediction": "paris", "reference": "paris" } }),
                ),
            ),
            row(
                "2",
                card(
                    false,
                    json!({ "prediction": "Paris", "reference": "rome", "normalized": { "prediction": "paris" } }),
                ),
            ),
            row("3", card(true, json!({ "prediction": "5.0", "reference": 5 }))),
        ]
    };
    for (params, accuracy, categories) in
        [(json!({}), 2.0 / 3.0, 3.0), (json!({ "reference": "reference" }), 0.0, 5.0)]
    {
        let Ok(figures) = figures::<Confusion>(params.clone(), rows()) else { panic!("rows are taken in") };
        assert_near(&figures, "accuracy", accuracy, 1e-12);
        assert_near(&figures, "categories", categories, 0.0);
    }
}
