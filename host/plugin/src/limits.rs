//! Limits of a plugin.

use gage_config::PluginLimits;
use std::time::Duration;

/// The budgets of a plugin. All of them are configuration; the defaults are safe.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Limits {
    /// Bytes of all linear memories of an instance together; default 64 MiB, 256 MiB for guests
    /// that carry an interpreter.
    pub memory_bytes: usize,
    /// Elements of all tables of an instance together; default 20,000, for interpreters 100,000.
    pub table_elements: usize,
    /// Work for one item, in units of fuel (about one for each WebAssembly instruction);
    /// default 500 million, some tenths of a second. The same bytes run out at the same place
    /// on every machine.
    pub fuel_per_item: u64,
    /// Wall time for one call, without what it waits for granted requests; default 2 s.
    #[serde(serialize_with = "in_seconds")]
    pub wall_time: Duration,
    /// Time for which one call may wait for granted requests, all together; default 1 hour.
    #[serde(serialize_with = "in_seconds")]
    pub wait_time: Duration,
    /// Calls of the host's interfaces that one call may make, WASI apart; default 10,000.
    pub host_calls: u64,
    /// Bytes that one result may hold; default 1 MiB.
    pub result_bytes: usize,
    /// Bytes of a Sample that a preprocessor returns; default 16 MiB.
    pub sample_bytes: usize,
    /// Levels of a JSON value that is returned; default 32.
    pub json_depth: usize,
    /// Bytes of an error's text, which is cut there; default 8 KiB.
    pub error_bytes: usize,
    /// Sub-scores, and error tags, of one card; default 64 of each.
    pub names_per_card: usize,
    /// Characters of the name of a sub-score or of a tag; default 64.
    pub name_characters: usize,
    /// Bytes of log lines that one call may write; default 64 KiB.
    pub log_bytes: usize,
    /// Log lines that one call may write; default 200.
    pub log_lines: usize,
    /// Bytes of a component; default 32 MiB, for interpreters 64 MiB.
    pub component_bytes: usize,
}

/// Writes a time as the configuration has it.
fn in_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 64 << 20,
            table_elements: 20_000,
            fuel_per_item: 500_000_000,
            wall_time: Duration::from_secs(2),
            wait_time: Duration::from_secs(3600),
            host_calls: 10_000,
            result_bytes: 1 << 20,
            sample_bytes: 16 << 20,
            json_depth: 32,
            error_bytes: 8 << 10,
            names_per_card: 64,
            name_characters: 64,
            log_bytes: 64 << 10,
            log_lines: 200,
            component_bytes: 32 << 20,
        }
    }
}

impl Limits {
    /// The defaults for guests that carry an interpreter and import WASI, without which it cannot start:
    /// Python. JavaScript components of the SDK import none, and fit into the usual limits.
    pub fn of_interpreter() -> Limits {
        Limits {
            memory_bytes: 256 << 20,
            table_elements: 100_000,
            component_bytes: 64 << 20,
            ..Limits::default()
        }
    }

    /// These, but for what a suite sets otherwise.
    #[must_use]
    pub fn with(self, set: &PluginLimits) -> Limits {
        Limits {
            memory_bytes: set.memory_bytes.unwrap_or(self.memory_bytes),
            table_elements: set.table_elements.unwrap_or(self.table_elements),
            fuel_per_item: set.fuel_per_item.unwrap_or(self.fuel_per_item),
            wall_time: set.wall_time.unwrap_or(self.wall_time),
            wait_time: set.wait_time.unwrap_or(self.wait_time),
            host_calls: set.host_calls.unwrap_or(self.host_calls),
            result_bytes: set.result_bytes.unwrap_or(self.result_bytes),
            sample_bytes: set.sample_bytes.unwrap_or(self.sample_bytes),
            component_bytes: set.component_bytes.unwrap_or(self.component_bytes),
            ..self
        }
    }
}
