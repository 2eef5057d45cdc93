//! The binomial distribution: its probabilities, its tail, and the tail while trials are added.
//!
//! The gamma and beta functions come from `statrs`. Its distribution recomputes the tail for each number of trials, in time
//! that grows with that number; here, sums over all outcomes reuse the terms. No figure of `summary.json` is computed here,
//! so the last bit may differ between platforms.

use statrs::function::gamma::ln_gamma;

/// Terms below this part of the sum do not change it.
const NEGLIGIBLE: f64 = 1e-17;

fn ln_factorial(number: i64) -> f64 {
    // Counts of samples stay far below 2^53.
    ln_gamma(number as f64 + 1.0)
}

/// Probability of exactly `successes` successes; 0 if that number is impossible.
pub(super) fn probability(successes: i64, trials: i64, chance: f64) -> f64 {
    if successes < 0 || successes > trials {
        return 0.0;
    }
    if chance <= 0.0 || chance >= 1.0 {
        let certain = if chance <= 0.0 { 0 } else { trials };
        return f64::from(u8::from(successes == certain));
    }
    let ways = ln_factorial(trials) - ln_factorial(successes) - ln_factorial(trials - successes);
    (ways + successes as f64 * chance.ln() + (trials - successes) as f64 * (-chance).ln_1p()).exp()
}

/// Probability of at least `successes` successes.
pub(super) fn at_least(successes: i64, trials: i64, chance: f64) -> f64 {
    if successes <= 0 {
        return 1.0;
    }
    if successes > trials {
        return 0.0;
    }
    if successes as f64 > trials as f64 * chance {
        upwards(successes, trials, chance)
    } else {
        // Sums the smaller tail to avoid cancellation.
        1.0 - upwards(trials - successes + 1, trials, 1.0 - chance)
    }
}

/// Sum of the probabilities of `from` and more successes; `from` is above the mean.
fn upwards(from: i64, trials: i64, chance: f64) -> f64 {
    let mut term = probability(from, trials, chance);
    let odds = chance / (1.0 - chance);
    let mut sum = 0.0;
    let mut successes = from;
    while successes <= trials && term > sum * NEGLIGIBLE {
        sum += term;
        term *= (trials - successes) as f64 / (successes + 1) as f64 * odds;
        successes += 1;
    }
    sum.min(1.0)
}

/// A probability below this is recomputed rather than derived from its neighbour, which may have lost digits.
const MIN_TERM: f64 = 1e-280;

/// `P(X ≥ successes)` of a binomial distribution, updated in constant time as the number of trials or
/// successes grows by one.
#[derive(Clone, Debug)]
pub(super) struct GrowingTail {
    trials: i64,
    successes: i64,
    chance: f64,
    tail: f64,
    /// `P(X = successes − 1)`.
    before: f64,
}

impl GrowingTail {
    pub(super) fn new(successes: i64, trials: i64, chance: f64) -> GrowingTail {
        let before = probability(successes - 1, trials, chance);
        GrowingTail { trials, successes, chance, tail: at_least(successes, trials, chance), before }
    }

    pub(super) fn value(&self) -> f64 {
        self.tail.clamp(0.0, 1.0)
    }

    pub(super) fn successes(&self) -> i64 {
        self.successes
    }

    /// Adds one trial.
    pub(super) fn add_trial(&mut self) {
        self.tail += self.chance * self.before;
        self.trials += 1;
        let ratio = self.trials as f64 / (self.trials + 1 - self.successes) as f64 * (1.0 - self.chance);
        self.before =
            carried(self.before, ratio, || probability(self.successes - 1, self.trials, self.chance));
    }

    /// Requires one more success.
    pub(super) fn ask_more(&mut self) {
        let odds = self.chance / (1.0 - self.chance);
        let ratio = (self.trials - self.successes + 1) as f64 / self.successes as f64 * odds;
        let here = carried(self.before, ratio, || probability(self.successes, self.trials, self.chance));
        self.tail -= here;
        self.successes += 1;
        self.before = here;
    }
}

/// Derives a probability from its ratio to a neighbour, or recomputes it if digits may have been lost.
fn carried(neighbour: f64, ratio: f64, computed: impl Fn() -> f64) -> f64 {
    let carried = neighbour * ratio;
    // The ratio may be infinite if the neighbour is 0.
    let is_good = neighbour > MIN_TERM && carried > MIN_TERM && carried.is_finite();
    if is_good { carried } else { computed() }
}

/// Likely numbers of successes with their probabilities, in order.
pub(super) fn likely_probabilities(trials: i64, chance: f64) -> impl Iterator<Item = (i64, f64)> {
    let odds = chance / (1.0 - chance);
    let mut last = 0.0;
    likely(trials, chance).map(move |successes| {
        let ratio = (trials - successes + 1) as f64 / successes as f64 * odds;
        last = carried(last, ratio, || probability(successes, trials, chance));
        (successes, last)
    })
}

/// Likely numbers of successes: all others together have a probability below 1e-15.
pub(super) fn likely(trials: i64, chance: f64) -> std::ops::RangeInclusive<i64> {
    let mean = trials as f64 * chance;
    let reach = 9.0 * (mean * (1.0 - chance)).sqrt() + 20.0;
    let low = (mean - reach).floor().max(0.0) as i64;
    let high = ((mean + reach).ceil() as i64).min(trials);
    low..=high
}

/// Point between two bounds at which a monotonic function crosses a level, to the last bits.
pub(super) fn crossing(mut low: f64, mut high: f64, is_beyond: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..52 {
        let middle = low.midpoint(high);
        if is_beyond(middle) { high = middle } else { low = middle }
    }
    high
}

/// The two-sided interval of Clopper and Pearson, "The Use of Confidence or Fiducial Limits Illustrated in
/// the Case of the Binomial", Biometrika 26 (1934): it holds the true chance with at least the probability
/// `1 − error`.
pub(super) fn clopper_pearson(successes: i64, trials: i64, error: f64) -> (f64, f64) {
    let low = match successes {
        0 => 0.0,
        _ => crossing(0.0, 1.0, |chance| at_least(successes, trials, chance) >= error / 2.0),
    };
    let high = if successes == trials {
        1.0
    } else {
        crossing(0.0, 1.0, |chance| at_least(trials - successes, trials, 1.0 - chance) <= error / 2.0)
    };
    (low, high)
}
