//! Student's t distribution.
//!
//! The quantile enters `summary.json`, whose bytes are the same on every machine. So it is computed using only
//! operations that IEEE 754 rounds correctly, and functions of `libm`, which consist of them. `statrs` uses the
//! logarithms and powers of the platform, whose last bit may differ; `gage-compare` uses it for p-values, which no digest
//! depends on.

use super::Z_95;

/// Number of degrees of freedom from which the series in powers of their inverse is used; its error is
/// then below 1e-11.
const MANY_DEGREES: f64 = 200.0;

/// Returns the 0.975 quantile of Student's t distribution, half the width of a 95 % interval in standard
/// errors; `None` for less than one degree of freedom. Accurate to 1e-10.
///
/// The formulas are from Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964). Below 200 degrees, the
/// distribution function, 26.7.1 with the incomplete beta function 26.5.8, is solved by bisection. From there on, formula
/// 26.7.5 is accurate enough.
pub fn student_t_975(degrees: f64) -> Option<f64> {
    match degrees {
        few if (1.0..MANY_DEGREES).contains(&few) => Some(solved(few)),
        many if many >= MANY_DEGREES => Some(expanded(many)),
        _ => None,
    }
}

/// Solves for the t at which the probability of being beyond ±t is 0.05.
fn solved(degrees: f64) -> f64 {
    // The quantile falls as the degrees grow, from 12.7 to that of the normal distribution.
    let (mut low, mut high) = (Z_95, 13.0_f64);
    for _ in 0..64 {
        let middle = low.midpoint(high);
        if probability_beyond(middle, degrees) > 0.05 { low = middle } else { high = middle }
    }
    low.midpoint(high)
}

/// Probability of a value beyond ±t: the incomplete beta function `I(degrees / 2, 1 / 2)` at `degrees / (degrees + t²)`.
fn probability_beyond(t: f64, degrees: f64) -> f64 {
    let beyond = degrees / t.mul_add(t, degrees);
    let (one, two) = (degrees / 2.0, 0.5);
    let of_beta = libm::lgamma(one + two) - libm::lgamma(one) - libm::lgamma(two);
    let factor = libm::exp(of_beta + one * libm::log(beyond) + two * libm::log(1.0 - beyond));
    // The continued fraction converges fast below the mean of the distribution.
    if beyond < (one + 1.0) / (one + two + 2.0) {
        factor * beta_fraction(one, two, beyond) / one
    } else {
        1.0 - factor * beta_fraction(two, one, 1.0 - beyond) / two
    }
}

/// The continued fraction of the incomplete beta function, by the method of Lentz, "Generating Bessel Functions in Mie
/// Scattering Calculations Using Continued Fractions", Applied Optics 15 (1976).
fn beta_fraction(one: f64, two: f64, x: f64) -> f64 {
    let mut upper = 1.0;
    let mut lower = 1.0 / (1.0 - (one + two) * x / (one + 1.0));
    let mut value = lower;
    for step in 1..200 {
        let step = f64::from(step);
        let even = step * (two - step) * x / ((one + 2.0 * step - 1.0) * (one + 2.0 * step));
        let odd = -(one + step) * (one + two + step) * x / ((one + 2.0 * step) * (one + 2.0 * step + 1.0));
        for term in [even, odd] {
            lower = 1.0 / (1.0 + term * lower);
            upper = 1.0 + term / upper;
            value *= lower * upper;
        }
        if (lower * upper - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
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
    const QUANTILES: [(f64, f64); 25] = [
        (1.0, 12.7062047361747),
        (2.0, 4.302652729749464),
        (3.0, 3.18244630528371),
        (4.0, 2.776445105197794),
        (5.0, 2.570581835636316),
        (6.0, 2.44691185114497),
        (7.0, 2.364624251592785),
        (9.0, 2.262157162798206),
        (10.0, 2.228138851986275),
        (15.0, 2.131449545559776),
        (30.0, 2.042272456301238),
        (99.0, 1.984216951586417),
        (100.0, 1.983971518523552),
        (198.0, 1.972017477836315),
        (199.0, 1.971956544251754),
        (200.0, 1.971896223633909),
        (201.0, 1.971836506779859),
        (299.0, 1.96792966906567),
        (1_000.0, 1.962339080826408),
        (100_000.0, 1.95998770753461),
        (1.5, 6.016663104427929),
        (2.7, 3.3921483831737507),
        (3.25, 3.048339870186651),
        (17.25, 2.1074887374283344),
        (150.5, 1.9758519492008906),
    ];

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, expected) in QUANTILES {
            let found = student_t_975(degrees).unwrap();
            assert!((found - expected).abs() < 1e-10, "{degrees}: {found} is not {expected}");
        }
        assert_eq!((student_t_975(0.9), student_t_975(f64::NAN)), (None, None));
    }

    #[test]
    fn quantiles_fall_towards_that_of_the_normal_distribution() {
        let mut last = f64::INFINITY;
        let few = (0..2_000).map(|step| 1.0 + f64::from(step) * 0.1);
        for degrees in few.chain([1_000.0, 100_000.0, 10_000_000.0]) {
            let found = student_t_975(degrees).unwrap();
            assert!(found < last && found > Z_95, "{degrees}: {found}");
            last = found;
        }
        assert!(student_t_975(f64::MAX).unwrap() >= Z_95);
    }
}
