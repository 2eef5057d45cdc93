//! The variables that a template reads, as the sandbox reports them.

use serde::Deserialize;

/// A variable that a template reads, such as `name` or `row.question`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct NameUse {
    /// The variable.
    pub(crate) root: String,
    /// The members that are read from it, each from the one before, as far as they are known without rendering.
    pub(crate) path: Vec<String>,
    /// The line within the template, from 1.
    pub(crate) line: Option<usize>,
    /// Whether the template needs it.
    pub(crate) need: Need,
    /// True if the value itself is written whenever the template is rendered.
    pub(crate) is_written: bool,
}

/// Whether a template needs a variable.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Need {
    /// It may be missing: the template checks it with `is defined`, or gives it a `default`.
    Checked,
    /// Without it, no rendering succeeds.
    Always,
    /// It is the condition of an `if`, `and` or `or`, to which a missing variable is false.
    Tested,
    /// It is read only if a condition holds.
    Sometimes,
}
