//! A shuffle that is the same on every machine and in every version.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Shuffles in place with the Fisher-Yates algorithm (Durstenfeld's form). The random numbers are those of ChaCha8
/// seeded by `seed_from_u64`, each drawn without bias by rejection sampling.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..items.len()).rev() {
        let bound = last as u64 + 1;
        items.swap(last, below(&mut random, bound) as usize);
    }
}

/// Returns a number below `bound`, uniformly distributed.
fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random.next_u64();
        if drawn < fair {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let mut items: Vec<u32> = (0..10).collect();
        shuffle(&mut items, 123);
        assert_eq!(items, ORDER_OF_SEED_123);
    }

    const ORDER_OF_SEED_123: [u32; 10] = [2, 0, 4, 8, 9, 1, 6, 3, 7, 5];

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_seed_decides(length in 0_usize..200, seed: u64) {
            let mut one: Vec<usize> = (0..length).collect();
            let mut two = one.clone();
            shuffle(&mut one, seed);
            shuffle(&mut two, seed);
            prop_assert_eq!(&one, &two);
            one.sort_unstable();
            prop_assert_eq!(one, (0..length).collect::<Vec<_>>());
        }
    }
}
