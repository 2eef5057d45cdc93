use super::*;
use crate::testing::{assert_near, figures, row, value};
use gage_sdk::ScoreCard;
use proptest::prelude::*;

/// Returns the unit with the ratings of some judges; 0 for none.
fn unit(ratings: &[u8]) -> Row {
    let card = ratings
        .iter()
        .enumerate()
        .filter(|(_, rating)| **rating > 0)
        .fold(ScoreCard::of(0.0).sub_score("other", 9.0), |card, (judge, rating)| {
            card.sub_score(&format!("judge_{judge}"), f64::from(*rating))
        });
    row("s", card)
}

fn alpha(level: &str, units: &[Vec<u8>]) -> Option<f64> {
    let rows = units.iter().map(|ratings| unit(ratings)).collect();
    figures::<KrippendorffAlpha>(json!({ "level": level }), rows)
        .ok()
        .and_then(|figures| value(&figures, "krippendorff_alpha"))
}

/// Krippendorff 2011, section C and D: four observers, twelve units; nominal 0.743, ordinal 0.815,
/// interval 0.849.
#[test]
fn the_example_of_krippendorff() {
    let observers: [[u8; 12]; 4] = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ];
    for (level, expected) in [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)] {
        let units = (0..12).map(|index| unit(&observers.map(|ratings| ratings[index]))).collect();
        let Ok(found) = figures::<KrippendorffAlpha>(json!({ "level": level }), units) else {
            panic!("units are taken in")
        };
        assert_near(&found, "krippendorff_alpha", expected, 5e-4);
        assert_near(&found, "ratings", 40.0, 0.0);
        // The twelfth unit has one rating.
        assert_eq!(found.first().map(|figure| figure.count), Some(11));
    }
}

#[test]
fn the_ends_of_the_scale() {
    for level in ["nominal", "ordinal", "interval"] {
        assert_eq!(alpha(level, &[vec![1, 1], vec![2, 2]]), Some(1.0));
        assert_eq!(alpha(level, &[vec![1, 1], vec![1, 1]]), None);
        assert_eq!(alpha(level, &[vec![1, 0], vec![0, 2]]), None);
        assert_eq!(alpha(level, &[]), None);
        assert!(alpha(level, &[vec![1, 2], vec![2, 1]]).is_some_and(|alpha| alpha < 0.0));
    }
    for params in [json!({ "level": "ratio" }), json!({ "prefix": 1 }), json!({ "x": 1 })] {
        assert!(KrippendorffAlpha::prepare(params).is_err());
    }
}

/// α by its definition, over all pairs.
fn by_pairs(level: &str, units: &[Vec<u8>]) -> Option<f64> {
    let units: Vec<Vec<u8>> = units
        .iter()
        .map(|ratings| ratings.iter().copied().filter(|rating| *rating > 0).collect::<Vec<u8>>())
        .filter(|ratings| ratings.len() >= 2)
        .collect();
    let all: Vec<u8> = units.concat();
    let delta = |left: u8, right: u8| -> f64 {
        let count = |value: u8| all.iter().filter(|other| **other == value).count() as f64;
        match level {
            "nominal" => f64::from(u8::from(left != right)),
            "interval" => (f64::from(left) - f64::from(right)).powi(2),
            _ => {
                let (low, high) = (left.min(right), left.max(right));
                let between: f64 = (low..=high).map(count).sum();
                (between - (count(low) + count(high)) / 2.0).powi(2)
            }
        }
    };
    let pairs = |ratings: &[u8]| -> f64 {
        ratings.iter().flat_map(|left| ratings.iter().map(move |right| delta(*left, *right))).sum()
    };
    let observed: f64 = units.iter().map(|ratings| pairs(ratings) / (ratings.len() as f64 - 1.0)).sum();
    let expected = pairs(&all);
    (expected > 0.0).then(|| 1.0 - (all.len() as f64 - 1.0) * observed / expected)
}

proptest! {
    #[test]
    fn agrees_with_the_definition(units in prop::collection::vec(prop::collection::vec(0_u8..6, 4), 0..12)) {
        for level in ["nominal", "ordinal", "interval"] {
            match (alpha(level, &units), by_pairs(level, &units)) {
                (Some(found), Some(expected)) => {
                    prop_assert!((found - expected).abs() < 1e-9, "{} {} {}", level, found, expected);
                },
                (found, expected) => prop_assert_eq!(found, expected),
            }
        }
    }
}
