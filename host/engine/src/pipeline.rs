//! The pipeline of a task, from its rows to its records.

pub(crate) mod dispatcher;
pub(crate) mod infer;
pub(crate) mod post_process;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod result_router;
pub(crate) mod score;
pub(crate) mod task;
pub(crate) mod task_state;
