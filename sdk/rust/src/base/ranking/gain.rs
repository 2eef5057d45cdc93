//! Figures of a ranked list with graded entries; grade 0 means irrelevant.

/// Discounted cumulative gain of the first `k`: Σ grade / log₂(rank + 1), ranks from 1 (Järvelin and
/// Kekäläinen 2002, with the discount of Burges et al. 2005 and linear gain).
fn dcg(grades: &[f64], k: usize) -> f64 {
    let discounted = |(index, grade): (usize, &f64)| grade / (index as f64 + 2.0).log2();
    grades.iter().take(k).enumerate().map(discounted).sum()
}

/// Gain of the first `k` divided by that of the ideal order; 0 if there is no gain. `ideal` holds the grades
/// of all targets, highest first.
pub(super) fn ndcg(grades: &[f64], ideal: &[f64], k: usize) -> f64 {
    let best = dcg(ideal, k);
    if best > 0.0 { dcg(grades, k) / best } else { 0.0 }
}

/// Mean over all targets of the precision at their rank, 0 for targets that are not found. See Manning,
/// Raghavan and Schütze 2008, section 8.4.
pub(super) fn average_precision(grades: &[f64], targets: usize) -> f64 {
    if targets == 0 {
        return 0.0;
    }
    let mut found = 0.0;
    let mut sum = 0.0;
    for (index, _) in grades.iter().enumerate().filter(|(_, grade)| **grade > 0.0) {
        found += 1.0;
        sum += found / (index as f64 + 1.0);
    }
    sum / targets as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example from Wikipedia's article "Discounted cumulative gain": six documents with grades 3, 2, 3, 0,
    /// 1, 2, from a collection with one more 3 and one more 2.
    #[test]
    fn the_textbook_example() {
        let grades = [3.0, 2.0, 3.0, 0.0, 1.0, 2.0];
        assert!((dcg(&grades, 6) - 6.861).abs() < 5e-4);
        let ideal = [3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0];
        assert!((ndcg(&grades, &ideal, 6) - 0.785).abs() < 5e-4);
        assert_eq!(ndcg(&grades, &[], 6), 0.0);
        assert_eq!(ndcg(&grades, &ideal, 0), 0.0);
    }

    /// Three targets at ranks 1, 3 and 6, and one that is not found: (1 + 2/3 + 3/6) / 4.
    #[test]
    fn precision_is_averaged_over_all_targets() {
        let grades = [1.0, 0.0, 2.0, 0.0, 0.0, 1.0];
        assert!((average_precision(&grades, 4) - (1.0 + 2.0 / 3.0 + 0.5) / 4.0).abs() < 1e-12);
        assert_eq!(average_precision(&grades, 0), 0.0);
    }
}
