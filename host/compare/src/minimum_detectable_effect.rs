//! Minimum detectable effect: the smallest loss that a run of a given size can show, computed before the run.

use super::gating::DEFAULT_ALPHA;
use super::mcnemar;
use super::paired_scores::WANTED_POWER;

/// Returns the smallest loss of a 0/1 score that [`compare`](super::compare) detects in four runs of five, at level 0.05.
///
/// `samples` are scored in both runs, and a share `changed` of them changes, or more if the loss requires it. `None` if
/// this number of samples can show no loss.
///
/// A comparison of such runs reports the same loss, computed by the same exact test. The share is 0.5 between unrelated runs
/// that each get half of the samples right, and never more between unrelated runs. Similar runs have a lower share, and
/// smaller losses are detected.
pub fn smallest_visible_loss(samples: u64, changed: f64) -> Option<f64> {
    mcnemar::smallest_visible(samples, changed, DEFAULT_ALPHA, WANTED_POWER)
}
