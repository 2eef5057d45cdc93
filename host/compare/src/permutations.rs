//! Number of random permutations that a gate needs.

use super::error::CompareError;
use super::format;
use super::measure::Measure;
use super::sign_flip::MAX_PERMUTATIONS;

/// Number of random permutations of an inexact test that no gate depends on.
pub(super) const DEFAULT_PERMUTATIONS: u32 = 10_000;

/// Factor by which the smallest p-value of a test is below its level.
const FINER: f64 = 10.0;

/// The permutations of the tests of one comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutations {
    /// Number of gated measures.
    pub(super) gated: usize,
}

impl Permutations {
    /// Returns the number of permutations of a test, given the level of its gate. Holm's procedure may require a p-value
    /// as small as that level divided by the number of gated measures. The smallest p-value, `1 / (permutations + 1)`, is at
    /// most a tenth of that. The result may exceed [`MAX_PERMUTATIONS`].
    pub(super) fn of(self, alpha: Option<f64>) -> u32 {
        // The cast saturates for numbers that are too large.
        let needed = alpha.map_or(0, |alpha| (FINER / self.strictest(alpha)).ceil() as u32);
        needed.max(DEFAULT_PERMUTATIONS)
    }

    fn strictest(self, alpha: f64) -> f64 {
        alpha / self.gated.max(1) as f64
    }

    /// Returns the error that the level of a gate is below what permutations can show.
    pub(super) fn too_small(self, alpha: f64, measure: &Measure) -> CompareError {
        let least = FINER / f64::from(MAX_PERMUTATIONS);
        CompareError::LevelTooSmall {
            metric: match &measure.sub_score {
                Some(sub_score) => format!("{} · {sub_score}", measure.metric_id),
                None => measure.metric_id.clone(),
            },
            alpha: format::number(alpha),
            gated: if self.gated == 1 {
                "1 gated metric".to_owned()
            } else {
                format!("{} gated metrics", self.gated)
            },
            least: format::number(least * self.gated.max(1) as f64),
            fewer: if self.gated > 1 { ", or gate fewer metrics" } else { "" },
        }
    }
}
