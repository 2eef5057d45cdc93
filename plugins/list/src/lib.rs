//! Metrics on lists: `list_overlap`.

mod items;
mod list_overlap;
mod matching;

pub use list_overlap::ListOverlap;

gage_sdk::metrics!(
    name: "list",
    description: "Metrics on lists",
    metrics: [ListOverlap],
);
