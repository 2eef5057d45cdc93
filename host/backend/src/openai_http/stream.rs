//! Assembles a streamed answer.

use super::reply::{self, Reply, add_served, finish_of, logprobs_of, usage_of};
use crate::http::{AnswerId, HttpFailure, MAX_TOOL_CALLS, PieceIds, ReplyReader, json_of};
use crate::reply_media::{MEDIA_PART_VALUES, base64_part, media_parts_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gage_core::{ModelOutput, Object, count_json_values};
use serde_json::{Value, json};

/// Parser of a chat completions or completions stream.
#[derive(Default)]
pub(super) struct ChatReader {
    think_tags: bool,
    content: String,
    reasoning: String,
    refusal: String,
    calls: Vec<Object>,
    media: Vec<Value>,
    /// Decoded pieces of an audio reply, and its transcript.
    audio: Vec<u8>,
    transcript: String,
    logprobs: Vec<Value>,
    /// Number of JSON values in `logprobs`.
    logprobs_values: usize,
    finish: Option<String>,
    usage: Value,
    model: Option<String>,
    fingerprint: Option<String>,
    has_choice: bool,
    is_done: bool,
    ids: PieceIds,
}

impl ChatReader {
    pub(super) fn new(think_tags: bool) -> ChatReader {
        ChatReader { think_tags, ..ChatReader::default() }
    }

    /// Adds the media of a piece, and the texts of a list of parts. Returns true if there were any.
    fn add_media(&mut self, delta: &Value) -> Result<bool, HttpFailure> {
        let before = self.media.len();
        for key in ["content", "images"] {
            self.media.extend(delta.get(key).map(media_parts_of).unwrap_or_default());
        }
        let mut has_piece = self.media.len() > before;
        for part in delta.get("content").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                self.content.push_str(text);
                has_piece = true;
            }
        }
        let Some(audio) = delta.get("audio") else { return Ok(has_piece) };
        if let Some(text) = audio.get("transcript").and_then(Value::as_str) {
            self.transcript.push_str(text);
        }
        if let Some(data) = audio.get("data").and_then(Value::as_str) {
            // Each piece is encoded by itself.
            let bytes = STANDARD.decode(data).map_err(|error| {
                HttpFailure::protocol(format!("the audio of the answer is not base64: {error}"))
            })?;
            self.audio.extend(bytes);
        }
        Ok(true)
    }

    fn add_call(&mut self, piece: &Value) -> Result<(), HttpFailure> {
        let index = piece.get("index").and_then(Value::as_u64).unwrap_or(self.calls.len() as u64);
        let index = usize::try_from(index).ok().filter(|index| *index < MAX_TOOL_CALLS);
        let Some(index) = index else {
            return Err(HttpFailure::too_many_calls());
        };
        if self.calls.len() <= index {
            self.calls.resize_with(index + 1, || {
                Object::from_iter([
                    ("type".to_owned(), json!("function")),
                    ("function".to_owned(), json!({"name": "", "arguments": ""})),
                ])
            });
        }
        let Some(call) = self.calls.get_mut(index) else { return Ok(()) };
        if let Some(id) = piece.get("id").filter(|id| id.is_string()) {
            call.insert("id".to_owned(), id.clone());
        }
        for key in ["name", "arguments"] {
            let more = piece.get("function").and_then(|function| function.get(key)).and_then(Value::as_str);
            let whole = call.get_mut("function").and_then(|function| function.get_mut(key));
            if let (Some(more), Some(Value::String(whole))) = (more, whole) {
                whole.push_str(more);
            }
        }
        Ok(())
    }
}

impl ReplyReader for ChatReader {
    type Output = ModelOutput;

    fn read_body(self, body: &[u8], id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        reply::read_body(body, self.think_tags, id)
    }

    fn on_event(&mut self, data: &str) -> Result<bool, HttpFailure> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(false);
        }
        let event = json_of(data.as_bytes())?;
        HttpFailure::check("the stream ended with an error", &event)?;
        self.ids.add(event.get("id").and_then(Value::as_str).and_then(AnswerId::of));
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            self.usage = usage.clone();
        }
        for (key, served) in [("model", &mut self.model), ("system_fingerprint", &mut self.fingerprint)] {
            if served.is_none() {
                *served = event.get(key).and_then(Value::as_str).map(str::to_owned);
            }
        }
        // If several answers were requested, the first one counts.
        let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let choices = event.get("choices").and_then(Value::as_array);
        let Some(choice) = choices.and_then(|choices| choices.iter().find(is_first)) else {
            return Ok(false);
        };
        self.has_choice = true;
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        if let Some(Value::Array(tokens)) = choice.pointer("/logprobs/content") {
            self.logprobs_values += tokens.iter().map(count_json_values).sum::<usize>();
            self.logprobs.extend(tokens.iter().cloned());
        }
        let delta = choice.get("delta").unwrap_or(choice);
        let text = |keys: &[&str]| {
            keys.iter().find_map(|key| delta.get(key)?.as_str()).filter(|text| !text.is_empty())
        };
        let mut has_piece = false;
        let pieces = [
            (text(&["content", "text"]), &mut self.content),
            (text(&["reasoning_content", "reasoning"]), &mut self.reasoning),
            (text(&["refusal"]), &mut self.refusal),
        ];
        for (piece, whole) in pieces {
            if let Some(piece) = piece {
                whole.push_str(piece);
                has_piece = true;
            }
        }
        has_piece |= self.add_media(delta)?;
        if let Some(Value::Array(calls)) = delta.get("tool_calls") {
            for call in calls {
                self.add_call(call)?;
                has_piece = true;
            }
        }
        Ok(has_piece)
    }

    fn kept_values(&self) -> usize {
        self.logprobs_values + self.media.len() * MEDIA_PART_VALUES
    }

    fn is_complete(&self) -> bool {
        self.is_done
    }

    fn finish(self, id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        if self.finish.is_none() && !self.is_done {
            return Err(HttpFailure::protocol("the stream ended before the answer did"));
        }
        if !self.has_choice {
            return Err(HttpFailure::protocol("the stream has no choices"));
        }
        *id = self.ids.answer_id()?;
        let text = |text: String| Some(text).filter(|text| !text.is_empty());
        let calls: Vec<Value> = self.calls.into_iter().map(Value::Object).collect();
        let mut media = self.media;
        if !self.audio.is_empty() {
            media.push(base64_part("audio/*", &STANDARD.encode(&self.audio)));
        }
        let reply = Reply {
            content: if self.content.is_empty() { self.transcript } else { self.content },
            media,
            reasoning: text(self.reasoning).map(Value::from),
            refusal: text(self.refusal),
            tool_calls: (!calls.is_empty()).then(|| calls.into()),
            finish: finish_of(self.finish.as_deref()),
            logprobs: (!self.logprobs.is_empty())
                .then(|| logprobs_of(json!({"content": self.logprobs})))
                .flatten(),
            usage: usage_of(|key| self.usage.get(key)?.as_u64()),
        };
        let mut output = reply.into_output(self.think_tags);
        add_served(&mut output, self.model.as_deref(), self.fingerprint.as_deref());
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stream_keeps_is_counted() {
        let mut reader = ChatReader::new(false);
        let part = json!({"type": "image_url", "image_url": "data:image/png;base64,AA=="});
        let token = json!({"token": "a", "logprob": -0.5, "bytes": [97]});
        let event = json!({"id": "x", "choices": [{
            "delta": {"content": "a", "images": [part]},
            "logprobs": {"content": [token]},
        }]});
        for events in 1..4 {
            reader.on_event(&event.to_string()).expect("an event");
            assert_eq!(reader.kept_values(), events * (5 + MEDIA_PART_VALUES));
        }
    }
}
