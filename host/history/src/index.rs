//! The SQLite file next to the runs. It is only a cache: it is rebuilt if it is unusable or has another version.

use crate::HistoryError;
use gage_core::foreign_file::{self, FileLimit};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the index in the folder of runs.
pub const INDEX_FILE: &str = ".gage-index.sqlite";

/// Endings of the files that SQLite opens: the index, and those next to it.
const FILE_ENDINGS: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Maximum size of each of these files. A run takes a few KiB.
const MAX_SIZE: FileLimit = FileLimit::new("an index", 1 << 30);

/// Version of the tables.
pub const INDEX_VERSION: i32 = 4;

/// Distinguishes an index from other SQLite files: the letters `gage`.
const APPLICATION_ID: i32 = 0x6761_6765;

/// Maximum wait for another process that is writing. Writes take milliseconds.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(30);

/// Each run is a JSON document, the serialized [`HistoryRun`](crate::HistoryRun), next to the columns that queries
/// need. SQLite has no checksums of its own, so each row has one over its columns. There are no secondary indexes, whose
/// damage the check of the rows would not find.
const TABLES: &str = "
    DROP TABLE IF EXISTS runs;
    DROP TABLE IF EXISTS unreadable;
    DROP TABLE IF EXISTS flips;
    CREATE TABLE runs (
        folder TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, run_id TEXT NOT NULL, suite TEXT, created_at TEXT NOT NULL,
        samples_digest TEXT, document TEXT NOT NULL, checksum TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE unreadable (
        folder TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, reason TEXT NOT NULL, checksum TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE flips (
        base TEXT NOT NULL, new TEXT NOT NULL, counts TEXT NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (base, new)
    ) STRICT, WITHOUT ROWID;
";

/// An open index.
pub(crate) struct Index {
    path: PathBuf,
    connection: Connection,
    is_file: bool,
    notes: Vec<String>,
}

impl Index {
    /// Opens the index of a folder, and replaces a damaged or foreign file. Without `is_kept`, or if the file
    /// cannot be written or may be from another user, the index is kept in memory.
    pub(crate) fn open(folder: &Path, is_kept: bool) -> Result<Index, HistoryError> {
        let path = folder.join(INDEX_FILE);
        if !is_kept {
            return Index::in_memory(path, Vec::new());
        }
        if let Err(reason) = check_files(folder) {
            let notes = vec![note_of_unused(&path, &reason)];
            return Index::in_memory(path, notes);
        }
        match open_file(&path) {
            Ok(connection) => Ok(Index { path, connection, is_file: true, notes: Vec::new() }),
            Err(error) if is_damage(&error) => {
                let notes =
                    vec![format!("the index {} was damaged ({error}) and is rebuilt", path.display())];
                remove(&path);
                match open_file(&path) {
                    Ok(connection) => Ok(Index { path, connection, is_file: true, notes }),
                    Err(_) => Index::in_memory(path, notes),
                }
            }
            Err(error) if is_unwritable(&error) => Index::in_memory(path, Vec::new()),
            Err(error) => Err(HistoryError::index(&path, error)),
        }
    }

    fn in_memory(path: PathBuf, notes: Vec<String>) -> Result<Index, HistoryError> {
        let connection = Connection::open_in_memory().and_then(prepared);
        let connection = connection.map_err(|error| HistoryError::index(&path, error))?;
        Ok(Index { path, connection, is_file: false, notes })
    }

    /// Creates an empty index in memory, to replace a file that failed during use.
    pub(crate) fn without_file(&self, reason: &dyn std::fmt::Display) -> Result<Index, HistoryError> {
        let path = self.path.clone();
        let note = note_of_unused(&path, reason);
        Index::in_memory(path, [self.notes.as_slice(), &[note]].concat())
    }

    /// Adds a message.
    pub(crate) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Returns the path of the index.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the index is a file.
    pub(crate) fn is_file(&self) -> bool {
        self.is_file
    }

    /// Returns messages about opening the index.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Reads from the index.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        read(&self.connection).map_err(|error| HistoryError::index(&self.path, error))
    }

    /// Writes in a transaction, and locks out other writers.
    pub(crate) fn write<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, HistoryError> {
        let written = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).and_then(
            |changes| {
                let result = write(&changes)?;
                changes.commit().map(|()| result)
            },
        );
        written.map_err(|error| HistoryError::index(&self.path, error))
    }
}

fn note_of_unused(path: &Path, reason: &dyn std::fmt::Display) -> String {
    format!("the index {} cannot be used ({reason}); all runs were read again", path.display())
}

/// Checks that only this user can have written the files of an index. A file of another user could hold any figures, and a
/// pipe would be waited for. The files are not opened: closing one would release the locks that SQLite has in this process.
fn check_files(folder: &Path) -> io::Result<()> {
    for ending in FILE_ENDINGS {
        match folder.join(format!("{INDEX_FILE}{ending}")).symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => {
                let found = found?;
                foreign_file::check(&found, MAX_SIZE)?;
                foreign_file::check_private(&found)?;
            }
        }
    }
    Ok(())
}

fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let connection = prepared(connection)?;
    let state: String = connection.pragma_query_value(None, "quick_check", |row| row.get(0))?;
    if state == "ok" { Ok(connection) } else { Err(failure(rusqlite::ffi::SQLITE_CORRUPT, state)) }
}

/// Creates the tables if they are missing or have another version.
fn prepared(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(MAX_LOCK_WAIT)?;
    // Data lost in a system crash is rebuilt.
    connection.pragma_update(None, "synchronous", "OFF")?;
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let is_current = || {
        Ok::<_, rusqlite::Error>(
            (number("application_id")?, number("user_version")?) == (APPLICATION_ID, INDEX_VERSION),
        )
    };
    // Requests write access in any case, so that a read-only file is detected here.
    let changes = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
    if !is_current()? {
        let tables: u64 = changes
            .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))
            .map(i64::unsigned_abs)?;
        if tables > 0 && number("application_id")? != APPLICATION_ID {
            return Err(failure(rusqlite::ffi::SQLITE_NOTADB, "it belongs to another program".to_owned()));
        }
        changes.execute_batch(TABLES)?;
        changes.pragma_update(None, "application_id", APPLICATION_ID)?;
        changes.pragma_update(None, "user_version", INDEX_VERSION)?;
    }
    // Views and triggers of a foreign file would be run.
    if schema_of(&changes)? != expected_schema()? {
        return Err(failure(
            rusqlite::ffi::SQLITE_CORRUPT,
            "its tables are not those of an index".to_owned(),
        ));
    }
    changes.commit()?;
    Ok(connection)
}

/// Returns the kind, the name and the definition of everything in a database.
fn schema_of(connection: &Connection) -> rusqlite::Result<Vec<[Option<String>; 3]>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name")?;
    let parts = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
    parts.collect()
}

fn expected_schema() -> rusqlite::Result<Vec<[Option<String>; 3]>> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(TABLES)?;
    schema_of(&connection)
}

fn failure(code: i32, message: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(message))
}

/// Returns whether an error of opening an index is caused by its content. In a file with other tables, statements fail, and
/// columns have other types.
fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | Unknown) | None)
}

fn is_unwritable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    matches!(
        error.sqlite_error_code(),
        Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure)
    )
}

/// Removes an index. Remaining files are detected when the next one is opened.
fn remove(path: &Path) {
    for ending in FILE_ENDINGS {
        let _ = std::fs::remove_file(path.with_file_name(format!("{INDEX_FILE}{ending}")));
    }
}
