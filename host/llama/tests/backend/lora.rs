//! A LoRA adapter for the tiny model, written by this test.

use crate::support::{loglikelihood, open_file, texts, tiny, tiny_file};
use gage_backend::EmbedRequest;
use std::path::Path;

/// Length of the tiny model's vectors.
const WIDTH: u64 = 128;

const RANK: u64 = 2;

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

/// Writes an adapter of one matrix of the first layer.
fn write_adapter(file: &Path) {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend(2_u64.to_le_bytes());
    bytes.extend(4_u64.to_le_bytes());
    for (key, value) in
        [("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")]
    {
        text(&mut bytes, key);
        bytes.extend(8_u32.to_le_bytes());
        text(&mut bytes, value);
    }
    text(&mut bytes, "adapter.lora.alpha");
    bytes.extend(6_u32.to_le_bytes());
    bytes.extend(2_f32.to_le_bytes());
    let numbers = usize::try_from(WIDTH * RANK).expect("small");
    for (name, shape, offset) in
        [("lora_a", [WIDTH, RANK], 0_u64), ("lora_b", [RANK, WIDTH], 4 * WIDTH * RANK)]
    {
        text(&mut bytes, &format!("blk.0.attn_q.weight.{name}"));
        bytes.extend(2_u32.to_le_bytes());
        shape.iter().for_each(|side| bytes.extend(side.to_le_bytes()));
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    for index in 0..2 * numbers {
        let number = ((index * 37 % 101) as f32 - 50.0) / 100.0;
        bytes.extend(number.to_le_bytes());
    }
    std::fs::write(file, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_counts_as_strongly_as_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("adapter.gguf");
    write_adapter(&file);
    let options = texts(&["Rome", "Paris"]);
    let mut found = Vec::new();
    for settings in [
        String::new(),
        format!(", lora: {{path: '{}', scale: 0}}", file.display()),
        format!(", lora: {{path: '{}'}}", file.display()),
    ] {
        let settings = format!(", deterministic: true{settings}");
        let backend = open_file(&tiny_file(), &settings).await.unwrap_or_else(|errors| panic!("{errors:?}"));
        let scores = loglikelihood(backend.as_ref(), "What is the capital of France?", &options).await.scores;
        found.push(scores[1].logprob);
    }
    assert_eq!(found[0].to_bits(), found[1].to_bits(), "it does not count");
    assert!((found[0] - found[2]).abs() > 1e-3, "{found:?}");
    let plain = tiny("").await;
    assert!(plain.info().details.get("lora").is_none());
}

/// Embeddings depend on the adapter too.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_are_made_with_the_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("adapter.gguf");
    write_adapter(&file);
    let mut found = Vec::new();
    for settings in [
        String::new(),
        format!(", lora: {{path: '{}', scale: 0}}", file.display()),
        format!(", lora: {{path: '{}'}}", file.display()),
    ] {
        let backend = open_file(&tiny_file(), &settings).await.unwrap_or_else(|errors| panic!("{errors:?}"));
        let request =
            EmbedRequest { id: "text".to_owned(), texts: texts(&["What is the capital of France?"]) };
        found.push(backend.embed(request).await.expect("a vector").output.vectors.remove(0));
    }
    assert_eq!(found[0], found[1], "it does not count");
    assert_ne!(found[0], found[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_of_another_model_is_told_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("adapter.gguf");
    write_adapter(&file);
    // The name of a matrix that the model does not have.
    let bytes = std::fs::read(&file).expect("written");
    let from = b"blk.0.attn_q.weight.lora";
    let to = b"blk.9.attn_q.weight.lora";
    let mut changed = bytes.clone();
    for start in 0..bytes.len() - from.len() {
        if bytes[start..].starts_with(from) {
            changed[start..start + to.len()].copy_from_slice(to);
        }
    }
    std::fs::write(&file, changed).expect("written");
    let refused = open_file(&tiny_file(), &format!(", lora: {{path: '{}'}}", file.display())).await;
    let errors = refused.err().map(|errors| format!("{errors:?}")).expect("refused");
    for part in ["blk.9.attn_q.weight", "does not exist in base model", "`lora`", "gage-tiny.gguf"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}
