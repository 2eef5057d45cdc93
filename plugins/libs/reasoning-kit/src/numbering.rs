//! Steps whose ids are numbered: `s1`, `s2`.

use crate::steps::Step;
use std::collections::HashSet;

/// Returns the numbers at the end of the ids, at least two, if all numbered ids have the same prefix, such as
/// `s1`, `s2`.
pub fn numbers(steps: &[Step]) -> Option<Vec<u64>> {
    let mut prefix: Option<&str> = None;
    let mut numbers = Vec::new();
    for id in steps.iter().filter_map(|step| step.id.as_deref()) {
        let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (beginning, number) = id.split_at(id.len() - digits);
        if digits == 0 || *prefix.get_or_insert(beginning) != beginning {
            return None;
        }
        numbers.push(number.parse().ok()?);
    }
    (numbers.len() >= 2).then_some(numbers)
}

/// Returns the share of present numbers in the range from 1, or from a smaller first number, to the largest.
pub fn completeness(numbers: &[u64]) -> f64 {
    let distinct: HashSet<&u64> = numbers.iter().collect();
    let least = numbers.iter().copied().min().unwrap_or(0).min(1);
    let greatest = numbers.iter().copied().max().unwrap_or(0);
    distinct.len() as f64 / ((greatest - least) as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalizer::Normalizer;
    use gage_sdk::json;

    #[test]
    fn numbered_ids() {
        for (ids, expected) in [
            (json!([{ "id": "s1" }, { "id": "s4" }]), Some(0.5)),
            (json!([{ "id": 0 }, { "id": 1 }, { "text": "x" }]), Some(1.0)),
            (json!([{ "id": "s1" }, { "id": "t2" }]), None),
            (json!([{ "id": "s1" }]), None),
            (json!([{ "id": "s1" }, { "id": "s99999999999999999999" }]), None),
        ] {
            let found = numbers(&Step::read_all(&ids, Normalizer::loose()));
            assert_eq!(found.map(|found| completeness(&found)), expected, "{ids}");
        }
    }
}
