//! Shared parts of preprocessors and doc hooks: values at paths of a row, and media in the many shapes that
//! datasets give them.

pub mod fields;
pub mod media;
