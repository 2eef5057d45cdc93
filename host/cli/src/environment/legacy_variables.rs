//! Variables of gage-eval, and their replacements.

use std::sync::LazyLock;

/// Replacement of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyReplacement {
    /// A flag, by its long name.
    Flag(&'static str),
    /// A key that a suite may omit: it is set in each entry of `list` without `key`. `name` is a variable that takes
    /// precedence over this one.
    Suite { name: Option<&'static str>, list: &'static str, key: &'static str, is_boolean: bool },
    /// Another variable.
    Variable(&'static str),
    /// The variable itself, which is still read if a suite names it.
    Itself,
    /// No replacement, for this reason.
    None(&'static str),
}

/// A variable of gage-eval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyVariable {
    pub(crate) name: &'static str,
    pub(crate) successor: LegacyReplacement,
    /// Default if neither is set.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

/// All variables, one per line, separated by tabs: name, kind of successor, successor or the reason why there is
/// none, default and meaning. The kind `dataset flag` is a Boolean key of datasets.
const TABLE: &str = include_str!("legacy_variables.tsv");

/// All variables.
pub(crate) static LEGACY_VARIABLES: LazyLock<Vec<LegacyVariable>> =
    LazyLock::new(|| TABLE.lines().filter_map(LegacyVariable::read).collect());

impl LegacyVariable {
    fn read(line: &'static str) -> Option<LegacyVariable> {
        let [name, kind, successor, default, meaning] =
            line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let suite = |name, list, key, is_boolean| LegacyReplacement::Suite { name, list, key, is_boolean };
        let successor = match kind {
            "flag" => LegacyReplacement::Flag(successor),
            "dataset" | "dataset flag" => suite(None, "datasets", successor, kind == "dataset flag"),
            "task" => {
                let (variable, key) = successor.split_once('=')?;
                suite(Some(variable), "tasks", key, false)
            }
            "variable" => LegacyReplacement::Variable(successor),
            "suite" => LegacyReplacement::Itself,
            "none" => LegacyReplacement::None(successor),
            _ => return None,
        };
        Some(LegacyVariable { name, successor, default, meaning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_variable() {
        assert_eq!(LEGACY_VARIABLES.len(), TABLE.lines().count());
    }
}
