//! One file a command, and what several of them need.

pub(crate) mod list;
pub(crate) mod run;
mod setup;
pub(crate) mod validate;
