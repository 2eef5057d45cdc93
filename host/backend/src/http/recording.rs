//! Recording of a run's HTTP exchanges in a file, and replay in place of a network.
//!
//! The file consists of zstd frames of JSON lines, each frame complete in itself.
//!
//! Recording an exchange waits until its frame is safely on disk, so every answer in the journal of a run is also in
//! its recording. A line is an exchange, or the header at the beginning of the file. Requests are identified by a
//! digest. Neither requests nor answers contain keys.

mod frame;
mod record;
mod redaction;
mod replay;

use record::Recorder;
pub(super) use redaction::{public_body, without_secrets_of};
use replay::Replayer;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Format name in the header of a file.
const FORMAT: &str = "gage-host-http-recording";
/// Version that is written and read.
const VERSION: u32 = 1;

/// An exchange: the digest of a request, and the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// Digest of the backend id, the method, the path and the body.
    pub(super) digest: String,
    /// Backend that sent the request, for readers.
    pub(super) backend_id: String,
    /// Path of the request, for readers.
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) content_type: String,
    /// Body as text, or in base64 if it is not UTF-8.
    pub(super) body: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_base64: bool,
}

#[derive(Serialize, Deserialize)]
struct RecordingHead {
    format: String,
    version: u32,
}

/// Error of a recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not a recording.
    #[error("{path} is not a usable recording: {message}")]
    Format {
        /// Path of the file.
        path: String,
        /// Description of the error.
        message: String,
    },
}

impl RecordingError {
    fn file(path: &Path, source: std::io::Error) -> RecordingError {
        RecordingError::File { path: path.display().to_string(), source }
    }

    fn format(path: &Path, message: impl Into<String>) -> RecordingError {
        RecordingError::Format { path: path.display().to_string(), message: message.into() }
    }
}

/// HTTP exchanges of a run, being recorded or replayed.
pub struct HttpRecording(RecordingMode);

enum RecordingMode {
    Record(Recorder),
    Replay(Replayer),
}

impl HttpRecording {
    /// Starts recording to a file, appending to earlier recordings in it.
    ///
    /// # Errors
    /// If the file cannot be written, or is not a recording.
    pub fn record(path: &Path) -> Result<HttpRecording, RecordingError> {
        Recorder::open(path).map(RecordingMode::Record).map(HttpRecording)
    }

    /// Opens a file whose exchanges replace the network.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a recording.
    pub fn replay(path: &Path) -> Result<HttpRecording, RecordingError> {
        Replayer::open(path).map(RecordingMode::Replay).map(HttpRecording)
    }

    /// Returns true if answers come from the file.
    pub fn is_replay(&self) -> bool {
        matches!(self.0, RecordingMode::Replay(_))
    }

    /// Writes the remaining exchanges and returns the number recorded. Later exchanges are lost.
    ///
    /// # Errors
    /// If any exchange could not be written.
    pub fn finish(&self) -> Result<u64, RecordingError> {
        match &self.0 {
            RecordingMode::Record(recorder) => recorder.finish(),
            RecordingMode::Replay(_) => Ok(0),
        }
    }

    /// Returns the number of exchanges that a file to record in held when it was opened. `None` for a replay.
    pub fn earlier_exchanges(&self) -> Option<u64> {
        match &self.0 {
            RecordingMode::Record(recorder) => Some(recorder.earlier_exchanges()),
            RecordingMode::Replay(_) => None,
        }
    }

    /// Records an exchange, if recording. It survives a power loss once this returns true.
    ///
    /// Returns false if it could not be written. [`HttpRecording::finish`] then returns the error.
    pub(super) async fn note(&self, exchange: Exchange) -> bool {
        match &self.0 {
            RecordingMode::Record(recorder) => recorder.note(exchange).await,
            RecordingMode::Replay(_) => true,
        }
    }

    /// Returns the recorded answer to a request, if replaying.
    pub(super) async fn answer(&self, digest: &str) -> Option<Result<Exchange, String>> {
        match &self.0 {
            RecordingMode::Record(_) => None,
            RecordingMode::Replay(player) => Some(player.answer(digest).await),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    fn exchange(digest: &str, body: &str) -> Exchange {
        Exchange {
            digest: digest.to_owned(),
            backend_id: "b".to_owned(),
            path: "/v1".to_owned(),
            status: 200,
            content_type: "application/json".to_owned(),
            body: body.to_owned(),
            is_base64: false,
        }
    }

    #[tokio::test]
    async fn replay_keeps_the_order_and_names_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        for round in 0..2 {
            let tape = HttpRecording::record(&path).expect("a tape");
            for number in 0..300 {
                tape.note(exchange(&format!("d{number}"), &format!("{round}-{number}"))).await;
            }
            assert_eq!(tape.finish().expect("written"), 300);
        }
        let tape = HttpRecording::replay(&path).expect("a tape");
        for round in ["0-7", "1-7", "1-7"] {
            let found = tape.answer("d7").await.expect("a replay").expect("an exchange");
            assert_eq!(found.body, round);
        }
        let missing = tape.answer("nobody").await.expect("a replay").expect_err("nothing");
        assert!(missing.contains("tape.zst"), "{missing}");
    }

    #[tokio::test]
    async fn torn_recording_keeps_whole_frames_and_continues() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        for digest in ["a", "b"] {
            let tape = HttpRecording::record(&path).expect("a tape");
            tape.note(exchange(digest, "x")).await;
            tape.finish().expect("written");
        }
        let bytes = std::fs::read(&path).expect("read");
        std::fs::write(&path, &bytes[..bytes.len() - 5]).expect("written");
        let tape = HttpRecording::record(&path).expect("a tape");
        tape.note(exchange("c", "x")).await;
        tape.finish().expect("written");
        let tape = HttpRecording::replay(&path).expect("a tape");
        let mut found = Vec::new();
        for digest in ["a", "b", "c"] {
            found.push(tape.answer(digest).await.expect("a replay").is_ok());
        }
        assert_eq!(found, [true, false, true]);
    }

    /// For every flipped bit, the file is refused, or replays only the answers that were recorded.
    #[tokio::test]
    async fn flipped_bit_is_never_another_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        let tape = HttpRecording::record(&path).expect("a tape");
        let recorded =
            [exchange("a", "answer 233"), exchange("b", "answer 266"), exchange("c", "answer 246")];
        for one in &recorded {
            tape.note(one.clone()).await;
        }
        tape.finish().expect("written");
        let whole = std::fs::read(&path).expect("read");
        for position in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[position] ^= 1 << bit;
                std::fs::write(&path, flipped).expect("written");
                let Ok(tape) = HttpRecording::replay(&path) else { continue };
                for one in &recorded {
                    if let Ok(found) = tape.answer(&one.digest).await.expect("a replay") {
                        assert_eq!(found, *one, "byte {position}, bit {bit}");
                    }
                }
            }
        }
    }

    #[tokio::test]
    async fn what_was_taken_down_is_in_the_file_before_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        let tape = HttpRecording::record(&path).expect("a tape");
        for digest in ["a", "b", "c"] {
            tape.note(exchange(digest, "x")).await;
            let replay = HttpRecording::replay(&path).expect("a tape");
            assert!(replay.answer(digest).await.expect("a replay").is_ok(), "{digest}");
        }
        assert_eq!(tape.finish().expect("written"), 3);
    }

    #[tokio::test]
    async fn torn_end_is_reported_and_damage_is_refused() {
        gage_recorded_messages::record_warnings("server");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        assert_eq!(HttpRecording::record(&path).expect("a tape").finish().expect("written"), 0);
        let missing = HttpRecording::replay(&path).expect("a tape").answer("a").await.expect("a replay");
        assert!(missing.is_err(), "it has no exchanges");
        let tape = HttpRecording::record(&path).expect("a tape");
        let mut ends = Vec::new();
        for digest in ["a", "b", "c"] {
            tape.note(exchange(digest, "x")).await;
            ends.push(std::fs::read(&path).expect("read").len());
        }
        tape.finish().expect("written");
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..ends[1] + 7]).expect("written");
        let replay = HttpRecording::replay(&path).expect("a tape");
        let missing = replay.answer("c").await.expect("a replay").expect_err("torn");
        assert!(missing.contains("its last 7 bytes") && missing.contains("torn"), "{missing}");

        let mut damaged = whole;
        damaged[ends[0] + 4..ends[0] + 12].fill(0xff);
        std::fs::write(&path, &damaged).expect("written");
        for opened in [HttpRecording::replay(&path), HttpRecording::record(&path)] {
            let Err(error) = opened else { panic!("it is damaged") };
            assert!(error.to_string().contains(&format!("damaged at byte {}", ends[0])), "{error}");
        }
        assert_eq!(std::fs::read(&path).expect("read"), damaged);
    }

    #[test]
    fn other_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
        assert!(HttpRecording::replay(&path).is_err());
        for content in [b"hello".to_vec(), zstd::bulk::compress(b"{\"a\": 1}\n", 1).expect("compressed")] {
            std::fs::write(&path, content).expect("written");
            HttpRecording::replay(&path).err().expect("another file").recorded("server");
            assert!(HttpRecording::record(&path).is_err(), "it is not overwritten");
        }
    }
}
