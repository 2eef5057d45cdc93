//! Corrections for many tests: Holm's procedure for gates, Benjamini and Hochberg's for slices.

/// For each of several tests, each with a level of its own, how far its p-value is from being called: at
/// most 1 where it is called. The chance that any of those without an effect is called is at most the
/// largest level.
///
/// Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6
/// (1979), with p-values in units of their levels. With equal levels that is the usual procedure, and
/// the result times the level is the adjusted p-value.
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

/// The q-values: of the tests with a q-value of at most q a share q is called without an effect, on average.
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

/// The numbers with their positions, the least first.
fn ascending(numbers: &[f64]) -> Vec<(usize, f64)> {
    let mut sorted: Vec<(usize, f64)> = numbers.iter().copied().enumerate().collect();
    sorted.sort_by(|(_, one), (_, two)| one.total_cmp(two));
    sorted
}
