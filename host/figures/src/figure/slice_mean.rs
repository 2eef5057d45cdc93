//! The mean over the slices of a path, in which each slice counts once (macro mean).

use super::SliceFigure;
use crate::statistics::student_t_975;
use crate::{CompensatedSum, Interval, IntervalMethod, Scale, UNBOUNDED};
use gage_core::{NONE_LABEL, OTHER_LABEL};
use serde::{Deserialize, Serialize};

/// The mean of the values of a path's slices. Each slice counts once, however many samples it has.
///
/// Samples without a value at the path are not in it. The value is null if a slice has none, or if the path has more values
/// than slices are kept for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceMean {
    /// The path.
    pub by: String,
    /// Number of slices.
    pub slices: u64,
    /// The mean of their values.
    pub value: Option<f64>,
    /// The standard error: the root of the sum of the slices' squared errors, divided by their number. Null if a slice has
    /// none, if samples are in several slices, or if clusters may be.
    pub stderr: Option<f64>,
    /// Student's interval, with the degrees of freedom of Welch and Satterthwaite.
    pub interval: Option<Interval>,
}

/// The samples that a mean of slices is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlicedSamples {
    /// Number of scored samples of the whole figure.
    pub(crate) n: u64,
    /// True if samples belong to clusters.
    pub(crate) is_clustered: bool,
    /// Smallest and largest possible mean.
    pub(crate) bounds: Scale,
}

/// Returns the mean over the slices of one path; `None` with fewer than two slices, and if none has a value.
pub(crate) fn slice_mean(slices: &[SliceFigure], samples: SlicedSamples) -> Option<SliceMean> {
    let named: Vec<&SliceFigure> = slices.iter().filter(|slice| slice.key != NONE_LABEL).collect();
    let [first, _, ..] = named.as_slice() else { return None };
    named.iter().find(|slice| slice.value.is_some())?;
    let is_whole = named.iter().all(|slice| slice.key != OTHER_LABEL);
    let count = named.len() as f64;
    let values: Option<Vec<f64>> = named.iter().map(|slice| slice.value).collect();
    let value = values.filter(|_| is_whole).map(|values| sum(values.into_iter()) / count);
    // A sample whose value is a list is in several slices, so their errors are not independent.
    let overlap = slices.iter().map(|slice| slice.n).sum::<u64>() > samples.n;
    let errors: Option<Vec<f64>> = named.iter().map(|slice| slice.stderr).collect();
    let errors = errors.filter(|_| value.is_some() && !overlap && !samples.is_clustered);
    let variance = errors.as_ref().map(|errors| sum(errors.iter().map(|error| error * error)));
    let stderr = variance.map(|variance| variance.sqrt() / count);
    let fourth = errors.map(|errors| {
        let terms = errors.iter().zip(&named);
        let degrees = |slice: &SliceFigure| slice.n.saturating_sub(1).max(1) as f64;
        sum(terms.map(|(error, slice)| (error * error) * (error * error) / degrees(slice)))
    });
    // Proportions are from 0 to 1, even if the metric declares no scale.
    let are_proportions = named
        .iter()
        .all(|slice| slice.interval.is_some_and(|interval| interval.method == IntervalMethod::Wilson));
    let bounds = if samples.bounds == UNBOUNDED && are_proportions { [0.0, 1.0] } else { samples.bounds };
    let interval = match (value, stderr, variance, fourth) {
        (Some(value), Some(stderr), Some(variance), Some(fourth)) if fourth > 0.0 => {
            let half = student_t_975(variance * variance / fourth).map(|t| t * stderr);
            half.map(|half| Interval::of_95(value - half, value + half, IntervalMethod::T))
                .map(|interval| interval.within(value, bounds))
        }
        _ => None,
    };
    Some(SliceMean { by: first.by.clone(), slices: named.len() as u64, value, stderr, interval })
}

fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = CompensatedSum::default();
    values.for_each(|value| sum.add(value));
    sum.total()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(key: &str, value: f64, n: u64, stderr: Option<f64>) -> SliceFigure {
        SliceFigure {
            by: "metadata.subject".to_owned(),
            key: key.to_owned(),
            value: Some(value),
            n,
            total: n,
            coverage: 1.0,
            stderr,
            interval: None,
            error: None,
        }
    }

    fn mean(slices: &[SliceFigure], n: u64, is_clustered: bool) -> Option<SliceMean> {
        slice_mean(slices, SlicedSamples { n, is_clustered, bounds: UNBOUNDED })
    }

    #[test]
    fn each_slice_counts_once() {
        let slices = [slice("a", 0.5, 100, Some(0.05)), slice("b", 1.0, 10, Some(0.12))];
        let found = mean(&slices, 110, false).expect("two slices have a mean");
        assert_eq!((found.slices, found.value), (2, Some(0.75)));
        // The root of 0.05² + 0.12² is 0.13.
        assert!((found.stderr.expect("both have an error") - 0.065).abs() < 1e-15, "{found:?}");
        // Welch and Satterthwaite: (0.05² + 0.12²)² / (0.05⁴/99 + 0.12⁴/9) = 12.37 degrees, whose quantile is 2.1716.
        let interval = found.interval.expect("the error is known");
        assert!((interval.high - 0.75 - 0.065 * 2.1716).abs() < 1e-4, "{interval:?}");
        assert_eq!(interval.method, IntervalMethod::T);
    }

    #[test]
    fn a_mean_without_a_known_error_has_none() {
        let two = [slice("a", 0.5, 100, Some(0.05)), slice("b", 1.0, 10, Some(0.1))];
        let single = [slice("a", 0.5, 100, Some(0.05)), slice("b", 1.0, 1, None)];
        let none = [slice("(none)", 0.0, 5, Some(0.1)), two[0].clone(), two[1].clone()];
        let other = [slice("(other)", 0.0, 5, Some(0.1)), two[0].clone(), two[1].clone()];
        for (what, slices, n, is_clustered, value, has_error) in [
            ("independent", two.as_slice(), 110, false, Some(0.75), true),
            ("clusters", &two, 110, true, Some(0.75), false),
            ("samples in several slices", &two, 105, false, Some(0.75), false),
            ("a slice with one sample", &single, 101, false, Some(0.75), false),
            ("samples without a value", &none, 115, false, Some(0.75), true),
            ("too many slices", &other, 115, false, None, false),
        ] {
            let found = mean(slices, n, is_clustered).expect("two slices have a mean");
            assert_eq!((found.value, found.stderr.is_some()), (value, has_error), "{what}");
            assert_eq!(found.interval.is_some(), has_error, "{what}");
        }
        assert_eq!(mean(&two[..1], 100, false), None);
        let categorical = two.map(|slice| SliceFigure { value: None, stderr: None, ..slice });
        assert_eq!(mean(&categorical, 110, false), None);
    }
}
