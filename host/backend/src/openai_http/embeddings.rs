//! Embeddings of texts.

use super::lenient::ScalarValue;
use crate::api::EmbedOutput;
use crate::conversation::checked_token_count;
use crate::http::{AnswerId, HttpFailure, ReplyReader, typed_json_of};
use gage_core::{Object, Usage};
use serde::{Deserialize, Deserializer};
use serde_json::json;

pub(super) fn body_of(model: &str, texts: Vec<String>) -> Object {
    Object::from_iter([
        ("model".to_owned(), model.into()),
        ("input".to_owned(), json!(texts)),
        ("encoding_format".to_owned(), "float".into()),
    ])
}

/// An answer in the server's format. Fields that are not read take no memory.
#[derive(Deserialize)]
struct EmbeddingReply<'b> {
    #[serde(borrow, default)]
    id: ScalarValue<'b>,
    #[serde(default)]
    data: Option<Vec<EmbeddingItem>>,
    #[serde(default)]
    usage: Option<EmbeddingUsage>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    #[serde(default, deserialize_with = "whole_number")]
    index: Option<u64>,
    #[serde(default)]
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbeddingUsage {
    #[serde(default, deserialize_with = "whole_number")]
    prompt_tokens: Option<u64>,
}

/// Returns a whole number; anything else counts as missing.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    ScalarValue::deserialize(deserializer).map(|value| value.as_u64())
}

/// Parser that expects this number of vectors.
pub(super) struct EmbeddingReader(pub(super) usize);

impl ReplyReader for EmbeddingReader {
    type Output = EmbedOutput;

    /// No tree is built: a number takes four bytes, and an item at most 40.
    fn max_values(max_bytes: usize) -> usize {
        max_bytes / 8
    }

    fn read_body(self, body: &[u8], id: &mut Option<AnswerId>) -> Result<EmbedOutput, HttpFailure> {
        let reply: EmbeddingReply<'_> = typed_json_of(body)?;
        *id = reply.id.as_str().and_then(AnswerId::of);
        let data = reply.data.ok_or_else(|| HttpFailure::protocol("the answer has no `data`"))?;
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); self.0];
        for (position, EmbeddingItem { index, embedding }) in data.into_iter().enumerate() {
            let index = index.and_then(|index| usize::try_from(index).ok());
            if let Some(place) = vectors.get_mut(index.unwrap_or(position)) {
                *place = embedding;
            }
        }
        let length = vectors.first().map_or(0, Vec::len);
        if length == 0 || vectors.iter().any(|vector| vector.len() != length) {
            let message = format!("the answer does not have {} vectors of equal length", self.0);
            return Err(HttpFailure::protocol(message));
        }
        let tokens = reply.usage.and_then(|usage| usage.prompt_tokens).and_then(checked_token_count);
        let usage = tokens.map(|prompt_tokens| Usage { prompt_tokens, completion_tokens: 0 });
        Ok(EmbedOutput { vectors, usage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_their_texts_and_all_of_them() {
        let item = |index: u64, first: f64| json!({"index": index, "embedding": [first, 0.5]});
        for (data, expected) in [
            (json!([item(1, 2.0), item(0, 1.0)]), Some(vec![vec![1.0, 0.5], vec![2.0, 0.5]])),
            (json!([item(0, 1.0)]), None),
            (json!([item(0, 1.0), {"index": 1, "embedding": [1.0]}]), None),
            (json!([item(0, 1.0), {"index": 1, "embedding": ["x", 1.0]}]), None),
            (json!(null), None),
        ] {
            let body = json!({"data": data, "usage": {"prompt_tokens": 3}}).to_string();
            let found =
                EmbeddingReader(2).read_body(body.as_bytes(), &mut None).ok().map(|output| output.vectors);
            assert_eq!(found, expected, "{body}");
        }
    }
}
