//! Matching of tool calls with those of a reference.

use gage_trajectory_kit::{Arguments, Call};

/// Comparison of two trajectories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatchCounts {
    pub(crate) made: usize,
    pub(crate) wanted: usize,
    /// Maximum number of pairs of a call that was made and a reference call that it meets, each used once.
    pub(crate) pairs: usize,
    /// Maximum number of pairs if only names are compared.
    pub(crate) names: usize,
    /// True for the same calls in the same order, and no others.
    pub(crate) is_exact: bool,
    /// True if the reference's calls were made in order, with others allowed in between.
    pub(crate) is_in_order: bool,
}

impl MatchCounts {
    pub(crate) fn new(made: &[Call], wanted: &[Call], arguments: Arguments) -> MatchCounts {
        let meets = |call: &Call, reference: &Call| call.meets(reference, arguments);
        MatchCounts {
            made: made.len(),
            wanted: wanted.len(),
            pairs: most_pairs(made, wanted, &meets),
            names: most_pairs(made, wanted, &|call, reference| call.name == reference.name),
            is_exact: made.len() == wanted.len()
                && made.iter().zip(wanted).all(|(call, reference)| meets(call, reference)),
            is_in_order: is_in_order(made, wanted, &meets),
        }
    }

    /// Returns whether all of the reference's calls were made, in any order and with others allowed.
    pub(crate) fn is_any_order(&self) -> bool {
        self.pairs == self.wanted
    }

    /// Returns the share of calls made that the reference has; `None` if none were made.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.pairs, self.made)
    }

    /// Returns the share of the reference's calls that were made; `None` if it has none.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.pairs, self.wanted)
    }

    /// Returns the share of calls of a right tool that have the right arguments; `None` if there are none.
    pub(crate) fn arguments(&self) -> Option<f64> {
        share(self.pairs, self.names)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    // Exact: there are far fewer calls than an f64 counts.
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns whether the wanted calls are a subsequence of those made. Taking the earliest match leaves most room for the
/// next.
fn is_in_order(made: &[Call], wanted: &[Call], meets: &dyn Fn(&Call, &Call) -> bool) -> bool {
    let mut rest = made.iter();
    wanted.iter().all(|reference| rest.any(|call| meets(call, reference)))
}

/// Returns the size of a largest matching between the two (augmenting paths: Kuhn 1955). A call may meet several
/// references if arguments count in part, so the first match is not always the best.
fn most_pairs(made: &[Call], wanted: &[Call], meets: &dyn Fn(&Call, &Call) -> bool) -> usize {
    let fitting: Vec<Vec<usize>> = wanted
        .iter()
        .map(|reference| (0..made.len()).filter(|&place| meets(&made[place], reference)).collect())
        .collect();
    let mut taken: Vec<Option<usize>> = vec![None; made.len()];
    let mut pairs = 0;
    for reference in 0..wanted.len() {
        let mut seen = vec![false; made.len()];
        pairs += usize::from(place(reference, &fitting, &mut taken, &mut seen));
    }
    pairs
}

/// Finds a call for a reference, moving others to different calls if that makes room. The recursion is at most as deep
/// as the number of references.
fn place(reference: usize, fitting: &[Vec<usize>], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for &call in &fitting[reference] {
        if std::mem::replace(&mut seen[call], true) {
            continue;
        }
        let is_free = match taken[call] {
            None => true,
            Some(other) => place(other, fitting, taken, seen),
        };
        if is_free {
            taken[call] = Some(reference);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;
    use proptest::prelude::*;

    fn calls(text: &str) -> Vec<Call> {
        let named = |name: char| Call { name: name.to_string(), arguments: json!({}) };
        text.chars().map(named).collect()
    }

    #[test]
    fn orders() {
        for (made, wanted, exact, in_order, any_order, pairs) in [
            ("ab", "ab", true, true, true, 2),
            ("axb", "ab", false, true, true, 2),
            ("ba", "ab", false, false, true, 2),
            ("a", "ab", false, false, false, 1),
            ("ab", "abb", false, false, false, 2),
            ("aab", "ab", false, true, true, 2),
            ("", "", true, true, true, 0),
            ("a", "", false, true, true, 0),
            ("", "a", false, false, false, 0),
        ] {
            let matched = MatchCounts::new(&calls(made), &calls(wanted), Arguments::Exact);
            let found = (matched.is_exact, matched.is_in_order, matched.is_any_order(), matched.pairs);
            assert_eq!(found, (exact, in_order, any_order, pairs), "{made} {wanted}");
        }
    }

    #[test]
    fn a_call_makes_room_for_another_reference() {
        let call = |arguments| Call { name: "t".to_owned(), arguments };
        // The first meets both references, the second only the loose one.
        let made = [call(json!({"a": 1, "b": 2})), call(json!({"a": 1}))];
        let wanted = [call(json!({"a": 1})), call(json!({"a": 1, "b": 2}))];
        let matched = MatchCounts::new(&made, &wanted, Arguments::Subset);
        assert_eq!((matched.pairs, matched.names), (2, 2));
        assert_eq!(MatchCounts::new(&made[1..], &wanted, Arguments::Subset).arguments(), Some(1.0));
    }

    proptest! {
        #[test]
        fn stricter_orders_imply_looser_ones(made in "[abc]{0,8}", wanted in "[abc]{0,8}") {
            let matched = MatchCounts::new(&calls(&made), &calls(&wanted), Arguments::Exact);
            prop_assert!(!matched.is_exact || matched.is_in_order);
            prop_assert!(!matched.is_in_order || matched.is_any_order());
            prop_assert!(matched.pairs <= matched.made.min(matched.wanted));
            let mut sorted: Vec<char> = made.chars().collect();
            sorted.sort_unstable();
            let turned = MatchCounts::new(&calls(&sorted.iter().collect::<String>()), &calls(&wanted), Arguments::Exact);
            prop_assert_eq!(matched.pairs, turned.pairs);
        }
    }
}
