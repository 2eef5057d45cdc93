//! Metrics on what an agent did: `trajectory_match`.

mod matching;
mod trajectory_match;

pub use trajectory_match::TrajectoryMatch;

gage_sdk::metrics!(
    name: "trajectory",
    description: "Metrics on what an agent did",
    metrics: [TrajectoryMatch],
);
