//! Minimum detectable effect: the smallest loss that a run of some size can show, before there is a run.

use super::gating::DEFAULT_ALPHA;
use super::mcnemar;
use super::paired_scores::WANTED_POWER;

/// The smallest loss of a score of 0 and 1 that [`compare`](super::compare) calls in four runs of five, at the level 0.05,
/// where so many samples are scored in both runs and a share `changed` of them changes, or as many as that loss needs.
/// `None` where so few samples show no loss.
///
/// It is what a comparison says of such runs, computed by the same exact test. The share is 0.5 between two runs that have nothing in
/// common and each get half of the samples right, and never more than that between unrelated runs; of runs that are much alike it is
/// less, and smaller losses are seen.
pub fn smallest_visible_loss(samples: u64, changed: f64) -> Option<f64> {
    mcnemar::smallest_visible(samples, changed, DEFAULT_ALPHA, WANTED_POWER)
}
