//! Corrections for many tests: Holm's procedure for gates, Benjamini and Hochberg's for slices.

/// Returns the adjusted ratio of p-value to level for each `(p_value, alpha)`; at most 1 if the test rejects.
///
/// The probability that any test without an effect rejects is at most the largest level.
///
/// The procedure is Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6
/// (1979), with p-values in units of their levels. With equal levels it is the usual procedure, and the result times the
/// level is the adjusted p-value.
pub(super) fn holm(tests: &[(f64, f64)]) -> Vec<f64> {
    let ratios: Vec<f64> = tests.iter().map(|(p_value, alpha)| p_value / alpha).collect();
    let mut adjusted = ratios.clone();
    let mut largest = 0.0_f64;
    for (rank, (position, ratio)) in ascending(&ratios).into_iter().enumerate() {
        largest = largest.max(ratio * (ratios.len() - rank) as f64);
        if let Some(place) = adjusted.get_mut(position) {
            *place = largest;
        }
    }
    adjusted
}

/// Returns the q-values: among the tests with a q-value of at most q, the expected share without an effect is at most q.
///
/// Benjamini and Hochberg, "Controlling the False Discovery Rate", Journal of the Royal Statistical Society B
/// 57 (1995).
pub(super) fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = p_values.to_vec();
    let mut least = 1.0_f64;
    for (rank, (position, p_value)) in ascending(p_values).into_iter().enumerate().rev() {
        least = least.min(p_value * p_values.len() as f64 / (rank + 1) as f64);
        if let Some(place) = adjusted.get_mut(position) {
            *place = least;
        }
    }
    adjusted
}

/// Returns the numbers with their positions, in ascending order.
fn ascending(numbers: &[f64]) -> Vec<(usize, f64)> {
    let mut sorted: Vec<(usize, f64)> = numbers.iter().copied().enumerate().collect();
    sorted.sort_by(|(_, one), (_, two)| one.total_cmp(two));
    sorted
}
