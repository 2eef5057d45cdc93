//! The variables of gage-eval, and what has taken their place.

use std::sync::LazyLock;

/// What has taken the place of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyReplacement {
    /// A flag, by its long name.
    Flag(&'static str),
    /// A key that a suite may leave open: it is set in each entry of `list` without `key`. `name` is a variable that goes
    /// before this one.
    Suite { name: Option<&'static str>, list: &'static str, key: &'static str, is_boolean: bool },
    /// Another variable.
    Variable(&'static str),
    /// It is itself still read, where a suite names it.
    Itself,
    /// Nothing, for this reason.
    None(&'static str),
}

/// A variable of gage-eval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LegacyVariable {
    pub(crate) name: &'static str,
    pub(crate) successor: LegacyReplacement,
    /// What holds where neither is set.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

/// All of them, a variable a line, with tabs between: its name, the kind of its successor, the successor, or the reason why
/// there is none, the default and the meaning. The kind `dataset flag` is a key of datasets that is true or false.
const TABLE: &str = include_str!("legacy_variables.tsv");

/// All of them.
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
