//! Computes probabilities from logits.

/// Number of logits whose largest is found before the next ones are looked at.
const PART_LOGITS: usize = 1024;

/// Number of logits that are compared side by side, so that the compiler uses vector instructions.
const COMPARED_LOGITS: usize = 16;

/// Returns the index of the largest logit, the first if several are equal. `None` if a logit is NaN.
pub fn most_likely(logits: &[f32]) -> Option<usize> {
    let mut best: Option<(usize, f32)> = None;
    for (start, part) in (0..).step_by(PART_LOGITS).zip(logits.chunks(PART_LOGITS)) {
        let found = largest(part)?;
        if best.is_none_or(|(_, earlier)| found > earlier) {
            best = Some((start, found));
        }
    }
    let (start, found) = best?;
    let within = logits.get(start..)?.iter().position(|logit| *logit == found)?;
    Some(start + within)
}

/// Returns the largest of some logits. `None` if one is NaN.
fn largest(logits: &[f32]) -> Option<f32> {
    let mut largest = [f32::NEG_INFINITY; COMPARED_LOGITS];
    let mut are_nan = [0_u32; COMPARED_LOGITS];
    let (groups, rest) = logits.as_chunks::<COMPARED_LOGITS>();
    for group in groups {
        for ((largest, is_nan), logit) in largest.iter_mut().zip(&mut are_nan).zip(group) {
            *largest = if *logit > *largest { *logit } else { *largest };
            *is_nan |= u32::from(logit.is_nan());
        }
    }
    let is_nan = are_nan.iter().any(|is_nan| *is_nan != 0) || rest.iter().any(|logit| logit.is_nan());
    let found = largest.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
    (!is_nan).then_some(found)
}

/// Refuses logits that are all equal, as found in models whose graph computes no logits.
///
/// # Errors
/// If all logits are equal.
pub fn check_logits(logits: &[f32]) -> Result<(), &'static str> {
    match logits {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|logit| logit == first) => {
            Err("the model gives all tokens the same logit, so it predicts nothing: it is not made to answer")
        }
        _ => Ok(()),
    }
}

/// Distribution over the next token at one position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// Most likely token.
    pub best: usize,
    maximum: f64,
    log_sum: f64,
}

impl Distribution {
    /// Computes the distribution. `None` if a logit is not a number.
    pub fn of(logits: &[f32]) -> Option<Distribution> {
        let best = most_likely(logits)?;
        let maximum = f64::from(*logits.get(best)?);
        let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - maximum).exp()).sum();
        let log_sum = sum.ln();
        (maximum.is_finite() && log_sum.is_finite()).then_some(Distribution { best, maximum, log_sum })
    }

    /// Returns the natural logarithm of the probability of a token with this logit.
    ///
    /// It is computed as `logit - max - ln(sum of exp(each - max))` in double precision.
    pub fn log_probability(&self, logit: f32) -> f64 {
        f64::from(logit) - self.maximum - self.log_sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_softmax_is_exact_and_stable() {
        let cases: [(&[f32], usize, f64); 4] = [
            (&[0.0, 0.0], 0, 0.5_f64.ln()),
            (&[1000.0, 1000.0, -1000.0], 1, 0.5_f64.ln()),
            (&[-1000.0, -1001.0], 0, -(1.0 + (-1.0_f64).exp()).ln()),
            (&[f32::NEG_INFINITY, 3.0], 1, 0.0),
        ];
        for (logits, token, expected) in cases {
            let found = Distribution::of(logits).expect("numbers").log_probability(logits[token]);
            assert!((found - expected).abs() < 1e-12, "{logits:?}: {found}");
        }
    }

    #[test]
    fn logits_that_are_all_the_same_say_nothing() {
        for logits in [&[0.0, 0.0, 0.0][..], &[2.5, 2.5]] {
            assert!(check_logits(logits).is_err(), "{logits:?}");
        }
        for logits in [&[0.0, 0.0, 0.5][..], &[1.0], &[], &[f32::NEG_INFINITY, 0.0]] {
            assert!(check_logits(logits).is_ok(), "{logits:?}");
        }
    }

    #[test]
    fn probabilities_sum_to_one() {
        let logits: Vec<f32> = (0..1000_u16).map(|index| f32::from(index % 37) * 0.7 - 11.0).collect();
        let distribution = Distribution::of(&logits).expect("numbers");
        let sum: f64 = logits.iter().map(|logit| distribution.log_probability(*logit).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn of_equals_the_first_is_best_and_what_is_no_number_is_refused() {
        assert_eq!(most_likely(&[1.0, 3.0, 3.0]), Some(1));
        assert_eq!(most_likely(&[f32::NEG_INFINITY]), Some(0));
        assert_eq!(most_likely(&[1.0, f32::NAN]), None);
        assert_eq!(most_likely(&[]), None);
        // Around the borders of what is compared together.
        for place in [0, 1, 15, 16, 1023, 1024, 1025, 2047, 2060] {
            let mut logits = vec![-1.0_f32; 2061];
            logits[place] = 2.0;
            assert_eq!(most_likely(&logits), Some(place));
            logits[2060] = 2.0;
            assert_eq!(most_likely(&logits), Some(place), "the first of equals");
            logits[place] = f32::NAN;
            assert_eq!(most_likely(&logits), None, "{place}");
        }
        assert_eq!(Distribution::of(&[f32::INFINITY, 0.0]), None);
        assert_eq!(Distribution::of(&[f32::NEG_INFINITY, f32::NEG_INFINITY]), None);
    }
}
