//! The pipeline of a task, from its rows to its records.
//!
//! Rows flow `read` → `dispatcher` → `infer` → `post_process` → `result_router` → `score` → `record`. Imports go the other
//! way if a stage hands its result to the next one. `task` connects all stages, and no stage imports `task`.

pub(crate) mod dispatcher;
pub(crate) mod drained_receiver;
pub(crate) mod guest_prompt;
pub(crate) mod infer;
pub(crate) mod lockstep;
pub(crate) mod post_process;
pub(crate) mod prompt_calls;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod reply_media;
pub(crate) mod result_router;
pub(crate) mod role_client;
pub(crate) mod score;
pub(crate) mod task;
pub(crate) mod task_report;
pub(crate) mod task_state;
