//! Parser of replies, whole or streamed as events.

use crate::conversation::{call_value, token_count_from_json};
use crate::http::{AnswerId, HttpFailure, ReplyReader, json_of};
use gage_core::{DEFAULT_MAX_JSON_VALUES, FinishReason, ModelOutput, Usage, count_json_values, parse_json};
use serde_json::{Value, json};

/// Maximum number of blocks in one answer.
const MAX_CONTENT_BLOCKS: usize = 4096;

/// Parser of a message.
#[derive(Default)]
pub(super) struct MessageReader {
    blocks: Vec<Block>,
    /// Number of JSON values in the inputs of the blocks of a stream.
    input_values: usize,
    stop_reason: Option<String>,
    usage: Usage,
    id: Option<AnswerId>,
    has_begun: bool,
    is_complete: bool,
}

#[derive(Default)]
struct Block {
    kind: String,
    text: String,
    id: String,
    name: String,
    /// Arguments of a call, received whole or as pieces of JSON.
    input: Value,
    pieces: String,
}

impl Block {
    fn of(value: &Value) -> Block {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = text("type");
        let content = if kind == "thinking" { text("thinking") } else { text("text") };
        Block {
            text: content,
            id: text("id"),
            name: text("name"),
            input: value.get("input").cloned().unwrap_or_else(|| json!({})),
            pieces: String::new(),
            kind,
        }
    }
}

impl MessageReader {
    fn read_usage(&mut self, usage: Option<&Value>) {
        let count = |key: &str| usage.and_then(|usage| usage.get(key)).and_then(token_count_from_json);
        if let Some(input) = count("input_tokens") {
            let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
            let cached = cached.into_iter().filter_map(count).fold(0, u64::saturating_add);
            self.usage.prompt_tokens = input.saturating_add(cached);
        }
        if let Some(output) = count("output_tokens") {
            self.usage.completion_tokens = output;
        }
    }

    fn output(self) -> Result<ModelOutput, HttpFailure> {
        let finish = match self.stop_reason.as_deref() {
            Some("end_turn" | "stop_sequence") | None => FinishReason::Stop,
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("tool_use") => FinishReason::ToolCalls,
            Some("refusal") => FinishReason::ContentFilter,
            Some(_) => FinishReason::Other,
        };
        let of_kind = |kind: &str| -> String {
            self.blocks.iter().filter(|block| block.kind == kind).map(|block| block.text.as_str()).collect()
        };
        let mut output = ModelOutput::generated(of_kind("text"), finish, Some(self.usage));
        let thinking = of_kind("thinking");
        if !thinking.is_empty() {
            output.extra.insert("reasoning".to_owned(), thinking.into());
        }
        let mut calls = Vec::new();
        for block in self.blocks.iter().filter(|block| block.kind == "tool_use") {
            let input = if block.pieces.is_empty() {
                block.input.clone()
            } else {
                parse_json(block.pieces.as_bytes(), DEFAULT_MAX_JSON_VALUES).map_err(|error| {
                    HttpFailure::protocol(format!("the arguments of `{}` are not JSON: {error}", block.name))
                })?
            };
            calls.push(call_value(&block.id, &block.name, &input));
        }
        if !calls.is_empty() {
            output.extra.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        Ok(output)
    }
}

impl ReplyReader for MessageReader {
    type Output = ModelOutput;

    fn read_body(mut self, body: &[u8], id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        let reply = json_of(body)?;
        HttpFailure::check("the answer is an error", &reply)?;
        *id = reply.get("id").and_then(Value::as_str).and_then(AnswerId::of);
        let content = reply.get("content").and_then(Value::as_array);
        let content = content.ok_or_else(|| HttpFailure::protocol("the answer has no `content`"))?;
        self.blocks = content.iter().map(Block::of).collect();
        self.stop_reason = reply.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.read_usage(reply.get("usage"));
        self.output()
    }

    fn on_event(&mut self, data: &str) -> Result<bool, HttpFailure> {
        let event = json_of(data.as_bytes())?;
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                let id = event.pointer("/message/id").and_then(Value::as_str).and_then(AnswerId::of);
                if std::mem::replace(&mut self.has_begun, true) && id != self.id {
                    return Err(HttpFailure::mixed_stream());
                }
                self.id = id;
                self.read_usage(event.pointer("/message/usage"));
            }
            "content_block_start" => {
                if self.blocks.len() >= MAX_CONTENT_BLOCKS {
                    return Err(HttpFailure::protocol(format!(
                        "the answer has more than {MAX_CONTENT_BLOCKS} blocks"
                    )));
                }
                let block = event.get("content_block").map(Block::of).unwrap_or_default();
                self.input_values += count_json_values(&block.input);
                self.blocks.push(block);
            }
            "content_block_delta" => {
                let Some(block) = self.blocks.last_mut() else {
                    return Err(HttpFailure::protocol("a piece of the answer belongs to no block"));
                };
                let piece = |key: &str| event.get("delta").and_then(|delta| delta.get(key)?.as_str());
                if let Some(text) = piece("text").or_else(|| piece("thinking")) {
                    block.text.push_str(text);
                    return Ok(!text.is_empty());
                }
                if let Some(json) = piece("partial_json") {
                    block.pieces.push_str(json);
                    return Ok(!json.is_empty());
                }
            }
            "message_delta" => {
                if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.read_usage(event.get("usage"));
            }
            "error" => {
                return Err(HttpFailure::instead_of_answer("the stream ended with an error", &event));
            }
            "message_stop" => self.is_complete = true,
            // `ping`, `content_block_stop`, and future events.
            _ => {}
        }
        Ok(false)
    }

    fn kept_values(&self) -> usize {
        self.input_values
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn finish(self, id: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        *id = self.id;
        if !self.has_begun || self.stop_reason.is_none() {
            return Err(HttpFailure::protocol("the stream ended before the answer did"));
        }
        self.output()
    }
}
