//! Updates the index: reads only run folders that are new or have changed.
//!
//! An update has three steps: find the changed runs, read them, and write them to the index. Only the first and the last one
//! use the index, so that programs that share it need not lock it while they read runs.

use crate::checksum::{checksum, is_intact};
use crate::describe::describe;
use crate::index::Index;
use crate::scan::{RunPosition, scan};
use crate::{HistoryError, HistoryRun};
use rusqlite::{Connection, Transaction, params};
use std::collections::HashMap;
use std::path::Path;

/// Result of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshReport {
    /// Number of run folders that were read, because they are new or have changed.
    pub read: usize,
    /// Number of run folders that are gone.
    pub gone: usize,
    /// Number of rows of the index that were damaged. Their runs are among those that were read.
    pub damaged: usize,
}

/// Differences between an index and a folder of runs.
#[derive(Debug)]
pub struct ChangedRuns {
    /// Run folders that are new or have changed.
    places: Vec<RunPosition>,
    /// Names of folders that are gone.
    gone: Vec<String>,
    /// Number of damaged rows of the index.
    damaged: usize,
}

/// The changed runs of a folder, as they were read.
#[derive(Debug)]
pub struct RunUpdate {
    /// Each run, or the reason why it is unreadable.
    read: Vec<(RunPosition, Result<HistoryRun, String>)>,
    gone: Vec<String>,
    damaged: usize,
}

impl ChangedRuns {
    /// Compares an index with the folder of runs.
    pub(crate) fn find(index: &Index, folder: &Path) -> Result<ChangedRuns, HistoryError> {
        let KnownRows { fingerprints: mut known, damaged } = index.read(KnownRows::read)?;
        let mut places =
            scan(folder).map_err(|source| HistoryError::Folder { path: folder.to_owned(), source })?;
        places.retain(|place| known.remove(&place.name).as_ref() != Some(&place.fingerprint));
        Ok(ChangedRuns { places, gone: known.into_keys().collect(), damaged })
    }

    /// Reads the changed runs. They may be from others, and large. The index is not used meanwhile.
    pub fn read(self) -> RunUpdate {
        let ChangedRuns { places, gone, damaged } = self;
        let describe = |place: RunPosition| {
            let described = describe(&place.path).map_err(|error| error.to_string());
            (place, described)
        };
        RunUpdate { read: places.into_iter().map(describe).collect(), gone, damaged }
    }
}

impl RunUpdate {
    /// Writes the runs to an index. Concurrent updates write the same rows. A run that was read too early has a new
    /// fingerprint, so the next update reads it again.
    pub(crate) fn write(&self, index: &Index) -> Result<RefreshReport, HistoryError> {
        let RunUpdate { read, gone, damaged } = self;
        if read.is_empty() && gone.is_empty() && *damaged == 0 {
            return Ok(RefreshReport::default());
        }
        let refreshed = RefreshReport { read: read.len(), gone: gone.len(), damaged: *damaged };
        index.write(|changes| {
            if *damaged > 0 {
                // A damaged name leads to no row.
                changes.execute_batch("DELETE FROM runs; DELETE FROM unreadable; DELETE FROM flips")?;
            }
            let replaced = read.iter().map(|(place, _)| place.name.as_str());
            for name in gone.iter().map(String::as_str).chain(replaced) {
                for table in ["runs", "unreadable"] {
                    changes.execute(&format!("DELETE FROM {table} WHERE folder = ?1"), [name])?;
                }
            }
            for (place, described) in read {
                insert(changes, place, described)?;
            }
            self.delete_flips(changes)?;
            Ok(refreshed)
        })
    }

    /// Deletes the flips of runs that are gone, and of those that were read now: an index that came with the runs may hold
    /// any counts for them.
    fn delete_flips(&self, changes: &Transaction<'_>) -> rusqlite::Result<()> {
        let described = self.read.iter().filter_map(|(_, described)| described.as_ref().ok());
        for digest in described.filter_map(|run| run.samples_digest.as_ref()) {
            changes.execute("DELETE FROM flips WHERE base = ?1 OR new = ?1", [digest])?;
        }
        let digests = "(SELECT samples_digest FROM runs WHERE samples_digest IS NOT NULL)";
        let unknown = format!("DELETE FROM flips WHERE base NOT IN {digests} OR new NOT IN {digests}");
        changes.execute(&unknown, []).map(drop)
    }
}

/// The rows of the index.
struct KnownRows {
    /// Fingerprints by folder; empty if a row is damaged, so that every run is read again.
    fingerprints: HashMap<String, String>,
    damaged: usize,
}

impl KnownRows {
    /// Reads and checks all rows.
    fn read(connection: &Connection) -> rusqlite::Result<KnownRows> {
        let mut rows = KnownRows { fingerprints: HashMap::new(), damaged: 0 };
        for (columns, table) in [
            ("folder, fingerprint, run_id, suite, created_at, samples_digest, document", "runs"),
            ("folder, fingerprint, reason", "unreadable"),
            ("base, new, counts", "flips"),
        ] {
            let mut statement = connection.prepare(&format!("SELECT {columns}, checksum FROM {table}"))?;
            let count = statement.column_count() - 1;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                match is_intact(row, count) {
                    true if table == "flips" => {}
                    true => drop(rows.fingerprints.insert(row.get(0)?, row.get(1)?)),
                    false => rows.damaged += 1,
                }
            }
        }
        if rows.damaged > 0 {
            rows.fingerprints.clear();
        }
        Ok(rows)
    }
}

fn insert(
    changes: &Transaction<'_>,
    place: &RunPosition,
    described: &Result<HistoryRun, String>,
) -> rusqlite::Result<usize> {
    let RunPosition { name, fingerprint, .. } = place;
    match described {
        Ok(run) => {
            let document = serde_json::to_string(run).map_err(unserializable)?;
            let HistoryRun { run_id, suite, created_at, samples_digest, .. } = run;
            let checksum = checksum([
                Some(name.as_bytes()),
                Some(fingerprint.as_bytes()),
                Some(run_id.as_bytes()),
                suite.as_ref().map(String::as_bytes),
                Some(created_at.as_bytes()),
                samples_digest.as_ref().map(String::as_bytes),
                Some(document.as_bytes()),
            ]);
            changes.execute(
                "INSERT INTO runs (folder, fingerprint, run_id, suite, created_at, samples_digest, document, checksum)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![name, fingerprint, run_id, suite, created_at, samples_digest, document, checksum],
            )
        }
        Err(reason) => {
            let checksum = checksum([name, fingerprint, reason].map(|column| Some(column.as_bytes())));
            changes.execute(
                "INSERT INTO unreadable (folder, fingerprint, reason, checksum) VALUES (?1, ?2, ?3, ?4)",
                params![name, fingerprint, reason, checksum],
            )
        }
    }
}

/// Creates the error for a document that cannot be serialized.
pub(crate) fn unserializable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
