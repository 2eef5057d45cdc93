/// The least number of characters to insert, delete or replace that turns one text into the
/// other. Takes time in proportion to the product of their lengths.
pub fn levenshtein_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    // The distances of the left text so far to each beginning of the right text.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, left) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, right) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (left, right, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("北京", "东京", 1),
            ("👨‍👩‍👧", "👨‍👩‍👦", 1),
            ("ab", "ba", 2),
            ("intention", "execution", 5),
            (" a", "a ", 2),
        ] {
            assert_eq!(levenshtein_distance(left, right), expected, "{left:?} {right:?}");
        }
    }
}
