//! What the later folders share about one sample.

pub(crate) mod eval_config;
pub(crate) mod usage;
