//! Finds exchanges in a file. Only their positions are kept in memory.

use super::{Exchange, FORMAT, RecordingError, RecordingHead, VERSION};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a decompressed frame: what the recorder writes, plus one exchange.
const MAX_FRAME_BYTES: u64 = 2 << 30;

/// Magic bytes of a zstd frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// Complete frames of a file.
pub(super) struct Frames {
    /// Position of each exchange, by digest, in file order.
    places: HashMap<Box<str>, Vec<FramePosition>>,
    /// End of the last complete frame.
    pub(super) end: u64,
    /// Number of bytes after it, from a truncated frame.
    pub(super) torn: u64,
}

#[derive(Clone, Copy)]
struct FramePosition {
    frame: u64,
    line: u32,
}

/// Reads a whole file and records the position of every exchange. A truncated frame is accepted only at the end.
pub(super) fn frames_of(path: &Path) -> Result<Frames, RecordingError> {
    let file_error = |source| RecordingError::file(path, source);
    let mut reader = BufReader::new(File::open(path).map_err(file_error)?);
    let mut frames = Frames { places: HashMap::new(), end: 0, torn: 0 };
    while !reader.fill_buf().map_err(file_error)?.is_empty() {
        let start = frames.end;
        let text = match read_frame(&mut reader) {
            Ok(text) => text,
            Err(error) if start == 0 => return Err(RecordingError::format(path, error.to_string())),
            Err(error) => {
                let rest = read_from(path, start).map_err(file_error)?;
                if holds_frame(&rest) {
                    let message = format!("it is damaged at byte {start}, before its end: {error}");
                    return Err(RecordingError::format(path, message));
                }
                frames.torn = rest.len() as u64;
                return Ok(frames);
            }
        };
        for (number, line) in text.lines().enumerate() {
            if start == 0 && number == 0 {
                let head: RecordingHead = serde_json::from_str(line)
                    .map_err(|error| RecordingError::format(path, format!("its first line: {error}")))?;
                if head.format != FORMAT || head.version != VERSION {
                    let message = format!("it is {} {}, not {FORMAT} {VERSION}", head.format, head.version);
                    return Err(RecordingError::format(path, message));
                }
                continue;
            }
            let exchange: Exchange = serde_json::from_str(line).map_err(|error| {
                RecordingError::format(path, format!("the frame at byte {start}: {error}"))
            })?;
            let place = FramePosition { frame: start, line: u32::try_from(number).unwrap_or(u32::MAX) };
            frames.places.entry(exchange.digest.into_boxed_str()).or_default().push(place);
        }
        frames.end = reader.stream_position().map_err(file_error)?;
    }
    Ok(frames)
}

fn read_from(path: &Path, start: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns true if a complete frame of exchanges begins after the first byte.
fn holds_frame(bytes: &[u8]) -> bool {
    let is_exchange = |place: usize| {
        let decoder = bytes.get(place..).and_then(|bytes| zstd::Decoder::with_buffer(bytes).ok());
        let mut text = String::new();
        decoder.is_some_and(|decoder| {
            let read = decoder.single_frame().take(MAX_FRAME_BYTES).read_to_string(&mut text);
            read.is_ok()
                && text.lines().next().is_some_and(|line| serde_json::from_str::<Exchange>(line).is_ok())
        })
    };
    bytes
        .windows(MAGIC.len())
        .enumerate()
        .skip(1)
        .any(|(place, window)| window == MAGIC && is_exchange(place))
}

fn read_frame(reader: &mut BufReader<File>) -> std::io::Result<String> {
    let mut text = String::new();
    let decoder = zstd::Decoder::with_buffer(reader)?.single_frame();
    decoder.take(MAX_FRAME_BYTES).read_to_string(&mut text)?;
    Ok(text)
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
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(place.frame))?;
    let text = read_frame(&mut BufReader::new(file))?;
    let line = text.lines().nth(usize::try_from(place.line).unwrap_or(usize::MAX));
    let line = line.ok_or_else(|| std::io::Error::other("the file has changed"))?;
    Ok(serde_json::from_str(line)?)
}
