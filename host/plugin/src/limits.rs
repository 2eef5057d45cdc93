//! How much a plugin may use.

use std::time::Duration;

/// The budgets of a plugin. All of them are configuration; the defaults are safe for guests
/// written in Rust.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of all linear memories of an instance together; default 64 MiB.
    pub memory_bytes: usize,
    /// Elements of all tables of an instance together; default 20,000.
    pub table_elements: usize,
    /// Work for one item, in units of fuel (about one for each WebAssembly instruction);
    /// default 500 million, some tenths of a second. The same bytes run out at the same place
    /// on every machine.
    pub fuel_per_item: u64,
    /// Wall time for one call, whatever it does; default 2 s.
    pub wall_time: Duration,
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
    /// Bytes of a component; default 32 MiB.
    pub component_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 64 << 20,
            table_elements: 20_000,
            fuel_per_item: 500_000_000,
            wall_time: Duration::from_secs(2),
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
