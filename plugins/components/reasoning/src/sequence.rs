//! Figures for the order of a sequence of distinct positions.

/// Returns Kendall's rank correlation τ (Kendall 1938), 1 for rising order and −1 for falling: 1 minus twice the share
/// of pairs in the wrong order. `None` with fewer than two positions. Takes n log n steps.
pub(crate) fn kendall_tau(places: &[usize]) -> Option<f64> {
    let pairs = places.len() as f64 * (places.len() as f64 - 1.0) / 2.0;
    (places.len() >= 2).then(|| 1.0 - 2.0 * inversions(&mut places.to_vec()) as f64 / pairs)
}

/// Returns the number of pairs in the wrong order; sorts the positions by merging.
fn inversions(places: &mut [usize]) -> u64 {
    if places.len() < 2 {
        return 0;
    }
    let (left, right) = places.split_at_mut(places.len() / 2);
    let mut count = inversions(left) + inversions(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left_rest, mut right_rest) = (&*left, &*right);
    while let ([first, left_next @ ..], [second, right_next @ ..]) = (left_rest, right_rest) {
        if first <= second {
            merged.push(*first);
            left_rest = left_next;
        } else {
            merged.push(*second);
            count += left_rest.len() as u64;
            right_rest = right_next;
        }
    }
    merged.extend_from_slice(left_rest);
    merged.extend_from_slice(right_rest);
    places.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_list_kit::longest_increasing;
    use proptest::prelude::*;

    #[test]
    fn orders() {
        for (places, longest, tau) in [
            (vec![], 0, None),
            (vec![3], 1, None),
            (vec![0, 1, 2], 3, Some(1.0)),
            (vec![2, 1, 0], 1, Some(-1.0)),
            (vec![1, 0, 2], 2, Some(1.0 / 3.0)),
            // scipy.stats.kendalltau(range(6), [0, 4, 1, 5, 2, 3]) gives 1/3: 5 of 15 pairs are wrong.
            (vec![0, 4, 1, 5, 2, 3], 4, Some(1.0 / 3.0)),
        ] {
            assert_eq!(longest_increasing(&places), longest, "{places:?}");
            let found = kendall_tau(&places);
            assert_eq!(found.is_some(), tau.is_some());
            assert!(
                found.zip(tau).is_none_or(|(found, tau)| (found - tau).abs() < 1e-12),
                "{places:?} {found:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn pairs_are_counted(order in Just((0..30_usize).collect::<Vec<_>>()).prop_shuffle()) {
            let after = |index: usize| order.iter().skip(index + 1);
            let wrong: usize = order
                .iter()
                .enumerate()
                .map(|(index, left)| after(index).filter(|right| left > *right).count())
                .sum();
            prop_assert_eq!(inversions(&mut order.clone()), wrong as u64);
            let mut lengths = vec![1; order.len()];
            for end in 0..order.len() {
                for start in 0..end {
                    if order[start] < order[end] {
                        lengths[end] = lengths[end].max(lengths[start] + 1);
                    }
                }
            }
            prop_assert_eq!(Some(longest_increasing(&order)), lengths.into_iter().max());
        }
    }
}
