//! Results of a batch of requests, which `--responses` reads.

use crate::fuzz_input::FuzzInput;
use crate::servers::{Protocol, RequestResult, ask_in_bulk};
use crate::{Target, Verdict, mutation};
use gage_backend::{BatchReport, HttpBatch};
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Files of results.
pub const TARGET: Target = Target { name: "batch_results", cases: 400, seeds, inputs, check };

/// The protocols with a batch format.
const PROTOCOLS: [Protocol; 2] = [Protocol::Chat, Protocol::Anthropic];

/// Maximum length of a message about a file, in bytes.
const MAX_ERROR_BYTES: usize = 16 << 10;

const TOKENS: &[&str] = &[
    "\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "-1",
    "200",
    "70000",
    "\"custom_id\":",
    "\"response\":",
    "\"status_code\":",
    "\"body\":",
    "\"error\":",
    "\"result\":",
    "\"type\":\"succeeded\",",
    "\"message\":",
    "\"params\":",
    "\\u0000",
    "\u{0}",
    "é",
];

/// Returns the request to a server, as it is written for a batch.
fn written(protocol: Protocol) -> Result<Value, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("requests");
    let batch = HttpBatch::write(&path, protocol.backend_id()).map_err(|error| error.to_string())?;
    let batch = Arc::new(batch);
    // The request waits for its batch, so it has no answer.
    if ask_in_bulk(protocol, Arc::clone(&batch))?.is_ok() {
        return Err("a request was sent that was to be written".to_owned());
    }
    batch.finish().map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    serde_json::from_str(text.trim()).map_err(|error| error.to_string())
}

fn seeds() -> Vec<Vec<u8>> {
    let [Ok(chat), Ok(anthropic)] = PROTOCOLS.map(written) else { return Vec::new() };
    let body = json!({"choices": [{"index": 0, "message": {"content": "four"}, "finish_reason": "stop"}]});
    let response = json!({"status_code": 200, "body": body});
    let message = json!({"content": [{"type": "text", "text": "four"}], "stop_reason": "end_turn"});
    let lines = [
        json!({"custom_id": chat["custom_id"], "response": response, "error": null}),
        json!({"custom_id": anthropic["custom_id"], "result": {"type": "succeeded", "message": message}}),
    ];
    let [first, second] = lines.map(|line| format!("{line}\n"));
    let foreign = "{\"custom_id\":\"other\",\"error\":{\"message\":\"no\"}}\n";
    [format!("{first}{second}{foreign}"), first, second].map(String::into_bytes).to_vec()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), TOKENS)
}

/// Asks one request of the results in a file. `None` if the file is refused.
fn asked(protocol: Protocol, path: &Path) -> Result<Option<RequestResult>, String> {
    let batch = match HttpBatch::take(&[path.to_owned()], protocol.backend_id()) {
        Ok(batch) => Arc::new(batch),
        Err(error) if error.to_string().len() > MAX_ERROR_BYTES => {
            return Err(format!("an error has {} bytes", error.to_string().len()));
        }
        Err(_) => return Ok(None),
    };
    let result = ask_in_bulk(protocol, Arc::clone(&batch))?;
    let BatchReport::Taken(counts) = batch.finish().map_err(|error| error.to_string())? else {
        return Err("results were taken, and requests are reported".to_owned());
    };
    let is_counted = match &result {
        Ok(_) => (counts.taken, counts.open()) == (1, 0),
        Err(_) => (counts.taken, counts.open()) == (0, 1),
    };
    if is_counted { Ok(Some(result)) } else { Err(format!("one request was asked: {counts:?}")) }
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("results");
    std::fs::write(&path, input).map_err(|error| error.to_string())?;
    let mut verdict = Verdict::Refused;
    for protocol in PROTOCOLS {
        if let Some(Ok(_)) = asked(protocol, &path)? {
            verdict = Verdict::Accepted;
        }
    }
    Ok(verdict)
}
