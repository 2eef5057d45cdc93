//! Rows of any source, stored in a temporary file and returned in another order.
//!
//! The file has no name, so it is removed automatically. Each row is a JSON document.

use crate::row::{DataError, Row};
use crate::shuffle::shuffle;
use gage_core::ResourceShortage;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Shuffled rows.
pub(crate) struct Spool {
    file: File,
    folder: PathBuf,
    /// Offset of each row, and the end of the last one.
    offsets: Vec<u64>,
    order: std::vec::IntoIter<u64>,
}

impl Spool {
    /// Stores all rows of `next`, and shuffles them.
    ///
    /// # Errors
    /// When a row fails, or when the temporary file cannot be written.
    pub(crate) fn fill(
        folder: Option<&Path>,
        seed: u64,
        mut next: impl FnMut() -> Result<Option<Row>, DataError>,
    ) -> Result<Spool, DataError> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let fail = |source| fail(&folder, source);
        let mut file = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(&folder).map_err(fail)?);
        let (mut offsets, mut end) = (vec![0], 0);
        while let Some(row) = next()? {
            let document = serde_json::to_vec(&row).map_err(std::io::Error::from);
            let document = document.and_then(|document| file.write_all(&document).map(|()| document));
            end += document.map_err(fail)?.len() as u64;
            offsets.push(end);
        }
        let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
        let mut order: Vec<u64> = (0..offsets.len() as u64 - 1).collect();
        shuffle(&mut order, seed);
        Ok(Spool { file, folder, offsets, order: order.into_iter() })
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row>, DataError> {
        let Some(number) = self.order.next() else { return Ok(None) };
        self.read(number).map(Some).map_err(|source| fail(&self.folder, source))
    }

    fn read(&mut self, number: u64) -> std::io::Result<Row> {
        let first = usize::try_from(number).map_err(std::io::Error::other)?;
        let Some([start, end]) = self.offsets.get(first..).and_then(|offsets| offsets.first_chunk()) else {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        };
        let mut document = vec![0; usize::try_from(end - start).map_err(std::io::Error::other)?];
        self.file.seek(SeekFrom::Start(*start))?;
        self.file.read_exact(&mut document)?;
        Ok(serde_json::from_slice(&document)?)
    }
}

fn fail(folder: &Path, source: std::io::Error) -> DataError {
    ResourceShortage::report_in(&source);
    DataError::Spool { folder: folder.display().to_string(), source }
}
