//! Reads one zstd frame of JSON lines within limits: a small file can unpack to any size.

use std::io::{self, BufRead, BufReader, Read as _};

/// Size at which the recorder ends a frame. Replaying an answer reads a whole frame.
pub(super) const FRAME_BYTES: usize = 64 * 1024;
/// Maximum size of an exchange in a file.
pub(super) const MAX_EXCHANGE_BYTES: usize = 256 << 20;
/// Maximum size of a frame, unpacked.
pub(super) const MAX_FRAME_BYTES: u64 = (FRAME_BYTES + MAX_EXCHANGE_BYTES) as u64;

/// Maximum number of lines of a frame. The recorder writes fewer, because an exchange takes more than a hundred bytes.
const MAX_LINES: u32 = 4096;

/// Maximum ratio of a file's content to its size, beyond the content of one frame.
const MAX_RATIO: u64 = 1_000;

/// Maximum size of a decoder's window, as a power of two. The recorder's level needs 21.
const MAX_WINDOW_LOG: u32 = 23;

/// Number of bytes that may still be unpacked from a file.
pub(super) struct UnpackBudget {
    left: u64,
    total: u64,
}

impl UnpackBudget {
    /// Creates the budget of a file of a size: [`MAX_RATIO`] times as much, and one frame more.
    pub(super) fn of_file(bytes: u64) -> UnpackBudget {
        let total = bytes.saturating_mul(MAX_RATIO).saturating_add(MAX_FRAME_BYTES);
        UnpackBudget { left: total, total }
    }
}

/// Reason why a frame cannot be read.
pub(super) enum FrameError {
    /// It is truncated or damaged, or the system cannot read it.
    Unreadable(io::Error),
    /// It, or the file, exceeds a limit.
    TooLarge(String),
}

impl From<FrameError> for io::Error {
    fn from(error: FrameError) -> io::Error {
        match error {
            FrameError::Unreadable(error) => error,
            FrameError::TooLarge(message) => io::Error::other(message),
        }
    }
}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> FrameError {
        FrameError::Unreadable(error)
    }
}

/// Reads the frame at the position of a reader to its end, where its checksum is. Visits every line with its number, from
/// 0, until a visit fails, and returns the result of the visits. Holds one line in memory.
pub(super) fn read_frame<E>(
    reader: impl BufRead,
    budget: &mut UnpackBudget,
    mut visit: impl FnMut(u32, &[u8]) -> Result<(), E>,
) -> Result<Result<(), E>, FrameError> {
    let mut decoder = zstd::Decoder::with_buffer(reader)?.single_frame();
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    let limit = MAX_FRAME_BYTES.min(budget.left);
    // One byte more than is allowed shows that there is more.
    let mut lines = BufReader::new(decoder.take(limit + 1));
    let (mut line, mut number, mut length, mut visited) = (Vec::new(), 0, 0, Ok(()));
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line);
        let bytes = line.len() as u64;
        length += bytes;
        budget.left = budget.left.saturating_sub(bytes);
        read?;
        if length > limit && limit < MAX_FRAME_BYTES {
            let total = budget.total;
            return Err(FrameError::TooLarge(format!(
                "it unpacks to more than {total} bytes; a file of its size may hold no more"
            )));
        }
        if length > limit {
            return Err(FrameError::TooLarge(format!("a frame unpacks to more than {limit} bytes")));
        }
        if bytes == 0 {
            return Ok(visited);
        }
        if number == MAX_LINES {
            return Err(FrameError::TooLarge(format!("a frame has more than {MAX_LINES} lines")));
        }
        if visited.is_ok() {
            visited = visit(number, line.strip_suffix(b"\n").unwrap_or(&line));
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn read(content: &[u8], budget: &mut UnpackBudget) -> Result<(u32, usize), String> {
        let packed = zstd::bulk::compress(content, 3).expect("compressed");
        let (mut lines, mut longest) = (0, 0);
        let visited = read_frame(&packed[..], budget, |number, line| {
            lines = number + 1;
            longest = longest.max(line.len());
            Ok::<(), Infallible>(())
        });
        match visited {
            Ok(_) => Ok((lines, longest)),
            Err(FrameError::TooLarge(message)) => Err(message),
            Err(FrameError::Unreadable(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn a_frame_is_read_line_by_line_within_its_limits() {
        let budget = || UnpackBudget { left: 10_000, total: 20_000 };
        assert_eq!(read(b"one\ntwo more\nend", &mut budget()), Ok((3, 8)));
        let exactly = "a".repeat(9_999) + "\n";
        let mut spent = budget();
        assert_eq!(read(exactly.as_bytes(), &mut spent), Ok((1, 9_999)));
        assert_eq!(spent.left, 0);
        let message = "it unpacks to more than 20000 bytes; a file of its size may hold no more".to_owned();
        assert_eq!(read(b"a", &mut spent), Err(message.clone()));
        assert_eq!(read(&[b'a'; 10_001], &mut budget()), Err(message));
        let lines = "\n".repeat(MAX_LINES as usize);
        assert_eq!(read(lines.as_bytes(), &mut budget()), Ok((MAX_LINES, 0)));
        let message = "a frame has more than 4096 lines".to_owned();
        assert_eq!(read((lines + "\n").as_bytes(), &mut budget()), Err(message));
    }

    #[test]
    fn a_damaged_frame_is_told_apart_from_a_large_one() {
        let mut packed = zstd::bulk::compress(&[b'a'; 9_000], 3).expect("compressed");
        packed.pop();
        let mut budget = UnpackBudget { left: 10_000, total: 20_000 };
        let read = read_frame(&packed[..], &mut budget, |_, _| Ok::<(), Infallible>(()));
        assert!(matches!(read, Err(FrameError::Unreadable(_))));
        assert_eq!(UnpackBudget::of_file(1_000).left, MAX_FRAME_BYTES + 1_000_000);
    }
}
