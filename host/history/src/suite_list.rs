//! The suites of the runs in a folder, each with its baseline.

use crate::{Baseline, History, HistoryError};
use rusqlite::Row;
use serde::Serialize;

/// A suite that has runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    /// The name.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Start of the first run.
    pub first: String,
    /// Start of the last run.
    pub last: String,
    /// The run that others are compared with, if one was chosen.
    pub baseline: Option<Baseline>,
}

impl History {
    /// Returns the suites that have runs, sorted by name.
    ///
    /// # Errors
    /// Fails if the index fails, or the baselines cannot be read.
    pub fn suites(&self) -> Result<Vec<Suite>, HistoryError> {
        let mut suites = self.index.read(|connection| {
            let mut statement = connection.prepare(
                "SELECT suite, count(*), min(created_at), max(created_at) FROM runs WHERE suite IS NOT NULL
                 GROUP BY suite ORDER BY suite",
            )?;
            let suite = |row: &Row<'_>| {
                let (name, runs) = (row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs());
                Ok(Suite { name, runs, first: row.get(2)?, last: row.get(3)?, baseline: None })
            };
            statement.query_map([], suite)?.collect::<rusqlite::Result<Vec<Suite>>>()
        })?;
        let baselines = self.baselines()?;
        for suite in &mut suites {
            suite.baseline = baselines.iter().find(|baseline| baseline.suite == suite.name).cloned();
        }
        Ok(suites)
    }
}
