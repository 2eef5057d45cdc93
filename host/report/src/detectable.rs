//! What a run of so many samples can show.

use crate::Z_95;

/// The 0.8 quantile of the standard normal distribution.
const Z_80: f64 = 0.841_621_233_572_914_3;

/// The smallest difference between the proportions of two independent runs of `count` samples each that a
/// two-sided test at the level 0.05 finds with a power of 80 %: `(z₀.₉₇₅ + z₀.₈) · √(2p(1 − p) / n)`, where
/// `p` is the proportion of both without the difference; it is largest at 0.5. Two runs over the same samples,
/// compared in pairs, find smaller ones. `None` without samples, and where no difference is large enough.
///
/// Fleiss, Levin and Paik, "Statistical Methods for Rates and Proportions", 3rd edition (2003), section 4.2,
/// with the variance under the null hypothesis on both sides and without continuity correction; for evaluations
/// Miller, "Adding Error Bars to Evals" (2024), section 5.
pub fn smallest_detectable_difference(count: u64, proportion: f64) -> Option<f64> {
    if count == 0 {
        return None;
    }
    // Numbers of samples stay far below 2^53.
    let variance = 2.0 * proportion * (1.0 - proportion) / count as f64;
    Some((Z_95 + Z_80) * variance.sqrt()).filter(|difference| *difference <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_shrinks_with_the_square_root() {
        // By hand: 2.8016 · √(0.5 / 1000).
        let of_1000 = smallest_detectable_difference(1_000, 0.5).unwrap();
        assert!((of_1000 - 0.062_646).abs() < 1e-5, "{of_1000}");
        let of_4000 = smallest_detectable_difference(4_000, 0.5).unwrap();
        assert!((of_1000 / of_4000 - 2.0).abs() < 1e-12);
        assert_eq!(smallest_detectable_difference(0, 0.5), None);
        assert_eq!(smallest_detectable_difference(2, 0.5), None);
    }
}
