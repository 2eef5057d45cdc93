//! The binomial distribution: its probabilities, its tail, and the tail while trials are added.
//!
//! `statrs` gives the gamma and beta functions. Its distribution computes a tail anew for each number of trials, in time that
//! grows with that number; here sums over all outcomes reuse the terms. Figures of `summary.json` do not come from here, so the last
//! bit may differ between platforms.

use statrs::function::gamma::ln_gamma;

/// Terms below this part of the sum do not change it.
const NEGLIGIBLE: f64 = 1e-17;

fn ln_factorial(number: i64) -> f64 {
    // Counts of samples stay far below 2^53.
    ln_gamma(number as f64 + 1.0)
}

/// The probability of exactly so many successes; 0 where there cannot be so many.
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

/// The probability of at least so many successes.
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
        // The smaller tail is summed, so that nothing cancels in it.
        1.0 - upwards(trials - successes + 1, trials, 1.0 - chance)
    }
}

/// The sum of the probabilities from a number above the mean on.
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

/// A probability below it is computed anew rather than from its neighbour, which may have lost digits.
const MIN_TERM: f64 = 1e-280;

/// `P(X ≥ successes)` of a binomial distribution, kept up to date while the number of trials or of
/// successes grows by one: constant work a step.
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

    /// One more trial.
    pub(super) fn add_trial(&mut self) {
        self.tail += self.chance * self.before;
        self.trials += 1;
        let ratio = self.trials as f64 / (self.trials + 1 - self.successes) as f64 * (1.0 - self.chance);
        self.before =
            carried(self.before, ratio, || probability(self.successes - 1, self.trials, self.chance));
    }

    /// One more success is asked for.
    pub(super) fn ask_more(&mut self) {
        let odds = self.chance / (1.0 - self.chance);
        let ratio = (self.trials - self.successes + 1) as f64 / self.successes as f64 * odds;
        let here = carried(self.before, ratio, || probability(self.successes, self.trials, self.chance));
        self.tail -= here;
        self.successes += 1;
        self.before = here;
    }
}

/// A probability by its ratio to a neighbour, or computed again if that may have lost digits.
fn carried(neighbour: f64, ratio: f64, computed: impl Fn() -> f64) -> f64 {
    let carried = neighbour * ratio;
    // The ratio may be infinite if the neighbour is 0.
    let is_good = neighbour > MIN_TERM && carried > MIN_TERM && carried.is_finite();
    if is_good { carried } else { computed() }
}

/// The probabilities of the likely numbers of successes, each with its number, in order.
pub(super) fn likely_probabilities(trials: i64, chance: f64) -> impl Iterator<Item = (i64, f64)> {
    let odds = chance / (1.0 - chance);
    let mut last = 0.0;
    likely(trials, chance).map(move |successes| {
        let ratio = (trials - successes + 1) as f64 / successes as f64 * odds;
        last = carried(last, ratio, || probability(successes, trials, chance));
        (successes, last)
    })
}

/// The numbers of successes that are worth a look: all others together have a probability below 1e-15.
pub(super) fn likely(trials: i64, chance: f64) -> std::ops::RangeInclusive<i64> {
    let mean = trials as f64 * chance;
    let reach = 9.0 * (mean * (1.0 - chance)).sqrt() + 20.0;
    let low = (mean - reach).floor().max(0.0) as i64;
    let high = ((mean + reach).ceil() as i64).min(trials);
    low..=high
}

/// Where a function that falls or rises with its argument crosses a level, between two bounds; to the
/// last bits.
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
