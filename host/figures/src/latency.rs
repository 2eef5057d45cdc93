//! Latencies: quantiles in constant memory.

use crate::CompensatedSum;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Maximum latency of the histogram, in microseconds: a day.
const MAX_LATENCY_MICROSECONDS: u64 = 24 * 3600 * 1_000_000;
/// Significant digits of a quantile. A histogram takes about 110 KB.
const DIGITS: u8 = 3;
/// Maximum number of latencies that are kept one by one. A run may have thousands of small tasks, whose histograms would
/// take gigabytes.
const MAX_SINGLE_LATENCIES: usize = 2_048;

/// Latencies, such as those of model calls, in milliseconds. Quantiles have three significant digits; the
/// maximum and the mean are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Median latency.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Maximum latency.
    pub max_ms: f64,
    /// Mean latency.
    pub mean_ms: f64,
}

/// Collects latencies.
#[derive(Debug, Default)]
pub(crate) struct LatencyBuilder {
    /// The first latencies, in microseconds; empty if there is a histogram.
    single: Vec<u64>,
    /// All latencies, if they are more than are kept one by one.
    histogram: Option<Histogram<u32>>,
    count: u64,
    sum: CompensatedSum,
    longest: f64,
}

impl LatencyBuilder {
    pub(crate) fn add(&mut self, milliseconds: f64) {
        self.count += 1;
        self.sum.add(milliseconds);
        self.longest = self.longest.max(milliseconds);
        // The cast saturates.
        let microseconds = (milliseconds * 1_000.0).round() as u64;
        match &mut self.histogram {
            Some(histogram) => histogram.saturating_record(microseconds),
            None => self.single.push(microseconds),
        }
        if self.single.len() > MAX_SINGLE_LATENCIES {
            self.histogram = histogram_of(&std::mem::take(&mut self.single));
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the figures; `None` without calls.
    pub(crate) fn finish(&self) -> Option<LatencyFigures> {
        if self.count == 0 {
            return None;
        }
        let single = self.histogram.is_none().then(|| histogram_of(&self.single)).flatten();
        let histogram = self.histogram.as_ref().or(single.as_ref())?;
        // The upper end of a histogram bucket may be beyond the longest latency.
        let quantile = |part: f64| (histogram.value_at_quantile(part) as f64 / 1_000.0).min(self.longest);
        Some(LatencyFigures {
            p50_ms: quantile(0.5),
            p90_ms: quantile(0.9),
            p95_ms: quantile(0.95),
            p99_ms: quantile(0.99),
            max_ms: self.longest,
            mean_ms: self.sum.divided_by(self.count as f64),
        })
    }
}

/// Returns the histogram of latencies in microseconds; `None` if the bounds above are invalid.
fn histogram_of(latencies: &[u64]) -> Option<Histogram<u32>> {
    let mut histogram = Histogram::new_with_max(MAX_LATENCY_MICROSECONDS, DIGITS).ok()?;
    latencies.iter().for_each(|microseconds| histogram.saturating_record(*microseconds));
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_three_digits() {
        let mut latencies = LatencyBuilder::default();
        assert_eq!(latencies.finish(), None);
        (1..=1_000).for_each(|number| latencies.add(f64::from(number)));
        let figures = latencies.finish().unwrap();
        let quantiles = [
            (figures.p50_ms, 500.0),
            (figures.p90_ms, 900.0),
            (figures.p95_ms, 950.0),
            (figures.p99_ms, 990.0),
        ];
        for (found, expected) in quantiles {
            assert!((found - expected).abs() <= expected / 1_000.0, "{found} is not near {expected}");
        }
        assert_eq!((figures.max_ms, figures.mean_ms, latencies.count()), (1_000.0, 500.5, 1_000));
    }

    #[test]
    fn many_latencies_are_measured_as_few_are() {
        let mut latencies = LatencyBuilder::default();
        (1..=MAX_SINGLE_LATENCIES).for_each(|_| latencies.add(1.234_567));
        let few = latencies.finish().unwrap();
        assert!(latencies.histogram.is_none());
        latencies.add(1.234_567);
        assert!(latencies.histogram.is_some() && latencies.single.is_empty());
        assert_eq!((latencies.finish().unwrap().p50_ms, latencies.count()), (few.p50_ms, 2_049));
    }

    #[test]
    fn what_is_out_of_bounds_does_no_harm() {
        let mut latencies = LatencyBuilder::default();
        [-1.0, 0.0, 1e12].into_iter().for_each(|number| latencies.add(number));
        assert_eq!(latencies.finish().unwrap().max_ms, 1e12);
    }

    #[test]
    fn one_call_is_every_quantile() {
        let mut latencies = LatencyBuilder::default();
        latencies.add(12.345);
        let figures = latencies.finish().unwrap();
        assert_eq!((figures.p50_ms, figures.p99_ms, figures.max_ms), (12.345, 12.345, 12.345));
    }
}
