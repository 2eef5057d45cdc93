//! Student's t distribution.
//!
//! The quantile enters `summary.json`, whose bytes are the same on every machine. So it is computed here, using only
//! operations that IEEE 754 rounds correctly. `statrs` uses logarithms and powers, whose last bit may differ between
//! platforms; `gage-compare` uses it for p-values, which no digest depends on.

use super::Z_95;

/// Number of degrees of freedom from which the series in powers of their inverse is used; its error is
/// then below 1e-11.
const MANY_DEGREES: u64 = 200;

/// Returns the 0.975 quantile of Student's t distribution, half the width of a 95 % interval in standard
/// errors; `None` without degrees of freedom. Accurate to 1e-10.
///
/// The formulas are from Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964). Below 200
/// degrees, the closed form of the distribution function, 26.7.3 and 26.7.4, is solved by bisection. From
/// there on, formula 26.7.5 is accurate enough. All operations are rounded correctly by IEEE 754, so the
/// result has the same bits on every machine.
pub fn student_t_975(degrees: u64) -> Option<f64> {
    match degrees {
        0 => None,
        few if few < MANY_DEGREES => Some(solved(few)),
        many => Some(expanded(many as f64)),
    }
}

/// Solves for the t at which the probability of being within ±t is 0.95.
fn solved(degrees: u64) -> f64 {
    // The quantile falls as the degrees grow, from 12.7 to that of the normal distribution.
    let (mut low, mut high) = (Z_95, 13.0_f64);
    for _ in 0..64 {
        let middle = low.midpoint(high);
        if probability_within(middle, degrees) < 0.95 { low = middle } else { high = middle }
    }
    low.midpoint(high)
}

/// Probability of a value between -t and t.
fn probability_within(t: f64, degrees: u64) -> f64 {
    let count = degrees as f64;
    let scale = t.mul_add(t, count).sqrt();
    let (sine, cosine) = (t / scale, count.sqrt() / scale);
    let is_odd = !degrees.is_multiple_of(2);
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    let mut power = if is_odd { 3 } else { 2 };
    while power <= degrees.saturating_sub(2) {
        term *= cosine * cosine * (power - 1) as f64 / power as f64;
        sum += term;
        power += 2;
    }
    if is_odd {
        (arc_tangent(t / count.sqrt()) + sine * sum) / std::f64::consts::FRAC_PI_2
    } else {
        sine * sum
    }
}

/// Arc tangent of a nonnegative number: the angle is halved four times, then computed by the power series.
/// The standard library's result may differ between platforms in the last bit.
fn arc_tangent(number: f64) -> f64 {
    let mut reduced = number;
    for _ in 0..4 {
        reduced /= 1.0 + reduced.mul_add(reduced, 1.0).sqrt();
    }
    let square = reduced * reduced;
    // Below a tenth, so the omitted terms are below 1e-17.
    let series = (0..9).rev().fold(0.0, |sum, step| 1.0 / f64::from(2 * step + 1) - square * sum);
    16.0 * reduced * series
}

/// Computes the quantile from that of the normal distribution with four corrections.
fn expanded(degrees: f64) -> f64 {
    let z = Z_95;
    let square = z * z;
    let corrections = [
        z * (square + 1.0) / 4.0,
        z * ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        z * ((((79.0 * square + 776.0) * square + 1_482.0) * square - 1_920.0) * square - 945.0) / 92_160.0,
    ];
    z + corrections.iter().rev().fold(0.0, |sum, correction| (sum + correction) / degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by mpmath with thirty digits, by solving its regularised incomplete beta function; identical to
    /// `qt(0.975, df)` in R.
    const QUANTILES: [(u64, f64); 20] = [
        (1, 12.7062047361747),
        (2, 4.302652729749464),
        (3, 3.18244630528371),
        (4, 2.776445105197794),
        (5, 2.570581835636316),
        (6, 2.44691185114497),
        (7, 2.364624251592785),
        (9, 2.262157162798206),
        (10, 2.228138851986275),
        (15, 2.131449545559776),
        (30, 2.042272456301238),
        (99, 1.984216951586417),
        (100, 1.983971518523552),
        (198, 1.972017477836315),
        (199, 1.971956544251754),
        (200, 1.971896223633909),
        (201, 1.971836506779859),
        (299, 1.96792966906567),
        (1_000, 1.962339080826408),
        (100_000, 1.95998770753461),
    ];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in QUANTILES {
            let found = student_t_975(degrees).unwrap();
            assert!((found - expected).abs() < 1e-10, "{degrees}: {found} is not {expected}");
        }
        assert_eq!(student_t_975(0), None);
    }

    #[test]
    fn quantiles_fall_towards_that_of_the_normal_distribution() {
        let mut last = f64::INFINITY;
        for degrees in (1..400).chain([1_000, 100_000, 10_000_000]) {
            let found = student_t_975(degrees).unwrap();
            assert!(found < last && found > Z_95, "{degrees}: {found}");
            last = found;
        }
        assert!(student_t_975(u64::MAX).unwrap() >= Z_95);
    }

    #[test]
    fn the_arc_tangent_is_that_of_the_library() {
        for step in 0..2_000 {
            let number = f64::from(step) * 0.01;
            assert!((arc_tangent(number) - number.atan()).abs() < 4e-15, "{number}");
        }
    }
}
