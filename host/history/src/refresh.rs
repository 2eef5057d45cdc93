//! Brings the index up to date with the folders: only what is new or another is read.

use crate::describe::RunDescription;
use crate::index::Index;
use crate::scan::{RunPosition, scan};
use crate::{HistoryError, HistoryFigure};
use rusqlite::{Transaction, params};
use std::collections::HashMap;
use std::path::Path;

/// What a refresh found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshReport {
    /// Run folders that were read, because they are new or were written to.
    pub read: usize,
    /// Run folders that are gone.
    pub gone: usize,
}

/// A folder as it was read, or why it cannot be.
type ReadRun = (RunPosition, Result<RunDescription, String>);

/// Reads what changed. Two processes that do so at once write the same; what one of them read too early has
/// another fingerprint, and is read by the next.
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
            let described = RunDescription::read(&place.path).map_err(|error| error.to_string());
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
            forget(changes, name)?;
        }
        for (place, described) in &read {
            match described {
                Ok(described) => keep(changes, place, described)?,
                Err(reason) => {
                    let sql = "INSERT INTO unreadable (folder, fingerprint, reason) VALUES (?1, ?2, ?3)";
                    changes.execute(sql, params![place.name, place.fingerprint, reason])?;
                }
            }
        }
        for table in ["pairs", "flips"] {
            let gone = "(SELECT samples_digest FROM runs WHERE samples_digest IS NOT NULL)";
            changes
                .execute(&format!("DELETE FROM {table} WHERE base NOT IN {gone} OR new NOT IN {gone}"), [])?;
        }
        Ok(refreshed)
    })
}

fn forget(changes: &Transaction<'_>, folder: &str) -> rusqlite::Result<()> {
    for table in ["runs", "unreadable", "figures"] {
        changes.execute(&format!("DELETE FROM {table} WHERE folder = ?1"), [folder])?;
    }
    Ok(())
}

fn keep(changes: &Transaction<'_>, place: &RunPosition, described: &RunDescription) -> rusqlite::Result<()> {
    let RunDescription { manifest, suite, .. } = described;
    changes.execute(
        "INSERT INTO runs (folder, fingerprint, run_id, suite, model, status, created_at, finished_at, host_version,
            format_version, parent_run, samples, coverage, lock_digest, definition_digest, samples_digest, bytes,
            not_reached, total_is_least, edited)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        params![
            place.name,
            place.fingerprint,
            manifest.run_id,
            suite.name,
            described.model,
            manifest.status.name(),
            manifest.created_at,
            manifest.finished_at,
            manifest.host_version,
            manifest.format_version.number(),
            manifest.parent_run,
            described.samples.map(stored),
            described.coverage,
            suite.lock_digest,
            suite.definition_digest,
            described.samples_digest,
            stored(described.bytes),
            stored(described.not_reached),
            described.total_is_least,
            described.edited,
        ],
    )?;
    let mut statement = changes.prepare(
        "INSERT INTO figures (folder, position, task_id, metric_id, value, n, total, coverage, stderr, low, high,
            higher_is_better, total_is_least)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (position, figure) in (0_i64..).zip(&described.figures) {
        let HistoryFigure {
            task_id,
            metric_id,
            value,
            n,
            total,
            total_is_least,
            coverage,
            stderr,
            low,
            high,
            higher_is_better,
        } = figure;
        let (n, total) = (stored(*n), stored(*total));
        statement.execute(params![
            place.name,
            position,
            task_id,
            metric_id,
            value,
            n,
            total,
            coverage,
            stderr,
            low,
            high,
            higher_is_better,
            total_is_least
        ])?;
    }
    Ok(())
}

/// A count as SQLite keeps it; counts of samples and bytes stay far below 2^63.
pub(crate) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count that was kept.
pub(crate) fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}
