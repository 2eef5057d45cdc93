//! A run's HTTP exchanges in a file: recorded, or played back in place of a network.
//!
//! The file is zstd: frames of JSON lines, each frame whole in itself. Whoever brings an exchange waits until its frame
//! is safe on the disk, so an answer that the journal of a run holds is in its recording, too. A line is an exchange, or the head that begins the file. Requests are named
//! by a digest; keys are in neither part.

mod record;
mod redaction;
mod replay;

use record::Recorder;
pub(super) use redaction::{public_body, without_secrets_of};
use replay::Replayer;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the head of a file says.
const FORMAT: &str = "gage-host-http-recording";
/// The version that is written and read.
const VERSION: u32 = 1;

/// An exchange: a request by its digest, and what was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// Of the backend's id, the method, the path and the body.
    pub(super) digest: String,
    /// Who asked, for people.
    pub(super) backend_id: String,
    /// What was asked, for people.
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) content_type: String,
    /// The body as a text; bytes that are no UTF-8 in base64.
    pub(super) body: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_base64: bool,
}

#[derive(Serialize, Deserialize)]
struct RecordingHead {
    format: String,
    version: u32,
}

/// A recording that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{path} holds no recorded exchanges: {message}")]
    Format {
        /// Which file.
        path: String,
        /// What is wrong.
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

/// A run's HTTP exchanges, being recorded or played back.
pub struct HttpRecording(RecordingMode);

enum RecordingMode {
    Record(Recorder),
    Replay(Replayer),
}

impl HttpRecording {
    /// Begins to record into a file, after what was recorded there before.
    ///
    /// # Errors
    /// When the file cannot be written, or holds something else.
    pub fn record(path: &Path) -> Result<HttpRecording, RecordingError> {
        Recorder::open(path).map(RecordingMode::Record).map(HttpRecording)
    }

    /// Opens a file whose exchanges take the place of the network.
    ///
    /// # Errors
    /// When the file cannot be read, or holds something else.
    pub fn replay(path: &Path) -> Result<HttpRecording, RecordingError> {
        Replayer::open(path).map(RecordingMode::Replay).map(HttpRecording)
    }

    /// Returns whether answers come from the file.
    pub fn is_replay(&self) -> bool {
        matches!(self.0, RecordingMode::Replay(_))
    }

    /// Writes what is left; says how many exchanges were recorded. Exchanges that come later are lost.
    ///
    /// # Errors
    /// When any of them could not be written.
    pub fn finish(&self) -> Result<u64, RecordingError> {
        match &self.0 {
            RecordingMode::Record(recorder) => recorder.finish(),
            RecordingMode::Replay(_) => Ok(0),
        }
    }

    /// Takes down an exchange, where exchanges are recorded; it survives the loss of power when this returns. Where it could
    /// not be written, [`HttpRecording::finish`] says why.
    pub(super) async fn note(&self, exchange: Exchange) {
        if let RecordingMode::Record(recorder) = &self.0 {
            recorder.note(exchange).await;
        }
    }

    /// The answer to a request, where answers come from the file.
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

    /// Of every single bit: the file is refused, or it gives the answers that were recorded and no others.
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
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tape.zst");
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
            assert!(HttpRecording::replay(&path).is_err());
            assert!(HttpRecording::record(&path).is_err(), "what is there is not overwritten");
        }
    }
}
