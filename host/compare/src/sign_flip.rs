//! The paired permutation test: if the two runs were interchangeable, each difference could as well have
//! had the other sign.
//!
//! Fisher, "The Design of Experiments" (1935), chapter 3. With few differences all signs are tried; with
//! many, random ones, of which the observed signs count as one: Phipson and Smyth, "Permutation
//! P-values Should Never Be Zero", Statistical Applications in Genetics and Molecular Biology 9 (2010).

use gage_figures::random::mix;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::ops::Range;

/// Most permutations of one test: some seconds for ten thousand samples.
pub(super) const MAX_PERMUTATIONS: u32 = 1_000_000;

/// Up to so many differences other than zero all signs are tried: 2^28 sums, as pairs of 2^14.
pub(super) const MAX_EXACT_UNITS: usize = 28;

/// Signs of one 64-bit number are those of a block of so many differences.
const BLOCK: usize = 64;

/// Permutations that one thread does together.
const TOGETHER: u32 = 2_500;

/// The step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// One test: the differences of independent units (samples, or clusters of them), positive where the
/// new run is better.
#[derive(Clone, Debug)]
pub struct SignFlipTest {
    /// The differences; those that are 0 say nothing.
    pub differences: Vec<f64>,
    /// Which random signs: equal seeds give equal figures.
    pub seed: u64,
    /// How many random signs are tried where there are too many to try all; p is then at least one part of one more.
    pub permutations: u32,
}

impl SignFlipTest {
    /// Returns whether all signs are tried.
    pub(super) fn is_exact(&self) -> bool {
        self.differences.iter().filter(|difference| **difference != 0.0).count() <= MAX_EXACT_UNITS
    }
}

/// What a test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignFlipResult {
    /// How likely a sum as low as the observed one is, where signs are random.
    pub worse: f64,
    /// The same for a sum as high.
    pub better: f64,
    /// How many random permutations were tried; `None` where all signs were.
    pub permutations: Option<u32>,
}

/// Does tests on so many threads. Signs depend on the seed, the number of the permutation and the number
/// of the difference alone, and each sum is taken in the order of the differences; so figures do not
/// depend on the number of threads.
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
        // The machine has no thread left.
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

/// The sum of a permutation is `2 · (sum of the sizes with a positive sign) − (sum of all sizes)`, so only
/// the former is looked at.
struct PreparedSignFlips {
    /// The sizes of the differences other than 0.
    sizes: Vec<f64>,
    /// The sum of those whose difference is positive.
    observed: f64,
    /// What rounding may change.
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

    /// Returns how many permutations of a range have a sum that is as low as the observed one, and as high.
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
                // For each byte of signs the sum of its eight sizes is there already.
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

    /// Tries all signs: the sums of one half of the differences with those of the other.
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

/// For each set of eight sizes the sums of all its subsets, by the bits of their number.
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
