//! Rows of any source, kept in a temporary file to be given in another order.
//!
//! The file has no name, so that nothing of it stays behind. A row is a head of fixed length, then the
//! message of a broken row, then its text.

use crate::row::{DataError, Row, RowPosition, RowProblem};
use crate::shuffle::shuffle;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// What is read ahead of a row is of no use for the next.
const BUFFER_BYTES: usize = 1 << 12;
/// The digits of the short digest of a broken row; blanks where a row is not broken.
const DIGEST_BYTES: usize = 16;
const IS_LINE: u8 = 1;
const IS_BROKEN: u8 = 2;

/// Shuffled rows.
pub(crate) struct Spool {
    file: BufReader<File>,
    folder: PathBuf,
    offsets: Vec<u64>,
    order: std::vec::IntoIter<u64>,
}

impl Spool {
    /// Keeps all rows that it is given, and shuffles them.
    ///
    /// # Errors
    /// Those of the rows, and when the temporary file cannot be written.
    pub(crate) fn fill(
        folder: Option<&Path>,
        seed: u64,
        mut next: impl FnMut() -> Result<Option<Row>, DataError>,
    ) -> Result<Spool, DataError> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
        let fail = |source| fail(&folder, source);
        let mut file = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(&folder).map_err(fail)?);
        let (mut offsets, mut offset) = (Vec::new(), 0);
        while let Some(row) = next()? {
            offsets.push(offset);
            offset += write(&mut file, &row).map_err(fail)?;
        }
        let file = file.into_inner().map_err(|error| fail(error.into_error()))?;
        let mut order: Vec<u64> = (0..offsets.len() as u64).collect();
        shuffle(&mut order, seed);
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Spool { file, folder, offsets, order: order.into_iter() })
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.offsets.len() as u64
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row>, DataError> {
        let Some(number) = self.order.next() else { return Ok(None) };
        let offset = usize::try_from(number).ok().and_then(|number| self.offsets.get(number)).copied();
        let row = read(&mut self.file, offset.unwrap_or_default());
        row.map(Some).map_err(|source| fail(&self.folder, source))
    }
}

fn fail(folder: &Path, source: std::io::Error) -> DataError {
    DataError::Spool { folder: folder.display().to_string(), source }
}

fn write(file: &mut impl std::io::Write, row: &Row) -> std::io::Result<u64> {
    let (place, is_line) = match row.place {
        RowPosition::Line(line) => (line, IS_LINE),
        RowPosition::Row(row) => (row, 0),
    };
    let (message, text, digest, is_broken) = match &row.body {
        Ok(text) => ("", text.as_str(), "", 0),
        Err(problem) => (problem.message.as_str(), problem.text.as_str(), problem.digest.as_str(), IS_BROKEN),
    };
    let mut head = Vec::with_capacity(64);
    for number in [row.number, row.file as u64, place, message.len() as u64, text.len() as u64] {
        head.extend_from_slice(&number.to_le_bytes());
    }
    head.push(is_line | is_broken);
    head.extend(digest.bytes().chain(std::iter::repeat(b' ')).take(DIGEST_BYTES));
    file.write_all(&head)?;
    file.write_all(message.as_bytes())?;
    file.write_all(text.as_bytes())?;
    Ok((head.len() + message.len() + text.len()) as u64)
}

fn read(file: &mut BufReader<File>, offset: u64) -> std::io::Result<Row> {
    file.seek(SeekFrom::Start(offset))?;
    let mut number = || -> std::io::Result<u64> {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    let (row, in_file, place) = (number()?, number()?, number()?);
    let (message_length, text_length) = (number()?, number()?);
    let mut flags = [0];
    file.read_exact(&mut flags)?;
    let [flags] = flags;
    let mut text = |length: u64| -> std::io::Result<String> {
        let mut bytes = Vec::with_capacity(usize::try_from(length).map_err(std::io::Error::other)?);
        file.by_ref().take(length).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < length {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        String::from_utf8(bytes).map_err(std::io::Error::other)
    };
    let digest = text(DIGEST_BYTES as u64)?;
    let message = text(message_length)?;
    let text = text(text_length)?;
    Ok(Row {
        index: 0,
        number: row,
        file: usize::try_from(in_file).map_err(std::io::Error::other)?,
        place: if flags & IS_LINE != 0 { RowPosition::Line(place) } else { RowPosition::Row(place) },
        body: if flags & IS_BROKEN != 0 { Err(RowProblem { message, text, digest }) } else { Ok(text) },
    })
}
