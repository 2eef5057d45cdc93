//! Random samples as CPython 3.11 and later draw them, so that the examples of a row are those of programs in Python.

use rustc_hash::FxHashSet;

/// Length of the generator's state, in words.
const STATE_WORDS: usize = 624;
/// Distance of the words that are mixed.
const MIXED_DISTANCE: usize = 397;

/// The Mersenne Twister MT19937, as `random.Random(seed)` seeds it.
///
/// M. Matsumoto and T. Nishimura, "Mersenne Twister: A 623-Dimensionally Equidistributed Uniform Pseudo-Random Number
/// Generator" (1998), with the seeding `init_by_array` of 2002.
pub(crate) struct PythonRandom {
    state: [u32; STATE_WORDS],
    /// Number of words of the state that were returned.
    used: usize,
}

impl PythonRandom {
    /// Creates the generator of a seed.
    pub(crate) fn new(seed: u64) -> PythonRandom {
        // The words of the seed, the lowest first. Zero has one word.
        let words = [seed as u32, (seed >> 32) as u32];
        let key = if words[1] == 0 { &words[..1] } else { &words[..] };
        let mut state = linear_state(19_650_218);
        let mut index = 1;
        for (step, word) in key.iter().enumerate().cycle().take(STATE_WORDS.max(key.len())) {
            let mixed = mixed_before(&state, index).wrapping_mul(1_664_525);
            state[index] = (state[index] ^ mixed).wrapping_add(*word).wrapping_add(step as u32);
            index = following(&mut state, index);
        }
        for _ in 1..STATE_WORDS {
            let mixed = mixed_before(&state, index).wrapping_mul(1_566_083_941);
            state[index] = (state[index] ^ mixed).wrapping_sub(index as u32);
            index = following(&mut state, index);
        }
        state[0] = 0x8000_0000;
        PythonRandom { state, used: STATE_WORDS }
    }

    /// Draws `count` different numbers below `population`, as `random.sample(range(population), count)` does. `count` is
    /// at most `population`.
    pub(crate) fn sample(&mut self, population: u32, count: usize) -> Vec<u32> {
        if population as usize <= largest_listed(count) {
            let mut left: Vec<u32> = (0..population).collect();
            return (0..count)
                .map_while(|_| {
                    let drawn = self.below(u32::try_from(left.len()).ok().filter(|length| *length > 0)?);
                    // The last number takes the place of the drawn one.
                    Some(left.swap_remove(drawn as usize))
                })
                .collect();
        }
        let mut known = FxHashSet::default();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let number = self.below(population);
            if known.insert(number) {
                drawn.push(number);
            }
        }
        drawn
    }

    /// Returns a number below `bound`, which is not 0.
    fn below(&mut self, bound: u32) -> u32 {
        let unused = bound.leading_zeros();
        loop {
            let number = self.next() >> unused;
            if number < bound {
                return number;
            }
        }
    }

    /// Returns 32 random bits.
    fn next(&mut self) -> u32 {
        if self.used >= STATE_WORDS {
            self.renew();
            self.used = 0;
        }
        let mut word = self.state[self.used];
        self.used += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn renew(&mut self) {
        for index in 0..STATE_WORDS {
            let next = self.state[(index + 1) % STATE_WORDS];
            let joined = (self.state[index] & 0x8000_0000) | (next & 0x7fff_ffff);
            let factor = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[index] = self.state[(index + MIXED_DISTANCE) % STATE_WORDS] ^ (joined >> 1) ^ factor;
        }
    }
}

/// Returns the state that a number alone gives.
fn linear_state(number: u32) -> [u32; STATE_WORDS] {
    let mut state = [number; STATE_WORDS];
    for index in 1..STATE_WORDS {
        let before = state[index - 1];
        state[index] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(index as u32);
    }
    state
}

fn mixed_before(state: &[u32; STATE_WORDS], index: usize) -> u32 {
    let before = state[index - 1];
    before ^ (before >> 30)
}

/// Returns the next index while a state is seeded. After the end comes 1, and the last word is copied to the first place.
fn following(state: &mut [u32; STATE_WORDS], index: usize) -> usize {
    if index + 1 < STATE_WORDS {
        return index + 1;
    }
    state[0] = state[STATE_WORDS - 1];
    1
}

/// Returns the size of the largest population that CPython copies into a list, for a sample of `count`. It estimates the
/// memory of a set.
fn largest_listed(count: usize) -> usize {
    let mut size = 21;
    if count > 5 {
        let mut table = 1_usize;
        while table < count.saturating_mul(3) {
            table = table.saturating_mul(4);
        }
        size += table;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of `random.Random(seed).getrandbits(32)`.
    #[test]
    fn numbers_are_those_of_python() {
        for (seed, expected) in [
            (0, [3_626_764_237, 1_654_615_998, 3_255_389_356]),
            (1_234, [4_150_886_329, 3_342_196_574, 1_892_932_127]),
            ((1 << 40) + 7, [2_635_837_658, 3_209_733_218, 3_500_038_837]),
        ] {
            let mut random = PythonRandom::new(seed);
            assert_eq!([random.next(), random.next(), random.next()], expected, "{seed}");
        }
        let mut random = PythonRandom::new(1_234);
        let numbers: Vec<u32> = (0..1_000).map(|_| random.next()).collect();
        // The state was renewed in between.
        assert_eq!([numbers[623], numbers[624], numbers[999]], [152_069_139, 3_715_477_445, 3_677_914_080]);
        let mut random = PythonRandom::new(u64::MAX);
        assert_eq!([random.next(), random.next()], [93_740_670, 1_068_495_656]);
    }

    /// Results of `random.sample(range(population), count)`, several times.
    #[test]
    fn samples_are_those_of_python() {
        let cases: [(u64, u32, usize, &[&[u32]]); 10] = [
            (
                1_234,
                7_473,
                5,
                &[&[6374, 3610, 957, 61, 742], &[7462, 6610, 4769, 286, 5501], &[5677, 687, 806, 6279, 2905]],
            ),
            (1_234, 12, 5, &[&[7, 1, 0, 10, 9], &[10, 1, 11, 5, 3]]),
            // The largest population that is listed, and the smallest that is not.
            (42, 21, 5, &[&[20, 3, 0, 8, 7]]),
            (42, 22, 5, &[&[20, 3, 0, 8, 7]]),
            (7, 85, 6, &[&[41, 19, 50, 6, 9, 68]]),
            (7, 86, 6, &[&[41, 19, 50, 83, 6, 9]]),
            (3, 1, 1, &[&[0], &[0]]),
            (5, 9, 9, &[&[4, 5, 6, 7, 8, 0, 1, 3, 2]]),
            (
                1,
                300,
                20,
                &[&[
                    68, 291, 32, 130, 60, 253, 230, 241, 194, 107, 48, 249, 14, 199, 221, 1, 228, 136, 117,
                    52,
                ]],
            ),
            (9, 3, 0, &[&[]]),
        ];
        for (seed, population, count, expected) in cases {
            let mut random = PythonRandom::new(seed);
            let found: Vec<Vec<u32>> = expected.iter().map(|_| random.sample(population, count)).collect();
            assert_eq!(found, expected, "{seed} {population} {count}");
        }
    }
}
