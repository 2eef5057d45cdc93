//! The one-to-one alignment of two lists with the largest sum of scores.

/// Returns the scores of the aligned pairs, one for each row of the matrix. All rows must have the same length.
///
/// This is the Hungarian method with potentials (Kuhn 1955; Jonker and Volgenant 1987). It takes cubic time.
pub(super) fn aligned(scores: &[Vec<f64>]) -> Vec<f64> {
    let columns = scores.first().map_or(0, Vec::len);
    if scores.len() > columns {
        return aligned(&transposed(scores, columns));
    }
    // Number of the row, from 1, that each column is aligned with; 0 for none. Column 0 stands for none too.
    let mut row_of = vec![0; columns + 1];
    let mut row_potential = vec![0.0; scores.len() + 1];
    let mut column_potential = vec![0.0; columns + 1];
    for row in 1..=scores.len() {
        row_of[0] = row;
        let mut column = 0;
        let mut least = vec![f64::INFINITY; columns + 1];
        let mut before = vec![0; columns + 1];
        let mut is_visited = vec![false; columns + 1];
        // Finds the cheapest path to a column without a row.
        while row_of[column] != 0 {
            is_visited[column] = true;
            let at = row_of[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for other in 1..=columns {
                if is_visited[other] {
                    continue;
                }
                let cost = -scores[at - 1][other - 1] - row_potential[at] - column_potential[other];
                if cost < least[other] {
                    least[other] = cost;
                    before[other] = column;
                }
                if least[other] < step {
                    step = least[other];
                    next = other;
                }
            }
            for other in 0..=columns {
                if is_visited[other] {
                    row_potential[row_of[other]] += step;
                    column_potential[other] -= step;
                } else {
                    least[other] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    let mut found = vec![0.0; scores.len()];
    for (column, row) in row_of.iter().enumerate().skip(1).filter(|(_, row)| **row != 0) {
        found[row - 1] = scores[row - 1][column - 1];
    }
    found
}

fn transposed(scores: &[Vec<f64>], columns: usize) -> Vec<Vec<f64>> {
    (0..columns).map(|column| scores.iter().map(|row| row[column]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the largest sum, by trying everything.
    fn largest(scores: &[Vec<f64>], taken: u32) -> f64 {
        let Some((row, rest)) = scores.split_first() else { return 0.0 };
        let with = |column: usize| {
            (taken & (1 << column) == 0).then(|| row[column] + largest(rest, taken | (1 << column)))
        };
        (0..row.len()).filter_map(with).fold(largest(rest, taken), f64::max)
    }

    proptest! {
        #[test]
        fn no_alignment_is_better(
            (rows, columns, values) in (0_usize..5, 1_usize..5, prop::collection::vec(0_u8..6, 25)),
        ) {
            let scores: Vec<Vec<f64>> = values.chunks(5).take(rows)
                .map(|row| row.iter().take(columns).map(|value| f64::from(*value) / 5.0).collect())
                .collect();
            let found: f64 = aligned(&scores).iter().sum();
            prop_assert!((found - largest(&scores, 0)).abs() < 1e-9, "{scores:?}: {found}");
        }
    }
}
