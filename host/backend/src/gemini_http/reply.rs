//! Parser of replies, whole or streamed as events. Each event has the shape of a whole answer.

use crate::conversation::{call_value, put_known, token_count_from_json};
use crate::http::{AnswerId, HttpFailure, MAX_TOOL_CALLS, PieceIds, ReplyReader, json_of};
use crate::reply_media::{MEDIA_PART_VALUES, base64_part};
use gage_core::{FinishReason, ModelOutput, Usage};
use serde_json::{Value, json};

/// Parser of an answer.
#[derive(Default)]
pub(super) struct ContentReader {
    answer: String,
    thoughts: String,
    calls: Vec<Value>,
    media: Vec<Value>,
    finish: Option<String>,
    blocked: Option<String>,
    usage: Option<Usage>,
    has_candidate: bool,
    ids: PieceIds,
}

impl ContentReader {
    /// Adds a whole answer or a piece of one. Returns true if it contained text.
    fn add(&mut self, reply: &Value) -> Result<bool, HttpFailure> {
        HttpFailure::check("the answer is an error", reply)?;
        let count = |key: &str| reply.get("usageMetadata")?.get(key).and_then(token_count_from_json);
        if let Some(prompt_tokens) = count("promptTokenCount") {
            let thought = count("thoughtsTokenCount").unwrap_or(0);
            let completion_tokens = count("candidatesTokenCount").unwrap_or(0).saturating_add(thought);
            self.usage = Some(Usage { prompt_tokens, completion_tokens });
        }
        self.ids.add(reply.get("responseId").and_then(Value::as_str).and_then(AnswerId::of));
        if let Some(reason) = reply.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            self.blocked = Some(reason.to_owned());
        }
        let Some(candidate) = reply.pointer("/candidates/0") else { return Ok(false) };
        self.has_candidate = true;
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.finish = Some(reason.to_owned());
        }
        let mut has_piece = false;
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
                let whole = if is_thought { &mut self.thoughts } else { &mut self.answer };
                whole.push_str(text);
                has_piece |= !text.is_empty();
            }
            if let Some(inline) = part.get("inlineData") {
                let text = |key: &str| inline.get(key).and_then(Value::as_str).unwrap_or_default();
                self.media.push(base64_part(text("mimeType"), text("data")));
                has_piece = true;
            }
            if let Some(call) = part.get("functionCall") {
                if self.calls.len() >= MAX_TOOL_CALLS {
                    return Err(HttpFailure::too_many_calls());
                }
                let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
                let given = call.get("id").and_then(Value::as_str).map(str::to_owned);
                let id = given.unwrap_or_else(|| format!("call_{}", self.calls.len()));
                let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
                self.calls.push(call_value(&id, name, &arguments));
                has_piece = true;
            }
        }
        Ok(has_piece)
    }

    fn output(self) -> Result<ModelOutput, HttpFailure> {
        if !self.has_candidate && self.blocked.is_none() {
            return Err(HttpFailure::protocol("the answer has no candidates"));
        }
        let finish = match (&self.blocked, self.finish.as_deref()) {
            (Some(_), _) => FinishReason::ContentFilter,
            (None, Some("STOP")) if !self.calls.is_empty() => FinishReason::ToolCalls,
            (None, Some("STOP") | None) => FinishReason::Stop,
            (None, Some("MAX_TOKENS")) => FinishReason::Length,
            (
                None,
                Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY"),
            ) => FinishReason::ContentFilter,
            (None, Some(_)) => FinishReason::Other,
        };
        let mut output = ModelOutput::generated(self.answer, finish, self.usage);
        let refusal = (finish == FinishReason::ContentFilter).then(|| self.blocked.or(self.finish)).flatten();
        let further = [
            ("reasoning", (!self.thoughts.is_empty()).then(|| self.thoughts.into())),
            ("tool_calls", (!self.calls.is_empty()).then_some(Value::Array(self.calls))),
            ("refusal", refusal.map(Value::from)),
            (ModelOutput::MEDIA_KEY, (!self.media.is_empty()).then(|| self.media.into())),
        ];
        put_known(&mut output.extra, further);
        Ok(output)
    }
}

impl ReplyReader for ContentReader {
    type Output = ModelOutput;

    fn read_body(mut self, body: &[u8], id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        self.add(&json_of(body)?)?;
        *id = self.ids.answer_id()?;
        self.output()
    }

    fn on_event(&mut self, data: &str) -> Result<bool, HttpFailure> {
        self.add(&json_of(data.as_bytes())?)
    }

    fn kept_values(&self) -> usize {
        self.media.len() * MEDIA_PART_VALUES
    }

    fn finish(self, id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        *id = self.ids.answer_id()?;
        if self.finish.is_none() && self.blocked.is_none() {
            return Err(HttpFailure::protocol("the stream ended before the answer did"));
        }
        self.output()
    }
}
