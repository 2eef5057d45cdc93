//! Updates the index: reads only run folders that are new or have changed.

use crate::describe::describe;
use crate::index::Index;
use crate::scan::{RunPosition, scan};
use crate::{HistoryError, HistoryRun};
use rusqlite::{Transaction, params};
use std::collections::HashMap;
use std::path::Path;

/// Result of a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshReport {
    /// Number of run folders that were read, because they are new or have changed.
    pub read: usize,
    /// Number of run folders that are gone.
    pub gone: usize,
}

/// A run that was read, or the reason why it is unreadable.
type ReadRun = (RunPosition, Result<HistoryRun, String>);

/// Reads changed runs. Concurrent refreshes write the same rows. A run that was read too early has a new fingerprint,
/// so the next refresh reads it again.
pub(crate) fn refresh(index: &Index, folder: &Path) -> Result<RefreshReport, HistoryError> {
    let mut known = index.read(|connection| {
        let mut statement = connection.prepare(
            "SELECT folder, fingerprint FROM runs UNION ALL SELECT folder, fingerprint FROM unreadable",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        rows.collect::<rusqlite::Result<HashMap<String, String>>>()
    })?;
    let places = scan(folder).map_err(|source| HistoryError::Folder { path: folder.to_owned(), source })?;
    let changed =
        places.into_iter().filter(|place| known.remove(&place.name).as_ref() != Some(&place.fingerprint));
    let read: Vec<ReadRun> = changed
        .map(|place| {
            let described = describe(&place.path).map_err(|error| error.to_string());
            (place, described)
        })
        .collect();
    if read.is_empty() && known.is_empty() {
        return Ok(RefreshReport::default());
    }
    let refreshed = RefreshReport { read: read.len(), gone: known.len() };
    index.write(|changes| {
        let replaced = read.iter().map(|(place, _)| place.name.as_str());
        for name in known.keys().map(String::as_str).chain(replaced) {
            for table in ["runs", "unreadable"] {
                changes.execute(&format!("DELETE FROM {table} WHERE folder = ?1"), [name])?;
            }
        }
        for (place, described) in &read {
            insert(changes, place, described)?;
        }
        let digests = "(SELECT samples_digest FROM runs WHERE samples_digest IS NOT NULL)";
        changes
            .execute(&format!("DELETE FROM flips WHERE base NOT IN {digests} OR new NOT IN {digests}"), [])?;
        Ok(refreshed)
    })
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
            changes.execute(
                "INSERT INTO runs (folder, fingerprint, run_id, suite, created_at, samples_digest, document)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![name, fingerprint, run_id, suite, created_at, samples_digest, document],
            )
        }
        Err(reason) => changes.execute(
            "INSERT INTO unreadable (folder, fingerprint, reason) VALUES (?1, ?2, ?3)",
            params![name, fingerprint, reason],
        ),
    }
}

/// Creates the error for a document that cannot be serialized.
pub(crate) fn unserializable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
