//! Metrics on lists: `list_overlap`.

mod list_overlap;

pub use list_overlap::ListOverlap;

gage_sdk::metrics!(
    name: "list",
    description: "Metrics on lists",
    metrics: [ListOverlap],
);
