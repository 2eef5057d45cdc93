//! One file a command, and what several of them need.

mod aggregators;
pub(crate) mod data;
pub(crate) mod list;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod plugin;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod setup;
pub(crate) mod validate;
