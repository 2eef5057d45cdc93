//! Finds exchanges in a file. Only their positions are kept in memory.

use super::frame::{FrameError, MAX_FRAME_BYTES, UnpackBudget, read_frame};
use super::{Exchange, FORMAT, RecordingError, RecordingHead, VERSION};
use gage_core::foreign_file::{self, FileLimit};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Magic bytes of a zstd frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Maximum number of places in a torn end where a frame may seem to begin.
const MAX_CANDIDATES: usize = 1_000;

/// Length of a digest.
const DIGEST_CHARACTERS: usize = 64;

/// Complete frames of a file.
pub(super) struct Frames {
    /// Position of each exchange, by digest, in file order.
    places: HashMap<Box<str>, Vec<FramePosition>>,
    /// End of the last complete frame.
    pub(super) end: u64,
    /// Number of bytes after it, from a truncated frame.
    pub(super) torn: u64,
}

impl Frames {
    /// Returns the number of exchanges.
    pub(super) fn exchanges(&self) -> u64 {
        self.places.values().map(|places| places.len() as u64).sum()
    }
}

#[derive(Clone, Copy)]
struct FramePosition {
    frame: u64,
    line: u32,
}

/// Reads a whole file and records the position of every exchange. A truncated frame is accepted only at the end.
pub(super) fn frames_of(path: &Path) -> Result<Frames, RecordingError> {
    let file_error = |source| RecordingError::file(path, source);
    let file = foreign_file::open_named(path, FileLimit::NONE).map_err(file_error)?;
    let length = file.metadata().map_err(file_error)?.len();
    let mut budget = UnpackBudget::of_file(length);
    let mut reader = BufReader::new(file);
    let mut frames = Frames { places: HashMap::new(), end: 0, torn: 0 };
    while !reader.fill_buf().map_err(file_error)?.is_empty() {
        let start = frames.end;
        let mut found = Vec::new();
        let read = read_frame(&mut reader, &mut budget, |number, line| {
            if start == 0 && number == 0 {
                return check_head(path, line);
            }
            let place = FramePosition { frame: start, line: number };
            found.push((digest_of(path, start, line)?, place));
            Ok(())
        });
        match read {
            Ok(visited) => visited?,
            Err(FrameError::TooLarge(message)) => return Err(RecordingError::format(path, message)),
            Err(FrameError::Unreadable(error)) if start == 0 => {
                return Err(RecordingError::format(path, error.to_string()));
            }
            Err(FrameError::Unreadable(error)) => {
                let rest = read_from(path, start).map_err(file_error)?;
                if rest.len() as u64 == MAX_FRAME_BYTES || holds_frame(&rest, &mut budget) {
                    let message = format!("it is damaged at byte {start}, before its end: {error}");
                    return Err(RecordingError::format(path, message));
                }
                frames.torn = rest.len() as u64;
                return Ok(frames);
            }
        }
        for (digest, place) in found {
            frames.places.entry(digest).or_default().push(place);
        }
        frames.end = reader.stream_position().map_err(file_error)?;
    }
    Ok(frames)
}

/// Checks the first line of a file.
fn check_head(path: &Path, line: &[u8]) -> Result<(), RecordingError> {
    let head: RecordingHead = serde_json::from_slice(line)
        .map_err(|error| RecordingError::format(path, format!("its first line: {error}")))?;
    if head.format != FORMAT || head.version != VERSION {
        let message = format!("it is {} {}, not {FORMAT} {VERSION}", head.format, head.version);
        return Err(RecordingError::format(path, message));
    }
    Ok(())
}

/// Returns the digest of the exchange in a line.
fn digest_of(path: &Path, start: u64, line: &[u8]) -> Result<Box<str>, RecordingError> {
    let unusable =
        |problem: String| RecordingError::format(path, format!("the frame at byte {start}: {problem}"));
    let exchange: Exchange = serde_json::from_slice(line).map_err(|error| unusable(error.to_string()))?;
    if exchange.digest.len() > DIGEST_CHARACTERS {
        return Err(unusable(format!("a digest is longer than {DIGEST_CHARACTERS} characters")));
    }
    Ok(exchange.digest.into_boxed_str())
}

fn read_from(path: &Path, start: u64) -> std::io::Result<Vec<u8>> {
    let mut file = foreign_file::open_named(path, FileLimit::NONE)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_FRAME_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns true if a complete frame of exchanges begins after the first byte, or if there are too many places where one
/// may begin.
fn holds_frame(bytes: &[u8], budget: &mut UnpackBudget) -> bool {
    let windows = bytes.windows(MAGIC.len()).enumerate().skip(1);
    let mut candidates = windows.filter(|(_, window)| *window == MAGIC).map(|(place, _)| place);
    let holds = candidates.by_ref().take(MAX_CANDIDATES).any(|place| {
        let mut is_exchange = false;
        let read = read_frame(bytes.get(place..).unwrap_or_default(), budget, |number, line| {
            is_exchange |= number == 0 && serde_json::from_slice::<Exchange>(line).is_ok();
            Ok::<(), Infallible>(())
        });
        match read {
            Ok(_) => is_exchange,
            Err(FrameError::TooLarge(_)) => true,
            Err(FrameError::Unreadable(_)) => false,
        }
    });
    holds || candidates.next().is_some()
}

pub(super) struct Replayer {
    path: Arc<PathBuf>,
    /// Number of bytes of a truncated frame at the end.
    torn: u64,
    /// Positions of the exchanges by digest, and how many of them have been returned.
    places: Mutex<HashMap<Box<str>, (Vec<FramePosition>, usize)>>,
}

impl Replayer {
    pub(super) fn open(path: &Path) -> Result<Replayer, RecordingError> {
        let frames = frames_of(path)?;
        if frames.end == 0 {
            return Err(RecordingError::format(path, "it is empty"));
        }
        if frames.torn > 0 {
            let (path, bytes) = (path.display(), frames.torn);
            tracing::warn!(%path, bytes, "the recording is torn: its last exchanges were cut off");
        } else if frames.places.is_empty() {
            tracing::warn!(path = %path.display(), "the recording has no exchanges");
        }
        let places = frames.places.into_iter().map(|(digest, places)| (digest, (places, 0))).collect();
        Ok(Replayer { path: Arc::new(path.to_owned()), torn: frames.torn, places: Mutex::new(places) })
    }

    /// Returns the next exchange with this digest. After the last one, returns the last one again.
    pub(super) async fn answer(&self, digest: &str) -> Result<Exchange, String> {
        let place = {
            let mut places = self.places.lock();
            places.get_mut(digest).and_then(|(places, used)| {
                let place = places.get(*used).or(places.last()).copied();
                *used += 1;
                place
            })
        };
        let Some(place) = place else {
            let torn = match self.torn {
                0 => String::new(),
                bytes => format!("its last {bytes} bytes are torn and may have held it, or "),
            };
            return Err(format!(
                "{} has no answer to this request: {torn}the suite or the data has changed since it was recorded",
                self.path.display()
            ));
        };
        let path = Arc::clone(&self.path);
        let read = tokio::task::spawn_blocking(move || read_exchange(&path, place)).await;
        let read = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        read.map_err(|error| {
            gage_core::ResourceShortage::report_in(&error);
            format!("{}: {error}", self.path.display())
        })
    }
}

fn read_exchange(path: &Path, place: FramePosition) -> std::io::Result<Exchange> {
    let mut file = foreign_file::open_named(path, FileLimit::NONE)?;
    let mut budget = UnpackBudget::of_file(file.metadata()?.len());
    file.seek(SeekFrom::Start(place.frame))?;
    let mut found = None;
    // The frame is read to its end, because its checksum is there.
    let read = read_frame(BufReader::new(file), &mut budget, |number, line| {
        if number == place.line {
            found = Some(serde_json::from_slice(line));
        }
        Ok::<(), Infallible>(())
    });
    let Ok(()) = read?;
    let exchange = found.ok_or_else(|| std::io::Error::other("the file has changed"))?;
    Ok(exchange?)
}
