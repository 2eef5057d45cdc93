//! Metrics on time: `latency`.

mod latency;

pub use latency::Latency;

gage_sdk::metrics!(
    name: "timing",
    description: "Metrics on time",
    metrics: [Latency],
);
