//! Recordings of HTTP exchanges, which `--replay` reads.

use crate::fuzz_input::FuzzInput;
use crate::servers::{Protocol, RequestResult, ServerAnswer, ask};
use crate::{Target, Verdict, mutation};
use bytes::Bytes;
use gage_backend::HttpRecording;
use proptest::strategy::BoxedStrategy;
use reqwest::header::HeaderMap;
use std::path::Path;
use std::sync::Arc;

/// Recordings.
pub const TARGET: Target = Target { name: "recordings", cases: 500, seeds, inputs, check };

const TOKENS: &[&str] = &[
    "\n",
    "{",
    "}",
    "\"",
    ":",
    ",",
    "[",
    "]",
    "\\",
    "\\u0000",
    "\"digest\":",
    "\"status\":",
    "\"content_type\":",
    "\"body\":",
    "\"is_base64\":true,",
    "text/event-stream",
    "data: ",
    "QUJD",
    "gage-host-http-recording",
    "\"version\":",
    "429",
    "é",
    "\u{0}",
    "(\u{b5}/\u{fd}",
];

/// The answer that is recorded.
const ANSWER: &[u8] =
    b"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"four\"},\"finish_reason\":\"stop\"}]}";

fn ask_chat(body: &'static [u8], recording: HttpRecording) -> Result<RequestResult, String> {
    let recording = Arc::new(recording);
    let answer =
        ServerAnswer { status: 200, headers: HeaderMap::new(), pieces: vec![Bytes::from_static(body)] };
    let result = ask(Protocol::Chat, answer, Some(Arc::clone(&recording)))?;
    recording.finish().map_err(|error| error.to_string())?;
    Ok(result)
}

/// Returns a recording of one exchange.
fn recorded() -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("recording");
    let recording = HttpRecording::record(&path).map_err(|error| error.to_string())?;
    ask_chat(ANSWER, recording)?.map_err(|(_, message)| message)?;
    std::fs::read(&path).map_err(|error| error.to_string())
}

/// Returns a recording as it is in the file, and unpacked.
fn seeds() -> Vec<Vec<u8>> {
    let Ok(packed) = recorded() else { return Vec::new() };
    let unpacked = zstd::stream::decode_all(packed.as_slice());
    [Some(packed), unpacked.ok()].into_iter().flatten().collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

/// Replays a file in place of a server, which would answer otherwise.
fn replayed(path: &Path) -> Result<Option<RequestResult>, String> {
    match HttpRecording::replay(path) {
        Ok(recording) => ask_chat(b"no answer", recording).map(Some),
        Err(_) => Ok(None),
    }
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("recording");
    let write = |bytes: &[u8]| std::fs::write(&path, bytes).map_err(|error| error.to_string());
    write(input)?;
    let as_it_is = replayed(&path)?;
    // Checksums keep damage from becoming another answer.
    if let Some(Ok(output)) = &as_it_is
        && output["answer"] != "four"
    {
        return Err(format!("the damaged recording gives the answer {}", output["answer"]));
    }
    // With right checksums, so that the exchanges are read.
    let mut compressor = zstd::bulk::Compressor::new(1).map_err(|error| error.to_string())?;
    compressor.include_checksum(true).map_err(|error| error.to_string())?;
    write(&compressor.compress(input).map_err(|error| error.to_string())?)?;
    let packed = replayed(&path)?;
    let is_answered = [as_it_is, packed].iter().any(|result| matches!(result, Some(Ok(_))));
    Ok(if is_answered { Verdict::Accepted } else { Verdict::Refused })
}
