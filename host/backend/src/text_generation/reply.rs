//! Parser of replies, whole or streamed as events.

use crate::conversation::token_count_from_json;
use crate::http::{AnswerId, HttpFailure, ReplyReader, json_of};
use gage_core::{FinishReason, ModelOutput, Usage};
use serde_json::Value;

/// Parser of an answer.
pub(super) struct TextReader<'s> {
    stop: &'s [String],
    /// Last event, which has the shape of a whole answer.
    last: Option<Value>,
}

impl TextReader<'_> {
    pub(super) fn new(stop: &[String]) -> TextReader<'_> {
        TextReader { stop, last: None }
    }

    fn read(&self, reply: &Value) -> Result<ModelOutput, HttpFailure> {
        // Endpoints answer with a list of one element.
        let reply = reply.get(0).unwrap_or(reply);
        HttpFailure::check("the answer is an error", reply)?;
        let text = reply.get("generated_text").and_then(Value::as_str);
        let text = text.ok_or_else(|| HttpFailure::protocol("the answer has no `generated_text`"))?;
        let details = reply.get("details");
        let finish = match details.and_then(|details| details.get("finish_reason")).and_then(Value::as_str) {
            Some("length") => FinishReason::Length,
            Some("eos_token" | "stop_sequence") | None => FinishReason::Stop,
            Some(_) => FinishReason::Other,
        };
        let number = |key: &str| details.and_then(|details| details.get(key)).and_then(token_count_from_json);
        let usage = number("generated_tokens").map(|completion_tokens| Usage {
            prompt_tokens: details
                .and_then(|details| details.get("prefill")?.as_array())
                .map_or(0, |prefill| prefill.len() as u64),
            completion_tokens,
        });
        // These servers leave the stop text at the end of the answer.
        let answer = self.stop.iter().find_map(|stop| text.strip_suffix(stop.as_str())).unwrap_or(text);
        Ok(ModelOutput::generated(answer.to_owned(), finish, usage))
    }
}

impl ReplyReader for TextReader<'_> {
    type Output = ModelOutput;

    fn read_body(self, body: &[u8], _: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        self.read(&json_of(body)?)
    }

    fn on_event(&mut self, data: &str) -> Result<bool, HttpFailure> {
        let event = json_of(data.as_bytes())?;
        HttpFailure::check("the stream ended with an error", &event)?;
        let is_piece =
            event.pointer("/token/text").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if event.get("generated_text").is_some_and(Value::is_string) {
            self.last = Some(event);
        }
        Ok(is_piece)
    }

    fn is_complete(&self) -> bool {
        self.last.is_some()
    }

    fn finish(self, _: &mut Option<AnswerId>) -> Result<ModelOutput, HttpFailure> {
        match &self.last {
            Some(last) => self.read(last),
            None => Err(HttpFailure::protocol("the stream ended before the answer did")),
        }
    }
}
