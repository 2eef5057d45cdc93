//! Measures the sign-flip test: 10,000 permutations of 14,000 pairs for 20 metrics.
//!
//!     cargo run --release -p gage-compare --example permutations

use gage_compare::{SignFlipTest, sign_flip_tests};
use std::time::Instant;

fn main() {
    let difference =
        |number: u64| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 16_777_216.0 - 0.5;
    let test = |seed: u64| SignFlipTest {
        differences: (0..14_000).map(|number| difference(number + seed * 14_000 + 1)).collect(),
        seed,
        permutations: 10_000,
    };
    let tests: Vec<SignFlipTest> = (0..20).map(test).collect();
    let mut first = None;
    for threads in [1, 2, 4] {
        let began = Instant::now();
        let found = sign_flip_tests(&tests, threads);
        println!("{threads} threads: {:.2} s", began.elapsed().as_secs_f64());
        let expected = first.get_or_insert_with(|| found.clone());
        println!("  the same figures: {}", found == *expected);
    }
}
