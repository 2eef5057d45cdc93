//! Scans a journal file from the start and finds the end of its good part.

use super::line::{self, ChecksumSeed};
use crate::RecordError;
use crate::run_files::MAX_LINE_BYTES;
use gage_core::foreign_file::{self, FileRefusal};
use std::io::BufRead;
use std::path::Path;

/// A line with a valid checksum.
pub(super) struct GoodLine<'a> {
    /// Line number, counted from 1; line 1 is the header.
    pub(super) number: u64,
    /// Offset of its first byte in the file.
    pub(super) offset: u64,
    /// The JSON.
    pub(super) json: &'a [u8],
}

/// Good and torn parts of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanResult {
    /// Number of bytes up to the end of the last good line.
    pub(super) good_bytes: u64,
    /// Number of bytes in the torn end after it.
    pub(super) torn_bytes: u64,
    /// Number of complete lines in the torn end. A killed process leaves at most the beginning of a line.
    pub(super) torn_lines: u64,
}

/// Visits every good line. The checksum of the first line uses `seed`, and the visitor returns the seed for
/// the next line. Holds one line in memory.
///
/// # Errors
/// If a bad line comes before a good one or is complete, if a line is longer than records are, if the file cannot be read, or
/// if the visitor fails.
pub(super) fn scan(
    path: &Path,
    mut reader: impl BufRead,
    mut seed: ChecksumSeed,
    mut visit: impl FnMut(GoodLine<'_>) -> Result<ChecksumSeed, RecordError>,
) -> Result<ScanResult, RecordError> {
    let mut buffer = Vec::new();
    let mut first_bad = None;
    let (mut number, mut offset, mut good_bytes, mut torn_lines) = (0, 0, 0, 0);
    loop {
        buffer.clear();
        let length = foreign_file::read_line(&mut reader, &mut buffer, MAX_LINE_BYTES).map_err(|source| {
            match FileRefusal::find(&source) {
                Some(refusal) => RecordError::damaged(path, number + 1, refusal.to_string()),
                None => RecordError::unreadable_journal(path, source),
            }
        })?;
        if length == 0 {
            return Ok(ScanResult { good_bytes, torn_bytes: offset - good_bytes, torn_lines });
        }
        number += 1;
        match (line::decode(&buffer, seed), first_bad) {
            (Ok(_), Some((line, reason))) => {
                return Err(RecordError::damaged(path, line, format!("{reason}, and good lines follow")));
            }
            (Ok(json), None) => {
                seed = visit(GoodLine { number, offset, json })?;
                good_bytes = offset + length as u64;
            }
            (Err(reason), _) if line::is_whole(&buffer) => {
                let reason = format!("{reason}, and the line is whole, so that it was not torn");
                return Err(RecordError::damaged(path, number, reason));
            }
            (Err(reason), bad) => {
                first_bad = bad.or(Some((number, reason)));
                torn_lines += u64::from(buffer.ends_with(b"\n"));
            }
        }
        offset += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use serde_json::json;

    fn lines(count: u64) -> Vec<Vec<u8>> {
        let encoded = |number| {
            let mut line = Vec::new();
            line::encode(&json!({"n": number}), None, ChecksumSeed::NONE, &mut line).unwrap();
            line
        };
        (0..count).map(encoded).collect()
    }

    fn scan_bytes(bytes: &[u8]) -> Result<(ScanResult, u64), RecordError> {
        let mut count = 0;
        let scanned = scan(Path::new("j"), bytes, ChecksumSeed::NONE, |line| {
            count += 1;
            assert_eq!(line.number, count);
            Ok(ChecksumSeed::NONE)
        })?;
        Ok((scanned, count))
    }

    #[test]
    fn a_torn_end_is_told_apart_from_damage() {
        let lines = lines(3);
        let whole = lines.concat();
        let last = lines[2].len() as u64;
        let good_bytes = whole.len() as u64 - last;
        assert_eq!(scan_bytes(b"").unwrap(), (ScanResult { good_bytes: 0, torn_bytes: 0, torn_lines: 0 }, 0));
        let untorn = ScanResult { good_bytes: whole.len() as u64, torn_bytes: 0, torn_lines: 0 };
        assert_eq!(scan_bytes(&whole).unwrap(), (untorn, 3));
        // The pages of a line that never reached the disk are zeros.
        let mut zeroed = whole.clone();
        let place = zeroed.len() - 3;
        zeroed[place] = 0;
        assert_eq!(
            scan_bytes(&zeroed).unwrap(),
            (ScanResult { good_bytes, torn_bytes: last, torn_lines: 1 }, 2)
        );
        let without_newline = &whole[..whole.len() - 1];
        assert_eq!(
            scan_bytes(without_newline).unwrap(),
            (ScanResult { good_bytes, torn_bytes: last - 1, torn_lines: 0 }, 2)
        );

        let mut damaged = whole.clone();
        damaged[lines[0].len() + 12] ^= 1;
        let error = scan_bytes(&damaged).unwrap_err().recorded("run_folders");
        assert!(
            error.starts_with("j, line 2: the checksum does not match, and the line is whole"),
            "{error}"
        );
    }

    #[test]
    fn a_line_that_was_written_to_its_end_is_never_torn() {
        let lines = lines(3);
        let whole = lines.concat();
        for number in 0..3 {
            let mut flipped = whole.clone();
            flipped[lines[..number].concat().len() + 12] ^= 1;
            let error = scan_bytes(&flipped).unwrap_err().recorded("run_folders");
            let expected =
                format!("j, line {}: the checksum does not match, and the line is whole", number + 1);
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn several_bad_lines_at_the_end_are_one_torn_end() {
        let lines = lines(2);
        let torn = [&lines[0][..], &lines[1][..], b"xx\n\0\0\n"].concat();
        let good_bytes = (lines[0].len() + lines[1].len()) as u64;
        assert_eq!(scan_bytes(&torn).unwrap(), (ScanResult { good_bytes, torn_bytes: 6, torn_lines: 2 }, 2));
    }
}
