//! Files that are not models, truncated, or useless: each error says what to do.

use crate::support::{open_file, tiny, tiny_file, try_generate};
use gage_core::SamplingParams;
use std::path::{Path, PathBuf};

/// Writes a copy of the tiny model with some bytes changed.
fn changed(folder: &Path, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(tiny_file()).expect("the model");
    change(&mut bytes);
    let file = folder.join("broken.gguf");
    std::fs::write(&file, &bytes).expect("written");
    file
}

/// Replaces a byte string with another of the same length.
fn replace(bytes: &mut [u8], sought: &[u8], by: &[u8]) {
    assert_eq!(sought.len(), by.len());
    let at = bytes.windows(sought.len()).position(|window| window == sought).expect("it is there");
    bytes[at..at + by.len()].copy_from_slice(by);
}

async fn refused(file: &Path, settings: &str) -> String {
    match open_file(file, settings).await {
        Ok(_) => panic!("{} was opened", file.display()),
        Err(errors) => errors[0].message.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_file_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let missing = refused(&path.join("missing.gguf"), "").await;
    assert!(missing.contains("cannot read the model file"), "{missing}");

    let file = changed(path, |bytes| bytes.truncate(500_000));
    let message = refused(&file, "").await;
    assert!(
        message.contains("is cut off: it has 500000 bytes") && message.contains("fetch or copy it again"),
        "{message}"
    );

    let file = changed(path, |bytes| bytes[..4].copy_from_slice(b"PK\x03\x04"));
    let message = refused(&file, "").await;
    assert!(message.contains("is not in the GGUF format"), "{message}");

    // The value of `general.architecture`, preceded by its length.
    let file = changed(path, |bytes| replace(bytes, b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lhama"));
    let message = refused(&file, "").await;
    assert!(
        message.contains("unknown model architecture: 'lhama'") && message.contains("older than the model"),
        "{message}"
    );

    let file = changed(path, |bytes| replace(bytes, b"llama.block_count", b"llama.block_kount"));
    let message = refused(&file, "").await;
    assert!(message.contains("block_count"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_fit_is_refused_before_memory_runs_out() {
    let message = refused(&tiny_file(), ", context_length: 16777216, slots: 64").await;
    assert!(message.contains("does not fit into memory, even with 32 slots"), "{message}");
    assert!(message.contains("MiB are free") && message.contains("lower `context_length`"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_template_takes_messages_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = changed(folder.path(), |bytes| {
        replace(bytes, b"tokenizer.chat_template", b"tokenizer.shat_template");
    });
    let backend = open_file(&file, "").await.unwrap_or_else(|errors| panic!("{errors:?}"));
    let details = &backend.info().details;
    let template = details.get("chat_template").and_then(serde_json::Value::as_str).expect("said");
    assert!(template.starts_with("none: the model file has no template"), "{template}");
    let params = SamplingParams { max_new_tokens: Some(2), ..SamplingParams::default() };
    assert!(try_generate(backend.as_ref(), "What is 1 + 1?", params).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_template_is_reported_for_file_or_request() {
    let message = refused(&tiny_file(), ", chat_template: '{% if %}'").await;
    assert!(message.contains("set another one as `chat_template`, or `none`"), "{message}");
    let backend = tiny(", chat_template: \"{{ raise_exception('no users') }}\"").await;
    let error = try_generate(backend.as_ref(), "What is 1 + 1?", SamplingParams::default())
        .await
        .expect_err("refused");
    assert!(error.message.contains("no users"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_template_stops_only_its_request() {
    let hostile = "{% set ns = namespace(s='a', l=[]) %}{% for i in range(messages[0].content|int) %}\
                   {% set ns.s = ns.s ~ ns.s %}{% set ns.l = [ns.l] %}{% endfor %}Answer: ";
    let backend = tiny(&format!(", chat_template: \"{hostile}\"")).await;
    let params = || SamplingParams { max_new_tokens: Some(2), ..SamplingParams::default() };
    let (doubled, harmless) = tokio::join!(
        try_generate(backend.as_ref(), "90000", params()),
        try_generate(backend.as_ref(), "1", params())
    );
    let error = doubled.expect_err("stopped");
    let expected = "the chat template of the suite for gage-tiny.gguf was stopped: it ";
    assert!(error.message.contains(expected), "{error}");
    assert!(harmless.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_that_is_none_is_refused() {
    let message = refused(&tiny_file(), &format!(", lora: {{path: '{}'}}", tiny_file().display())).await;
    assert!(message.contains("is not an adapter"), "{message}");
}
