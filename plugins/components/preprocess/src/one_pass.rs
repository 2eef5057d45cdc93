//! Rows that are read in one pass, without a tree of values, for the fast paths of preprocessors.
//!
//! **A fast path gives byte for byte the Sample of the ordinary path, or declines the row** if anything is in doubt.
//! `docs/contributing/json.md` has the figures that justify it.

pub(crate) mod field;
pub(crate) mod nested;
pub(crate) mod row;
pub(crate) mod text;
