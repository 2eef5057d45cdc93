//! The paired permutation test: if the two runs were interchangeable, each difference could equally well have had the
//! opposite sign.
//!
//! The test is from Fisher, "The Design of Experiments" (1935), chapter 3. With few differences, all signs are tried. With
//! many, random signs are tried, and the observed ones count as one of them: Phipson and Smyth, "Permutation P-values
//! Should Never Be Zero", Statistical Applications in Genetics and Molecular Biology 9 (2010).

use gage_figures::random::mix;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::ops::Range;

/// Maximum number of permutations of one test: a few seconds for ten thousand samples.
pub(super) const MAX_PERMUTATIONS: u32 = 1_000_000;

/// Maximum number of nonzero differences for which all signs are tried: 2^28 sums, as pairs of 2^14.
pub(super) const MAX_EXACT_UNITS: usize = 28;

/// Number of differences in a block; one 64-bit number holds their signs.
const BLOCK: usize = 64;

/// Number of permutations that a thread processes together.
const TOGETHER: u32 = 2_500;

/// The step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One test: the differences of independent units (samples or clusters), positive if the new run is better.
#[derive(Clone, Debug)]
pub struct SignFlipTest {
    /// The differences; zeros have no effect.
    pub differences: Vec<f64>,
    /// Seed of the random signs: equal seeds give equal figures.
    pub seed: u64,
    /// Number of random permutations to try if there are too many signs to try all; p is then at least
    /// `1 / (permutations + 1)`.
    pub permutations: u32,
}

impl SignFlipTest {
    /// Returns whether all signs are tried.
    pub(super) fn is_exact(&self) -> bool {
        self.differences.iter().filter(|difference| **difference != 0.0).count() <= MAX_EXACT_UNITS
    }
}

/// Result of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlipResult {
    /// Probability of a sum at most as high as the observed one if signs are random.
    pub worse: f64,
    /// Probability of a sum at least as high as the observed one if signs are random.
    pub better: f64,
    /// Number of random permutations tried; `None` if all signs were tried.
    pub permutations: Option<u32>,
}

/// Runs tests on up to `threads` threads.
///
/// The figures do not depend on the number of threads. Signs depend only on the seed, the permutation number and the
/// difference number, and each sum is taken in the order of the differences.
pub fn sign_flip_tests(tests: &[SignFlipTest], threads: usize) -> Vec<SignFlipResult> {
    let prepared: Vec<PreparedSignFlips> = tests.iter().map(PreparedSignFlips::new).collect();
    let mut jobs = Vec::new();
    for (number, test) in prepared.iter().enumerate() {
        if test.sizes.len() > MAX_EXACT_UNITS {
            let end = test.permutations;
            let starts = (0..end).step_by(TOGETHER as usize);
            jobs.extend(starts.map(|start| (number, start..start.saturating_add(TOGETHER).min(end))));
        }
    }
    let count = |(number, range): (usize, Range<u32>)| Some((number, prepared.get(number)?.count(range)));
    let threads = threads.min(jobs.len()).max(1);
    let found: Vec<_> = match ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(|| jobs.into_par_iter().filter_map(count).collect()),
        // The thread pool could not be built.
        Err(_) => jobs.into_iter().filter_map(count).collect(),
    };
    let mut counts = vec![(0_u32, 0_u32); prepared.len()];
    for (number, (worse, better)) in found {
        if let Some(count) = counts.get_mut(number) {
            count.0 += worse;
            count.1 += better;
        }
    }
    let result = |(test, (worse, better)): (&PreparedSignFlips, (u32, u32))| {
        if test.sizes.len() <= MAX_EXACT_UNITS {
            return test.all_signs();
        }
        let permutations = test.permutations;
        let share = |count: u32| (f64::from(count) + 1.0) / (f64::from(permutations) + 1.0);
        SignFlipResult { worse: share(worse), better: share(better), permutations: Some(permutations) }
    };
    prepared.iter().zip(counts).map(result).collect()
}

/// A test prepared for running. The sum of a permutation is `2 · (sum of the sizes with a positive sign) − (sum of all
/// sizes)`, so only the first sum is compared.
struct PreparedSignFlips {
    /// Absolute values of the nonzero differences.
    sizes: Vec<f64>,
    /// Sum of the positive differences.
    observed: f64,
    /// Largest rounding error of a sum.
    tolerance: f64,
    seed: u64,
    permutations: u32,
}

impl PreparedSignFlips {
    fn new(test: &SignFlipTest) -> PreparedSignFlips {
        let changed = || test.differences.iter().copied().filter(|difference| *difference != 0.0);
        let sizes: Vec<f64> = changed().map(f64::abs).collect();
        let observed = changed().filter(|difference| *difference > 0.0).sum();
        let tolerance = 1e-11 * sizes.iter().sum::<f64>();
        PreparedSignFlips { sizes, observed, tolerance, seed: test.seed, permutations: test.permutations }
    }

    /// Returns how many permutations of a range have a sum at most as high as the observed one, and at least as high.
    fn count(&self, range: Range<u32>) -> (u32, u32) {
        let streams: Vec<u64> =
            range.map(|number| mix(self.seed ^ mix(u64::from(number).wrapping_mul(STEP)))).collect();
        let mut sums = vec![0.0_f64; streams.len()];
        let mut table = vec![[0.0_f64; 256]; BLOCK / 8];
        let mut counter = 0_u64;
        for block in self.sizes.chunks(BLOCK) {
            counter = counter.wrapping_add(STEP);
            fill(&mut table, block);
            for (sum, stream) in sums.iter_mut().zip(&streams) {
                let bytes = mix(stream.wrapping_add(counter)).to_le_bytes();
                // The table holds the sum of the eight sizes for each byte of signs.
                let part: f64 = table
                    .iter()
                    .zip(bytes)
                    .map(|(sums, byte)| sums.get(usize::from(byte)).copied().unwrap_or_default())
                    .sum();
                *sum += part;
            }
        }
        let (low, high) = (self.observed + self.tolerance, self.observed - self.tolerance);
        sums.iter().fold((0, 0), |(worse, better), sum| {
            (worse + u32::from(*sum <= low), better + u32::from(*sum >= high))
        })
    }

    /// Tries all signs, by combining the sums of each half of the differences.
    fn all_signs(&self) -> SignFlipResult {
        let (one, two) = self.sizes.split_at(self.sizes.len() / 2);
        let (one, mut two) = (subset_sums(one), subset_sums(two));
        two.sort_by(f64::total_cmp);
        let (low, high) = (self.observed + self.tolerance, self.observed - self.tolerance);
        let (mut worse, mut better) = (0_u64, 0_u64);
        for sum in &one {
            worse += two.partition_point(|other| sum + other <= low) as u64;
            better += (two.len() - two.partition_point(|other| sum + other < high)) as u64;
        }
        // At most 2^28.
        let all = (one.len() * two.len()) as f64;
        SignFlipResult { worse: worse as f64 / all, better: better as f64 / all, permutations: None }
    }
}

/// Fills the table with the sums of all subsets of each group of eight sizes; the index is the subset's bit mask.
fn fill(table: &mut [[f64; 256]], block: &[f64]) {
    let mut sizes = block.chunks(8);
    for sums in table {
        let mut filled = 1;
        sums[0] = 0.0;
        for size in sizes.next().unwrap_or_default().iter().chain(std::iter::repeat(&0.0)).take(8) {
            let (known, new) = sums.split_at_mut(filled);
            new.iter_mut().zip(known).for_each(|(new, known)| *new = *known + size);
            filled *= 2;
        }
    }
}

fn subset_sums(sizes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for size in sizes {
        sums.extend_from_within(..);
        let half = sums.len() / 2;
        sums.iter_mut().skip(half).for_each(|sum| *sum += size);
    }
    sums
}
