//! Reads an answer, whole or streamed, within limits.

use super::answer_ids::AnswerId;
use super::clock::now;
use super::failure::{HttpFailure, shown};
use super::sse::{BYTE_ORDER_MARK, EventStream};
use crate::api::BackendErrorKind;
use bytes::{Bytes, BytesMut};
use gage_core::{has_more_values, is_nested_deeper, max_json_values};
use serde::Deserialize;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Maximum nesting depth of a reply.
pub(crate) const MAX_JSON_DEPTH: usize = 64;

/// Reader of the answer to one attempt.
pub(crate) trait ReplyReader: Send {
    /// Type of the answer.
    type Output: Send;

    /// Returns the maximum number of JSON values in an answer of at most `max_bytes`, and in an event of a stream.
    fn max_values(max_bytes: usize) -> usize {
        max_json_values(max_bytes)
    }

    /// Reads an answer that arrived as a whole. Stores its id, if it has one.
    fn read_body(self, body: &[u8], id: &mut Option<AnswerId>) -> Result<Self::Output, HttpFailure>;

    /// Handles the data of an event. Returns true if it contained a piece of the answer.
    fn on_event(&mut self, _data: &str) -> Result<bool, HttpFailure> {
        Err(HttpFailure::lasting(
            BackendErrorKind::Protocol,
            "the server sent a stream that was not requested",
        ))
    }

    /// Returns the number of JSON values of earlier events that the reader keeps.
    fn kept_values(&self) -> usize {
        0
    }

    /// Returns true if the last event completed the answer. Later events are ignored.
    fn is_complete(&self) -> bool {
        false
    }

    /// Handles the end of the stream. Stores the id of the answer, if it has one.
    fn finish(self, _id: &mut Option<AnswerId>) -> Result<Self::Output, HttpFailure>
    where
        Self: Sized,
    {
        Err(HttpFailure::protocol("the stream is empty"))
    }
}

/// Collector of an answer.
pub(super) struct BodyReader<R> {
    /// Boxed, so that whole answers reserve no space for it.
    streamed: Option<Box<StreamedReply<R>>>,
    /// Body, or, for a recorded stream, what has arrived of it.
    bytes: BytesMut,
    chunk: Bytes,
    is_kept: bool,
    length: usize,
    most: usize,
}

/// Reader of the events of a stream.
pub(super) struct StreamedReply<R> {
    reader: R,
    events: EventStream,
    began: Instant,
    /// Time to the first piece of the answer.
    first: Option<Duration>,
}

impl<R> StreamedReply<R> {
    /// Creates a reader for a request that was sent at `began`.
    pub(super) fn new(reader: R, began: Instant) -> Box<StreamedReply<R>> {
        Box::new(StreamedReply { reader, events: EventStream::default(), began, first: None })
    }
}

impl<R: ReplyReader> BodyReader<R> {
    pub(super) fn new(streamed: Option<Box<StreamedReply<R>>>, is_kept: bool, most: usize) -> BodyReader<R> {
        BodyReader { streamed, bytes: BytesMut::new(), chunk: Bytes::new(), is_kept, length: 0, most }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Adds a chunk. Returns true if the answer is now complete.
    pub(super) fn push(&mut self, chunk: Bytes) -> Result<bool, HttpFailure> {
        self.length = self.length.saturating_add(chunk.len());
        if self.length > self.most {
            let message = format!(
                "the answer is longer than {} MiB; raise `max_response_mib`, or request fewer tokens",
                self.most >> 20
            );
            return Err(HttpFailure::lasting(BackendErrorKind::Protocol, message));
        }
        if let Some(streamed) = &mut self.streamed {
            let StreamedReply { reader, events, began, first } = &mut **streamed;
            let max_values = R::max_values(self.most);
            let event = |data: &str| {
                if !reader.is_complete() && read_event(reader, data, max_values)? {
                    first.get_or_insert_with(|| now().saturating_duration_since(*began));
                }
                Ok(())
            };
            let fed = events.feed(&chunk, event, HttpFailure::protocol);
            let is_complete = reader.is_complete();
            // What follows the answer does not count, even if it arrives together with the end of the answer.
            if !is_complete {
                fed?;
            }
            if self.is_kept {
                self.bytes.extend_from_slice(&chunk);
            }
            return Ok(is_complete);
        }
        if self.length == chunk.len() {
            // Most answers are a single chunk, which need not be copied.
            self.chunk = chunk;
        } else {
            if self.bytes.is_empty() {
                self.bytes.extend_from_slice(&std::mem::take(&mut self.chunk));
            }
            self.bytes.extend_from_slice(&chunk);
        }
        Ok(false)
    }

    /// Returns the answer. `whole` creates the reader for an answer that arrived as a whole.
    pub(super) fn finish(self, whole: impl FnOnce() -> R) -> ReadBody<R::Output> {
        let body = if self.chunk.is_empty() { self.bytes.freeze() } else { self.chunk };
        let max_values = R::max_values(self.most);
        let mut id = None;
        let Some(streamed) = self.streamed else {
            let counted = check_values(&body, max_values);
            let result = counted.and_then(|()| whole().read_body(&body, &mut id));
            return ReadBody { result, id, first: None, body };
        };
        let StreamedReply { mut reader, mut events, first, .. } = *streamed;
        let is_complete = reader.is_complete();
        let rest = events.finish(|data| match is_complete {
            true => Ok(()),
            false => read_event(&mut reader, data, max_values).map(|_| ()),
        });
        let result = rest.and_then(|()| reader.finish(&mut id));
        ReadBody { result, id, first, body }
    }
}

/// An answer that was read to its end.
pub(super) struct ReadBody<T> {
    pub(super) result: Result<T, HttpFailure>,
    pub(super) id: Option<AnswerId>,
    /// Time to the first piece of a stream.
    pub(super) first: Option<Duration>,
    /// Body, if it arrived as a whole or was to be kept.
    pub(super) body: Bytes,
}

/// Reads an event, and limits the JSON values in it and in all that the reader keeps.
fn read_event<R: ReplyReader>(reader: &mut R, data: &str, max_values: usize) -> Result<bool, HttpFailure> {
    check_values(data.as_bytes(), max_values)?;
    let has_piece = reader.on_event(data)?;
    match reader.kept_values() > max_values {
        true => Err(too_many_values(max_values)),
        false => Ok(has_piece),
    }
}

/// Limits the number of JSON values, because a value can take 150 times as much memory as its text.
fn check_values(json: &[u8], max_values: usize) -> Result<(), HttpFailure> {
    let json = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json);
    if has_more_values(json, max_values) { Err(too_many_values(max_values)) } else { Ok(()) }
}

fn too_many_values(most: usize) -> HttpFailure {
    let message = format!(
        "the answer has more than {most} JSON values; raise `max_response_mib`, or request fewer log-probabilities"
    );
    HttpFailure::lasting(BackendErrorKind::Protocol, message)
}

/// Parses a body as JSON. The caller limits the number of its values.
pub(crate) fn json_of(body: &[u8]) -> Result<Value, HttpFailure> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let value: Value = serde_json::from_slice(body).map_err(|error| unreadable(body, &error))?;
    if gage_core::json_depth(&value) > MAX_JSON_DEPTH {
        return Err(nested());
    }
    Ok(value)
}

/// Parses a body into a type that keeps only what it needs.
pub(crate) fn typed_json_of<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, HttpFailure> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    if is_nested_deeper(body, MAX_JSON_DEPTH) {
        return Err(nested());
    }
    serde_json::from_slice(body).map_err(|error| unreadable(body, &error))
}

/// Creates the failure for a body that cannot be parsed.
fn unreadable(body: &[u8], error: &serde_json::Error) -> HttpFailure {
    if error.to_string().starts_with("recursion limit") {
        return nested();
    }
    let text = String::from_utf8_lossy(body);
    let start = text.trim_start();
    let what = if start.is_empty() {
        "the answer is empty".to_owned()
    } else if start.starts_with('<') {
        "the answer is a page in HTML, not JSON: is `base_url` right?".to_owned()
    } else if std::str::from_utf8(body).is_err() {
        "the answer is not UTF-8".to_owned()
    } else if error.is_data() {
        format!("the answer does not have the expected form ({error})")
    } else {
        format!("the answer is not JSON ({error})")
    };
    HttpFailure::protocol(if start.is_empty() { what } else { format!("{what}: {}", shown(start)) })
}

fn nested() -> HttpFailure {
    let message = format!("the answer is nested deeper than {MAX_JSON_DEPTH} levels");
    HttpFailure::lasting(BackendErrorKind::Protocol, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that keeps as many values as its events have bytes.
    struct KeepingReader(usize);

    impl ReplyReader for KeepingReader {
        type Output = usize;

        fn max_values(_: usize) -> usize {
            10
        }

        fn read_body(self, body: &[u8], _: &mut Option<AnswerId>) -> Result<usize, HttpFailure> {
            Ok(body.len())
        }

        fn on_event(&mut self, data: &str) -> Result<bool, HttpFailure> {
            self.0 += data.len();
            Ok(true)
        }

        fn kept_values(&self) -> usize {
            self.0
        }

        fn finish(self, _: &mut Option<AnswerId>) -> Result<usize, HttpFailure> {
            Ok(self.0)
        }
    }

    fn read(text: &str, is_stream: bool) -> Result<usize, String> {
        let streamed = is_stream.then(|| StreamedReply::new(KeepingReader(0), now()));
        let mut body = BodyReader::new(streamed, false, 1 << 20);
        body.push(Bytes::from(text.to_owned())).map_err(|failure| failure.message)?;
        body.finish(|| KeepingReader(0)).result.map_err(|failure| failure.message)
    }

    #[test]
    fn values_of_an_answer_are_limited() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
        let is_refused = |result: Result<usize, String>| {
            result.is_err_and(|message| message.contains("more than 10 JSON values"))
        };
        assert_eq!(read(&list(10), false), Ok(19));
        assert!(is_refused(read(&list(11), false)));
        assert!(is_refused(read(&format!("\u{feff}{}", list(11)), false)));
        assert_eq!(read(&"0,".repeat(20), false), Ok(40), "it is neither a list nor an object");
        // Each event keeps three values.
        assert_eq!(read(&"data: abc\n\n".repeat(3), true), Ok(9));
        assert!(is_refused(read(&"data: abc\n\n".repeat(4), true)));
        assert!(
            is_refused(read(&("data: ab\n\n".repeat(5) + "data: c\n"), true)),
            "the last event ends the stream"
        );
        assert!(is_refused(read(&format!("data: {}\n\n", list(11)), true)));
    }
}
