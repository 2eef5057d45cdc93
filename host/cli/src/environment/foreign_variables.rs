//! Variables that are neither of a flag nor of gage-eval. What a suite names as `${NAME}`, or as the variable of a key, is not
//! among them.

/// The name, the default and the meaning of each, a variable a line, with tabs between.
const TABLE: &str = include_str!("foreign_variables.tsv");

/// The name, the default and the meaning of each variable.
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
