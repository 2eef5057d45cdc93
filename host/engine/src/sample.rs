//! The types of one sample that several folders share: its result, failure and usage. Imports no other folder.

pub(crate) mod answer_outcome;
pub(crate) mod eval_config;
pub(crate) mod failure;
pub(crate) mod output_keys;
pub(crate) mod result;
pub(crate) mod span;
pub(crate) mod usage;
