//! Metric on verifiable instructions: `ifeval`.

#[cfg(test)]
mod fixtures;
mod ifeval;

pub use ifeval::Ifeval;

gage_sdk::metrics!(
    name: "instruction",
    description: "Metric on verifiable instructions",
    metrics: [Ifeval],
);
