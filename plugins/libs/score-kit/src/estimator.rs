//! Probability that some or all of k attempts pass, if c of n attempts did.

/// Returns the unbiased estimate that at least one of `k` attempts passes: 1 − C(n−c, k) / C(n, k). It is computed as
/// the product of Chen et al. 2021, "Evaluating Large Language Models Trained on Code", section 2.1, which neither
/// overflows nor cancels. `None` with fewer than `k` attempts, with `k` 0, or with more passes than attempts.
pub fn at_least_one(attempts: u64, passes: u64, k: u64) -> Option<f64> {
    let failures = attempts.checked_sub(passes)?;
    if k == 0 || attempts < k {
        return None;
    }
    Some(if failures < k { 1.0 } else { 1.0 - all_drawn(attempts, failures, k) })
}

/// Returns the unbiased estimate that all of `k` attempts pass: C(c, k) / C(n, k), pass^k of Yao et al. 2024,
/// "τ-bench". `None` as for [`at_least_one`].
pub fn all(attempts: u64, passes: u64, k: u64) -> Option<f64> {
    if k == 0 || attempts < k || passes > attempts {
        return None;
    }
    Some(if passes < k { 0.0 } else { all_drawn(attempts, passes, k) })
}

/// C(m, k) / C(n, k) for k ≤ m ≤ n: the chance that k draws from n without return all hit the m. The
/// same product may run over the draws or over the n − m others; it runs over the fewer.
fn all_drawn(n: u64, m: u64, k: u64) -> f64 {
    let others = n - m;
    if k <= others {
        (0..k).map(|drawn| (m - drawn) as f64 / (n - drawn) as f64).product()
    } else {
        (m + 1..=n).map(|size| 1.0 - k as f64 / size as f64).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computed with exact integers: 1 − C(n−c, k)/C(n, k) and C(c, k)/C(n, k) by Python's `math.comb`.
    #[test]
    fn agrees_with_exact_binomials() {
        for (n, c, k, one, every) in [
            (5, 2, 1, 0.4, 0.4),
            (5, 2, 2, 0.7, 0.1),
            (5, 2, 4, 1.0, 0.0),
            (10, 3, 5, 0.9166666666666666, 0.0),
            (200, 7, 10, 0.3055988116177335, 0.0),
            (200, 100, 100, 1.0, 1.1043803465997514e-59),
            (20, 15, 3, 0.9912280701754386, 0.3991228070175439),
        ] {
            let found = at_least_one(n, c, k);
            assert!(found.is_some_and(|found| (found - one).abs() < 1e-12), "{n} {c} {k} {found:?}");
            let found = all(n, c, k);
            assert!(
                found.is_some_and(|found| (found - every).abs() <= 1e-12 * every),
                "{n} {c} {k} {found:?}"
            );
        }
    }

    #[test]
    fn too_few_attempts_say_nothing() {
        for (n, c, k) in [(4, 2, 5), (0, 0, 1), (4, 2, 0), (2, 3, 1)] {
            assert_eq!(at_least_one(n, c, k), None);
            assert_eq!(all(n, c, k), None);
        }
    }

    proptest! {
        #[test]
        fn estimates_are_ordered(n in 1_u64..300, c in 0_u64..300, k in 1_u64..300) {
            prop_assume!(c <= n && k < n);
            let one = at_least_one(n, c, k).unwrap_or(-1.0);
            let more = at_least_one(n, c, k + 1).unwrap_or(-1.0);
            let (every, fewer) = (all(n, c, k).unwrap_or(-1.0), all(n, c, k + 1).unwrap_or(-1.0));
            prop_assert!((0.0..=1.0).contains(&one) && (0.0..=1.0).contains(&every));
            prop_assert!(one <= more + 1e-12 && every + 1e-12 >= fewer && every <= one + 1e-12);
            // At least one of k passes unless all of k fail.
            let none = all(n, n - c, k).unwrap_or(-1.0);
            prop_assert!((one + none - 1.0).abs() < 1e-9);
        }
    }
}
