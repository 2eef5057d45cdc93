//! Embeddings of texts.

use crate::api::EmbedOutput;
use crate::conversation::token_count_from_json;
use crate::http::{AnswerId, HttpFailure, ReplyReader, json_of};
use gage_core::{Object, Usage};
use serde_json::{Value, json};

pub(super) fn body_of(model: &str, texts: Vec<String>) -> Object {
    Object::from_iter([
        ("model".to_owned(), model.into()),
        ("input".to_owned(), json!(texts)),
        ("encoding_format".to_owned(), "float".into()),
    ])
}

/// Parser that expects this number of vectors.
pub(super) struct EmbeddingReader(pub(super) usize);

impl ReplyReader for EmbeddingReader {
    type Output = EmbedOutput;

    fn read_body(self, body: &[u8], id: &mut Option<AnswerId>) -> Result<EmbedOutput, HttpFailure> {
        let reply = json_of(body)?;
        *id = reply.get("id").and_then(Value::as_str).and_then(AnswerId::of);
        let data = reply.get("data").and_then(Value::as_array);
        let data = data.ok_or_else(|| HttpFailure::protocol("the answer has no `data`"))?;
        let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); self.0];
        for (position, item) in data.iter().enumerate() {
            let index =
                item.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
            let numbers = item.get("embedding").and_then(Value::as_array);
            let vector: Option<Vec<f32>> = numbers.and_then(|numbers| {
                numbers.iter().map(|number| number.as_f64().map(|one| one as f32)).collect()
            });
            if let (Some(place), Some(vector)) = (vectors.get_mut(index.unwrap_or(position)), vector) {
                *place = vector;
            }
        }
        let length = vectors.first().map_or(0, Vec::len);
        if length == 0 || vectors.iter().any(|vector| vector.len() != length) {
            let message = format!("the answer does not have {} vectors of equal length", self.0);
            return Err(HttpFailure::protocol(message));
        }
        let tokens = reply.pointer("/usage/prompt_tokens").and_then(token_count_from_json);
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
