//! One file a command, and what several of them need.

pub(crate) mod compare;
pub(crate) mod data;
pub(crate) mod distill;
pub(crate) mod env;
pub(crate) mod export;
mod failure;
mod history;
pub(crate) mod init;
pub(crate) mod list;
mod listener;
pub(crate) mod lock;
pub(crate) mod metrics;
pub(crate) mod model;
mod observability;
mod outcome;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod score;
mod setup;
mod signals;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod view;
