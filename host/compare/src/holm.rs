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
    let mut order: Vec<usize> = (0..ratios.len()).collect();
    let ratio = |position: usize| ratios.get(position).copied().unwrap_or(f64::INFINITY);
    order.sort_by(|one, two| ratio(*one).total_cmp(&ratio(*two)));
    let mut adjusted = ratios.clone();
    let mut largest = 0.0_f64;
    for (rank, position) in order.iter().enumerate() {
        largest = largest.max(ratio(*position) * (order.len() - rank) as f64);
        if let Some(place) = adjusted.get_mut(*position) {
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
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    let p_value = |position: usize| p_values.get(position).copied().unwrap_or(1.0);
    order.sort_by(|one, two| p_value(*one).total_cmp(&p_value(*two)));
    let mut adjusted = p_values.to_vec();
    let mut least = 1.0_f64;
    for (rank, position) in order.iter().enumerate().rev() {
        least = least.min(p_value(*position) * order.len() as f64 / (rank + 1) as f64);
        if let Some(place) = adjusted.get_mut(*position) {
            *place = least;
        }
    }
    adjusted
}
