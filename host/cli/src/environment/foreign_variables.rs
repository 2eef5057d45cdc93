//! Variables that belong neither to a flag nor to gage-eval. Those that a suite names as `${NAME}`, or as the
//! variable of a key, are not included.

/// Name, default and meaning of each variable, one per line, separated by tabs.
const TABLE: &str = include_str!("foreign_variables.tsv");

/// Returns the name, the default and the meaning of each variable.
pub(crate) fn foreign_variables() -> impl Iterator<Item = [&'static str; 3]> {
    TABLE.lines().filter_map(|line| line.split('\t').collect::<Vec<_>>().try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_variable() {
        assert_eq!(foreign_variables().count(), TABLE.lines().count());
    }
}
