//! Quantiles of numbers that are all in memory.

/// Returns a quantile, given in thousandths: 500 is the median. `None` without numbers.
///
/// Between two numbers it is interpolated by definition 7 of Hyndman and Fan, "Sample Quantiles in
/// Statistical Packages", The American Statistician 50 (1996). Reorders the numbers; takes linear time.
pub(crate) fn quantile(numbers: &mut [f64], per_mille: u64) -> Option<f64> {
    let (rank, fraction) = rank(numbers.len() as u64, per_mille)?;
    let position = usize::try_from(rank).ok().filter(|position| *position < numbers.len())?;
    let (_, lower, above) = numbers.select_nth_unstable_by(position, f64::total_cmp);
    let lower = *lower;
    let upper = above.iter().copied().min_by(f64::total_cmp).unwrap_or(lower);
    Some(between(lower, upper, fraction))
}

/// Returns the position of a quantile among `count` sorted numbers: the rank of the lower number, counted
/// from 0, and the fraction of the distance to the next. `None` without numbers.
pub(crate) fn rank(count: u64, per_mille: u64) -> Option<(u64, f64)> {
    // Integer arithmetic avoids rounding.
    let thousandths = count.checked_sub(1)?.saturating_mul(per_mille.min(1_000));
    Some((thousandths / 1_000, (thousandths % 1_000) as f64 / 1_000.0))
}

/// Interpolates between the lower and the upper number.
pub(crate) fn between(lower: f64, upper: f64, fraction: f64) -> f64 {
    if fraction == 0.0 || lower == upper {
        lower
    } else if fraction == 0.5 {
        lower.midpoint(upper)
    } else {
        // Not `clamp`, which panics on NaN: a resample beyond the range of `f64` may contain one.
        (lower * (1.0 - fraction) + upper * fraction).max(lower).min(upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_definition_7() {
        // By `numpy.quantile`, whose default is the same definition.
        let numbers = [15.0, 20.0, 35.0, 40.0, 50.0];
        let cases =
            [(50, 16.0), (250, 20.0), (300, 23.0), (400, 29.0), (500, 35.0), (900, 46.0), (990, 49.6)];
        for (per_mille, expected) in cases {
            let found = quantile(&mut numbers.clone(), per_mille).unwrap();
            assert!((found - expected).abs() < 1e-12, "{per_mille}: {found}");
        }
        assert_eq!(quantile(&mut [], 500), None);
        assert_eq!(quantile(&mut [7.0], 990), Some(7.0));
        assert_eq!(quantile(&mut [f64::MAX, f64::MAX], 500), Some(f64::MAX));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn quantiles_grow_and_stay_between_the_ends(numbers in prop::collection::vec(-1e6..1e6, 1..60)) {
            let of = |per_mille: u64| quantile(&mut numbers.clone(), per_mille).unwrap();
            let found: Vec<f64> = (0..=20).map(|step| of(step * 50)).collect();
            prop_assert!(found.is_sorted(), "{found:?}");
            prop_assert_eq!(of(0), numbers.iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(of(1_000), numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        }
    }
}
