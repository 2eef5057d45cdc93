//! Random numbers that are the same on every platform and in every version.

/// SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// (2014). Whole numbers only, so nothing depends on the machine.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Returns a generator with the given seed.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below a bound, or 0 if the bound is 0. For bounds below 2^32, the bias of any number is
    /// at most one part in 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The upper half of the product fits.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Output function of SplitMix64. With a separate counter, the numbers can be generated in any order.
pub fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns a hash of a text that is the same on every machine and in every version.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0, |hash, byte| mix(hash ^ (u64::from(byte) + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The first numbers for the seed 1234567, from Sebastiano Vigna's C program.
        let mut random = SplitMix64::new(1_234_567);
        let found = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_below_a_bound_are_even_and_below_it() {
        let mut random = SplitMix64::new(1);
        let mut counts = [0; 6];
        (0..60_000).for_each(|_| counts[random.below(6) as usize] += 1);
        assert!(counts.iter().all(|count| (9_600..=10_400).contains(count)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
