//! Paired scores of the samples that were scored in both runs, with their tests and intervals.

use super::corpus_difference::CorpusDifference;
use super::mcnemar;
use super::measure::Measure;
use super::noninferiority::MeanDifference;
use super::result::{BOOTSTRAP, TestNote};
use super::sample_size::{self, ChangeRates, SampleSizeQuestion};
use super::score_units::ScoreUnits;
use gage_figures::{CompensatedSum, Interval, IntervalMethod, Scale, Z_95};
use std::collections::BTreeMap;

/// Power at which a loss counts as visible and a number of samples as sufficient.
pub(super) const WANTED_POWER: f64 = 0.8;

/// Scores of samples in both runs, in dataset order.
#[derive(Debug)]
pub(super) struct PairedScores {
    base: CompensatedSum,
    new: CompensatedSum,
    /// The smallest and the largest score that the metric declares.
    scale: Option<Scale>,
    lowest: f64,
    highest: f64,
    is_binary: bool,
    pub(super) worse: u64,
    pub(super) better: u64,
    /// Gain of each sample; negative if it became worse.
    gains: Vec<f64>,
    /// The gains of each cluster; `None` without clusters.
    clusters: Option<BTreeMap<u64, ClusterGains>>,
    /// The difference of a figure that is not a mean of scores, if that is compared.
    corpus: Option<CorpusDifference>,
}

/// Gains of the samples of a cluster.
#[derive(Clone, Copy, Debug, Default)]
struct ClusterGains {
    total: f64,
    size: f64,
    /// Sum of the squared deviations from their mean.
    within: f64,
}

impl ClusterGains {
    /// Adds a gain. The squares are updated after Welford, "Note on a Method for Calculating Corrected Sums of Squares and
    /// Products", Technometrics 4 (1962).
    fn add(&mut self, gain: f64) {
        let before = if self.size > 0.0 { self.total / self.size } else { gain };
        self.total += gain;
        self.size += 1.0;
        self.within += (gain - before) * (gain - self.total / self.size);
    }
}

impl PairedScores {
    pub(super) fn new(is_clustered: bool, scale: Option<Scale>) -> PairedScores {
        PairedScores {
            base: CompensatedSum::default(),
            new: CompensatedSum::default(),
            scale,
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
            is_binary: true,
            worse: 0,
            better: 0,
            gains: Vec::new(),
            clusters: is_clustered.then(BTreeMap::new),
            corpus: None,
        }
    }

    /// Compares a figure of all samples instead of the mean of their scores.
    pub(super) fn with_corpus(mut self, corpus: Option<CorpusDifference>) -> PairedScores {
        self.corpus = corpus.map(|corpus| corpus.of_pairs(self.count()));
        self
    }

    /// Returns the reason why a figure of all samples cannot be judged, if there is one.
    pub(super) fn corpus_problem(&self) -> Option<&str> {
        self.corpus.as_ref().and_then(CorpusDifference::problem)
    }

    /// Returns whether a figure of all samples is compared, rather than the mean of their scores.
    pub(super) fn is_of_corpus(&self) -> bool {
        self.corpus.is_some()
    }

    pub(super) fn add(&mut self, measure: &Measure, base: f64, new: f64, cluster: u64) {
        self.base.add(base);
        self.new.add(new);
        for score in [base, new] {
            self.lowest = self.lowest.min(score);
            self.highest = self.highest.max(score);
            self.is_binary &= score == 0.0 || score == 1.0;
        }
        let gain = measure.gain(base, new);
        self.worse += u64::from(gain < 0.0);
        self.better += u64::from(gain > 0.0);
        self.gains.push(gain);
        if let Some(clusters) = &mut self.clusters {
            clusters.entry(cluster).or_default().add(gain);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.gains.len() as u64
    }

    /// The smallest and the largest score of either run.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        (self.lowest <= self.highest).then_some((self.lowest, self.highest))
    }

    pub(super) fn cluster_count(&self) -> Option<u64> {
        self.clusters.as_ref().map(|clusters| clusters.len() as u64)
    }

    /// The means of the baseline and of the new run, and `new − base`.
    pub(super) fn means(&self) -> Option<(f64, f64, f64)> {
        let count = self.gains.len() as f64;
        if self.gains.is_empty() {
            return None;
        }
        if let Some(CorpusDifference { base, new, .. }) = &self.corpus {
            return Some((*base, *new, new - base));
        }
        let (base, new) = (self.base.divided_by(count), self.new.divided_by(count));
        Some((base, new, new - base))
    }

    /// Returns the mean gain; 0 without samples.
    pub(super) fn mean_gain(&self) -> f64 {
        if let Some(corpus) = &self.corpus {
            return corpus.gain;
        }
        let mut sum = CompensatedSum::default();
        sum.extend(self.gains.iter().copied());
        if self.gains.is_empty() { 0.0 } else { sum.divided_by(self.gains.len() as f64) }
    }

    /// Returns whether every score is 0 or 1 and no samples are clustered.
    pub(super) fn is_binary(&self) -> bool {
        self.is_binary && self.clusters.is_none() && self.corpus.is_none()
    }

    /// Returns the largest possible change of a score: the width of the declared scale, even if these scores span less.
    ///
    /// Without a scale, it is the range of these scores, or 1 if they are all from 0 to 1.
    fn reach(&self) -> f64 {
        let (low, high) = match self.scale {
            // A plugin's scores may exceed its declared scale.
            Some([low, high]) => (low.min(self.lowest), high.max(self.highest)),
            None if self.lowest >= 0.0 && self.highest <= 1.0 => (0.0, 1.0),
            None => (self.lowest, self.highest),
        };
        high - low
    }

    /// Returns the independent units: the samples, or their clusters.
    pub(super) fn units(&self) -> ScoreUnits {
        let reach = self.reach();
        let largest = self.lowest.abs().max(self.highest.abs());
        let Some(clusters) = &self.clusters else {
            let (totals, sizes) = (self.gains.clone(), vec![1.0; self.gains.len()]);
            return ScoreUnits { totals, sizes, within: 0.0, reach, largest };
        };
        let (totals, sizes) = clusters.values().map(|cluster| (cluster.total, cluster.size)).unzip();
        let within = clusters.values().map(|cluster| cluster.within).sum();
        ScoreUnits { totals, sizes, within, reach, largest }
    }

    /// Returns the difference that the tests of scores other than 0 and 1 use.
    fn difference(&self) -> Option<MeanDifference> {
        match &self.corpus {
            Some(corpus) => corpus.difference(self.gains.len() as f64),
            None => self.units().difference(),
        }
    }

    /// Returns the interval method for scores that are not all 0 or 1.
    fn method(&self) -> IntervalMethod {
        match (&self.corpus, &self.clusters) {
            (Some(_), _) => IntervalMethod::Bootstrap,
            (None, Some(_)) => IntervalMethod::Cluster,
            (None, None) => IntervalMethod::T,
        }
    }

    /// Returns the 95 % interval of `new − base`.
    ///
    /// For scores of 0 and 1, it is the adjusted Wald interval. Otherwise, it is based on the standard error that the tests
    /// use.
    ///
    /// Bonett and Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired Data",
    /// Journal of Educational and Behavioral Statistics 37 (2012).
    pub(super) fn interval(&self) -> Option<Interval> {
        let (.., difference) = self.means()?;
        if self.is_binary() {
            let (count, up, down) = self.changes();
            let (up, down) = ((up + 1.0) / (count + 2.0), (down + 1.0) / (count + 2.0));
            let middle = up - down;
            let half = Z_95 * ((up + down - middle * middle) / (count + 2.0)).sqrt();
            let (low, high) = ((middle - half).max(-1.0), (middle + half).min(1.0));
            return Some(Interval::of_95(low, high, IntervalMethod::AdjustedWald));
        }
        self.difference()?.interval(difference, self.method())
    }

    /// Returns the number of samples, of those whose score rose, and of those whose score fell.
    fn changes(&self) -> (f64, f64, f64) {
        let difference = self.new.total() - self.base.total();
        let changed = (self.worse + self.better) as f64;
        (self.gains.len() as f64, f64::midpoint(changed, difference), f64::midpoint(changed, -difference))
    }

    /// Returns the result of the test of a loss.
    pub(super) fn test(&self) -> TestNote {
        if self.gains.is_empty() {
            return TestNote::NONE;
        }
        if self.is_binary() {
            return TestNote {
                name: "mcnemar",
                worse: mcnemar::worse_p_value(self.worse, self.better),
                better: mcnemar::worse_p_value(self.better, self.worse),
            };
        }
        let name = if self.corpus.is_some() { BOOTSTRAP } else { "student" };
        let tested = |p_value: fn(&MeanDifference) -> f64| self.difference().as_ref().map_or(1.0, p_value);
        TestNote {
            name,
            worse: tested(MeanDifference::worse_p_value),
            better: tested(MeanDifference::better_p_value),
        }
    }

    /// The p-value against "the mean fell by the margin or more", for a test at the level `alpha`.
    pub(super) fn margin_p_value(&self, margin: f64, alpha: f64) -> f64 {
        if self.is_binary() {
            mcnemar::margin_p_value(self.count(), self.worse, self.better, margin, alpha)
        } else {
            self.difference().map_or(1.0, |difference| difference.margin_p_value(margin))
        }
    }

    /// Returns whether the margin cannot be ruled out at the level `alpha` even if no sample changes.
    pub(super) fn is_too_few_for_margin(&self, margin: f64, alpha: f64) -> bool {
        match self.is_binary() {
            true => mcnemar::is_too_few_for_margin(self.count(), margin, alpha),
            false => {
                self.difference().is_none_or(|difference| difference.is_too_few_for_margin(margin, alpha))
            }
        }
    }

    /// The share of samples that changed.
    fn changed(&self) -> f64 {
        (self.worse + self.better) as f64 / self.gains.len().max(1) as f64
    }

    /// Returns the smallest loss that is detected at the level `alpha` in four runs of five.
    pub(super) fn smallest_visible(&self, alpha: f64) -> Option<f64> {
        if self.is_binary() {
            return mcnemar::smallest_visible(self.count(), self.changed(), alpha, WANTED_POWER);
        }
        self.difference()?.visible_loss(alpha, WANTED_POWER)
    }

    /// Estimates the number of samples that decides a difference like the observed one in four runs of five.
    ///
    /// The decision is either that it is a loss or that it is less than the margin: the smaller of the two numbers.
    pub(super) fn samples_needed(&self, margin: f64, alpha: f64, adjusted_alpha: f64) -> Option<u64> {
        let gain = self.mean_gain();
        if self.is_binary() {
            let changes = ChangeRates { changed: self.changed(), gain };
            let asked = SampleSizeQuestion { margin, alpha, adjusted: adjusted_alpha };
            return sample_size::samples_needed(changes, asked, WANTED_POWER, self.count());
        }
        let difference = self.difference()?;
        let least = difference.samples_needed(gain, margin, (alpha, adjusted_alpha), WANTED_POWER)?;
        // Below 2^53.
        Some((least.ceil() as u64).max(self.count() + 1))
    }
}
