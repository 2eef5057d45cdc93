//! One file a command, and what several of them need.

mod aggregators;
pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod distill;
pub(crate) mod env;
pub(crate) mod export;
mod history;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod metrics;
pub(crate) mod model;
pub(crate) mod observability;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod setup;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod view;
