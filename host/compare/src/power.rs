//! Power of a gate, computed before a run: how often it passes, the samples that it needs, and the loss that it detects.

use crate::mcnemar;
use crate::paired_scores::WANTED_POWER;
use crate::sample_size::{self, ChangeRates, SampleSizeQuestion};
use crate::student_t::{non_central, normal_quantile, normal_upper_tail, student_upper_tail};
use serde::Serialize;

/// Number of samples beyond which no answer is useful.
const MAX_SAMPLE_SIZE: f64 = 1e12;

/// Variance of the imagined samples that the test of graded scores adds, for one sample.
const IMAGINED_VARIANCE: f64 = 4.0;

/// A gate, and what is assumed of the runs that it compares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GateAssumptions {
    /// Number of samples that are scored in both runs.
    pub samples: u64,
    /// Number of samples in the cluster of a sample, averaged over the samples; 1 without clusters.
    pub cluster_size: f64,
    /// Number of answers to each sample; their changes are taken as independent.
    pub repeat: u64,
    /// Share of samples whose score changes between two runs, from 0 to 1: by the whole scale, in both directions.
    pub changed: f64,
    /// Correlation of the changes within a cluster, from 0 to 1.
    pub correlation: f64,
    /// Margin of the gate, as a share of the scale.
    pub margin: f64,
    /// Level of the gate.
    pub alpha: f64,
    /// Number of gated metrics, which share the level of the test of a loss.
    pub gated: u64,
}

/// Power of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GatePower {
    /// Whether a run without any change passes.
    pub can_pass: bool,
    /// Probability that a run without a loss passes.
    pub pass: f64,
    /// Number of samples at which a run without a loss passes in four of five cases; absent beyond 10^12.
    pub samples_needed: Option<u64>,
    /// Smallest loss that is detected in four of five runs, as a share of the scale; absent if none is.
    pub smallest_loss: Option<f64>,
}

impl GateAssumptions {
    /// Returns the power of the gate.
    pub fn power(&self) -> GatePower {
        if self.is_binary() { self.binary_power() } else { self.student_power() }
    }

    /// Returns whether the exact tests of 0/1 scores apply.
    fn is_binary(&self) -> bool {
        self.repeat <= 1 && self.cluster_size <= 1.0
    }

    /// Level of the test of a loss at the first step of Holm's procedure.
    fn adjusted(&self) -> f64 {
        self.alpha / self.gated.max(1) as f64
    }

    fn binary_power(&self) -> GatePower {
        let asked = SampleSizeQuestion { margin: self.margin, alpha: self.alpha, adjusted: self.adjusted() };
        let changes = ChangeRates { changed: self.changed, gain: 0.0 };
        GatePower {
            can_pass: !mcnemar::is_too_few_for_margin(self.samples, self.margin, self.alpha),
            pass: sample_size::pass_power(self.samples, changes, asked),
            samples_needed: sample_size::samples_needed(changes, asked, WANTED_POWER, 0),
            smallest_loss: mcnemar::smallest_visible(
                self.samples,
                self.changed,
                self.adjusted(),
                WANTED_POWER,
            ),
        }
    }

    /// Power of Student's test, with the assumed variance.
    fn student_power(&self) -> GatePower {
        let samples = self.samples as f64;
        GatePower {
            can_pass: self.can_pass(samples),
            pass: self.pass_power(samples),
            samples_needed: self.samples_needed(),
            smallest_loss: self.smallest_loss(samples),
        }
    }

    /// Returns the factor by which clusters reduce the number of samples.
    fn design_effect(&self) -> f64 {
        (self.cluster_size - 1.0).mul_add(self.correlation, 1.0)
    }

    /// Returns the standard error of the mean difference of that many samples.
    fn observed_error(&self, samples: f64) -> f64 {
        (self.changed * self.design_effect() / (self.repeat.max(1) as f64 * samples)).sqrt()
    }

    /// Returns the standard error that the test uses.
    fn test_error(&self, samples: f64) -> f64 {
        let imagined = IMAGINED_VARIANCE.sqrt() / samples;
        // `f64::hypot` needs glibc 2.35. This one differs from it by 1 ulp at most.
        libm::hypot(self.observed_error(samples), imagined).max(imagined * self.design_effect())
    }

    /// Returns the degrees of freedom; `None` for fewer than two units.
    fn degrees(&self, samples: f64) -> Option<f64> {
        let units = samples / self.cluster_size.max(1.0);
        (units >= 2.0).then_some(units - 1.0)
    }

    /// Returns whether a run without any change passes.
    fn can_pass(&self, samples: f64) -> bool {
        let t = self.margin * samples / IMAGINED_VARIANCE.sqrt();
        self.degrees(samples).is_some_and(|degrees| student_upper_tail(t, degrees) <= self.alpha)
    }

    /// Returns the probability that a run without a loss passes.
    fn pass_power(&self, samples: f64) -> f64 {
        let Some(degrees) = self.degrees(samples) else { return 0.0 };
        let (middle, width) = non_central(degrees, self.alpha);
        let beyond = middle * self.test_error(samples) - self.margin;
        let deviation = width * self.observed_error(samples);
        if deviation > 0.0 {
            normal_upper_tail(beyond / deviation)
        } else {
            f64::from(u8::from(beyond <= 0.0))
        }
    }

    fn smallest_loss(&self, samples: f64) -> Option<f64> {
        let (middle, width) = non_central(self.degrees(samples)?, self.adjusted());
        let observed = self.observed_error(samples);
        let loss = middle * self.test_error(samples) + width * normal_quantile(1.0 - WANTED_POWER) * observed;
        Some(loss).filter(|loss| *loss < 1.0)
    }

    fn samples_needed(&self) -> Option<u64> {
        let is_enough = |samples: f64| self.pass_power(samples) >= WANTED_POWER;
        let mut high = 2.0;
        while !is_enough(high) {
            high *= 2.0;
            if high > MAX_SAMPLE_SIZE {
                return None;
            }
        }
        let mut low = high / 2.0;
        while high - low > (high / 1_000.0).max(1.0) {
            let middle = f64::midpoint(low, high).ceil();
            if is_enough(middle) { high = middle } else { low = middle }
        }
        Some(high as u64)
    }
}

/// Numbers of samples that can rule out a margin if no sample changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeastSamples {
    /// For independent scores of 0 and 1.
    pub binary: u64,
    /// For graded scores, repeats and clusters; few clusters need more.
    pub graded: u64,
}

/// Returns the smallest numbers of samples that can rule out a margin, a share of the scale, at the level `alpha`.
pub fn least_samples(margin: f64, alpha: f64) -> LeastSamples {
    let graded = GateAssumptions {
        samples: 0,
        cluster_size: 1.0,
        repeat: 2,
        changed: 0.0,
        correlation: 0.0,
        margin,
        alpha,
        gated: 1,
    };
    LeastSamples {
        binary: smallest(|samples| !mcnemar::is_too_few_for_margin(samples, margin, alpha)),
        graded: smallest(|samples| graded.can_pass(samples as f64)),
    }
}

/// Returns the smallest number that is enough, or 2^40.
fn smallest(is_enough: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1;
    while !is_enough(high) && high < 1 << 40 {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_enough(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_rates::populations;

    const GATE: GateAssumptions = GateAssumptions {
        samples: 1_000,
        cluster_size: 1.0,
        repeat: 1,
        changed: 0.1,
        correlation: 0.0,
        margin: 0.05,
        alpha: 0.05,
        gated: 1,
    };

    #[test]
    fn the_least_number_passes_and_one_fewer_does_not() {
        for (margin, alpha, binary, graded) in
            [(0.05, 0.05, 95, 67), (0.01, 0.05, 481, 330), (0.05, 0.0005, 189, 135)]
        {
            let least = least_samples(margin, alpha);
            assert_eq!(least, LeastSamples { binary, graded }, "{margin} {alpha}");
            let can_pass =
                |samples, repeat| GateAssumptions { samples, repeat, margin, alpha, ..GATE }.power().can_pass;
            assert!(can_pass(binary, 1) && !can_pass(binary - 1, 1), "{margin} {alpha}");
            assert!(can_pass(graded, 3) && !can_pass(graded - 1, 3), "{margin} {alpha}");
        }
    }

    /// Assumptions that are true for simulated populations give the simulated power.
    #[test]
    fn power_is_that_of_simulated_gates() {
        // The variances of a uniform difference, of a cluster's effect, and of the mean of three answers.
        let (uniform, effect, repeats) = (0.43 * 0.43 / 3.0, 0.01, 1.0 / 3.0);
        let changed = uniform + effect;
        let clusters = |clusters: u64| GateAssumptions {
            samples: clusters * 20,
            cluster_size: 20.0,
            changed,
            correlation: effect / changed,
            ..GATE
        };
        for (name, assumed) in [
            ("graded, clusters of 20: 20", clusters(20)),
            ("graded, clusters of 20: 50", clusters(50)),
            (
                "graded, 3 repeats of 0/1: 100",
                GateAssumptions { samples: 100, repeat: 3, changed: repeats, ..GATE },
            ),
            (
                "graded, 3 repeats of 0/1: 300",
                GateAssumptions { samples: 300, repeat: 3, changed: repeats, ..GATE },
            ),
            ("0/1, 10 % change: 300", GateAssumptions { samples: 300, ..GATE }),
        ] {
            let population = populations().into_iter().find(|one| one.name() == name).unwrap();
            let simulated = population.error_rates(1_500).pass_unchanged;
            let found = assumed.power().pass;
            assert!((found - simulated).abs() < 0.05, "{name}: {found}, simulated {simulated}");
        }
    }

    #[test]
    fn the_needed_samples_have_the_wanted_power() {
        for assumed in [
            GATE,
            GateAssumptions { repeat: 4, ..GATE },
            GateAssumptions { cluster_size: 20.0, correlation: 0.2, ..GATE },
            GateAssumptions { margin: 0.01, gated: 5, ..GATE },
            GateAssumptions { changed: 0.0, ..GATE },
        ] {
            let needed = assumed.power().samples_needed.unwrap();
            let pass = |samples| GateAssumptions { samples, ..assumed }.power().pass;
            assert!(pass(needed) >= 0.79, "{assumed:?}: {needed} pass in {}", pass(needed));
            assert!(pass(needed * 9 / 10) < 0.82, "{assumed:?}: fewer than {needed} pass too");
        }
    }

    #[test]
    fn clusters_repeats_and_metrics_change_the_power_as_expected() {
        let smallest = |assumed: GateAssumptions| assumed.power().smallest_loss.unwrap();
        assert!(smallest(GateAssumptions { repeat: 4, ..GATE }) < smallest(GATE));
        assert!(smallest(GateAssumptions { gated: 10, ..GATE }) > smallest(GATE));
        let clustered = GateAssumptions { cluster_size: 20.0, correlation: 0.2, ..GATE };
        assert!(smallest(clustered) > smallest(GATE));
        assert_eq!(GateAssumptions { samples: 10, cluster_size: 10.0, ..GATE }.power().smallest_loss, None);
    }
}
