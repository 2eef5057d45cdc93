//! Costs of the plugins of a run.

use serde::{Deserialize, Serialize};

/// Costs of a member of a plugin, in the process that wrote them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginCosts {
    /// Name of the component.
    pub plugin: String,
    /// Kind of the component: `metric`, `preprocessor`, ….
    pub kind: String,
    /// Name of the member: of the metric, of the preprocessor, ….
    pub member: String,
    /// Number of items, such as samples.
    pub items: u64,
    /// Number of calls, each in its own instance and with many items.
    pub calls: u64,
    /// Processor time in seconds, including that of copying items.
    pub cpu_s: f64,
    /// Processor time per item in microseconds; null without items.
    pub cpu_us_per_item: Option<f64>,
    /// Units of fuel, about one per WebAssembly instruction.
    pub fuel: u64,
    /// Most memory that one instance had, in bytes.
    pub peak_memory_bytes: u64,
}
