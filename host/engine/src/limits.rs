//! Limits of a run: cancellation, budgets, permits, and the share of invalid rows.

pub(crate) mod budget;
pub(crate) mod cancel_token;
pub(crate) mod invalid_rows;
pub(crate) mod permits;
