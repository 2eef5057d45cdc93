//! Error rates of gates on simulated runs: a grid of populations of scores, with and without a loss.

use crate::holm::holm;
use crate::measure::Measure;
use crate::paired_scores::PairedScores;
use gage_figures::random::SplitMix64;
use std::f64::consts::TAU;

/// Margin of every simulated gate.
const MARGIN: f64 = 0.05;
/// Level of every simulated gate.
const ALPHA: f64 = 0.05;
/// Number of samples in a cluster.
const CLUSTER_SIZE: u32 = 20;
/// Standard deviation of the effect that the samples of a cluster share.
const CLUSTER_EFFECT: f64 = 0.1;
/// Half of the width of the differences of graded scores.
const SPREAD: f64 = 0.43;

/// Random numbers of a simulation.
struct Random(SplitMix64);

impl Random {
    /// Returns a number above 0 and below 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn is(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }

    fn is_score(&mut self, chance: f64) -> f64 {
        f64::from(u8::from(self.is(chance)))
    }
}

/// Draws the scores of a sample in both runs. The arguments are the true loss and the effect of its cluster.
type Draw = fn(&mut Random, f64, f64) -> [f64; 2];

/// Layout of the samples of a run.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// Independent samples.
    Samples(u32),
    /// Clusters of 20 samples.
    EqualClusters(u32),
    /// Clusters with log-normal sizes (σ = 1), 12 samples each on average.
    UnequalClusters(u32),
}

/// Effect that the samples of a cluster share.
#[derive(Clone, Copy, Debug)]
enum ClusterEffect {
    None,
    /// Normal.
    Normal,
    /// Every sample of a cluster loses its whole score, with the probability of the true loss.
    Rare,
}

/// A population of scores in two runs, of which the second may have lost the margin.
pub struct Population {
    scores: &'static str,
    layout: Layout,
    effect: ClusterEffect,
    metrics: usize,
    draw: Draw,
}

/// Shares of simulated gates, from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRates {
    /// PASS without a loss.
    pub pass_unchanged: f64,
    /// REGRESSION without a loss: an error.
    pub false_regression: f64,
    /// PASS although the margin was lost: an error.
    pub false_pass: f64,
    /// REGRESSION if the margin was lost.
    pub regression_at_margin: f64,
}

impl ErrorRates {
    /// Returns whether both errors are at most `alpha`, plus three standard errors of a share of that many runs.
    pub fn is_within(&self, alpha: f64, runs: u32) -> bool {
        let most = alpha + 3.0 * (alpha * (1.0 - alpha) / f64::from(runs)).sqrt();
        self.false_pass <= most && self.false_regression <= most
    }
}

/// Returns the populations of the published grid.
pub fn populations() -> Vec<Population> {
    let of = |scores, layout, effect, draw| Population { scores, layout, effect, metrics: 1, draw };
    let kinds: [(&str, Draw); 9] = [
        ("0/1, 10 % change", |random, loss, _| changed(random, 0.1, loss)),
        ("0/1, 30 % change", |random, loss, _| changed(random, 0.3, loss)),
        ("graded", graded),
        ("graded, 3 repeats of 0/1", repeats),
        ("graded, near the ceiling", ceiling),
        ("graded, 2 % lose all", |random, loss, _| skewed(random, [1.0, 0.0], loss)),
        ("graded, 2 % gain all", |random, loss, _| skewed(random, [0.0, 1.0], loss)),
        ("graded, only the loss changes", rare),
        ("graded, small changes and rare losses of half", noise),
    ];
    let mut populations = Vec::new();
    for (scores, draw) in kinds {
        for samples in [20, 100, 300, 1_000] {
            populations.push(of(scores, Layout::Samples(samples), ClusterEffect::None, draw));
        }
    }
    for clusters in [5, 10, 20, 50, 100, 200] {
        let equal = Layout::EqualClusters(clusters);
        populations.push(of("graded", equal, ClusterEffect::Normal, graded));
        populations.push(of("0/1, 30 % change", equal, ClusterEffect::Normal, zero_one));
        populations.push(of("graded, only the loss changes", equal, ClusterEffect::None, rare));
        populations.push(of("graded, 2 % gain all", equal, ClusterEffect::None, |random, loss, _| {
            skewed(random, [0.0, 1.0], loss)
        }));
        if clusters >= 100 {
            populations.push(of("graded, whole clusters lose all", equal, ClusterEffect::Rare, whole));
        }
    }
    for clusters in [10, 50, 200] {
        let unequal = Layout::UnequalClusters(clusters);
        populations.push(of("graded", unequal, ClusterEffect::Normal, graded));
    }
    for metrics in [3, 10] {
        let population = of("graded", Layout::Samples(300), ClusterEffect::None, graded);
        populations.push(Population { metrics, ..population });
    }
    populations
}

/// Returns populations for which gates do not keep their level: with the loss in whole clusters, few clusters may have none.
pub fn populations_not_covered() -> Vec<Population> {
    let of = |clusters| Population {
        scores: "graded, whole clusters lose all",
        layout: Layout::EqualClusters(clusters),
        effect: ClusterEffect::Rare,
        metrics: 1,
        draw: whole,
    };
    [10, 20, 50].map(of).into()
}

/// A score of 0 or 1 that changes with the probability `share`.
fn changed(random: &mut Random, share: f64, loss: f64) -> [f64; 2] {
    match random.uniform() {
        low if low < f64::midpoint(share, loss) => [1.0, 0.0],
        low if low < share => [0.0, 1.0],
        _ => [1.0, 1.0],
    }
}

fn zero_one(random: &mut Random, loss: f64, effect: f64) -> [f64; 2] {
    changed(random, 0.3, (loss - effect).clamp(-0.3, 0.3))
}

fn graded(random: &mut Random, loss: f64, effect: f64) -> [f64; 2] {
    [0.5, 0.5 - loss + effect + SPREAD * (2.0 * random.uniform() - 1.0)]
}

/// The mean of three answers, right with a probability that depends on the sample.
fn repeats(random: &mut Random, loss: f64, _effect: f64) -> [f64; 2] {
    let chance = random.uniform();
    let mut mean = |chance: f64| (0..3).map(|_| random.is_score(chance)).sum::<f64>() / 3.0;
    // The mean chance is one half.
    [mean(chance), mean(chance * (1.0 - 2.0 * loss))]
}

/// Scores near 1, of which some fall to 0.
fn ceiling(random: &mut Random, loss: f64, _effect: f64) -> [f64; 2] {
    let mut score = || 1.0 - random.uniform().powi(8);
    let [base, new] = [score(), score()];
    // The mean score is 8/9.
    if random.is(loss * 9.0 / 8.0) { [base, 0.0] } else { [base, new] }
}

/// One in fifty samples changes by the whole scale; the others change by a little, so that the mean loses `loss`.
fn skewed(random: &mut Random, whole: [f64; 2], loss: f64) -> [f64; 2] {
    let chance = 0.02;
    let others = -(chance * (whole[1] - whole[0]) + loss) / (1.0 - chance);
    match random.is(chance) {
        true => whole,
        false => [0.5, 0.5 + others * (0.5 + random.uniform())],
    }
}

/// Samples lose all with the probability of the loss; nothing else changes.
fn rare(random: &mut Random, loss: f64, _effect: f64) -> [f64; 2] {
    if random.is(loss) { [1.0, 0.0] } else { [0.5, 0.5] }
}

fn noise(random: &mut Random, loss: f64, _effect: f64) -> [f64; 2] {
    let lost = 0.5 * random.is_score(0.02);
    [0.5, 0.5 - lost - (loss - 0.01) + 0.035 * (2.0 * random.uniform() - 1.0)]
}

fn whole(_random: &mut Random, _loss: f64, effect: f64) -> [f64; 2] {
    if effect > 0.0 { [1.0, 0.0] } else { [0.5, 0.5] }
}

impl Population {
    /// Returns the name with the number of samples or clusters.
    pub fn name(&self) -> String {
        let scores = self.scores;
        match (self.layout, self.metrics) {
            (Layout::Samples(samples), 1) => format!("{scores}: {samples}"),
            (Layout::Samples(samples), metrics) => format!("{scores}, {metrics} metrics: {samples}"),
            (Layout::EqualClusters(clusters), _) => format!("{scores}, clusters of 20: {clusters}"),
            (Layout::UnequalClusters(clusters), _) => format!("{scores}, unequal clusters: {clusters}"),
        }
    }

    /// Returns the usual number of samples of a run.
    pub fn samples(&self) -> u32 {
        match self.layout {
            Layout::Samples(samples) => samples,
            Layout::EqualClusters(clusters) | Layout::UnequalClusters(clusters) => clusters * CLUSTER_SIZE,
        }
    }

    /// Simulates that many runs without a loss, and as many that lost the margin.
    pub fn error_rates(&self, runs: u32) -> ErrorRates {
        // The seed differs between populations, so that their errors are independent.
        let seed = self.name().bytes().fold(0_u64, |seed, byte| seed.wrapping_mul(31) + u64::from(byte));
        let mut random = Random(SplitMix64::new(seed));
        let mut rates = |loss: f64| {
            let mut counts = [0_u32; 2];
            for _ in 0..runs {
                let (is_worse, is_passed) = self.gate(&mut random, loss);
                counts[0] += u32::from(is_passed);
                counts[1] += u32::from(is_worse && !is_passed);
            }
            counts.map(|count| f64::from(count) / f64::from(runs))
        };
        let ([pass_unchanged, false_regression], [false_pass, regression_at_margin]) =
            (rates(0.0), rates(MARGIN));
        ErrorRates { pass_unchanged, false_regression, false_pass, regression_at_margin }
    }

    /// Simulates one gate. Returns whether any metric is worse, and whether all are within the margin.
    fn gate(&self, random: &mut Random, loss: f64) -> (bool, bool) {
        let metrics: Vec<PairedScores> = (0..self.metrics).map(|_| self.scores(random, loss)).collect();
        let tests: Vec<(f64, f64)> = metrics.iter().map(|scores| (scores.test().worse, ALPHA)).collect();
        let is_worse = holm(&tests).into_iter().any(|ratio| ratio <= 1.0);
        (is_worse, metrics.iter().all(|scores| scores.margin_p_value(MARGIN, ALPHA) <= ALPHA))
    }

    /// Draws the scores of a run and its baseline.
    fn scores(&self, random: &mut Random, loss: f64) -> PairedScores {
        let measure =
            Measure { metric_id: String::new(), sub_score: None, is_pass: false, higher_is_better: true };
        let is_clustered = !matches!(self.layout, Layout::Samples(_));
        let mut scores = PairedScores::new(is_clustered, Some([0.0, 1.0]));
        let (Layout::Samples(units) | Layout::EqualClusters(units) | Layout::UnequalClusters(units)) =
            self.layout;
        for unit in 0..units {
            let size = match self.layout {
                Layout::Samples(_) => 1,
                Layout::EqualClusters(_) => CLUSTER_SIZE,
                // At least 1, and far below 2^32.
                Layout::UnequalClusters(_) => (7.0 * random.normal().exp()).ceil().min(1_000.0) as u32,
            };
            let effect = match self.effect {
                ClusterEffect::None => 0.0,
                ClusterEffect::Normal => CLUSTER_EFFECT * random.normal(),
                ClusterEffect::Rare => random.is_score(loss),
            };
            for _ in 0..size {
                let [base, new] = (self.draw)(random, loss, effect);
                scores.add(&measure, base, new, u64::from(unit));
            }
        }
        scores
    }
}
